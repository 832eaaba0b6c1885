//! The tasks: what a model is trained on and tested on.
//!
//! A task is one file with one type that implements [`Task`], and one call in
//! [`Lab::built_in`](crate::Lab::built_in). It runs on the host and knows nothing about tensors, models or encodings, so every scheme gets the same batches and
//! the same test sets. A generated task implements [`Toy`] instead, which takes little more than the
//! task's definition.

/// Methods of a task that wraps another one in its field `task`: they are those of the other.
macro_rules! of_the_task {
    ($(fn $name:ident(&self $(, $argument:ident: $of:ty)*) -> $answer:ty;)*) => {
        $(fn $name(&self $(, $argument: $of)*) -> $answer {
            self.task.$name($($argument),*)
        })*
    };
}

mod addition;
mod bucket_sort;
mod causal;
mod counting;
mod digits;
mod embedded;
mod epochs;
mod first_eq_last;
pub mod floor;
mod generation;
mod indirect_indexing;
mod input;
mod majority;
mod measure;
mod missing_duplicate;
mod modular_arithmetic;
mod mqar;
mod mqar_sizes;
mod next_token;
mod odds_first;
mod passkey;
mod posmod4;
mod prev_occurrence;
mod reverse;
mod sample;
mod selective_copy;
mod shift3;
mod sort50;
mod stream;
mod text;
mod toy;
mod tuning;

use std::ops::{Range, RangeInclusive};

pub use addition::{Addition, AdditionReversed};
pub use bucket_sort::BucketSort;
pub use causal::{Causal, causal_name, plain_name};
pub use counting::Counting;
pub use digits::{Digits, split_digits};
pub(crate) use embedded::embedded;
pub(crate) use epochs::{Epochs, USUAL_BATCH, steps};
pub use first_eq_last::FirstEqLast;
pub use generation::{Generation, Prompted};
pub use indirect_indexing::IndirectIndexing;
pub use input::Input;
pub use majority::Majority;
pub(crate) use measure::rounded;
pub use measure::{Measure, Score};
pub use missing_duplicate::MissingDuplicate;
pub use modular_arithmetic::ModularArithmetic;
pub use mqar::Mqar;
pub use mqar_sizes::MqarOfSize;
pub use next_token::{
    About, Alphabet, Decode, MIN_TRAIN_LENGTH, NextToken, TooShort, fewest_tokens,
};
pub use odds_first::OddsFirst;
pub use passkey::Passkey;
pub use posmod4::PosMod4;
pub use prev_occurrence::PrevOccurrence;
pub use reverse::Reverse;
pub use sample::{Answer, Forecast, Readout, Sample, TestRows, hash as hash_of_input};
pub use selective_copy::SelectiveCopy;
pub use shift3::Shift3;
pub use sort50::Sort50;
pub use stream::{Stream, TokenFile};
pub use text::{TEXT_TRAIN_LENGTH, text, text_name, text_with};
pub use toy::Toy;
pub use tuning::Tuning;

use pe_burn::Grid;

/// A task: data to train on, data to test on, and a score that takes no skill.
///
/// Both kinds of data depend on the arguments alone. All samples of a batch or of a test set have the
/// same number of tokens and of answers, except under [`Readout::MeanPooled`] and where answers are
/// [written](Self::generation): there the numbers may differ, and shorter samples are padded and masked.
pub trait Task: Send + Sync {
    /// The name on the command line and in files.
    fn name(&self) -> &str;

    /// One line that says what is to be predicted from what.
    fn about(&self) -> &str;

    /// Where the task or its data comes from.
    fn source(&self) -> &str;

    /// The number of different input tokens, BOS and EOS included. 0 where inputs are vectors.
    fn vocabulary(&self) -> usize;

    /// How many numbers a vector of an input has. `None` where inputs are tokens.
    fn vector_width(&self) -> Option<usize> {
        None
    }

    /// The number of different answers.
    fn classes(&self) -> usize;

    /// How answers are read.
    fn readout(&self) -> Readout;

    /// The training lengths. A length counts the task's own tokens, without BOS and EOS.
    fn train_lengths(&self) -> RangeInclusive<usize>;

    /// Whether a test at this length counts as inside the training lengths. A test file may have a few rows of other lengths.
    fn is_inside(&self, length: usize) -> bool {
        self.train_lengths().contains(&length)
    }

