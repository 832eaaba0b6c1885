//! The coordinates of the tokens of one sequence.

use alloc::format;
use alloc::vec::Vec;

use rand::{Rng, RngExt};
use serde::{Deserialize, Serialize};

use super::{Grid, MAX_POSITION, Positions, axes, check_times};
use crate::backend::memory::check_room;
use crate::error::{PositionError, check_number, check_size};

/// The coordinates of the tokens of one sequence, `[tokens, axes]`, for encodings with
/// [`Axes`](crate::Axes).
///
/// Models build them in many ways, from the same few steps:
///
/// ```
/// use pe_burn::coordinates::Normalization;
/// use pe_burn::{Coordinates, Grid, Positions};
///
/// // DINOv3: a class token and four registers, then patches by their centres, from −1 to 1.
/// let patches = Coordinates::normalized(Grid::image(14, 16), Normalization::Separate)?;
/// let dino = Coordinates::at([0.0, 0.0], 5).then(&patches)?;
/// assert_eq!((dino.tokens(), dino.axes()), (5 + 14 * 16, 2));
///
/// // Qwen-Image: an image around its centre, and text behind it on the diagonal.
/// let image = Coordinates::of_grid(Grid::video(1, 6, 8))?.shifted(&[0.0, -3.0, -4.0])?;
/// let text = Coordinates::text(4, 10, 3)?;
/// let positions = Positions::from(text.then(&image)?);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// [`Positions::from`] gives every row of a batch the same coordinates;
/// [`Positions::from_coordinate_rows`] gives each its own.
#[derive(Clone, Debug, PartialEq)]
pub struct Coordinates {
    axes: usize,
    values: Vec<f64>,
}

/// What the centres of patches are divided by, so that coordinates go from −1 to 1.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Normalization {
    /// Each axis by its own length.
    #[default]
    Separate,
    /// All axes by the longest.
    Longest,
    /// All axes by the shortest.
    Shortest,
}

impl Coordinates {
    /// Coordinates of given tokens.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 axes, and [`TimeOutOfRange`](PositionError::TimeOutOfRange) for a
    /// number that is not finite or farther than [`MAX_POSITION`](crate::MAX_POSITION) from 0.
    pub fn new<const AXES: usize>(
        tokens: impl AsRef<[[f64; AXES]]>,
    ) -> Result<Self, PositionError> {
        Self::checked(AXES, tokens.as_ref().as_flattened().to_vec())
    }

    /// All `tokens` at the same place: at 0 a rotation leaves them as they are, as class tokens need. A
    /// sinusoid encodes them as position 0.
    ///
    /// # Panics
    ///
    /// Where [`new`](Self::new) of this place returns an error, and where they do not fit into memory.
    #[track_caller]
    pub fn at<const AXES: usize>(place: [f64; AXES], tokens: usize) -> Self {
        crate::error::expect(Self::new([place]));
        crate::error::expect(check_room::<f64>(tokens, AXES));
        let values = core::iter::repeat_n(place, tokens).flatten().collect();
        Self { axes: AXES, values }
    }

    /// Tokens of text: token `i` has the number `start + i` on every axis.
    ///
    /// # Errors
    ///
    /// Those of [`new`](Self::new), and [`PositionError::TooLarge`] when they do not fit into memory.
    pub fn text(start: usize, tokens: usize, axes: usize) -> Result<Self, PositionError> {
        check_size("the number of axes", axes)?;
        check_room::<f64>(tokens, axes)?;
        let numbers = (0..tokens).map(|i| start as f64 + i as f64);
        let values = numbers.flat_map(|number| core::iter::repeat_n(number, axes));
        Self::checked(axes, values.collect())
    }

    /// The tokens of a grid: row and column of an image; frame, row and column of a video. Prefix tokens
    /// are at 0: a rotation leaves them as they are, and a sinusoid encodes them as position 0, where
    /// `Positions::from(grid)` encodes them as zeros.
    ///
    /// # Errors
    ///
    /// [`PositionError::TooLarge`] when they do not fit into memory.
    pub fn of_grid(grid: Grid) -> Result<Self, PositionError> {
        Self::per_cell(grid, |number, _| number as f64)
    }

