//! `counting`: the value of a variable that is set to 0 and incremented.

use super::Answer;
use super::floor::binomial;
use super::toy::{Toy, at_bos, uniform};
use crate::rng::{HostRng, RngExt, permutation};

const SET: usize = 0;
const INCREMENT: usize = 1;
const PASS: usize = 2;
const OPERATIONS: usize = 3;
/// The highest value.
const MOST: usize = 9;

/// Operations `set to 0`, `increment` and `pass` on one variable: what is its value at the end? One answer per sequence, read
/// at BOS: the number of increments after the last `set`.
///
/// The last `set` is at any place that leaves room for nine increments, with equal probability. After it the value is drawn from 0
/// to 9 with equal probability, and its increments are at random places among passes; before it all three operations are
/// equally likely. Training lengths are drawn from 12 to 24, and the test has 16 and 24 inside and 25, 30, 40, 60, 80 and 120
/// beyond. See [`Toy`] for what all toy tasks share.
///
/// The model has to count one token, and only after the last of another. Golovneva et al. have it for decoders with up to
/// five variables, of which one is asked for; there contextual positions (CoPE) make far fewer errors than absolute and
/// relative ones, on longer inputs too.
///
/// The floor is exact. Without positions a model knows how many operations of each kind there are, and answers with the likeliest
/// value: 0.49, 0.35 and 0.19 at 16, 24 and 120 operations. A constant answer has a tenth.
///
/// Seen here after 2,500 steps (seed 1, accuracy at 16, 24, 30 and 60 operations): `cope` 1.00, 1.00, 0.97 and 0.53; `t5` 1.00, 0.94,
/// 0.34 and 0.13.
///
/// Source: O. Golovneva et al., *Contextual Position Encoding: Learning to Count What's Important*, 2024 (arXiv 2405.18719), the
/// counting task, here with one variable.
#[derive(Clone, Copy, Debug, Default)]
pub struct Counting;

impl Toy for Counting {
    const NAME: &'static str = "counting";
    const ABOUT: &'static str = "toy: count the increments after the last reset";
    const SOURCE: &'static str = "the counting task of Golovneva et al. 2024";
    const TOKENS: usize = OPERATIONS;
    const CLASSES: usize = MOST + 1;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 12..=24;
    const TEST_LENGTHS: &'static [usize] = &[16, 24, 25, 30, 40, 60, 80, 120];
    const STEPS: usize = 2_500;

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let mut tokens = uniform(rng, length, OPERATIONS);
        let last = rng.random_range(0..length - MOST);
        tokens[last] = SET;
        let after = &mut tokens[last + 1..];
        after.fill(PASS);
        let value = rng.random_range(0..=MOST);
        for place in permutation(after.len(), rng).into_iter().take(value) {
            after[place] = INCREMENT;
        }
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let after = tokens.rsplit(|token| *token == SET).next();
        let increments = after
            .unwrap_or(&[])
            .iter()
            .filter(|token| **token == INCREMENT);
        at_bos(increments.count())
    }

    /// Of `s + 1` sets and `i` increments the value is `v` if `s` sets and `i − v` increments are before the last set. The places of
    /// the last set and the values are equally likely, so the floor is the sum over `s` and `i` of the likeliest `v`'s probability.
    fn floor_at(length: usize) -> f64 {
        let places = length.saturating_sub(MOST);
        let (sets, increments) = (binomial(places, 1.0 / 3.0), binomial(places, 0.5));
        // How likely `s` sets and `i` increments are before the last set, times the number of its places.
        let before = |s: usize, i: usize| -> f64 {
            let operations = s + i..places;
            operations.map(|n| sets[n][s] * increments[n - s][i]).sum()
        };
        let mut right = 0.0;
        for s in 0..places {
            let before: Vec<f64> = (0..places - s).map(|i| before(s, i)).collect();
            // Up to ten of them in a row end in the same number of increments.
            for most in 0..before.len() + MOST {
                let likely = &before[most.saturating_sub(MOST)..before.len().min(most + 1)];
                right += likely.iter().copied().fold(0.0, f64::max);
            }
        }
        right / (places * (MOST + 1)) as f64
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::super::Task;
    use super::super::toy::testing::asked;
    use super::*;

    #[test]
    fn every_value_is_as_likely() {
        for n in [16, 120] {
            let mut counts = [0_usize; 10];
            for step in 0..400 {
                let mut rng = crate::rng::generator("values", 1, step);
                counts[asked::<Counting>(&Counting::draw(&mut rng, n))[0].1] += 1;
            }
            // Five standard deviations of 400 draws with a tenth each.
            assert!(
                counts.iter().all(|count| count.abs_diff(40) < 30),
                "{counts:?}"
            );
        }
    }

    /// Every string before the last set, with its probability, and every value.
    #[test]
    fn the_floor_is_the_likeliest_value_of_every_bag() {
        for n in [12, 14, 17] {
            let places = n - MOST;
            let mut bags: BTreeMap<(usize, usize), [f64; MOST + 1]> = BTreeMap::new();
            for last in 0..places {
                let strings = OPERATIONS.pow(last as u32);
                for string in 0..strings {
                    let before =
                        (0..last).map(|place| string / OPERATIONS.pow(place as u32) % OPERATIONS);
                    let [sets, increments] =
                        [SET, INCREMENT].map(|of| before.clone().filter(|it| *it == of).count());
                    for value in 0..=MOST {
                        let share = 1.0 / (places * strings * (MOST + 1)) as f64;
                        bags.entry((sets, increments + value)).or_default()[value] += share;
                    }
                }
            }
            let best = |shares: &[f64; MOST + 1]| shares.iter().copied().fold(0.0, f64::max);
            let right: f64 = bags.values().map(best).sum();
            assert!((Counting.floor(n) - right).abs() < 1e-12, "{n}: {right}");
        }
    }
}
