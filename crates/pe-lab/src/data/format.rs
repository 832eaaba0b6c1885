//! What a file holds, by its name.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::Problem;
use super::reading::{Objective, Reading, TokenKind};

/// What a data file holds, as the end of its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Labelled rows of a table.
    Csv,
    /// Labelled rows, each a line of JSON.
    JsonLines,
    /// Plain text.
    Text,
    /// Token ids.
    Ids,
    /// Numbers in the order of time.
    Series,
    /// Labelled series, each on a line.
    Ts,
    /// Images, in a folder for each class, or as a study keeps them.
    Images,
}

impl Format {
    /// The format of a file.
    pub(super) fn of(path: &Path, reading: &Reading) -> Result<Self, Problem> {
        if let Some(flag) = reading.about_images() {
            return Err(Problem::Reading(format!(
                "{flag} is about images; name their folder with --data FOLDER"
            )));
        }
        match extension(path).as_str() {
            "json" => Err(Problem::Json),
            "ts" => match reading.not_about_ts() {
                None => Ok(Self::Ts),
                Some(flag) => Err(Problem::Reading(format!(
                    "{flag} is not about a file of labelled series (.ts), which says itself what is in it"
                ))),
            },
            _ if reading.target.is_some() => Ok(Self::Series),
            "csv" | "tsv" | "tab" | "data" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "npy" | "bin" if !reading.names_columns() => match reading.about_lines() {
                _ if reading.objective == Some(Objective::Masked) => Err(Problem::Ids(
                    "holds token ids, of which the next one is predicted; --objective masked is for a text"
                        .into(),
                )),
                Some(flag) => Err(Problem::Reading(format!(
                    "{flag} is about labelled rows, and a file of this name holds token ids"
                ))),
                None => Ok(Self::Ids),
            },
            // A table may have any name if its columns are.
            _ if reading.names_columns() => Ok(Self::Csv),
            "txt" | "log" => match reading.about_rows() {
                None => Ok(Self::Text),
                Some(flag @ ("--tokens" | "--train-length")) => Err(Problem::Reading(format!(
                    "{flag} is for a text of which the next token is predicted; leave out --objective masked"
                ))),
                Some(flag) => Err(Problem::Reading(format!(
                    "{flag} is about labelled rows, and a file of this name is read as plain text; if it \
                     holds rows, name the column of the label with --label"
                ))),
            },
            _ => Err(Problem::Extension),
        }
    }

    /// Whether a file of this format is read window by window, and may be of any size.
    pub(super) fn is_windowed(self, reading: &Reading) -> bool {
        match self {
            Self::Ids => true,
            Self::Text => reading.is_next() && reading.tokens == Some(TokenKind::Bytes),
            Self::Csv | Self::JsonLines | Self::Series | Self::Ts | Self::Images => false,
        }
    }
}

/// Whether the next token is predicted in a file of this name, if nothing else is said.
pub fn predicts_next(path: &Path, reading: &Reading) -> bool {
    let of_text = ["txt", "log", "npy", "bin"];
    of_text.contains(&extension(path).as_str()) && !reading.names_columns()
}

/// The end of the name of a file in small letters.
fn extension(path: &Path) -> String {
    let extension = path.extension().and_then(|end| end.to_str());
    extension.unwrap_or("").to_ascii_lowercase()
}

/// Whether a file of this name holds JSON lines.
pub(super) fn is_json_lines(path: &Path) -> bool {
    ["jsonl", "ndjson"].contains(&extension(path).as_str())
}

/// What separates the columns in a file of this name, if its name says so.
pub(super) fn delimiter(path: &Path) -> Option<char> {
    matches!(extension(path).as_str(), "tsv" | "tab").then_some('\t')
}
