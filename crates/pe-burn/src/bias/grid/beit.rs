//! BEiT's table of relative positions, with entries for a class token.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use burn::module::Initializer;
use burn::tensor::Device;

use super::table::{Entries, Resize, Table, TableBias, TableConfig};
use crate::bias::table::zeros;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::CheckpointError;
use crate::config::{config, init};
use crate::error::PositionError;

config! {
    /// The configuration of a [`BeitRelativeBias`].
    pub struct BeitRelativeBiasConfig {
        /// The number of heads, at least 1.
        heads: usize,
        /// The height and the width of an image in patches, at least 1 each.
        window: [usize; 2],
    }

    /// The table of a number of heads for an image of `[height, width]` patches; every option at its default.
    new;

    /// The initial biases. Default: zeros, as in BEiT.
    init: Initializer = zeros(),
    with_init;
}

impl BeitRelativeBiasConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads and for a window that is out of bounds,
    /// [`TooLarge`](PositionError::TooLarge) when its table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<BeitRelativeBias, PositionError> {
        BeitRelativeBias::new(self, device)
    }

    /// Builds the module with the table of a trained model, from a safetensors file or a PyTorch one; the
    /// content tells which. `init` is not used. The table is for the window of this configuration: fit it
    /// to another one with [`resize`](BeitRelativeBias::resize).
    ///
    /// | model | name of the table, for each layer |
    /// |---|---|
    /// | BEiT in transformers | `beit.encoder.layer.0.attention.attention.relative_position_bias.relative_position_bias_table` |
    /// | BEiT in timm | `blocks.0.attn.relative_position_bias_table` |
    ///
    /// A model with one table for all layers calls it `beit.encoder.relative_position_bias.relative_position_bias_table`
    /// in transformers and `rel_pos_bias.relative_position_bias_table` in timm.
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
    ) -> Result<BeitRelativeBias, CheckpointError> {
        let meaning = "(2 height − 1)(2 width − 1) + 3 of the window, and heads";
        BeitRelativeBias::from_file(self, (path.as_ref(), name), meaning, device)
    }
}

impl TableConfig for BeitRelativeBiasConfig {
    const NAME: &'static str = "BeitRelativeBias";

    fn table(&self) -> Table<'_> {
        Table {
            heads: self.heads,
            window: self.window,
            stride: None,
            entries: Entries::Offsets { prefix: true },
            init: &self.init,
        }
    }
}

impl Resize for BeitRelativeBiasConfig {
    fn with_window(self, window: [usize; 2]) -> Self {
        Self { window, ..self }
    }
}

init!(BeitRelativeBiasConfig => BeitRelativeBias);

/// BEiT's relative position bias: Swin's table for a whole image, and three more biases per head for the
/// class token. Bao et al., [*BEiT: BERT Pre-Training of Image
/// Transformers*](https://arxiv.org/abs/2106.08254), 2021, as in its code (`RelativePositionBias`).
///
/// ```text
/// bias(head, i, j) = weight[(y_i − y_j + height − 1)(2 width − 1) + (x_i − x_j + width − 1)][head]
/// bias(head, class, j) = weight[n][head]        n = (2 height − 1)(2 width − 1)
/// bias(head, i, class) = weight[n + 1][head]
/// bias(head, class, class) = weight[n + 2][head]
/// ```
///
/// Made by [`BeitRelativeBiasConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::grid::BeitRelativeBiasConfig;
/// use pe_burn::{Bias, Grid, Positions};
///
/// let beit = BeitRelativeBiasConfig::new(12, [14, 14]).init(&Device::flex());
/// let grid = Grid::image(14, 14).with_prefix(1); // the class token, and 14 × 14 patches
/// let positions = Positions::from(grid);
/// let bias = beit.bias((&positions, grid.tokens()), (&positions, grid.tokens()));
/// assert_eq!(bias.dims(), [1, 12, 197, 197]);
/// ```
///
/// - **Positions** are on a [`Grid`](crate::Grid) of height and width: a whole image, or some of its tokens
///   ([`from_grid_ids`](crate::Positions::from_grid_ids)). In a grid smaller than the window, tokens have the
///   biases of their offsets; transformers' BEiT resizes its table instead, and so does
///   [`resize`](Self::resize).
/// - **Prefix tokens.** BEiT has one, its class token. With several, as register tokens, all of them share
///   the three biases; without one, they are not used.
///
/// The field `weight` is `[(2 height − 1)(2 width − 1) + 3, heads]`, as `relative_position_bias_table` of BEiT's checkpoints.
pub type BeitRelativeBias = TableBias<BeitRelativeBiasConfig>;
