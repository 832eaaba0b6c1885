//! Labelled token sequences as a task: predict the label of a sequence, or write it.

mod answers;
mod apart;
#[cfg(test)]
mod tests;

use std::collections::{HashMap, HashSet};
use std::iter;
use std::ops::RangeInclusive;
use std::sync::Arc;

use super::alike::Alike;
use super::describe::{UNKNOWN, check_unknown, describe, tested};
use super::error::Problem;
use super::measured::Measured;
use super::numbers;
use super::quote::{grouped, shorten};
use super::reading::TokenKind;
use super::rows::Rows;
use super::sequences::Sequences;
use super::split::{Bin, HeldOut, Split};
use super::suspect;
use super::target::Target;
use super::times::{Times, Unit};
use super::vocabulary::{check_answers, vocabulary};
use super::ways::Ways;
use crate::task::floor::most_frequent_share;
use crate::task::{
    Answer, Epochs, Generation, Input, Measure, Prompted, Readout, Sample, Task, TestRows,
    hash_of_input, steps,
};
use apart::{apart, key};

/// Predict the label of a sequence, from the mean over all its tokens.
///
/// The vocabulary holds the tokens of the training rows, the most frequent first. A batch mixes lengths.
/// BOS and EOS stand around each row: without them an encoding that only sees distances could not tell a
/// row from its mirror image. Each epoch goes through all training rows in a new order.
///
/// Where rows have times that tell more than the order, they are positions, as [`Unit::positions`] says.
///
/// Where labels are answers that are written, it is a decoder's task: the model reads a row with BOS and EOS, and writes the
/// tokens of its label and an end. Lengths are still those of the rows. The vocabulary holds every token of the answers in
/// training.
///
/// Where labels are numbers, the number is predicted, as [`Target`] says.
#[derive(Debug)]
pub(super) struct Labelled {
    /// The rows of the file, which the tasks of all folds share.
    pub sequences: Arc<Sequences>,
    /// The different labels: the classes in their order, or what the numbers of all rows are.
    pub labels: Vec<String>,
    /// The index in the vocabulary of every token of the rows.
    pub numbers: Vec<u32>,
    /// The index of every word of the vocabulary.
    vocabulary: HashMap<String, u32>,
    /// What a token of an answer is, where answers are written.
    kind: TokenKind,
    name: String,
    /// The size of the vocabulary without BOS and EOS, which come after it.
    words: usize,
    /// The lengths of the shortest and the longest row that may be in training.
    train_lengths: (usize, usize),
    /// The held-out rows that are tested, by length.
    inside: Vec<Bin>,
    /// The tested rows that are longer than any in training, by length; none without such a test.
    beyond: Vec<Bin>,
    /// What number is predicted of a row, where labels are numbers.
    pub target: Option<Target>,
    /// How times become positions, where rows have times.
    pub times: Option<Unit>,
    /// How the file writes what may be read in two ways.
    pub ways: Ways,
    /// The numbers of the tokens, where they are numbers: then there is no vocabulary.
    pub measured: Option<Measured>,
    /// The number of every label, where numbers are predicted; else none.
    values: Vec<f64>,
    /// The rows to train on, in the order of the file.
    pub train: Vec<usize>,
    /// Where rows have groups: the inputs of the rows to train on that are held out while something is chosen, as `--tune` does. They
    /// are whole groups.
    apart: Option<HashSet<Vec<usize>>>,
    /// The number of each row's unit: rows that stay together.
    units: Vec<usize>,
    /// What a person is to be warned of, if anything.
    pub warning: Option<String>,
    about: String,
    source: String,
    epochs: Epochs,
}

