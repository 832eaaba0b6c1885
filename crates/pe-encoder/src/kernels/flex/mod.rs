//! Kernels on Burn's CPU backend Flex: loops over slices, a block of rows at a time.
//!
//! | module | |
//! |---|---|
//! | `linear`, `layer_norm`, `feed_forward`, `attention` | an operation each: recorded, forward, backward, tests |
//! | `heads` | queries, keys or values of a projection |
//! | `adam` | the step of Adam |
//! | `few` | the product of a few rows by a weight, in decoding |
//! | `products` | matrix products, with those of `pe_burn::matrix`; rows divided between threads |
//! | `math` | exponential, GELU, sums in a fixed order |
//!
//! Every sum is taken in the same order on any number of threads, so a training gives the same bits however many there are.
//! Another kind of processor may give other bits: `gemm`, which multiplies the matrices, adapts to its instructions and
//! caches.

// In functions compiled for several instruction sets, iterator adapters are not always inlined.
#![allow(clippy::needless_range_loop)]

pub mod adam;
mod attention;
mod feed_forward;
mod few;
mod heads;
mod layer_norm;
mod linear;
mod math;
mod products;

pub use attention::{attention, cached_attention};
pub use feed_forward::{feed_forward, normed_feed_forward};
pub use heads::{Views, viewed};
pub use layer_norm::layer_norm;
pub use linear::{linear, normed_linear};

use burn::backend::flex::FlexTensor;
use burn::tensor::TensorData;

/// The tensor with its elements contiguous, from the start of its storage.
fn contiguous(x: FlexTensor) -> FlexTensor {
    match x.is_contiguous() && x.layout().start_offset() == 0 {
        true => x,
        false => x.to_contiguous(),
    }
}

/// The elements of a tensor that [`contiguous`] returned.
fn elements(x: &FlexTensor) -> &[f32] {
    &x.storage()[..x.layout().num_elements()]
}

fn tensor<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

/// A tensor of the shape of `like`.
fn tensor_like(values: Vec<f32>, like: &FlexTensor) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, like.layout().shape().clone()))
}
