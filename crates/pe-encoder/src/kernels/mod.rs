//! The four operations of a layer, each by a kernel or by Burn's own operations.
//!
//! The functions here choose: a kernel where there is one for the tensor, else [`plain`].
//!
//! Burn records every step of a normalization or a softmax as an operation of its own, and each goes
//! through memory once forward and several times backward. A kernel is one recorded operation, whose
//! gradient is written out.
//!
//! | module | feature | kernels |
//! |---|---|---|
//! | `flex` | `flex` | all four, on Burn's CPU backend Flex, and attention to a cache; the step of Adam |
//! | `cube` | `wgpu`, `vulkan`, `metal`, `webgpu`, `cuda`, `rocm` | linear layers by Burn's products, layer normalization with the residual sum before it, attention, and attention to a cache on graphics cards; the step of Adam |
//! | `torch` | `tch` | layer normalization and attention by LibTorch's own functions; the step of Adam |

#[cfg(any(feature = "flex", feature = "tch"))]
mod adam;
#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "flex")]
pub(crate) mod flex;
#[cfg(feature = "tch")]
pub(crate) mod torch;

#[cfg(any(feature = "cube", feature = "flex", feature = "tch"))]
mod bias;
pub(crate) mod check;
#[cfg(test)]
mod compare;
pub(crate) mod part;
mod projection;
#[cfg(any(feature = "cube", feature = "flex", feature = "tch"))]
pub(crate) mod rates;
pub(crate) mod stream;

use burn::config::Config;
use burn::nn::Linear;
#[cfg(any(feature = "cube", feature = "tch"))]
use burn::tensor::DType;
use burn::tensor::{Device, Tensor};

use self::part::{Added, Input, Part};
pub(crate) use self::projection::Projection;
use crate::norm::LayerNorm;
use crate::plain::{self, Activation, Mask};

/// Whether a module may use this crate's kernels.
///
/// ```
/// use burn::tensor::Device;
/// use pe_encoder::{EncoderConfig, Kernels};
///
/// let encoder = EncoderConfig::new(64, 256, 4, 2).init(&Device::flex());
/// let plain = encoder.with_kernels(Kernels::Off); // the same parameters, without kernels
/// ```
#[derive(Config, Copy, Debug, PartialEq, Eq)]
pub enum Kernels {
    /// A kernel wherever there is one for the tensor: on a backend whose feature is on, for `f32`,
    /// and without gradient checkpointing. Burn's operations everywhere else.
    Auto,
    /// Burn's operations everywhere.
    Off,
}

/// Whose code runs an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Runner {
    /// Burn's operations.
    Plain,
    /// Kernels on a graphics card.
    #[cfg(feature = "cube")]
    Cube,
    /// Kernels on Flex.
    #[cfg(feature = "flex")]
    Flex,
    /// Kernels on LibTorch.
    #[cfg(feature = "tch")]
    Torch,
}

impl Kernels {
    /// Whose code runs an operation on `x`.
    ///
    /// The kernels are for `f32`. With gradient checkpointing Burn computes some results of the
    /// forward pass a second time in the backward pass, which a kernel offers no way to do.
    #[cfg(any(feature = "cube", feature = "flex", feature = "tch"))]
    fn runner<const D: usize>(self, x: &Tensor<D>) -> Runner {
        use burn::backend::DispatchDevice;
        use burn::tensor::GradientCheckpointingStrategy;

        let device = x.device();
        let checkpointing = matches!(
            device.gradient_checkpointing_strategy(),
            Some(GradientCheckpointingStrategy::Balanced)
        );
        if self == Self::Off || checkpointing || x.dtype() != burn::tensor::DType::F32 {
            return Runner::Plain;
        }
        match device.inner().as_dispatch() {
            #[cfg(feature = "cube")]
            DispatchDevice::Cube(_) if pe_burn::is_card(&x.device()) => Runner::Cube,
            #[cfg(feature = "flex")]
            DispatchDevice::Flex(_) => Runner::Flex,
            #[cfg(feature = "tch")]
            #[allow(deprecated)]
            // Burn discourages LibTorch; this project still offers it.
            DispatchDevice::LibTorch(_) => Runner::Torch,
            #[allow(unreachable_patterns)] // where the build has no other backend
            _ => Runner::Plain,
        }
    }

