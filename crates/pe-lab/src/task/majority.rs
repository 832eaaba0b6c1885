//! `majority`: which of two symbols occurs more often? The control that needs no positions.

use super::Answer;
use super::toy::{Toy, at_bos, uniform};
use crate::rng::HostRng;

/// `y = 1` if there are more ones than zeros, else 0; one answer per sequence, read at BOS.
///
/// Symbols are independent and equally likely, of two, given that there is no tie: a sequence of
/// even length with as many ones as zeros is drawn again. Both answers are equally likely. See
/// [`Toy`] for what all toy tasks share.
///
/// This is the control: the bag alone determines the answer, and one layer of uniform attention measures
/// the share of ones (L. Strobl et al., *What Formal Languages Can Transformers Express? A Survey*, TACL
/// 2024, on majority and averaging attention). In a pilot of this suite a model without positions reached
/// 1.0 at every length. Positions can only hurt: the sinusoidal encoding degrades beyond the training
/// lengths. A scheme that wins here does not win because it sees order.
///
/// The floor is one half, the accuracy of a constant answer. The best accuracy without positions is 1.0,
/// and with that as a floor there would be nothing left to measure.
///
/// Source: a standard language of the theory of transformers.
#[derive(Clone, Copy, Debug, Default)]
pub struct Majority;

fn ones(tokens: &[usize]) -> usize {
    tokens.iter().sum()
}

impl Toy for Majority {
    const NAME: &'static str = "majority";
    const ABOUT: &'static str =
        "toy: decide whether there are more ones than zeros; a control that needs no positions";
    const SOURCE: &'static str = "see the survey of Strobl et al. 2024, TACL";
    const TOKENS: usize = 2;
    const FLOOR_ABOUT: &'static str = "a constant answer";
    const STEPS: usize = 600;

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        loop {
            let tokens = uniform(rng, length, Self::TOKENS);
            if 2 * ones(&tokens) != length {
                return tokens;
            }
        }
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        at_bos(usize::from(2 * ones(tokens) > tokens.len()))
    }

    fn floor_at(_length: usize) -> f64 {
        0.5
    }
}

#[cfg(test)]
mod tests {
    use super::super::toy::testing::{best_blind, blind_rule, mode};
    use super::*;
    use crate::rng::generator;

    #[test]
    fn without_ties_every_count_of_ones_keeps_its_share() {
        // Of the 16 sequences of four bits 10 have no tie: 1, 4, 4, 1 with 0, 1, 3, 4 ones.
        let mut rng = generator("majority", 1, 0);
        let mut counts = [0; 5];
        for _ in 0..10_000 {
            counts[ones(&Majority::draw(&mut rng, 4))] += 1;
        }
        for (count, expected) in counts.into_iter().zip([1000_usize, 4000, 0, 4000, 1000]) {
            assert!(expected.abs_diff(count) < 250, "{counts:?}");
        }
        assert_eq!(counts[2], 0);
    }

    #[test]
    fn the_bag_alone_is_enough() {
        for n in [4, 7] {
            assert_eq!(best_blind::<Majority>(n, |x| 2 * ones(x) != n), 1.0);
        }
        assert_eq!(blind_rule::<Majority>(80, |counts, _| mode(counts)), 1.0);
    }
}
