//! Input types: the output has the type of the input, rounded once from the sum in f32 (f64 for
//! f64), on every backend that has the type.

use burn::tensor::{DType, Device, FloatDType, Tensor, bf16, f16};
use pe_burn::embedding::TableInit;
use pe_burn::{
    Embed, LearnedPositionalEmbeddingConfig, PositionError, Positions,
    SinusoidalPositionalEncodingConfig, Spectrum,
};
use pe_tests::devices;

use crate::{assert_says, types, wide};

const D_MODEL: usize = 10;

/// Inputs that every type holds exactly.
fn input() -> Vec<f32> {
    (0..2 * 6 * D_MODEL)
        .map(|i| f16::from_f32(((i * 37 % 101) as f32 - 50.0) / 16.0).to_f32())
        .collect()
}

/// The exact sum of input and encoding, rounded as `round` does, in f64.
fn expected(start: usize, round: fn(f64, f64) -> f64) -> Vec<f64> {
    let table: Vec<f64> = Spectrum::new(D_MODEL, 1e4)
        .unwrap()
        .rows(start..start + 6)
        .unwrap();
    input()
        .iter()
        .zip(table.iter().cycle())
        .map(|(x, pe)| round(f64::from(*x), *pe))
        .collect()
}

fn sum_f32(x: f64, pe: f64) -> f32 {
    x as f32 + pe as f32
}

/// The exact sum of an input and an entry, as a type holds it.
type Round = fn(f64, f64) -> f64;

/// The types that a device computes in.
fn cases(device: &Device) -> impl Iterator<Item = (FloatDType, Round)> {
    let round = |dtype| -> Round {
        match dtype {
            FloatDType::F16 => |x, pe| f16::from_f32(sum_f32(x, pe)).to_f64(),
            FloatDType::BF16 => |x, pe| bf16::from_f32(sum_f32(x, pe)).to_f64(),
            FloatDType::F64 => |x, pe| x + pe,
            _ => |x, pe| f64::from(sum_f32(x, pe)),
        }
    };
    types(device).map(move |dtype| (dtype, round(dtype)))
}

fn tensor(device: &Device, dtype: FloatDType) -> Tensor<3> {
    Tensor::<1>::from_data(input().as_slice(), (device, DType::F32))
        .reshape([2, 6, D_MODEL])
        .cast(dtype)
}

#[test]
fn sinusoidal_sums_are_rounded_once() {
    for device in devices() {
        for (dtype, round) in cases(&device) {
            // Within the buffer, across its end, and far past it.
            for start in [0, 6, 1_000_000] {
                let pe = SinusoidalPositionalEncodingConfig::new(D_MODEL)
                    .with_max_len(8)
                    .init(&device);
                let y = pe.embed(tensor(&device, dtype), &Positions::from(start));
                assert_eq!(y.dtype(), dtype.into(), "{device:?}");
                let about = format!("{device:?} {dtype:?} from {start}");
                assert_eq!(wide(y), expected(start, round), "{about}");
            }
        }
    }
}

#[test]
fn learned_sums_are_rounded_once() {
    for device in devices() {
        for (dtype, round) in cases(&device) {
            let pe = LearnedPositionalEmbeddingConfig::new(D_MODEL, 6)
                .with_init(TableInit::Sinusoidal)
                .init(&device);
            let y = pe.forward(tensor(&device, dtype));
            assert_eq!(y.dtype(), dtype.into(), "{device:?}");
            // The table is a parameter in f32, whatever is added to it.
            let expected = match dtype {
                FloatDType::F64 => expected(0, |x, pe| x + f64::from(pe as f32)),
                _ => expected(0, round),
            };
            assert_eq!(wide(y), expected, "{device:?} {dtype:?}");
        }
    }
}

#[test]
fn encode_as_every_type_the_device_has() {
    for device in devices() {
        let pe = SinusoidalPositionalEncodingConfig::new(4)
            .with_max_len(3)
            .init(&device);
        for dtype in [
            FloatDType::F64,
            FloatDType::F32,
            FloatDType::F16,
            FloatDType::BF16,
        ] {
            let rows = pe.encode_as(&Positions::from(2), 2, dtype);
            if device.supports_dtype(dtype) {
                assert_eq!(rows.unwrap().dtype(), dtype.into());
            } else {
                let error = rows.unwrap_err();
                assert!(
                    matches!(error, PositionError::DType { dtype: d, .. } if d == dtype.into())
                );
                assert_says(&error.to_string(), "… cannot compute in …");
            }
        }
    }
}

/// f64 inputs get f64 rows: the f32 buffer would be 3e-8 off.
#[test]
fn f64_is_not_rounded_through_f32() {
    let device = Device::flex();
    let pe = SinusoidalPositionalEncodingConfig::new(4).init(&device);
    let rows = pe
        .encode_as(&Positions::from(12_345), 1, FloatDType::F64)
        .unwrap();
    let rows = wide(rows);
    let angle = 12_345.0 * 10_000_f64.powf(-0.5);
    assert!((rows[2] - angle.sin()).abs() < 1e-14);
    let spectrum = Spectrum::new(4, 1e4).unwrap();
    assert_eq!(rows, spectrum.rows::<f64>(12_345..12_346).unwrap());
}
