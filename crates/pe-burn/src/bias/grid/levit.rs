//! LeViT's attention bias.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use burn::module::Initializer;
use burn::tensor::Device;

use super::table::{Entries, Table, TableBias, TableConfig};
use crate::bias::table::zeros;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::CheckpointError;
use crate::config::{config, init};
use crate::error::PositionError;

config! {
    /// The configuration of a [`LevitRelativeBias`].
    pub struct LevitRelativeBiasConfig {
        /// The number of heads, at least 1.
        heads: usize,
        /// The height and the width of the keys' grid, at least 1 each.
        window: [usize; 2],
    }

    /// The biases of a number of heads for a grid of `[height, width]`; every option at its default.
    new;

    /// How many times coarser the grid of the queries is than that of the keys, at least 1: 2 in the layers of LeViT that
    /// halve the image. Query (y, x) is then at row `stride · y` and column `stride · x` of the keys' grid. Default: 1.
    stride: usize = 1,
    with_stride;

    /// The initial biases. Default: zeros, as in LeViT.
    init: Initializer = zeros(),
    with_init;
}

impl LevitRelativeBiasConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads, a stride of 0 and a window that is out of bounds,
    /// [`TooLarge`](PositionError::TooLarge) when its table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<LevitRelativeBias, PositionError> {
        LevitRelativeBias::new(self, device)
    }

    /// Builds the module with the biases of a trained model, from a safetensors file or a PyTorch one; the
    /// content tells which. `init` is not used.
    ///
    /// | model | name of the biases, for each layer |
    /// |---|---|
    /// | LeViT in transformers | `levit.encoder.stages.0.layers.0.module.attention_biases`, those of a layer that subsamples without `.module` |
    /// | LeViT in timm | `stages.0.blocks.0.attn.attention_biases`, `stages.1.downsample.attn_downsample.attention_biases` |
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
    ) -> Result<LevitRelativeBias, CheckpointError> {
        let meaning = "heads, and height · width of the window";
        LevitRelativeBias::from_file(self, (path.as_ref(), name), meaning, device)
    }
}

impl TableConfig for LevitRelativeBiasConfig {
    const NAME: &'static str = "LevitRelativeBias";

    fn table(&self) -> Table<'_> {
        Table {
            heads: self.heads,
            window: self.window,
            stride: Some(self.stride),
            entries: Entries::Distances,
            init: &self.init,
        }
    }
}

init!(LevitRelativeBiasConfig => LevitRelativeBias);

/// LeViT's attention bias: a trained bias per head for each distance in rows and each distance in columns,
/// whichever of the two tokens comes first. Graham et al., [*LeViT: a Vision Transformer in ConvNet's
/// Clothing for Faster Inference*](https://arxiv.org/abs/2104.01136), 2021, §4.2, "Attention bias instead of
/// a positional embedding".
///
/// ```text
/// bias(head, i, j) = weight[head][|stride · y_i − y_j| · width + |stride · x_i − x_j|]
/// ```
///
/// for query i at row y_i and column x_i of its grid, key j likewise of its own. Made by
/// [`LevitRelativeBiasConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::grid::LevitRelativeBiasConfig;
/// use pe_burn::{Bias, Grid, Positions};
///
/// let config = LevitRelativeBiasConfig::new(4, [14, 14]);
/// let keys = Positions::from(Grid::image(14, 14));
/// let levit = config.init(&Device::flex());
/// assert_eq!(levit.bias((&keys, 196), (&keys, 196)).dims(), [1, 4, 196, 196]);
///
/// // A layer that halves the image: its queries are every other token of every other row.
/// let halving = config.with_stride(2).init(&Device::flex());
/// let queries = Positions::from(Grid::image(7, 7));
/// assert_eq!(halving.bias((&queries, 49), (&keys, 196)).dims(), [1, 4, 49, 196]);
/// ```
///
/// **Positions** are on a [`Grid`](crate::Grid) of height and width without prefix tokens, whole or in part
/// ([`from_grid_ids`](crate::Positions::from_grid_ids)), in which no query and key are farther apart than in the
/// window.
///
/// The field `weight` is `[heads, height · width]`, as `attention_biases` of LeViT's checkpoints.
pub type LevitRelativeBias = TableBias<LevitRelativeBiasConfig>;
