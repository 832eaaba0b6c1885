//! KERPLE: biases from conditionally positive definite kernels.

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Initializer, Module, ModuleDisplay, Param};
use burn::tensor::{Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::{Distances, Span, check_heads};
use crate::display::on_one_line;
use crate::error::{PositionError, expect};
use crate::input::dequantized;

/// Below this a parameter is used as this: the paper's are positive.
const LEAST: f64 = 0.01;
/// The largest that one can be.
const MOST: f64 = f32::MAX as f64;

/// The kernel of a [`Kerple`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KerpleShape {
    /// −r₁ ln(1 + r₂ |j − i|), the one that did best in the paper.
    #[default]
    Logarithmic,
    /// −r₁ |j − i|^r₂, r₂ at most 2.
    Power,
}

/// The configuration of a [`Kerple`].
///
/// As data (JSON, TOML) only `heads` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct KerpleConfig {
    /// The number of heads, at least 1.
    pub heads: usize,
    /// The kernel. Default: logarithmic.
    #[serde(default)]
    pub shape: KerpleShape,
}

impl Config for KerpleConfig {}

impl KerpleConfig {
    /// The logarithmic kernel for a number of heads.
    pub fn new(heads: usize) -> Self {
        Self {
            heads,
            shape: KerpleShape::default(),
        }
    }

    /// Sets the kernel.
    pub fn with_shape(self, shape: KerpleShape) -> Self {
        Self { shape, ..self }
    }

    /// Builds the module on `device`.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> Kerple {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroHeads`].
    pub fn try_init(&self, device: &Device) -> Result<Kerple, PositionError> {
        check_heads(self.heads)?;
        // The ranges in which the authors' code starts them.
        let (r1, r2) = match self.shape {
            KerpleShape::Logarithmic => (2.0, 1.0),
            KerpleShape::Power => (1.0, 2.0),
        };
        let uniform = |max| {
            let values = Initializer::Uniform { min: 0.0, max };
            values.init([self.heads], device)
        };
        Ok(Kerple {
            r1: uniform(r1),
            r2: uniform(r2),
            config: self.clone(),
        })
    }
}

/// Lowers a score by a trained function of the distance: Chi et al., [*KERPLE: Kernelized Relative
/// Positional Embedding for Length Extrapolation*](https://arxiv.org/abs/2205.09921), 2022, §4:
///
/// ```text
/// logarithmic:  bias(head, i, j) = −r₁ ln(1 + r₂ |j − i|)
/// power:        bias(head, i, j) = −r₁ |j − i|^r₂
/// ```
///
/// with two parameters for each head, which count as 0.01 where training takes them below. Made by
/// [`KerpleConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{KerpleConfig, Positions};
///
/// let kerple = KerpleConfig::new(8).init(&Device::flex());
/// let positions = Positions::default();
/// let bias = kerple.bias((&positions, 100), (&positions, 100)); // [1, heads, queries, keys]
/// assert_eq!(bias.dims(), [1, 8, 100, 100]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct Kerple {
    /// `[heads]`: how strongly scores fall.
    pub r1: Param<Tensor<1>>,
    /// `[heads]`: the scale of the distances, or their exponent.
    pub r2: Param<Tensor<1>>,
    #[module(skip)]
    config: KerpleConfig,
}

impl Kerple {
    /// The bias of every query and key, each given by its positions and their number.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`, in the type of the parameters; to be added
    ///   to the scores after they are scaled
    ///
    /// # Panics
    ///
    /// Where [`try_bias`](Self::try_bias) returns an error.
    pub fn bias(&self, queries: Span, keys: Span) -> Tensor<4> {
        expect(self.try_bias(queries, keys))
    }

    /// As [`bias`](Self::bias).
    ///
    /// # Errors
    ///
    /// Those of [`Alibi::try_bias`](crate::Alibi::try_bias).
    pub fn try_bias(&self, queries: Span, keys: Span) -> Result<Tensor<4>, PositionError> {
        let (heads, shape) = (self.config.heads, self.config.shape);
        let (r1, r2) = (dequantized(self.r1.val()), dequantized(self.r2.val()));
        let device = r1.device();
        Distances::bias(queries, keys, heads, (&device, r1.dtype()), |distances| {
            let most = match shape {
                KerpleShape::Logarithmic => MOST,
                KerpleShape::Power => 2.0,
            };
            let own: FloatDType = r1.dtype().into();
            let r1 = within(r1.cast(FloatDType::F32), MOST).reshape([1, heads, 1, 1]);
            let r2 = within(r2.cast(FloatDType::F32), most).reshape([1, heads, 1, 1]);
            let steps = distances.numbers(&device).abs();
            let fall = match shape {
                KerpleShape::Logarithmic => (steps * r2).log1p(),
                KerpleShape::Power => {
                    // ln 0 has no part in it, nor in the gradient.
                    let here = steps.clone().equal_scalar(0.0);
                    let power = (steps.mask_fill(here.clone(), 1.0).log() * r2).exp();
                    let [_, _, queries, keys] = power.dims();
                    let here = here.expand([power.dims()[0], heads, queries, keys]);
                    power.mask_fill(here, 0.0)
                }
            };
            Ok(distances.spread(-(fall * r1)).cast(own))
        })
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &KerpleConfig {
        &self.config
    }
}

/// The parameter from [`LEAST`] to `most`, with the gradient of the parameter itself, so that one
/// that has left the range can come back.
fn within(parameter: Tensor<1>, most: f64) -> Tensor<1> {
    let inside = parameter.clone().clamp(LEAST, most);
    parameter.clone() + (inside - parameter).detach()
}

impl ModuleDisplay for Kerple {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        on_one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("heads", &self.config.heads)
            .add_debug_attribute("shape", &self.config.shape)
            .optional()
    }
}
