//! Any positional scheme behind one type, chosen by name or from data.
//!
//! # Adding a scheme
//!
//! 1. Its own file in `embed/`, `rotate/`, `bias/` or `gate/`: the configuration (`config!`, and `try_init`), the module with
//!    its hook ([`Embed`], [`Rotate`], [`Bias`], [`ScoreBias`] or [`WeightBias`]), one line with `module!`, which writes what
//!    all modules have in common, and its tests.
//! 2. One row in the table `schemes!` below. The row gives its name, its variant of [`PositionalConfig`] and
//!    [`PositionalScheme`], its configuration for the sizes of a model (`by_name`), the dispatch of the hooks, and its row in
//!    the documentation. A scheme that the sizes of a model are not enough for, or that has no positions on a line, is listed
//!    after `as data`; one that needs a grid is named in [`axes`](PositionalConfig::axes) too.
//!
//! Besides, its two types have to be named by `mod` and `use` lines: in the `mod.rs` of its folder, in `lib.rs`, and above the table.
//! The tests go through all names; those that list names or hooks, as in `tests/library/scheme.rs`, fail until it is listed.

use alloc::format;
use alloc::string::ToString;

use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::bias::{
    Alibi, AlibiConfig, BeitRelativeBias, BeitRelativeBiasConfig, Bias, Cope, CopeConfig, Deberta,
    DebertaConfig, DecomposedRelativeBias, DecomposedRelativeBiasConfig, Erpe, ErpeConfig, Fire,
    FireConfig, Heads, HiddenBias, Inkling, InklingConfig, Kerple, KerpleConfig, LevitRelativeBias,
    LevitRelativeBiasConfig, ScoreBias, Shaw, ShawConfig, SwinRelativeBias, SwinRelativeBiasConfig,
    SwinV2RelativeBias, SwinV2RelativeBiasConfig, T5RelativeBias, T5RelativeBiasConfig,
    TransformerXl, TransformerXlConfig, Tupe, TupeConfig, WeightBias,
};
use crate::config::init;
use crate::embed::{
    Embed, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig,
    PositionalEncodingGenerator, PositionalEncodingGeneratorConfig, SinusoidalPositionalEncoding,
    SinusoidalPositionalEncodingConfig, Time2Vec, Time2VecConfig, Wav2Vec2PositionalConv,
    Wav2Vec2PositionalConvConfig,
};
use crate::error::{PositionError, expect};
use crate::gate::{ForgetGate, Fox, FoxConfig};
use crate::positional::{NoPositions, Positional, acts_at};
use crate::positions::{Axes, Positions, Tokens};
use crate::rotate::{
    Fope, FopeConfig, MixedRotary, Pope, PopeConfig, RotaryPositionalEncoding,
    RotaryPositionalEncodingConfig, Rotate, ToTurn, Turned, XPosPositionalEncoding,
    XPosPositionalEncodingConfig,
};
use crate::sizes::ModelSizes;
use crate::tensor::check_float;

