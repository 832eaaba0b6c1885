//! Tokens on a grid: the patches of an image or a video.

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

    /// The same grid after `prefix` tokens that are not on it.
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

    /// Frame, row and column of a token; 0, 0, 0 for a prefix token.
    pub(crate) fn coordinates(&self, token: usize) -> [usize; 3] {
        let cell = token.saturating_sub(self.prefix);
        let (height, width) = (self.height.max(1), self.width.max(1)); // no division by 0
        [cell / width / height, cell / width % height, cell % width]
    }

    /// A description for errors.
    pub(crate) fn kind(&self) -> &'static str {
        match self.frames {
            None => "a grid of height × width",
            Some(_) => "a grid of frames × height × width",
        }
    }
}

/// The axes of a grid that share the columns of an encoding, in the order of their columns.
///
/// Code that mixes up height and width works on square images, but not with the weights of another
/// model. Each axis has sines and cosines of its own within its columns, in the
/// [`Layout`](crate::Layout) of the encoding. timm's `build_sincos2d_pos_embed` has, by default, the
/// sines of all axes before the cosines of all: take interleaved rows and
/// [`convert_layout`](crate::convert_layout) to halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Axes {
    /// The first half of the columns encodes the row of a token, the second its column: as the
    /// sinusoids of timm and DETR, and the rotation in Qwen2-VL's vision tower.
    HeightWidth,
    /// The first half of the columns encodes the column of a token, the second its row: as the
    /// sinusoids of MAE.
    WidthHeight,
    /// A third of the columns each: frame, row, column.
    FramesHeightWidth,
}

impl Axes {
    /// The indices of the axes in [`Grid::shape`], in the order of their columns.
    pub(crate) fn order(self) -> &'static [usize] {
        match self {
            Self::HeightWidth => &[1, 2],
            Self::WidthHeight => &[2, 1],
            Self::FramesHeightWidth => &[0, 1, 2],
        }
    }

    /// Whether a grid has these axes.
    pub(crate) fn are_of(self, grid: &Grid) -> bool {
        grid.frames.is_some() == (self == Self::FramesHeightWidth)
    }

    /// A description for errors.
    pub(crate) fn kind(self) -> &'static str {
        match self {
            Self::HeightWidth | Self::WidthHeight => Grid::image(0, 0).kind(),
            Self::FramesHeightWidth => Grid::video(0, 0, 0).kind(),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn tokens_are_counted_row_by_row_after_the_prefix() {
        let grid = Grid::video(2, 3, 5).with_prefix(4);
        assert_eq!(grid.tokens(), 34);
        assert_eq!(grid.coordinates(3), [0, 0, 0]);
        assert_eq!(grid.coordinates(4), [0, 0, 0]);
        assert_eq!(grid.coordinates(4 + 5 + 2), [0, 1, 2]);
        assert_eq!(grid.coordinates(33), [1, 2, 4]);
        assert_eq!(Grid::image(3, 0).tokens(), 0);
        assert_eq!(Grid::image(usize::MAX, 2).tokens(), usize::MAX);
    }
}
