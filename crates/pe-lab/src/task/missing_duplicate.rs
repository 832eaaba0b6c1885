//! `missing_duplicate`: a sequence is given twice, with one symbol masked.

use super::Answer;
use super::toy::{Toy, uniform};
use crate::rng::{HostRng, RngExt};

const SYMBOLS: usize = 2;

/// The token that stands for the masked symbol.
const MASK: usize = SYMBOLS;

/// `x = w‖w` with `x_m` masked: predict it, which is `x_{m ± n/2}`. One answer, read at the mask.
///
/// `w` is `n/2` independent, equally likely symbols, of two, and the mask is at any of the `n` positions
/// with equal probability, so both answers are equally likely. The mask is a third input
/// token. `n` is even: training lengths are drawn from 4, 6, …, 20, and the test has 12 and 20
/// inside and 24, 28, 32, 40, 60 and 80 beyond. See [`Toy`] for what all toy tasks share.
///
/// The model has to look half a sequence away, a distance that grows with the length. In a pilot of
/// this suite a model without positions stayed near 0.5. Randomized positions were proposed on this
/// task among others (A. Ruoss et al., *Randomized Positional Encodings Boost Length Generalization
/// of Transformers*, ACL 2023).
///
/// The floor is one half, the accuracy of a constant answer. It is not the best accuracy without
/// positions: `w‖w` has every symbol an even number of times, so the masked symbol is the one that occurs
/// an odd number of times, and a model that counts modulo 2 is always right. Attention is known to be bad
/// at parity, and worse for longer sequences (M. Hahn, *Theoretical Limitations of Self-Attention in
/// Neural Sequence Models*, TACL 2020). If the scheme `none` scores above one half, it uses this shortcut,
/// and the other schemes can use it too.
///
/// A simpler shortcut needs no parity: answer with the symbol that occurs more often. The other `n/2 − 1`
/// pairs cancel out with probability `P`; then the partner of the mask decides. So this rule is right
/// with probability `1/2 + P/2`. `P` is 0 if `n/2` is even, but at length 10 the rule scores 0.69.
/// Therefore every tested length is a multiple of four.
///
/// Source: "Missing Duplicate" of G. Delétang et al., *Neural Networks and the Chomsky Hierarchy*,
/// ICLR 2023, which pads odd lengths.
#[derive(Clone, Copy, Debug, Default)]
pub struct MissingDuplicate;

impl Toy for MissingDuplicate {
    const NAME: &'static str = "missing_duplicate";
    const ABOUT: &'static str =
        "toy: bits are given twice with one of them masked; output the masked one";
    const SOURCE: &'static str = "Missing Duplicate of Delétang et al. 2023, ICLR";
    const TOKENS: usize = SYMBOLS + 1;
    const CLASSES: usize = SYMBOLS;
    const FIRST_ANSWER: usize = 0;
    const LENGTH_STEP: usize = 2;
    /// Multiples of four: at these the more frequent symbol says nothing about the answer.
    const TEST_LENGTHS: &'static [usize] = &[12, 20, 24, 28, 32, 40, 60, 80];
    const FLOOR_ABOUT: &'static str = "a constant answer";

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let mut tokens = uniform(rng, length / 2, SYMBOLS).repeat(2);
        let masked = rng.random_range(0..tokens.len());
        tokens[masked] = MASK;
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let half = tokens.len() / 2;
        let masked = tokens.iter().position(|token| *token == MASK);
        let answer = masked.map(|m| Answer {
            position: m + 1,
            class: tokens[(m + half) % tokens.len()],
        });
        answer.into_iter().collect()
    }

    fn floor_at(_length: usize) -> f64 {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeSet;

    use super::super::Task;
    use super::super::toy::testing::{best_blind, blind_rule};
    use super::*;

    #[test]
    fn every_place_is_masked() {
        for n in [12, 20] {
            let set = MissingDuplicate.test_set(n);
            let places: BTreeSet<usize> = set.iter().map(|s| s.answers[0].position).collect();
            assert_eq!(places, (1..=n).collect());
        }
    }

    #[test]
    fn the_parity_of_the_bag_gives_the_answer_away() {
        // A word said twice, but for one mask.
        let possible = |x: &[usize]| {
            let (first, second) = x.split_at(x.len() / 2);
            let differ = first.iter().zip(second).filter(|(a, b)| a != b);
            let masks = x.iter().filter(|token| **token == MASK);
            (differ.count(), masks.count()) == (1, 1)
        };
        for n in [4, 8] {
            assert_eq!(best_blind::<MissingDuplicate>(n, possible), 1.0);
        }
        let odd = blind_rule::<MissingDuplicate>(80, |counts, _| counts[1] % 2);
        assert_eq!(odd, 1.0);
    }

    #[test]
    fn the_symbol_seen_more_often_says_nothing_at_the_tested_lengths() {
        let more_often =
            |n| blind_rule::<MissingDuplicate>(n, |counts, _| usize::from(counts[1] > counts[0]));
        for n in MissingDuplicate.test_lengths() {
            // Five standard deviations of 10,000 fair coins.
            assert!((more_often(n) - 0.5).abs() < 0.025, "{n}");
        }
        // Four other pairs cancel out in 6 of 16 cases.
        assert!((more_often(10) - (0.5 + 6.0 / 32.0)).abs() < 0.025);
    }
}
