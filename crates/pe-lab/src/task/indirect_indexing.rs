//! `indirect_indexing`: output the symbol some places beside another one.

use super::Answer;
use super::toy::Toy;
use crate::rng::{HostRng, RngExt, permutation};

/// Different symbols. A string has each at most once.
const SYMBOLS: usize = 16;
/// The farthest that an answer is from the symbol that is named, on either side.
const FAR: usize = 3;
/// The token of the shift −3; those of −2, −1, 1, 2 and 3 follow.
const FIRST_SHIFT: usize = SYMBOLS;

/// A string, then queries, each of which is one of its symbols and a shift of −3 to 3 places: predict the symbol at that
/// distance from the named one. The answers are read at the shifts.
///
/// The length is `n = 4 D`: a string of `2 D` different symbols, of 16, in random order, and `D` queries of two tokens. They name
/// different symbols, and a shift is equally likely any of the six that stays within the string. Training lengths are drawn from 8, 12
/// and 16 (two to four queries), and the test has 12 and 16 inside and 20, 24, 28 and 32 (all 16 symbols) beyond. See [`Toy`] for what
/// all toy tasks share.
///
/// The model has to find a symbol by its content alone, and then another one by its position alone. Gopalakrishnan et al. have it
/// for decoders, with one query: rotary positions, which mix the two, learn it badly, and their PoPE solves it.
///
/// It takes many sequences to learn: with 20,000 steps of 256 at a learning rate of 0.004 (`docs/reproductions/pope.toml`) rotary positions and
/// PoPE have 0.98 to 1.00 at 16 tokens; with the 10,000 steps of 64 at 0.0015 of a study that sets nothing rotary positions have 0.20.
///
/// The floor is a guess among the other symbols of the string, `1 / (2 D − 1)`. Without positions a model can do a little better: which
/// shifts the queries have says something about the places of their symbols. The best rule, found by trying all places, has 0.17 at
/// 16 tokens, where the floor is 0.14.
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

/// The place that the shift `token` leads to from `place`, if it lies within a string of `symbols` symbols.
fn shifted(place: usize, token: usize, symbols: usize) -> Option<usize> {
    let to = place.checked_add_signed(shift(token));
    to.filter(|to| *to < symbols)
}

impl Toy for IndirectIndexing {
    const NAME: &'static str = "indirect_indexing";
    const ABOUT: &'static str = "toy: a string, then pairs of one of its symbols and a shift; output the symbol at that distance from it";
    const SOURCE: &'static str = "Indirect Indexing of Gopalakrishnan et al. 2025";
    const TOKENS: usize = SYMBOLS + 2 * FAR;
    const CLASSES: usize = SYMBOLS;
    const FIRST_ANSWER: usize = 0;
    const LENGTH_STEP: usize = 4;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 8..=16;
    const TEST_LENGTHS: &'static [usize] = &[12, 16, 20, 24, 28, 32];
    const STEPS: usize = 10_000;
    const FLOOR_ABOUT: &'static str = "a guess among the other symbols of the string";

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let symbols = length / 2;
        let mut tokens = permutation(SYMBOLS, rng);
        tokens.truncate(symbols);
        for place in permutation(symbols, rng).into_iter().take(length / 4) {
            let fits = |token: &usize| shifted(place, *token, symbols).is_some();
            let shifts: Vec<usize> = (FIRST_SHIFT..Self::TOKENS).filter(fits).collect();
            tokens.extend([tokens[place], shifts[rng.random_range(0..shifts.len())]]);
        }
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let (string, queries) = tokens.split_at(tokens.len() / 2);
        let answer = |(nth, query): (usize, &[usize])| {
            let place = string.iter().position(|symbol| *symbol == query[0])?;
            let class = string[shifted(place, query[1], string.len())?];
            let position = string.len() + 2 * (nth + 1);
            Some(Answer { position, class })
        };
        let queries = queries.chunks_exact(2).enumerate();
        queries.filter_map(answer).collect()
    }

    fn floor_at(length: usize) -> f64 {
        1.0 / (length / 2).saturating_sub(1).max(1) as f64
    }
}
