//! Any positional scheme behind one type, chosen by name or from data.

use alloc::string::ToString;

use burn::config::Config;
use burn::module::Module;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::{PositionError, expect};
use crate::input::check_dtype;
use crate::learned::{LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig};
use crate::positions::Positions;
use crate::sinusoidal::{SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig};

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
}

impl Config for PositionalConfig {}

impl PositionalConfig {
    /// The name of every scheme, as [`by_name`](Self::by_name) and the field `kind` take it.
    pub const NAMES: &'static [&'static str] = &["none", "sinusoidal", "learned"];

    /// The scheme of a name for embeddings of width `d_model` and sequences up to `max_len`, with
    /// every other option at its default.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownScheme`], which lists the names that there are.
    pub fn by_name(name: &str, d_model: usize, max_len: usize) -> Result<Self, PositionError> {
        match name {
            "none" => Ok(Self::None {}),
            "sinusoidal" => Ok(Self::Sinusoidal(
                SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(max_len),
            )),
            "learned" => Ok(Self::Learned(LearnedPositionalEmbeddingConfig::new(
                d_model, max_len,
            ))),
            _ => Err(PositionError::UnknownScheme {
                name: name.to_string(),
                known: Self::NAMES.join(", "),
            }),
        }
    }

    /// The name of this scheme.
    pub fn name(&self) -> &'static str {
        match self {
            Self::None {} => "none",
            Self::Sinusoidal(_) => "sinusoidal",
            Self::Learned(_) => "learned",
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
/// | [`rotate`](Self::rotate) | on queries and keys | none yet |
/// | [`bias`](Self::bias) | on the attention scores | none yet |
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{PositionalConfig, Positions};
///
/// let device = Device::flex();
/// for name in PositionalConfig::NAMES {
///     let scheme = PositionalConfig::by_name(name, 64, 100).unwrap().init(&device);
///     let x = Tensor::<3>::random([2, 10, 64], Distribution::Default, &device);
///     let x = scheme.embed(x, &Positions::default());
///     assert_eq!(x.dims(), [2, 10, 64]);
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
    /// Those of the scheme's own `try_forward_at`; without positions, those about the positions
    /// and the type of `x` all the same, so that a comparison with no positions hides no mistake.
    pub fn try_embed(
        &self,
        x: Tensor<3>,
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        match self {
            Self::None(_) => {
                let [batch, seq, _] = x.dims();
                check_dtype(&x)?;
                positions.check(Some(batch), seq)?;
                Ok(x)
            }
            Self::Sinusoidal(encoding) => encoding.try_forward_at(x, positions),
            Self::Learned(embedding) => embedding.try_forward_at(x, positions),
        }
    }

    /// Rotates queries and keys by their positions, where the scheme does so.
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, heads, seq, d_head]`
    /// - output: as `q` and `k`
    pub fn rotate(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> (Tensor<4>, Tensor<4>) {
        let _ = positions;
        match self {
            Self::None(_) | Self::Sinusoidal(_) | Self::Learned(_) => (q, k),
        }
    }

    /// The bias to add to the attention scores, where the scheme has one.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`
    pub fn bias(&self, queries: &Positions, keys: &Positions) -> Option<Tensor<4>> {
        let _ = (queries, keys);
        match self {
            Self::None(_) | Self::Sinusoidal(_) | Self::Learned(_) => None,
        }
    }
}
