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

    /// The number of different answers.
    const CLASSES: usize;

    /// Every length is a multiple of this.
    const LENGTH_STEP: usize = 1;

    /// The lengths seen in training.
    const TRAIN_LENGTHS: RangeInclusive<usize> = 4..=20;

    /// The tested lengths, shortest first.
    const TEST_LENGTHS: &'static [usize] = &[10, 20, 21, 25, 30, 40, 60, 80];

    /// The number of training steps of a study that does not set it.
    const STEPS: usize = 1_500;

    /// What the floor is, in a few words.
    const FLOOR_ABOUT: &'static str;

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

    /// The token as which a decoder reads an answer of class 0; class `c` is `c` tokens after it. The answers are the task's own
    /// tokens where there are as many of both, and otherwise tokens after BOS and EOS.
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

/// What the tests of the toy tasks share.
#[cfg(test)]
pub(super) mod testing {
    use std::collections::{BTreeMap, BTreeSet};

    use sha2::{Digest, Sha256};

    use super::*;

    /// The answers to a sequence as (position, class).
    pub fn asked<T: Toy>(tokens: &[usize]) -> Vec<(usize, usize)> {
        let answers = T::answers(tokens);
        answers.iter().map(|a| (a.position, a.class)).collect()
    }

    /// Compares the answers in training batches and test sets with a second, independent definition:
    /// from the tokens without BOS and EOS to (position, class). Also checks that BOS and EOS are at the
    /// two ends and nowhere else, that training covers every length and every token, and that a test set
    /// has 512 sequences.
    pub fn follows<T: Toy>(task: &T, definition: impl Fn(&[usize]) -> Vec<(usize, usize)>) {
        let mut trained = BTreeSet::new();
        let mut shown = BTreeSet::new();
        let mut check = |sample: &Sample, length: usize| {
            assert_eq!(sample.input.len(), length + 2);
            let (bos, rest) = sample.input.tokens().split_first().unwrap();
            let (eos, inner) = rest.split_last().unwrap();
            assert_eq!((*bos, *eos), (T::TOKENS, T::TOKENS + 1));
            assert!(inner.iter().all(|token| *token < T::TOKENS));
            shown.extend(inner.iter().copied());
            let answers = sample.answers.iter().map(|a| (a.position, a.class));
            assert_eq!(answers.collect::<Vec<_>>(), definition(inner), "{inner:?}");
        };
        for step in 0..300 {
            let batch = task.train_batch(5, step, 4);
            let length = batch[0].input.len() - 2;
            trained.insert(length);
            batch.iter().for_each(|sample| check(sample, length));
        }
        for length in T::TEST_LENGTHS {
            let set = task.test_set(*length);
            assert_eq!(set.len(), 512);
            set.iter().for_each(|sample| check(sample, *length));
        }
        let lengths = T::TRAIN_LENGTHS.filter(|length| length % T::LENGTH_STEP == 0);
        assert_eq!(trained, lengths.collect());
        assert_eq!(shown, (0..T::TOKENS).collect());
        let inside = T::TEST_LENGTHS.iter().filter(|n| trained.contains(n));
        assert_eq!((inside.count(), T::TEST_LENGTHS.len()), (2, 8));
    }

    /// SHA-256 of the first batches of seed 1 and of all test sets.
    ///
    /// Every number of a published study depends on these streams. If they change, by an edit or by a new
    /// version of the crates for random numbers, new results cannot be compared with old ones.
    pub fn digest(task: &dyn Task) -> String {
        let training = (0..50).map(|step| task.train_batch(1, step, 64));
        let test = task.test_lengths().into_iter().map(|n| task.test_set(n));
        let mut sha = Sha256::new();
        for sample in training.chain(test).flatten() {
            let answers = sample.answers.iter().flat_map(|a| [a.position, a.class]);
            for value in sample.input.tokens().iter().copied().chain(answers) {
                sha.update((value as u64).to_le_bytes());
            }
        }
        let digest = sha.finalize();
        digest.iter().map(|byte| format!("{byte:02x}")).collect()
    }

    /// The best accuracy of a model that sees the multiset of tokens and the token at which it answers. It is
    /// counted over every sequence of this length for which `possible` is true: for each multiset and
    /// token, the most frequent answer is right. The formulas for floors are checked against this count.
    pub fn best_blind<T: Toy>(length: usize, possible: impl Fn(&[usize]) -> bool) -> f64 {
        let mut seen: BTreeMap<(Vec<usize>, usize), Vec<usize>> = BTreeMap::new();
        for number in 0..T::TOKENS.pow(length as u32) {
            let digit = |place: usize| number / T::TOKENS.pow(place as u32) % T::TOKENS;
            let tokens: Vec<usize> = (0..length).map(digit).collect();
            if !possible(&tokens) {
                continue;
            }
            let Sample { input, answers, .. } = sample::<T>(&tokens);
            let tokens = input.tokens();
            let mut bag = tokens.to_vec();
            bag.sort_unstable();
            for answer in answers {
                let key = (bag.clone(), tokens[answer.position]);
                seen.entry(key).or_insert_with(|| vec![0; T::CLASSES])[answer.class] += 1;
            }
        }
        let best: usize = seen.values().filter_map(|counts| counts.iter().max()).sum();
        let all: usize = seen.values().flatten().sum();
        best as f64 / all as f64
    }

    /// The accuracy of a rule that sees the counts of the tokens and the token at which it answers,
    /// on 10,000 fresh sequences.
    pub fn blind_rule<T: Toy>(length: usize, rule: impl Fn(&[usize], usize) -> usize) -> f64 {
        let mut rng = generator("rule", 1, length as u64);
        let (mut right, mut all) = (0, 0);
        for _ in 0..10_000 {
            let Sample { input, answers, .. } = sample::<T>(&T::draw(&mut rng, length));
            let tokens = input.tokens();
            let mut counts = vec![0; T::TOKENS + 2];
            tokens.iter().for_each(|token| counts[*token] += 1);
            for answer in answers {
                let said = rule(&counts[..T::TOKENS], tokens[answer.position]);
                right += usize::from(said == answer.class);
                all += 1;
            }
        }
        right as f64 / all as f64
    }

    /// The token with the highest count, the first of several.
    pub fn mode(counts: &[usize]) -> usize {
        let highest = counts.iter().max().unwrap();
        counts.iter().position(|count| count == highest).unwrap()
    }
}

#[cfg(test)]
mod tests {
    use super::super::{MissingDuplicate, Reverse};
    use super::*;

    #[test]
    fn a_sample_is_framed_by_the_two_tokens_after_the_own_ones() {
        let framed = sample::<Reverse>(&[3, 1, 4, 0]);
        assert_eq!(framed.input.tokens(), [8, 3, 1, 4, 0, 9]);
        assert_eq!(Reverse.vocabulary(), 10);
        let framed = sample::<MissingDuplicate>(&[0, 1, 2, 1]);
        assert_eq!(framed.input.tokens(), [3, 0, 1, 2, 1, 4]);
        assert_eq!(MissingDuplicate.vocabulary(), 5);
    }

    #[test]
    fn a_length_that_a_task_does_not_have_has_no_test_set() {
        assert_eq!(Reverse.test_set(3), []);
        assert_eq!(Reverse.test_set(4).len(), 512);
        assert_eq!(MissingDuplicate.test_set(10).len(), 512);
        assert_eq!(MissingDuplicate.test_set(11), []);
    }
}
