//! What the unit tests share.

use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::prelude::rust_2024::*;

use burn::tensor::{Device, Distribution, Tensor};

use crate::error::PositionError;

/// Random numbers, in `f32`.
pub(crate) fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// The elements of a tensor in row-major order.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// The largest difference between two tensors of one shape; NaN if a number is missing in one of them.
pub(crate) fn distance<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    assert_eq!(a.dims(), b.dims());
    apart(&values(a), &values(b))
}

/// The largest difference between numbers; NaN if one is missing. Equal infinities differ by 0.
pub(crate) fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let apart = a.iter().zip(b);
    let apart = apart.map(|(a, b)| if a == b { 0.0 } else { (a - b).abs() });
    // `f32::max` would skip NaN, so that no test could see it.
    apart.fold(0.0, |most: f32, x| match most.is_nan() || x <= most {
        true => most,
        false => x,
    })
}

/// Fails unless both forms of a call refuse it with a message that ends as given: the fallible one with
/// an error, the plain one with a panic.
pub(crate) fn assert_refused<T, U>(
    fallible: Result<T, PositionError>,
    plain: impl FnOnce() -> U,
    end: &str,
) {
    let message = fallible.err().expect("an error").to_string();
    assert!(message.ends_with(end), "{message}");
    let panic = catch_unwind(AssertUnwindSafe(plain))
        .err()
        .expect("a panic");
    assert_eq!(panic.downcast_ref::<String>(), Some(&message));
}

/// What an error says.
#[track_caller]
pub(crate) fn refusal<T>(result: Result<T, impl Display>) -> String {
    result.err().expect("an error").to_string()
}
