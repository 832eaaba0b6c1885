//! Multi-head self-attention with any positional scheme.
//!
//! The scheme acts at three places: it rotates queries and keys, it adds to the scores, where a forget gate adds too, and it
//! adds to the weights after the softmax.

mod cache;
mod shared;

use burn::config::Config;
use burn::module::{Initializer, Module};
use burn::nn::{Dropout, DropoutConfig, Linear, LinearConfig};
use burn::tensor::{Bool, DType, Device, FloatDType, Tensor};
use pe_burn::{Positional, Positions};

pub use cache::Cache;
pub(crate) use shared::{Form, Shared};

use crate::kernels::part::{Input, Part};
use crate::kernels::stream::whole;
use crate::kernels::{self, Kernels, Projection};
use crate::plain::{
    Mask, attention_weights, join_heads, key_mask, later_keys, outside, split_heads, together,
};

/// The configuration of an [`Attention`].
#[derive(Config, Debug)]
pub struct AttentionConfig {
    /// The width of a token's vector.
    pub d_model: usize,
    /// The number of attention heads. `d_model` must be a multiple of it.
    pub heads: usize,
    /// The probability with which training drops an attention weight.
    ///
    /// Attention that drops weights is computed by Burn's operations, without a kernel. Dropout
    /// needs an autodiff device: on others it does nothing.
    #[config(default = 0.0)]
    pub dropout: f64,
    /// Whether a token attends only to itself and to the tokens before it.
    #[config(default = false)]
    pub causal: bool,
    /// For local attention: a token attends only to tokens fewer than this many places away, so to itself
    /// and to `window − 1` tokens on each side (on the left alone if the attention is causal). Places are
    /// those in the row, whatever the positions are. Without it a token attends to all tokens.
    pub window: Option<usize>,
    /// The index of this layer in its model, for a scheme that has other weights in every layer.
    #[config(default = 0)]
    pub layer: usize,
    /// Whether kernels may be used.
    #[config(default = "Kernels::Auto")]
    pub kernels: Kernels,
}

impl AttentionConfig {
    /// Builds the attention on `device`. Weights and biases of its two projections start at
    /// N(0, 1 / √inputs).
    ///
    /// # Panics
    ///
    /// When `heads` or `d_model` is 0, when `d_model` is not a multiple of `heads`, when `dropout` is not at
    /// least 0 and below 1, or when `window` is 0.
    pub fn init(&self, device: &Device) -> Attention {
        self.check();
        let Self { d_model, heads, .. } = *self;
        Attention {
            qkv: projection(d_model, 3 * d_model, device),
            output: projection(d_model, d_model, device),
            dropout: DropoutConfig::new(self.dropout).init(),
            heads,
            causal: self.causal,
            window: self.window,
            layer: self.layer,
            kernels: self.kernels,
        }
    }

    /// Panics as [`init`](Self::init) does.
    pub(crate) fn check(&self) {
        let Self { d_model, heads, .. } = *self;
        assert!(
            self.window != Some(0),
            "window is 0: a token attends at least to itself, so it must be at least 1"
        );
        assert!(
            heads > 0 && d_model > 0 && d_model.is_multiple_of(heads),
            "d_model is {d_model}; it must be a multiple of the number of heads, {heads}, and both above 0"
        );
    }
}

/// A linear layer whose weights and bias start at N(0, 1 / √inputs) (LeCun et al. 1998,
/// *Efficient BackProp*, section 4.6).
pub(crate) fn projection(inputs: usize, outputs: usize, device: &Device) -> Linear {
    let initializer = Initializer::KaimingNormal {
        gain: 1.0,
        fan_out_only: false,
    };
    let config = LinearConfig::new(inputs, outputs).with_initializer(initializer);
    config.init(device)
}

/// Multi-head self-attention `softmax(q kᵀ / √d_head + bias) v` (Vaswani et al. 2017, section 3.2)
/// with a positional scheme.
///
/// One linear layer makes queries, keys and values; another one projects the heads' results. The scheme rotates `q` and
/// `k` and gives `bias`, which may depend on the rotated `q` and `k`; a [forget gate](pe_burn::ForgetGate) adds to it.
/// What the scheme [adds to the weights](pe_burn::WeightBias) comes after the softmax, and after dropout, for the keys
/// that a token attends to. With a scheme that does none of this, the result is that of Burn's
/// [`MultiHeadAttention`](burn::nn::attention::MultiHeadAttention).
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{PositionalConfig, Positions};
/// use pe_encoder::AttentionConfig;
///
/// let device = Device::flex();
/// let attention = AttentionConfig::new(64, 4).init(&device);
/// let scheme = PositionalConfig::by_name("rotary", 64, 4, 512).unwrap().init(&device);
///
/// let x = Tensor::<3>::random([8, 100, 64], Distribution::Default, &device);
/// let y = attention.forward(x, None, &scheme, &Positions::default());
/// assert_eq!(y.dims(), [8, 100, 64]);
/// ```
#[derive(Module, Debug)]
pub struct Attention {
    /// `d_model` → `3 · d_model`: query, key and value of a token, one after the other.
    pub(crate) qkv: Linear,
    pub(crate) output: Linear,
    pub(crate) dropout: Dropout,
    pub(crate) heads: usize,
    pub(crate) causal: bool,
    #[module(skip)]
    pub(crate) window: Option<usize>,
    #[module(skip)]
    pub(crate) layer: usize,
    #[module(skip)]
    pub(crate) kernels: Kernels,
}