    /// The centres of the patches of a grid, from −1 to 1 along the axis whose length divides them: those of
    /// DINOv3 (Siméoni et al., [2508.10104](https://arxiv.org/abs/2508.10104)). Its rotation has base
    /// 100 and angles in whole turns: [`Axis::scale`](crate::axes::Axis::scale) is 2π on both axes.
    ///
    /// # Errors
    ///
    /// [`PositionError::Config`] for a grid with prefix tokens, which have no place on it: put them before
    /// it with [`at`](Self::at); [`TooLarge`](PositionError::TooLarge) when they do not fit into memory.
    pub fn normalized(grid: Grid, by: Normalization) -> Result<Self, PositionError> {
        if grid.prefix() > 0 {
            return Err(PositionError::config(format!(
                "prefix tokens have no normalized coordinates: leave them out of the grid, and put \
                 Coordinates::at([0.0; {}], {}) before it",
                grid.axes(),
                grid.prefix()
            )));
        }
        let lengths = grid.lengths();
        let (longest, shortest) = (lengths.iter().max(), lengths.iter().min());
        let all = match by {
            Normalization::Separate => None,
            Normalization::Longest => longest.copied(),
            Normalization::Shortest => shortest.copied(),
        };
        Self::per_cell(grid, |number, axis| {
            let length = all.unwrap_or(lengths[axis]);
            2.0 * ((number as f64 + 0.5) / length as f64) - 1.0
        })
    }

    fn per_cell(grid: Grid, number: impl Fn(usize, usize) -> f64) -> Result<Self, PositionError> {
        let axes = grid.axes();
        check_room::<f64>(grid.tokens(), axes)?;
        let token = |token| (0..axes).map(move |axis| (grid.coordinate(token, axis), axis));
        let values = (0..grid.tokens()).flat_map(token);
        Self::checked(axes, values.map(|(at, axis)| number(at, axis)).collect())
    }

    fn checked(axes: usize, values: Vec<f64>) -> Result<Self, PositionError> {
        check_size("the number of axes", axes)?;
        check_times(&values, values.len() / axes, Some(axes))?;
        Ok(Self { axes, values })
    }

    /// These coordinates, each multiplied by a factor of its axis.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] when there is not one factor for each axis, and those of
    /// [`new`](Self::new).
    pub fn scaled(self, factors: &[f64]) -> Result<Self, PositionError> {
        self.map(factors, "the number of factors", |number, factor| {
            number * factor
        })
    }

    /// These coordinates with a number added to each along an axis.
    ///
    /// # Errors
    ///
    /// As [`scaled`](Self::scaled).
    pub fn shifted(self, by: &[f64]) -> Result<Self, PositionError> {
        self.map(by, "the number of shifts", |number, shift| number + shift)
    }

    fn map(
        mut self,
        numbers: &[f64],
        what: &'static str,
        change: impl Fn(f64, f64) -> f64,
    ) -> Result<Self, PositionError> {
        if numbers.len() != self.axes {
            let bound = format!("{}, one for each axis", self.axes);
            return Err(PositionError::number(what, numbers.len(), bound));
        }
        for token in self.values.chunks_exact_mut(self.axes) {
            for (value, number) in token.iter_mut().zip(numbers) {
                *value = change(*value, *number);
            }
        }
        Self::checked(self.axes, self.values)
    }

    /// These tokens and then those of `next`, in one sequence.
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] when they differ in their number of axes.
    pub fn then(mut self, next: &Self) -> Result<Self, PositionError> {
        next.check_axes(self.axes)?;
        self.values.extend_from_slice(&next.values);
        Ok(self)
    }

    /// The number of coordinates of a token.
    pub fn axes(&self) -> usize {
        self.axes
    }

    /// The number of tokens.
    pub fn tokens(&self) -> usize {
        self.values.len() / self.axes
    }

    /// The coordinates, token by token.
    pub fn values(&self) -> &[f64] {
        &self.values
    }

    pub(super) fn check_axes(&self, expected: usize) -> Result<(), PositionError> {
        match self.axes == expected {
            true => Ok(()),
            false => Err(PositionError::Grid {
                needs: axes::coordinates(expected),
                got: axes::coordinates(self.axes),
            }),
        }
    }
}

