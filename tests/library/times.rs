//! Positions that are real numbers.

use burn::tensor::{DType, Device, FloatDType, Tensor};
use pe_burn::embedding::{Gain, LengthLimit};
use pe_burn::{
    AlibiConfig, Bias, Embed, Layout, LearnedPositionalEmbeddingConfig, Positions,
    RotaryPositionalEncodingConfig, Rotate, SinusoidalPositionalEncodingConfig, Spectrum,
    T5RelativeBiasConfig,
};
use pe_tests::devices;

use crate::{assert_says, assert_within, distance, halves, random, refusal, values};

const TIMES: [[f64; 4]; 2] = [[-3.5, 0.0, 0.125, 1e9 + 0.25], [2.0, 7.75, -1e6, 41.0]];

#[test]
fn a_sinusoidal_row_of_a_time_is_the_formula() {
    for device in devices() {
        for layout in [Layout::Interleaved, Layout::Halves] {
            let pe = SinusoidalPositionalEncodingConfig::new(7)
                .with_layout(layout)
                .with_gain(Gain::Fixed(0.5))
                .init(&device);
            let positions = Positions::from_time_rows(&TIMES).unwrap();
            let encoding = pe.encode_as(&positions, 4, FloatDType::F32).unwrap();
            assert_eq!(encoding.dims(), [2, 4, 7]);
            let column = |pair: usize, cos: usize| match layout {
                Layout::Interleaved => 2 * pair + cos,
                Layout::Halves => pair + 4 * cos,
            };
            for (row, time) in values(encoding).chunks_exact(7).zip(TIMES.as_flattened()) {
                for pair in 0..4 {
                    // Only for the fast ones does f64 lose digits of the angle: 1e9 · 2^-53.
                    let angle = time / 10_000_f64.powf(2.0 * pair as f64 / 7.0);
                    let waves = [angle.sin(), angle.cos()].into_iter().enumerate();
                    // The last pair of an odd width has no cosine.
                    for (cos, exact) in waves.take(if pair < 3 { 2 } else { 1 }) {
                        let got = row[column(pair, cos)] as f64;
                        assert!((got - 0.5 * exact).abs() < 2e-7, "{time} {pair}: {got}");
                    }
                }
            }
        }
    }
}

#[test]
fn whole_times_are_positions() {
    let spectrum = Spectrum::new(64, 1e4).unwrap();
    for position in [0, 1, 4_999, 131_071, (1 << 24) - 1, 1 << 40] {
        let looked_up: Vec<f64> = spectrum.rows_at(&[position]).unwrap();
        let computed: Vec<f64> = spectrum.rows_at_times(&[position as f64]).unwrap();
        assert_within(&looked_up, &computed, 1e-15, &position.to_string());
        let back: Vec<f64> = spectrum.rows_at_times(&[-(position as f64)]).unwrap();
        let mirrored = computed.chunks(2).flat_map(|pair| [-pair[0], pair[1]]);
        assert!(mirrored.eq(back), "{position}");
    }
    for device in devices() {
        let times = Tensor::<2>::from_floats([[3.0, 0.0, 70.0]], &device);
        let times = Positions::from_times(times).unwrap();
        let ids = Positions::from_id_rows(&[[3, 0, 70]]).unwrap();
        let x = random([2, 3, 16], &device);
        let pe = SinusoidalPositionalEncodingConfig::new(16)
            .with_max_len(60)
            .init(&device);
        let (a, b) = (pe.embed(x.clone(), &times), pe.embed(x, &ids));
        assert!(distance(a, b) < 1e-6);
        let q = random([2, 3, 3, 16], &device);
        let rope = RotaryPositionalEncodingConfig::new(16).init(&device);
        let (a, b) = (
            rope.rotate_queries(q.clone(), &times),
            rope.rotate_queries(q, &ids),
        );
        assert!(distance(a, b) < 1e-6);
    }
}

#[test]
fn distances_of_times_bias_scores() {
    let alibi = AlibiConfig::new(2).init(&Device::flex());
    let queries = Positions::from_time_rows(&[[0.5, -1.0]]).unwrap();
    let bias = alibi.bias((&queries, 2), (&Positions::default(), 2));
    let slopes = [0.0625_f32, 0.00390625];
    let steps = [0.5_f32, 0.5, 1.0, 2.0];
    let expected: Vec<f32> = slopes.iter().flat_map(|m| steps.map(|d| -m * d)).collect();
    assert_eq!(values(bias), expected);
}

#[test]
fn tables_with_a_row_per_position_refuse_times() {
    let device = Device::flex();
    let times = Positions::from_time_rows(&[[0.0, 1.0]]).unwrap();
    let learned = LearnedPositionalEmbeddingConfig::new(4, 8).init(&device);
    let x = Tensor::<3>::zeros([1, 2, 4], &device);
    let words = "a learned table has one entry for each whole position, so …";
    assert_says(&refusal(learned.try_embed(x.clone(), &times)), words);
    assert!(learned.encode(&times, 2).is_err());
    let t5 = T5RelativeBiasConfig::new(2).init(&device);
    let message = refusal(t5.try_bias((&times, 2), (&times, 2)));
    assert_says(&message, "T5's bias has one entry …");
    assert!(times.to_rows(2).is_err());

    let config = SinusoidalPositionalEncodingConfig::new(4).with_max_len(10);
    let limited = config.with_length_limit(LengthLimit::Error).init(&device);
    let late = Positions::from_time_rows(&[[9.5, 10.5]]).unwrap();
    let message = refusal(limited.try_embed(x.clone(), &late));
    assert_says(&message, "position 10 is past the end: …");
    let within = Positions::from_time_rows(&[[9.5, -10.5]]).unwrap();
    assert!(limited.try_embed(x, &within).is_ok());
}

#[test]
fn half_precision_in_and_out() {
    for device in devices() {
        for (dtype, _) in halves(&device) {
            let x = random([1, 4, 8], &device).cast(dtype);
            let pe = SinusoidalPositionalEncodingConfig::new(8).init(&device);
            let y = pe.embed(x, &Positions::from_time_rows(&[TIMES[0]]).unwrap());
            assert_eq!(y.dtype(), DType::from(dtype));
        }
    }
}

/// With fast frequencies fewer positions are within reach. The error says where the time is among the tokens.
#[test]
fn a_time_past_the_reach_is_named_by_its_row_and_token() {
    let device = Device::flex();
    let rope = RotaryPositionalEncodingConfig::new(2)
        .with_frequencies([1024.0])
        .init(&device);
    let far = 2_f64.powi(43);
    let times = Positions::from_time_rows(&[[0.5, 3.0, 0.5], [7.0, -far, 1.0]]).unwrap();
    let x = Tensor::<4>::ones([2, 1, 3, 2], &device);
    let words = "time -8796093022208 at row 1, token 1 is out of range: times go from -4398046511103 to 4398046511103";
    assert_says(&refusal(rope.try_rotate_queries(x, &times)), words);
}
