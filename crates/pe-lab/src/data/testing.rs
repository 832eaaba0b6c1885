//! What the tests of this folder share: files that are read, and what is said of them.

use std::fmt;
use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::error::{DataError, Problem};
use super::labelled::Labelled;
use super::labels::Labels;
use super::reading::Reading;
use super::rows::{Collector, Row, Rows};
use super::spec::Source;
use super::task::{DataTask, Made};
pub use crate::said::{Says, rows};
use crate::task::{Input, Sample, Task};

/// Settings as `study.toml` has them, with `; ` between two: `label = 'Class'; max_len = 20`.
pub fn settings(text: &str) -> Reading {
    toml::from_str(&text.replace("; ", "\n")).unwrap_or_else(|error| panic!("{text}: {error}"))
}

/// A file of this name and content in a folder.
pub fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, content).unwrap();
    file
}

/// A file of this name and content in a folder, to be read with these [`settings`].
pub fn source(folder: &Path, name: &str, content: impl AsRef<[u8]>, text: &str) -> Source {
    Source {
        reading: settings(text),
        ..Source::from(file(folder, name, content).as_path())
    }
}

/// The task of a file of this name and content, read with these [`settings`], or what is wrong with it. The file is
/// deleted afterwards.
pub fn read(name: &str, content: impl AsRef<[u8]>, text: &str) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    load(&file(folder.path(), name, content), text)
}

/// [`read`] for a file or folder that exists.
pub fn load(file: &Path, text: &str) -> Result<DataTask, DataError> {
    DataTask::read(&Source {
        reading: settings(text),
        ..Source::from(file)
    })
}

/// [`read`] for a file whose rows are divided into so many folds.
pub fn folded(
    name: &str,
    content: impl AsRef<[u8]>,
    text: &str,
    folds: impl Into<Option<usize>>,
) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    DataTask::read(&Source {
        folds: folds.into(),
        ..source(folder.path(), name, content, text)
    })
}

/// [`read`] for a file that is tested on another one, each with its name and content.
pub fn tested_on(
    (name, content): (&str, impl AsRef<[u8]>),
    (other, test): (&str, impl AsRef<[u8]>),
    text: &str,
) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    DataTask::read(&Source {
        test: Some(file(folder.path(), other, test)),
        ..source(folder.path(), name, content, text)
    })
}

pub(super) fn tasks_of_rows(data: &DataTask) -> &[Arc<Labelled>] {
    match &data.made {
        Made::Rows(tasks) => tasks,
        _ => panic!("no labelled rows"),
    }
}

/// Rows of these labels and tokens.
pub(super) fn labelled_rows(rows: impl IntoIterator<Item = (usize, Vec<u32>)>) -> Rows {
    let row = |(label, tokens)| Row { tokens, label };
    let rows: Vec<Row> = rows.into_iter().map(row).collect();
    let labels = rows.iter().map(|row| row.label + 1).max().unwrap_or(0);
    Rows {
        rows,
        labels: (0..labels).map(|label| format!("label {label}")).collect(),
        ..Rows::default()
    }
}

/// The rows that a reader of one format collects with these [`settings`], and what it says of them.
pub(super) fn collected(
    text: &str,
    labels: Labels,
    read: impl FnOnce(&mut Collector) -> Result<Vec<String>, Problem>,
) -> Result<(Rows, Vec<String>), String> {
    let mut rows = Collector::new(&settings(text), labels);
    let notes = read(&mut rows).and_then(|mut notes| {
        notes.extend(rows.end_file()?);
        Ok(notes)
    });
    let notes = notes.map_err(|error| error.to_string())?;
    Ok((rows.finish(), notes))
}

/// The vectors that a model reads, and how many numbers each has.
#[track_caller]
pub fn vectors(input: &Input) -> (usize, &[f32]) {
    match input {
        Input::Vectors { width, values } => (*width, values),
        Input::Tokens(tokens) => panic!("no vectors: {tokens:?}"),
    }
}

/// Everything that is tested.
pub fn tested(task: &dyn Task) -> Vec<Sample> {
    let lengths = task.test_lengths().into_iter();
    lengths.flat_map(|length| task.test_set(length)).collect()
}

/// Everything that a study sees of a task, but the name of its file.
pub fn everything(task: &dyn Task) -> impl PartialEq + fmt::Debug + use<> {
    let about = [task.name(), task.about(), task.floor_about()].map(String::from);
    let counts = [task.vocabulary(), task.classes(), task.steps()];
    let lengths = (task.train_lengths(), task.vector_width(), task.framing());
    let is = [task.has_times(), task.mixes_lengths(), task.causal()];
    let scores = (task.measure(), task.unit(), task.test_rows());
    let tests = task.test_lengths().into_iter().map(|length| {
        let set = task.test_set(length);
        assert!(!set.is_empty());
        (length, task.floor(length), set)
    });
    let tests: Vec<_> = tests.collect();
    let batches = [(1, 0), (1, 1), (1, 2), (1, 3), (1, 4), (7, 40)];
    let batches = batches.map(|(seed, step)| task.train_batch(seed, step, 16));
    (
        (about, counts, lengths, is),
        (scores, task.solved_at(), task.max_tokens()),
        (tests, batches),
    )
}

impl Says for DataTask {
    fn text(&self) -> String {
        self.describe().join("\n")
    }
}
