//! What can be wrong with the user's data. Each message says which file, where in it, and what to do.

use std::fmt;
use std::path::PathBuf;

use super::limits::{MAX_BYTES, MAX_CLASSES, MAX_ROWS, MIN_CHARACTERS, MIN_ROWS};
use super::quote::{grouped, shorten};

/// A message lists this many bad rows or classes and counts the rest.
pub(super) const SHOWN: usize = 5;

/// A data file that cannot be used.
#[derive(Debug, thiserror::Error)]
#[error("{}: {problem}", path.display())]
pub struct DataError {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub problem: Problem,
}

/// What is wrong with a data file.
#[derive(Debug, thiserror::Error)]
pub enum Problem {
    /// The file is not there, or may not be read.
    #[error("cannot be read: {0}; check the path")]
    Unreadable(#[from] std::io::Error),
    /// A folder or a device.
    #[error("is not a file; name the file that holds the data")]
    NotAFile,
    /// A file name that does not say what the file holds.
    #[error(
        "cannot tell what is in this file from its name; the names of data files end in .csv \
         (labelled rows), .jsonl or .ndjson (labelled JSON lines) or .txt (plain text)"
    )]
    Extension,
    /// A file of more than [`MAX_BYTES`].
    #[error(
        "has {} bytes, more than the {} that are read; take a part of it",
        grouped(*bytes as usize),
        grouped(MAX_BYTES as usize)
    )]
    TooLarge {
        /// The size of the file.
        bytes: u64,
    },
    /// An empty file, or one of white space.
    #[error("is empty")]
    Empty,
    /// Text in UTF-16.
    #[error("looks like UTF-16; save it as UTF-8")]
    Utf16,
    /// The header of a CSV file has no column `label`, or more than one.
    #[error(
        "{} columns of the header (line {line}) are called `label`, and it takes exactly one; \
         the columns, separated by commas, are: {columns}",
        if *labels == 0 { "no".to_string() } else { labels.to_string() }
    )]
    Header {
        /// Where the header is.
        line: usize,
        /// How many columns are called `label`.
        labels: usize,
        /// The names of the columns.
        columns: String,
    },
    /// A CSV file whose only column is `label`.
    #[error("has no column beside `label`; the tokens are in all the other columns")]
    NoTokenColumn,
    /// Lines that cannot be used.
    #[error("{}", bad_lines(*count, shown))]
    Lines {
        /// How many lines are bad.
        count: usize,
        /// The first of them.
        shown: Vec<BadLine>,
    },
    /// A file without rows.
    #[error("has no row of data; it takes at least {MIN_ROWS}")]
    NoRow,
    /// Too few rows to train on some and test on others.
    #[error(
        "has {rows} rows, too few to train on some and test on others; it takes at least {MIN_ROWS}"
    )]
    TooFewRows {
        /// The number of rows.
        rows: usize,
    },
    /// Too many rows.
    #[error("has more than {} rows; take a sample of them", grouped(MAX_ROWS))]
    TooManyRows,
    /// All rows have the same label.
    #[error(
        "all {} rows have the label {}, so there is nothing to tell apart; it takes two labels",
        grouped(*rows),
        shorten(label)
    )]
    OneClass {
        /// The number of rows.
        rows: usize,
        /// Their label.
        label: String,
    },
    /// More labels than a small classifier can learn.
    #[error(
        "has {} different labels, more than {}; a label is a class, not a number to predict or \
         the name of a row",
        grouped(*classes),
        grouped(MAX_CLASSES)
    )]
    TooManyClasses {
        /// The number of different labels.
        classes: usize,
    },
    /// Classes with too few sequences to be both in training and in the test.
    #[error("{}", small_classes(*count, shown))]
    SmallClasses {
        /// How many such classes there are.
        count: usize,
        /// The first of them.
        shown: Vec<SmallClass>,
    },
    /// All sequences have one token, so there is no order to learn.
    #[error(
        "no row has more than one token, so positions cannot matter; separate tokens by spaces \
         or columns"
    )]
    OneToken,
    /// Too little text.
    #[error(
        "has {characters} characters, too few to train on some and test on others; it takes at \
         least {}",
        grouped(MIN_CHARACTERS)
    )]
    TooFewCharacters {
        /// The number of characters.
        characters: usize,
    },
    /// A text whose test has only one answer.
    #[error(
        "nothing is left to guess in the last tenth of the text, which is kept for the test: \
         every character asked for at length {length} is {character:?}"
    )]
    OneCharacter {
        /// The length of the test.
        length: usize,
        /// The one answer.
        character: String,
    },
}

/// A line that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadLine {
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

/// A class without two different sequences.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SmallClass {
    /// Its label.
    pub label: String,
    /// Its rows.
    pub rows: usize,
    /// The number of different sequences among them that do not occur earlier under another label.
    pub sequences: usize,
}

impl fmt::Display for SmallClass {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let plural = |n| if n == 1 { "" } else { "s" };
        write!(
            f,
            "{}: {} row{}, {} sequence{} of its own",
            shorten(&self.label),
            self.rows,
            plural(self.rows),
            self.sequences,
            plural(self.sequences)
        )
    }
}

/// A headline, a line for each item shown, and the number of items that are not shown.
fn list<T: fmt::Display>(headline: String, count: usize, shown: &[T]) -> String {
    let mut text = headline;
    for one in shown {
        text.push_str(&format!("\n  {one}"));
    }
    if count > shown.len() {
        text.push_str(&format!("\n  and {} more", grouped(count - shown.len())));
    }
    text
}

fn bad_lines(count: usize, shown: &[BadLine]) -> String {
    let headline = match count {
        1 => "1 bad line".to_string(),
        _ => format!("{} bad lines", grouped(count)),
    };
    list(headline, count, shown)
}

fn small_classes(count: usize, shown: &[SmallClass]) -> String {
    let headline = "every label needs two different sequences, one to train on and one to test \
                    on; add rows for these, or leave them out";
    list(headline.to_string(), count, shown)
}