/// The sum, if there is something to add.
fn plus(y: Tensor<3>, added: Option<Tensor<3>>) -> Tensor<3> {
    match added {
        Some(added) => y + added,
        None => y,
    }
}

impl Attention {
    /// Sets whether this module may use kernels.
    pub fn with_kernels(mut self, kernels: Kernels) -> Self {
        self.kernels = kernels;
        self
    }

    /// Attention of all tokens of a row to each other, or of each to the tokens before it if the
    /// attention is causal.
    ///
    /// Packed positions ([`from_segment_ids`](Positions::from_segment_ids)) say where each document begins, and not which tokens
    /// see each other: there is no mask between documents here, so tokens attend to those of other documents too.
    ///
    /// At a token that has no token to attend to, the output means nothing, and differs between backends: leave
    /// such tokens out of the loss.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`
    /// - `padding`: `[batch, seq]`, true where there is no token: nothing attends there
    /// - output: `[batch, seq, d_model]`
    ///
    /// # Panics
    ///
    /// When the width of `x` is not `d_model`, when `padding` has another shape, when the scheme has no encoding for these
    /// positions, when what it returns has another shape than this attention needs (as the bias of another number of heads)
    /// or is on another device, and when it has a forget gate and the attention is not causal.
    pub fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<2, Bool>>,
        scheme: &dyn Positional,
        positions: &Positions,
    ) -> Tensor<3> {
        if is_empty(&x) {
            return x;
        }
        let x = self.with_autodiff(x);
        let shared = Shared::new(&x, padding, scheme, positions, self.form());
        whole(self.attend(Input::Whole(x), &shared), self.kernels)
    }

    /// Attention of new tokens to those of the cache, to themselves and to the new tokens before
    /// them. Appends the new tokens to the cache.
    ///
    /// The result for a sequence is that of [`forward`](Self::forward), however it is divided into calls, unless the
    /// frequencies of RoPE are scaled by the length of the input
    /// ([`RotaryPositionalEncoding`](pe_burn::RotaryPositionalEncoding) says which scalings do so). Position 0 is the
    /// first token of the cache.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, the new tokens; the batch is that of the cache
    /// - output: `[batch, seq, d_model]`
    ///
    /// # Panics
    ///
    /// When the attention is not causal, when the width of `x` is not `d_model`, when the cache has another batch size or
    /// was filled with a scheme that has a forget gate where this one has none, or the other way round, when the scheme has no encoding for these positions, and when what it
    /// returns has another shape than this attention needs or is on another device.
    pub fn forward_cached(
        &self,
        x: Tensor<3>,
        scheme: &dyn Positional,
        cache: &mut Cache,
    ) -> Tensor<3> {
        if is_empty(&x) {
            return x;
        }
        let x = self.with_autodiff(x);
        let shared = Shared::after(cache.tokens(), &x, scheme, self.form());
        let part = self.attend_cached(Input::Whole(x), &shared, cache);
        whole(part, self.kernels)
    }

    /// `x`, moved to the autodiff device of the weights if they have one. The first product would do this anyway, but
    /// before it the device of `x` decides which kernels run and whether weights are dropped.
    pub(crate) fn with_autodiff(&self, x: Tensor<3>) -> Tensor<3> {
        match self.qkv.weight.gradient_checkpointing_strategy() {
            Some(strategy) if !x.is_autodiff() => {
                x.autodiff().with_gradient_checkpointing_strategy(strategy)
            }
            _ => x,
        }
    }

    /// The settings that this layer may share with others.
    pub(crate) fn form(&self) -> Form {
        let [d_model, _] = self.qkv.weight.dims();
        Form {
            heads: self.heads,
            d_head: d_model / self.heads,
            causal: self.causal,
            window: self.window,
            dropout: may_drop(&self.dropout),
            kernels: self.kernels,
        }
    }

    /// As [`forward`](Self::forward), of an `x` that is not empty. The last projection has yet to run.
    pub(crate) fn attend(&self, x: Input<'_>, shared: &Shared<'_>) -> Part<'_> {
        let (x, states) = self.states(x, shared);
        let gates = self.gate_sums(states.as_ref(), shared, None);
        let of_gate = gates.map(|sums| match shared.sums_alone {
            true => -sums.swap_dims(2, 3),
            false => differences(sums.clone(), sums),
        });
        let by_states = together(of_gate, shared.by_hidden_states(self.layer, states));
        let qkv = self.projected(x);
        let is_wide = shared.changes_width();
        let y = if drops(&self.dropout, &qkv) || is_wide && !self.kernels.take_all_forms(&qkv) {
            let [q, k, v] = self.queries_keys_values(qkv, shared);
            let padding = shared.padding.map(key_mask);
            self.weighted_values(q, [k, v], shared, by_states, padding)
        } else {
            let projection = match is_wide {
                true => Projection::of_parts(self.queries_keys_values(qkv, shared)),
                false => {
                    let qkv = self.rotate_packed(qkv, shared);
                    kernels::projection(qkv, self.heads, self.kernels)
                }
            };
            let queries_and_keys = || [0, 1].map(|which| projection.part(which));
            let scales = self.kernels.take_all_forms(&projection.qkv);
            let added_to_scores = shared.scaled_bias(queries_and_keys, by_states, scales);
            let mask = Mask {
                padding: shared.padding,
                causal: self.causal,
                window: self.window,
            };
            let added = shared.after_softmax(|| projection.part(2));
            let y = kernels::attention(projection, mask, added_to_scores, self.kernels);
            plus(y, added)
        };
        Part::Last(y, &self.output)
    }

    /// As [`forward_cached`](Self::forward_cached), of an `x` that is not empty. The last projection has yet to run.
    pub(crate) fn attend_cached(
        &self,
        x: Input<'_>,
        shared: &Shared<'_>,
        cache: &mut Cache,
    ) -> Part<'_> {
        assert!(self.causal, "a cache is for causal attention");
        let (x, states) = self.states(x, shared);
        let gates = self.gate_sums(states.as_ref(), shared, Some(cache));
        let by_hidden_states = shared.by_hidden_states(self.layer, states);
        let [q, k, v] = self.queries_keys_values(self.projected(x), shared);
        cache.extend([k, v], gates.clone());
        let [k, v] = [&cache.keys, &cache.values].map(|room| cache.all(room));
        let of_gate = gates.map(|sums| differences(sums, cache.all(&cache.gates)));
        let by_states = together(of_gate, by_hidden_states);
        let y = match drops(&self.dropout, &q) || shared.changes_width() {
            true => self.weighted_values(q, [k, v], shared, by_states, None),
            false => {
                let bias = shared.bias(|| [q.clone(), k.clone()], by_states);
                let added = shared.after_softmax(|| v.clone());
                let y = kernels::cached_attention(q, [k, v], bias, self.window, self.kernels);
                plus(join_heads(y), added)
            }
        };
        Part::Last(y, &self.output)
    }

    /// The input, and once more as a tensor if the scheme reads it too.
    fn states<'a>(&self, x: Input<'a>, shared: &Shared<'_>) -> (Input<'a>, Option<Tensor<3>>) {
        if !shared.reads_states() {
            return (x, None);
        }
        let x = kernels::tensor(x, self.kernels);
        (Input::Whole(x.clone()), Some(x))
    }

    /// For a scheme with a forget gate: the sums of the logarithms of the gates of every row up to every token, the tokens of
    /// the cache included, `[batch, heads, seq, 1]`. Where there is no token, nothing is forgotten.
    fn gate_sums(
        &self,
        states: Option<&Tensor<3>>,
        shared: &Shared<'_>,
        cache: Option<&Cache>,
    ) -> Option<Tensor<4>> {
        let (scheme, x) = (shared.forget_gate?, states?);
        assert!(
            self.causal,
            "the scheme has a forget gate, which is for causal attention: this attention is not causal"
        );
        let mut gates = scheme.log_gates(self.layer, x.clone());
        let [batch, seq, _] = x.dims();
        assert_eq!(
            gates.dims(),
            [batch, self.heads, seq],
            "the shape of the forget gates, and [batch, heads, seq]"
        );
        kernels::check_device(&gates, &x.device(), "the forget gate");
        if let Some(padding) = shared.padding {
            gates = gates.mask_fill(padding.clone().unsqueeze_dim(1), 0.0);
        }
        // The sum of many small numbers needs more digits than half precision has.
        if gates.dtype().size() < DType::F32.size() {
            gates = gates.cast(FloatDType::F32);
        }
        let sums = gates.cumsum(2).unsqueeze_dim(3);
        let before = cache.filter(|cache| cache.gates.is_some());
        Some(match before {
            Some(cache) => sums + cache.all(&cache.gates).narrow(2, cache.tokens() - 1, 1),
            None => sums,
        })
    }

    /// The first projection: `[batch, seq, d_model]` to `[batch, seq, 3 · d_model]`.
    fn projected(&self, x: Input<'_>) -> Tensor<3> {
        let [d_model, _] = self.qkv.weight.dims();
        check_width(x.rows(), d_model);
        kernels::linear_of(x, &self.qkv, self.kernels)
    }

    /// The projection, its queries and keys rotated by a scheme that leaves them as wide as they are.
    fn rotate_packed(&self, qkv: Tensor<3>, shared: &Shared<'_>) -> Tensor<3> {
        let Some(scheme) = shared.rotate else {
            return qkv;
        };
        let (dims, device) = (qkv.dims(), qkv.device());
        let qkv = scheme.rotate_packed(qkv, [self.heads; 2], &shared.positions);
        assert_eq!(
            qkv.dims(),
            dims,
            "the shape of the rotated projection, and that of the projection"
        );
        kernels::check_device(&qkv, &device, "the rotated projection");
        qkv
    }

    /// Queries and keys of the projection, rotated, and values: `[batch, heads, seq, width]` each.
    fn queries_keys_values(&self, qkv: Tensor<3>, shared: &Shared<'_>) -> [Tensor<4>; 3] {
        let Some(scheme) = shared.rotate.filter(|_| shared.changes_width()) else {
            return split_heads(self.rotate_packed(qkv, shared), self.heads);
        };
        let [q, k, v] = split_heads(qkv, self.heads);
        let [batch, heads, seq, _] = q.dims();
        let (q, k) = scheme.rotate(q, k, &shared.positions);
        for x in [&q, &k] {
            assert_eq!(
                x.dims(),
                [batch, heads, seq, shared.width],
                "the shape of rotated queries and keys, and [batch, heads, seq, width]"
            );
            kernels::check_device(x, &v.device(), "a side of the rotation");
        }
        [q, k, v]
    }

    /// Attention by Burn's operations, with what kernels cannot do: dropout, and, except on Flex, queries and keys of
    /// another width than the values. The queries belong to the last tokens that have keys.
    fn weighted_values(
        &self,
        q: Tensor<4>,
        [k, v]: [Tensor<4>; 2],
        shared: &Shared<'_>,
        by_states: Option<Tensor<4>>,
        padding: Option<Tensor<4, Bool>>,
    ) -> Tensor<3> {
        let later = (self.causal).then(|| later_keys(q.dims()[2], k.dims()[2], &q.device()));
        let outside = outside(self.window, q.dims()[2], k.dims()[2], &q.device());
        let masks = padding.into_iter().chain(later).chain(outside);
        let bias = shared.bias(|| [q.clone(), k.clone()], by_states);
        let weights = attention_weights(q, k, shared.d_head, bias, masks);
        let added = shared.after_softmax(|| v.clone());
        plus(join_heads(self.dropout.forward(weights).matmul(v)), added)
    }
}