    /// The tested lengths, shortest first. If the samples of a test set differ in length, its length is that
    /// of the longest sample.
    fn test_lengths(&self) -> Vec<usize>;

    /// Whether the samples of a test set differ in length.
    fn mixes_lengths(&self) -> bool {
        false
    }

    /// The number of tokens put around a sequence, such as BOS and EOS.
    fn framing(&self) -> usize {
        0
    }

    /// The number of tokens of the longest input of this length.
    fn tokens_of(&self, length: usize) -> usize {
        length + self.framing()
    }

    /// Training batch number `step` of a seed, with `size` samples.
    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample>;

    /// The fixed test set of one length.
    fn test_set(&self, length: usize) -> Vec<Sample>;

    /// The data from which its training examples are cut, if they are windows of one long row.
    fn windows(&self) -> Option<&dyn Windows> {
        None
    }

    /// What its scores are measured in.
    fn measure(&self) -> Measure {
        Measure::Accuracy
    }

    /// Whether a token sees only itself and the tokens before it, as in a language model. Then answers are
    /// read per token.
    fn causal(&self) -> bool {
        false
    }

    /// This task as a [`NextToken`], if it predicts the next token of a text: it is then tested beyond its test sets.
    fn language(&self) -> Option<&NextToken> {
        None
    }

    /// How its answers are written, if a decoder writes each of them token by token after a prompt. Then they are scored by
    /// [`Measure::ExactMatch`].
    fn generation(&self) -> Option<&dyn Generation> {
        None
    }

    /// A sample of this task as a decoder has it, which makes it a task for `--causal` too (see [`Causal`]): what is read, and
    /// the classes that are written after it. `None` for a task without such a form.
    fn prompted(&self, _sample: &Sample) -> Option<Prompted> {
        None
    }

    /// What [`prompted`](Self::prompted) makes of a sample, in a few words.
    fn prompted_about(&self) -> &str {
        "the answers in a row after the input"
    }

    /// The token that a decoder reads for a class of [`prompted`](Self::prompted) that it has written. Classes that are no
    /// input tokens come after the vocabulary.
    fn answer_token(&self, class: usize) -> usize {
        self.vocabulary() + class
    }

    /// The score at this length that takes no skill. Normalized scores are 0 there.
    fn floor(&self, length: usize) -> f64;

    /// What the floor is, in a few words.
    fn floor_about(&self) -> &str;

    /// The accuracy from which on the task counts as solved inside the training lengths. `None` for a task
    /// without an exact solution.
    fn solved_at(&self) -> Option<f64> {
        Some(0.95)
    }

    /// The number of training steps of a study that does not set it.
    fn steps(&self) -> usize;

    /// For a task that asks for something at a depth: how deep in the sequence lies what each answer of a
    /// sample asks for, from 0 at the beginning to 1 at the end, in the order of the answers. Empty for other
    /// tasks. The scores of such a task are kept by depth too.
    fn depths(&self, _sample: &Sample) -> Vec<f64> {
        Vec::new()
    }

    /// Where numbers are to be predicted: how much 1 of [`Sample::numbers`] is in the unit of the score.
    fn unit(&self) -> f64 {
        1.0
    }

    /// How the rows of the test sets depend on each other.
    fn test_rows(&self) -> TestRows {
        TestRows::Drawn
    }

    /// The numbers that are forecast in the test. `None` for a task that forecasts none.
    fn forecast(&self) -> Option<Forecast> {
        None
    }

    /// The unit of each row of the test set of one length, as a number. Rows of one unit, such as equal rows, are not
    /// independent evidence.
    fn test_units(&self, length: usize) -> Vec<usize> {
        sample::units(&self.test_set(length))
    }

    /// Whether a training example is held out while a learning rate or a number of steps is chosen, if the task decides
    /// that itself. With `None`, one different example in ten is held out.
    fn is_apart(&self, _sample: &Sample) -> Option<bool> {
        None
    }

    /// Whether inputs have times.
    fn has_times(&self) -> bool {
        false
    }

    /// The grid from which every input is read, row by row, if there is one.
    fn grid(&self) -> Option<Grid> {
        None
    }

    /// The grid of the inputs of one test set, where tests differ in it.
    fn grid_at(&self, _length: usize) -> Option<Grid> {
        self.grid()
    }

