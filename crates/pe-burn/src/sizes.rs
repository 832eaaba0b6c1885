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
    /// The configuration for a model, with every option at its default; an error for a scheme that needs
    /// more than these sizes.
    fn for_model(_sizes: ModelSizes) -> Result<Self, PositionError> {
        Err(PositionError::config(
            "this scheme needs more than its name and the sizes of a model, such as a window: make it from its \
             own configuration, or from data with the field `kind`",
        ))
    }

    /// The axes that its positions need; `None` where positions on a line will do.
    fn axes(&self) -> Option<Axes> {
        None
    }
}
