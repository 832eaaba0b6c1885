//! A series as a task: predict the next number, or the class, from the rows before.

use std::ops::{Range, RangeInclusive};

use super::super::limits::NAME;
use super::super::numbers::{beyond_f32, largest_not_held, or_one, standard};
use super::super::prediction::open_answer;
use super::super::quote::{grouped, shorten};
use super::super::times::{middle, steps_of};
use super::table::{Table, Target};
use crate::rng::{RngExt, generator};
use crate::task::floor::most_frequent_share;
use crate::task::{
    Answer, Forecast, Input, Measure, Readout, Sample, Task, TestRows, Windows, steps,
};

/// The fewest steps of a training, unless a flag says otherwise. After 150 steps a forecast of `co2.csv` still
/// improved.
const LEAST_STEPS: usize = 1_000;
/// The most windows that are tested at each length. They lie evenly over the test.
const MAX_TESTED: usize = 2_000;

/// Predict the next number of a series, or the class of its last row, from a window of rows.
///
/// A row is a vector of the numbers of its columns. The number that is forecast is read as its difference from the
/// last one of the window, divided by the root mean square of such differences in the training; and what is to
/// be predicted is the next difference, so a model that always says 0 repeats the last value. Other columns are
/// standardized with the mean and the deviation of the training. The last rows of the series are the test: no window of
/// the training reaches into them, and no window of the test reaches back before them.
///
/// A batch of the training has one length. Every length is tested on the same rows.
#[derive(Debug)]
pub(in super::super) struct Series {
    pub table: Table,
    name: String,
    about: String,
    source: String,
    /// The first row of the test.
    to_train: usize,
    window: usize,
    /// The tested lengths, and the rows that are predicted.
    lengths: Vec<usize>,
    tested: Vec<usize>,
    /// How the numbers of each column are scaled: what is subtracted (of the target of a forecast the last of
    /// the window), and what they are divided by.
    scale: Vec<(f64, f64)>,
    /// The middle one of the steps of time.
    step: f64,
}

impl Series {
    /// The task. `lengths` are those that are tested, and `to_train` is the first row of the test.
    pub(super) fn new(
        table: Table,
        file: &str,
        to_train: usize,
        window: usize,
        lengths: Vec<usize>,
    ) -> Self {
        let longest = lengths.iter().copied().max().unwrap_or(window);
        let first = to_train + longest - usize::from(!table.is_forecast());
        let rows = table.rows();
        let every = (rows - first).div_ceil(MAX_TESTED).max(1);
        let about = about(&table);
        let step = middle(&steps_of(table.times.as_deref().into_iter()));
        Self {
            name: NAME.into(),
            about,
            source: format!("{file}, {} rows", grouped(rows)),
            scale: scale(&table, to_train, window),
            tested: (first..rows).step_by(every).collect(),
            step,
            to_train,
            window,
            lengths,
            table,
        }
    }

    /// Whether `f32`, in which a model computes, holds every number of a table once it is scaled as those of the
    /// training are.
    ///
    /// # Errors
    ///
    /// With the largest number that is not held, and its row and column.
    pub(super) fn check_range(&self, table: &Table) -> Result<(), String> {
        let columns = table.values.iter().zip(&self.scale).zip(&table.columns);
        for (column, ((numbers, (mean, deviation)), name)) in columns.enumerate() {
            let most = || numbers.iter().copied().fold(f64::NEG_INFINITY, f64::max);
            let least = || numbers.iter().copied().fold(f64::INFINITY, f64::min);
            let from = match column {
                // The target of a forecast is read as its difference from another number of the column.
                0 if self.table.is_forecast() => [least(), most()],
                _ => [*mean; 2],
            };
            let is_held = |_, number: f64| {
                let scaled = from.map(|from| ((number - from) / deviation) as f32);
                scaled.iter().all(|scaled| scaled.is_finite())
            };
            if let Some(row) = largest_not_held(numbers, is_held) {
                return Err(format!(
                    "row {}: {} is {:e}, {}",
                    grouped(row + 1),
                    shorten(name),
                    numbers[row],
                    beyond_f32(*deviation)
                ));
            }
        }
        let times = table.times.as_deref().unwrap_or_default();
        if let [first, .., last] = times
            && !((last - first) / self.step).is_finite()
        {
            return Err(format!(
                "the times {first:e} to {last:e} are too far apart for steps of {:e}",
                self.step
            ));
        }
        Ok(())
    }

