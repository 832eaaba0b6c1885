//! The user's own data as a task.
//!
//! | file | what is in it | the task |
//! |---|---|---|
//! | `.csv` | a header with a column `label`; tokens in all the other columns | which label? |
//! | `.jsonl`, `.ndjson` | `{"label": "x", "tokens": ["a", "b"]}` or `{"label": "x", "text": "a b"}` | which label? |
//! | `.txt` | plain text | which characters are masked? |
//!
//! Everything else is found out: vocabulary, lengths, and a split into what is trained on and what
//! is tested, which is the same for every seed and scheme. [`DataTask::describe`] says what was
//! found. Nothing is repaired or skipped: a file with a line that cannot be used is refused.

mod csv;
mod error;
mod jsonl;
mod labelled;
mod rows;
mod split;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use error::{BadLine, DataError, Problem, SmallClass};

use crate::task::Task;
use labelled::Labelled;
use text::MaskedText;

/// The name of the task that is the user's data.
pub const NAME: &str = "data";
/// Bytes of a file, at most.
pub const MAX_BYTES: u64 = 256 << 20;
/// Rows, at least: a fifth of them is held out.
pub const MIN_ROWS: usize = 20;
/// Rows, at most.
pub const MAX_ROWS: usize = 1_000_000;
/// Labels, at most.
pub const MAX_CLASSES: usize = 1_000;
/// Tokens in a row, at most.
pub const MAX_TOKENS: usize = 512;
/// Characters in a label or in one token of a row, at most.
pub const MAX_CHARACTERS: usize = 1_000;
/// Different tokens that are told apart, at most; all others are one.
pub const MAX_VOCABULARY: usize = 10_000;
/// Characters of a plain text, at least.
pub const MIN_CHARACTERS: usize = 2_000;
/// Different characters that are told apart, at most; all others are one.
pub const MAX_ALPHABET: usize = 1_000;

/// What a data file holds, by the end of its name.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Format {
    /// Labelled rows.
    Csv,
    /// Labelled rows, each a line of JSON.
    JsonLines,
    /// Plain text.
    Text,
}

impl Format {
    /// The format of a file name.
    fn of(path: &Path) -> Option<Self> {
        let extension = path.extension()?.to_str()?.to_ascii_lowercase();
        match extension.as_str() {
            "csv" => Some(Self::Csv),
            "jsonl" | "ndjson" => Some(Self::JsonLines),
            "txt" => Some(Self::Text),
            _ => None,
        }
    }
}

/// What identifies a data file: two with the same spec give the same numbers.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct DataSpec {
    /// The name of the file, without its folder.
    pub file: String,
    /// What it holds.
    pub format: Format,
    /// The SHA-256 digest of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
}

impl DataSpec {
    /// Where a study keeps its copy of the file, in its folder.
    pub fn kept_at(&self) -> PathBuf {
        Path::new("data").join(&self.file)
    }
}

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
    spec: DataSpec,
    description: Vec<String>,
    task: Arc<dyn Task>,
}

impl fmt::Debug for DataTask {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let mut out = f.debug_struct("DataTask");
        out.field("spec", &self.spec).finish_non_exhaustive()
    }
}

impl DataTask {
    /// Reads a data file.
    ///
    /// # Errors
    ///
    /// A [`DataError`] says what is wrong with the file, on which lines, and what to do.
    pub fn load(path: &Path) -> Result<Self, DataError> {
        read(path).map_err(|problem| DataError {
            path: path.to_path_buf(),
            problem,
        })
    }

    /// What identifies the data.
    pub fn spec(&self) -> &DataSpec {
        &self.spec
    }

    /// What was found in the file and how it will be used, in lines for a person.
    pub fn describe(&self) -> &[String] {
        &self.description
    }

    /// The task, whose name is [`NAME`].
    pub fn task(&self) -> &Arc<dyn Task> {
        &self.task
    }
}

fn read(path: &Path) -> Result<DataTask, Problem> {
    let meta = std::fs::metadata(path)?;
    if !meta.is_file() {
        return Err(Problem::NotAFile);
    }
    let format = Format::of(path).ok_or(Problem::Extension)?;
    if meta.len() > MAX_BYTES {
        return Err(Problem::TooLarge { bytes: meta.len() });
    }
    let mut bytes = Vec::new();
    // The file may grow while it is read.
    File::open(path)?
        .take(MAX_BYTES + 1)
        .read_to_end(&mut bytes)?;
    let size = bytes.len() as u64;
    if size > MAX_BYTES {
        return Err(Problem::TooLarge { bytes: size });
    }
    let spec = DataSpec {
        file: path
            .file_name()
            .map_or_else(String::new, |name| name.to_string_lossy().into_owned()),
        format,
        sha256: digest(&bytes),
        bytes: size,
    };
    let text = decode(bytes)?;
    if text.trim().is_empty() {
        return Err(Problem::Empty);
    }
    let labelled = |rows| {
        let (task, description) = Labelled::new(rows, &spec.file)?;
        Ok::<_, Problem>((Arc::new(task) as Arc<dyn Task>, description))
    };
    let (task, description) = match format {
        Format::Csv => labelled(csv::read(&text)?)?,
        Format::JsonLines => labelled(jsonl::read(&text)?)?,
        Format::Text => {
            let (task, description) = MaskedText::new(&text.replace("\r\n", "\n"), &spec.file)?;
            (Arc::new(task) as Arc<dyn Task>, description)
        }
    };
    Ok(DataTask {
        spec,
        description,
        task,
    })
}

/// The SHA-256 digest of a file's bytes, as it stands in its [`DataSpec`].
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// The text of a file in UTF-8, without a byte-order mark.
fn decode(bytes: Vec<u8>) -> Result<String, Problem> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Problem::Utf16);
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(text)
        }
        Err(error) => Err(not_utf8(error.as_bytes())),
    }
}

/// Names the lines that are not UTF-8.
fn not_utf8(bytes: &[u8]) -> Problem {
    let (mut count, mut shown) = (0, Vec::new());
    for (line, bytes) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if let Err(error) = std::str::from_utf8(bytes) {
            count += 1;
            if shown.len() < error::SHOWN {
                let at = error.valid_up_to();
                let what = format!(
                    "byte {} of the line, 0x{:02x}, is not UTF-8; save the file as UTF-8",
                    at + 1,
                    bytes[at]
                );
                shown.push(BadLine { line, what });
            }
        }
    }
    Problem::Lines { count, shown }
}

/// A number with a comma every three digits.
fn grouped(number: usize) -> String {
    crate::grouped::grouped(number, ',')
}

/// A value from the file, fit for a message: on one line, and not longer than that.
fn shorten(value: &str) -> String {
    const KEPT: usize = 40;
    let mut characters = value.chars();
    let mut text = String::from("`");
    for character in characters.by_ref().take(KEPT) {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    if characters.next().is_some() {
        text.push('…');
    }
    text.push('`');
    text
}
