//! Other files, read as those of a study were, for its best model to predict.

use std::collections::HashSet;
use std::fs::{self, File};
use std::path::Path;
use std::sync::Arc;

use super::class_table::ClassTable;
use super::csv;
use super::error::{DataError, Problem, of};
use super::format::Format;
use super::labelled::Labelled;
use super::labels::UNLABELLED;
use super::numbers::finite;
use super::open::{classes as classes_of, open, rows_of};
use super::prediction::{ToPredict, Truth, open_answer};
use super::quote::{column_called, counted, grouped, shorten};
use super::reading::{Reading, TokenKind};
use super::rows::{Collector, Row, Rows};
use super::sheet::Form;
use super::spec::digest_and_size;
use super::task::{DataTask, Made};
use super::texts::{self, Part};
use super::ways::Ways;
use super::{images, series};
use crate::door::Entry;
use crate::grouped::first_of;
use crate::task::{Sample, Task, hash_of_input};

impl DataTask {
    /// What there is to predict in another file, or in a folder of images or texts, for the model of one of the tasks. It
    /// is read as the data of the study was. Labels need not be there, and no prediction depends on them. What cannot be used is an error, so that nothing is
    /// without a prediction in silence.
    ///
    /// # Errors
    ///
    /// A [`DataError`] says what is wrong with the file, or that this data is a text.
    pub fn to_predict(&self, task: &str, file: &Path) -> Result<ToPredict, DataError> {
        let mut found = self.found_in(task, file)?;
        if self.is_own(file) {
            found.notes.push("this is the file of the study, a part of which the model was trained on: what is right here says little of other files".into());
        } else {
            let known = self.trained_inputs(task);
            let among = found
                .samples
                .iter()
                .filter(|sample| known.contains(&hash_of_input(sample)));
            match among.count() {
                0 => {}
                among => found.notes.push(format!(
                    "the model was trained on {} of the {}: what is right of these says little of others",
                    grouped(among),
                    counted(found.samples.len(), "input")
                )),
            }
        }
        Ok(found)
    }

    /// What identifies the inputs that the model of a task was trained on, where they are rows or images.
    fn trained_inputs(&self, task: &str) -> HashSet<u64> {
        match &self.made {
            Made::Rows(tasks) => {
                let known = tasks.iter().find(|known| known.name() == task);
                known.unwrap_or(&tasks[0]).trained_inputs()
            }
            Made::Images(images) => images.trained_inputs(),
            _ => HashSet::new(),
        }
    }

    /// Whether it has the same bytes as the data of the study.
    fn is_own(&self, file: &Path) -> bool {
        let size = fs::metadata(file).map(|of| of.len());
        size.is_ok_and(|size| size == self.spec.bytes)
            && File::open(file)
                .and_then(digest_and_size)
                .is_ok_and(|(sha256, _)| sha256 == self.spec.sha256)
    }

