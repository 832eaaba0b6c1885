//! What can be wrong with the user's data. Each message says which file, where in it, and what to do.

use std::fmt;
use std::path::PathBuf;

use super::limits::{
    MAX_BYTES, MAX_CLASSES, MAX_COLUMNS, MAX_LINE, MAX_ROWS, MAX_WORDS, MIN_CHARACTERS, MIN_ROWS,
};
use super::numbers::finite;
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
        "cannot tell what is in this file from its name; {looks}. The names of data files end in .csv, .tsv \
         or .data (labelled rows of a table), .jsonl or .ndjson (labelled JSON lines), .ts or .arff (labelled series), .fasta or .fastq (sequences with \
         their class), .txt, .md or .log (plain text), each of them perhaps with .gz behind it, .parquet, .arrow or .feather (a table), or .npy or .bin (token ids). A table of any name is read if --label says which column is the label, or --target which column of a \
         series is to be predicted"
    )]
    Extension {
        /// What it looks like, and what to do with it.
        looks: String,
    },
    /// A file that is no text.
    #[error("is {what}, which is not read; {advice}")]
    Binary {
        /// What it is.
        what: &'static str,
        /// How a text is made of it.
        advice: &'static str,
    },
    /// A file packed by gzip that cannot be unpacked, or is too large then.
    #[error("{0}")]
    Packed(String),
    /// A file of Parquet or Arrow that cannot be read as a table.
    #[error("{0}")]
    Columnar(String),
    /// A JSON file that is not one object per line.
    #[error(
        "holds JSON, which is read as lines: one object per line, in a file that ends in .jsonl; \
         `jq -c '.[]' FILE.json > FILE.jsonl` makes them of a list"
    )]
    Json,
    /// A setting of how to read the file is wrong.
    #[error("{0}")]
    Reading(String),
    /// The groups of `--group` cannot be kept on one side of the division into training and test.
    #[error("--group: {0}")]
    Groups(String),
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
    /// A line of more than [`MAX_LINE`] bytes.
    #[error(
        "line {} has {} bytes, more than the {} of a row; it takes a line for each row",
        grouped(*line),
        grouped(*bytes),
        grouped(MAX_LINE)
    )]
    LongLine {
        /// The number of the line, from 1.
        line: usize,
        /// Its bytes.
        bytes: usize,
    },
    /// More than [`MAX_COLUMNS`] columns.
    #[error(
        "line {} has {} columns, more than {}; leave some out, or write the tokens of a row into one column",
        grouped(*line),
        grouped(*columns),
        grouped(MAX_COLUMNS)
    )]
    TooManyColumns {
        /// The number of the line, from 1.
        line: usize,
        /// Its columns.
        columns: usize,
    },
    /// More than [`MAX_WORDS`] different tokens.
    #[error(
        "has more than {} different tokens up to line {}, so that hardly any occurs twice; take its characters with \
         --tokens characters, or a sample of its rows",
        grouped(MAX_WORDS),
        grouped(*line)
    )]
    TooManyWords {
        /// The number of the line, from 1.
        line: usize,
    },
    /// An empty file, or one of white space.
    #[error("is empty")]
    Empty,
    /// Text in UTF-16.
    #[error("looks like UTF-16; save it as UTF-8")]
    Utf16,
    /// The header of a table has no column `label`, or more than one.
    #[error(
        "{} columns of the header (line {line}) are called `label`, and it takes exactly one; name it \
         with --label {}, or say --no-header if the first line is a row like the others{}; the columns \
         are: {columns}",
        if *labels == 0 { "no".to_string() } else { labels.to_string() },
        likely.as_deref().unwrap_or("COLUMN"),
        as_series(series.as_deref())
    )]
    Header {
        /// Where the header is.
        line: usize,
        /// How many columns are called `label`.
        labels: usize,
        /// The names of the columns.
        columns: String,
        /// A column that is likely to be the label.
        likely: Option<String>,
        /// A column of times and one of numbers.
        series: Option<Box<(String, String)>>,
    },
    /// A table without a header, and no word about the label.
    #[error(
        "without a header the columns are called 1 to {columns}; say which one is the label, such as \
         --label {columns}"
    )]
    NoHeader {
        /// The number of columns.
        columns: usize,
    },
    /// The first line of a table is no header.
    #[error("{0}")]
    FirstLine(String),
    /// A flag names a column that is not there.
    #[error(
        "{flag} names {}, and there is no such column; the columns are: {columns}",
        shorten(name)
    )]
    NoColumn {
        /// The flag.
        flag: &'static str,
        /// The name.
        name: String,
        /// The names of the columns.
        columns: String,
    },
    /// A table whose only column is the label.
    #[error(
        "has no column beside {}; the tokens are in all the other columns. If the columns are not \
         separated by commas, say --delimiter tab or --delimiter ';'",
        shorten(label)
    )]
    NoTokenColumn {
        /// The name of the column.
        label: String,
    },
    /// Columns that may not hold tokens.
    #[error(
        "{}\nSay where the tokens are: --text {} (the words \
         of one column), or --columns A,B (a token per cell; FIRST..LAST names a range of columns); \
         --tokens cells, words or characters says what a token is. The columns are: {columns}",
        list(
            "not every column looks like a token:".into(),
            doubts.len(),
            &doubts[..doubts.len().min(SHOWN)]
        ),
        if text.chars().count() > 40 { shorten(text) } else { text.clone() }
    )]
    Columns {
        /// Each such column with the reason.
        doubts: Vec<String>,
        /// The names of the columns.
        columns: String,
        /// The column that is most likely to hold a text.
        text: String,
    },
    /// Images that cannot be used, for a reason that concerns all of them.
    #[error("{0}")]
    Images(String),
    /// A series that cannot be used, for a reason that concerns all of it.
    #[error("{0}")]
    Series(String),
    /// Image files that cannot be used.
    #[error("{}", bad_images(*count, shown))]
    BadImages {
        /// How many of them.
        count: usize,
        /// The first of them.
        shown: Vec<BadImage>,
    },
    /// Lines that cannot be used.
    #[error("{}", bad_lines(*count, shown, *can_skip))]
    Lines {
        /// How many lines are bad.
        count: usize,
        /// The first of them.
        shown: Vec<BadLine>,
        /// Whether they could be left out.
        can_skip: bool,
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
        "has {} different labels, more than {}; a label is a class and not the name of a row. If labels are numbers, --objective number \
         predicts the number",
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
    /// Most sequences have one token, so there is no order to learn.
    #[error(
        "{} of {} rows have only one token, so positions cannot matter; if a row is one long word, such \
         as a gene, take its characters: --tokens characters. Otherwise separate tokens by spaces or \
         columns",
        grouped(*single),
        grouped(*rows)
    )]
    OneToken {
        /// The rows with one token.
        single: usize,
        /// All rows.
        rows: usize,
    },
    /// Most of what is tested never occurs in training.
    #[error(
        "{percent:.0} % of the tokens of the test do not occur in training, such as {}, so there is \
         nothing to learn from them; read numbers as numbers with --tokens numbers, take smaller tokens with --tokens words or \
         --tokens characters, or leave columns out with --text or --columns",
        shorten(example)
    )]
    Unknown {
        /// How many percent.
        percent: f64,
        /// One of them.
        example: String,
    },
    /// Most characters of the end of a text do not occur before it.
    #[error(
        "{percent:.0} % of the characters of the last tenth of the text, which is kept for the test, do not \
         occur before it, such as {example:?}; the end of the file is another text"
    )]
    UnknownCharacters {
        /// How many percent.
        percent: f64,
        /// One of them.
        example: char,
    },
    /// The test cannot be scored.
    #[error("the test cannot be scored: {0}")]
    Test(String),
    /// The rows cannot be divided in this way.
    #[error("{0}")]
    Folds(String),
    /// A file of token ids cannot be used.
    #[error("{0}")]
    Ids(String),
    /// Too few tokens for a language model's windows.
    #[error(
        "has {} {token}s, too few to train and test on windows of {train_length}; it takes at least {}, or a \
         shorter --train-length",
        grouped(*tokens),
        grouped(*needed)
    )]
    TooFewTokens {
        /// What a token is.
        token: String,
        /// How many there are.
        tokens: usize,
        /// How many there have to be.
        needed: usize,
        /// The tokens of a training window.
        train_length: usize,
    },
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

