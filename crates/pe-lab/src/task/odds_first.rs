//! `odds_first`: the symbols at odd places, then those at even places.

use super::Answer;
use super::floor::partly_fixed_share;
use super::toy::{Toy, in_place};

/// `y = x₁ x₃ x₅ … x₂ x₄ x₆ …`: the symbols at odd places, followed by those at even places.
///
/// Symbols are independent and equally likely, of eight; see [`Toy`] for what all toy tasks share.
/// The answer at place `i` of the first half stands `i − 1` places farther on, so the distance grows with the
/// place, and in the second half it shrinks. That is a question of absolute places: for a scheme of distances
/// each answer is at another distance. In the paper transformers with any of five encodings stay near chance on
/// longer inputs than they were trained on, and only a network with a tape gets beyond. Randomized positions
/// raised their accuracy there (A. Ruoss et al., *Randomized Positional Encodings Boost Length Generalization
/// of Transformers*, ACL 2023).
///
/// In a pilot (seed 101, 2,500 steps) sinusoidal positions answered everything inside the training lengths, 0.57 at
/// length 21 and 0.21 at 80.
///
/// The floor is exact, [`partly_fixed_share`]: the first symbol stays where it is, and the last one too if the
/// length is even; everywhere else the answer is another token.
///
/// Source: "Odds First" of G. Delétang et al., *Neural Networks and the Chomsky Hierarchy*, ICLR 2023, a
/// context-sensitive task, there with two symbols.
#[derive(Clone, Copy, Debug, Default)]
pub struct OddsFirst;

impl Toy for OddsFirst {
    const NAME: &'static str = "odds_first";
    const ABOUT: &'static str =
        "toy: output the symbols at odd places, then those at even places, of 8 symbols";
    const SOURCE: &'static str = "Odds First of Delétang et al. 2023, ICLR";
    const TOKENS: usize = 8;
    const STEPS: usize = 2_000;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let odd = tokens.iter().step_by(2);
        let even = tokens.iter().skip(1).step_by(2);
        in_place(1, odd.chain(even).copied())
    }

    fn floor_at(length: usize) -> f64 {
        let fixed = if length.is_multiple_of(2) { 2.0 } else { 1.0 };
        partly_fixed_share(length, Self::TOKENS, fixed / length as f64)
    }
}