impl Labelled {
    /// The task called `name`, and a description of the data. `label` is what a label is called.
    ///
    /// # Errors
    ///
    /// The errors of [`Split::new`], [`Problem::Unknown`] when more than half of the tokens of the test do not occur in
    /// training, and [`Problem::Reading`] for a number to be predicted that is too large; those of [`Unit::of`].
    pub fn new(
        data: &Rows,
        sequences: &Arc<Sequences>,
        name: String,
        (file, label): (&str, &str),
        held_out: HeldOut,
        no_beyond: bool,
    ) -> Result<(Self, Vec<String>), Problem> {
        let split = Split::new(data, held_out, no_beyond)?;
        let (numbers, words, measured) = read_as(data, &split)?;
        let target = Target::of(data, label, &split.train)?;
        let times = data.times.as_ref();
        let unit = times.map(|times| Unit::of(times, &split.train));
        let unit = unit.transpose()?;
        let said = measured.as_ref().map(Measured::describe);
        let mut description = describe(data, &split, &numbers, words, said, target.as_ref());
        description.extend(times.into_iter().flat_map(Times::describe));
        description.extend(suspect::names(data));
        if let Some(measured) = &measured {
            let channels = data.channels.unwrap_or(1);
            description.extend(suspect::far_off(data, measured, channels, &split.train));
        }
        let tested: Vec<usize> = tested(&split).copied().collect();
        let warning = Alike::of(data, &split.train, &tested).warning();
        description.extend(warning.clone());
        let apart = (!data.groups.is_empty()).then(|| apart(data, &split));
        let values = numbers::values(&data.labels).filter(|_| target.is_some());
        let task = Self {
            about: about(data, target.as_ref()),
            source: format!("{file}, {} rows", grouped(sequences.count())),
            vocabulary: known_words(data, &numbers),
            kind: data.written.unwrap_or(TokenKind::Words),
            values: values.unwrap_or_default(),
            epochs: Epochs::over(split.train.len(), "data/train"),
            name,
            words: numbers.iter().max().map_or(1, |most| *most as usize + 1),
            train_lengths: split.train_lengths,
            target,
            times: unit,
            ways: data.ways,
            inside: split.inside,
            beyond: split.beyond.unwrap_or_default(),
            apart: None,
            units: split.together.of_row,
            warning,
            labels: data.labels.clone(),
            numbers,
            measured,
            train: split.train,
            sequences: sequences.clone(),
        };
        // A row is identified by what the model reads of it.
        let input = |row: &usize| key(&task.sample(*row));
        let apart = apart.map(|rows| rows.iter().map(input).collect());
        Ok((Self { apart, ..task }, description))
    }

    #[cfg(test)]
    pub fn tested_rows(&self) -> Vec<usize> {
        self.bins().flat_map(|bin| &bin.rows).copied().collect()
    }

    /// A sequence as the model reads it: BOS, the numbers of its words, EOS.
    pub fn encode(&self, words: &[&str]) -> Result<Input, String> {
        match &self.measured {
            Some(measured) => measured.input_of(words),
            None => {
                let number =
                    |word: &&str| self.vocabulary.get(*word).copied().unwrap_or(UNKNOWN) as usize;
                Ok(self.framed(words.iter().map(number)).into())
            }
        }
    }

    /// Whether a token is in the vocabulary, or is a number that is read as such.
    pub fn knows(&self, word: &str) -> bool {
        self.measured.is_some() || self.vocabulary.contains_key(word)
    }

    /// What identifies the inputs of the rows to train on, which are prompts where answers are written.
    pub fn trained_inputs(&self) -> HashSet<u64> {
        let rows = self.train.iter().map(|row| {
            let sample = self.sample(*row);
            match self.causal() {
                true => Prompted::of(&sample).hash(),
                false => hash_of_input(&sample),
            }
        });
        rows.collect()
    }

    /// The numbers of words with BOS and EOS around them.
    fn framed(&self, words: impl Iterator<Item = usize>) -> Vec<usize> {
        let bos = self.words;
        iter::once(bos).chain(words).chain([bos + 1]).collect()
    }

    fn bins(&self) -> impl Iterator<Item = &Bin> {
        self.inside.iter().chain(&self.beyond)
    }

    fn sample(&self, row: usize) -> Sample {
        let number = |token: &u32| self.numbers[*token as usize] as usize;
        let tokens = self.sequences.tokens(row).iter().map(number);
        let class = self.sequences.label(row);
        let input: Input = match &self.measured {
            Some(measured) => measured.input(tokens.map(|token| measured.step(token))),
            None => self.framed(tokens).into(),
        };
        let sample = match (&self.sequences.answers, &self.target) {
            (Some(answers), _) => Prompted {
                prompt: input.tokens().to_vec(),
                answer: answers[class].iter().map(number).collect(),
            }
            .sample(self),
            (None, Some(target)) => {
                Sample::of_number(input, 0, target.standardized(self.values[class]))
            }
            (None, None) => Sample::new(input, vec![Answer { position: 0, class }]),
        };
        let times = self.times.as_ref().zip(self.sequences.since(row));
        Sample {
            times: times.map(|(unit, since)| unit.positions(since)),
            ..sample
        }
    }
}

/// The words that the vocabulary knows, with their indices in it.
fn known_words(data: &Rows, numbers: &[u32]) -> HashMap<String, u32> {
    let all = data.words.iter().zip(numbers);
    let known = all.filter(|(_, number)| **number != UNKNOWN);
    known
        .map(|(word, number)| (word.clone(), *number))
        .collect()
}

/// What the task is, in words.
fn about(data: &Rows, target: Option<&Target>) -> String {
    match (&data.answers, target) {
        (_, Some(target)) => format!(
            "your data: the number {} of a sequence",
            shorten(&target.name)
        ),
        (None, None) => format!(
            "your data: which of {} labels a sequence has",
            grouped(data.labels.len())
        ),
        (Some(_), None) => "your data: a decoder writes the answer to each prompt".into(),
    }
}

