//! The user's own data as a task.
//!
//! | file | what it holds | the task |
//! |---|---|---|
//! | `.csv`, `.tsv`, `.data` | a header with a column `label`; tokens in all other columns | predict the label |
//! | the same, or JSON lines, with `--id` | a row for each step of a series, and a column that says of which | predict the label of a series |
//! | `.jsonl`, `.ndjson` | `{"label": "x", "tokens": ["a", "b"]}` or `{"label": "x", "text": "a b"}` | predict the label |
//! | `.ts` | a series and its class on each line, as aeon and sktime have them | predict the class |
//! | `.arff` | series or rows of numbers with a nominal class, as the UEA and UCR archive and Weka have them | predict the class |
//! | `.fasta`, `.fa`, `.fna`, `.faa`, `.fastq`, `.fq` | sequences of DNA, RNA or protein; the class is the last word of the header | predict the class |
//! | `.parquet`, `.arrow`, `.feather` | a table, read as its `.csv` would be, or as JSON lines if a column holds lists (feature `parquet`) | as of those |
//! | `.txt`, `.md`, `.log` | plain text | predict the next character or byte, or the masked characters |
//! | `.npy`, `.bin` | token ids: whole numbers in one row | predict the next token |
//! | a table of measurements, with `--target` | a row of numbers for each time, and perhaps the time | predict the next number, or the class |
//! | a folder | a folder of PNG and JPEG files, or of `.txt` files, for each class | predict the class |
//!
//! Each text may be packed by gzip: `.csv.gz` is read as `.csv`.
//!
//! [`Reading`] says how rows are read where the file does not: which column is the label, which hold the tokens,
//! what a token is. The vocabulary, the lengths and the split into training and test data follow from the
//! file. The split is the same for every seed and every scheme. [`DataTask::describe`] says what was found and
//! shows the first rows as they were read.
//!
//! Nothing is dropped or shifted in silence. A file with a line that cannot be used is refused, unless
//! [`Reading::skip_bad`] allows for it; a column that may not hold tokens is asked about; an empty cell is a
//! token of its own, and empty cells at the end of a row end it.

mod alike;
mod arff;
mod binary;
mod channels;
mod class_table;
mod column;
mod columnar;
mod csv;
mod dates;
mod describe;
mod error;
mod fasta;
mod folders;
mod folds;
mod format;
#[cfg(test)]
mod group_tests;
mod header;
#[cfg(test)]
mod held_out_tests;
mod images;
mod json;
mod jsonl;
mod labelled;
mod labels;
mod limits;
mod looks;
mod measured;
mod next;
mod npy;
#[cfg(test)]
mod number_tests;
mod numbered;
mod numbers;
mod open;
mod packed;
mod patches;
mod predict;
mod prediction;
mod quote;
mod reading;
mod records;
mod rows;
mod sequences;
mod series;
mod sheet;
mod spec;
mod split;
mod stamps;
mod suspect;
mod target;
#[cfg(test)]
mod target_tests;
mod task;
#[cfg(test)]
pub(crate) mod testing;
#[cfg(test)]
mod tests;
mod text;
mod texts;
#[cfg(test)]
mod time_tests;
mod times;
mod together;
#[cfg(feature = "tokenizers")]
mod tokenizer;
mod ts;
mod untaken;
mod vocabulary;
mod ways;

use std::path::Path;
use std::sync::Arc;

pub use error::DataError;
pub use format::{Format, predicts_next};
pub use images::digits_32;
pub use limits::NAME;
pub use next::check_train_length;
pub use prediction::{ToPredict, Truth};
pub(crate) use quote::{shell_word, shorten};
pub use reading::{Objective, Reading, TokenKind};
pub use series::co2;
pub use spec::{DataSpec, FileSpec, Known, Source, digest, digest_of};
pub use task::{DataTask, is_own};

use crate::task::{NextToken, Sample, Task};

use error::{Problem, of, refuse};
use folds::labelled;
use labelled::Labelled;
use labels::Labels;
use open::{checked_format, classes, open, rows_of};
use rows::Collector;
pub(crate) use sheet::Cells;
use sheet::Form;
use spec::{digest_and_size, name_of};
use task::Made;
use text::MaskedText;

