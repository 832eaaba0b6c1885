//! ALiBi: attention with linear biases.

use alloc::vec::Vec;

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay};
use burn::tensor::{DType, Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::{Distances, Span, check_heads};
use crate::display::on_one_line;
use crate::error::{PositionError, expect};
use crate::input::cast;

/// How ALiBi counts the distance to keys on the right of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlibiShape {
    /// As to keys on the left, `|j − i|`: the paper's, for causal attention, which masks the right
    /// anyway, and for encoders that need not tell left from right.
    #[default]
    Symmetric,
    /// Half a step farther, `j − i + ½`, so that an encoder can tell left from right.
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
    /// How the distance to the right is counted. Default: as to the left.
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

    /// Sets how the distance to the right is counted.
    pub fn with_shape(self, shape: AlibiShape) -> Self {
        Self { shape, ..self }
    }

    /// Builds the module on `device`.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> Alibi {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroHeads`].
    pub fn try_init(&self, device: &Device) -> Result<Alibi, PositionError> {
        check_heads(self.heads)?;
        let slopes: Vec<f32> = self.slopes().iter().map(|slope| *slope as f32).collect();
        let device = device.clone().without_autodiff();
        Ok(Alibi {
            slopes: Tensor::from_data(slopes.as_slice(), (&device, DType::F32)),
            config: self.clone(),
        })
    }

    /// The slope of every head: for a power of two `n` of heads `2^(−8i/n)`, `i` from 1 to `n`; for
    /// other numbers those of the power of two below, followed by every second one of the power of
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

/// Lowers a score in proportion to the distance between query and key: Press et al., [*Train Short,
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
/// use pe_burn::{AlibiConfig, Positions};
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
/// Pass it to [`burn::tensor::module::attention`] as `attn_bias`. It has no parameters, and depends
/// on nothing but positions: make it once for all layers, and keep it with a
/// [`BiasCache`](crate::BiasCache) where they do not change from call to call.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct Alibi {
    /// `[heads]`
    slopes: Tensor<1>,
    #[module(skip)]
    config: AlibiConfig,
}

impl Alibi {
    /// The bias of every query and key, each given by its positions and their number.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`, in the default float type of the device, as
    ///   parameters would be; to be added to the scores after they are scaled
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
    /// [`PositionError::Shape`] when positions are not for so many tokens,
    /// [`Rows`](PositionError::Rows) when queries and keys are of different batches,
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`Span`](PositionError::Span) when ids are too far apart for the integers of the device, and
    /// [`TooLarge`](PositionError::TooLarge) when there is no memory for so many pairs.
    pub fn try_bias(&self, queries: Span, keys: Span) -> Result<Tensor<4>, PositionError> {
        let device = self.slopes.device();
        let own = device.settings().float_dtype;
        let heads = self.config.heads;
        Distances::bias(queries, keys, heads, (&device, own.into()), |distances| {
            let slopes = self.slopes.clone().without_autodiff();
            let numbers = distances.numbers(&device);
            let steps = match self.config.shape {
                AlibiShape::Symmetric => numbers.abs(),
                AlibiShape::HalfStep => {
                    let right = numbers.clone().greater_scalar(0.0).cast(FloatDType::F32);
                    numbers.abs() + right * 0.5
                }
            };
            let bias = steps * -slopes.reshape([1, heads, 1, 1]);
            Ok(distances.spread(cast(bias, own)))
        })
    }

    pub(crate) fn device(&self) -> Device {
        self.slopes.device()
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &AlibiConfig {
        &self.config
    }
}

impl ModuleDisplay for Alibi {
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
