//! The positions of text, images and video in one sequence.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use super::{Coordinates, Grid, Kind, Padding, Positions};
use crate::backend::memory::check_room;
use crate::error::PositionError;

/// A part of a multimodal sequence, for [`Positions::from_parts`].
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Part {
    /// Tokens of padding.
    Padding(usize),
    /// Tokens of text.
    Text(usize),
    /// The tokens of an image, or of one frame of a video: its grid as the language model sees it, after
    /// patches were merged.
    Image(Grid),
    /// The tokens of a video.
    Video {
        /// Its grid as the language model sees it.
        grid: Grid,
        /// How many positions apart two frames are: 1 in Qwen2-VL, `tokens_per_second` times the seconds
        /// between two frames in Qwen2.5-VL. The position of a frame is rounded down to a whole number.
        interval: f64,
    },
}

impl Part {
    /// The parts of a sequence of token ids: `places` has the images and videos in their order, each with
    /// the id of the token that stands for its patches; all other tokens are text.
    ///
    /// ```
    /// use pe_burn::Grid;
    /// use pe_burn::coordinates::Part;
    ///
    /// const IMAGE: u32 = 151_655;
    /// let tokens = [10, 11, IMAGE, IMAGE, IMAGE, IMAGE, 12];
    /// let image = Part::Image(Grid::image(2, 2));
    /// let parts = Part::of_tokens(&tokens, &[(IMAGE, image)])?;
    /// assert_eq!(parts, [Part::Text(2), image, Part::Text(1)]);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PositionError::Config`] where the tokens do not hold exactly these images and videos.
    pub fn of_tokens(tokens: &[u32], places: &[(u32, Self)]) -> Result<Vec<Self>, PositionError> {
        let mut left = places.iter();
        let mut parts = Vec::new();
        let mut i = 0;
        while i < tokens.len() {
            let is_place = |token: &u32| places.iter().any(|(id, _)| id == token);
            let text = tokens[i..]
                .iter()
                .take_while(|token| !is_place(token))
                .count();
            if text > 0 {
                parts.push(Self::Text(text));
                i += text;
                continue;
            }
            let Some((id, part)) = left.next() else {
                return Err(PositionError::config(format!(
                    "token {i} belongs to an image or video, but all {} are before it",
                    places.len()
                )));
            };
            let expected = part.tokens();
            if expected == 0 {
                return Err(PositionError::config(format!(
                    "the image or video at token {i} has a grid without tokens"
                )));
            }
            let rest = &tokens[i..];
            let got = rest
                .iter()
                .take(expected)
                .take_while(|token| *token == id)
                .count();
            if got < expected {
                return Err(PositionError::config(format!(
                    "the image or video at token {i} needs {expected} tokens with the id {id}, but has {got}"
                )));
            }
            parts.push(*part);
            i += expected;
        }
        match left.len() {
            0 => Ok(parts),
            missing => Err(PositionError::config(format!(
                "the tokens of {missing} of {} images and videos are missing",
                places.len()
            ))),
        }
    }

    /// The number of its tokens.
    pub fn tokens(&self) -> usize {
        match self {
            Self::Padding(tokens) | Self::Text(tokens) => *tokens,
            Self::Image(grid) | Self::Video { grid, .. } => grid.tokens(),
        }
    }

    /// Its tokens from position `start` on, `None` for padding.
    fn coordinates(&self, start: usize) -> Result<Option<Coordinates>, PositionError> {
        let (grid, interval) = match *self {
            Self::Padding(_) => return Ok(None),
            Self::Text(tokens) => return Coordinates::text(start, tokens, 3).map(Some),
            Self::Image(grid) => (grid, 1.0),
            Self::Video { grid, interval } => (grid, interval),
        };
        if grid.prefix() > 0 {
            return Err(PositionError::config(
                "an image among text has no prefix tokens: they are text",
            ));
        }
        let [frames, height, width] = grid.shape();
        let whole = Coordinates::of_grid(Grid::video(frames, height, width))?;
        let mut values = whole.values().to_vec();
        for token in values.chunks_exact_mut(3) {
            token[0] = libm::floor(token[0] * interval);
        }
        let (tokens, _) = values.as_chunks::<3>();
        Coordinates::new(tokens)?
            .shifted(&[start as f64; 3])
            .map(Some)
    }
}

