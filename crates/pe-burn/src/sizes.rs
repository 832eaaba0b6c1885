//! The sizes of a model, from which a scheme that is chosen by name takes its own.

use crate::error::PositionError;
use crate::layout::share_of_heads;

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

    /// `d_model`, for a scheme that divides it among the heads.
    pub fn whole_heads(&self) -> Result<usize, PositionError> {
        self.d_head().map(|_| self.d_model)
    }
}
