//! `prev_occurrence`: output the symbol that followed the previous occurrence of this one.

use super::Answer;
use super::floor::previous_occurrence_share;
use super::toy::{Toy, in_place};

const SYMBOLS: usize = 8;

/// The answer of a symbol that has not occurred before.
const NONE: usize = SYMBOLS;

/// `y_i = x_{j+1}` with `j = max{j < i : x_j = x_i}`: predict the symbol that followed the last
/// earlier occurrence of the own symbol. Where there is none, the answer is a ninth class.
///
/// Symbols are independent and equally likely, of eight; see [`Toy`] for what all toy tasks share.
/// If a symbol follows itself directly (`j = i − 1`), the answer is the same symbol. The task takes two
/// steps: mark every token with the one before it, then find the nearest earlier match. This is what an
/// induction head does, the circuit that was proposed as the mechanism of in-context copying (C. Olsson
/// et al., *In-context Learning and Induction Heads*, Transformer Circuits Thread 2022). "Before" and
/// "nearest" are relative positions: in a pilot of this suite rotary positions worked farthest beyond the
/// training lengths, then T5's, sinusoidal and learned ones.
///
/// The floor is exact, [`previous_occurrence_share`]. It is high at short lengths, because the bag gives a
/// part of the answer: a symbol that occurs once has no earlier occurrence, and of `k` equal symbols one
/// is the first. It is 0.60 at length 10, 0.38 at 20 and 0.17 at 80.
#[derive(Clone, Copy, Debug, Default)]
pub struct PrevOccurrence;

impl Toy for PrevOccurrence {
    const NAME: &'static str = "prev_occurrence";
    const ABOUT: &'static str =
        "toy: output the symbol that followed the previous occurrence of this one, or none";
    const SOURCE: &'static str = "the induction heads of Olsson et al. 2022";
    const TOKENS: usize = SYMBOLS;
    const CLASSES: usize = SYMBOLS + 1;
    const FLOOR_ABOUT: &'static str = "the best answer without positions";

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let mut last_seen = [None; SYMBOLS];
        let classes = tokens.iter().enumerate().map(|(i, &symbol)| {
            let earlier = last_seen[symbol].replace(i);
            earlier.map_or(NONE, |j: usize| tokens[j + 1])
        });
        in_place(1, classes)
    }

    fn floor_at(length: usize) -> f64 {
        previous_occurrence_share(length, SYMBOLS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::toy::testing::{asked, best_blind, blind_rule, digest, follows, mode};
    use super::*;

    fn classes(tokens: &[usize]) -> Vec<usize> {
        let asked = asked::<PrevOccurrence>(tokens);
        assert!(asked.iter().map(|(place, _)| *place).eq(1..=tokens.len()));
        asked.into_iter().map(|(_, class)| class).collect()
    }

    #[test]
    fn symbols_by_hand() {
        assert_eq!(classes(&[3, 1, 4, 5]), [8, 8, 8, 8]);
        assert_eq!(classes(&[3, 1, 3, 1, 3]), [8, 8, 1, 3, 1]);
        // The last earlier occurrence counts, and an immediate repeat is its own answer.
        assert_eq!(classes(&[2, 5, 2, 7, 2, 2, 2]), [8, 8, 5, 8, 7, 2, 2]);
    }

    #[test]
    fn the_streams_are_the_published_ones() {
        assert_eq!(
            digest(&PrevOccurrence),
            "d2a7c3f8e4ea7138c6182006e6eec8775827a80e1307af93363fdf204d11af70"
        );
    }

    #[test]
    fn every_sample_follows_the_definition() {
        follows(&PrevOccurrence, |x| {
            let answer = |i: usize| {
                let j = (0..i).rev().find(|j| x[*j] == x[i]);
                j.map_or(8, |j| x[j + 1])
            };
            (0..x.len()).map(|i| (i + 1, answer(i))).collect()
        });
    }

    #[test]
    fn the_floor_is_the_best_without_positions() {
        for n in [4, 5, 6] {
            let best = best_blind::<PrevOccurrence>(n, |_| true);
            assert!(
                (best - PrevOccurrence.floor(n)).abs() < 1e-12,
                "{n}: {best}"
            );
        }
        for (n, floor) in [(10, 0.60), (20, 0.38), (80, 0.17)] {
            // "None" with probability 1/k against the mode with (k − 1) M / (k n).
            let scored = blind_rule::<PrevOccurrence>(n, |counts, own| {
                let mode = mode(counts);
                if (counts[own] - 1) * counts[mode] > n {
                    mode
                } else {
                    NONE
                }
            });
            assert!(
                (scored - PrevOccurrence.floor(n)).abs() < 0.004,
                "{n}: {scored}"
            );
            assert!((PrevOccurrence.floor(n) - floor).abs() < 0.005, "{n}");
        }
    }
}