/// Makes everything that has a case per scheme: see the [module documentation](self). The scheme
/// "none" has no hook, so it is written out here and has no line in the table.
macro_rules! schemes {
    (
        by name: $($named:literal, $about:literal:
            $variant:ident($config:ty => $module:ty), $hook:ident, $of_model:expr;)*
        as data: $($kind:literal, $kind_about:literal:
            $kind_variant:ident($kind_config:ty => $kind_module:ty), $kind_hook:ident;)*
    ) => {
        schemes! {
            [$($named: $variant, $of_model;)*]
            [$($kind),*]
            $($named, $about: $variant($config => $module), $hook;)*
            $($kind, $kind_about: $kind_variant($kind_config => $kind_module), $kind_hook;)*
        }
    };
    ([$($named:literal: $made:ident, $of_model:expr;)*] [$($kind:literal),*] $($name:literal, $about:literal:
        $variant:ident($config:ty => $module:ty), $hook:ident;)*) => {
        /// The configuration of a [`PositionalScheme`], as data: the field `kind` names the scheme, the
        /// other fields are those of its own configuration.
        ///
        /// ```
        /// use pe_burn::PositionalConfig;
        ///
        /// let config: PositionalConfig =
        ///     serde_json::from_str(r#"{"kind": "learned", "d_model": 64, "max_len": 512}"#).unwrap();
        /// let scheme = config.init(&burn::tensor::Device::flex());
        /// # let _ = scheme;
        /// ```
        #[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
        #[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
        #[non_exhaustive]
        pub enum PositionalConfig {
            /// `none`: no positions, the control of every comparison.
            None {},
            $(
                #[doc = concat!("`", $name, "`: ", $about, ".")]
                #[serde(rename = $name)]
                $variant($config),
            )*
        }

        impl PositionalConfig {
            /// The names that [`by_name`](Self::by_name) takes: schemes for positions on a line that need no other sizes
            /// than those of a model.
            pub const NAMES: &'static [&'static str] = &["none", $($named),*];

            /// The names of all schemes of this type, as the field `kind` takes them: [`NAMES`](Self::NAMES), and
            /// those that need sizes of their own, such as a window or the number of layers. `MixedRotary` and `DualChunk` of
            /// [`rotary`](crate::rotary) are made by their own types alone.
            pub const KINDS: &'static [&'static str] = &["none", $($name),*];

            /// The scheme with a name, for a transformer of width `d_model` with `heads` attention heads
            /// and sequences up to `max_len`; every other option is at its default.
            ///
            /// # Errors
            ///
            /// [`PositionError::UnknownName`], which lists the known names; [`PositionError::Number`] for
            /// a scheme that works on heads, when `d_model` is not a multiple of `heads`;
            /// [`PositionError::Config`] for a name that is in [`KINDS`](Self::KINDS) but not in [`NAMES`](Self::NAMES).
            pub fn by_name(
                name: &str,
                d_model: usize,
                heads: usize,
                max_len: usize,
            ) -> Result<Self, PositionError> {
                let sizes = ModelSizes { d_model, heads, max_len };
                Ok(match name {
                    "none" => Self::None {},
                    $($named => {
                        let of_model: fn(ModelSizes) -> Result<_, PositionError> = $of_model;
                        Self::$made(of_model(sizes)?)
                    })*
                    $($kind)|* => {
                        return Err(PositionError::config(format!(
                            "{name} needs more than its name and the sizes of a model, such as a window, the number of layers or the \
                             trained length: make it from its own configuration, or from data with the field `kind`",
                        )));
                    }
                    _ => {
                        return Err(PositionError::UnknownName {
                            what: "positional scheme",
                            name: name.to_string(),
                            known: Self::NAMES.join(", "),
                        });
                    }
                })
            }

            /// The name of this scheme.
            pub fn name(&self) -> &'static str {
                match self {
                    Self::None {} => "none",
                    $(Self::$variant(_) => $name,)*
                }
            }

            /// Builds the scheme on `device`.
            ///
            /// # Errors
            ///
            /// Those of the scheme's own configuration.
            pub fn try_init(&self, device: &Device) -> Result<PositionalScheme, PositionError> {
                Ok(match self {
                    Self::None {} => PositionalScheme::None(NoPositions {}),
                    $(Self::$variant(config) => {
                        PositionalScheme::$variant(config.try_init(device)?)
                    })*
                })
            }
        }

        /// Any positional scheme. A model that calls [`embed`](Embed::embed), [`rotate`](Rotate::rotate),
        /// [`score_bias`](Self::score_bias) and [`weight_bias`](Self::weight_bias) works with every scheme but two;
        /// a hook that a scheme does not use does nothing. The two look at hidden states (`inkling`, `fox`): `score_bias` returns
        /// an error for them, and a model takes them by [`as_hidden_bias`](Positional::as_hidden_bias) and
        /// [`as_forget_gate`](Positional::as_forget_gate), as `pe-encoder` does.
        ///
        /// | scheme | module | hook |
        /// |---|---|---|
        /// | `none` | | |
        $(#[doc = concat!(
            "| `", $name, "` | [`", stringify!($module), "`] | [`",
            stringify!($hook), "`] |"
        )])*
        ///
        /// [The crate's first page](crate) shows a layer of attention that takes any of them.
        #[derive(Module, Debug)]
        #[non_exhaustive]
        #[allow(clippy::large_enum_variant)] // a model has one of these
        pub enum PositionalScheme {
            /// `none`: no positions.
            None(NoPositions),
            $(
                #[doc = concat!("`", $name, "`: ", $about, ".")]
                $variant($module),
            )*
        }

        impl PositionalScheme {
            /// The module of the scheme.
            fn module(&self) -> &dyn Positional {
                match self {
                    Self::None(none) => none,
                    $(Self::$variant(module) => module,)*
                }
            }
        }

        $(acts_at!($module, $hook);)*
    };
}

