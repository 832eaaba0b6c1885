//! Randomized positions.

use alloc::format;
use alloc::vec::Vec;

use rand::Rng;
use rand::seq::index::sample;

use super::Positions;
use crate::backend::memory::check_room;
use crate::error::{PositionError, check_size};

/// Draws the positions of a sequence at random: distinct, in ascending order, and from a much larger
/// range than the sequence is long. Ruoss et al., [*Randomized Positional Encodings Boost Length Generalization of
/// Transformers*](https://arxiv.org/abs/2305.16843), 2023, §3.
///
/// A model that is trained with them has seen all positions of the range, although its sequences were
/// short. They are [`Positions`], so any scheme takes them. Draw anew for every batch, in training and
/// in evaluation; a score should be the mean over several draws.
///
/// ```
/// use pe_burn::RandomizedPositions;
/// use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
///
/// let mut rng = ChaCha8Rng::seed_from_u64(1);
/// let positions = RandomizedPositions::new(2048)?.draw(&[5, 3], 5, &mut rng)?;
/// let rows = positions.to_rows(5)?;
/// assert!(rows[0].is_sorted_by(|a, b| a < b) && rows[0][4] < 2048);
/// assert_eq!(rows[1][3..], [0, 0]); // padding
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RandomizedPositions {
    max_position: usize,
}

impl RandomizedPositions {
    /// Positions from `0..max_position`; the paper calls it L and has 2048.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0, and [`Overflow`](PositionError::Overflow) for more than
    /// [`MAX_POSITION`](crate::MAX_POSITION) + 1.
    pub fn new(max_position: usize) -> Result<Self, PositionError> {
        check_size("max_position", max_position)?;
        Positions::default().lookup(None, max_position)?;
        Ok(Self { max_position })
    }

    /// The number of positions to draw from.
    pub fn max_position(&self) -> usize {
        self.max_position
    }

    /// One draw for each row of a batch: `lengths[row]` distinct positions in ascending order, and
    /// padding (at position 0) up to `seq`. `rng` is any generator of the crate `rand` 0.10, or of another crate for it.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] when a row has more tokens than `seq` or than there are positions, and
    /// [`TooLarge`](PositionError::TooLarge) when the positions do not fit into memory.
    pub fn draw(
        &self,
        lengths: &[usize],
        seq: usize,
        rng: &mut impl Rng,
    ) -> Result<Positions, PositionError> {
        let max = self.max_position.min(seq);
        if let Some(row) = lengths.iter().position(|&length| length > max) {
            let name = format!("the length of row {row}");
            let bound = format!(
                "at most {max}, the smaller of max_position {} and seq {seq}",
                self.max_position
            );
            return Err(PositionError::number(name, lengths[row], bound));
        }
        check_room::<usize>(lengths.len(), seq)?;
        let mut ids = Vec::with_capacity(lengths.len() * seq);
        let mut padding = Vec::with_capacity(ids.capacity());
        for &length in lengths {
            let mut row = sample(rng, self.max_position, length).into_vec();
            row.sort_unstable();
            row.resize(seq, 0);
            ids.extend(row);
            padding.extend((0..seq).map(|token| token >= length));
        }
        let shape = [lengths.len(), seq];
        Ok(Positions::from_checked_ids(ids, shape, Some(padding)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::{assert_says, refusal};

    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};

    use crate::MAX_POSITION;

    #[test]
    fn more_tokens_than_there_are_positions_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let draw = RandomizedPositions::new(8).unwrap();
        let words =
            "the length of row 1 must be at most 8, the smaller of max_position 8 and seq 9; got 9";
        assert_says(&refusal(draw.draw(&[3, 9], 9, &mut rng)), words);
    }

    #[test]
    fn more_positions_than_memory_has_are_refused() {
        let mut rng = ChaCha8Rng::seed_from_u64(1);
        let draw = RandomizedPositions::new(8).unwrap();
        for lengths in [&[5][..], &[1, 1]] {
            let error = draw.draw(lengths, usize::MAX, &mut rng).unwrap_err();
            assert!(matches!(error, PositionError::TooLarge { .. }), "{error}");
        }
    }

    #[test]
    fn a_range_of_no_positions_or_of_more_than_there_are_is_refused() {
        let words = "max_position must be at least 1; got 0";
        assert_says(&refusal(RandomizedPositions::new(0)), words);
        assert!(matches!(
            RandomizedPositions::new(MAX_POSITION + 2),
            Err(PositionError::Overflow { .. })
        ));
        assert!(RandomizedPositions::new(MAX_POSITION + 1).is_ok());
    }
}