impl DataTask {
    /// Reads a data file without further settings.
    ///
    /// # Errors
    ///
    /// See [`DataTask::read`].
    pub fn load(path: &Path) -> Result<Self, DataError> {
        Self::read(&Source::from(path))
    }

    /// Reads data files.
    ///
    /// # Errors
    ///
    /// A [`DataError`] says what is wrong with which file, on which lines, and what to do.
    pub fn read(source: &Source) -> Result<Self, DataError> {
        let data = read(source)?;
        data.check_floors().map_err(of(&source.file))?;
        Ok(data)
    }
}

fn read(source: &Source) -> Result<DataTask, DataError> {
    if texts::are_in(source) {
        return texts::read(source).map_err(of(&source.file));
    }
    if images::are_in(source) && source.tokenizer.is_none() {
        return images::read(source).map_err(of(&source.file));
    }
    let format = checked_format(&source.entry(&source.file), &source.reading);
    let format = format.map_err(of(&source.file))?;
    let is_text = matches!(format, Format::Text | Format::Ids);
    if is_text {
        refuse_other_tests(source, "a plain text, the last tenth").map_err(of(&source.file))?;
    }
    let beside = source.with_test_beside().filter(|_| !is_text);
    let found = beside.is_some();
    let source = beside.as_ref().unwrap_or(source);
    let (file, reading) = (&source.file, &source.reading);
    let entry = source.entry(file);
    if source.tokenizer.is_some() || format.is_windowed(reading) {
        return windowed(source, format).map_err(of(file));
    }
    let (format, spec, text) = open(&entry, reading).map_err(of(file))?;
    let mut spec = DataSpec {
        folds: source.folds,
        ..DataSpec::new(spec, format, reading)
    };
    let (made, description) = if format == Format::Series {
        refuse_other_tests(source, "a series, the last fifth").map_err(of(file))?;
        let made = series::read(&text, reading, Form::of(file, &text), &spec.file);
        let (task, description) = made.map_err(of(file))?;
        (Made::Series(Arc::new(task)), description)
    } else if format == Format::Text && reading.is_next() {
        let made = next::of_text(&text.replace("\r\n", "\n"), &spec.file, reading);
        let (task, mut description) = made.map_err(of(file))?;
        description.extend(as_table(&text).into_iter().chain(first_windows(&task)));
        (Made::Next(Arc::new(task)), description)
    } else if format == Format::Text {
        let made = MaskedText::new(&text.replace("\r\n", "\n"), &spec.file);
        let (task, mut description) = made.map_err(of(file))?;
        description.extend(as_table(&text));
        (Made::Text(Arc::new(task)), description)
    } else {
        let (tasks, description) = of_rows(source, found, &text, &mut spec)?;
        (Made::Rows(tasks), description)
    };
    Ok(DataTask::of_file(source, spec, description, made))
}

/// The tasks of labelled rows, and a description of them. `is_beside` says that the test file was found beside the data
/// file, and that no flag named it. The digests of the test file and of the table of classes go to `spec`.
fn of_rows(
    source: &Source,
    is_beside: bool,
    text: &str,
    spec: &mut DataSpec,
) -> Result<(Vec<Arc<Labelled>>, Vec<String>), DataError> {
    let (file, test, reading) = (&source.file, &source.test, &source.reading);
    let mut collector = Collector::new(reading, Labels::Needed);
    collector.classes = classes(source, spec.format, reading).map_err(of(file))?;
    let mut notes = rows_of(file, spec.format, text, &mut collector).map_err(of(file))?;
    let in_file = collector.len();
    if let Some(test) = test {
        let (format, kept, text) = open(&source.entry(test), reading).map_err(of(test))?;
        let more = rows_of(test, format, &text, &mut collector).map_err(of(test))?;
        notes.push(format!(
            "tested on the rows of {}{}",
            kept.file,
            match is_beside {
                true => ", which lies beside it",
                false => "",
            }
        ));
        let said = |note| format!("{}: {note}", kept.file);
        notes.extend(more.into_iter().map(said));
        spec.test = Some(kept);
    }
    notes.extend(collector.classes.iter().flat_map(|table| table.describe()));
    if let Some(file) = &source.labels {
        spec.labels = Some(spec_of(source, file).map_err(of(file))?);
    }
    let mut rows = collector.finish();
    notes.extend(rows.settle_times(false));
    // A problem of the test is reported with the name of the test file.
    let tasks = labelled(&rows, spec, in_file);
    let (tasks, mut description) = tasks.map_err(|problem| match (&problem, test) {
        (Problem::Test(_) | Problem::Unknown { .. }, Some(test)) => of(test)(problem),
        _ => of(file)(problem),
    })?;
    description.extend(notes);
    Ok((tasks, description))
}