    /// The same task under a name of its own.
    pub(super) fn named(self, name: &str, about: &str, source: &str) -> Self {
        Self {
            name: name.into(),
            about: about.into(),
            source: source.into(),
            ..self
        }
    }

    /// The names of the classes. None for a forecast.
    pub fn labels(&self) -> &[String] {
        match &self.table.to_predict {
            Target::Next => &[],
            Target::Classes { labels, .. } => labels,
        }
    }

    /// The number of windows tested at each length.
    pub(super) fn windows(&self) -> usize {
        self.tested.len()
    }

    /// The window of `length` rows from which a row is predicted: the rows before it for a forecast, those up to it for a
    /// class.
    fn window_of(&self, row: usize, length: usize) -> Range<usize> {
        let end = row + usize::from(!self.table.is_forecast());
        end - length..end
    }

    fn sample(&self, row: usize, length: usize) -> Sample {
        let window = self.window_of(row, length);
        let last = window.end - 1;
        let read = self.read_window(&self.table, window);
        match &self.table.to_predict {
            Target::Next => {
                let numbers = &self.table.values[0];
                let next = (numbers[row] - numbers[last]) / self.scale[0].1;
                let times = read.times;
                let sample = Sample::of_number(read.input, length - 1, next as f32);
                Sample { times, ..sample }
            }
            Target::Classes { of_rows, .. } => {
                let answer = Answer {
                    position: length - 1,
                    class: of_rows[row],
                };
                Sample {
                    answers: vec![answer],
                    ..read
                }
            }
        }
    }

    /// The rows of the shortest window of the training.
    pub(super) fn shortest(&self) -> usize {
        *self.train_lengths().start()
    }

    /// In a table of so many rows, those that can be predicted, each with the longest window of the training that it
    /// has. Of a forecast the row after the last is one of them.
    pub(super) fn windows_of(&self, rows: usize) -> Vec<(usize, Range<usize>)> {
        let next = usize::from(self.table.is_forecast());
        let of_row = |end: usize| (end - 1 + next, end - self.window.min(end)..end);
        (self.shortest().max(1)..=rows).map(of_row).collect()
    }

    /// What a model reads of a window of a table with the columns of this one, with an answer to fill in.
    pub(super) fn read_window(&self, table: &Table, window: Range<usize>) -> Sample {
        let last = window.end - 1;
        let width = table.values.len();
        let mut values = Vec::with_capacity(window.len() * width);
        for at in window.clone() {
            for (column, (numbers, (mean, deviation))) in
                table.values.iter().zip(&self.scale).enumerate()
            {
                let from = match column {
                    0 if self.table.is_forecast() => numbers[last],
                    _ => *mean,
                };
                values.push(((numbers[at] - from) / deviation) as f32);
            }
        }
        let input = Input::Vectors { width, values };
        let sample = Sample::new(input, vec![open_answer(window.len() - 1)]);
        let times = table.times.as_ref().map(|times| {
            let first = times[window.start];
            let since = |time: &f64| (time - first) / self.step;
            times[window.clone()].iter().map(since).collect()
        });
        Sample { times, ..sample }
    }
}

