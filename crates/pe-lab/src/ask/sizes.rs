//! The sizes of a model, for which a scheme is made.

use pe_burn::{PositionError, PositionalConfig};

/// The sizes of the model that a scheme is made for.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    /// The width of a token's vector.
    pub d_model: usize,
    /// The number of attention heads, which divides `d_model`.
    pub heads: usize,
    /// The number of layers.
    pub layers: usize,
    /// The number of positions: the tokens of the longest input, or the range from which positions are drawn.
    pub max_len: usize,
    /// The tokens of the longest input of the training.
    pub trained_len: usize,
    /// The tokens of the longest input of a test: more than `max_len` where images have higher resolutions than in the
    /// training. There a table that is added to embeddings is interpolated, and others number further patches.
    pub tested_len: usize,
}

impl Sizes {
    /// The width of a head.
    pub fn d_head(&self) -> usize {
        self.d_model / self.heads
    }

    /// A scheme of `pe-burn` with its defaults for these sizes, as [`PositionalConfig::by_name`].
    ///
    /// # Errors
    ///
    /// When there is none of this name, or it does not fit the sizes.
    pub fn library(&self, name: &str) -> Result<PositionalConfig, PositionError> {
        PositionalConfig::by_name(name, self.d_model, self.heads, self.max_len)
    }
}
