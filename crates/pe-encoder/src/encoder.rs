//! A transformer encoder, with its layer normalizations before or after attention and feed-forward network.

use std::collections::BTreeMap;

use burn::config::Config;
use burn::module::Module;
use burn::nn::{Dropout, DropoutConfig, Linear};
use burn::serde::{Deserialize, Serialize};
use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{NoPositions, Positional, Positions};

use crate::attention::{
    Attention, AttentionConfig, Cache, Form, Shared, check_width, drops, is_empty, projection,
};
use crate::kernels::part::{Input, Part};
use crate::kernels::stream::{add, open, whole};
use crate::kernels::{self, Kernels};
use crate::norm::LayerNorm;
use crate::plain::Activation;

/// What one layer of an [`Encoder`] does with positions, where layers differ.
#[derive(Config, Debug, PartialEq, Eq)]
pub struct LayerKind {
    /// Whether the layer uses the positional scheme. Otherwise it rotates nothing and adds no bias.
    #[config(default = true)]
    pub positions: bool,
    /// For local attention: see [`AttentionConfig::window`].
    pub window: Option<usize>,
}

/// Where a layer normalizes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(crate = "burn::serde", rename_all = "lowercase")]
pub enum Norm {
    /// What attention and the feed-forward network read, as in GPT-2; a last normalization follows after the last layer.
    #[default]
    Pre,
    /// The sum of what they read and what they return, as in Vaswani et al. 2017 and BERT.
    Post,
}

/// The configuration of an [`Encoder`].
///
/// Layers can differ, as in models that mix layers with and without positions (SmolLM3, Llama 4), or local and
/// global attention (Gemma 3, ModernBERT):
///
/// ```
/// use burn::tensor::Device;
/// use pe_encoder::{EncoderConfig, LayerKind};
///
/// // Every fourth layer has no positions.
/// let kinds = [1, 2, 3, 4].map(|layer| LayerKind::new().with_positions(layer % 4 != 0));
/// let encoder = EncoderConfig::new(64, 256, 4, 4)
///     .with_kinds(kinds.to_vec())
///     .init(&Device::flex());
/// # let _ = encoder;
/// ```
#[derive(Config, Debug)]
pub struct EncoderConfig {
    /// The width of a token's vector.
    pub d_model: usize,
    /// The inner width of the feed-forward networks.
    pub d_ff: usize,
    /// The number of attention heads. `d_model` must be a multiple of it.
    pub heads: usize,
    /// The number of layers.
    pub layers: usize,
    /// Whether a token attends only to itself and to the tokens before it, as in a decoder.
    #[config(default = false)]
    pub causal: bool,
    /// The ε of every layer normalization.
    #[config(default = 1e-5)]
    pub epsilon: f64,
    /// Where layers normalize.
    #[config(default = "Norm::Pre")]
    pub norm: Norm,
    /// The function between the two layers of the feed-forward networks.
    #[config(default = "Activation::Gelu")]
    pub activation: Activation,
    /// In training, the share of elements that are dropped of the input and of what attention and feed-forward networks
    /// return, as in Vaswani et al. 2017, section 5.4. In [0, 1).
    #[config(default = 0.0)]
    pub dropout: f64,
    /// What each layer does with positions, the first layer first. Empty: every layer takes the scheme and
    /// attends to all tokens.
    #[config(default = "Vec::new()")]
    pub kinds: Vec<LayerKind>,
    /// Whether kernels may be used.
    #[config(default = "Kernels::Auto")]
    pub kernels: Kernels,
}

impl EncoderConfig {
    /// Builds the encoder on `device`. Weights and biases of linear layers start at
    /// N(0, 1 / √inputs), layer normalizations at γ = 1 and β = 0.
    ///
    /// # Panics
    ///
    /// When `heads` is 0, when `d_model` is not a multiple of `heads`, when a window is 0, when `kinds` is
    /// neither empty nor has one for each layer, when `dropout` is not in [0, 1), when `d_model` or `d_ff` is 0, or when
    /// `epsilon` is not above 0.
    pub fn init(&self, device: &Device) -> Encoder {
        let (kinds, layers) = (self.kinds.len(), self.layers);
        assert!(
            kinds == 0 || kinds == layers,
            "{kinds} kinds of layers for {layers} layers"
        );
        assert!(
            (0.0..1.0).contains(&self.dropout),
            "dropout is {}; it must be at least 0 and below 1",
            self.dropout
        );
        assert!(
            self.epsilon > 0.0 && self.epsilon.is_finite(),
            "epsilon is {}; it must be finite and above 0",
            self.epsilon
        );
        assert!(self.d_ff > 0, "d_ff is 0; it must be at least 1");
        let norm = || LayerNorm::new(self.d_model, self.epsilon, device);
        let attention = AttentionConfig::new(self.d_model, self.heads)
            .with_causal(self.causal)
            .with_kernels(self.kernels);
        // Sizes are checked even where there are no layers.
        attention.check();
        let layer = |nth: usize| {
            let kind = self.kinds.get(nth).cloned().unwrap_or_default();
            Layer {
                attention_norm: norm(),
                attention: attention
                    .clone()
                    .with_window(kind.window)
                    .with_layer(nth)
                    .init(device),
                feed_forward_norm: norm(),
                inner: projection(self.d_model, self.d_ff, device),
                outer: projection(self.d_ff, self.d_model, device),
                positions: kind.positions,
            }
        };
        Encoder {
            layers: (0..self.layers).map(layer).collect(),
            norm: (self.norm == Norm::Pre).then(norm),
            d_model: self.d_model,
            activation: self.activation,
            dropout: DropoutConfig::new(self.dropout).init(),
            kernels: self.kernels,
        }
    }
}