/// What each column is scaled by, from the rows of the training. A column of equal numbers is divided by 1.
fn scale(table: &Table, to_train: usize, window: usize) -> Vec<(f64, f64)> {
    let of = |(column, numbers): (usize, &Vec<f64>)| {
        let train = &numbers[..to_train];
        if column == 0 && table.is_forecast() {
            // Differences from the last number of a window, as a model reads them.
            let (mut squares, mut count) = (0.0, 0_usize);
            for (last, number) in train.iter().enumerate() {
                for before in &train[last.saturating_sub(window - 1)..last] {
                    squares += (before - number).powi(2);
                    count += 1;
                }
            }
            return (0.0, or_one((squares / count.max(1) as f64).sqrt()));
        }
        standard(train)
    };
    table.values.iter().enumerate().map(of).collect()
}

fn about(table: &Table) -> String {
    match &table.to_predict {
        Target::Next => format!("your data: the next value of {}", shorten(&table.target)),
        Target::Classes { labels, .. } => format!(
            "your data: which of {} classes {} has at the last row of a window",
            grouped(labels.len()),
            shorten(&table.target)
        ),
    }
}

impl Windows for Series {
    fn rows(&self) -> usize {
        self.to_train
    }

    fn batch_within(&self, part: Range<usize>, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let mut rng = generator("data/series/train", seed, step as u64);
        let length = rng.random_range(self.train_lengths());
        let first = part.start + length - usize::from(!self.table.is_forecast());
        let row = |_| self.sample(rng.random_range(first..part.end), length);
        (0..size).map(row).collect()
    }
}

impl Task for Series {
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
        0
    }

    fn vector_width(&self) -> Option<usize> {
        Some(self.table.values.len())
    }

    /// 1 for a forecast: the number itself.
    fn classes(&self) -> usize {
        self.labels().len().max(1)
    }

    fn readout(&self) -> Readout {
        Readout::PerToken
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        self.window / 2..=self.window
    }

    fn test_lengths(&self) -> Vec<usize> {
        self.lengths.clone()
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        self.batch_within(0..self.to_train, seed, step, size)
    }

    fn windows(&self) -> Option<&dyn Windows> {
        Some(self)
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        if !self.lengths.contains(&length) {
            return Vec::new();
        }
        let rows = self.tested.iter();
        rows.map(|row| self.sample(*row, length)).collect()
    }

    fn measure(&self) -> Measure {
        match self.table.is_forecast() {
            true => Measure::Error {
                unit: shorten(&self.table.target).replace('`', ""),
            },
            false => Measure::Accuracy,
        }
    }

    fn unit(&self) -> f64 {
        match self.table.is_forecast() {
            true => self.scale[0].1,
            false => 1.0,
        }
    }

    fn forecast(&self) -> Option<Forecast> {
        let (numbers, times) = (&self.table.values[0], self.table.times.as_ref());
        let of_rows = |of: &dyn Fn(usize) -> f64| self.tested.iter().map(|row| of(*row)).collect();
        self.table.is_forecast().then(|| Forecast {
            time: match (&self.table.time, times) {
                (Some(name), Some(_)) => name.clone(),
                _ => "row".into(),
            },
            at: of_rows(&|row| times.map_or((row + 1) as f64, |times| times[row])),
            dates: self.table.has_dates(),
            actual: of_rows(&|row| numbers[row]),
            last: of_rows(&|row| numbers[row - 1]),
        })
    }

    fn has_times(&self) -> bool {
        self.table.times.is_some()
    }

    /// The error of the naive forecast, or the share of the most frequent class of the test.
    fn floor(&self, _length: usize) -> f64 {
        let tested = self.tested.iter();
        match &self.table.to_predict {
            Target::Next => {
                let numbers = &self.table.values[0];
                let errors = tested.map(|row| (numbers[*row] - numbers[row - 1]).abs());
                errors.sum::<f64>() / self.tested.len() as f64
            }
            Target::Classes { of_rows, .. } => most_frequent_share(tested.map(|row| of_rows[*row])),
        }
    }

    fn floor_about(&self) -> &str {
        match self.table.is_forecast() {
            true => "the naive forecast: the last value again",
            false => "always the most frequent class",
        }
    }

    fn test_rows(&self) -> TestRows {
        TestRows::Neighbours
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        steps(self.to_train).max(LEAST_STEPS)
    }
}
