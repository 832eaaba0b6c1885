//! `reverse`: say a sequence back to front.

use std::ops::RangeInclusive;

use super::floor::expected_mode_share;
use super::{Answer, Readout, Sample, Task};
use crate::rng::{HostRng, RngExt, generator};

const SYMBOLS: usize = 8;
const BOS: usize = SYMBOLS;
const EOS: usize = SYMBOLS + 1;
const TEST_SAMPLES: usize = 512;

/// `y_i = x_{n+1−i}`: at position `i` of a sequence of `n` symbols, predict the symbol at the
/// mirrored position.
///
/// Symbols are drawn independently and evenly from eight. The input is BOS, the symbols, EOS, and
/// only the `n` symbols are scored: BOS and EOS give an encoding that sees distances alone an end
/// to measure from. Training lengths are even over 4..=20, one length per batch; test lengths 10
/// and 20 lie inside, 21 to 80 beyond.
///
/// A model without positions sees a bag of symbols, so its best answer is the bag's mode: see
/// [`expected_mode_share`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Reverse;

fn sample(symbols: &[usize]) -> Sample {
    let mut tokens = vec![BOS];
    tokens.extend_from_slice(symbols);
    tokens.push(EOS);
    let answers = symbols
        .iter()
        .rev()
        .enumerate()
        .map(|(i, &class)| Answer {
            position: i + 1,
            class,
        })
        .collect();
    Sample { tokens, answers }
}

fn draw(rng: &mut HostRng, length: usize, count: usize) -> Vec<Sample> {
    (0..count)
        .map(|_| {
            let symbols: Vec<usize> = (0..length).map(|_| rng.random_range(0..SYMBOLS)).collect();
            sample(&symbols)
        })
        .collect()
}

impl Task for Reverse {
    fn name(&self) -> &str {
        "reverse"
    }

    fn about(&self) -> &str {
        "toy: say a sequence of 8 symbols back to front"
    }

    fn source(&self) -> &str {
        "generated; lengths 4 to 20 in training, up to 80 in the test"
    }

    fn vocabulary(&self) -> usize {
        SYMBOLS + 2
    }

    fn classes(&self) -> usize {
        SYMBOLS
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        4..=20
    }

    fn test_lengths(&self) -> Vec<usize> {
        vec![10, 20, 21, 25, 30, 40, 60, 80]
    }

    fn framing(&self) -> usize {
        2
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator("reverse/train", seed, step as u64);
        let length = rng.random_range(self.train_lengths());
        draw(&mut rng, length, size)
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        draw(
            &mut generator("reverse/test", 0, length as u64),
            length,
            TEST_SAMPLES,
        )
    }

    fn floor(&self, length: usize) -> f64 {
        expected_mode_share(length, SYMBOLS)
    }

    fn floor_about(&self) -> &str {
        "the best answer without positions"
    }

    fn steps(&self) -> usize {
        1_500
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn four_symbols_by_hand() {
        let made = sample(&[3, 1, 4, 0]);
        assert_eq!(made.tokens, [BOS, 3, 1, 4, 0, EOS]);
        let read: Vec<_> = made.answers.iter().map(|a| (a.position, a.class)).collect();
        assert_eq!(read, [(1, 0), (2, 4), (3, 1), (4, 3)]);
    }

    #[test]
    fn training_covers_every_length_and_every_symbol() {
        let mut lengths = std::collections::BTreeSet::new();
        let mut symbols = std::collections::BTreeSet::new();
        for step in 0..300 {
            let batch = Reverse.train_batch(1, step, 2);
            lengths.insert(batch[0].answers.len());
            symbols.extend(batch[0].answers.iter().map(|answer| answer.class));
        }
        assert_eq!(lengths, (4..=20).collect());
        assert_eq!(symbols, (0..SYMBOLS).collect());
    }

    #[test]
    fn a_test_set_has_512_sequences_and_the_floor_of_its_bags() {
        for length in Reverse.test_lengths() {
            let set = Reverse.test_set(length);
            assert_eq!(set.len(), 512);
            let modes: usize = set
                .iter()
                .map(|sample| {
                    let count = |s| sample.answers.iter().filter(|a| a.class == s).count();
                    (0..SYMBOLS).map(count).max().unwrap_or(0)
                })
                .sum();
            let measured = modes as f64 / (512 * length) as f64;
            assert!(
                (measured - Reverse.floor(length)).abs() < 0.01,
                "{length}: {measured}"
            );
        }
    }
}
