//! The flags that say how the rows of the user's own data are read.

use std::path::PathBuf;

use crate::ask::Plan;
use crate::data::{Reading, TokenKind};
use crate::names::did_you_mean;

/// How the rows of `--data FILE` are read, where the file does not say it.
#[derive(Clone, Debug, clap::Args)]
#[command(next_help_heading = "Your own data")]
pub(super) struct Rows {
    #[command(flatten)]
    reading: Reading,
    /// What a token is. Rows: cells, words, characters, or numbers, which the model reads as numbers [default: words if
    /// there is one column; of several columns numbers if all cells are numbers and not all are whole, else cells]. Plain
    /// text: characters [default], bytes, or FILE, the tokenizer.json of a model from Hugging Face (in a build with
    /// `--features tokenizers`). A .bin of token ids: u16 or u32, ids of two or four bytes. [possible values: cells, words, characters, bytes, u16, u32, numbers, FILE]
    // In the help it stands behind --group.
    #[arg(long, display_order = 63, value_name = "KIND or FILE", value_parser = kind_or_file, hide_short_help = true)]
    tokens: Option<Tokens>,
    /// A table of two columns, id and class, separated by a comma or a tab: the classes of FASTA and FASTQ records, or of
    /// the series of --id, if the data file has ids and no classes. The first line is a header if its id is that of no row
    // In the help it stands behind --target.
    #[arg(
        long,
        display_order = 72,
        value_name = "FILE",
        conflicts_with = "label",
        hide_short_help = true
    )]
    labels: Option<PathBuf>,
    /// A file of rows to test on [default: for a file NAME_TRAIN, the file NAME_TEST beside it, if there is one]. Without a
    /// test file a fifth of the rows of --data is held out
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
        let (tokens, tokenizer) = match self.tokens.clone() {
            Some(Tokens::Kind(kind)) => (Some(kind), None),
            Some(Tokens::File(file)) => (None, Some(file)),
            None => (None, None),
        };
        let reading = Reading {
            tokens,
            ..self.reading.clone()
        };
        Plan {
            test: self.test.clone(),
            labels: self.labels.clone(),
            folds: self.folds,
            tokenizer,
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
