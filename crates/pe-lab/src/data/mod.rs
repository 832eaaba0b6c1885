//! The user's own data as a task.
//!
//! | file | what it holds | the task |
//! |---|---|---|
//! | `.csv`, `.tsv`, `.data` | a header with a column `label`; tokens in all other columns | predict the label |
//! | `.jsonl`, `.ndjson` | `{"label": "x", "tokens": ["a", "b"]}` or `{"label": "x", "text": "a b"}` | predict the label |
//! | `.txt`, `.log` | plain text | predict the next character or byte, or the masked characters |
//! | `.npy`, `.bin` | token ids: whole numbers in one row | predict the next token |
//! | a table of measurements, with `--target` | a row of numbers for each time, and perhaps the time | predict the next number, or the class |
//! | a folder | a folder of PNG and JPEG files for each class | predict the class |
//!
//! [`Reading`] says how rows are read where the file does not: which column is the label, which hold the tokens,
//! what a token is. The vocabulary, the lengths and the split into training and test data follow from the
//! file. The split is the same for every seed and every scheme. [`DataTask::describe`] says what was found and
//! shows the first rows as they were read.
//!
//! Nothing is dropped or shifted in silence. A file with a line that cannot be used is refused, unless
//! [`Reading::skip_bad`] allows for it; a column that may not hold tokens is asked about; an empty cell is a
//! token of its own, and empty cells at the end of a row end it.

mod alike;
mod binary;
mod csv;
mod dates;
mod describe;
mod epochs;
mod error;
#[cfg(test)]
mod group_tests;
#[cfg(test)]
mod held_out_tests;
mod images;
mod jsonl;
mod labelled;
mod limits;
mod next;
mod npy;
mod predict;
mod prepared;
mod quote;
mod reading;
mod rows;
mod sequences;
mod series;
mod split;
#[cfg(test)]
mod tests;
mod text;
mod together;
#[cfg(feature = "tokenizers")]
mod tokenizer;

use std::fmt;
use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

pub use error::{BadImage, BadLine, DataError, Problem, SmallClass};
pub use images::digits_32;
pub use limits::{
    MAX_ALPHABET, MAX_BYTES, MAX_CHARACTERS, MAX_CLASSES, MAX_COLUMNS, MAX_FOLDS, MAX_IDS,
    MAX_LINE, MAX_ROWS, MAX_TOKENS, MAX_VOCABULARY, MAX_WORDS, MIN_CHARACTERS, MIN_ROWS, NAME,
};
pub use next::check_train_length;
pub use predict::{ToPredict, Truth};
pub use prepared::{digest as prepared_digest, task as prepared_task};
pub(crate) use quote::shorten;
pub use reading::{Objective, Reading, TokenKind};
pub use series::co2;

use crate::door::{Entry, bytes_of};
use crate::task::{Language, NextToken, Sample, Task};
use images::Images;
use labelled::Labelled;
use rows::{Collector, Labels, Rows};
use sequences::Sequences;
use series::{Form, Series};
use split::HeldOut;
use text::MaskedText;

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
    /// Images, in a folder for each class, or as a study keeps them.
    Images,
}

