//! What the unit tests and those of `tests/library` share.

use std::cell::RefCell;
use std::fmt::Display;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::prelude::rust_2024::*;

use burn::tensor::{Device, Distribution, Tensor, TensorData};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::SeedableRng;

std::thread_local! {
    /// A test has a thread of its own, so it sees the same numbers at every run and on every device.
    static NUMBERS: RefCell<ChaCha8Rng> = RefCell::new(ChaCha8Rng::seed_from_u64(1));
}

/// Elements from N(0, 1), in `f32`.
pub(crate) fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    let normal = Distribution::Normal(0.0, 1.0);
    let data =
        NUMBERS.with_borrow_mut(|numbers| TensorData::random::<f32, _, _>(shape, normal, numbers));
    Tensor::from_data(data, device)
}

/// The elements of a tensor in row-major order.
pub(crate) fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().try_into_vec_as().unwrap()
}

/// The largest difference between two tensors of one shape; NaN if one of them has a NaN.
pub(crate) fn distance<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    assert_eq!(a.dims(), b.dims());
    apart(&values(a), &values(b))
}

/// The largest difference between numbers; NaN if there is a NaN. Equal infinities differ by 0.
pub(crate) fn apart(a: &[f32], b: &[f32]) -> f32 {
    assert_eq!(a.len(), b.len());
    let mut most = 0.0_f32;
    for (a, b) in a.iter().zip(b) {
        let apart = if a == b { 0.0 } else { (a - b).abs() };
        // `f32::max` would skip NaN, so that no test could see it.
        if apart > most || apart.is_nan() {
            most = apart;
        }
        if most.is_nan() {
            break;
        }
    }
    most
}

/// Fails unless each configuration is refused in the words of its row, by `try_init` as an error and by `init` as a
/// panic.
///
/// ```text
/// refused! {
///     FopeConfig::new(16, 0, 64) => "heads must be at least 1; got 0",
///     FopeConfig::new(16, 2, 6) => "… a turn of 2π positions; got 6",
/// }
/// ```
///
/// To test another call than `try_init`, put it first, as in `|bad| spectrum.scaled(&bad, 1);`.
macro_rules! refused {
    (|$bad:ident| $call:expr; $($value:expr => $words:expr,)+) => {
        $({
            let $bad = $value;
            $crate::testing::assert_says(&$crate::testing::refusal($call), $words);
        })+
    };
    ($($config:expr => $words:expr,)+) => {
        let device = burn::tensor::Device::flex();
        $({
            let config = $config;
            let message = $crate::testing::refusal(config.try_init(&device));
            $crate::testing::assert_says(&message, $words);
            $crate::testing::assert_panics(|| config.init(&device), &message);
        })+
    };
}
pub(crate) use refused;

/// Fails unless a message is these words. A `…` before or after them stands for whatever the message has there.
#[track_caller]
pub(crate) fn assert_says(message: &str, words: &str) {
    let (end, start) = (words.strip_prefix("… "), words.strip_suffix(" …"));
    let is_said = match (start, end) {
        (None, None) => message == words,
        (None, Some(end)) => message.ends_with(end),
        (Some(start), None) => message.starts_with(start),
        (Some(_), Some(_)) => message.contains(words.trim_matches([' ', '…'])),
    };
    assert!(is_said, "it says: {message}\nand not: {words}");
}

/// Fails unless a call panics with this message.
#[track_caller]
pub(crate) fn assert_panics<T>(call: impl FnOnce() -> T, message: &str) {
    let panic = catch_unwind(AssertUnwindSafe(call)).err().expect("a panic");
    assert_eq!(panic.downcast_ref::<String>().unwrap(), message);
}

/// What an error says.
#[track_caller]
pub(crate) fn refusal<T>(result: Result<T, impl Display>) -> String {
    result.err().expect("an error").to_string()
}