    /// Whether attention takes all that a scheme may bring: a bias that is one number for each distance, or for each token, a factor of
    /// its scores, and queries and keys that are wider than the values.
    pub(crate) fn take_all_forms(self, x: &Tensor<3>) -> bool {
        match self.runner(x) {
            #[cfg(feature = "flex")]
            Runner::Flex => true,
            _ => false,
        }
    }

    /// Without a feature there are no kernels.
    #[cfg(not(any(feature = "cube", feature = "flex", feature = "tch")))]
    fn runner<const D: usize>(self, _: &Tensor<D>) -> Runner {
        Runner::Plain
    }
}

/// The tensor of an input.
///
/// # Panics
///
/// As [`layer_norm`].
pub(crate) fn tensor(input: Input<'_>, kernels: Kernels) -> Tensor<3> {
    match input {
        Input::Whole(x) => x,
        Input::Normalized(x, norm) => layer_norm(x, norm, kernels),
    }
}

/// [`linear`] of an input, which a kernel normalizes where it reads it.
pub(crate) fn linear_of(input: Input<'_>, layer: &Linear, kernels: Kernels) -> Tensor<3> {
    match (input, &layer.bias) {
        #[cfg(feature = "flex")]
        (Input::Normalized(x, norm), Some(bias))
            if kernels.runner(&x) == Runner::Flex && !check::is_quantized(layer) =>
        {
            check::linear("a linear layer", layer, x.dims()[2]);
            let norm = parameters(norm, &x);
            flex::normed_linear(x, norm, layer.weight.val(), bias.val())
        }
        (input, _) => linear(tensor(input, kernels), layer, kernels),
    }
}

/// γ, β and ε of a normalization of `x` by a kernel on Flex, which panics as [`layer_norm`] says.
#[cfg(feature = "flex")]
fn parameters(norm: &LayerNorm, x: &Tensor<3>) -> (Tensor<1>, Tensor<1>, f64) {
    let (gamma, beta) = checked(norm, x, Runner::Flex);
    (gamma, beta, norm.epsilon)
}

/// As [`plain::linear`].
///
/// # Panics
///
/// When weight and bias do not fit to the width of `x`.
pub(crate) fn linear(x: Tensor<3>, layer: &Linear, kernels: Kernels) -> Tensor<3> {
    check::linear("a linear layer", layer, x.dims()[2]);
    match (kernels.runner(&x), &layer.bias) {
        _ if check::is_quantized(layer) => plain::linear(x, layer),
        #[cfg(feature = "flex")]
        (Runner::Flex, Some(bias)) => flex::linear(x, layer.weight.val(), bias.val()),
        #[cfg(feature = "cube")]
        (Runner::Cube, Some(bias)) => cube::linear(x, layer.weight.val(), bias.val()),
        (_, _) => plain::linear(x, layer),
    }
}

/// As [`plain::layer_norm`].
///
/// # Panics
///
/// When γ and β are not as long as `x` is wide, and where there is a kernel also when they are not `f32` on the device of `x`.
pub(crate) fn layer_norm(x: Tensor<3>, norm: &LayerNorm, kernels: Kernels) -> Tensor<3> {
    let runner = kernels.runner(&x);
    let (gamma, beta) = checked(norm, &x, runner);
    match runner {
        #[cfg(feature = "cube")]
        Runner::Cube => cube::layer_norm(x, gamma, beta, norm.epsilon),
        #[cfg(feature = "flex")]
        Runner::Flex => flex::layer_norm(x, gamma, beta, norm.epsilon),
        #[cfg(feature = "tch")]
        Runner::Torch => torch::layer_norm(x, gamma, beta, norm.epsilon),
        Runner::Plain => plain::layer_norm(x, gamma, beta, norm.epsilon),
    }
}

