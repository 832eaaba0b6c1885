//! Tokens on a grid: the patches of an image or a video.

use alloc::vec::Vec;

use serde::{Deserialize, Serialize};

/// The tokens of an image or a video: row by row from the top left, frame by frame, after a prefix of
/// tokens that are not on the grid (class and register tokens).
///
/// ```
/// use pe_burn::{Grid, Positions};
///
/// // A ViT's sequence: a class token and 14 × 16 patches.
/// let grid = Grid::image(14, 16).with_prefix(1);
/// assert_eq!(grid.tokens(), 1 + 14 * 16);
/// let positions = Positions::from(grid);
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct Grid {
    #[serde(default, skip_serializing_if = "Option::is_none")]
    frames: Option<usize>,
    height: usize,
    width: usize,
    #[serde(default)]
    prefix: usize,
}

impl Grid {
    /// An image of `height` rows of `width` tokens.
    pub fn image(height: usize, width: usize) -> Self {
        Self {
            frames: None,
            height,
            width,
            prefix: 0,
        }
    }

    /// A video, or a volume: `frames` images.
    pub fn video(frames: usize, height: usize, width: usize) -> Self {
        let frames = Some(frames);
        Self {
            frames,
            ..Self::image(height, width)
        }
    }

    /// This grid after `prefix` tokens that are not on it.
    pub fn with_prefix(self, prefix: usize) -> Self {
        Self { prefix, ..self }
    }

    /// The number of frames of a video; `None` for an image.
    pub fn frames(&self) -> Option<usize> {
        self.frames
    }

    /// The number of rows of an image.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The number of tokens in a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The number of tokens before the grid.
    pub fn prefix(&self) -> usize {
        self.prefix
    }

    /// The number of all tokens, the prefix included: the sequence length.
    pub fn tokens(&self) -> usize {
        self.cells().saturating_add(self.prefix)
    }

    /// The number of tokens on the grid.
    pub(crate) fn cells(&self) -> usize {
        self.shape().into_iter().fold(1, usize::saturating_mul)
    }

    /// `[frames, height, width]`.
    pub(crate) fn shape(&self) -> [usize; 3] {
        [self.frames.unwrap_or(1), self.height, self.width]
    }

    /// The number of tokens along each of the [`axes`](Self::axes).
    pub(crate) fn lengths(&self) -> Vec<usize> {
        self.shape()[3 - self.axes()..].to_vec()
    }

    /// One of the [`axes`](Self::axes) coordinates of a token; 0 for a prefix token.
    pub(crate) fn coordinate(&self, token: usize, axis: usize) -> usize {
        self.cell(token)[3 - self.axes() + axis]
    }

    /// Frame, row and column of a token; 0, 0, 0 for a prefix token.
    pub(crate) fn cell(&self, token: usize) -> [usize; 3] {
        let cell = token.saturating_sub(self.prefix);
        let (height, width) = (self.height.max(1), self.width.max(1)); // no division by 0
        [cell / width / height, cell / width % height, cell % width]
    }

    /// The number of coordinates of a token: 2 for an image (row, column), 3 for a video (frame, row,
    /// column).
    pub fn axes(&self) -> usize {
        2 + usize::from(self.frames.is_some())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_row_by_row_after_the_prefix() {
        let grid = Grid::video(2, 3, 5).with_prefix(4);
        assert_eq!(grid.tokens(), 34);
        assert_eq!(grid.cell(3), [0, 0, 0]);
        assert_eq!(grid.cell(4), [0, 0, 0]);
        assert_eq!(grid.cell(4 + 5 + 2), [0, 1, 2]);
        assert_eq!(grid.cell(33), [1, 2, 4]);
        assert_eq!([0, 1, 2].map(|axis| grid.coordinate(33, axis)), [1, 2, 4]);
        let image = Grid::image(3, 5).with_prefix(1);
        assert_eq!([0, 1].map(|axis| image.coordinate(8, axis)), [1, 2]);
        assert_eq!(Grid::image(3, 0).tokens(), 0);
        assert_eq!(Grid::image(usize::MAX, 2).tokens(), usize::MAX);
    }
}