impl Positions {
    /// The positions of text, images and video in one sequence, with the three coordinates time, height
    /// and width, as in Qwen2-VL (Wang et al., [2409.12191](https://arxiv.org/abs/2409.12191), §2.1) and
    /// its successors. For [`Axes::mrope`](crate::Axes::mrope) and
    /// [`mrope_interleaved`](crate::Axes::mrope_interleaved).
    ///
    /// A token of text has the same number on all three axes. An image starts at the position after the
    /// part before it, and what follows an image starts one past the largest number in it. In Qwen3-VL
    /// each frame of a video is an image of its own, among text that says its time.
    ///
    /// One list per row of the batch, or a single one for all rows. Returns the positions, and the
    /// position of the token after each row: decoding goes on with
    /// [`from_starts`](Self::from_starts) of these numbers.
    ///
    /// ```
    /// use burn::tensor::{Device, Tensor};
    /// use pe_burn::coordinates::Part;
    /// use pe_burn::{Axes, Grid, Positions, Rotate, RotaryPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let rope = RotaryPositionalEncodingConfig::new(128)
    ///     .with_axes(Axes::mrope([16, 24, 24]))
    ///     .init(&device);
    ///
    /// let parts = [Part::Text(5), Part::Image(Grid::image(4, 6)), Part::Text(2)];
    /// let (positions, next) = Positions::from_parts(&[parts])?;
    /// assert_eq!(next, [5 + 6 + 2]);
    /// let q = rope.rotate_queries(Tensor::ones([1, 8, 31, 128], &device), &positions);
    ///
    /// let q = rope.rotate_queries(Tensor::ones([1, 8, 1, 128], &device), &Positions::from_starts(next));
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// transformers 5 lets the text after a video start one past the larger of its height and width, so
    /// that its numbers may be lower than those of the last frames; the models' own code, transformers 4
    /// and this library do not.
    ///
    /// # Errors
    ///
    /// [`PositionError::Ragged`] when the rows differ in their number of tokens,
    /// [`Number`](PositionError::Number) for an interval that is negative or not finite,
    /// [`Config`](PositionError::Config) for a grid with prefix tokens,
    /// [`TooLarge`](PositionError::TooLarge) when they do not fit into memory, and
    /// [`TimeOutOfRange`](PositionError::TimeOutOfRange) past [`MAX_POSITION`](crate::MAX_POSITION).
    pub fn from_parts<R: AsRef<[Part]>>(rows: &[R]) -> Result<(Self, Vec<usize>), PositionError> {
        let mut next = Vec::with_capacity(rows.len());
        let mut coordinates = Vec::with_capacity(rows.len());
        let mut padding = Vec::new();
        for (i, row) in rows.iter().enumerate() {
            let (mut start, mut all) = (0, Coordinates::at([0.0; 3], 0));
            for (n, part) in row.as_ref().iter().enumerate() {
                if let Part::Video { interval, .. } = *part
                    && !(interval.is_finite() && interval >= 0.0)
                {
                    let name = format!("the interval of part {n} of row {i}");
                    return Err(PositionError::number(
                        name,
                        interval,
                        "finite and at least 0",
                    ));
                }
                let here = part.coordinates(start);
                let here = here.map_err(|error| error.in_row(i, all.tokens()))?;
                check_room::<f64>(part.tokens(), 3)?;
                padding.extend(vec![here.is_none(); part.tokens()]);
                if let Some(here) = &here {
                    let largest = here
                        .values()
                        .iter()
                        .copied()
                        .fold(start as f64 - 1.0, f64::max);
                    start = (largest + 1.0) as usize;
                }
                all =
                    all.then(&here.unwrap_or_else(|| Coordinates::at([0.0; 3], part.tokens())))?;
            }
            next.push(start);
            coordinates.push(all);
        }
        let mut positions = match coordinates.is_empty() {
            true => Self::of_coordinates(Vec::new(), [0, 0, 3]),
            false => Self::from_coordinate_rows(&coordinates)?,
        };
        if padding.contains(&true)
            && let Kind::Coordinates { shape, .. } = positions.kind
        {
            positions.padding = Some(Padding::Host(padding, [shape[0], shape[1]]));
        }
        Ok((positions, next))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::{assert_says, refusal, refused};

    const IMAGE: u32 = 7;
    const VIDEO: u32 = 8;

    #[test]
    fn tokens_are_split_at_images_and_videos() {
        let image = Part::Image(Grid::image(1, 2));
        let video = Part::Video {
            grid: Grid::video(2, 1, 1),
            interval: 1.0,
        };
        let places = [(IMAGE, image), (IMAGE, image), (VIDEO, video)];
        // Two images without text between them.
        let tokens = [1, IMAGE, IMAGE, IMAGE, IMAGE, 1, 2, VIDEO, VIDEO];
        let parts = Part::of_tokens(&tokens, &places).unwrap();
        assert_eq!(parts, [Part::Text(1), image, image, Part::Text(2), video]);
        assert_eq!(Part::of_tokens(&[], &[]).unwrap(), []);
        assert_eq!(Part::of_tokens(&[1, 2], &[]).unwrap(), [Part::Text(2)]);

        refused! {
            |tokens| Part::of_tokens(tokens, &places);
            &tokens[..6] => "the tokens of 1 of 3 images and videos are missing",
            &[1, IMAGE, 1] =>
                "the image or video at token 1 needs 2 tokens with the id 7, but has 1",
            &[VIDEO, VIDEO] =>
                "the image or video at token 0 needs 2 tokens with the id 7, but has 0",
            &[IMAGE, IMAGE, IMAGE, IMAGE, VIDEO, VIDEO, IMAGE] =>
                "token 6 belongs to an image or video, but all 3 are before it",
        }
    }

    #[test]
    fn numbers_that_make_no_positions_are_refused() {
        let of = |part| Positions::from_parts(&[[part]]);
        let with_interval = |interval| {
            let grid = Grid::video(2, 1, 1);
            let video = Part::Video { grid, interval };
            Positions::from_parts(&[vec![Part::Text(5)], vec![Part::Text(3), video]])
        };
        refused! {
            |interval| with_interval(interval);
            f64::NAN => "the interval of part 1 of row 1 must be finite and at least 0; got NaN",
            // The second frame is the second token of the video.
            1e30 =>
                "coordinate 1000000000000000000000000000000 of axis 0 at row 1, token 4 is out of range: \
                 coordinates go from -4503599627370495 to 4503599627370495",
        }
        assert!(of(Part::Image(Grid::image(2, 2).with_prefix(1))).is_err());
        assert!(of(Part::Text(usize::MAX)).is_err());
        assert!(of(Part::Padding(usize::MAX)).is_err());
        assert!(of(Part::Image(Grid::image(usize::MAX, 2))).is_err());
        let empty = Part::Image(Grid::image(0, 2));
        let words = "the image or video at token 0 has a grid without tokens";
        assert_says(
            &refusal(Part::of_tokens(&[IMAGE], &[(IMAGE, empty)])),
            words,
        );
        let rows = [vec![Part::Text(2)], vec![Part::Text(3)]];
        assert!(matches!(
            Positions::from_parts(&rows),
            Err(PositionError::Ragged { .. })
        ));
        let (none, next) = Positions::from_parts::<[Part; 0]>(&[]).unwrap();
        assert!(next.is_empty() && none.lookup(Some(0), 0).is_ok());
    }
}