schemes! {
    by name:
    "sinusoidal", "the fixed sinusoidal encoding":
        Sinusoidal(SinusoidalPositionalEncodingConfig => SinusoidalPositionalEncoding), Embed,
        |of| Ok(SinusoidalPositionalEncodingConfig::new(of.d_model).with_max_len(of.max_len));
    "learned", "a learned table":
        Learned(LearnedPositionalEmbeddingConfig => LearnedPositionalEmbedding), Embed,
        |of| Ok(LearnedPositionalEmbeddingConfig::new(of.d_model, of.max_len));
    "time2vec", "learned waves of the time":
        Time2Vec(Time2VecConfig => Time2Vec), Embed, |of| Ok(Time2VecConfig::new(of.d_model, of.max_len as f64));
    "rotary", "RoPE, rotary position embedding":
        Rotary(RotaryPositionalEncodingConfig => RotaryPositionalEncoding), Rotate,
        |of| Ok(RotaryPositionalEncodingConfig::new(of.d_head()?).with_max_len(of.max_len));
    "xpos", "RoPE with a decay":
        XPos(XPosPositionalEncodingConfig => XPosPositionalEncoding), Rotate,
        |of| Ok(XPosPositionalEncodingConfig::new(of.d_head()?).with_max_len(of.max_len));
    "pope", "directions of positions, lengths of content":
        Pope(PopeConfig => Pope), Rotate, |of| Ok(PopeConfig::new(of.d_head()?, of.heads).with_max_len(of.max_len));
    "alibi", "attention with linear biases": Alibi(AlibiConfig => Alibi), Bias, |of| Ok(AlibiConfig::new(of.heads));
    "t5", "T5's relative position bias":
        T5(T5RelativeBiasConfig => T5RelativeBias), Bias, |of| Ok(T5RelativeBiasConfig::new(of.heads));
    "kerple", "biases from kernels": Kerple(KerpleConfig => Kerple), Bias, |of| Ok(KerpleConfig::new(of.heads));
    "fire", "biases from a small network": Fire(FireConfig => Fire), Bias, |of| Ok(FireConfig::new(of.heads));
    "shaw", "queries against a vector per clipped distance":
        Shaw(ShawConfig => Shaw), ScoreBias, |of| Ok(ShawConfig::new(of.d_head()?));
    "transformer_xl", "queries against sinusoids of the distance, as in Transformer-XL and Conformers":
        TransformerXl(TransformerXlConfig => TransformerXl), ScoreBias,
        |of| Ok(TransformerXlConfig::new(of.whole_heads()?, of.heads));
    "deberta", "DeBERTa's disentangled attention":
        Deberta(DebertaConfig => Deberta), ScoreBias, |of| Ok(DebertaConfig::new(of.whole_heads()?, of.heads));
    "tupe", "positions against positions, apart from words":
        Tupe(TupeConfig => Tupe), ScoreBias, |of| Ok(TupeConfig::new(of.whole_heads()?, of.heads, of.max_len));
    "cope", "contextual positions, for causal attention":
        Cope(CopeConfig => Cope), ScoreBias, |of| Ok(CopeConfig::new(of.d_head()?));
    "erpe", "a number per distance, added to attention weights":
        Erpe(ErpeConfig => Erpe), WeightBias, |of| Ok(ErpeConfig::new(of.heads, of.max_len));
    as data:
    "inkling", "Inkling's relative logits, by hidden states and distance": Inkling(InklingConfig => Inkling), HiddenBias;
    "fox", "forget gates, for causal attention": Fox(FoxConfig => Fox), ForgetGate;
    // By name it would need the length in training, which the sizes of a model do not say.
    "fope", "RoPE in which pairs turn by mixtures of frequencies": Fope(FopeConfig => Fope), Rotate;
    "swin", "Swin's table of offsets in a window": Swin(SwinRelativeBiasConfig => SwinRelativeBias), Bias;
    "swin_v2", "Swin V2's network of log-spaced offsets": SwinV2(SwinV2RelativeBiasConfig => SwinV2RelativeBias), Bias;
    "beit", "BEiT's table of offsets, with a class token": Beit(BeitRelativeBiasConfig => BeitRelativeBias), Bias;
    "levit", "LeViT's table of distances in rows and columns": Levit(LevitRelativeBiasConfig => LevitRelativeBias), Bias;
    "decomposed", "queries against a vector per offset in rows and in columns, as in SAM":
        Decomposed(DecomposedRelativeBiasConfig => DecomposedRelativeBias), ScoreBias;
    "wav2vec2", "the convolution of wav2vec 2.0": Wav2Vec2(Wav2Vec2PositionalConvConfig => Wav2Vec2PositionalConv), Embed;
    "peg", "the convolution of CPVT, over a grid": Peg(PositionalEncodingGeneratorConfig => PositionalEncodingGenerator), Embed;
}

