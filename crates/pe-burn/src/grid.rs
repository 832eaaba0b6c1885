//! Tokens on a grid: the patches of an image or a video.

use serde::{Deserialize, Serialize};

/// Where the tokens of an image or a video stand: row by row from the top left, frame by frame, with
/// tokens that stand nowhere (class and register tokens) in front.
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

    /// The same behind so many tokens that are not on the grid.
    pub fn with_prefix(self, prefix: usize) -> Self {
        Self { prefix, ..self }
    }

    /// The number of images, where it is a video.
    pub fn frames(&self) -> Option<usize> {
        self.frames
    }

    /// The rows of an image.
    pub fn height(&self) -> usize {
        self.height
    }

    /// The tokens of a row.
    pub fn width(&self) -> usize {
        self.width
    }

    /// The tokens in front, which are not on the grid.
    pub fn prefix(&self) -> usize {
        self.prefix
    }

    /// All tokens, those in front included: the length of the sequence.
    pub fn tokens(&self) -> usize {
        self.cells().saturating_add(self.prefix)
    }

    /// The tokens that are on the grid.
    pub(crate) fn cells(&self) -> usize {
        self.shape().into_iter().fold(1, usize::saturating_mul)
    }

    /// Frames, height and width.
    pub(crate) fn shape(&self) -> [usize; 3] {
        [self.frames.unwrap_or(1), self.height, self.width]
    }

    /// Frame, row and column of a token; those in front are where the first one is.
    pub(crate) fn place(&self, token: usize) -> [usize; 3] {
        let cell = token.saturating_sub(self.prefix);
        let (height, width) = (self.height.max(1), self.width.max(1)); // of no cells, none is asked for
        [cell / width / height, cell / width % height, cell % width]
    }

    /// In words, for errors.
    pub(crate) fn kind(&self) -> &'static str {
        match self.frames {
            None => "a grid of height × width",
            Some(_) => "a grid of frames × height × width",
        }
    }
}

/// The axes of a grid that share the columns of an encoding, in the order of their columns.
///
/// Code that mixes up height and width works for square images, as long as it never meets another's
/// weights. Within its columns every axis has its own sines and cosines, in the
/// [`Layout`](crate::Layout) of the encoding. Rows with the sines of all axes before the cosines of
/// all, as timm's `build_sincos2d_pos_embed` gives them by default, are interleaved ones that
/// [`convert_layout`](crate::convert_layout) converts to halves.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Axes {
    /// The first columns say the row of a token, the others its column: as timm's and DETR's
    /// sinusoids, and as the rotation in Qwen2-VL's vision tower.
    HeightWidth,
    /// The first columns say the column of a token, the others its row: as MAE's sinusoids.
    WidthHeight,
    /// Frame, row and column.
    FramesHeightWidth,
}

impl Axes {
    /// The places of the axes in a [`Grid::shape`], in the order of their columns.
    pub(crate) fn order(self) -> &'static [usize] {
        match self {
            Self::HeightWidth => &[1, 2],
            Self::WidthHeight => &[2, 1],
            Self::FramesHeightWidth => &[0, 1, 2],
        }
    }

    /// Whether these are the axes of a grid.
    pub(crate) fn are_of(self, grid: &Grid) -> bool {
        grid.frames.is_some() == (self == Self::FramesHeightWidth)
    }

    /// In words, for errors.
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
    fn tokens_are_counted_row_by_row_behind_those_in_front() {
        let grid = Grid::video(2, 3, 5).with_prefix(4);
        assert_eq!(grid.tokens(), 34);
        assert_eq!(grid.place(3), [0, 0, 0]);
        assert_eq!(grid.place(4), [0, 0, 0]);
        assert_eq!(grid.place(4 + 5 + 2), [0, 1, 2]);
        assert_eq!(grid.place(33), [1, 2, 4]);
        assert_eq!(Grid::image(3, 0).tokens(), 0);
        assert_eq!(Grid::image(usize::MAX, 2).tokens(), usize::MAX);
    }
}