impl From<Coordinates> for Positions {
    /// Every row of the batch has these coordinates.
    fn from(coordinates: Coordinates) -> Self {
        let (tokens, axes) = (coordinates.tokens(), coordinates.axes);
        Self::of_coordinates(coordinates.values, [1, tokens, axes])
    }
}

/// Random changes to the coordinates of an image, for training: a model then meets more distances than
/// those of its training size. One draw changes all tokens alike. As in DINOv3, which shifts, then
/// scales each axis, then scales all axes together.
///
/// ```
/// use pe_burn::coordinates::{CoordinateJitter, Normalization};
/// use pe_burn::{Coordinates, Grid};
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let jitter = CoordinateJitter { rescale: 2.0, ..CoordinateJitter::NONE }; // as DINOv3 was trained
/// let patches = Coordinates::normalized(Grid::image(14, 14), Normalization::Separate)?;
/// let once = jitter.apply(patches, &mut rng)?;
/// assert!((0.46..=1.86).contains(&once.values()[once.values().len() - 1]));
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct CoordinateJitter {
    /// Each axis is shifted by a number between `-shift` and `shift`. 0: not shifted.
    pub shift: f64,
    /// Each axis is multiplied by a number between `1 / jitter` and `jitter`, even on a logarithmic
    /// scale. 1: not multiplied.
    pub jitter: f64,
    /// All axes are multiplied by the same number between `1 / rescale` and `rescale`. 1: not multiplied.
    pub rescale: f64,
}

impl CoordinateJitter {
    /// No change.
    pub const NONE: Self = Self {
        shift: 0.0,
        jitter: 1.0,
        rescale: 1.0,
    };

    /// Coordinates after one draw.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `shift` that is negative or past the largest position, and for a
    /// `jitter` or `rescale` that is not finite or below 1; [`TimeOutOfRange`](PositionError::TimeOutOfRange)
    /// where a coordinate then is too far from 0.
    pub fn apply(
        &self,
        coordinates: Coordinates,
        rng: &mut impl Rng,
    ) -> Result<Coordinates, PositionError> {
        let fits = (0.0..=MAX_POSITION as f64).contains(&self.shift);
        let bound = "at least 0 and at most the largest position";
        check_number(fits, "shift", self.shift, bound)?;
        for (name, factor) in [("jitter", self.jitter), ("rescale", self.rescale)] {
            let fits = factor.is_finite() && factor >= 1.0;
            check_number(fits, name, factor, "finite and at least 1")?;
        }
        let axes = coordinates.axes();
        let mut within = |bound: f64| rng.random_range(-bound..=bound);
        let shifts: Vec<f64> = (0..axes).map(|_| within(self.shift)).collect();
        let factors: Vec<f64> = (0..axes).map(|_| within(libm::log(self.jitter))).collect();
        let rescale = within(libm::log(self.rescale));
        let factors: Vec<f64> = factors.iter().map(|log| libm::exp(log + rescale)).collect();
        coordinates.shifted(&shifts)?.scaled(&factors)
    }
}

#[cfg(test)]
mod tests {
    use crate::testing::{refusal, refused};

    use super::*;

    use alloc::vec;

    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

    #[test]
    fn the_steps_of_models() {
        let grid = Coordinates::of_grid(Grid::video(1, 2, 3).with_prefix(1)).unwrap();
        let mut expected = vec![0.0; 3];
        for row in 0..2 {
            for column in 0..3 {
                expected.extend([0.0, f64::from(row), f64::from(column)]);
            }
        }
        assert_eq!(grid.values(), expected);
        let centred = Coordinates::of_grid(Grid::image(2, 2)).unwrap();
        let centred = centred
            .shifted(&[-1.0, 2.0])
            .unwrap()
            .scaled(&[1.0, 0.5])
            .unwrap();
        assert_eq!(centred.values(), [-1.0, 1.0, -1.0, 1.5, 0.0, 1.0, 0.0, 1.5]);
        let text = Coordinates::text(7, 2, 2).unwrap();
        let both = text.then(&centred).unwrap();
        assert_eq!(both.tokens(), 6);
        assert_eq!(both.values()[..5], [7.0, 7.0, 8.0, 8.0, -1.0]);
    }

