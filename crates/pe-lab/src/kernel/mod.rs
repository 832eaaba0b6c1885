//! The four operations of the reference encoder that take most of its time.
//!
//! Each does what the same modules of Burn do one after the other, and does it so on most backends.
//! Burn records every step of a normalization or of a softmax on its own, and each walks through
//! memory once on the way forth and several times on the way back. On flex, which studies run on, and
//! on LibTorch these are operations of their own with their derivatives written out.
//!
//! | file | |
//! |---|---|
//! | `flex` | the operations on flex: kernels that take a block of rows through while it is in the cache |
//! | `torch` | those on LibTorch: its own kernels |

mod flex;
#[cfg(feature = "tch")]
mod torch;

use burn::backend::DispatchDevice;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{Bool, DType, GradientCheckpointingStrategy, Tensor};

/// What the scores of masked keys are set to where they cannot be left out, as in Burn.
const MASKED: f32 = -1e4;

/// The ε of every normalization here: Burn keeps that of a [`LayerNorm`] to itself.
pub const EPSILON: f64 = 1e-5;

/// Who runs an operation.
enum Runner {
    /// Our kernels on flex.
    Flex,
    /// LibTorch's kernels.
    #[cfg(feature = "tch")]
    Torch,
    /// Burn.
    Burn,
}

impl Runner {
    /// Burn runs what the others were not written for: other numbers than 32-bit ones, and
    /// derivatives that are found by running the way forth again. There are some numbers.
    fn of<const D: usize>(x: &Tensor<D>) -> Self {
        use GradientCheckpointingStrategy::Disabled;
        let device = x.device();
        let usual = matches!(
            device.gradient_checkpointing_strategy(),
            None | Some(Disabled)
        );
        if !usual || x.dtype() != DType::F32 {
            return Self::Burn;
        }
        match device.inner().as_dispatch() {
            DispatchDevice::Flex(_) => Self::Flex,
            #[cfg(feature = "tch")]
            DispatchDevice::LibTorch(_) => Self::Torch,
            #[allow(unreachable_patterns)] // Flex may be the only backend in this build.
            _ => Self::Burn,
        }
    }
}

/// `x W + b`, as [`Linear`] does it.
pub fn linear(x: Tensor<3>, layer: &Linear) -> Tensor<3> {
    match (&layer.bias, Runner::of(&x)) {
        (Some(bias), Runner::Flex) => flex::linear(x, layer.weight.val(), bias.val()),
        _ => layer.forward(x),
    }
}

/// Normalizes every row, as a [`LayerNorm`] with [`EPSILON`] does it.
pub fn layer_norm(x: Tensor<3>, norm: &LayerNorm) -> Tensor<3> {
    match (&norm.beta, Runner::of(&x)) {
        (Some(beta), Runner::Flex) => flex::layer_norm(x, norm.gamma.val(), beta.val()),
        #[cfg(feature = "tch")]
        (Some(beta), Runner::Torch) => torch::layer_norm(x, norm.gamma.val(), beta.val()),
        _ => norm.forward(x),
    }
}

/// `gelu(x W₁ + b₁) W₂ + b₂`, with the exact GELU.
pub fn feed_forward(x: Tensor<3>, inner: &Linear, outer: &Linear) -> Tensor<3> {
    match (&inner.bias, &outer.bias, Runner::of(&x)) {
        (Some(b1), Some(b2), Runner::Flex) => {
            let inner = (inner.weight.val(), b1.val());
            flex::feed_forward(x, inner, (outer.weight.val(), b2.val()))
        }
        _ => outer.forward(gelu(inner.forward(x))),
    }
}

/// Softmax attention in several heads over `qkv`, `[batch, seq, 3 d_model]`: queries, keys and
/// values side by side, the heads side by side in each. The result is `[batch, seq, d_model]`.
///
/// Nothing attends to where `padding`, `[batch, seq]`, is true.
pub fn attention(qkv: Tensor<3>, padding: Option<&Tensor<2, Bool>>, heads: usize) -> Tensor<3> {
    match Runner::of(&qkv) {
        Runner::Flex => return flex::attention(qkv, padding, heads),
        #[cfg(feature = "tch")]
        Runner::Torch => return torch::attention(qkv, padding, heads),
        Runner::Burn => {}
    }
    let [batch, seq, width] = qkv.dims();
    let (d_model, d_head) = (width / 3, width / 3 / heads);
    let parts = qkv
        .reshape([batch, seq, 3, heads, d_head])
        .permute([2, 0, 3, 1, 4]);
    let part = |which: usize| {
        let part = parts.clone().narrow(0, which, 1);
        part.reshape([batch, heads, seq, d_head])
    };
    let scores = part(0).matmul(part(1).transpose()) / (d_head as f32).sqrt();
    let scores = match padding {
        Some(padding) => scores.mask_fill(padding.clone().reshape([batch, 1, 1, seq]), MASKED),
        None => scores,
    };
    let y = softmax(scores, 3).matmul(part(2));
    y.swap_dims(1, 2).reshape([batch, seq, d_model])
}
