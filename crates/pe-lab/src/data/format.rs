//! What a file holds, by its name.

use std::path::Path;

use serde::{Deserialize, Serialize};

use super::error::{Problem, refuse};
use super::reading::{Objective, Reading, TokenKind};
use super::{columnar, packed, patches};

/// How the names of plain texts end.
const TEXTS: [&str; 3] = ["txt", "md", "log"];

/// What to do about a list of JSON.
pub(super) const LIST_OF_JSON: &str = "one object per line, in a file that ends in .jsonl; `jq -c '.[]' FILE.json > FILE.jsonl` makes them of a \
                                       list";

/// What a data file holds, as the end of its name says.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Labelled rows of a table.
    Csv,
    /// Labelled rows, each a line of JSON.
    JsonLines,
    /// Sequences of DNA, RNA or protein, in FASTA or FASTQ, with the class in the header.
    Fasta,
    /// Plain text.
    Text,
    /// Token ids.
    Ids,
    /// Numbers in the order of time.
    Series,
    /// Labelled series, each on a line.
    Ts,
    /// Labelled series or rows of numbers, below a header that says what each attribute is.
    Arff,
    /// Images, in a folder for each class, or as a study keeps them.
    Images,
}

impl Format {
    pub(super) fn of(path: &Path, reading: &Reading) -> Result<Self, Problem> {
        let format = Self::by_name(path, reading)?;
        let has_patches = matches!(format, Self::Csv | Self::JsonLines | Self::Ts | Self::Arff);
        match reading.about_images() {
            Some("--patch") if has_patches => patches::check(reading)?,
            flag @ Some("--patch") => refuse(
                flag,
                "is about images and labelled rows of numbers, and these data are neither",
            )?,
            flag => refuse(
                flag,
                "is about images; name their folder with --data FOLDER",
            )?,
        }
        Ok(format)
    }

    /// The format that the name and the settings say.
    fn by_name(path: &Path, reading: &Reading) -> Result<Self, Problem> {
        match extension(path).as_str() {
            "fasta" | "fa" | "fna" | "faa" | "fastq" | "fq" => {
                refuse(
                    reading.not_about_records(TokenKind::Characters),
                    "is not about FASTA or FASTQ: a row is a record, a token is a letter of its sequence, and the label is the last word \
                     of its header, or in a table (--labels)",
                )?;
                Ok(Self::Fasta)
            }
            "json" => Err(Problem::Other(
                format!("holds JSON, which is read as lines: {LIST_OF_JSON}"),
            )),
            ending @ ("ts" | "arff") => {
                let flag = reading.not_about_records(TokenKind::Numbers);
                refuse(
                    flag,
                    &format!("is not about a file of labelled series (.{ending}), which says itself what is in it"),
                )?;
                Ok(if ending == "ts" { Self::Ts } else { Self::Arff })
            }
            ending if columnar::ENDINGS.contains(&ending) => {
                columnar::check(packed::inner_name(path).1, reading)?;
                Ok(match reading.target.is_some() {
                    true => Self::Series,
                    // Whether it is a table or JSON lines, its columns say: see `open`.
                    false => Self::Csv,
                })
            }
            _ if reading.target.is_some() => Ok(Self::Series),
            "csv" | "tsv" | "tab" | "data" => Ok(Self::Csv),
            "jsonl" | "ndjson" => Ok(Self::JsonLines),
            "npy" | "bin" if packed::inner_name(path).1 => Err(Problem::Other(
                "holds token ids, which are read in windows from a file that is not packed; unpack it with gunzip --keep FILE.gz"
                    .into(),
            )),
            "npy" | "bin" if !reading.names_columns() => check_ids(reading).map(|()| Self::Ids),
            // A table may have any name if flags name its columns.
            _ if reading.names_columns() => Ok(Self::Csv),
            ending if is_text(ending, reading) => match reading.about_rows().as_deref() {
                None => Ok(Self::Text),
                Some(flag @ ("--tokens" | "--train-length")) => Err(Problem::Reading(format!(
                    "{flag} is for a text of which the next token is predicted; leave out --objective masked"
                ))),
                Some(flag) => Err(Problem::Reading(format!(
                    "{flag} is about labelled rows, and a file of this name is read as plain text; if it \
                     holds rows, name the column of the label with --label"
                ))),
            },
            _ => Err(Problem::unknown_name()),
        }
    }

    /// Whether a file of this format is read window by window, and may be of any size.
    pub(super) fn is_windowed(self, reading: &Reading) -> bool {
        let is_bytes = reading.is_next() && reading.tokens == Some(TokenKind::Bytes);
        self == Self::Ids || (self == Self::Text && is_bytes)
    }
}

/// Whether the next token is predicted in a file of this name, if nothing else is said.
pub fn predicts_next(path: &Path, reading: &Reading) -> bool {
    let ending = extension(path);
    let of_text = is_text(&ending, reading) || ["npy", "bin"].contains(&ending.as_str());
    of_text && !reading.names_columns() && !path.is_dir()
}

/// Whether the name of a file does not say that it is a text.
pub(super) fn is_text_by_flag(path: &Path) -> bool {
    !TEXTS.contains(&extension(path).as_str())
}

/// Whether a file of this ending is a plain text. A file of another ending is one if its characters or bytes are to be
/// read.
fn is_text(ending: &str, reading: &Reading) -> bool {
    const OTHERS: [&str; 15] = [
        "csv", "tsv", "tab", "data", "jsonl", "ndjson", "json", "npy", "bin", "fasta", "fa", "fna",
        "faa", "fastq", "fq",
    ];
    let by_tokens = matches!(
        reading.tokens,
        Some(TokenKind::Characters | TokenKind::Bytes)
    );
    let is_other = OTHERS.contains(&ending) || columnar::ENDINGS.contains(&ending);
    TEXTS.contains(&ending) || by_tokens && !is_other
}

fn check_ids(reading: &Reading) -> Result<(), Problem> {
    if reading.objective == Some(Objective::Masked) {
        return Err(Problem::Other(
            "holds token ids, of which the next one is predicted; --objective masked is for a text"
                .into(),
        ));
    }
    refuse(
        reading.about_lines(),
        "is about labelled rows, and a file of this name holds token ids",
    )
}

/// The end of the name of a file in small letters, without a `.gz` behind it.
fn extension(path: &Path) -> String {
    let (name, _) = packed::inner_name(path);
    let ending = Path::new(&name).extension().and_then(|end| end.to_str());
    ending.unwrap_or("").to_string()
}

/// Whether a file of this name holds a table column by column, and becomes text when it is opened.
pub(super) fn is_columnar(path: &Path) -> bool {
    columnar::ENDINGS.contains(&extension(path).as_str())
}

/// Whether a file of this name and of this text holds JSON lines.
pub(super) fn is_json_lines(path: &Path, text: &str) -> bool {
    match is_columnar(path) {
        // No table of text that was made of columns begins so.
        true => text.starts_with('{'),
        false => ["jsonl", "ndjson"].contains(&extension(path).as_str()),
    }
}

/// What separates the columns in a file of this name, if its name says so.
pub(super) fn delimiter(path: &Path) -> Option<char> {
    match extension(path).as_str() {
        "tsv" | "tab" => Some('\t'),
        _ => is_columnar(path).then_some(','),
    }
}