/// The index in the vocabulary of every token, and how many of its words are known; where tokens are numbers, also these
/// numbers.
fn read_as(data: &Rows, split: &Split) -> Result<(Vec<u32>, usize, Option<Measured>), Problem> {
    let Some(channels) = data.channels else {
        let (numbers, words) = vocabulary(data, &split.train);
        check_answers(data, &split.train, &numbers)?;
        check_unknown(data, split, &numbers)?;
        return Ok((numbers, words, None));
    };
    let words = data.words.len();
    let measured = Measured::of(data, channels, &split.train)?;
    Ok(((0..words as u32).collect(), words, Some(measured)))
}

impl Task for Labelled {
    fn name(&self) -> &str {
        &self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn vocabulary(&self) -> usize {
        match self.measured {
            None => self.words + self.framing(),
            Some(_) => 0,
        }
    }

    fn vector_width(&self) -> Option<usize> {
        self.measured.as_ref().map(Measured::width)
    }

    /// The labels; of answers that are written, every token of the vocabulary and the end; 1 for a number.
    fn classes(&self) -> usize {
        match (self.causal(), &self.target) {
            (true, _) => self.words + 1,
            (false, Some(_)) => 1,
            (false, None) => self.labels.len(),
        }
    }

    fn readout(&self) -> Readout {
        match self.causal() {
            false => Readout::MeanPooled,
            true => Readout::PerToken,
        }
    }

    fn measure(&self) -> Measure {
        match (self.causal(), &self.target) {
            (true, _) => Measure::ExactMatch,
            (false, None) => Measure::Accuracy,
            (false, Some(target)) => Measure::Error {
                unit: target.name.clone(),
            },
        }
    }

    fn unit(&self) -> f64 {
        self.target.as_ref().map_or(1.0, |target| target.deviation)
    }

    fn causal(&self) -> bool {
        self.sequences.answers.is_some()
    }

    fn has_times(&self) -> bool {
        self.times.is_some()
    }

    fn generation(&self) -> Option<&dyn Generation> {
        self.causal().then_some(self)
    }

    fn tokens_of(&self, length: usize) -> usize {
        length + self.framing() + self.longest_answer()
    }

    /// From the shortest row to the longest row that may be in training.
    fn train_lengths(&self) -> RangeInclusive<usize> {
        let (shortest, longest) = self.train_lengths;
        shortest..=longest
    }

    fn is_inside(&self, length: usize) -> bool {
        let mut inside = self.inside.iter();
        inside.any(|bin| bin.length == length)
    }

    fn test_lengths(&self) -> Vec<usize> {
        self.bins().map(|bin| bin.length).collect()
    }

    fn mixes_lengths(&self) -> bool {
        self.causal()
            || self
                .bins()
                .any(|bin| self.sequences.length(bin.rows[0]) < bin.length)
    }

    fn framing(&self) -> usize {
        2
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let rows = self.epochs.batch(seed, step, size);
        rows.map(|row| self.sample(self.train[row])).collect()
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        let bin = self.bins().find(|bin| bin.length == length);
        let rows = bin.into_iter().flat_map(|bin| &bin.rows);
        rows.map(|row| self.sample(*row)).collect()
    }

    /// The share of the most frequent label among all rows tested inside the training lengths, or among
    /// all those tested beyond. The share in a single bin of lengths could be so close to 1 that one row
    /// would change the normalized score by a half. Of numbers it is the error of one number, in the same rows: see [`Target::floor`].
    fn floor(&self, length: usize) -> f64 {
        let mut parts = [&self.inside, &self.beyond].into_iter();
        let part = parts.find(|part| part.iter().any(|bin| bin.length == length));
        part.map_or(0.0, |part| {
            let label = |row: usize| self.sequences.label(row);
            let tested = part.iter().flat_map(|bin| &bin.rows);
            match &self.target {
                Some(target) => target.floor(tested.map(|row| self.values[label(*row)])),
                None => most_frequent_share(tested.map(|row| label(*row))),
            }
        })
    }

    fn floor_about(&self) -> &str {
        match (self.causal(), &self.target) {
            (true, _) => "always the most frequent answer",
            (false, None) => "always the most frequent label",
            (false, Some(_)) => "always the mean or the median of the training",
        }
    }

    fn test_rows(&self) -> TestRows {
        TestRows::Independent
    }

    fn test_units(&self, length: usize) -> Vec<usize> {
        let bin = self.bins().find(|bin| bin.length == length);
        let rows = bin.into_iter().flat_map(|bin| &bin.rows);
        let unit = |row: &usize| self.units.get(*row).copied();
        rows.map(|row| unit(row).unwrap_or(*row)).collect()
    }

    fn is_apart(&self, sample: &Sample) -> Option<bool> {
        let apart = self.apart.as_ref()?;
        Some(apart.contains(&key(sample)))
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        steps(self.train.len())
    }
}