impl Problem {
    /// The name of a file does not say what it holds, and nobody looked into it yet.
    pub(super) fn unknown_name() -> Self {
        Self::Extension {
            looks: String::new(),
        }
    }
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

/// An image file that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct BadImage {
    /// The file.
    pub path: PathBuf,
    /// What is wrong with it.
    pub what: String,
}

impl fmt::Display for BadImage {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} {}", self.path.display(), self.what)
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

/// What to do with a table of times and numbers.
fn as_series(series: Option<&(String, String)>) -> String {
    match series {
        None => String::new(),
        Some((time, target)) => format!(
            "; if the rows are measurements in the order of time, say what is to be predicted and where the times are, \
             such as --target {} --time {}",
            shorten(target),
            shorten(time)
        ),
    }
}

fn bad_lines(count: usize, shown: &[BadLine], can_skip: bool) -> String {
    let headline = match count {
        1 => "1 bad line".to_string(),
        _ => format!("{} bad lines", grouped(count)),
    };
    let mut text = list(headline, count, shown);
    if can_skip {
        let them = if count == 1 { "it" } else { "them" };
        text.push_str(&format!("\nTo leave {them} out, say --skip-bad {count}"));
    }
    text
}

fn bad_images(count: usize, shown: &[BadImage]) -> String {
    let headline = match count {
        1 => "1 file cannot be used".to_string(),
        _ => format!("{} files cannot be used", grouped(count)),
    };
    let text = list(headline, count, shown);
    let them = if count == 1 { "it" } else { "them" };
    format!("{text}\nTo leave {them} out, say --skip-bad {count}")
}

fn small_classes(count: usize, shown: &[SmallClass]) -> String {
    let headline = "every label needs two different sequences, one to train on and one to test \
                    on; add rows for these, or leave them out";
    let are_numbers = shown.iter().all(|class| finite(&class.label).is_some());
    let or = match are_numbers {
        true => ". If labels are numbers to be predicted, say --objective number",
        false => "",
    };
    list(format!("{headline}{or}"), count, shown)
}