    #[test]
    fn normalized_patches_go_from_minus_1_to_1() {
        let by = |by| {
            let patches = Coordinates::normalized(Grid::image(2, 4), by).unwrap();
            let values = patches.values();
            (values[0], values[1], values[14], values[15])
        };
        assert_eq!(by(Normalization::Separate), (-0.5, -0.75, 0.5, 0.75));
        assert_eq!(by(Normalization::Longest), (-0.75, -0.75, -0.25, 0.75));
        assert_eq!(by(Normalization::Shortest), (-0.5, -0.5, 0.5, 2.5));
        let error =
            Coordinates::normalized(Grid::image(2, 2).with_prefix(1), Normalization::Separate);
        assert!(refusal(error).starts_with("prefix tokens have no normalized"));
        let empty = Coordinates::normalized(Grid::image(0, 2), Normalization::Shortest).unwrap();
        assert_eq!(empty.tokens(), 0);
    }

    #[test]
    fn bad_numbers_are_refused() {
        let places = Coordinates::at([0.0, 0.0], 3);
        refused! {
            |result| result;
            Coordinates::new([[0.0, 1.0], [2.0, f64::NAN]]) =>
                "coordinate NaN of axis 1 at row 0, token 1 is out of range: coordinates go from -4503599627370495 to 4503599627370495",
            places.clone().scaled(&[1.0]) =>
                "the number of factors must be 2, one for each axis; got 1",
            places.clone().then(&Coordinates::at([0.0; 3], 1)) =>
                "this encoding needs coordinates of 2 axes, but got coordinates of 3 axes",
        }
        assert!(Coordinates::new([[]; 3]).is_err());
        assert!(places.shifted(&[f64::INFINITY, 0.0]).is_err());
        let rows = [Coordinates::at([0.0; 2], 3), Coordinates::at([0.0; 2], 4)];
        assert!(matches!(
            Positions::from_coordinate_rows(&rows),
            Err(PositionError::Ragged {
                row: 1,
                expected: 3,
                got: 4
            })
        ));
    }

    const JITTER: CoordinateJitter = CoordinateJitter {
        shift: 0.25,
        jitter: 1.5,
        rescale: 2.0,
    };

    fn grid() -> Coordinates {
        Coordinates::normalized(Grid::image(3, 5), Normalization::Separate).unwrap()
    }

    #[test]
    fn a_draw_changes_all_tokens_alike() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        let (mut ratios, mut lowest, mut highest) = (0, f64::MAX, f64::MIN);
        for _ in 0..200 {
            let drawn = JITTER.apply(grid(), &mut rng).unwrap();
            let (before, after) = (grid(), drawn.values());
            let before = before.values();
            let mut factors = [0.0; 2];
            for axis in 0..2 {
                // The factor and the shift from the first and the last token explain all tokens.
                let last = before.len() - 2 + axis;
                let factor = (after[last] - after[axis]) / (before[last] - before[axis]);
                let shift = after[axis] / factor - before[axis];
                assert!(
                    shift.abs() <= 0.25 + 1e-9 && (1.0 / 3.0 - 1e-9..3.0 + 1e-9).contains(&factor)
                );
                for (x, y) in before.iter().zip(after).skip(axis).step_by(2) {
                    assert!(((x + shift) * factor - y).abs() < 1e-12);
                }
                factors[axis] = factor;
            }
            let ratio = factors[0] / factors[1];
            assert!((1.0 / 2.25 - 1e-9..2.25 + 1e-9).contains(&ratio));
            ratios += usize::from((ratio - 1.0).abs() > 1e-3);
            (lowest, highest) = (lowest.min(factors[0]), highest.max(factors[0]));
        }
        assert!(
            ratios > 190 && lowest < 0.45 && highest > 2.2,
            "{ratios} {lowest} {highest}"
        );
        let same = CoordinateJitter::NONE.apply(grid(), &mut rng).unwrap();
        assert_eq!(same, grid());
    }

    #[test]
    fn numbers_that_draw_nothing_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(7);
        refused! {
            |bad| bad.apply(grid(), &mut rng);
            CoordinateJitter { shift: -1.0, ..JITTER } =>
                "shift must be at least 0 and at most the largest position; got -1",
            CoordinateJitter { jitter: 0.5, ..JITTER } =>
                "jitter must be finite and at least 1; got 0.5",
            CoordinateJitter { rescale: f64::NAN, ..JITTER } =>
                "rescale must be finite and at least 1; got NaN",
        }
    }
}
