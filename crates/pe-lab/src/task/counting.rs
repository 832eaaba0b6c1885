//! `counting`: the value of a variable that is set to 0 and incremented.

use super::Answer;
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
/// The floor is a tenth, the accuracy of a constant answer. It is not the best accuracy without positions: such a model can
/// know that the value is at most the number of all increments, and has up to 0.49, 0.35 and 0.20 at 16, 24 and 120 operations
/// (the likeliest value for each number of operations of each kind, in 300,000 draws).
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
    const FLOOR_ABOUT: &'static str = "a constant answer";

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

    fn floor_at(_length: usize) -> f64 {
        1.0 / (MOST + 1) as f64
    }
}

#[cfg(test)]
mod tests {
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
}