/// The sums up to each query less those up to each key: `[batch, heads, queries, 1]` and `[batch, heads, keys, 1]` to
/// `[batch, heads, queries, keys]`.
fn differences(queries: Tensor<4>, keys: Tensor<4>) -> Tensor<4> {
    queries - keys.swap_dims(2, 3)
}

/// Whether `x` has no elements. Burn 0.22.1 reads out of bounds in a matrix product without rows,
/// so the modules return such an input as it is.
pub(crate) fn is_empty(x: &Tensor<3>) -> bool {
    x.shape().num_elements() == 0
}

/// Whether a dropout drops anything where there is a backward pass. It is switched off by `freeze`.
fn may_drop(dropout: &Dropout) -> bool {
    dropout.prob > 0.0 && dropout.training.is_enabled()
}

/// Whether a dropout drops anything of `x`.
pub(crate) fn drops<const D: usize>(dropout: &Dropout, x: &Tensor<D>) -> bool {
    may_drop(dropout) && x.device().is_autodiff()
}

/// Panics unless `x` is `[batch, seq, d_model]`. The kernels read slices, which have no shape.
pub(crate) fn check_width(x: &Tensor<3>, d_model: usize) {
    let [_, _, width] = x.dims();
    assert_eq!(width, d_model, "the width of x must be d_model");
}

#[cfg(test)]
mod tests;
