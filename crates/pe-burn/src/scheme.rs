//! Any positional scheme behind one type, chosen by name or from data.

use alloc::string::ToString;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::bias::{
    Alibi, AlibiConfig, Fire, FireConfig, Kerple, KerpleConfig, Span, T5RelativeBias,
    T5RelativeBiasConfig,
};
use crate::error::{PositionError, expect};
use crate::grid::Axes;
use crate::input::check_dtype;
use crate::learned::{LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig};
use crate::positions::Positions;
use crate::rotary::{RotaryPositionalEncoding, RotaryPositionalEncodingConfig};
use crate::sinusoidal::{SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig};
use crate::xpos::{XPosPositionalEncoding, XPosPositionalEncodingConfig};

/// The configuration of a [`PositionalScheme`], as data: the field `kind` says which, the others
/// are those of its own configuration.
///
/// ```
/// use pe_burn::PositionalConfig;
///
/// let config: PositionalConfig =
///     serde_json::from_str(r#"{"kind": "sinusoidal", "d_model": 64, "base": 500.0}"#).unwrap();
/// let scheme = config.init(&burn::tensor::Device::flex());
/// # let _ = scheme;
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum PositionalConfig {
    /// No positions at all: the control of every comparison.
    None {},
    /// The fixed sinusoidal encoding.
    Sinusoidal(SinusoidalPositionalEncodingConfig),
    /// The learned table.
    Learned(LearnedPositionalEmbeddingConfig),
    /// Rotary position embedding.
    Rotary(RotaryPositionalEncodingConfig),
    /// Rotary position embedding with a decay.
    #[serde(rename = "xpos")]
    XPos(XPosPositionalEncodingConfig),
    /// Attention with linear biases.
    Alibi(AlibiConfig),
    /// T5's relative position bias.
    T5(T5RelativeBiasConfig),
    /// Biases from kernels.
    Kerple(KerpleConfig),
    /// Biases from a small network.
    Fire(FireConfig),
}

impl Config for PositionalConfig {}

impl PositionalConfig {
    /// The name of every scheme, as [`by_name`](Self::by_name) and the field `kind` take it.
    pub const NAMES: &'static [&'static str] = &[
        "none",
        "sinusoidal",
        "learned",
        "rotary",
        "xpos",
        "alibi",
        "t5",
        "kerple",
        "fire",
    ];

    /// The scheme of a name for a transformer of width `d_model` with so many attention heads, and
    /// sequences up to `max_len`, with every other option at its default.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownScheme`], which lists the names that there are;
    /// [`PositionError::Heads`] for a scheme that rotates, when the heads cannot share the width.
    pub fn by_name(
        name: &str,
        d_model: usize,
        heads: usize,
        max_len: usize,
    ) -> Result<Self, PositionError> {
        let d_head = || match heads {
            heads if heads > 0 && d_model.is_multiple_of(heads) => Ok(d_model / heads),
            _ => Err(PositionError::Heads { d_model, heads }),
        };
        Ok(match name {
            "none" => Self::None {},
            "sinusoidal" => Self::Sinusoidal(
                SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(max_len),
            ),
            "learned" => Self::Learned(LearnedPositionalEmbeddingConfig::new(d_model, max_len)),
            "rotary" => {
                Self::Rotary(RotaryPositionalEncodingConfig::new(d_head()?).with_max_len(max_len))
            }
            "xpos" => {
                Self::XPos(XPosPositionalEncodingConfig::new(d_head()?).with_max_len(max_len))
            }
            "alibi" => Self::Alibi(AlibiConfig::new(heads)),
            "t5" => Self::T5(T5RelativeBiasConfig::new(heads)),
            "kerple" => Self::Kerple(KerpleConfig::new(heads)),
            "fire" => Self::Fire(FireConfig::new(heads)),
            _ => {
                return Err(PositionError::UnknownScheme {
                    name: name.to_string(),
                    known: Self::NAMES.join(", "),
                });
            }
        })
    }

    /// The axes of the grid that its positions have to be on; none if they may be on a line.
    pub fn axes(&self) -> Option<Axes> {
        match self {
            Self::Sinusoidal(config) => config.axes,
            Self::Rotary(config) => config.axes,
            _ => None,
        }
    }

    /// The name of this scheme.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None {} => "none",
            Self::Sinusoidal(_) => "sinusoidal",
            Self::Learned(_) => "learned",
            Self::Rotary(_) => "rotary",
            Self::XPos(_) => "xpos",
            Self::Alibi(_) => "alibi",
            Self::T5(_) => "t5",
            Self::Kerple(_) => "kerple",
            Self::Fire(_) => "fire",
        }
    }

    /// Builds the scheme on `device`.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> PositionalScheme {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// Those of the scheme's own configuration.
    pub fn try_init(&self, device: &Device) -> Result<PositionalScheme, PositionError> {
        Ok(match self {
            Self::None {} => PositionalScheme::None(NoPositions {}),
            Self::Sinusoidal(config) => PositionalScheme::Sinusoidal(config.try_init(device)?),
            Self::Learned(config) => PositionalScheme::Learned(config.try_init(device)?),
            Self::Rotary(config) => PositionalScheme::Rotary(config.try_init(device)?),
            Self::XPos(config) => PositionalScheme::XPos(config.try_init(device)?),
            Self::Alibi(config) => PositionalScheme::Alibi(config.try_init(device)?),
            Self::T5(config) => PositionalScheme::T5(config.try_init(device)?),
            Self::Kerple(config) => PositionalScheme::Kerple(config.try_init(device)?),
            Self::Fire(config) => PositionalScheme::Fire(config.try_init(device)?),
        })
    }
}