/// γ and β of a normalization of `x`, which panics as [`layer_norm`] says.
fn checked(norm: &LayerNorm, x: &Tensor<3>, runner: Runner) -> (Tensor<1>, Tensor<1>) {
    let [_, _, d_model] = x.dims();
    let [gamma, beta] = [&norm.gamma, &norm.beta].map(|of| match of.val() {
        of if of.dtype().is_float() => of,
        quantized => quantized.dequantize(),
    });
    for (name, of) in [("γ", &gamma), ("β", &beta)] {
        let name = format_args!("{name} of a layer normalization");
        check::shape(name, of, [d_model]);
        if runner != Runner::Plain {
            check::alike(name, of, "its input", x);
        }
    }
    (gamma, beta)
}

/// As [`plain::feed_forward`], whose last layer may have yet to run.
///
/// # Panics
///
/// When the weights and biases of the two layers do not fit to the width of the input and to each other.
pub(crate) fn feed_forward<'a>(
    input: Input<'_>,
    inner: &Linear,
    outer: &'a Linear,
    activation: Activation,
    kernels: Kernels,
) -> Part<'a> {
    let [_, _, d_model] = input.rows().dims();
    let d_ff = check::linear("the inner layer", inner, d_model);
    check::linear("the outer layer", outer, d_ff);
    check::shape(
        "the weight of the outer layer",
        &outer.weight,
        [d_ff, d_model],
    );
    #[cfg(feature = "flex")]
    if let (Runner::Flex, Activation::Gelu, Some(b1), Some(b2)) = (
        kernels.runner(input.rows()),
        activation,
        &inner.bias,
        &outer.bias,
    ) && !check::is_quantized(inner)
        && !check::is_quantized(outer)
    {
        let (inner, outer) = (
            (inner.weight.val(), b1.val()),
            (outer.weight.val(), b2.val()),
        );
        return Part::Whole(match input {
            Input::Whole(x) => flex::feed_forward(x, inner, outer),
            Input::Normalized(x, norm) => {
                let norm = parameters(norm, &x);
                flex::normed_feed_forward(x, norm, inner, outer)
            }
        });
    }
    let x = tensor(input, kernels);
    match kernels.runner(&x) {
        #[cfg(feature = "cube")]
        Runner::Cube => {
            // As one sequence, since Burn fuses no operations across a change of shape.
            let [batch, seq, _] = x.dims();
            let hidden = linear(x.reshape([1, batch * seq, d_model]), inner, kernels);
            Part::OneSequence(plain::activated(hidden, activation), outer, batch)
        }
        _ => Part::Whole(plain::feed_forward(x, inner, outer, activation)),
    }
}

/// Queries, keys and values of equal width, for [`attention`].
pub(crate) fn projection(qkv: Tensor<3>, heads: usize, kernels: Kernels) -> Projection {
    match kernels.runner(&qkv) {
        #[cfg(feature = "flex")]
        Runner::Flex => Projection::viewed(qkv, heads),
        _ => Projection::new(qkv, heads),
    }
}

