//! `posmod4`: output the position, modulo 4.

use super::Answer;
use super::toy::{Toy, in_place};

const PERIOD: usize = 4;

/// `y_i = (i − 1) mod 4`: at position `i`, predict the position counted from 0, modulo 4.
///
/// Symbols are independent and equally likely, of eight, and carry no information; see [`Toy`] for what
/// all toy tasks share. The position is the whole answer, so this is the simplest test of whether it
/// reaches the output at all. In a pilot of this suite every encoding solved it inside the training
/// lengths (those of relative positions measure from BOS). Scores beyond show how an encoding continues.
///
/// The floor is exact: without positions all tokens of one symbol look the same, so the best answer is the
/// most frequent class. That is 0, at `⌈n/4⌉` of `n` positions: a quarter if 4 divides `n`, 0.3 at
/// length 10, 0.286 at 21.
///
/// Source: this suite.
#[derive(Clone, Copy, Debug, Default)]
pub struct PosMod4;

impl Toy for PosMod4 {
    const NAME: &'static str = "posmod4";
    const ABOUT: &'static str = "toy: output the position of each token modulo 4";
    const SOURCE: &'static str = "made for pe-lab; position is the whole answer";
    const TOKENS: usize = 8;
    const CLASSES: usize = PERIOD;
    const STEPS: usize = 600;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        in_place(1, (0..tokens.len()).map(|i| i % PERIOD))
    }

    fn floor_at(length: usize) -> f64 {
        length.div_ceil(PERIOD) as f64 / length.max(1) as f64
    }
}