    fn found_in(&self, task: &str, file: &Path) -> Result<ToPredict, DataError> {
        match &self.made {
            Made::Rows(tasks) => {
                let known = tasks.iter().find(|known| known.name() == task);
                let reading = self.reading_of_others().map_err(of(&self.source.file))?;
                let known = known.unwrap_or(&tasks[0]);
                let may_be_texts =
                    self.spec.format == Format::JsonLines && texts::may_be_of(&reading);
                let is_text = file.is_dir() || file.extension().is_some_and(|of| of == "txt");
                let found = match may_be_texts && is_text {
                    true => of_texts(file, &reading, &known.labels),
                    false => {
                        let classes = classes_of(&self.source, self.spec.format, &reading);
                        let classes = classes.map_err(of(&self.source.file))?;
                        of_file(known, file, &reading, classes)
                    }
                };
                let found = found.and_then(|found| to_predict(known, found));
                found.map_err(of(file))
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
        let file = &self.source.file;
        let text = |reading: &Reading| {
            let (_, _, text) = open(&self.source.entry(file), reading)?;
            let form = Form::of(file, &text);
            Ok::<_, Problem>((text, form))
        };
        let mut reading = Reading {
            skip_bad: 0,
            ..self.spec.reading.clone()
        };
        match self.spec.format {
            Format::Csv | Format::JsonLines if reading.id.is_some() => {
                let (text, form) = text(&reading)?;
                reading.columns = Some(series::channels_of(&text, &reading, form)?);
            }
            Format::Csv => {
                let (text, form) = text(&reading)?;
                let (columns, kind) = csv::token_columns(&text, &reading, form)?;
                reading.text = None;
                reading.columns = Some(columns);
                reading.tokens = Some(kind);
            }
            // The file alone may not tell what its lists hold.
            Format::JsonLines => {
                reading.tokens = match &self.made {
                    Made::Rows(tasks) if tasks[0].measured.is_some() => Some(TokenKind::Numbers),
                    _ => reading.tokens.or(Some(TokenKind::Words)),
                };
            }
            // Tables and JSON lines of such sequences are read letter by letter too.
            Format::Fasta => reading.tokens = Some(TokenKind::Characters),
            _ => {}
        }
        // Groups say how a study divides its rows; to predict, nothing is divided.
        reading.group = None;
        Ok(reading)
    }
}

/// Rows that were read from another file or folder, all of them with names.
struct Found {
    rows: Rows,
    about: &'static str,
    notes: Vec<String>,
}

/// The rows of another file. They are numbered, or have names, so none is left out.
fn of_file(
    task: &Labelled,
    file: &Path,
    reading: &Reading,
    classes: Option<ClassTable>,
) -> Result<Found, Problem> {
    let (format, _, text) = open(&Entry::named(file), reading)?;
    if let (Some(columns), false) = (&reading.columns, format == Format::Csv)
        && reading.id.is_none()
    {
        return Err(Problem::Other(format!(
            "is no table, and the study was made of one: write it as a table (CSV) with what the study reads, {}",
            first_of(columns.iter().map(|column| column_called(column)), 4)
        )));
    }
    let mut rows = Collector::to_predict(reading, task.ways, &task.labels);
    rows.classes = classes;
    if task.target.is_some() {
        rows.ask_numbers();
    }
    let notes = rows_of(file, format, &text, &mut rows);
    let notes = notes.map_err(Problem::of_another_file)?;
    let mut rows = rows.finish();
    let mut about = "series";
    if rows.names.is_empty() {
        about = "row";
        rows.names = (1..=rows.rows.len()).map(|row| row.to_string()).collect();
    }
    Ok(Found { rows, about, notes })
}

/// A text, or those of a folder, each of them a row.
fn of_texts(path: &Path, reading: &Reading, labels: &[String]) -> Result<Found, Problem> {
    let part = Part::to_predict(path, labels)?;
    let mut rows = Collector::to_predict(reading, Ways::default(), labels);
    let notes = part.rows(&mut rows).map_err(Problem::of_another_file)?;
    let (names, about) = (part.names(), "file");
    let rows = Rows {
        names,
        ..rows.finish()
    };
    Ok(Found { rows, about, notes })
}

/// What there is to predict of these rows.
fn to_predict(task: &Arc<Labelled>, found: Found) -> Result<ToPredict, Problem> {
    let (mut rows, mut notes) = (found.rows, found.notes);
    match (&task.times, &rows.times) {
        (Some(unit), Some(times)) => unit.check(times)?,
        (Some(_), None) => {
            return Err(Problem::Other(
                "its series have no times, and those of the study have: with @timeStamps true, or the column of --time".into(),
            ));
        }
        (None, _) => notes.extend(rows.settle_times(true)),
    }
    let times = task.times.as_ref().zip(rows.times.as_ref());
    let truth = |label: &String| {
        let label = Some(label).filter(|label| *label != UNLABELLED)?;
        match (task.causal(), &task.target) {
            (true, _) => Some(Truth::Label(task.as_written(label))),
            (false, None) => Some(Truth::Label(label.clone())),
            (false, Some(_)) => finite(label).map(Truth::Number),
        }
    };
    notes.extend(unknown_tokens(task, &rows));
    let all = || rows.rows.iter();
    let sample = |(row, Row { tokens, .. }): (usize, &Row)| {
        let words = (tokens.iter()).map(|token| rows.words[*token as usize].as_str());
        let input = task.encode(&words.collect::<Vec<_>>());
        let input =
            input.map_err(|what| Problem::Other(format!("row {}: {what}", grouped(row + 1))))?;
        // An answer that is written begins after the last token.
        let position = if task.causal() { input.len() - 1 } else { 0 };
        Ok(Sample {
            times: times.map(|(unit, times)| unit.positions(times.row(row))),
            ..Sample::new(input, vec![open_answer(position)])
        })
    };
    Ok(ToPredict {
        about: found.about,
        samples: all()
            .enumerate()
            .map(sample)
            .collect::<Result<_, Problem>>()?,
        from: task
            .target
            .as_ref()
            .map(|target| vec![target.mean; all().len()]),
        truth: all().map(|row| truth(&rows.labels[row.label])).collect(),
        names: rows.names,
        notes,
    })
}

/// What is said of tokens that are not in the vocabulary of the study; `None` where all are, and where tokens are numbers.
fn unknown_tokens(task: &Labelled, rows: &Rows) -> Option<String> {
    let words = || {
        let tokens = rows.rows.iter().flat_map(|row| &row.tokens);
        tokens.map(|token| rows.words[*token as usize].as_str())
    };
    let mut unknown = words().filter(|word| !task.knows(word));
    let first = unknown.next()?;
    Some(format!(
        "{} of the {} tokens are not in the vocabulary of the study, such as {}: all of them are read as one unknown token",
        grouped(1 + unknown.count()),
        grouped(words().count()),
        shorten(first)
    ))
}