/// As [`plain::attention`]. Where [`Kernels::take_all_forms`] says so, the bias may be one number for each distance,
/// `[1, heads, 1, 2 · seq − 1]`, or for each token, `[1 or batch, heads, 1, seq]`, of which a pair adds that of the key less that
/// of the query.
pub(crate) fn attention(
    projection: Projection,
    mask: Mask<'_>,
    added: Added,
    kernels: Kernels,
) -> Tensor<3> {
    let Projection { qkv, heads, .. } = projection;
    let ([batch, seq, width], [heads, d_head]) = (qkv.dims(), heads);
    assert!(
        width == 3 * heads * d_head || kernels.take_all_forms(&qkv),
        "queries and keys of another width than the values, {d_head}, where no kernel takes them"
    );
    let Added { factor, bias } = added;
    assert!(
        factor == 1.0 || kernels.take_all_forms(&qkv),
        "scores times {factor}, where no kernel multiplies them"
    );
    if let Some(bias) = &bias {
        let shape = match bias.dims() {
            [_, _, 1, numbers] if kernels.take_all_forms(&qkv) => match numbers == seq {
                true => [batch, heads, 1, seq],
                false => [1, heads, 1, 2 * seq - 1],
            },
            _ => [batch, heads, seq, seq],
        };
        check_bias(bias, shape, &qkv.device());
    }
    match kernels.runner(&qkv) {
        #[cfg(feature = "cube")]
        Runner::Cube => {
            let bias = with_window(bias, mask.window, [seq, seq], &qkv.device());
            cube::attention(qkv, mask, bias, heads)
        }
        #[cfg(feature = "flex")]
        Runner::Flex => flex::attention(qkv, mask, (factor, bias), [heads, d_head]),
        #[cfg(feature = "tch")]
        Runner::Torch => {
            let bias = with_window(bias, mask.window, [seq, seq], &qkv.device());
            torch::attention(qkv, mask, bias, heads)
        }
        Runner::Plain => plain::attention(qkv, mask, bias, heads),
    }
}

/// For kernels without local attention: the bias, lowered at every key outside of a window. Without one `[1, 1, queries, keys]`.
#[cfg(any(feature = "cube", feature = "tch"))]
fn with_window(
    bias: Option<Tensor<4>>,
    window: Option<usize>,
    [queries, keys]: [usize; 2],
    device: &Device,
) -> Option<Tensor<4>> {
    let scores = plain::outside(window, queries, keys, device).map(|outside| {
        let inside = Tensor::zeros([1, 1, queries, keys], (device, DType::F32));
        inside.mask_fill(outside, plain::LOWERED)
    });
    plain::together(bias, scores)
}

/// Checks a bias: kernels read it without another check, and Burn's operations would repeat a bias of a single head.
///
/// # Panics
///
/// When it is not `[1 or batch, heads, queries, keys]`, as that of a scheme for another number of heads, when it is on
/// another device than the scores, and when it is quantized.
pub(crate) fn check_bias(bias: &Tensor<4>, scores: [usize; 4], device: &Device) {
    let [batch, others @ ..] = bias.dims();
    assert!(
        (batch == 1 || batch == scores[0]) && others == scores[1..],
        "the shape of the bias is {:?}, and that of the scores {scores:?}: [batch, heads, queries, keys]",
        bias.dims()
    );
    check_device(bias, device, "the bias");
}

/// Checks what a scheme returns, since kernels read its memory.
///
/// # Panics
///
/// When `x`, which is called `name`, is on another device, and when it is quantized.
pub(crate) fn check_device<const D: usize>(x: &Tensor<D>, device: &Device, name: &str) {
    let (own, expected) = (
        x.device().without_autodiff(),
        device.clone().without_autodiff(),
    );
    assert!(
        own == expected,
        "{name} is on {own:?}, and the layer on {expected:?}"
    );
    assert!(
        x.dtype().is_float(),
        "{name} is quantized: dequantize it first"
    );
}