    /// The number of positions that a scheme is made for: the tokens of the grid of the training, or
    /// else those of the longest input.
    fn positions(&self) -> usize {
        self.grid()
            .map_or_else(|| self.max_tokens(), |grid| grid.tokens())
    }

    /// The number of tokens of the longest input, BOS and EOS included.
    fn max_tokens(&self) -> usize {
        let tested = self.test_lengths().into_iter().max().unwrap_or(0);
        self.tokens_of(tested.max(*self.train_lengths().end()))
    }
}

/// Training examples that are windows of one long row of data, such as a series or a text. Windows overlap, so none of them
/// can be held out without a part of the data.
pub trait Windows {
    /// How many rows of data are trained on: those of a series, or the tokens of a text.
    fn rows(&self) -> usize;

    /// [`Task::train_batch`] with windows that lie in a part of these rows, and so does all that is predicted. The part is
    /// longer than the longest window of the training.
    fn batch_within(&self, part: Range<usize>, seed: u64, step: usize, size: usize) -> Vec<Sample>;
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use std::sync::Arc;

    use crate::ask::Tasks;

    fn every() -> Vec<Arc<dyn Task>> {
        let apart = ["co2", "digits_32"]; // they have tests of their own
        let every = Tasks::default().every().into_iter();
        every.filter(|task| !apart.contains(&task.name())).collect()
    }

    /// Checks what the rest of the laboratory relies on, and returns some batches of the training and the tests.
    pub(crate) fn check_contract(task: &dyn Task) -> Vec<Vec<Sample>> {
        let name = task.name();
        let batch = task.train_batch(1, 5, 8);
        assert_eq!(batch, task.train_batch(1, 5, 8), "{name}");
        assert_ne!(batch, task.train_batch(2, 5, 8), "{name}");
        assert_ne!(batch, task.train_batch(1, 6, 8), "{name}");
        let mut sets: Vec<_> = (0..20).map(|step| task.train_batch(3, step, 16)).collect();
        for batch in &sets {
            assert_eq!(batch.len(), 16, "{name}");
            for sample in batch {
                let length = sample.input.len() - task.framing();
                assert!(task.train_lengths().contains(&length), "{name}: {length}");
            }
        }
        assert!(task.test_lengths().is_sorted_by(|a, b| a < b), "{name}");
        for length in task.test_lengths() {
            let set = task.test_set(length);
            assert_eq!(
                set,
                task.test_set(length),
                "{name}: a test set must be fixed"
            );
            let longest = set.iter().map(|sample| sample.input.len()).max();
            assert_eq!(longest, Some(length + task.framing()), "{name}");
            let floor = task.floor(length);
            let score = task.measure().score(floor);
            assert_eq!(score.damage(floor), None, "{name}");
            assert!(floor > 0.0, "{name}: floor {floor}");
            sets.push(set);
        }
        for sample in sets.iter().flatten() {
            assert!(!sample.answers.is_empty(), "{name}");
            assert!(sample.input.len() <= task.max_tokens(), "{name}");
            let mut tokens = sample.input.tokens().iter();
            assert!(tokens.all(|token| *token < task.vocabulary()), "{name}");
            for answer in &sample.answers {
                assert!(answer.class < task.classes(), "{name}");
                assert!(answer.position < sample.input.len(), "{name}");
            }
        }
        sets
    }

    #[test]
    fn every_task_keeps_the_contract() {
        for task in every() {
            let name = task.name();
            assert!(
                !task.causal() || task.readout() == Readout::PerToken,
                "{name}"
            );
            for set in check_contract(task.as_ref()) {
                let shape = (set[0].input.len(), set[0].answers.len());
                for sample in set {
                    assert_eq!((sample.input.len(), sample.answers.len()), shape);
                    let depths = task.depths(&sample);
                    assert!([0, sample.answers.len()].contains(&depths.len()), "{name}");
                    assert!(depths.iter().all(|d| (0.0..1.0).contains(d)), "{name}");
                }
            }
        }
    }

    #[test]
    fn tasks_of_retrieval_have_depths() {
        let all = every();
        let with = all.iter().filter(|task| {
            let set = task.test_set(task.test_lengths()[0]);
            !task.depths(&set[0]).is_empty()
        });
        let names: Vec<&str> = with.map(|task| task.name()).collect();
        assert_eq!(names, ["mqar", "passkey"]);
    }
}
