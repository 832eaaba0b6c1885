//! The four operations that a layer consists of, written with Burn's own operations.
//!
//! They run on every backend. The kernels compute the same, and are tested against these functions.

use burn::nn::Linear;
use burn::serde::{Deserialize, Serialize};
use burn::tensor::activation::{gelu, relu, silu, softmax};
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, DType, Device, FloatDType, Tensor};

/// The function between the two layers of a feed-forward network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "burn::serde", rename_all = "lowercase")]
pub enum Activation {
    /// The exact GELU (Hendrycks and Gimpel 2016). On Flex it alone has a kernel.
    #[default]
    Gelu,
    /// `max(x, 0)`, as in Vaswani et al. 2017.
    Relu,
    /// `x · sigmoid(x)`, also called swish.
    Silu,
}

/// The score of a masked key, as in Burn's `MultiHeadAttention`. Its weight `e^-10000` rounds to 0.
pub const MASKED: f32 = -1e4;

/// What is added to the score of a masked key where a kernel does not replace it: whatever the score was, its weight is 0. The sum
/// of two is finite.
#[cfg(any(feature = "cube", feature = "tch"))]
pub const LOWERED: f32 = -1e30;

/// The least score in the kernels of graphics cards.
#[cfg(feature = "cube")]
pub const LEAST: f32 = -3e38;

/// `x W + b`.
///
/// # Shapes
///
/// - `x`: `[batch, seq, inputs]`
/// - output: `[batch, seq, outputs]`
pub fn linear(x: Tensor<3>, layer: &Linear) -> Tensor<3> {
    layer.forward(x)
}

/// `γ (x − mean) / √(variance + ε) + β` over each row of `x`.
///
/// # Shapes
///
/// - `x` and output: `[batch, seq, d_model]`
/// - `gamma` and `beta`: `[d_model]`
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let normalize =
        |x, gamma, beta| burn::tensor::module::layer_norm(x, gamma, Some(beta), epsilon);
    match x.dtype() {
        // A sum of squares may exceed the largest f16, 65504.
        DType::F16 => {
            let wide = FloatDType::F32;
            normalize(x.cast(wide), gamma.cast(wide), beta.cast(wide)).cast(FloatDType::F16)
        }
        _ => normalize(x, gamma, beta),
    }
}

/// `f(x W₁ + b₁) W₂ + b₂` with the activation `f`.
///
/// # Shapes
///
/// - `x` and output: `[batch, seq, d_model]`
pub fn feed_forward(
    x: Tensor<3>,
    inner: &Linear,
    outer: &Linear,
    activation: Activation,
) -> Tensor<3> {
    outer.forward(activated(inner.forward(x), activation))
}

pub fn activated(hidden: Tensor<3>, activation: Activation) -> Tensor<3> {
    match activation {
        Activation::Gelu if has_exact_gelu(&hidden.device()) => gelu(hidden),
        Activation::Gelu => exact_gelu(hidden),
        Activation::Relu => relu(hidden),
        Activation::Silu => silu(hidden),
    }
}

/// Whether the backward pass of Burn's `gelu` is that of the exact one. On other backends it is that of the approximation by
/// tanh, which is up to 9e-4 off, and no number in `f16` where the input is above 40.
fn has_exact_gelu(device: &Device) -> bool {
    #[cfg(any(feature = "flex", feature = "tch"))]
    {
        use burn::backend::DispatchDevice;

        match device.clone().inner().as_dispatch() {
            #[cfg(feature = "flex")]
            DispatchDevice::Flex(_) => true,
            #[cfg(feature = "tch")]
            #[allow(deprecated)]
            // Burn discourages LibTorch; this project still offers it.
            DispatchDevice::LibTorch(_) => true,
            #[allow(unreachable_patterns)] // where the build has no other backend
            _ => false,
        }
    }
    #[cfg(not(any(feature = "flex", feature = "tch")))]
    {
        let _ = device;
        false
    }
}

