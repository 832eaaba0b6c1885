//! The flags that say how the rows of the user's own data are read.

use std::path::PathBuf;

use crate::ask::Plan;
use crate::data::{Objective, Reading, TokenKind};
use crate::names::{did_you_mean, one_of};

/// How the rows of `--data FILE` are read, where the file does not say it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Your own data")]
pub(super) struct Rows {
    /// The column of the label, or its key in JSON lines [default: label; with --causal, answer]
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    label: Option<String>,
    /// The one column that holds the whole sequence, or its key in JSON lines [default in JSON lines: the
    /// one of tokens, input_ids, text and sentence that is there; with --causal, prompt]
    #[arg(
        long,
        value_name = "COLUMN",
        conflicts_with = "columns",
        hide_short_help = true
    )]
    text: Option<String>,
    /// The columns that hold the tokens, in this order; A..B names all columns from A to B [default: all but
    /// the label]
    #[arg(
        long,
        value_delimiter = ',',
        value_name = "A,B",
        hide_short_help = true
    )]
    columns: Option<Vec<String>>,
    /// The column, or the key in JSON lines, whose value says which rows stay together, such as a patient: all rows of a
    /// group are trained on, or all are held out, in every division of the rows (the test, --folds, and what --tune and
    /// --steps auto hold out)
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    group: Option<String>,
    /// What a token is: a cell of a table, a word, a character, or a number that the model reads as a number [default: of
    /// several columns numbers if all their cells are and not all are whole, else cells; words if there is one column]; of a plain text, a character or a byte [default: characters]; of a
    /// .bin of token ids, a number of two bytes (u16) or four (u32). The tokenizer.json of a model from Hugging
    /// Face makes tokens of a plain text. [possible values: cells, words, characters, bytes, u16, u32, numbers, FILE]
    #[arg(long, value_name = "KIND or FILE", value_parser = kind_or_file, hide_short_help = true)]
    tokens: Option<Tokens>,
    /// What separates columns: one character, or one of the words `tab` and `space` (one blank or several) [default: a tab in a .tsv; otherwise the
    /// first of , tab ; | that the first line holds]
    #[arg(long, value_name = "C", value_parser = delimiter, hide_short_help = true)]
    delimiter: Option<char>,
    /// The first line is a row like the others; the columns are called 1, 2, 3 and so on
    #[arg(long, hide_short_help = true)]
    no_header: bool,
    /// Cut sequences after this many tokens, and say how many were cut [default: a row of more than 512
    /// tokens is an error]. Series: the longest window of the training [default: 32, or a
    /// seventh of the rows of a short series]
    #[arg(long, value_name = "N", hide_short_help = true)]
    max_len: Option<usize>,
    /// Leave out up to this many lines or images that cannot be used, and say which [default: 0]
    #[arg(long, value_name = "N", hide_short_help = true)]
    skip_bad: Option<usize>,
    /// Train on rows of every length. Without this the longest tenth of the rows is only tested, as data
    /// beyond the training lengths
    #[arg(long, hide_short_help = true)]
    no_beyond: bool,
    /// What to predict: in a plain text the next token or masked characters [default: next]; of rows the class of a label, the
    /// number that a label is, or an answer that is written, which is what --causal says [default: number if all labels are
    /// numbers and not all are whole, else class]
    #[arg(long, value_name = "WHAT", value_parser = one_of(Objective::ALL), hide_short_help = true)]
    objective: Option<Objective>,
    /// The tokens of a training window of a plain text (also the task `text`) or of token ids; tests have up to 8
    /// times as many
    /// [default: 64]
    #[arg(long, value_name = "N", hide_short_help = true)]
    train_length: Option<usize>,
    /// Series: the column to predict. Of numbers, it is the next one; of words, the class of each row. The rows
    /// are in the order of time
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    target: Option<String>,
    /// A table of two columns, an id and its class, separated by a comma or a tab, for FASTA, FASTQ and --id: rows have an id
    /// there and no class. A first row whose id no row has is a header
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "label",
        hide_short_help = true
    )]
    labels: Option<PathBuf>,
    /// Labelled series in a long table: the column, or the key in JSON lines, that says of which series a row is. All rows of
    /// one series have its label (--label); the other columns, or those of --columns, are its channels
    #[arg(
        long,
        value_name = "COLUMN",
        conflicts_with = "target",
        hide_short_help = true
    )]
    id: Option<String>,
    /// Series: the column of the times, numbers or dates (2024-05-17, 2024-05-17T12:30), which become the
    /// positions; A,B joins two columns, such as a year and a quarter [default: the one column of dates, or
    /// else of numbers that rise by equal steps; without such a column the rows are at 0, 1, 2, …]. With --id it is also the
    /// order of the rows of a series [default: the order of the file, at 0, 1, 2, …]
    #[arg(long, value_name = "COLUMN", hide_short_help = true)]
    time: Option<String>,
    /// Images: bring all of them to N × N pixels [default: the commonest size, at most 64 pixels along its
    /// longer side, and the nearest that patches divide]
    #[arg(long, value_name = "N", hide_short_help = true)]
    size: Option<usize>,
    /// Images: the side of a patch in pixels; a patch is a token [default: about eight patches along the longer
    /// side]. Rows of numbers: how many steps make a token, from 2 to 64 [default: one]
    #[arg(long, value_name = "N", hide_short_help = true)]
    patch: Option<usize>,
    /// A file of rows to test on [default: X_TEST if the file is X_TRAIN, and lies beside it]. Without it a fifth of the rows of --data is held out
    #[arg(
        long,
        value_name = "FILE",
        conflicts_with = "folds",
        hide_short_help = true
    )]
    test: Option<PathBuf>,
    /// Divide the rows into this many parts, and test on each of them after training on the others; each is
    /// a task of its own
    #[arg(long, value_name = "K", hide_short_help = true)]
    folds: Option<usize>,
}