init!(PositionalConfig => PositionalScheme);

impl PositionalConfig {
    /// The axes that its positions need; `None` for positions on a line, and for axes of text and
    /// images, which take positions on a line too.
    pub fn axes(&self) -> Option<Axes> {
        let rotated = |rotary: &RotaryPositionalEncodingConfig| {
            rotary.axes.clone().filter(|axes| !axes.take_lines())
        };
        match self {
            Self::Sinusoidal(sinusoidal) => sinusoidal.axes.clone(),
            Self::Rotary(rotary) => rotated(rotary),
            Self::Fox(fox) => fox.rotary.as_ref().and_then(rotated),
            Self::Swin(_) | Self::SwinV2(_) | Self::Beit(_) => Some(Axes::HEIGHT_WIDTH),
            Self::Levit(_) | Self::Decomposed(_) | Self::Peg(_) => Some(Axes::HEIGHT_WIDTH),
            _ => None,
        }
    }
}

// A module that no name and no `kind` makes, so it has no line in the table.
acts_at!(MixedRotary, Rotate);

impl Positional for PositionalScheme {
    fn as_embed(&self) -> Option<&dyn Embed> {
        self.module().as_embed()
    }

    fn as_rotate(&self) -> Option<&dyn Rotate> {
        self.module().as_rotate()
    }

    fn as_bias(&self) -> Option<&dyn Bias> {
        self.module().as_bias()
    }

    fn as_score_bias(&self) -> Option<&dyn ScoreBias> {
        self.module().as_score_bias()
    }

    fn as_hidden_bias(&self) -> Option<&dyn HiddenBias> {
        self.module().as_hidden_bias()
    }

    fn as_weight_bias(&self) -> Option<&dyn WeightBias> {
        self.module().as_weight_bias()
    }

    fn as_forget_gate(&self) -> Option<&dyn ForgetGate> {
        self.module().as_forget_gate()
    }
}

impl Embed for PositionalScheme {
    /// Adds the encodings of `positions` to `x`, if the hook of the scheme is [`Embed`]. Else it returns
    /// `x` unchanged, but a quantized input and positions for another shape are errors all the same.
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        if let Some(scheme) = self.as_embed() {
            return scheme.try_embed(x, positions);
        }
        let [batch, seq, _] = x.dims();
        check_float(&x)?;
        positions.lookup(Some(batch), seq)?;
        Ok(x)
    }
}

impl Rotate for PositionalScheme {
    /// Rotates queries and keys, if the hook of the scheme is [`Rotate`]. Else it returns them unchanged,
    /// and checks nothing.
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
        match self.as_rotate() {
            Some(scheme) => scheme.try_rotate_sides(queries, keys),
            None => Ok([queries.map(|(q, _)| q), keys.map(|(k, _)| k)]),
        }
    }

    fn width(&self, d_head: usize) -> usize {
        self.as_rotate()
            .map_or(d_head, |scheme| scheme.width(d_head))
    }

    fn try_rotate_packed(
        &self,
        qkv: Tensor<3>,
        heads: [usize; 2],
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        match self.as_rotate() {
            Some(scheme) => scheme.try_rotate_packed(qkv, heads, positions),
            None => Ok(qkv),
        }
    }
}