fn exact_gelu(x: Tensor<3>) -> Tensor<3> {
    let share = ((x.clone() * std::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
    x * share
}

/// Which keys a query does not attend to.
#[derive(Clone, Copy, Debug, Default)]
pub struct Mask<'a> {
    /// `[batch, seq]`, true where there is no token; its weight is 0.
    pub padding: Option<&'a Tensor<2, Bool>>,
    /// Whether a token attends only to itself and to the tokens before it.
    pub causal: bool,
    /// For local attention: a token attends only to tokens fewer than this many places away.
    pub window: Option<usize>,
}

/// Multi-head attention `softmax(q kᵀ / √d_head + bias) v`.
///
/// # Shapes
///
/// - `qkv`: `[batch, seq, 3 · d_model]`, see [`split_heads`]
/// - `bias`: `[1 or batch, heads, seq, seq]`
/// - output: `[batch, seq, d_model]`
pub fn attention(
    qkv: Tensor<3>,
    mask: Mask<'_>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    let [q, k, v] = split_heads(qkv, heads);
    if mask.padding.is_none() && mask.window.is_none() && bias.is_none() {
        return join_heads(without_mask(q, k, v, mask.causal));
    }
    let later = mask
        .causal
        .then(|| later_keys(q.dims()[2], k.dims()[2], &q.device()));
    let outside = outside(mask.window, q.dims()[2], k.dims()[2], &q.device());
    let masks = mask.padding.map(key_mask).into_iter().chain(later);
    let masks = masks.chain(outside);
    let d_head = v.dims()[3];
    let weights = attention_weights(q, k, d_head, bias, masks);
    join_heads(weights.matmul(v))
}

/// Attention without a mask tensor and without a bias, by Burn's one operation for it. (With either of them, Burn 0.23
/// does not use its fused backward pass.) If `causal`, there are as many queries as keys: LibTorch puts the first query
/// at the first key, and the other backends the last query at the last key.
fn without_mask(q: Tensor<4>, k: Tensor<4>, v: Tensor<4>, causal: bool) -> Tensor<4> {
    let options = AttentionModuleOptions {
        // Queries and keys may be wider than a head.
        scale: Some(1.0 / (v.dims()[3] as f64).sqrt()),
        is_causal: causal,
        ..Default::default()
    };
    burn::tensor::module::attention(q, k, v, None, None, options)
}

/// Attention of new tokens to those of a cache, to themselves and to the new tokens before them.
///
/// # Shapes
///
/// - `q`: `[batch, heads, queries, d_head]`, the queries of the last tokens that have keys
/// - keys and values: `[batch, heads, keys, d_head]` each
/// - `bias`: `[1 or batch, heads, queries, keys]`
/// - `window`: see [`Mask::window`]
/// - output: `[batch, heads, queries, d_head]`
pub fn cached_attention(
    q: Tensor<4>,
    [k, v]: [Tensor<4>; 2],
    bias: Option<Tensor<4>>,
    window: Option<usize>,
) -> Tensor<4> {
    let [_, _, queries, _] = q.dims();
    let keys = k.dims()[2];
    // A single query belongs to the last key, so that no key comes after it.
    if queries == 1 && window.is_none() && bias.is_none() {
        return without_mask(q, k, v, false);
    }
    let later = (queries > 1).then(|| later_keys(queries, keys, &q.device()));
    let outside = outside(window, queries, keys, &q.device());
    let d_head = v.dims()[3];
    let masks = later.into_iter().chain(outside);
    attention_weights(q, k, d_head, bias, masks).matmul(v)
}

/// The keys after each query as a mask, `[1, 1, queries, keys]`. The queries belong to the last keys.
pub fn later_keys(queries: usize, keys: usize, device: &Device) -> Tensor<4, Bool> {
    let before = (keys - queries) as i64;
    Tensor::<2, Bool>::tril_mask([queries, keys], before, device).reshape([1, 1, queries, keys])
}

/// For local attention the keys outside of each query's window as a mask, `[1, 1, queries, keys]`. The queries belong to
/// the last keys.
pub fn outside(
    window: Option<usize>,
    queries: usize,
    keys: usize,
    device: &Device,
) -> Option<Tensor<4, Bool>> {
    let reach = (window?.min(keys) - 1) as i64;
    let before = (keys - queries) as i64;
    let after = Tensor::<2, Bool>::tril_mask([queries, keys], before + reach, device);
    let before = Tensor::<2, Bool>::triu_mask([queries, keys], before - reach, device);
    Some(after.bool_or(before).reshape([1, 1, queries, keys]))
}

/// The attention weights of every query: `softmax(q kᵀ / √d_head + bias)`.
///
/// # Shapes
///
/// - `q`: `[batch, heads, queries, width]`
/// - `k`: `[batch, heads, keys, width]`; a scheme may make queries and keys of another width than `d_head`
/// - `bias`: `[1 or batch, heads, queries, keys]`
/// - `masks`: each broadcasts to `[batch, heads, queries, keys]`; where it is true, the weight is 0
/// - output: `[batch, heads, queries, keys]`
pub fn attention_weights(
    q: Tensor<4>,
    k: Tensor<4>,
    d_head: usize,
    bias: Option<Tensor<4>>,
    masks: impl IntoIterator<Item = Tensor<4, Bool>>,
) -> Tensor<4> {
    // A product, since Burn's gradient of a division by a number is rounded to f32 (0.22.1).
    let mut scores = q.matmul(k.transpose()) * (1.0 / (d_head as f64).sqrt());
    if let Some(bias) = bias {
        let dtype = scores.dtype();
        scores = scores + bias.cast(dtype);
    }
    for mask in masks {
        scores = scores.mask_fill(mask, MASKED);
    }
    softmax(scores, 3)
}

/// The sum of two biases, in the wider of their types.
pub fn together(a: Option<Tensor<4>>, b: Option<Tensor<4>>) -> Option<Tensor<4>> {
    match (a, b) {
        (Some(a), Some(b)) => Some(match a.dtype().size() < b.dtype().size() {
            true => a.cast(b.dtype()) + b,
            false => {
                let dtype = a.dtype();
                a + b.cast(dtype)
            }
        }),
        (a, b) => a.or(b),
    }
}

/// Queries, keys and values, `[batch, heads, seq, d_head]` each.
///
/// `qkv` is `[batch, seq, 3 · d_model]`: a row holds the query, the key and the value of a token,
/// and each of the three holds its heads one after the other.
pub fn split_heads(qkv: Tensor<3>, heads: usize) -> [Tensor<4>; 3] {
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

/// `[batch, heads, seq, d_head]` to `[batch, seq, d_model]`: the heads of a token in one row.
pub fn join_heads(x: Tensor<4>) -> Tensor<3> {
    let [batch, heads, seq, d_head] = x.dims();
    x.swap_dims(1, 2).reshape([batch, seq, heads * d_head])
}

/// Padding `[batch, seq]` as a mask of keys, `[batch, 1, 1, seq]`, for [`attention_weights`].
pub fn key_mask(padding: &Tensor<2, Bool>) -> Tensor<4, Bool> {
    let [batch, seq] = padding.dims();
    padding.clone().reshape([batch, 1, 1, seq])
}

#[cfg(test)]
mod tests {
    use burn::nn::LinearConfig;
    use burn::tensor::activation::sigmoid;
    use burn::tensor::{Distribution, Int};

    use super::*;
    use crate::testing::{difference, values};

    #[test]
    fn the_exact_gelu_has_the_exact_gradient() {
        let device = Device::flex().autodiff();
        let x = Tensor::<1, Int>::arange(-40..41, &device).float() * 0.1;
        let run = |gelu: fn(Tensor<3>) -> Tensor<3>| {
            let x = x.clone().reshape([1, 9, 9]).require_grad();
            let y = gelu(x.clone());
            let gradients = y.clone().sum().backward();
            [values(y), values(x.grad(&gradients).unwrap())]
        };
        for (exact, burns) in run(exact_gelu).iter().zip(run(gelu)) {
            let apart = difference(exact, &burns);
            assert!(apart < 1e-6, "{apart}");
        }
    }

    #[test]
    fn each_activation_is_its_formula() {
        let device = Device::flex();
        let [inner, outer] =
            [[6, 10], [10, 6]].map(|[from, to]| LinearConfig::new(from, to).init(&device));
        let x = Tensor::<3>::random([2, 3, 6], Distribution::Normal(0.0, 2.0), &device);
        let hidden = inner.forward(x.clone());
        for (activation, expected) in [
            (Activation::Gelu, gelu(hidden.clone())),
            (Activation::Relu, hidden.clone().clamp_min(0.0)),
            (Activation::Silu, hidden.clone() * sigmoid(hidden)),
        ] {
            let y = feed_forward(x.clone(), &inner, &outer, activation);
            let apart = difference(&values(y), &values(outer.forward(expected)));
            assert!(apart < 1e-6, "{activation:?}: {apart}");
        }
    }
}
