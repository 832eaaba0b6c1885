//! The tasks that are made of the user's data.

use std::fmt;
use std::path::PathBuf;
use std::sync::Arc;

use super::error::Problem;
use super::images::Images;
use super::labelled::Labelled;
use super::limits::NAME;
use super::series::Series;
use super::spec::{DataSpec, Source};
use super::text::MaskedText;
use crate::task::{Measure, NextToken, Task};

/// A task made of the user's data.
///
/// ```
/// use pe_lab::data::DataTask;
///
/// let folder = tempfile::tempdir()?;
/// let path = folder.path().join("order.csv");
/// let rows = (0..30).map(|i| format!("first,a b {i}\nsecond,b a {i}\n"));
/// std::fs::write(&path, format!("label,text\n{}", rows.collect::<String>()))?;
///
/// let data = DataTask::load(&path)?;
/// assert_eq!(data.task().classes(), 2);
/// assert_eq!(data.describe()[0], "60 rows of labelled sequences");
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub struct DataTask {
    pub(super) spec: DataSpec,
    pub(super) source: Source,
    pub(super) description: Vec<String>,
    /// The files and folders that were read and that the fewest may read: the file itself, or images of a folder and the
    /// folders that they are in.
    pub(super) private: Vec<PathBuf>,
    /// What a study keeps in the place of a copy, where the data is a folder of texts: the rows, and those to test on.
    pub(super) packed: Vec<Vec<u8>>,
    pub(super) made: Made,
}

/// The tasks made of a file: one of a text, and one of rows for each fold.
pub(super) enum Made {
    Rows(Vec<Arc<Labelled>>),
    Text(Arc<MaskedText>),
    Next(Arc<NextToken>),
    Images(Arc<Images>),
    Series(Arc<Series>),
}

impl fmt::Debug for DataTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("DataTask");
        out.field("spec", &self.spec).finish_non_exhaustive()
    }
}

/// Whether a task of this name is made of the user's data.
pub fn is_own(task: &str) -> bool {
    task == NAME || task.starts_with(FOLD)
}

/// How the name of the task of a fold begins.
pub(super) const FOLD: &str = "data-fold-";

impl DataTask {
    /// What was made of one file, of which a study keeps a copy.
    pub(super) fn of_file(
        source: &Source,
        spec: DataSpec,
        description: Vec<String>,
        made: Made,
    ) -> Self {
        Self {
            spec,
            source: source.clone(),
            description,
            private: vec![source.file.clone()],
            packed: Vec::new(),
            made,
        }
    }

    /// What identifies the data.
    pub fn spec(&self) -> &DataSpec {
        &self.spec
    }

    /// The files that it was read from, and how.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// The files and folders that were read and that the fewest may read: nobody else is to read what is made of the
    /// data.
    pub fn private(&self) -> &[PathBuf] {
        &self.private
    }

    /// What was found in the file and how it is used, in lines for a person.
    pub fn describe(&self) -> &[String] {
        &self.description
    }

    /// What a person is to be warned of, if anything. It is a line of [`describe`](Self::describe) too.
    pub fn warning(&self) -> Option<&str> {
        match &self.made {
            Made::Rows(tasks) => tasks[0].warning.as_deref(),
            _ => None,
        }
    }

    /// The task, or the first one if there are folds.
    pub fn task(&self) -> Arc<dyn Task> {
        self.tasks().swap_remove(0)
    }

    /// The task, whose name is [`NAME`], or a task for each fold: `data-fold-1`, `data-fold-2` and so on.
    pub fn tasks(&self) -> Vec<Arc<dyn Task>> {
        match &self.made {
            Made::Rows(tasks) => tasks.iter().map(|task| task.clone() as _).collect(),
            Made::Text(task) => vec![task.clone()],
            Made::Next(task) => vec![task.clone()],
            Made::Images(task) => vec![task.clone()],
            Made::Series(task) => vec![task.clone()],
        }
    }

    /// Refuses a test whose floor is as good as a score can be: it could not tell schemes apart.
    pub(super) fn check_floors(&self) -> Result<(), Problem> {
        for task in self.tasks() {
            for length in task.test_lengths() {
                let floor = task.floor(length);
                let can_be_beaten = match task.measure() {
                    Measure::Accuracy | Measure::ExactMatch | Measure::Given => floor < 1.0,
                    // Even if all tokens are the same, the floor is above 0: every possible token is counted once more.
                    Measure::Bits { .. } => floor > 1e-3,
                    Measure::Error { .. } => floor > 0.0,
                };
                if !can_be_beaten {
                    return Err(Problem::Other(format!(
                        "all answers of its test at length {length} are the same, so that no model can beat the floor ({}); it \
                         takes answers that differ",
                        task.floor_about()
                    )));
                }
            }
        }
        Ok(())
    }

    /// Writes the tokens that a tokenizer made of a text to a file, of four bytes each. Without a tokenizer
    /// nothing is written.
    ///
    /// # Errors
    ///
    /// When the file cannot be written.
    pub fn write_ids(&self, file: &mut impl std::io::Write) -> std::io::Result<()> {
        match (&self.made, &self.spec.tokenizer) {
            (Made::Next(task), Some(_)) => {
                let mut out = std::io::BufWriter::new(file);
                task.write(&mut out)?;
                std::io::Write::flush(&mut out)
            }
            _ => Ok(()),
        }
    }

    /// The labels, in the order of the classes. None for a plain text, and where a number is predicted.
    pub fn labels(&self) -> &[String] {
        match &self.made {
            Made::Rows(tasks) if tasks[0].target.is_none() => &tasks[0].labels,
            Made::Rows(_) | Made::Text(_) | Made::Next(_) => &[],
            Made::Images(task) => task.labels(),
            Made::Series(task) => task.labels(),
        }
    }

    /// The bytes of the file in which a study keeps the data, where it is not a copy of the file that was
    /// read: images are kept decoded, and texts of a folder as lines of one file.
    pub fn packed(&self) -> Option<&[u8]> {
        match &self.made {
            Made::Images(task) => Some(task.bytes()),
            _ => self.packed.first().map(Vec::as_slice),
        }
    }

    /// [`packed`](Self::packed) for the file of rows to test on.
    pub fn packed_test(&self) -> Option<&[u8]> {
        self.packed.get(1).map(Vec::as_slice)
    }
}
