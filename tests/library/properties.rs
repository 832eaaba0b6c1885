//! The invariants of the encoding, for arbitrary inputs.

use burn::tensor::Device;
use pe_burn::{Layout, Positions, SinusoidalPositionalEncodingConfig, Spectrum};
use proptest::prelude::*;

use crate::values;

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
        prop_assert_eq!(values(pe.encode(&Positions::from(start), len).unwrap()), whole);
    }
}
