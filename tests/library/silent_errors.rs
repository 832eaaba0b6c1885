//! Errors of other libraries that raise no message: `docs/adopting.md` lists them, with the tests elsewhere.

use burn::tensor::{FloatDType, bf16, f16};
use pe_burn::{
    Embed, Layout, LearnedPositionalEmbeddingConfig, Positions, RotaryPositionalEncodingConfig,
    Rotate, SinusoidalPositionalEncodingConfig,
};
use pe_tests::devices;

use crate::rotary::units;
use crate::{LAYOUTS, distance, random, values};

/// A number as a type holds it.
type Round = fn(f64) -> f64;

/// A type, positions in its range, half a unit of its last place below 1, and how far off a sine or a cosine is whose
/// angle was computed in it, at least.
type Case = (FloatDType, Round, [usize; 2], f64, f64);

const CASES: [Case; 3] = [
    (
        FloatDType::F32,
        |x| f64::from(x as f32),
        [100_003, 1_000_001],
        3e-8,
        1e-3,
    ),
    (
        FloatDType::F16,
        |x| f16::from_f64(x).to_f64(),
        [2_049, 60_001],
        2.5e-4,
        0.5,
    ),
    (
        FloatDType::BF16,
        |x| bf16::from_f64(x).to_f64(),
        [257, 100_001],
        2e-3,
        0.5,
    ),
];

/// A table in the type of the model has to be rounded after the sine and the cosine. Angles that are rounded before are
/// off by more than what is left of the digits.
#[test]
fn angles_are_not_rounded_to_the_type_of_the_queries() {
    let config = RotaryPositionalEncodingConfig::new(64).with_layout(Layout::Halves);
    for (dtype, round, positions, bound, off) in CASES {
        for position in positions {
            let spectrum = config.spectrum(position + 1).unwrap();
            let exact: Vec<f64> = spectrum.rows(position..position + 1).unwrap();
            let (sines, cosines) = exact.split_at(32);

            let mut worst = 0.0_f64;
            for (i, omega) in spectrum.frequencies().iter().enumerate() {
                let (sine, cosine) = round(round(position as f64) * round(*omega)).sin_cos();
                worst = worst
                    .max((sine - sines[i]).abs())
                    .max((cosine - cosines[i]).abs());
            }
            assert!(worst > off, "{dtype:?} at {position}: {worst}");

            for device in devices() {
                if !device.supports_dtype(dtype) {
                    continue;
                }
                let x = units(1, 64, &device).cast(dtype);
                let y = config
                    .init(&device)
                    .rotate_queries(x, &Positions::from(position));
                let y = values(y.cast(FloatDType::F32));
                for (y, exact) in y.iter().zip([cosines, sines].concat()) {
                    let apart = (f64::from(*y) - exact).abs();
                    assert!(
                        apart <= bound,
                        "{device:?} {dtype:?} at {position}: {y} for {exact}"
                    );
                }
            }
        }
    }
}

/// A kernel that takes a step of one token for a case of its own is easily one that forgets the batch.
#[test]
fn a_step_of_one_token_has_the_position_of_every_row() {
    for device in devices() {
        let ropes = LAYOUTS.map(|layout| {
            let config = RotaryPositionalEncodingConfig::new(64).with_layout(layout);
            config.init(&device)
        });
        let table = LearnedPositionalEmbeddingConfig::new(8, 5_001).init(&device);
        let sinusoid = SinusoidalPositionalEncodingConfig::new(8).init(&device);
        let (q, k) = (
            random([3, 4, 1, 64], &device),
            random([3, 2, 1, 64], &device),
        );
        let qkv = random([3, 1, 4 * 64], &device);
        let x = random([3, 1, 8], &device);
        for (positions, at) in [
            (Positions::from(1_000), [1_000; 3]),
            (Positions::from_starts([5, 900, 5_000]), [5, 900, 5_000]),
            (
                Positions::from_id_rows(&[[7], [7], [3]]).unwrap(),
                [7, 7, 3],
            ),
        ] {
            let rows = |row: usize| (row, Positions::from(at[row]));
            for rope in &ropes {
                let (all_q, all_k) = rope.rotate(q.clone(), k.clone(), &positions);
                let all_qkv = rope.rotate_packed(qkv.clone(), [2, 1], &positions);
                for (row, at) in (0..3).map(rows) {
                    let (one_q, one_k) = (q.clone().narrow(0, row, 1), k.clone().narrow(0, row, 1));
                    let (one_q, one_k) = rope.rotate(one_q, one_k, &at);
                    let one_qkv = rope.rotate_packed(qkv.clone().narrow(0, row, 1), [2, 1], &at);
                    let apart = distance(all_q.clone().narrow(0, row, 1), one_q)
                        .max(distance(all_k.clone().narrow(0, row, 1), one_k))
                        .max(distance(all_qkv.clone().narrow(0, row, 1), one_qkv));
                    assert!(apart <= 1e-6, "{device:?} row {row} {at:?}: {apart}");
                }
            }
            for pe in [&table as &dyn Embed, &sinusoid] {
                let all = pe.embed(x.clone(), &positions);
                for (row, at) in (0..3).map(rows) {
                    let one = pe.embed(x.clone().narrow(0, row, 1), &at);
                    let apart = distance(all.clone().narrow(0, row, 1), one);
                    assert!(apart <= 1e-6, "{device:?} row {row} {at:?}: {apart}");
                }
            }
        }
    }
}
