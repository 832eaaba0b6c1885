//! The invariants of the encoding and of the contract of positions, for arbitrary inputs.

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Embed, Layout, PositionalScheme, Positions, SinusoidalPositionalEncodingConfig, Spectrum,
};
use proptest::prelude::*;

use crate::{distance, random, scheme};

/// Every scheme that embeds, and none, long enough for the sequences below.
fn schemes(d_model: usize) -> [PositionalScheme; 3] {
    let sizes = [d_model, 1, 64];
    ["none", "sinusoidal", "learned"].map(|name| scheme(name, sizes, &Device::flex()))
}

/// The product of a matrix and a row.
fn shifted(matrix: &[Vec<f64>], row: &[f64]) -> Vec<f64> {
    let dot = |line: &Vec<f64>| line.iter().zip(row).map(|(m, x)| m * x).sum();
    matrix.iter().map(dot).collect()
}

fn layout() -> impl Strategy<Value = Layout> {
    prop_oneof![Just(Layout::Interleaved), Just(Layout::Halves)]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(64))]

    /// PE(p + k) = R(k) · PE(p).
    #[test]
    fn a_shift_is_a_rotation(
        half in 1_usize..40, base in 1.1_f64..1e9, p in 0_usize..1 << 20, k in -(1_isize << 19)..1 << 19,
        layout in layout(),
    ) {
        let Some(q) = p.checked_add_signed(k) else { return Ok(()) };
        let spectrum = Spectrum::new(2 * half, base).unwrap().with_layout(layout);
        let (from, to): (Vec<f64>, Vec<f64>) = (spectrum.rows(p..p + 1).unwrap(), spectrum.rows(q..q + 1).unwrap());
        for (shifted, exact) in shifted(&spectrum.shift_matrix(k).unwrap(), &from).iter().zip(&to) {
            prop_assert!((shifted - exact).abs() <= 3e-15, "{shifted} {exact}");
        }
    }

    /// Every (sine, cosine) pair is a point on the unit circle.
    #[test]
    fn pairs_are_of_length_one(d_model in 1_usize..80, base in 1.1_f64..1e9, p in 0_usize..1 << 40) {
        let row: Vec<f64> = Spectrum::new(d_model, base).unwrap().rows(p..p + 1).unwrap();
        for pair in row.chunks_exact(2) {
            prop_assert!((pair[0] * pair[0] + pair[1] * pair[1] - 1.0).abs() < 2e-15);
        }
    }

    /// Rows come out the same, however a run is cut and whether or not the buffer holds them.
    #[test]
    fn runs_can_be_cut_anywhere(d_model in 1_usize..20, start in 0_usize..3_000, len in 1_usize..200, cut in 0_usize..200, max_len in 1_usize..4_000) {
        let spectrum = Spectrum::new(d_model, 1e4).unwrap();
        let cut = start + cut.min(len);
        let whole: Vec<f32> = spectrum.rows(start..start + len).unwrap();
        let parts = [spectrum.rows::<f32>(start..cut).unwrap(), spectrum.rows(cut..start + len).unwrap()].concat();
        prop_assert_eq!(&parts, &whole);
        let pe = SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(max_len).init(&Device::flex());
        prop_assert_eq!(crate::values(pe.encode(&Positions::from(start), len).unwrap()), whole);
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(24))]

    /// Decoding a token at a time, from a growing start, equals the full pass; batch = seq,
    /// batch ≠ seq, batch > 1 with seq = 1, and any width among them.
    #[test]
    fn decoding_equals_the_full_pass(batch in 1_usize..6, seq in 1_usize..12, d_model in 1_usize..9) {
        let x = random([batch, seq, d_model], &Device::flex());
        for scheme in schemes(d_model) {
            let full = scheme.embed(x.clone(), &Positions::default());
            let tokens = (0..seq).map(|t| {
                let token = x.clone().slice([0..batch, t..t + 1, 0..d_model]);
                let by_start = scheme.embed(token.clone(), &Positions::from(t));
                let by_row = scheme.embed(token, &Positions::from_starts(vec![t; batch]));
                assert_eq!(distance(by_start.clone(), by_row), 0.0);
                by_start
            });
            prop_assert_eq!(distance(Tensor::cat(tokens.collect(), 1), full), 0.0);
        }
    }

    /// Each document of a packed row encodes as it does alone.
    #[test]
    fn packed_equals_separate(lengths in prop::collection::vec(1_usize..7, 1..5), d_model in 1_usize..9) {
        let device = Device::flex();
        let total = lengths.iter().sum();
        let segments: Vec<i32> =
            lengths.iter().enumerate().flat_map(|(i, n)| vec![i as i32; *n]).collect();
        let segments = Tensor::<1, burn::tensor::Int>::from_ints(segments.as_slice(), &device).unsqueeze::<2>();
        let x = random([1, total, d_model], &device);
        for scheme in schemes(d_model) {
            let packed = scheme.embed(x.clone(), &Positions::from_segment_ids(segments.clone()));
            let mut start = 0;
            let separate = lengths.iter().map(|n| {
                let document = x.clone().slice([0..1, start..start + n, 0..d_model]);
                start += n;
                scheme.embed(document, &Positions::default())
            });
            prop_assert_eq!(distance(Tensor::cat(separate.collect(), 1), packed), 0.0);
        }
    }

    /// A row padded on the left, the right or in between encodes its real tokens as unpadded.
    #[test]
    fn padded_equals_unpadded(mask in prop::collection::vec(any::<bool>(), 1..16), d_model in 1_usize..9) {
        let device = Device::flex();
        let real: Vec<usize> = (0..mask.len()).filter(|i| mask[*i]).collect();
        prop_assume!(!real.is_empty());
        let data = burn::tensor::TensorData::new(mask.clone(), [1, mask.len()]);
        let positions = Positions::from_token_mask(Tensor::from_data(data, &device));
        let x = random([1, mask.len(), d_model], &device);
        let pick = |x: Tensor<3>| {
            Tensor::cat(real.iter().map(|&i| x.clone().slice([0..1, i..i + 1, 0..d_model])).collect(), 1)
        };
        for scheme in schemes(d_model) {
            let padded = pick(scheme.embed(x.clone(), &positions));
            let unpadded = scheme.embed(pick(x.clone()), &Positions::default());
            prop_assert_eq!(distance(padded, unpadded), 0.0);
        }
    }
}

/// `pe[:x.size(0)]` on batch-first input would add the batch index as the position.
#[test]
fn the_batch_is_never_the_position() {
    let device = Device::flex();
    for (batch, seq) in [(3, 3), (2, 5), (5, 2), (4, 1), (1, 4)] {
        for scheme in schemes(6) {
            let x = Tensor::<3>::zeros([batch, seq, 6], &device);
            let y = scheme.embed(x, &Positions::default());
            let first = y
                .clone()
                .slice([0..1, 0..seq, 0..6])
                .expand([batch, seq, 6]);
            assert_eq!(distance(y, first), 0.0);
        }
    }
}
