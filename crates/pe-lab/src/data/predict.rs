//! Other files, read as those of a study were, for its best model to predict.

use std::path::Path;
use std::sync::Arc;

use super::csv;
use super::error::{DataError, Problem};
use super::labelled::Labelled;
use super::reading::Reading;
use super::rows::{Collector, Labels, Rows, UNLABELLED};
use super::{DataTask, Format, Made, delimiter, images, open, rows_of, series, text};
use crate::door::Entry;
use crate::task::{Answer, Sample, Task};

/// What the best model of a study is to predict.
#[derive(Debug)]
pub struct ToPredict {
    /// What each prediction is about: `row`, or `file`.
    pub about: &'static str,
    /// Which one each is about: the number of the row, from 1, or the name of the file.
    pub names: Vec<String>,
    /// What the model reads of each, with an answer to fill in.
    pub samples: Vec<Sample>,
    /// Of a forecast, the number that each prediction is added to, in the unit of the file.
    pub from: Option<Vec<f64>>,
    /// What the file says of each, if it does: the answer that the prediction should be.
    pub truth: Vec<Option<Truth>>,
    /// What is to be said of the file, in lines for a person.
    pub notes: Vec<String>,
}

/// What a file says of a row that is predicted.
#[derive(Clone, Debug, PartialEq)]
pub enum Truth {
    /// Its label.
    Label(String),
    /// Its number, in the unit of the file.
    Number(f64),
}

impl DataTask {
    /// What there is to predict in another file, or in a folder of images, for the model of one of the tasks. It
    /// is read as the data of the study was. Labels need not be there, and no prediction depends on them. What cannot be used is an error, so that nothing is
    /// without a prediction in silence.
    ///
    /// # Errors
    ///
    /// A [`DataError`] says what is wrong with the file, or that this data is a text.
    pub fn to_predict(&self, task: &str, file: &Path) -> Result<ToPredict, DataError> {
        let of = |path: &Path| {
            let path = path.to_path_buf();
            move |problem| DataError { path, problem }
        };
        match &self.made {
            Made::Rows(tasks) => {
                let known = tasks.iter().find(|known| known.name() == task);
                let reading = self.reading_of_others().map_err(of(&self.source.file))?;
                rows(known.unwrap_or(&tasks[0]), &reading, file).map_err(of(file))
            }
            Made::Images(images) => images::to_predict(images, file).map_err(of(file)),
            Made::Series(series) => {
                series::to_predict(series, &self.spec.reading, file).map_err(of(file))
            }
            Made::Text(_) | Made::Next(_) => Err(of(&self.source.file)(Problem::Reading(
                "it is a text or token ids, and predictions are made for labelled rows, images and series"
                    .into(),
            ))),
        }
    }

    /// How the rows of another file are read: from the columns of the same names.
    fn reading_of_others(&self) -> Result<Reading, Problem> {
        let (file, reading) = (&self.source.file, &self.spec.reading);
        let reading = Reading {
            skip_bad: 0,
            // Groups say how a study divides its rows; to predict, nothing is divided.
            group: None,
            ..reading.clone()
        };
        match self.spec.format {
            Format::Csv => {
                let text = text(open(&self.source.entry(file), &reading)?.1)?;
                let (columns, kind) = csv::token_columns(&text, &reading, delimiter(file))?;
                Ok(Reading {
                    text: None,
                    columns: Some(columns),
                    tokens: Some(kind),
                    ..reading
                })
            }
            _ => Ok(reading),
        }
    }
}

/// The rows of another file. They are numbered, so none is left out.
fn rows(task: &Arc<Labelled>, reading: &Reading, file: &Path) -> Result<ToPredict, Problem> {
    let (format, bytes) = open(&Entry::named(file), reading)?;
    let mut collector = Collector::new(reading.max_len);
    let text = text(bytes)?;
    let notes = rows_of(file, format, &text, reading, Labels::IfAny, &mut collector)?;
    let Rows {
        rows,
        words,
        labels,
        ..
    } = collector.finish();
    let truth = |label: usize| {
        let label = Some(&labels[label]).filter(|label| *label != UNLABELLED)?;
        Some(Truth::Label(match task.causal() {
            false => label.clone(),
            true => task.as_written(label),
        }))
    };
    let sample = |tokens: &[u32]| {
        let words = tokens.iter().map(|token| words[*token as usize].as_str());
        let tokens = task.encode(words);
        // An answer that is written begins after the last token.
        let position = if task.causal() { tokens.len() - 1 } else { 0 };
        Sample::new(tokens, vec![open_answer(position)])
    };
    Ok(ToPredict {
        about: "row",
        names: (1..=rows.len()).map(|row| row.to_string()).collect(),
        samples: rows.iter().map(|row| sample(&row.tokens)).collect(),
        from: None,
        truth: rows.iter().map(|row| truth(row.label)).collect(),
        notes,
    })
}

/// An answer at a position that is to be filled in.
pub(super) fn open_answer(position: usize) -> Answer {
    Answer { position, class: 0 }
}
