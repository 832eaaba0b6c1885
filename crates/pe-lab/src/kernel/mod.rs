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
//! | `torch` | those on LibTorch, by its own kernels, and the optimizer's step there |

mod flex;
#[cfg(feature = "tch")]
mod torch;

#[cfg(feature = "tch")]
pub use torch::adam as torch_adam;

use burn::backend::DispatchDevice;
use burn::nn::{LayerNorm, Linear};
use burn::tensor::activation::{gelu, softmax};
use burn::tensor::{Bool, DType, FloatDType, GradientCheckpointingStrategy, Tensor};

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

/// Whether it is 32-bit numbers in the memory of the processor, held by LibTorch.
#[cfg(feature = "tch")]
#[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
pub fn on_libtorchs_processor<const D: usize>(x: &Tensor<D>) -> bool {
    use burn::backend::libtorch::LibTorchDevice::Cpu;
    let device = x.device();
    x.dtype() == DType::F32 && matches!(device.as_dispatch(), DispatchDevice::LibTorch(Cpu))
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
/// Nothing attends to where `padding`, `[batch, seq]`, is true. `bias`, `[1 or batch, heads, seq,
/// seq]`, is added to the scores, and has its own gradient.
pub fn attention(
    qkv: Tensor<3>,
    padding: Option<&Tensor<2, Bool>>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    // The kernels are for 32-bit numbers.
    let short = |bias: Tensor<4>| bias.cast(FloatDType::F32);
    match Runner::of(&qkv) {
        Runner::Flex => return flex::attention(qkv, padding, bias.map(short), heads),
        #[cfg(feature = "tch")]
        Runner::Torch => return torch::attention(qkv, padding, bias.map(short), heads),
        Runner::Burn => {}
    }
    let [q, k, v] = split(qkv, heads);
    let weights = weights(q, k, bias, padding.map(mask_of_keys));
    join(weights.matmul(v))
}

/// Queries, keys and values, `[batch, heads, seq, d_head]`, out of `[batch, seq, 3 d_model]`.
pub fn split(qkv: Tensor<3>, heads: usize) -> [Tensor<4>; 3] {
    let [batch, seq, width] = qkv.dims();
    let d_head = width / 3 / heads;
    let parts = qkv
        .reshape([batch, seq, 3, heads, d_head])
        .permute([2, 0, 3, 1, 4]);
    [0, 1, 2].map(|which| {
        let part = parts.clone().narrow(0, which, 1);
        part.reshape([batch, heads, seq, d_head])
    })
}

/// The heads side by side: `[batch, seq, d_model]` out of `[batch, heads, seq, d_head]`.
pub fn join(x: Tensor<4>) -> Tensor<3> {
    let [batch, heads, seq, d_head] = x.dims();
    x.swap_dims(1, 2).reshape([batch, seq, heads * d_head])
}

/// Padding as [`weights`] takes it.
pub fn mask_of_keys(padding: &Tensor<2, Bool>) -> Tensor<4, Bool> {
    let [batch, seq] = padding.dims();
    padding.clone().reshape([batch, 1, 1, seq])
}

/// The attention weights of every query, `[batch, heads, queries, keys]`, by Burn's own operations.
/// Nothing attends to where a mask, which goes over all of it, is true.
pub fn weights(
    q: Tensor<4>,
    k: Tensor<4>,
    bias: Option<Tensor<4>>,
    masks: impl IntoIterator<Item = Tensor<4, Bool>>,
) -> Tensor<4> {
    let d_head = q.dims()[3];
    let scores = q.matmul(k.transpose()) / (d_head as f32).sqrt();
    let scores = match bias {
        Some(bias) => {
            let dtype = scores.dtype();
            scores + bias.cast(dtype)
        }
        None => scores,
    };
    let masked = |scores: Tensor<4>, mask| scores.mask_fill(mask, MASKED);
    softmax(masks.into_iter().fold(scores, masked), 3)
}

#[cfg(test)]
mod tests {
    use super::*;
    use burn::tensor::{Device, Distribution};

    const D_MODEL: usize = 24;
    const HEADS: usize = 3;

    fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
        Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
    }

    fn values<const D: usize>(x: Tensor<D>) -> Vec<f32> {
        x.into_data().try_to_vec().unwrap()
    }

    /// The largest difference, as a part of the largest value.
    fn apart(a: &[f32], b: &[f32]) -> f32 {
        assert_eq!(a.len(), b.len());
        let largest = a
            .iter()
            .fold(f32::MIN_POSITIVE, |most, x| most.max(x.abs()));
        let apart = a.iter().zip(b).map(|(x, y)| (x - y).abs());
        apart.fold(0.0, f32::max) / largest
    }

    /// Rows of 1, 2, 3 … tokens, and the rest of them padding.
    fn padding(batch: usize, seq: usize, device: &Device) -> Tensor<2, Bool> {
        let lengths = Tensor::arange(0..batch as i64, device).reshape([batch, 1]) % seq as i64 + 1;
        Tensor::arange(0..seq as i64, device)
            .reshape([1, seq])
            .expand([batch, seq])
            .greater_equal(lengths.expand([batch, seq]))
    }

    /// The result, and the gradients with respect to `qkv` and the bias.
    fn run(
        qkv: &Tensor<3>,
        bias: &Tensor<4>,
        way: impl Fn(Tensor<3>, Tensor<4>) -> Tensor<3>,
    ) -> [Vec<f32>; 3] {
        let (qkv, bias) = (qkv.clone().require_grad(), bias.clone().require_grad());
        let y = way(qkv.clone(), bias.clone());
        // Every number of the result counts for something else.
        let counts = Tensor::arange(0..y.shape().num_elements() as i64, &y.device());
        let counts = (counts.float() * 0.7).sin().reshape(y.shape());
        let gradients = (y.clone() * counts).sum().backward();
        [
            values(y),
            values(qkv.grad(&gradients).unwrap()),
            values(bias.grad(&gradients).unwrap()),
        ]
    }

    fn burns(qkv: Tensor<3>, padding: Option<&Tensor<2, Bool>>, bias: Tensor<4>) -> Tensor<3> {
        let [q, k, v] = split(qkv, HEADS);
        join(weights(q, k, Some(bias), padding.map(mask_of_keys)).matmul(v))
    }

    fn compare(device: &Device) {
        for (batch, seq) in [(1, 1), (2, 5), (5, 64), (9, 33)] {
            for (biases, padded) in [(1, false), (1, true), (batch, false), (batch, true)] {
                let qkv = random([batch, seq, 3 * D_MODEL], device);
                let bias = random([biases, HEADS, seq, seq], device) * 3.0;
                let padding = padded.then(|| padding(batch, seq, device));
                let padding = padding.as_ref();
                let ours = run(&qkv, &bias, |qkv, bias| {
                    attention(qkv, padding, Some(bias), HEADS)
                });
                let theirs = run(&qkv, &bias, |qkv, bias| burns(qkv, padding, bias));
                let parts = ["output", "gradient of qkv", "gradient of the bias"];
                for ((part, theirs), ours) in parts.iter().zip(&theirs).zip(&ours) {
                    let apart = apart(theirs, ours);
                    let case = format!("{batch} × {seq}, {biases} biases, padded {padded}");
                    assert!(apart < 5e-6, "{case}: {part} {apart} apart");
                }
            }
        }
    }

    #[test]
    fn a_bias_has_burns_result_and_gradients() {
        compare(&Device::flex().autodiff());
    }

    #[cfg(feature = "tch")]
    #[test]
    #[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
    fn a_bias_has_burns_result_and_gradients_on_libtorch() {
        compare(&Device::libtorch().autodiff());
    }

    #[test]
    fn a_bias_of_zeros_changes_no_bit() {
        let device = Device::flex();
        let qkv = random([3, 17, 3 * D_MODEL], &device);
        let zeros = Tensor::zeros([1, HEADS, 17, 17], &device);
        let padding = padding(3, 17, &device);
        let with = |bias| values(attention(qkv.clone(), Some(&padding), bias, HEADS));
        assert_eq!(with(None), with(Some(zeros)));
    }

    #[test]
    fn every_number_of_threads_gives_a_bias_the_same_gradient() {
        let device = Device::flex().autodiff();
        let qkv = random([13, 29, 3 * D_MODEL], &device);
        for biases in [1, 13] {
            let bias = random([biases, HEADS, 29, 29], &device);
            let on = |threads| {
                let pool = rayon::ThreadPoolBuilder::new().num_threads(threads).build();
                pool.unwrap().install(|| {
                    run(&qkv, &bias, |qkv, bias| {
                        attention(qkv, None, Some(bias), HEADS)
                    })
                })
            };
            let one = on(1);
            assert_eq!(one, on(2));
            assert_eq!(one, on(5));
        }
    }
}
