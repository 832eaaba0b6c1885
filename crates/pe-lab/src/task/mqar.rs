//! `mqar`: multi-query associative recall. Which value stood beside this key?

use super::Answer;
use super::floor::expected_mode_share;
use super::toy::{Toy, in_place, uniform};
use crate::rng::{HostRng, permutation};

/// Different keys. A sequence has each at most once among its pairs.
const KEYS: usize = 16;

/// Different values. Value `v` is the token `KEYS + v`.
const VALUES: usize = 8;

/// `k₁ v₁ k₂ v₂ … k_D v_D q₁ … q_D`: at every query, which is one of the keys, predict the value that followed
/// the key. Each key is asked for once.
///
/// The `D` keys are different ones of 16, the values are independent and equally likely, of eight, and the
/// queries are the keys in a random order. The length is `n = 3 D`: training lengths are drawn from 6, 9, …,
/// 24 (two to eight pairs), and the test has 15 and 24 inside and 27, 30, 33, 36, 42 and 48 (all 16 keys) beyond. See [`Toy`]
/// for what all toy tasks share. The depth of an answer is the place of its pair among the pairs, see
/// [`Task::depths`](super::Task::depths).
///
/// A model has to join each value to the key before it, by their relative position, and then to find the key
/// by its content. Arora et al. introduce the task for causal models of up to 512 tokens with 8,192 symbols
/// and queries that follow the pairs at random distances; there attention solves it with a width that does
/// not grow with the length, and gated convolutions need a width that does. Here the order of the pairs is
/// the same for every scheme, all queries come at the end, and the model sees both sides.
///
/// The floor is exact: without positions a value could belong to any of the keys, so the best answer is the
/// most frequent value ([`expected_mode_share`] of `D` values).
///
/// Source: S. Arora et al., *Zoology: Measuring and Improving Recall in Efficient Language Models*, ICLR 2024
/// (arXiv 2312.04927), the task "MQAR".
#[derive(Clone, Copy, Debug, Default)]
pub struct Mqar;

impl Toy for Mqar {
    const NAME: &'static str = "mqar";
    const ABOUT: &'static str =
        "toy: pairs of a key and a value, then keys alone; output the value of each key";
    const SOURCE: &'static str = "multi-query associative recall of Arora et al. 2023, ICLR 2024";
    const TOKENS: usize = KEYS + VALUES;
    const CLASSES: usize = VALUES;
    const FIRST_ANSWER: usize = KEYS;
    const LENGTH_STEP: usize = 3;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 6..=24;
    const TEST_LENGTHS: &'static [usize] = &[15, 24, 27, 30, 33, 36, 42, 48];
    const STEPS: usize = 3_500;

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let pairs = length / 3;
        let keys = &permutation(KEYS, rng)[..pairs];
        let values = uniform(rng, pairs, VALUES);
        let beside = keys.iter().zip(&values);
        let beside = beside.flat_map(|(key, value)| [*key, KEYS + value]);
        let queries = permutation(pairs, rng);
        let queries = queries.into_iter().map(|pair| keys[pair]);
        beside.chain(queries).collect()
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let (pairs, queries) = tokens.split_at(tokens.len() / 3 * 2);
        let values = asked_pairs(tokens).map(|pair| pairs[2 * pair + 1] - KEYS);
        debug_assert_eq!(queries.len(), pairs.len() / 2);
        in_place(1 + pairs.len(), values)
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length / 3, VALUES)
    }

    fn depths_of(tokens: &[usize]) -> Vec<f64> {
        let pairs = (tokens.len() / 3) as f64;
        let depth = |pair| (pair as f64 + 0.5) / pairs;
        asked_pairs(tokens).map(depth).collect()
    }
}

/// The pair that each query asks for, counted from 0.
fn asked_pairs(tokens: &[usize]) -> impl Iterator<Item = usize> {
    let (pairs, queries) = tokens.split_at(tokens.len() / 3 * 2);
    queries.iter().filter_map(|query| {
        let mut keys = pairs.iter().step_by(2);
        keys.position(|key| key == query)
    })
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::*;

    #[test]
    fn every_depth_is_asked_for() {
        // Key 5 has the value 2, key 15 the value 7.
        assert_eq!(Mqar::depths_of(&[5, 18, 15, 23, 15, 5]), [0.75, 0.25]);
        for n in Mqar.test_lengths() {
            let pairs = n / 3;
            for sample in Mqar.test_set(n) {
                let mut depths = Mqar.depths(&sample);
                depths.sort_by(f64::total_cmp);
                let every = (0..pairs).map(|pair| (pair as f64 + 0.5) / pairs as f64);
                assert!(depths.iter().copied().eq(every), "{n}: {depths:?}");
            }
        }
    }
}