impl PositionalScheme {
    /// Whether the scheme rotates queries and keys.
    pub fn rotates(&self) -> bool {
        self.as_rotate().is_some()
    }

    /// Whether the scheme computes with queries and keys what it adds to their scores. It then has no bias
    /// of positions alone, and differs from layer to layer.
    pub fn sees_content(&self) -> bool {
        self.as_score_bias().is_some()
    }

    /// Whether the scheme looks at the hidden states of its layer ([`HiddenBias`], [`ForgetGate`]).
    pub fn sees_states(&self) -> bool {
        self.as_hidden_bias().is_some() || self.as_forget_gate().is_some()
    }

    /// What is added to the score of every query and key, if the hook of the scheme is [`Bias`] or
    /// [`ScoreBias`], as [`ScoreBias::try_score_bias`].
    ///
    /// # Shapes
    ///
    /// - queries: `[batch, heads, queries, d_head]`; keys: `[batch, heads, keys, d_head]`
    /// - output: `[1 or batch, heads, queries, keys]` in the type of the queries, to be added to the scores after they are scaled
    ///
    /// # Errors
    ///
    /// Those of [`ScoreBias::try_score_bias`], and [`PositionError::NeedsStates`] if the scheme
    /// [`sees_states`](Self::sees_states); none if it adds nothing to the scores.
    pub fn try_score_bias(
        &self,
        queries: Heads,
        keys: Heads,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        if self.sees_states() {
            return Err(PositionError::NeedsStates);
        }
        if let Some(scheme) = self.as_bias() {
            return scheme.try_score_bias(queries, keys).map(Some);
        }
        let bias = self.as_score_bias();
        let bias = bias.map(|scheme| scheme.try_score_bias(queries, keys));
        bias.transpose()
    }

    /// The panicking form of [`try_score_bias`](Self::try_score_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_score_bias`](Self::try_score_bias) returns an error, with its message.
    #[track_caller]
    pub fn score_bias(&self, queries: Heads, keys: Heads) -> Option<Tensor<4>> {
        expect(self.try_score_bias(queries, keys))
    }

    /// What is added to the weight of every query and key after the softmax, if the hook of the scheme is
    /// [`WeightBias`], as [`WeightBias::try_weight_bias`].
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`
    ///
    /// # Errors
    ///
    /// Those of [`WeightBias::try_weight_bias`]; none if the scheme adds nothing to the weights.
    pub fn try_weight_bias(
        &self,
        queries: Tokens,
        keys: Tokens,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        let bias = self.as_weight_bias();
        let bias = bias.map(|scheme| scheme.try_weight_bias(queries, keys));
        bias.transpose()
    }

    /// The panicking form of [`try_weight_bias`](Self::try_weight_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_weight_bias`](Self::try_weight_bias) returns an error, with its message.
    #[track_caller]
    pub fn weight_bias(&self, queries: Tokens, keys: Tokens) -> Option<Tensor<4>> {
        expect(self.try_weight_bias(queries, keys))
    }

    /// The bias of every query and key, if the scheme has one, as [`Bias::try_bias`]. It is the same for all
    /// layers; [`score_bias`](Self::score_bias) is for schemes that look at queries and keys too.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`
    ///
    /// # Errors
    ///
    /// Those of [`Bias::try_bias`], [`PositionError::NeedsContent`] if the scheme
    /// [`sees_content`](Self::sees_content), and [`PositionError::NeedsStates`] if it
    /// [`sees_states`](Self::sees_states); none if it adds nothing to the scores.
    pub fn try_bias(
        &self,
        queries: Tokens,
        keys: Tokens,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        if self.sees_content() {
            return Err(PositionError::NeedsContent);
        }
        if self.sees_states() {
            return Err(PositionError::NeedsStates);
        }
        let bias = self.as_bias();
        let bias = bias.map(|scheme| scheme.try_bias(queries, keys));
        bias.transpose()
    }

    /// The panicking form of [`try_bias`](Self::try_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_bias`](Self::try_bias) returns an error, with its message.
    #[track_caller]
    pub fn bias(&self, queries: Tokens, keys: Tokens) -> Option<Tensor<4>> {
        expect(self.try_bias(queries, keys))
    }
}
