//! Helpers of the tests.

use std::cell::RefCell;
use std::panic::{AssertUnwindSafe, catch_unwind};

use burn::tensor::{Bool, Device, Distribution, Gradients, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

use crate::{Adam, Kernels};

thread_local! {
    /// A test has a thread of its own, so it sees the same numbers at every run and on every device.
    static NUMBERS: RefCell<ChaCha8Rng> = RefCell::new(ChaCha8Rng::seed_from_u64(1));
}

/// Elements from N(0, 1).
pub fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let normal = Distribution::Normal(0.0, 1.0);
    let data =
        NUMBERS.with_borrow_mut(|numbers| TensorData::random::<f32, _, _>(shape, normal, numbers));
    Tensor::from_data(data, device)
}

/// What a call says when it panics.
pub fn refused<T>(call: impl FnOnce() -> T) -> String {
    let Err(panicked) = catch_unwind(AssertUnwindSafe(call)) else {
        panic!("not refused");
    };
    match panicked.downcast::<String>() {
        Ok(message) => *message,
        Err(panicked) => panicked
            .downcast_ref::<&str>()
            .expect("a message")
            .to_string(),
    }
}

/// Adam with β₁ = 0.9, β₂ = 0.98 and ε = 1e-8.
pub fn adam(clip_norm: Option<f32>, weight_decay: f32, kernels: Kernels) -> Adam {
    Adam {
        beta_1: 0.9,
        beta_2: 0.98,
        epsilon: 1e-8,
        clip_norm,
        weight_decay,
        kernels,
    }
}

pub fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
    x.into_data().try_to_vec().unwrap()
}

/// The largest difference between elements, relative to the largest element of `expected`.
pub fn difference(expected: &[f32], found: &[f32]) -> f32 {
    assert_eq!(expected.len(), found.len());
    let largest = expected.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
    assert!(largest > 0.0, "nothing but zeros to compare with");
    assert!(found.iter().all(|x| x.is_finite())); // `max` ignores NaN
    let apart = expected.iter().zip(found).map(|(x, y)| (x - y).abs());
    apart.fold(0.0, f32::max) / largest
}

/// `[batch, seq]`: rows of 1, 2, 3 … tokens, and padding behind them.
pub fn padding_of_rows([batch, seq]: [usize; 2], device: &Device) -> Tensor<2, Bool> {
    let lengths = Tensor::arange(0..batch as i64, device).reshape([batch, 1]) % seq as i64 + 1;
    Tensor::arange(0..seq as i64, device)
        .reshape([1, seq])
        .expand([batch, seq])
        .greater_equal(lengths.expand([batch, seq]))
}

/// The gradients of a loss that weights every element of `y` differently.
pub fn gradients_of(y: Tensor<3>) -> Gradients {
    let weights = Tensor::arange(0..y.shape().num_elements() as i64, &y.device());
    let weights = (weights.float() * 0.7).sin().reshape(y.shape());
    (y * weights).sum().backward()
}
