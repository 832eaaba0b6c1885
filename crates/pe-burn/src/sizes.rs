//! The sizes of a model, from which a scheme that is chosen by name takes its own.

use crate::error::PositionError;
use crate::layout::share_of_heads;
use crate::positions::Axes;

/// The sizes of a transformer.
#[derive(Clone, Copy)]
pub(crate) struct ModelSizes {
    pub d_model: usize,
    pub heads: usize,
    /// The longest sequence that is expected.
    pub max_len: usize,
}

impl ModelSizes {
    pub fn d_head(&self) -> Result<usize, PositionError> {
        share_of_heads("d_model", self.d_model, self.heads)
    }
}

/// What the table of [`scheme`](crate::scheme) needs of the configuration of a scheme.
pub(crate) trait SchemeConfig: Sized {
    /// The configuration for a model, with every option at its default.
    fn for_model(sizes: ModelSizes) -> Result<Self, PositionError>;

    /// The axes of the grid that its positions have to be on; `None` for positions on a line.
    fn axes(&self) -> Option<&Axes> {
        None
    }
}