/// A model without positions: it sees its input as a bag of tokens.
#[derive(Module, Debug)]
pub struct NoPositions {}

/// Any positional scheme. A model that calls its three methods at the three places where position
/// can enter a transformer works with every scheme, without knowing which it has; at the places
/// that a scheme does not use, nothing happens.
///
/// | hook | where | schemes |
/// |---|---|---|
/// | [`embed`](Self::embed) | on the token embeddings | sinusoidal, learned |
/// | [`rotate`](Self::rotate) | on queries and keys | rotary, xPos |
/// | [`bias`](Self::bias) | on the attention scores | ALiBi, T5, KERPLE, FIRE |
///
/// One layer of attention that takes any of them:
///
/// ```
/// use burn::tensor::module::attention;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{PositionalConfig, Positions};
///
/// let device = Device::flex();
/// let random = |shape| Tensor::<4>::random(shape, Distribution::Default, &device);
/// for name in PositionalConfig::NAMES {
///     let scheme = PositionalConfig::by_name(name, 64, 4, 100).unwrap().init(&device);
///     let positions = Positions::default();
///     let x = Tensor::<3>::random([2, 10, 64], Distribution::Default, &device);
///     let x = scheme.embed(x, &positions);
///     // … projections of x to queries, keys and values:
///     let [q, k, v] = [(); 3].map(|()| random([2, 4, 10, 16])); // [batch, heads, seq, d_head]
///     let (q, k) = scheme.rotate(q, k, &positions);
///     let bias = scheme.bias((&positions, 10), (&positions, 10));
///     let y = attention(q, k, v, None, bias, Default::default());
///     assert_eq!((x.dims(), y.dims()), ([2, 10, 64], [2, 4, 10, 16]));
/// }
/// ```
#[derive(Module, Debug)]
#[non_exhaustive]
#[allow(clippy::large_enum_variant)] // a model has one of these
pub enum PositionalScheme {
    /// No positions.
    None(NoPositions),
    /// The fixed sinusoidal encoding.
    Sinusoidal(SinusoidalPositionalEncoding),
    /// The learned table.
    Learned(LearnedPositionalEmbedding),
    /// Rotary position embedding.
    Rotary(RotaryPositionalEncoding),
    /// Rotary position embedding with a decay.
    XPos(XPosPositionalEncoding),
    /// Attention with linear biases.
    Alibi(Alibi),
    /// T5's relative position bias.
    T5(T5RelativeBias),
    /// Biases from kernels.
    Kerple(Kerple),
    /// Biases from a small network.
    Fire(Fire),
}