/// What identifies a file of the data.
fn spec_of(source: &Source, file: &Path) -> Result<FileSpec, Problem> {
    let (sha256, bytes) = digest_and_size(source.entry(file).open()?)?;
    let file = name_of(file);
    Ok(FileSpec {
        file,
        sha256,
        bytes,
    })
}

/// Refuses settings that are for labelled rows alone. `held_out` names the data and the part of them that is the test.
fn refuse_other_tests(source: &Source, held_out: &str) -> Result<(), Problem> {
    let test = source.test.as_ref().map(|_| "--test");
    let folds = || source.folds.map(|_| "--folds");
    let labels = || source.labels.as_ref().map(|_| "--labels");
    let why = format!("is for labelled rows; of {held_out} is the test");
    refuse(test.or_else(folds).or_else(labels), &why)
}

/// The task of a file that is read window by window, or by a tokenizer.
fn windowed(source: &Source, format: Format) -> Result<DataTask, Problem> {
    let (file, reading, known) = (&source.file, &source.reading, source.known.as_ref());
    let (name, entry) = (name_of(file), source.entry(file));
    let vocabulary = known.and_then(|known| known.vocabulary);
    let is_next_text = format == Format::Text && reading.is_next() && reading.tokens.is_none();
    let (task, mut description) = match &source.tokenizer {
        None => next::of_file(&entry, &name, format, reading, vocabulary)?,
        Some(_) if !is_next_text => {
            return Err(Problem::Reading(
                "--tokens FILE names the tokenizer of a text (.txt, .md, .log) whose next token is predicted".into(),
            ));
        }
        Some(tokenizer) => {
            let text = || Ok(open(&entry, reading)?.2.replace("\r\n", "\n"));
            let ids = known.and_then(|known| known.ids.as_deref());
            let (tokenizer, ids) = (source.entry(tokenizer), ids.map(|ids| source.entry(ids)));
            next::of_tokenizer(text, &name, &tokenizer, reading, ids.as_ref())?
        }
    };
    description.extend(first_windows(&task));
    let kept = match known {
        Some(known) => FileSpec {
            file: name,
            sha256: known.sha256.clone(),
            bytes: entry.open()?.metadata()?.len(),
        },
        None => spec_of(source, file)?,
    };
    let spec = DataSpec {
        vocabulary: (format == Format::Ids).then(|| task.vocabulary()),
        tokenizer: (source.tokenizer.as_ref())
            .map(|tokenizer| spec_of(source, tokenizer))
            .transpose()?,
        ..DataSpec::new(kept, format, reading)
    };
    let made = Made::Next(Arc::new(task));
    Ok(DataTask::of_file(source, spec, description, made))
}

/// What is said of a text that may be a table.
fn as_table(text: &str) -> Option<String> {
    let table = looks::table_in(text)?;
    Some(format!(
        "it is read as a plain text, and looks like {table}"
    ))
}

fn first_windows(task: &NextToken) -> Vec<String> {
    let shown = |(number, sample): (usize, Sample)| {
        format!(
            "test window {} as read: {:?}",
            number + 1,
            task.text(sample.input.tokens())
        )
    };
    let first = task.test_lengths().first().copied().unwrap_or(0);
    let windows = task.test_set(first).into_iter().take(2);
    windows.enumerate().map(shown).collect()
}
