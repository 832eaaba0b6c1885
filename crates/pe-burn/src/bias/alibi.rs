//! ALiBi: attention with linear biases.

use alloc::vec::Vec;

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay};
use burn::tensor::{DType, Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::Bias;
use super::distances::Distances;
use crate::display::one_line;
use crate::error::{PositionError, check_size, init};
use crate::positions::Positions;
use crate::sizes::{ModelSizes, SchemeConfig};
use crate::tensor::cast;

/// The distance that ALiBi counts for keys to the right of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlibiShape {
    /// `|j − i|`, as for keys to the left. It is the paper's, made for causal attention, which masks
    /// keys to the right. An encoder cannot tell left from right with it.
    #[default]
    Symmetric,
    /// `j − i + ½`, half a step more than to the left, so that an encoder can tell left from right.
    HalfStep,
}

/// The configuration of an [`Alibi`].
///
/// As data (JSON, TOML) only `heads` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct AlibiConfig {
    /// The number of heads, at least 1.
    pub heads: usize,
    /// The distance that counts for keys to the right. Default: the same as to the left.
    #[serde(default)]
    pub shape: AlibiShape,
}

impl Config for AlibiConfig {}

impl AlibiConfig {
    /// The paper's biases for a number of heads.
    pub fn new(heads: usize) -> Self {
        Self {
            heads,
            shape: AlibiShape::default(),
        }
    }

    /// Sets the distance that counts for keys to the right.
    pub fn with_shape(self, shape: AlibiShape) -> Self {
        Self { shape, ..self }
    }

    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads.
    pub fn try_init(&self, device: &Device) -> Result<Alibi, PositionError> {
        check_size("heads", self.heads)?;
        let slopes: Vec<f32> = self.slopes().iter().map(|slope| *slope as f32).collect();
        let device = device.clone().without_autodiff();
        Ok(Alibi {
            slopes: Tensor::from_data(slopes.as_slice(), (&device, DType::F32)),
            config: self.clone(),
        })
    }

    /// The slope of every head. For a power of two `n` of heads they are `2^(−8i/n)`, `i` from 1 to `n`;
    /// for other numbers those of the power of two below, followed by every second one of the power of
    /// two above, as in the paper's code.
    pub fn slopes(&self) -> Vec<f64> {
        let of = |n: usize| (1..=n).map(move |i| libm::exp2(-8.0 * i as f64 / n as f64));
        let below = match self.heads {
            0 => return Vec::new(),
            heads => 1 << heads.ilog2(),
        };
        let rest = of(2 * below).step_by(2).take(self.heads - below);
        of(below).chain(rest).collect()
    }
}

impl SchemeConfig for AlibiConfig {
    fn for_model(sizes: ModelSizes) -> Result<Self, PositionError> {
        Ok(Self::new(sizes.heads))
    }
}

init!(AlibiConfig => Alibi);

/// ALiBi: lowers attention scores in proportion to the distance between query and key. Press et al., [*Train Short,
/// Test Long: Attention with Linear Biases Enables Input Length
/// Extrapolation*](https://arxiv.org/abs/2108.12409), 2021, §3:
///
/// ```text
/// bias(head, i, j) = −slope(head) · |j − i|
/// ```
///
/// Made by [`AlibiConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{AlibiConfig, Bias, Positions};
///
/// let alibi = AlibiConfig::new(8).init(&Device::flex());
/// let positions = Positions::default();
/// let bias = alibi.bias((&positions, 100), (&positions, 100)); // [1, heads, queries, keys]
/// assert_eq!(bias.dims(), [1, 8, 100, 100]);
///
/// // Decoding: one query at position 100, the keys of the cache and its own.
/// let bias = alibi.bias((&Positions::from(100), 1), (&positions, 101));
/// assert_eq!(bias.dims(), [1, 8, 1, 101]);
/// ```
///
/// Pass the bias to [`burn::tensor::module::attention`] as `attn_bias`. It has no parameters and depends
/// on positions only: make it once for all layers, and keep it in a [`BiasCache`](crate::BiasCache) where
/// positions do not change from call to call.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "ALiBi")]
#[doc(alias = "linear bias")]
pub struct Alibi {
    /// `[heads]`
    slopes: Tensor<1>,
    #[module(skip)]
    config: AlibiConfig,
}

impl Alibi {
    pub(crate) fn device(&self) -> Device {
        self.slopes.device()
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &AlibiConfig {
        &self.config
    }
}

impl Bias for Alibi {
    fn try_bias(
        &self,
        queries: (&Positions, usize),
        keys: (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError> {
        let device = self.slopes.device();
        let own = device.settings().float_dtype;
        let heads = self.config.heads;
        Distances::bias(
            queries,
            keys,
            heads,
            (&device, own.into()),
            |distances, _| {
                let slopes = self.slopes.clone().without_autodiff();
                let numbers = distances.real(&device);
                let steps = match self.config.shape {
                    AlibiShape::Symmetric => numbers.abs(),
                    AlibiShape::HalfStep => {
                        distances.check_line()?;
                        let right = numbers.clone().greater_scalar(0.0).cast(FloatDType::F32);
                        numbers.abs() + right * 0.5
                    }
                };
                let bias = steps * -slopes.reshape([1, heads, 1, 1]);
                Ok(distances.spread(cast(bias, own)))
            },
        )
    }
}

impl ModuleDisplay for Alibi {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("heads", &self.config.heads)
            .add_debug_attribute("shape", &self.config.shape)
            .optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;

    #[test]
    fn no_heads_are_refused() {
        let error = AlibiConfig::new(0).try_init(&Device::flex()).unwrap_err();
        assert_eq!(error.to_string(), "heads must be at least 1; got 0");
    }
}
