//! `indirect_indexing`: output the symbol some places beside another one.

use super::Answer;
use super::floor::expected_mode_share;
use super::toy::{Toy, in_place};
use crate::rng::{HostRng, RngExt};

const SYMBOLS: usize = 8;
/// The farthest that the answer is from the symbol that is named, on either side.
const FAR: usize = 3;
/// The token of the shift −3; those of −2, −1, 1, 2 and 3 follow.
const FIRST_SHIFT: usize = SYMBOLS;

/// A string, one of its symbols and a shift of −3 to 3 places: predict the symbol at that distance from the named one. One
/// answer, read at the shift.
///
/// The named symbol occurs once in the string; all others are independent and equally likely, of the seven other
/// symbols. The shift is equally likely any of the six, and the named symbol is at any place from which it stays within the
/// string. The length is that of the string and two: training lengths are drawn from 8 to 24, and the test has 16 and 24 inside and
/// 25, 30, 40, 60, 80 and 120 beyond. See [`Toy`] for what all toy tasks share.
///
/// The model has to find a symbol by its content alone, and then another one by its position alone. Gopalakrishnan et al. have it
/// for decoders: rotary positions, which mix the two, learn it badly, and their PoPE solves it.
///
/// The floor is that of a model that knows which symbol is named and no positions: the answer is then any of the `n − 3`
/// other symbols ([`expected_mode_share`] of seven).
///
/// No scheme was seen to learn it here, inside the training lengths either: after 2,500 steps (seed 1, accuracy at 16 and 24 tokens) `t5`
/// has 0.26 and 0.27, `cope` 0.29 and 0.28; after 8,000 steps `t5` has 0.30 and 0.30, after 6,000 `rotary` 0.27 and 0.29. The
/// floors are 0.30 and 0.26, and the losses still fell.
///
/// Source: A. Gopalakrishnan et al., *Decoupling the "What" and "Where" With Polar Coordinate Positional Embeddings*, 2025
/// (arXiv 2509.10534), the task "Indirect Indexing".
#[derive(Clone, Copy, Debug, Default)]
pub struct IndirectIndexing;

/// The shift of a token.
fn shift(token: usize) -> isize {
    let nth = token as isize - FIRST_SHIFT as isize - FAR as isize;
    nth + isize::from(nth >= 0)
}

impl Toy for IndirectIndexing {
    const NAME: &'static str = "indirect_indexing";
    const ABOUT: &'static str = "toy: a string, one of its symbols and a shift; output the symbol (of 8) at that distance from it";
    const SOURCE: &'static str = "Indirect Indexing of Gopalakrishnan et al. 2025";
    const TOKENS: usize = SYMBOLS + 2 * FAR;
    const CLASSES: usize = SYMBOLS;
    const FIRST_ANSWER: usize = 0;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 8..=24;
    const TEST_LENGTHS: &'static [usize] = &[16, 24, 25, 30, 40, 60, 80, 120];
    const STEPS: usize = 2_500;

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let string = length - 2;
        let named = rng.random_range(0..SYMBOLS);
        let other = |rng: &mut HostRng| (named + rng.random_range(1..SYMBOLS)) % SYMBOLS;
        let mut tokens: Vec<usize> = (0..string).map(|_| other(rng)).collect();
        let token = FIRST_SHIFT + rng.random_range(0..2 * FAR);
        let (left, right) = match shift(token) {
            left if left < 0 => (left.unsigned_abs(), 0),
            right => (0, right.unsigned_abs()),
        };
        tokens[rng.random_range(left..string - right)] = named;
        tokens.extend([named, token]);
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let [string @ .., named, token] = tokens else {
            return Vec::new();
        };
        let place = string.iter().position(|symbol| symbol == named);
        let target = place.and_then(|place| place.checked_add_signed(shift(*token)));
        let answer = target.and_then(|target| string.get(target));
        in_place(tokens.len(), answer.copied())
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length.saturating_sub(3).max(1), SYMBOLS - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::toy::testing::{blind_rule, mode};
    use super::*;

    /// The named symbol is the one that a model may know; a rule without it scores no more.
    #[test]
    fn the_floor_is_what_the_most_frequent_other_symbol_scores_on_long_strings() {
        for n in [24, 60, 120] {
            let most_frequent = |counts: &[usize], _| mode(&counts[..SYMBOLS]);
            let scored = blind_rule::<IndirectIndexing>(n, most_frequent);
            let floor = IndirectIndexing.floor(n);
            assert!(
                scored < floor + 0.02 && scored > floor - 0.03,
                "{n}: {scored}, {floor}"
            );
        }
    }
}
