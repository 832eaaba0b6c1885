//! Randomized positions.

use alloc::vec::Vec;

use rand::Rng;
use rand::seq::index::sample;

use crate::error::{PositionError, expect};
use crate::positions::Positions;

/// Draws the positions of a sequence at random, in order and none twice, from many more than it has
/// tokens: Ruoss et al., [*Randomized Positional Encodings Boost Length Generalization of
/// Transformers*](https://arxiv.org/abs/2305.16843), 2023, §3.
///
/// A model that is trained so has seen all positions up to the largest, in the right order and at
/// all distances, although its sequences were short. It is a source of [`Positions`], so any scheme
/// can use it. Draw anew for every batch, in training and afterwards; a score should be the mean over
/// several draws.
///
/// ```
/// use pe_burn::RandomizedPositions;
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let positions = RandomizedPositions::new(2048).draw(&[5, 3], 5, &mut rng);
/// let rows = positions.to_rows(5);
/// assert!(rows[0].is_sorted_by(|a, b| a < b) && rows[0][4] < 2048);
/// assert_eq!(rows[1][3..], [0, 0]); // padding
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomizedPositions {
    max_position: usize,
}

impl RandomizedPositions {
    /// Positions from `0..max_position`, which the paper calls L; 2048 there.
    ///
    /// # Panics
    ///
    /// Where [`try_new`](Self::try_new) returns an error.
    pub fn new(max_position: usize) -> Self {
        expect(Self::try_new(max_position))
    }

    /// As [`new`](Self::new).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroMaxPosition`] for none, and
    /// [`Overflow`](PositionError::Overflow) for more than [`MAX_POSITION`](crate::MAX_POSITION) + 1.
    pub fn try_new(max_position: usize) -> Result<Self, PositionError> {
        if max_position == 0 {
            return Err(PositionError::ZeroMaxPosition);
        }
        Positions::default().check(None, max_position)?;
        Ok(Self { max_position })
    }

    /// The number of positions to draw from.
    pub fn max_position(&self) -> usize {
        self.max_position
    }

    /// One draw for each row of a batch: `lengths[row]` positions, sorted and distinct, and 0 for
    /// the padding behind them.
    ///
    /// # Panics
    ///
    /// Where [`try_draw`](Self::try_draw) returns an error.
    pub fn draw(&self, lengths: &[usize], seq: usize, rng: &mut impl Rng) -> Positions {
        expect(self.try_draw(lengths, seq, rng))
    }

    /// As [`draw`](Self::draw).
    ///
    /// # Errors
    ///
    /// [`PositionError::Draw`] when a row has more tokens than there are positions or than `seq`.
    pub fn try_draw(
        &self,
        lengths: &[usize],
        seq: usize,
        rng: &mut impl Rng,
    ) -> Result<Positions, PositionError> {
        let max = self.max_position.min(seq);
        if let Some(row) = lengths.iter().position(|&length| length > max) {
            return Err(PositionError::Draw {
                row,
                length: lengths[row],
                max_position: self.max_position,
                seq,
            });
        }
        let mut ids = Vec::with_capacity(lengths.len() * seq);
        for &length in lengths {
            let mut row = sample(rng, self.max_position, length).into_vec();
            row.sort_unstable();
            row.resize(seq, 0);
            ids.extend(row);
        }
        Ok(Positions::of_rows(ids, [lengths.len(), seq]))
    }
}
