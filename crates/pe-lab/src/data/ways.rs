//! What one file tells of cells that may be read in two ways, for files that are read after it.

use super::dates::Clock;

/// How a file writes what may be read in two ways.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct Ways {
    /// How it writes times, if it has any.
    pub clock: Option<Clock>,
    /// Whether it has numbers with decimal commas.
    pub has_commas: bool,
}
