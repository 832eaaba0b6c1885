//! One example of a task: what is read, and what is asked about it.

use std::collections::HashMap;

use super::input::Input;

/// How the model's output is turned into answers.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Readout {
    /// One answer at each position named by the sample.
    PerToken,
    /// One answer per sequence, from the mean over all its tokens.
    MeanPooled,
}

/// How the rows of the test sets of a task depend on each other.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Default)]
pub enum TestRows {
    /// The task generates them, and could generate others.
    #[default]
    Drawn,
    /// They are real, and every length has rows of its own, drawn independently.
    Independent,
    /// The same rows are tested at every length, in the same order, as images at several resolutions.
    Repeated,
    /// They are neighbours in time or in a text, so what is true of one says something about the next: their spread does
    /// not tell how other rows would score.
    Neighbours,
}

/// A class to predict, and the position (in the input) at which it is read.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The index into [`Sample::input`]. It has no meaning under [`Readout::MeanPooled`].
    pub position: usize,
    /// The correct class.
    pub class: usize,
}

/// One sequence and what is asked about it.
#[derive(Clone, Debug, PartialEq)]
pub struct Sample {
    /// The input, with BOS and EOS where the task has them.
    pub input: Input,
    /// What to predict. Only these positions count in the loss and in the score.
    pub answers: Vec<Answer>,
    /// Where numbers are to be predicted and not classes: the number of each answer, whose class then has no
    /// meaning. See [`Task::unit`](super::Task::unit).
    pub numbers: Vec<f32>,
    /// The times of the input, where it has any. Schemes whose positions are whole numbers do not see them.
    pub times: Option<Vec<f64>>,
}

impl Sample {
    /// A sequence of tokens or of vectors, and the classes that are asked for.
    pub fn new(input: impl Into<Input>, answers: Vec<Answer>) -> Self {
        Self {
            input: input.into(),
            answers,
            numbers: Vec::new(),
            times: None,
        }
    }

    /// A sequence, and a number that is asked for at one position.
    pub fn of_number(input: impl Into<Input>, position: usize, number: f32) -> Self {
        let answer = Answer { position, class: 0 };
        Self {
            numbers: vec![number],
            ..Self::new(input, vec![answer])
        }
    }
}

/// The numbers that are to be forecast, in the order of the test sets, which all have the same numbers.
#[derive(Clone, Debug, PartialEq)]
pub struct Forecast {
    /// The name of the column of times, or `row`.
    pub time: String,
    /// The time of each number, or the number of its row, counted from 1.
    pub at: Vec<f64>,
    /// Whether times are dates, in days since 1970-01-01.
    pub dates: bool,
    /// The numbers.
    pub actual: Vec<f64>,
    /// The number before each, to which the predicted difference is added.
    pub last: Vec<f64>,
}

/// The number of each sample's unit; samples with equal inputs share one.
pub fn units(samples: &[Sample]) -> Vec<usize> {
    let mut known: HashMap<u64, usize> = HashMap::new();
    let unit = |sample| {
        let next = known.len();
        *known.entry(hash(sample)).or_insert(next)
    };
    samples.iter().map(unit).collect()
}

/// The FNV-1a hash of the input of an example, and of its times.
pub fn hash(sample: &Sample) -> u64 {
    let of = |hash: u64, value: u64| (hash ^ value).wrapping_mul(0x0000_0100_0000_01b3);
    let start = 0xcbf2_9ce4_8422_2325;
    let times = sample.times.iter().flatten();
    let start = times.fold(start, |h, time| of(h, time.to_bits()));
    match &sample.input {
        Input::Tokens(tokens) => tokens.iter().fold(start, |h, token| of(h, *token as u64)),
        Input::Vectors { values, .. } => values
            .iter()
            .fold(start, |h, value| of(h, u64::from(value.to_bits()))),
    }
}
