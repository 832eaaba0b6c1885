//! What can be wrong with the user's data. Each message says which file, where in it, and what to do.

use std::fmt;
use std::path::{Path, PathBuf};

use super::limits::{MAX_BYTES, MAX_CLASSES, MAX_COLUMNS, MAX_ROWS, MIN_ROWS};
use super::quote::{counted, grouped, shorten};
use crate::grouped::agreeing;

/// A message lists this many bad rows or classes and counts the rest.
pub(super) const SHOWN: usize = 5;

/// A data file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct DataError {
    path: PathBuf,
    problem: Problem,
}

/// Says of which file a problem is.
pub(super) fn of(path: &Path) -> impl FnOnce(Problem) -> DataError + use<> {
    let path = path.to_path_buf();
    move |problem| DataError { path, problem }
}

/// What is wrong with a data file.
#[derive(Debug, thiserror::Error)]
pub(super) enum Problem {
    /// The file is not there, or may not be read.
    #[error("cannot be read: {0}; check the path")]
    Unreadable(#[from] std::io::Error),
    /// A file name that does not say what the file holds.
    #[error(
        "cannot tell what is in this file from its name; {looks}. The names of data files end in .csv, .tsv \
         or .data (labelled rows of a table), .jsonl or .ndjson (labelled JSON lines), .ts or .arff (labelled series), .fasta or .fastq (sequences with \
         their class), .txt, .md or .log (plain text), each of them perhaps with .gz behind it, .parquet, .arrow or .feather (a table), or .npy or .bin (token ids). A table of any name is read if --label says which column is the label, or --target which column of a \
         series is to be predicted"
    )]
    Extension { looks: String },
    /// Anything else, said where it is found.
    #[error("{0}")]
    Other(String),
    /// A setting of how to read the file is wrong.
    #[error("{0}")]
    Reading(String),
    #[error(
        "has {} bytes, more than the {} that are read; take a part of it",
        grouped(*bytes as usize),
        grouped(MAX_BYTES as usize)
    )]
    TooLarge { bytes: u64 },
    #[error(
        "line {} has {} columns, more than {}; leave some out, or write the tokens of a row into one column",
        grouped(*line),
        grouped(*columns),
        grouped(MAX_COLUMNS)
    )]
    TooManyColumns { line: usize, columns: usize },
    #[error("is empty")]
    Empty,
    #[error(
        "{flag} names {}, and there is no such column; the columns are: {columns}",
        shorten(name)
    )]
    NoColumn {
        flag: &'static str,
        name: String,
        columns: String,
    },
    #[error("{}", bad_images(*count, shown))]
    BadImages { count: usize, shown: Vec<BadImage> },
    #[error("{}", bad_lines(*count, shown, *can_skip))]
    Lines {
        count: usize,
        shown: Vec<BadLine>,
        /// Whether they could be left out.
        can_skip: bool,
    },
    #[error("has no row of data; it takes at least {MIN_ROWS}")]
    NoRow,
    #[error("has more than {} rows; take a sample of them", grouped(MAX_ROWS))]
    TooManyRows,
    #[error(
        "all {} rows have the label {}, so there is nothing to tell apart; it takes two labels",
        grouped(*rows),
        shorten(label)
    )]
    OneClass { rows: usize, label: String },
    /// More labels than a small classifier can learn.
    #[error(
        "has {} different labels, more than {}; a label is a class and not the name of a row. If labels are numbers, --objective number \
         predicts the number",
        grouped(*classes),
        grouped(MAX_CLASSES)
    )]
    TooManyClasses { classes: usize },
    /// Most of what is tested never occurs in training.
    #[error(
        "{percent:.0} % of the tokens of the test {lack}, such as {}, so there is \
         nothing to learn from them; {others}leave columns out with --text or --columns",
        shorten(example)
    )]
    Unknown {
        percent: f64,
        /// What they do not do: occur in training, or be among its most frequent.
        lack: String,
        example: String,
        /// The kinds of tokens to try, before what else helps.
        others: String,
    },
    #[error("the test cannot be scored: {0}")]
    Test(String),
}

/// Refuses a setting of this flag, if there is one. `why` goes on behind the flag.
pub(super) fn refuse(flag: Option<impl fmt::Display>, why: &str) -> Result<(), Problem> {
    match flag {
        None => Ok(()),
        Some(flag) => Err(Problem::Reading(format!("{flag} {why}"))),
    }
}

impl Problem {
    /// This problem, said of a file that is read as the data of a study were: no flag of `compare` can change how that is
    /// done.
    pub fn of_another_file(self) -> Self {
        match self {
            Self::Lines { count, shown, .. } => Self::Other(format!(
                "{}\nEvery line is predicted, so none can be left out",
                bad_lines(count, &shown, false)
            )),
            Self::BadImages { count, shown } => Self::Other(format!(
                "{}\nEvery file is predicted; take away those that cannot be used",
                list(cannot_be_used(count), count, &shown)
            )),
            Self::NoColumn { name, columns, .. } => Self::Other(format!(
                "has no column {}, which the study reads; its columns are {columns}",
                shorten(&name)
            )),
            other => other,
        }
    }

    /// The name of a file does not say what it holds, and its content was not looked at yet.
    pub(super) fn unknown_name() -> Self {
        Self::Extension {
            looks: String::new(),
        }
    }

    /// One line alone cannot be used, and it may not be left out: nobody could tell what the lines around it are.
    pub(super) fn at_line(line: usize, what: String) -> Self {
        Self::Lines {
            count: 1,
            shown: vec![BadLine { line, what }],
            can_skip: false,
        }
    }
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadLine {
    /// Its number, counted from 1. For a row of several lines, that of the first line.
    pub line: usize,
    /// What is wrong, and what to do.
    pub what: String,
}

impl fmt::Display for BadLine {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "line {}: {}", self.line, self.what)
    }
}

/// An image file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct BadImage {
    pub path: PathBuf,
    pub what: String,
}

impl fmt::Display for BadImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.what)
    }
}

/// A headline, a line for each item shown, and the number of items that are not shown.
pub(super) fn list<T: fmt::Display>(headline: String, count: usize, shown: &[T]) -> String {
    let mut text = headline;
    for one in shown {
        text.push_str(&format!("\n  {one}"));
    }
    if count > shown.len() {
        text.push_str(&format!("\n  and {} more", grouped(count - shown.len())));
    }
    text
}

fn bad_lines(count: usize, shown: &[BadLine], can_skip: bool) -> String {
    let advice = can_skip.then(|| how_to_skip(count));
    list(counted(count, "bad line"), count, shown) + &advice.unwrap_or_default()
}

fn how_to_skip(count: usize) -> String {
    let them = agreeing(count, "it", "them");
    format!("\nTo leave {them} out, say --skip-bad {count}")
}

fn bad_images(count: usize, shown: &[BadImage]) -> String {
    list(cannot_be_used(count), count, shown) + &how_to_skip(count)
}

fn cannot_be_used(count: usize) -> String {
    format!("{} cannot be used", counted(count, "file"))
}