impl Format {
    /// The format of a file.
    fn of(path: &Path, reading: &Reading) -> Result<Self, Problem> {
        if let Some(flag) = reading.about_images() {
            return Err(Problem::Reading(format!(
                "{flag} is about images; name their folder with --data FOLDER"
            )));
        }
        match extension(path).as_str() {
            "json" => Err(Problem::Json),
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
fn is_json_lines(path: &Path) -> bool {
    ["jsonl", "ndjson"].contains(&extension(path).as_str())
}

/// What separates the columns in a file of this name, if its name says so.
fn delimiter(path: &Path) -> Option<char> {
    matches!(extension(path).as_str(), "tsv" | "tab").then_some('\t')
}

/// The files of the user's data, and how they are read.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Source {
    /// The folder in which all files lie, of a study that may come from somebody else: no link in it is followed.
    pub inside: Option<PathBuf>,
    /// The file.
    pub file: PathBuf,
    /// A file of rows to test on. Without it a part of the first file is held out.
    pub test: Option<PathBuf>,
    /// Into how many parts the rows are divided, each of which is the test of a task of its own.
    pub folds: Option<usize>,
    /// How rows are read.
    pub reading: Reading,
    /// The `tokenizer.json` that makes tokens of a text.
    pub tokenizer: Option<PathBuf>,
    /// What an earlier reading of the same file found, so that a large one need not be read as a whole again.
    pub known: Option<Known>,
}

/// What an earlier reading of a file found.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Known {
    /// The SHA-256 digest of the file.
    pub sha256: String,
    /// The number of different token ids.
    pub vocabulary: Option<usize>,
    /// A file of the tokens that a tokenizer made of the text.
    pub ids: Option<PathBuf>,
}

impl Source {
    /// One of its files, to be opened.
    fn entry(&self, file: &Path) -> Entry {
        let inside = self.inside.as_deref();
        let lies = inside.and_then(|root| Some((root, file.strip_prefix(root).ok()?)));
        lies.map_or_else(
            || Entry::named(file),
            |(root, inside)| Entry::inside(root, inside),
        )
    }
}

impl From<&Path> for Source {
    fn from(file: &Path) -> Self {
        Self {
            file: file.to_path_buf(),
            ..Self::default()
        }
    }
}

/// A file by its name and its bytes.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct FileSpec {
    /// The name of the file, without its folder.
    pub file: String,
    /// The SHA-256 digest of its bytes, in hexadecimal digits.
    pub sha256: String,
    /// Its size.
    pub bytes: u64,
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
    /// The file of rows to test on, if there is one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test: Option<FileSpec>,
    /// Into how many parts the rows are divided, each of which is the test of a task of its own.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub folds: Option<usize>,
    /// How rows are read.
    #[serde(default)]
    pub reading: Reading,
    /// The number of different token ids of a file of ids: the largest and one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub vocabulary: Option<usize>,
    /// The `tokenizer.json` that makes tokens of a text.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tokenizer: Option<FileSpec>,
}

impl DataSpec {
    /// Whether the file is read window by window, and may be of any size.
    pub fn is_windowed(&self) -> bool {
        next::is_windowed(self.format, &self.reading)
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
    source: Source,
    description: Vec<String>,
    /// What was read that the fewest may read: the file itself, or images of a folder and the folders that they are in.
    private: Vec<PathBuf>,
    made: Made,
}

/// The tasks made of a file: one of a text, and one of rows for each fold.
enum Made {
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

impl DataTask {
    /// Reads a data file without further settings.
    ///
    /// # Errors
    ///
    /// See [`DataTask::read`].
    pub fn load(path: &Path) -> Result<Self, DataError> {
        Self::read(&Source::from(path))
    }

    /// Reads data files.
    ///
    /// # Errors
    ///
    /// A [`DataError`] says what is wrong with which file, on which lines, and what to do.
    pub fn read(source: &Source) -> Result<Self, DataError> {
        read(source)
    }

    /// What identifies the data.
    pub fn spec(&self) -> &DataSpec {
        &self.spec
    }

    /// The files that it was read from, and how.
    pub fn source(&self) -> &Source {
        &self.source
    }

    /// Of what was read, the files and folders that the fewest may read: nobody else is to read what is made of it.
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
            Made::Rows(tasks) => tasks[0].warning(),
            Made::Text(_) | Made::Next(_) | Made::Images(_) | Made::Series(_) => None,
        }
    }

    /// The task, or the first one if there are folds.
    pub fn task(&self) -> Arc<dyn Task> {
        match &self.made {
            Made::Rows(tasks) => tasks[0].clone(),
            Made::Text(task) => task.clone(),
            Made::Next(task) => task.clone(),
            Made::Images(task) => task.clone(),
            Made::Series(task) => task.clone(),
        }
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
}

impl DataTask {
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

    /// The labels, in the order of the classes. None for a plain text.
    pub fn labels(&self) -> &[String] {
        match &self.made {
            Made::Rows(tasks) => tasks[0].labels(),
            Made::Text(_) | Made::Next(_) => &[],
            Made::Images(task) => task.labels(),
            Made::Series(task) => task.labels(),
        }
    }

