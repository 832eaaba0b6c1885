//! Swin's table of relative positions.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Initializer, Module, ModuleDisplay, Param};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use super::resize::{Resampling, resized};
use super::window::{Pairs, check_table, check_window, gather, offsets};
use crate::bias::distances::of_pairs;
use crate::bias::{Bias, small};
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter};
use crate::display::one_line;
use crate::error::{PositionError, check_size, init};
use crate::positions::{Axes, Positions};
use crate::sizes::SchemeConfig;
use crate::tensor::dequantized;

/// The configuration of a [`SwinRelativeBias`].
///
/// As data (JSON, TOML) `heads` and `window` are required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SwinRelativeBiasConfig {
    /// The number of heads, at least 1.
    pub heads: usize,
    /// The height and the width of a window in tokens, at least 1 each.
    pub window: [usize; 2],
    /// The initial biases. Default: N(0, 0.02).
    #[serde(default = "crate::bias::small")]
    pub init: Initializer,
}

impl Config for SwinRelativeBiasConfig {}

impl SwinRelativeBiasConfig {
    /// The table of a number of heads for a window of `[height, width]`; every option at its default.
    pub fn new(heads: usize, window: [usize; 2]) -> Self {
        Self {
            heads,
            window,
            init: small(),
        }
    }

    /// Sets the initial biases.
    pub fn with_init(self, init: Initializer) -> Self {
        Self { init, ..self }
    }

    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads and for a window that is out of bounds,
    /// [`TooLarge`](PositionError::TooLarge) when its table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<SwinRelativeBias, PositionError> {
        let [entries, heads] = self.shape()?;
        let weight = self
            .init
            .init_with([entries, heads], Some(entries), Some(heads), device);
        Ok(self.with_weight(weight))
    }

    /// Builds the module with the table of a trained model, from a safetensors file or a PyTorch one; the
    /// content tells which. `init` is not used. The table is for the window of this configuration: fit it
    /// to another one with [`resize`](SwinRelativeBias::resize).
    ///
    /// | model | name of the table, for each layer and block |
    /// |---|---|
    /// | Swin in transformers | `swin.encoder.layers.0.blocks.0.attention.self.relative_position_bias_table` |
    /// | Swin in timm and in its own code | `layers.0.blocks.0.attn.relative_position_bias_table` |
    ///
    /// # Errors
    ///
    /// [`CheckpointError::Read`]; [`Name`](CheckpointError::Name), which lists the names that there
    /// are; [`Shape`](CheckpointError::Shape) and [`DType`](CheckpointError::DType) for a table that does
    /// not fit this configuration; [`Config`](CheckpointError::Config) for what
    /// [`try_init`](Self::try_init) refuses.
    #[cfg(feature = "checkpoint")]
    pub fn init_from_file(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        device: &Device,
    ) -> Result<SwinRelativeBias, CheckpointError> {
        let meaning = "(2 height − 1)(2 width − 1) of the window, and heads";
        let weight = parameter(path.as_ref(), name, self.shape()?, meaning, device)?;
        Ok(self.with_weight(weight))
    }

    /// The shape of the table, checked.
    fn shape(&self) -> Result<[usize; 2], PositionError> {
        check_size("heads", self.heads)?;
        check_window("window", self.window, self.heads)?;
        Ok([offsets(self.window), self.heads])
    }

    fn with_weight(&self, weight: Param<Tensor<2>>) -> SwinRelativeBias {
        SwinRelativeBias {
            weight,
            config: self.clone(),
        }
    }
}

impl SchemeConfig for SwinRelativeBiasConfig {
    fn axes(&self) -> Option<Axes> {
        Some(Axes::HEIGHT_WIDTH)
    }
}

init!(SwinRelativeBiasConfig => SwinRelativeBias);

