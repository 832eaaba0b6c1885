//! The user's own data as a task.
//!
//! | file | what it holds | the task |
//! |---|---|---|
//! | `.csv` | a header with a column `label`; tokens in all other columns | predict the label |
//! | `.jsonl`, `.ndjson` | `{"label": "x", "tokens": ["a", "b"]}` or `{"label": "x", "text": "a b"}` | predict the label |
//! | `.txt` | plain text | predict the masked characters |
//!
//! The vocabulary, the lengths and the split into training and test data follow from the file. The
//! split is the same for every seed and every scheme. [`DataTask::describe`] says what was found. A file
//! with a line that cannot be used is refused; nothing is repaired or skipped.

mod csv;
mod error;
mod jsonl;
mod labelled;
mod limits;
mod quote;
mod rows;
mod split;
#[cfg(test)]
mod tests;
mod text;

use std::fmt;
use std::fs::File;
use std::io::Read;
use std::path::Path;
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use error::{BadLine, DataError, Problem, SmallClass};
pub use limits::{
    MAX_ALPHABET, MAX_BYTES, MAX_CHARACTERS, MAX_CLASSES, MAX_ROWS, MAX_TOKENS, MAX_VOCABULARY,
    MIN_CHARACTERS, MIN_ROWS, NAME,
};

use crate::task::Task;
use labelled::Labelled;
use text::MaskedText;

/// What a data file holds, as the end of its name says.
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

/// What identifies a data file. Two files with the same spec give the same numbers.
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

    /// What was found in the file and how it is used, in lines for a person.
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
    // At most one byte too many, in case the file grows while it is read.
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

/// The SHA-256 digest of a file's bytes, as in its [`DataSpec`].
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
