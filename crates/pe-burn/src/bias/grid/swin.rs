//! Swin's table of relative positions.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use burn::module::Initializer;
use burn::tensor::Device;

use super::table::{Entries, Resize, Table, TableBias, TableConfig};
use crate::bias::table::small;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::CheckpointError;
use crate::config::{config, init};
use crate::error::PositionError;

config! {
    /// The configuration of a [`SwinRelativeBias`].
    pub struct SwinRelativeBiasConfig {
        /// The number of heads, at least 1.
        heads: usize,
        /// The height and the width of a window in tokens, at least 1 each.
        window: [usize; 2],
    }

    /// The table of a number of heads for a window of `[height, width]`; every option at its default.
    new;

    /// The initial biases. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl SwinRelativeBiasConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads and for a window that is out of bounds,
    /// [`TooLarge`](PositionError::TooLarge) when its table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<SwinRelativeBias, PositionError> {
        SwinRelativeBias::new(self, device)
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
    /// [`CheckpointError`], with what is wrong in the file, or with what [`try_init`](Self::try_init) refuses.
    #[cfg(feature = "checkpoint")]
    pub fn init_from_file(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        device: &Device,
    ) -> Result<SwinRelativeBias, CheckpointError> {
        let meaning = "(2 height − 1)(2 width − 1) of the window, and heads";
        SwinRelativeBias::from_file(self, (path.as_ref(), name), meaning, device)
    }
}

impl TableConfig for SwinRelativeBiasConfig {
    const NAME: &'static str = "SwinRelativeBias";

    fn table(&self) -> Table<'_> {
        Table {
            heads: self.heads,
            window: self.window,
            stride: None,
            entries: Entries::Offsets { prefix: false },
            init: &self.init,
        }
    }
}

impl Resize for SwinRelativeBiasConfig {
    fn with_window(self, window: [usize; 2]) -> Self {
        Self { window, ..self }
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
///   or some of its tokens ([`from_grid_ids`](crate::Positions::from_grid_ids)). A grid larger than the window is
///   fine where no query and key are farther apart than in the window; in a smaller one, tokens have
///   the biases of their offsets.
/// - **Shifted windows** have the same bias. Their mask is added to the scores by the model.
///
/// The field `weight` is `[(2 height − 1)(2 width − 1), heads]`, as `relative_position_bias_table` of Swin's checkpoints.
pub type SwinRelativeBias = TableBias<SwinRelativeBiasConfig>;
