//! `pe-burn` from outside: what it promises, on every backend in the build.
#![recursion_limit = "256"]

mod agreement;
mod attention;
mod augment;
mod bias;
mod checkpoints;
mod content;
mod content_inputs;
mod convolutions;
mod coordinate_inputs;
mod coordinates;
mod decomposed;
mod dtypes;
mod dual_chunk;
mod errors;
mod exactness;
mod far;
mod fope;
mod formulas;
mod fox;
mod grids;
mod inkling;
mod learned;
mod module;
mod outside;
mod panics;
mod parameters;
mod peers;
mod pope;
mod positions;
mod properties;
mod rotary;
mod scheme;
mod series;
mod shown;
mod silent_errors;
mod tables;
mod times;
mod transformer;
mod turns;

use std::fmt::Display;

use burn::module::{Module, Quantizer};
use burn::tensor::quantization::{Calibration, QuantScheme};
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use pe_burn::{Embed, Layout, PositionalConfig, PositionalScheme, Positions};
use pe_tests::devices;
use serde::de::DeserializeOwned;

use testing::{apart, assert_panics, assert_says, distance, random, refusal, refused, values};

#[path = "../../crates/pe-burn/src/testing.rs"]
mod testing;

const LAYOUTS: [Layout; 2] = [Layout::Interleaved, Layout::Halves];

/// The elements of a tensor in row-major order, in the digits of `f64`.
fn wide<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
}

/// Numbers as a tensor of a shape, in `f32`.
fn tensor<const D: usize>(numbers: &[f32], shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::from_data(TensorData::new(numbers.to_vec(), shape), device)
}

/// The sum of all numbers, each times a whole number, as scripts of `tests/peers` have it.
fn loss<const D: usize>(y: Tensor<D>) -> Tensor<1> {
    let shape = y.dims();
    let factors = (0..shape.iter().product()).map(|i: usize| ((7 * i) % 11) as f32 - 5.0);
    let factors = tensor(&factors.collect::<Vec<_>>(), shape, &y.device());
    (y * factors).sum()
}

/// Numbers in a type.
fn numbers(numbers: &[f64], device: &Device, dtype: FloatDType) -> Tensor<1> {
    Tensor::from_data(numbers, (device, DType::from(dtype)))
}

/// Devices with autodiff, a type to compute in on each, and the bound of what may differ: this one in `f32` on every device, and
/// 1e-11 in `f64` on Flex.
fn in_both_types(single: f64) -> impl Iterator<Item = (Device, FloatDType, f64)> {
    let single = devices()
        .into_iter()
        .map(move |device| (device, FloatDType::F32, single));
    let all = single.chain([(Device::flex(), FloatDType::F64, 1e-11)]);
    all.map(|(device, dtype, bound)| (device.autodiff(), dtype, bound))
}

/// The types that a device computes in.
fn types(device: &Device) -> impl Iterator<Item = FloatDType> {
    let all = [
        FloatDType::F32,
        FloatDType::F64,
        FloatDType::F16,
        FloatDType::BF16,
    ];
    let types = all.into_iter();
    types.filter(|dtype| device.supports_dtype(*dtype))
}

/// Those of half a word, with half a unit of the last place of a number below 1.
fn halves(device: &Device) -> impl Iterator<Item = (FloatDType, f32)> {
    types(device).filter_map(|dtype| match dtype {
        FloatDType::F16 => Some((dtype, 1.0 / 2048.0)),
        FloatDType::BF16 => Some((dtype, 1.0 / 256.0)),
        _ => None,
    })
}

/// A module whose parameters are quantized.
fn quantized<M: Module>(module: &M) -> M {
    let mut quantizer = Quantizer::new(Calibration::MinMax, QuantScheme::default());
    module.clone().quantize_weights(&mut quantizer)
}

/// The scheme of a name, for a width, a number of heads and the longest input.
fn scheme(name: &str, [d_model, heads, max_len]: [usize; 3], device: &Device) -> PositionalScheme {
    let config = PositionalConfig::by_name(name, d_model, heads, max_len);
    config.unwrap().init(device)
}

/// What `tests/peers` holds of other libraries.
fn cases<T: DeserializeOwned>(json: &str) -> Vec<T> {
    serde_json::from_str(json).unwrap()
}

/// Compares numbers, of which there must be as many: they differ by at most `bound`.
#[track_caller]
fn assert_within<A: Copy + Display + Into<f64>, B: Copy + Display + Into<f64>>(
    ours: &[A],
    theirs: &[B],
    bound: f64,
    about: &str,
) {
    assert_eq!(ours.len(), theirs.len(), "{about}");
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let off = ((*ours).into() - (*theirs).into()).abs();
        assert!(off <= bound, "{about}, number {i}: {ours} for {theirs}");
    }
}

/// Compares numbers, of which there must be as many: they are equal, or closer than `bound` times the largest.
fn assert_close<T: Copy + Display + Into<f64>>(
    ours: &[T],
    theirs: &[f64],
    bound: f64,
    about: &str,
) {
    assert_eq!(ours.len(), theirs.len(), "{about}");
    let largest = theirs.iter().fold(0.0_f64, |most, x| most.max(x.abs()));
    assert!(largest > 0.0, "{about}");
    for (i, (ours, theirs)) in ours.iter().zip(theirs).enumerate() {
        let off = ((*ours).into() - theirs).abs() / largest;
        assert!(
            off == 0.0 || off < bound,
            "{about}, number {i}: {ours} for {theirs}"
        );
    }
}

/// The sum is the same with autodiff on or off, for the module and for the input.
fn same_with_autodiff_on_and_off<M: Embed + Module>(init: impl Fn(&Device) -> M, d_model: usize) {
    for device in devices() {
        let x = random([2, 5, d_model], &device);
        let module = init(&device);
        let fixed = module.num_params() == 0;
        let expected = values(module.embed(x.clone(), &Positions::default()));
        let mut contexts = vec![device.clone(), device.clone().autodiff()];
        if fixed {
            // Burn refuses tensors with a gradient that differ in this.
            contexts.push(device.clone().autodiff().gradient_checkpointing());
        }
        for module_device in &contexts {
            let module = init(module_device);
            for module in [
                module.clone(),
                module.valid(),
                module.clone().train(),
                module.valid().train(),
            ] {
                for input_device in &contexts {
                    let x = Tensor::<3>::from_data(x.to_data(), input_device);
                    let y = module.embed(x, &Positions::default());
                    if fixed {
                        assert_eq!(y.is_autodiff(), input_device.is_autodiff());
                    }
                    assert_eq!(values(y), expected);
                }
            }
        }
    }
}
