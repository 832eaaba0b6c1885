//! `shift3`: output the symbol three places before.

use super::Answer;
use super::floor::best_other_share;
use super::toy::{Toy, in_place};

const SHIFT: usize = 3;

/// `y_i = x_{i−3}` for `i > 3`: predict the symbol three places before.
///
/// Symbols are independent and equally likely, of eight; see [`Toy`] for what all toy tasks share.
/// The first three places have no answer and are not scored; every sequence has at least four
/// symbols, so at least one is scored. The distance is the same everywhere, and encodings of relative
/// positions express it directly: in a pilot of this suite rotary positions worked farthest beyond the
/// training lengths, then T5's, then sinusoidal and learned ones equally far. Randomized positions, which
/// change distances, did worse.
///
/// The floor is exact, [`best_other_share`]: the answer is any token except a token's own. The bag offers
/// no other shortcut.
///
/// Source: this suite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shift3;

impl Toy for Shift3 {
    const NAME: &'static str = "shift3";
    const ABOUT: &'static str = "toy: output the symbol (one of 8) three places before";
    const SOURCE: &'static str = "made for pe-lab; one fixed distance";
    const TOKENS: usize = 8;
    const STEPS: usize = 600;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let scored = tokens.len().saturating_sub(SHIFT);
        in_place(SHIFT + 1, tokens[..scored].iter().copied())
    }

    fn floor_at(length: usize) -> f64 {
        best_other_share(length, Self::TOKENS)
    }
}