impl Rows {
    /// A plan that holds what these flags say and nothing else.
    pub fn plan(&self) -> Plan {
        let reading = Reading {
            label: self.label.clone(),
            text: self.text.clone(),
            columns: self.columns.clone(),
            group: self.group.clone(),
            tokens: match &self.tokens {
                Some(Tokens::Kind(kind)) => Some(*kind),
                _ => None,
            },
            delimiter: self.delimiter,
            no_header: self.no_header,
            max_len: self.max_len,
            skip_bad: self.skip_bad.unwrap_or(0),
            no_beyond: self.no_beyond,
            objective: self.objective,
            train_length: self.train_length,
            target: self.target.clone(),
            id: self.id.clone(),
            time: self.time.clone(),
            size: self.size,
            patch: self.patch,
        };
        Plan {
            test: self.test.clone(),
            labels: self.labels.clone(),
            folds: self.folds,
            tokenizer: match &self.tokens {
                Some(Tokens::File(file)) => Some(file.clone()),
                _ => None,
            },
            reading: Some(reading).filter(|reading| *reading != Reading::default()),
            ..Plan::default()
        }
    }
}

/// What `--tokens` says.
#[derive(Clone, Debug)]
enum Tokens {
    Kind(TokenKind),
    File(PathBuf),
}

/// Reads the name of a kind of token, or that of a file.
fn kind_or_file(text: &str) -> Result<Tokens, String> {
    let known = TokenKind::ALL.into_iter().find(|(name, _)| *name == text);
    match known {
        Some((_, kind)) => Ok(Tokens::Kind(kind)),
        None if text.contains(['.', '/', '\\']) => Ok(Tokens::File(text.into())),
        None => {
            let names = TokenKind::ALL.map(|(name, _)| name.to_string());
            Err(format!(
                "there is no such kind{}; the kinds are {}, or name a tokenizer.json",
                did_you_mean(text, &names),
                names.join(", ")
            ))
        }
    }
}

/// Reads a delimiter: one character, or the name of one that is hard to write.
fn delimiter(text: &str) -> Result<char, String> {
    let mut characters = text.chars();
    match (text, characters.next(), characters.next()) {
        ("tab" | "\\t", ..) => Ok('\t'),
        ("space", ..) => Ok(' '),
        (_, Some(one), None) => Ok(one),
        _ => Err("it takes one character, such as `;`, or one of the words tab and space".into()),
    }
}
