//! `passkey`: a key hidden at a depth in noise, asked for at the end.

use super::Answer;
use super::floor::expected_mode_share;
use super::toy::{Toy, in_place, uniform};
use crate::rng::{HostRng, RngExt};

/// Different digits, of the key and of the noise.
const DIGITS: usize = 8;

/// The token before the key.
const MARK: usize = DIGITS;

/// The token at which a digit of the key is asked for.
const ASK: usize = DIGITS + 1;

/// The digits of a key.
const KEY: usize = 3;

/// Noise, a mark, a key of three digits, noise, and three times the question: at question `j` predict digit `j`
/// of the key, which stands `j` places after the mark.
///
/// Key and noise are of the same eight digits, independent and equally likely, so only the mark tells where the
/// key is. It is at every place of the `n − 6` that leave room for the key with equal probability. Training
/// lengths are drawn from 8, 12, …, 40, and the test has 20 and 40 inside and 44, 48, 60, 80, 120 and 160
/// beyond. See [`Toy`] for what all toy tasks share. The depth of an answer is the place of the mark, see
/// [`Task::depths`](super::Task::depths).
///
/// A model has to find the mark by its content, however far away it is, and to count from there: the three
/// questions are the same token, so each knows which digit it asks for only from its own place. Mohtashami
/// and Jaggi hide a number of five digits in repeated sentences and ask for it after up to 32,000 tokens, to
/// test memory beyond the training length of a language model. The test is widely used for scaled rotary
/// positions, which find the key within the scaled length. N. F. Liu et al., *Lost in the Middle* (TACL 2024),
/// measured that language models find less of what lies in the middle of their input than of what lies at its
/// ends.
///
/// In a pilot (seed 101, 2,500 steps) rotary positions answered everything inside the training lengths after 1,000
/// steps, and 0.84 at length 80 and 0.45 at 160.
///
/// The floor is exact: without positions the three questions get the same answer, and each digit of the input
/// is equally likely to be the one asked for. The best answer is the most frequent digit
/// ([`expected_mode_share`] of the `n − 4` digits).
///
/// Source: A. Mohtashami and M. Jaggi, *Landmark Attention: Random-Access Infinite Context Length for
/// Transformers*, NeurIPS 2023 (arXiv 2305.16300), the experiment of a hidden pass key.
#[derive(Clone, Copy, Debug, Default)]
pub struct Passkey;

impl Toy for Passkey {
    const NAME: &'static str = "passkey";
    const ABOUT: &'static str =
        "toy: a key of 3 digits is marked among other digits; output it at the end";
    const SOURCE: &'static str = "pass key retrieval of Mohtashami and Jaggi 2023, NeurIPS";
    const TOKENS: usize = DIGITS + 2;
    const CLASSES: usize = DIGITS;
    const FIRST_ANSWER: usize = 0;
    const LENGTH_STEP: usize = 4;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 8..=40;
    const TEST_LENGTHS: &'static [usize] = &[20, 40, 44, 48, 60, 80, 120, 160];
    const STEPS: usize = 1_500;

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let mut tokens = uniform(rng, length, DIGITS);
        tokens[length - KEY..].fill(ASK);
        tokens[rng.random_range(0..places(length))] = MARK;
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let mark = mark(tokens);
        let key = mark.map_or(&[][..], |mark| &tokens[mark + 1..][..KEY]);
        in_place(1 + tokens.len() - KEY, key.iter().copied())
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length.saturating_sub(KEY + 1), DIGITS)
    }

    fn depths_of(tokens: &[usize]) -> Vec<f64> {
        let depth = |mark| (mark as f64 + 0.5) / places(tokens.len()) as f64;
        mark(tokens).map_or(Vec::new(), |mark| vec![depth(mark); KEY])
    }
}

/// The number of places at which the mark can be: key and questions follow it.
fn places(length: usize) -> usize {
    length - 2 * KEY
}

fn mark(tokens: &[usize]) -> Option<usize> {
    tokens.iter().position(|token| *token == MARK)
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Task;
    use super::*;

    #[test]
    fn the_key_is_at_every_depth() {
        let by_hand = [0, MARK, 7, 7, 2, ASK, ASK, ASK];
        assert_eq!(Passkey::depths_of(&by_hand), [0.75; 3]);
        for n in [20, 40, 160] {
            let set = Passkey.test_set(n);
            let depths = set.iter().map(|sample| Passkey.depths(sample)[0]);
            let places: BTreeSet<usize> = depths.map(|d| (d * (n - 6) as f64) as usize).collect();
            // 512 draws of 154 places miss 5 of them on average.
            assert!(places.len() > (n - 6) * 9 / 10, "{n}: {}", places.len());
            assert!(places.contains(&0) || n == 160);
        }
    }
}
