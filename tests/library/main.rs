//! `pe-burn` from outside: what it promises, on every backend in the build.
#![recursion_limit = "256"]

mod agreement;
mod attention;
mod augment;
mod bias;
mod checkpoints;
mod content;
mod convolutions;
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
mod relative;
mod rotary;
mod scheme;
mod series;
mod shown;
mod silent_errors;
mod tables;
mod times;
mod transformer;
mod turns;
mod write_ups;

use std::cell::RefCell;
use std::fmt::Display;

use burn::module::Module;
use burn::tensor::{DType, Device, Distribution, FloatDType, Tensor, TensorData};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions};
use pe_tests::devices;
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;
use serde::de::DeserializeOwned;

thread_local! {
    /// A test has a thread of its own, so it sees the same numbers at every run and on every device.
    static NUMBERS: RefCell<ChaCha8Rng> = RefCell::new(ChaCha8Rng::seed_from_u64(1));
}

/// Elements from N(0, 1), in f32.
fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let normal = Distribution::Normal(0.0, 1.0);
    let data =
        NUMBERS.with_borrow_mut(|numbers| TensorData::random::<f32, _, _>(shape, normal, numbers));
    Tensor::from_data(data, device)
}

/// Random embeddings, `[batch, seq, d_model]`, in f32.
fn embeddings(batch: usize, seq: usize, d_model: usize, device: &Device) -> Tensor<3> {
    random([batch, seq, d_model], device)
}

/// The values of a tensor in row-major order.
fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// The same in the digits of `f64`.
fn wide<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    tensor.into_data().iter::<f64>().collect()
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

/// The types of half a word, with half a unit of the last place of a number below 1.
const HALVES: [(FloatDType, f32); 2] = [
    (FloatDType::F16, 1.0 / 2048.0),
    (FloatDType::BF16, 1.0 / 256.0),
];

/// The largest difference between two tensors of one shape; NaN if a number is missing in one of them.
fn distance<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    assert_eq!(a.dims(), b.dims());
    let pairs = values(a).into_iter().zip(values(b));
    largest(pairs.map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() }))
}

/// The largest of some differences, or NaN if one is: `f32::max` would skip it.
fn largest(apart: impl Iterator<Item = f32>) -> f32 {
    apart.fold(0.0, |most: f32, x| match most.is_nan() || x <= most {
        true => most,
        false => x,
    })
}

/// The scheme of a name, for a width, a number of heads and the longest input.
fn scheme(name: &str, [d_model, heads, max_len]: [usize; 3], device: &Device) -> PositionalScheme {
    let config = PositionalConfig::by_name(name, d_model, heads, max_len);
    config.unwrap().init(device)
}

/// What an error says.
#[track_caller]
fn refusal<T>(result: Result<T, impl Display>) -> String {
    result.err().expect("an error").to_string()
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
        let x = embeddings(2, 5, d_model, &device);
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