/// A transformer encoder: layers of attention and feed-forward networks, and, where [they normalize first](Norm::Pre), a
/// layer normalization at the end.
///
/// It computes what Burn's [`TransformerEncoder`](burn::nn::transformer::TransformerEncoder) does
/// without dropout: with `norm_first`, followed by a [`LayerNorm`](burn::nn::LayerNorm), or without it.
/// (The layers of a pre-norm transformer add to `x` and never normalize it, so its output needs one.) In training,
/// [dropout](EncoderConfig::dropout) draws from Burn's generator of the device.
///
/// With [`causal`](EncoderConfig::causal) it is a decoder without cross-attention, as GPT is.
/// [`forward_cached`](Self::forward_cached) then decodes token by token.
#[derive(Module, Debug)]
pub struct Encoder {
    layers: Vec<Layer>,
    /// The last normalization, of layers that normalize first.
    norm: Option<LayerNorm>,
    #[module(skip)]
    d_model: usize,
    #[module(skip)]
    activation: Activation,
    dropout: Dropout,
    #[module(skip)]
    kernels: Kernels,
}

/// `x + attention(norm(x))`, then `x + feed_forward(norm(x))`; or `norm(x + attention(x))`, then `norm(x + feed_forward(x))`.
#[derive(Module, Debug)]
struct Layer {
    attention_norm: LayerNorm,
    attention: Attention,
    feed_forward_norm: LayerNorm,
    /// `d_model` → `d_ff`, of the feed-forward network.
    inner: Linear,
    /// `d_ff` → `d_model`, of the feed-forward network.
    outer: Linear,
    /// Whether it takes the scheme.
    #[module(skip)]
    positions: bool,
}

impl Default for LayerKind {
    fn default() -> Self {
        Self::new()
    }
}

impl Encoder {
    /// Sets whether the layers may use kernels.
    pub fn with_kernels(mut self, kernels: Kernels) -> Self {
        let with_kernels = |layer: Layer| Layer {
            attention: layer.attention.with_kernels(kernels),
            ..layer
        };
        self.layers = self.layers.into_iter().map(with_kernels).collect();
        self.kernels = kernels;
        self
    }

    /// Whether a token attends only to itself and to the tokens before it.
    pub fn is_causal(&self) -> bool {
        self.layers.iter().any(|layer| layer.attention.causal)
    }

    /// Takes all tokens through all layers.
    ///
    /// The encoder rotates, biases and forgets as `scheme` says, and adds nothing to `x`. For a scheme that
    /// is added to the token embeddings, call its [`embed`](pe_burn::Embed::embed) first: that of
    /// [`as_embed`](Positional::as_embed), or that of a [`PositionalScheme`](pe_burn::PositionalScheme), which changes
    /// nothing where the scheme does not embed. Documents that are packed into one row attend to each other, as
    /// [`Attention::forward`] says.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`
    /// - `padding`: `[batch, seq]`, true where there is no token: nothing attends there, and the
    ///   output there means nothing
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
        check_width(&x, self.d_model);
        let x = self.with_autodiff(x);
        let shared = self.shared(scheme, |scheme, form| {
            Shared::new(&x, padding, scheme, positions, form)
        });
        self.through(x, |_, layer, x| {
            layer.attention.attend(x, &shared[&layer.kind()])
        })
    }

    /// An empty cache for each layer, to begin decoding with.
    pub fn caches(&self) -> Vec<Cache> {
        vec![Cache::default(); self.layers.len()]
    }

    /// Takes new tokens through all layers of a causal encoder, and appends them to the caches.
    ///
    /// The result for a sequence is that of [`forward`](Self::forward), however it is divided into calls, unless the
    /// frequencies of RoPE are scaled by the length of the input
    /// ([`RotaryPositionalEncoding`](pe_burn::RotaryPositionalEncoding) says which scalings do so). Position 0 is the
    /// first token of the caches. All rows have the same number of tokens: there is no padding here. The example
    /// `decoder` of the repository decodes prompts of different lengths.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, the new tokens; the batch is that of the caches
    /// - output: `[batch, seq, d_model]`
    ///
    /// # Example
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Embed, PositionalConfig, Positions};
    /// use pe_encoder::EncoderConfig;
    ///
    /// let device = Device::flex();
    /// let scheme = PositionalConfig::by_name("rotary", 64, 4, 512).unwrap().init(&device);
    /// let decoder = EncoderConfig::new(64, 256, 4, 2).with_causal(true).init(&device);
    /// let tokens = Tensor::<3>::random([8, 10, 64], Distribution::Default, &device);
    ///
    /// let mut caches = decoder.caches();
    /// for new in [0..7, 7..8, 8..9] {
    ///     let x = tokens.clone().narrow(1, new.start, new.len()); // a prompt of seven tokens, then one by one
    ///     let at = Positions::from(caches[0].tokens());
    ///     let y = decoder.forward_cached(scheme.embed(x, &at), &scheme, &mut caches);
    ///     assert_eq!(y.dims(), [8, new.len(), 64]);
    /// }
    /// ```
    ///
    /// # Panics
    ///
    /// When the encoder is not causal, when there is not one cache for each layer, when the width of `x` is not
    /// `d_model`, when the caches have another batch size, differ in their numbers of tokens or were filled with a scheme that has a forget
    /// gate where this one has none, or the other way round, when the scheme has no encoding for these positions, and when what it returns has another shape
    /// than the attention needs or is on another device.
    pub fn forward_cached(
        &self,
        x: Tensor<3>,
        scheme: &dyn Positional,
        caches: &mut [Cache],
    ) -> Tensor<3> {
        assert_eq!(caches.len(), self.layers.len(), "a cache for each layer");
        if is_empty(&x) {
            return x;
        }
        check_width(&x, self.d_model);
        let cached = caches.first().map_or(0, Cache::tokens);
        for cache in caches.iter() {
            assert_eq!(cache.tokens(), cached, "all caches hold as many tokens");
        }
        let x = self.with_autodiff(x);
        let shared = self.shared(scheme, |scheme, form| {
            Shared::after(cached, &x, scheme, form)
        });
        self.through(x, |nth, layer, x| {
            let shared = &shared[&layer.kind()];
            layer.attention.attend_cached(x, shared, &mut caches[nth])
        })
    }
}