impl PositionalScheme {
    /// Adds the encodings of `positions` to the token embeddings, where the scheme does so.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_embed`](Self::try_embed) returns an error.
    pub fn embed(&self, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        expect(self.try_embed(x, positions))
    }

    /// As [`embed`](Self::embed).
    ///
    /// # Errors
    ///
    /// Those of the scheme's own `try_forward_at`; where a scheme adds nothing, those about the
    /// positions and the type of `x` all the same, so that no mistake is hidden.
    pub fn try_embed(
        &self,
        x: Tensor<3>,
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        match self {
            Self::Sinusoidal(encoding) => encoding.try_forward_at(x, positions),
            Self::Learned(embedding) => embedding.try_forward_at(x, positions),
            _ => {
                let [batch, seq, _] = x.dims();
                check_dtype(&x)?;
                positions.check(Some(batch), seq)?;
                Ok(x)
            }
        }
    }

    /// Whether [`rotate`](Self::rotate) does anything.
    pub fn rotates(&self) -> bool {
        matches!(self, Self::Rotary(_) | Self::XPos(_))
    }

    /// Rotates queries and keys by their positions, where the scheme does so. With a cache, rotate
    /// the new keys and keep them rotated.
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, heads, seq, d_head]`
    /// - output: as `q` and `k`
    ///
    /// # Panics
    ///
    /// Where [`try_rotate`](Self::try_rotate) returns an error.
    pub fn rotate(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_rotate(q, k, positions))
    }

    /// As [`rotate`](Self::rotate).
    ///
    /// # Errors
    ///
    /// Those of the scheme's own methods; where a scheme rotates nothing, none.
    pub fn try_rotate(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        self.try_rotate_apart((q, positions), (k, positions))
    }

    /// As [`rotate`](Self::rotate), for keys that are at other positions than the queries: those of
    /// another sequence, or of a cache that is not rotated yet.
    ///
    /// # Shapes
    ///
    /// - `q`: `[batch, heads, queries, d_head]`; `k`: `[batch, heads, keys, d_head]`
    /// - output: as `q` and `k`
    ///
    /// # Panics
    ///
    /// Where [`try_rotate_apart`](Self::try_rotate_apart) returns an error.
    pub fn rotate_apart(
        &self,
        queries: (Tensor<4>, &Positions),
        keys: (Tensor<4>, &Positions),
    ) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_rotate_apart(queries, keys))
    }

    /// As [`rotate_apart`](Self::rotate_apart).
    ///
    /// # Errors
    ///
    /// As [`try_rotate`](Self::try_rotate).
    pub fn try_rotate_apart(
        &self,
        queries: (Tensor<4>, &Positions),
        keys: (Tensor<4>, &Positions),
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        match self {
            Self::Rotary(rotary) => rotary.try_forward_apart(queries, keys),
            Self::XPos(xpos) => Ok((
                xpos.try_apply_queries(queries.0, queries.1)?,
                xpos.try_apply_keys(keys.0, keys.1)?,
            )),
            _ => Ok((queries.0, keys.0)),
        }
    }

    /// The bias to add to the attention scores, where the scheme has one, for queries and keys that
    /// are each given by their positions and their number. Make it once for all layers of a model.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`, in the type of the scheme's parameters,
    ///   where it has none in the default float type of the device; to be added to the scores after they are scaled
    ///
    /// # Panics
    ///
    /// Where [`try_bias`](Self::try_bias) returns an error.
    pub fn bias(&self, queries: Span, keys: Span) -> Option<Tensor<4>> {
        expect(self.try_bias(queries, keys))
    }

    /// As [`bias`](Self::bias).
    ///
    /// # Errors
    ///
    /// Those of the scheme's own `try_bias`; where a scheme has no bias, none.
    pub fn try_bias(&self, queries: Span, keys: Span) -> Result<Option<Tensor<4>>, PositionError> {
        match self {
            Self::Alibi(alibi) => alibi.try_bias(queries, keys),
            Self::T5(t5) => t5.try_bias(queries, keys),
            Self::Kerple(kerple) => kerple.try_bias(queries, keys),
            Self::Fire(fire) => fire.try_bias(queries, keys),
            _ => return Ok(None),
        }
        .map(Some)
    }
}