/// As [`plain::cached_attention`].
///
/// # Panics
///
/// When the shapes do not fit together.
pub(crate) fn cached_attention(
    q: Tensor<4>,
    cache: [Tensor<4>; 2],
    bias: Option<Tensor<4>>,
    window: Option<usize>,
    kernels: Kernels,
) -> Tensor<4> {
    let [batch, heads, queries, d_head] = q.dims();
    let keys = cache[0].dims()[2];
    for x in &cache {
        check::shape("the cache", x, [batch, heads, keys, d_head]);
        check::alike("the cache", x, "the queries", &q);
    }
    if let Some(bias) = &bias {
        check_bias(bias, [batch, heads, queries, keys], &q.device());
    }
    // The kernels have no backward pass. One tensor with autodiff is enough to need one.
    let autodiff = [&q, &cache[0], &cache[1]]
        .into_iter()
        .chain(&bias)
        .any(|x| x.device().is_autodiff());
    let runner = match autodiff {
        true => Runner::Plain,
        false => kernels.runner(&q),
    };
    match runner {
        #[cfg(feature = "cube")]
        Runner::Cube => {
            let bias = with_window(bias, window, [queries, keys], &q.device());
            cube::cached_attention(q, cache, bias)
        }
        #[cfg(feature = "flex")]
        Runner::Flex => flex::cached_attention(q, cache, bias, window),
        _ => plain::cached_attention(q, cache, bias, window),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(feature = "flex")]
    use crate::testing::refused;
    use burn::tensor::FloatDType;

    fn runner(kernels: Kernels, device: &Device) -> Runner {
        kernels.runner(&Tensor::<1>::zeros([1], device))
    }

    #[test]
    #[cfg(feature = "flex")]
    fn flex_has_kernels_with_and_without_autodiff() {
        assert_eq!(runner(Kernels::Auto, &Device::flex()), Runner::Flex);
        let autodiff = Device::flex().autodiff();
        assert_eq!(runner(Kernels::Auto, &autodiff), Runner::Flex);
    }

    /// With kernels and without: a kernel would read beyond it, and Burn's operations might repeat it.
    #[test]
    #[cfg(feature = "flex")]
    fn a_bias_of_other_heads_is_refused() {
        let device = Device::flex();
        for kernels in [Kernels::Auto, Kernels::Off] {
            for heads in [1, 4, 16] {
                let x = Tensor::<4>::zeros([2, 8, 3, 4], &device);
                let qkv = Tensor::<3>::zeros([2, 3, 3 * 8 * 4], &device);
                let bias = Some(Tensor::<4>::zeros([1, heads, 3, 3], &device));
                let said = refused(|| {
                    let cache = [x.clone(), x.clone()];
                    cached_attention(x.clone(), cache, bias.clone(), None, kernels)
                });
                assert!(said.contains("the shape of the bias"), "{said}");
                let mask = Mask {
                    causal: true,
                    ..Mask::default()
                };
                let said = refused(|| {
                    let (factor, bias) = (1.0, bias.clone());
                    let qkv = projection(qkv.clone(), 8, kernels);
                    attention(qkv, mask, Added { factor, bias }, kernels)
                });
                assert!(said.contains("the shape of the bias"), "{said}");
            }
        }
    }

    #[test]
    #[cfg(feature = "tch")]
    #[allow(deprecated)] // Burn discourages LibTorch; this project still offers it.
    fn libtorch_has_kernels() {
        let device = Device::libtorch().autodiff();
        assert_eq!(runner(Kernels::Auto, &device), Runner::Torch);
        assert_eq!(runner(Kernels::Off, &device), Runner::Plain);
    }

    #[test]
    #[cfg(feature = "cube")]
    fn cards_are_not_cubecls_runtime_for_processors() {
        use burn_cubecl::cubecl::Device as Cube;

        let is_card = |device: Cube| pe_burn::is_card(&Device::new(device));
        assert!(is_card(Cube::Cuda(Default::default())));
        assert!(!is_card(Cube::Cpu(Default::default())));
    }

    #[test]
    fn off_means_burns_operations() {
        assert_eq!(runner(Kernels::Off, &Device::flex()), Runner::Plain);
        let autodiff = Device::flex().autodiff();
        assert_eq!(runner(Kernels::Off, &autodiff), Runner::Plain);
    }

    #[test]
    fn gradient_checkpointing_and_other_types_get_burns_operations() {
        let device = Device::flex().autodiff().gradient_checkpointing();
        assert_eq!(runner(Kernels::Auto, &device), Runner::Plain);
        let wide = Tensor::<1>::zeros([1], &Device::flex()).cast(FloatDType::F64);
        assert_eq!(Kernels::Auto.runner(&wide), Runner::Plain);
    }
}
