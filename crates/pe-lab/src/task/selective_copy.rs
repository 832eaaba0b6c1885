//! `selective_copy`: output the symbols among blanks, in their order.

use super::floor::expected_mode_share;
use super::toy::{Toy, in_place, sample, uniform};
use super::{Answer, Prompted};
use crate::rng::{HostRng, permutation};

const SYMBOLS: usize = 8;
const BLANK: usize = SYMBOLS;
/// The token at which a symbol is read.
const ASK: usize = SYMBOLS + 1;

/// `k` symbols among `k` blanks, and `k` questions: at question `j` predict the `j`-th symbol.
///
/// Symbols are independent and equally likely, of eight, at places drawn anew for each sequence. The length is `n = 3 k`:
/// training lengths are drawn from 6, 9, …, 24 (two to eight symbols), and the test has 15 and 24 inside and 27, 30, 36, 48, 60
/// and 72 beyond. A decoder reads symbols and blanks, without the questions, and writes the symbols. See [`Toy`] for what all toy
/// tasks share.
///
/// Which symbol is the `j`-th depends on how many blanks are before it, so neither its place nor its distance tells. Golovneva
/// et al. train decoders with 128 symbols among 128 blanks, and test with more and with fewer blanks; there contextual
/// positions (CoPE) solve the task and absolute and rotary ones do not.
///
/// The floor is exact: without positions the questions are all the same, and the answer is any of the `k` symbols
/// ([`expected_mode_share`]).
///
/// Seen here after 2,500 steps (seed 1, accuracy at 15, 24 and 36 symbols): `t5` 1.00, 0.94 and 0.35; `cope` 0.93, 0.82 and 0.21.
///
/// Source: A. Gu and T. Dao, *Mamba: Linear-Time Sequence Modeling with Selective State Spaces*, 2023 (arXiv 2312.00752), and O.
/// Golovneva et al., *Contextual Position Encoding: Learning to Count What's Important*, 2024 (arXiv 2405.18719).
#[derive(Clone, Copy, Debug, Default)]
pub struct SelectiveCopy;

impl Toy for SelectiveCopy {
    const NAME: &'static str = "selective_copy";
    const ABOUT: &'static str = "toy: output the symbols (of 8) that stand among blanks";
    const SOURCE: &'static str = "selective copying of Golovneva et al. 2024; Gu and Dao 2023";
    const TOKENS: usize = SYMBOLS + 2;
    const CLASSES: usize = SYMBOLS;
    const FIRST_ANSWER: usize = 0;
    const LENGTH_STEP: usize = 3;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 6..=24;
    const TEST_LENGTHS: &'static [usize] = &[15, 24, 27, 30, 36, 48, 60, 72];
    const STEPS: usize = 2_500;
    const PROMPTED_ABOUT: &'static str = "the symbols after the input";

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let count = length / 3;
        let mut tokens = vec![BLANK; length];
        let places = permutation(2 * count, rng);
        for (place, symbol) in places.iter().zip(uniform(rng, count, SYMBOLS)) {
            tokens[*place] = symbol;
        }
        tokens[2 * count..].fill(ASK);
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let first = tokens.len() / 3 * 2 + 1;
        in_place(
            first,
            tokens.iter().copied().filter(|token| *token < SYMBOLS),
        )
    }

    fn prompted_of(tokens: &[usize]) -> Prompted {
        let read = &tokens[..tokens.len() / 3 * 2];
        Prompted {
            prompt: sample::<Self>(read).input.tokens().to_vec(),
            answer: read
                .iter()
                .copied()
                .filter(|token| *token < SYMBOLS)
                .collect(),
        }
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length / 3, SYMBOLS)
    }
}