/// Swin's relative position bias: a trained bias per head for each offset, in rows and columns, between two
/// tokens of a window. Liu et al., [*Swin Transformer: Hierarchical Vision Transformer using Shifted
/// Windows*](https://arxiv.org/abs/2103.14030), 2021, §3.2.
///
/// ```text
/// bias(head, i, j) = weight[(y_i − y_j + height − 1)(2 width − 1) + (x_i − x_j + width − 1)][head]
/// ```
///
/// for query i at row y_i and column x_i of the window, key j likewise. Made by [`SwinRelativeBiasConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::embedding::Resampling;
/// use pe_burn::grid::SwinRelativeBiasConfig;
/// use pe_burn::{Bias, Grid, Positions};
///
/// let swin = SwinRelativeBiasConfig::new(3, [7, 7]).init(&Device::flex());
/// let window = Positions::from(Grid::image(7, 7));
/// let bias = swin.bias((&window, 49), (&window, 49)); // [1, heads, queries, keys], for every window
/// assert_eq!(bias.dims(), [1, 3, 49, 49]);
///
/// let larger = swin.resize([8, 12], Resampling::Bicubic)?;
/// assert_eq!(larger.config().window, [8, 12]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// - **Positions** are on a [`Grid`](crate::Grid) of height and width without prefix tokens: a whole window,
///   or some of its tokens ([`from_grid_ids`](Positions::from_grid_ids)). A grid larger than the window is
///   fine where no query and key are farther apart than in the window; in a smaller one, tokens have
///   the biases of their offsets.
/// - **Shifted windows** have the same bias. Their mask is added to the scores by the model.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct SwinRelativeBias {
    /// `[(2 height − 1)(2 width − 1), heads]`, as `relative_position_bias_table` of Swin's checkpoints.
    pub weight: Param<Tensor<2>>,
    #[module(skip)]
    config: SwinRelativeBiasConfig,
}

impl SwinRelativeBias {
    /// The configuration that this module was made from.
    pub fn config(&self) -> &SwinRelativeBiasConfig {
        &self.config
    }

    /// The same for a window of another `[height, width]`: the table is a new parameter, trained if this
    /// one is.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a window that is out of bounds, and when the table is not that of the
    /// configuration's window; [`TooLarge`](PositionError::TooLarge) when the new one does not fit into
    /// memory.
    pub fn resize(self, window: [usize; 2], how: Resampling) -> Result<Self, PositionError> {
        check_window("window", window, self.config.heads)?;
        check_table(&self.weight, self.config.window, 0, self.config.heads)?;
        let config = SwinRelativeBiasConfig {
            window,
            ..self.config
        };
        if window == self.config.window {
            return Ok(Self { config, ..self });
        }
        let weight = resized(self.weight, self.config.window, window, 0, how);
        Ok(Self { weight, config })
    }
}

impl Bias for SwinRelativeBias {
    fn try_bias(
        &self,
        queries: (&Positions, usize),
        keys: (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError> {
        let window = self.config.window;
        check_table(&self.weight, window, 0, self.config.heads)?;
        let weight = dequantized(self.weight.val());
        let own = (&weight.device(), weight.dtype());
        of_pairs(queries, keys, self.config.heads, own, |queries, keys| {
            let pairs = Pairs::new(queries, keys, 1)?;
            pairs.check_no_prefix()?;
            pairs.check_within(window)?;
            let entries = pairs.entries(window, &weight.device());
            Ok(gather(weight, entries))
        })
    }
}

impl ModuleDisplay for SwinRelativeBias {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("heads", &self.config.heads)
            .add_debug_attribute("window", &self.config.window)
            .optional()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;

    #[test]
    fn it_is_read_from_data_and_shown() {
        let json = r#"{"heads": 2, "window": [2, 3]}"#;
        let config: SwinRelativeBiasConfig = serde_json::from_str(json).unwrap();
        assert_eq!(config, SwinRelativeBiasConfig::new(2, [2, 3]));
        assert_eq!(
            config.init(&Device::flex()).to_string(),
            "SwinRelativeBias {heads: 2, window: [2, 3], params: 30}"
        );
        let stray = json.replacen('{', r#"{"stray": 1, "#, 1);
        assert!(serde_json::from_str::<SwinRelativeBiasConfig>(&stray).is_err());
    }
}