/// What tells layers apart: whether a layer takes the scheme, and its window.
type Kind = (bool, Option<usize>);

impl Encoder {
    /// `x`, moved to the autodiff device of the weights if they have one.
    fn with_autodiff(&self, x: Tensor<3>) -> Tensor<3> {
        match self.layers.first() {
            Some(layer) => layer.attention.with_autodiff(x),
            None => x,
        }
    }

    /// Takes tokens through all layers. `attend` is the attention of a layer, with a cache or without.
    fn through<'a>(
        &'a self,
        x: Tensor<3>,
        mut attend: impl FnMut(usize, &'a Layer, Input<'a>) -> Part<'a>,
    ) -> Tensor<3> {
        let mut x = self.dropout.forward(x);
        let Some(last) = &self.norm else {
            for (nth, layer) in self.layers.iter().enumerate() {
                let part = attend(nth, layer, Input::Whole(x.clone()));
                x = self.add_first(x, part, &layer.attention_norm);
                let part = self.feed_forward(layer, Input::Whole(x.clone()));
                x = self.add_first(x, part, &layer.feed_forward_norm);
            }
            return x;
        };
        let norm_of = |nth: usize| self.layers.get(nth).map_or(last, |of| &of.attention_norm);
        let (mut stream, mut normed) = open(x, norm_of(0), self.kernels);
        for (nth, layer) in self.layers.iter().enumerate() {
            let part = self.dropped(attend(nth, layer, normed));
            (stream, normed) = add(stream, part, &layer.feed_forward_norm, self.kernels);
            let part = self.dropped(self.feed_forward(layer, normed));
            (stream, normed) = add(stream, part, norm_of(nth + 1), self.kernels);
        }
        kernels::tensor(normed, self.kernels)
    }

    fn feed_forward<'a>(&self, layer: &'a Layer, x: Input<'_>) -> Part<'a> {
        let Layer { inner, outer, .. } = layer;
        kernels::feed_forward(x, inner, outer, self.activation, self.kernels)
    }

    /// What a part of a layer returns, with dropout.
    fn dropped<'a>(&self, part: Part<'a>) -> Part<'a> {
        match drops(&self.dropout, part.rows()) {
            true => Part::Whole(self.dropout.forward(whole(part, self.kernels))),
            false => part,
        }
    }

    /// The normalization of the sum of `x` and a part, where layers normalize after the sum.
    fn add_first(&self, x: Tensor<3>, part: Part<'_>, norm: &LayerNorm) -> Tensor<3> {
        let sum = x + whole(self.dropped(part), self.kernels);
        kernels::layer_norm(sum, norm, self.kernels)
    }

    /// What the layers of each kind share.
    fn shared<'a>(
        &self,
        scheme: &'a dyn Positional,
        make: impl Fn(&'a dyn Positional, Form) -> Shared<'a>,
    ) -> BTreeMap<Kind, Shared<'a>> {
        let mut shared = BTreeMap::new();
        for layer in &self.layers {
            let scheme = if layer.positions {
                scheme
            } else {
                &NoPositions {}
            };
            let entry = shared.entry(layer.kind());
            entry.or_insert_with(|| make(scheme, layer.attention.form()));
        }
        shared
    }
}

impl Layer {
    fn kind(&self) -> Kind {
        (self.positions, self.attention.window)
    }
}

#[cfg(test)]
mod tests;
