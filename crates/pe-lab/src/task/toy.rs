//! What the generated tasks share: tokens, lengths, random streams and test sets.

use std::ops::RangeInclusive;

use super::{Answer, Prompted, Readout, Sample, Task};
use crate::rng::{HostRng, RngExt, generator};

/// Sequences in the test set of one length.
pub(super) const TEST_SAMPLES: usize = 512;

/// A generated task. It defines what is special about the task; everything else of [`Task`] follows.
///
/// The input is BOS, `n` tokens, EOS. BOS and EOS are the two tokens after the task's own and are never
/// asked about. They give an encoding that only sees distances an end to measure from.
///
/// Every training batch has one length, drawn with equal probability, from 4..=20 unless the task says
/// otherwise. The test has 512 fixed sequences per length: unless the task says otherwise, 10 and 20 inside the
/// training lengths, and 21, 25, 30, 40, 60 and 80 beyond. Batch `step` of seed `s` is drawn from the stream `NAME/train` at
/// `(s, step)`, the test set of length `n` from `NAME/test` at `(0, n)`. Neither depends on the scheme or
/// on other tasks.
pub trait Toy: Send + Sync + Sized {
    /// The name on the command line and in files. It has at most 18 bytes, because the name of a random
    /// stream is limited (see [`generator`]).
    const NAME: &'static str;

    /// One line that says what is to be predicted from what.
    const ABOUT: &'static str;

    /// Where the task comes from.
    const SOURCE: &'static str;

    /// The number of different tokens between BOS and EOS.
    const TOKENS: usize;

    /// The number of different answers: any of the tokens, unless the task says otherwise.
    const CLASSES: usize = Self::TOKENS;

    /// Every length is a multiple of this.
    const LENGTH_STEP: usize = 1;

    /// The lengths seen in training.
    const TRAIN_LENGTHS: RangeInclusive<usize> = 4..=20;

    /// The tested lengths, shortest first.
    const TEST_LENGTHS: &'static [usize] = &[10, 20, 21, 25, 30, 40, 60, 80];

    /// The number of training steps of a study that does not set it.
    const STEPS: usize = 1_500;

    /// What the floor is, in a few words. A task whose floor is another one says so.
    const FLOOR_ABOUT: &'static str = "the best answer without positions";

    /// The `length` tokens of one sequence: independent and equally likely, unless the task says
    /// otherwise.
    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        uniform(rng, length, Self::TOKENS)
    }

    /// The definition of the task: the answers for these tokens, which are without BOS and EOS.
    ///
    /// The first token is at position 1, as in the formulas. Position 0 is BOS.
    fn answers(tokens: &[usize]) -> Vec<Answer>;

    /// The accuracy at this length that takes no skill.
    fn floor_at(length: usize) -> f64;

    /// The token that a decoder reads for an answer of class 0; class `c` is `c` tokens after it. If there are as many
    /// classes as tokens, answers are the task's own tokens, and otherwise tokens after BOS and EOS.
    const FIRST_ANSWER: usize = match Self::CLASSES == Self::TOKENS {
        true => 0,
        false => Self::TOKENS + 2,
    };

    /// What [`prompted_of`](Self::prompted_of) makes of a sequence, in a few words.
    const PROMPTED_ABOUT: &'static str = "the answers in a row after the input";

    /// What a decoder reads and writes (see [`Task::prompted`]): BOS, these tokens and EOS, and then the answers in their order.
    fn prompted_of(tokens: &[usize]) -> Prompted {
        let Sample { input, answers, .. } = sample::<Self>(tokens);
        Prompted {
            prompt: input.tokens().to_vec(),
            answer: answers.iter().map(|answer| answer.class).collect(),
        }
    }

    /// How deep in these tokens lies what each answer asks for, see [`Task::depths`].
    fn depths_of(_tokens: &[usize]) -> Vec<f64> {
        Vec::new()
    }
}

/// Independent symbols, each of `0..symbols` equally likely.
pub(super) fn uniform(rng: &mut HostRng, length: usize, symbols: usize) -> Vec<usize> {
    (0..length).map(|_| rng.random_range(0..symbols)).collect()
}

/// Answers read at consecutive positions from `first` on.
pub(super) fn in_place(first: usize, classes: impl IntoIterator<Item = usize>) -> Vec<Answer> {
    let places = (first..).zip(classes);
    places
        .map(|(position, class)| Answer { position, class })
        .collect()
}

/// One answer for the whole sequence, read at BOS.
pub(super) fn at_bos(class: usize) -> Vec<Answer> {
    vec![Answer { position: 0, class }]
}

/// BOS and EOS around the tokens, and the answers.
pub(super) fn sample<T: Toy>(tokens: &[usize]) -> Sample {
    let (bos, eos) = (T::TOKENS, T::TOKENS + 1);
    Sample::new([&[bos], tokens, &[eos]].concat(), T::answers(tokens))
}

fn samples<T: Toy>(rng: &mut HostRng, length: usize, count: usize) -> Vec<Sample> {
    (0..count)
        .map(|_| sample::<T>(&T::draw(rng, length)))
        .collect()
}

impl<T: Toy> Task for T {
    fn name(&self) -> &str {
        T::NAME
    }

    fn about(&self) -> &str {
        T::ABOUT
    }

    fn source(&self) -> &str {
        T::SOURCE
    }

    fn vocabulary(&self) -> usize {
        T::TOKENS + self.framing()
    }

    fn classes(&self) -> usize {
        T::CLASSES
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        T::TRAIN_LENGTHS
    }

    fn test_lengths(&self) -> Vec<usize> {
        T::TEST_LENGTHS.to_vec()
    }

    fn framing(&self) -> usize {
        2
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator(&format!("{}/train", T::NAME), seed, step as u64);
        let shortest = T::TRAIN_LENGTHS.start().div_ceil(T::LENGTH_STEP);
        let longest = T::TRAIN_LENGTHS.end() / T::LENGTH_STEP;
        let length = T::LENGTH_STEP * rng.random_range(shortest..=longest);
        samples::<T>(&mut rng, length, size)
    }

    /// The test set, which is empty for a length that the task does not have.
    fn test_set(&self, length: usize) -> Vec<Sample> {
        if length < *T::TRAIN_LENGTHS.start() || !length.is_multiple_of(T::LENGTH_STEP) {
            return Vec::new();
        }
        let mut rng = generator(&format!("{}/test", T::NAME), 0, length as u64);
        samples::<T>(&mut rng, length, TEST_SAMPLES)
    }

    fn floor(&self, length: usize) -> f64 {
        T::floor_at(length)
    }

    fn floor_about(&self) -> &str {
        T::FLOOR_ABOUT
    }

    fn steps(&self) -> usize {
        T::STEPS
    }

    fn prompted(&self, sample: &Sample) -> Option<Prompted> {
        let tokens = sample.input.tokens();
        Some(T::prompted_of(&tokens[1..tokens.len() - 1]))
    }

    fn prompted_about(&self) -> &str {
        T::PROMPTED_ABOUT
    }

    fn answer_token(&self, class: usize) -> usize {
        T::FIRST_ANSWER + class
    }

    fn depths(&self, sample: &Sample) -> Vec<f64> {
        let tokens = sample.input.tokens();
        T::depths_of(&tokens[1..tokens.len() - 1])
    }
}

#[cfg(test)]
pub(super) mod testing;
#[cfg(test)]
mod tests;