    /// The bytes of the file in which a study keeps the data, where it is not a copy of the file that was
    /// read: images are kept decoded.
    pub fn packed(&self) -> Option<&[u8]> {
        match &self.made {
            Made::Images(task) => Some(task.bytes()),
            Made::Rows(_) | Made::Text(_) | Made::Next(_) | Made::Series(_) => None,
        }
    }
}

/// Whether a task of this name is made of the user's data.
pub fn is_own(task: &str) -> bool {
    task == NAME || task.starts_with(FOLD)
}

/// How the name of the task of a fold begins.
const FOLD: &str = "data-fold-";

fn read(source: &Source) -> Result<DataTask, DataError> {
    let of = |path: &Path| {
        let path = path.to_path_buf();
        move |problem| DataError { path, problem }
    };
    let Source {
        file,
        test,
        folds,
        reading,
        known,
        ..
    } = source;
    if images::are_in(source) && source.tokenizer.is_none() {
        return images::read(source).map_err(of(file));
    }
    let entry = source.entry(file);
    let format = checked_format(&entry, reading).map_err(of(file))?;
    if matches!(format, Format::Text | Format::Ids) {
        refuse_other_tests(source, "a plain text, the last tenth").map_err(of(file))?;
    }
    if source.tokenizer.is_some() || next::is_windowed(format, reading) {
        return windowed(source, format, known.as_ref()).map_err(of(file));
    }
    let (format, bytes) = open(&entry, reading).map_err(of(file))?;
    let spec = FileSpec::of(file, &bytes);
    let text = text(bytes).map_err(of(file))?;
    let mut spec = DataSpec {
        file: spec.file,
        format,
        sha256: spec.sha256,
        bytes: spec.bytes,
        test: None,
        folds: *folds,
        reading: reading.clone(),
        vocabulary: None,
        tokenizer: None,
    };
    let (made, description) = if format == Format::Series {
        refuse_other_tests(source, "a series, the last fifth").map_err(of(file))?;
        let made = series::read(&text, reading, Form::of(file), &spec.file);
        let (task, description) = made.map_err(of(file))?;
        (Made::Series(Arc::new(task)), description)
    } else if format == Format::Text && reading.is_next() {
        let made = next::of_text(&text.replace("\r\n", "\n"), &spec.file, reading);
        let (task, mut description) = made.map_err(of(file))?;
        description.extend(first_windows(&task));
        (Made::Next(Arc::new(task)), description)
    } else if format == Format::Text {
        // Studies that were made when masked characters were all that a text was for do not name them.
        spec.reading.objective = None;
        let made = MaskedText::new(&text.replace("\r\n", "\n"), &spec.file);
        let (task, description) = made.map_err(of(file))?;
        (Made::Text(Arc::new(task)), description)
    } else {
        let mut collector = Collector::new(reading.max_len);
        let labels = Labels::Needed;
        let mut notes =
            rows_of(file, format, &text, reading, labels, &mut collector).map_err(of(file))?;
        let in_file = collector.len();
        if let Some(test) = test {
            let (format, bytes) = open(&source.entry(test), reading).map_err(of(test))?;
            let kept = FileSpec::of(test, &bytes);
            let text = self::text(bytes).map_err(of(test))?;
            let more = rows_of(test, format, &text, reading, labels, &mut collector);
            let more = more.map_err(of(test))?;
            notes.push(format!("tested on the rows of {}", kept.file));
            notes.extend(
                more.into_iter()
                    .map(|note| format!("{}: {note}", kept.file)),
            );
            spec.test = Some(kept);
        }
        let rows = collector.finish();
        let tasks = labelled(&rows, &spec, in_file);
        // What is wrong with the test is said of its file.
        let (tasks, description) = tasks.map_err(|problem| match (&problem, test) {
            (Problem::Test(_) | Problem::Unknown { .. }, Some(test)) => of(test)(problem),
            _ => of(file)(problem),
        })?;
        notes.splice(0..0, description);
        (Made::Rows(tasks), notes)
    };
    Ok(DataTask {
        spec,
        source: source.clone(),
        description,
        private: vec![file.clone()],
        made,
    })
}

/// Refuses what is for labelled rows alone. `held_out` says of what which part is the test.
fn refuse_other_tests(source: &Source, held_out: &str) -> Result<(), Problem> {
    let set = [
        (source.test.is_some(), "--test"),
        (source.folds.is_some(), "--folds"),
    ];
    match set.into_iter().find(|(set, _)| *set) {
        None => Ok(()),
        Some((_, flag)) => Err(Problem::Reading(format!(
            "{flag} is for labelled rows; of {held_out} is the test"
        ))),
    }
}

/// The task of a file that is read window by window, or by a tokenizer.
fn windowed(source: &Source, format: Format, known: Option<&Known>) -> Result<DataTask, Problem> {
    let Source { file, reading, .. } = source;
    let (name, entry) = (name_of(file), source.entry(file));
    let vocabulary = known.and_then(|known| known.vocabulary);
    let is_next_text = format == Format::Text && reading.is_next() && reading.tokens.is_none();
    let (task, mut description) = match &source.tokenizer {
        None => next::of_file(&entry, &name, format, reading, vocabulary)?,
        Some(_) if !is_next_text => {
            return Err(Problem::Reading(
                "--tokens FILE names the tokenizer of a text (.txt, .log) whose next token is predicted".into(),
            ));
        }
        Some(tokenizer) => {
            let text = || Ok(self::text(open(&entry, reading)?.1)?.replace("\r\n", "\n"));
            let ids = known.and_then(|known| known.ids.as_deref());
            let (tokenizer, ids) = (source.entry(tokenizer), ids.map(|ids| source.entry(ids)));
            next::of_tokenizer(text, &name, &tokenizer, reading, ids.as_ref())?
        }
    };
    description.extend(first_windows(&task));
    let (sha256, bytes) = match known {
        Some(known) => (known.sha256.clone(), entry.open()?.metadata()?.len()),
        None => next::digest_of(entry.open()?)?,
    };
    let spec = DataSpec {
        file: name,
        format,
        sha256,
        bytes,
        test: None,
        folds: None,
        reading: reading.clone(),
        vocabulary: (format == Format::Ids).then(|| task.vocabulary()),
        tokenizer: match &source.tokenizer {
            None => None,
            Some(tokenizer) => {
                let (sha256, bytes) = next::digest_of(source.entry(tokenizer).open()?)?;
                Some(FileSpec {
                    file: name_of(tokenizer),
                    sha256,
                    bytes,
                })
            }
        },
    };
    Ok(DataTask {
        spec,
        source: source.clone(),
        description,
        private: vec![file.clone()],
        made: Made::Next(Arc::new(task)),
    })
}

/// The first windows as they are read.
fn first_windows(task: &NextToken) -> Vec<String> {
    let shown = |(number, sample): (usize, Sample)| {
        format!(
            "test window {} as read: {:?}",
            number + 1,
            task.text(sample.input.tokens())
        )
    };
    let first = task.test_lengths().first().copied().unwrap_or(0);
    let windows = task.test_set(first).into_iter().take(2);
    windows.enumerate().map(shown).collect()
}

/// The name of a file without its folder.
fn name_of(path: &Path) -> String {
    let name = path.file_name();
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    short_enough(name)
}

/// A name that is not UTF-8 is longer in UTF-8, perhaps longer than a file system takes. The end stays, since it says
/// what the file is.
fn short_enough(name: String) -> String {
    const LONGEST: usize = 255;
    if name.len() <= LONGEST {
        return name;
    }
    let dot = name.rfind('.').unwrap_or(name.len());
    let (stem, ending) = match name.len() - dot {
        0..=20 => name.split_at(dot),
        _ => (&name[..], ""),
    };
    let end = (0..=LONGEST - ending.len()).rfind(|at| stem.is_char_boundary(*at));
    format!("{}{ending}", &stem[..end.unwrap_or(0)])
}

impl FileSpec {
    fn of(path: &Path, bytes: &[u8]) -> Self {
        Self {
            file: name_of(path),
            sha256: digest(bytes),
            bytes: bytes.len() as u64,
        }
    }
}

/// The format of a file, if the settings are for files of this format.
fn checked_format(file: &Entry, reading: &Reading) -> Result<Format, Problem> {
    reading.check()?;
    let opened = opened(file)?;
    let format = Format::of(file, reading).or_else(|problem| {
        let mut head = Vec::new();
        opened.take(binary::HEAD).read_to_end(&mut head)?;
        Err(binary::problem(&head).unwrap_or(problem))
    })?;
    match (format, reading.about_text()) {
        (Format::Csv | Format::JsonLines, Some(flag)) => Err(Problem::Reading(format!(
            "{flag} is about a text or token ids, and this file holds labelled rows"
        ))),
        (Format::Ids, _) if reading.is_answer() => Err(Problem::Reading(
            "--objective answer is for rows that have a prompt and an answer, and a file of this name holds token ids"
                .into(),
        )),
        (Format::Text, _) if matches!(reading.tokens, Some(TokenKind::U16 | TokenKind::U32)) => {
            Err(Problem::Reading(
                "--tokens u16 and u32 are for a .bin of token ids; a text has characters or bytes"
                    .into(),
            ))
        }
        _ => Ok(format),
    }
}

/// The format and the bytes of a file.
fn open(file: &Entry, reading: &Reading) -> Result<(Format, Vec<u8>), Problem> {
    let format = checked_format(file, reading)?;
    Ok((format, open_bytes(file)?))
}

/// A regular file, opened.
fn opened(file: &Entry) -> Result<File, Problem> {
    file.open().map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Problem::NotAFile,
        _ => error.into(),
    })
}

