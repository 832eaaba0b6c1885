//! What the unit tests share.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::prelude::rust_2024::*;

use burn::tensor::{Device, Distribution, Tensor};

use crate::error::PositionError;

/// Random embeddings, `[batch, seq, d_model]`, in `f32`.
pub(crate) fn embeddings(batch: usize, seq: usize, d_model: usize, device: &Device) -> Tensor<3> {
    let shape = [batch, seq, d_model];
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// The elements of a tensor in row-major order.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

/// The largest difference between two tensors of one shape.
pub(crate) fn distance<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    assert_eq!(a.dims(), b.dims());
    let pairs = values(a).into_iter().zip(values(b));
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f32::max)
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