/// The bytes of a file, if it is not too large.
fn open_bytes(file: &Entry) -> Result<Vec<u8>, Problem> {
    let opened = opened(file)?;
    let bytes = opened.metadata()?.len();
    bytes_of(opened, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Problem::TooLarge { bytes },
        _ => error.into(),
    })
}

/// The text of a file, unless it is empty.
fn text(bytes: Vec<u8>) -> Result<String, Problem> {
    let text = decode(bytes)?;
    match text.trim().is_empty() {
        true => Err(Problem::Empty),
        false => Ok(text),
    }
}

/// Reads the rows of a file, and returns in words how.
fn rows_of(
    path: &Path,
    format: Format,
    text: &str,
    reading: &Reading,
    labels: Labels,
    collector: &mut Collector,
) -> Result<Vec<String>, Problem> {
    let mut notes = match format {
        Format::JsonLines => {
            csv::check_lines(text)?;
            jsonl::read(text, reading, labels, collector)?
        }
        _ => csv::read(text, reading, delimiter(path), labels, collector)?,
    };
    notes.extend(collector.end_file(reading.skip_bad)?);
    Ok(notes)
}

/// The task of labelled rows, or one for each fold, and what was found in them. `in_file` rows are of the
/// file itself, the others of the test file.
fn labelled(
    rows: &Rows,
    spec: &DataSpec,
    in_file: usize,
) -> Result<(Vec<Arc<Labelled>>, Vec<String>), Problem> {
    let sequences = Arc::new(Sequences::of(rows));
    let new = |name: String, held_out| {
        let no_beyond = spec.reading.no_beyond;
        Labelled::new(rows, &sequences, name, &spec.file, held_out, no_beyond)
    };
    if spec.test.is_some() && spec.reading.no_beyond {
        return Err(Problem::Test(
            "--no-beyond is about rows that are held out of the file itself; leave it out with --test".into(),
        ));
    }
    let Some(folds) = spec.folds else {
        let held_out = match spec.test {
            Some(_) => HeldOut::From(in_file),
            None => HeldOut::Fifth,
        };
        let (task, description) = new(NAME.to_string(), held_out)?;
        return Ok((vec![Arc::new(task)], description));
    };
    if spec.test.is_some() {
        return Err(Problem::Folds(
            "--folds and --test both say what is tested; keep one".into(),
        ));
    }
    if !(2..=MAX_FOLDS).contains(&folds) {
        return Err(Problem::Folds(format!(
            "--folds is {folds}; it takes from 2 to {MAX_FOLDS}"
        )));
    }
    let (mut tasks, mut described) = (Vec::new(), Vec::new());
    for fold in 0..folds {
        let name = format!("{FOLD}{}", fold + 1);
        let (task, description) = new(name, HeldOut::Fold { fold, folds })?;
        tasks.push(Arc::new(task));
        if fold == 0 {
            described = description;
        }
    }
    described.push(format!(
        "{folds} folds, each a task of its own that holds out other rows; what is said here of training and \
         test is fold 1"
    ));
    Ok((tasks, described))
}

/// The SHA-256 digest of a file's bytes, as in its [`DataSpec`].
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// The same of a file of any size.
///
/// # Errors
///
/// When the file cannot be read.
pub fn digest_of(file: impl Read) -> std::io::Result<String> {
    Ok(next::digest_of(file)?.0)
}

/// The text of a file in UTF-8, without a byte-order mark.
fn decode(bytes: Vec<u8>) -> Result<String, Problem> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Problem::Utf16);
    }
    if let Some(problem) = binary::problem(&bytes) {
        return Err(problem);
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
    Problem::Lines {
        count,
        shown,
        can_skip: false,
    }
}
