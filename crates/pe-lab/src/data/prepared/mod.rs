//! What the workers of a study read in the place of the user's file: its content as numbers, so that it is parsed once
//! and not by each of them.
//!
//! ```text
//! pe-lab prepared 1⏎
//! {"of": …, "about": …, "parts": [{"name": …, "width": …, "count": …}, …]}⏎
//! the numbers of every part, of so many bytes each, the lowest byte first
//! the SHA-256 of all of that in 64 hexadecimal digits
//! ```
//!
//! Tokens stay in the file and are read window by window, so that the workers share the memory in which the system
//! keeps it.
//!
//! Files of less than [`FROM`] bytes are parsed by each worker: that takes less than a tenth of a second. So are images,
//! which a study keeps decoded, and files that are read window by window themselves.

#[cfg(test)]
mod tests;

use std::fs::File;
use std::io::{self, BufRead, BufReader, BufWriter, ErrorKind, Read, Seek, SeekFrom, Write};
use std::sync::Arc;

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::format::Format;
use super::labelled::{Division, Labelled};
use super::next;
use super::sequences::Sequences;
use super::series::{self, Series};
use super::spec::{DataSpec, digest_of};
use super::task::{DataTask, Made};
use super::text::MaskedText;
use crate::door::Entry;
use crate::task::{Alphabet, Stream, Task, TokenFile};

const MAGIC: &[u8] = b"pe-lab prepared 1\n";
/// The fewest bytes of data that are prepared.
const FROM: u64 = 1 << 20;
/// The most bytes of a prepared file. The largest file of data makes less than half of it.
const MOST: u64 = 4 << 30;
/// The most bytes of what it says of its parts.
const MOST_HEAD: u64 = 64 << 20;
/// The digits of the digest at its end.
const DIGITS: u64 = 64;

/// What the task is made of, beside numbers.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case", deny_unknown_fields)]
enum About {
    /// Labelled rows, and what each fold makes of them.
    Rows {
        labels: Vec<String>,
        folds: Vec<Division>,
    },
    /// A text of masked characters, so many of them in the vocabulary.
    Masked { known: usize },
    /// A text whose next character is predicted, and the characters in the vocabulary.
    Next { known: String },
    /// A table of measurements.
    Series(series::About),
}

/// The numbers of one width in a row.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Part {
    name: String,
    width: usize,
    count: usize,
}

#[derive(Debug, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
struct Head {
    /// A digest of the data and of the code that read it.
    of: String,
    about: About,
    parts: Vec<Part>,
}

/// The numbers of a part, to be written one after the other.
struct Numbers<'a> {
    part: Part,
    all: Box<dyn Iterator<Item = io::Result<u64>> + 'a>,
}

impl<'a> Numbers<'a> {
    fn new(name: &str, width: usize, count: usize, all: impl Iterator<Item = u64> + 'a) -> Self {
        let name = name.into();
        Self {
            part: Part { name, width, count },
            all: Box::new(all.map(Ok)),
        }
    }

    fn short(name: &str, numbers: &'a [u32]) -> Self {
        let all = numbers.iter().map(|number| u64::from(*number));
        Self::new(name, 4, numbers.len(), all)
    }

    fn indices(name: &str, numbers: &'a [usize]) -> Self {
        let all = numbers.iter().map(|number| *number as u64);
        Self::new(name, 4, numbers.len(), all)
    }

    fn real(name: &str, columns: Vec<&'a [f64]>) -> Self {
        let count = columns.iter().map(|column| column.len()).sum();
        let all = columns.into_iter().flatten();
        Self::new(name, 8, count, all.map(|number| number.to_bits()))
    }

    fn tokens(width: usize, tokens: &'a Stream) -> Self {
        const PART: usize = 1 << 16;
        let count = tokens.len();
        let windows = (0..count).step_by(PART).flat_map(move |from| {
            match tokens.window(from, PART.min(count - from)) {
                Ok(window) => window.into_iter().map(Ok).collect(),
                Err(error) => vec![Err(error)],
            }
        });
        Self {
            all: Box::new(windows),
            ..Self::new("tokens", width, count, [].into_iter())
        }
    }
}

/// Passes bytes on and counts them into a digest.
struct Hashing<'a> {
    to: &'a mut dyn Write,
    sha: Sha256,
}

impl Write for Hashing<'_> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let written = self.to.write(bytes)?;
        self.sha.update(&bytes[..written]);
        Ok(written)
    }

    fn flush(&mut self) -> io::Result<()> {
        self.to.flush()
    }
}

impl DataSpec {
    /// Whether workers read a prepared form of this data.
    pub fn is_prepared(&self) -> bool {
        let bytes = self.bytes + self.test.as_ref().map_or(0, |test| test.bytes);
        let is_parsed = !self.is_windowed() && self.tokenizer.is_none();
        is_parsed && self.format != Format::Images && bytes >= FROM
    }
}

impl DataTask {
    /// Writes the prepared form of the data, and returns the digest at its end. `of` is a digest of the data and of the
    /// code that read it.
    ///
    /// # Errors
    ///
    /// When it cannot be written, or data of this kind has no such form: see [`DataSpec::is_prepared`].
    pub fn write_prepared(&self, of: &str, out: &mut dyn Write) -> io::Result<String> {
        let (about, parts) = self.parts()?;
        let head = Head {
            of: of.into(),
            about,
            parts: parts.iter().map(|numbers| numbers.part.clone()).collect(),
        };
        let hashing = Hashing {
            to: out,
            sha: Sha256::new(),
        };
        let mut all = BufWriter::with_capacity(1 << 16, hashing);
        all.write_all(MAGIC)?;
        serde_json::to_writer(&mut all, &head)?;
        all.write_all(b"\n")?;
        for Numbers { part, all: numbers } in parts {
            for number in numbers {
                all.write_all(&number?.to_le_bytes()[..part.width])?;
            }
        }
        let Hashing { to, sha } = all.into_inner().map_err(io::IntoInnerError::into_error)?;
        let digest = format!("{:x}", sha.finalize());
        to.write_all(digest.as_bytes())?;
        Ok(digest)
    }

    /// What is kept of the data beside its numbers, and the numbers.
    fn parts(&self) -> io::Result<(About, Vec<Numbers<'_>>)> {
        Ok(match &self.made {
            Made::Rows(tasks) => parts_of_rows(tasks),
            Made::Text(task) => (
                About::Masked { known: task.known },
                vec![Numbers::tokens(2, &task.characters)],
            ),
            Made::Next(task) => {
                let Alphabet::Characters(known) = task.alphabet() else {
                    return Err(io::ErrorKind::Unsupported.into());
                };
                let known = known.iter().collect();
                (
                    About::Next { known },
                    vec![Numbers::tokens(2, task.tokens())],
                )
            }
            Made::Series(task) => {
                let table = &task.table;
                let columns = table.values.iter().map(Vec::as_slice).collect();
                let mut parts = vec![Numbers::real("values", columns)];
                if let Some(times) = &table.times {
                    parts.push(Numbers::real("times", vec![times]));
                }
                if let series::Target::Classes { of_rows, .. } = &table.to_predict {
                    parts.push(Numbers::indices("classes", of_rows));
                }
                (About::Series(task.described()), parts)
            }
            Made::Images(_) => return Err(io::ErrorKind::Unsupported.into()),
        })
    }
}

fn parts_of_rows(tasks: &[Arc<Labelled>]) -> (About, Vec<Numbers<'_>>) {
    let sequences = &tasks[0].sequences;
    let mut parts = vec![
        Numbers::short("ends", &sequences.ends),
        Numbers::short("labels", &sequences.labels),
        Numbers::tokens(4, &sequences.tokens),
    ];
    if let Some(answers) = &sequences.answers {
        let lengths = answers.iter().map(|answer| answer.len() as u64);
        let tokens = answers.iter().flatten().map(|token| u64::from(*token));
        let (labels, count) = (answers.len(), tokens.clone().count());
        parts.push(Numbers::new("lengths of answers", 4, labels, lengths));
        parts.push(Numbers::new("answers", 4, count, tokens));
    }
    if let Some(measured) = &tasks[0].measured {
        parts.push(Numbers::real("measured", vec![&measured.table]));
    }
    if let Some(since) = &sequences.since {
        parts.push(Numbers::real("times", vec![since]));
    }
    let mut folds = Vec::new();
    for task in tasks {
        let name = &task.division.name;
        let (numbers, train) = (format!("numbers of {name}"), format!("train of {name}"));
        parts.push(Numbers::short(&numbers, &task.numbers));
        parts.push(Numbers::indices(&train, &task.train));
        folds.push(task.division.clone());
    }
    let labels = tasks[0].labels.clone();
    (About::Rows { labels, folds }, parts)
}

/// The parts of a prepared file that is as it was written.
struct Prepared {
    file: File,
    parts: Vec<Part>,
    /// Where the first part begins.
    start: u64,
    digest: String,
}

/// The task of this name in a prepared file. `of` is what it must have been made of.
///
/// # Errors
///
/// With the reason why the file cannot be used.
pub fn task(path: &Entry, of: &str, spec: &DataSpec, name: &str) -> Result<Arc<dyn Task>, String> {
    let (prepared, about) = Prepared::open(path, of)?;
    prepared.task(about, spec, name)
}

/// The digest at the end of a prepared file.
///
/// # Errors
///
/// With the reason why the file cannot be used.
pub fn digest(path: &Entry, of: &str) -> Result<String, String> {
    Prepared::open(path, of).map(|(prepared, _)| prepared.digest)
}

impl Prepared {
    /// Opens a file, and checks that it is as it was written. Returns its parts, and what the task is made of beside them. The study
    /// may come from somebody else: sizes are checked before anything is read.
    fn open(path: &Entry, of: &str) -> Result<(Self, About), String> {
        let said = |error: io::Error| match error.kind() {
            ErrorKind::InvalidData => error.to_string(),
            _ => format!("it cannot be read: {error}"),
        };
        let mut file = path.open().map_err(said)?;
        let bytes = file.metadata().map_err(said)?.len();
        if !(DIGITS..=MOST).contains(&bytes) {
            return Err(format!(
                "it has {bytes} bytes, and such files have from {DIGITS} to {MOST}"
            ));
        }
        let mut reader = BufReader::new((&mut file).take(MOST_HEAD));
        let mut magic = vec![0; MAGIC.len()];
        let begins = reader.read_exact(&mut magic).is_ok() && magic == MAGIC;
        let mut line = Vec::new();
        reader.read_until(b'\n', &mut line).map_err(said)?;
        let head: Option<Head> = serde_json::from_slice(&line).ok();
        let Some(head) = head.filter(|_| begins && line.ends_with(b"\n")) else {
            return Err("it does not begin as such a file".into());
        };
        if head.of != of {
            return Err("it was made of other data, or by another version of pe-lab".into());
        }
        let start = (MAGIC.len() + line.len()) as u64;
        let end = head.parts.iter().try_fold(start, |end, part| {
            let bytes = (part.width as u64).checked_mul(part.count as u64)?;
            end.checked_add(bytes)
        });
        if end.and_then(|end| end.checked_add(DIGITS)) != Some(bytes) {
            return Err("it has not as many numbers as it says".into());
        }

        file.seek(SeekFrom::Start(0)).map_err(said)?;
        let digest = digest_of((&mut file).take(bytes - DIGITS)).map_err(said)?;
        let mut written = String::new();
        file.read_to_string(&mut written).map_err(said)?;
        if written != digest {
            return Err("it is not as it was written: its digest is that of something else".into());
        }
        let prepared = Self {
            file,
            parts: head.parts,
            start,
            digest,
        };
        Ok((prepared, head.about))
    }

    /// Where a part begins, and what it is.
    fn part(&self, name: &str, width: usize) -> Result<(u64, Part), String> {
        let mut start = self.start;
        for part in &self.parts {
            if part.name == name && part.width == width {
                return Ok((start, part.clone()));
            }
            start += (part.width * part.count) as u64;
        }
        Err(format!("it has no part `{name}`"))
    }

    /// The numbers of a part, read into memory.
    fn numbers<T>(
        &mut self,
        name: &str,
        width: usize,
        of: impl Fn(u64) -> T,
    ) -> Result<Vec<T>, String> {
        let (start, part) = self.part(name, width)?;
        let said = |error: io::Error| format!("it cannot be read: {error}");
        self.file.seek(SeekFrom::Start(start)).map_err(said)?;
        let bytes = (width * part.count) as u64;
        let mut reader = BufReader::with_capacity(1 << 16, (&mut self.file).take(bytes));
        let mut numbers = Vec::with_capacity(part.count);
        for _ in 0..part.count {
            let mut whole = [0; 8];
            reader.read_exact(&mut whole[..width]).map_err(said)?;
            numbers.push(of(u64::from_le_bytes(whole)));
        }
        Ok(numbers)
    }

    /// The real numbers of a part that is there if `is_there`.
    fn reals(&mut self, name: &str, is_there: bool) -> Result<Option<Vec<f64>>, String> {
        let read = is_there.then(|| self.numbers(name, 8, f64::from_bits));
        read.transpose()
    }

    /// The numbers of a part, which stay in the file.
    fn stream(self, name: &str, width: usize) -> Result<Stream, String> {
        let (start, part) = self.part(name, width)?;
        let tokens = TokenFile::part(self.file, start, width, part.count);
        Ok(Stream::File(tokens))
    }

    /// The answers that are written for each of `labels` labels, in tokens below `words`.
    fn answers(&mut self, labels: usize, words: usize) -> Result<Vec<Vec<u32>>, String> {
        let short = |number: u64| number as u32;
        let lengths = self.numbers("lengths of answers", 4, short)?;
        let tokens = self.numbers("answers", 4, short)?;
        let all: u64 = lengths.iter().map(|length| u64::from(*length)).sum();
        if lengths.len() != labels
            || all != tokens.len() as u64
            || tokens.iter().any(|token| *token as usize >= words)
        {
            return Err("its answers do not fit its labels".into());
        }
        let mut left = tokens.into_iter();
        let of = |length: u32| left.by_ref().take(length as usize).collect();
        Ok(lengths.into_iter().map(of).collect())
    }

    fn rows(
        mut self,
        labels: Vec<String>,
        mut folds: Vec<Division>,
        spec: &DataSpec,
        name: &str,
    ) -> Result<Arc<dyn Task>, String> {
        let short = |number: u64| number as u32;
        let index = |number: u64| number as usize;
        let classes = labels.len();
        let fold = folds.iter().position(|fold| fold.name == name);
        let fold = fold.ok_or_else(|| format!("it has no task `{name}`"))?;
        let division = folds.swap_remove(fold);
        let ends = self.numbers("ends", 4, short)?;
        let of_rows = self.numbers("labels", 4, short)?;
        let numbers = self.numbers(&format!("numbers of {name}"), 4, short)?;
        let answers = match spec.reading.is_answer() {
            false => None,
            true => Some(self.answers(classes, numbers.len())?),
        };
        let train = self.numbers(&format!("train of {name}"), 4, index)?;
        let table = self.reals("measured", division.scale.is_some())?;
        let since = self.reals("times", division.times.is_some())?;
        let tokens = self.stream("tokens", 4)?;
        if !ends.is_sorted()
            || ends.last().copied().unwrap_or(0) as usize != tokens.len()
            || of_rows.len() != ends.len()
            || of_rows.iter().any(|label| *label as usize >= classes)
            || since
                .as_ref()
                .is_some_and(|since| since.len() != tokens.len())
        {
            return Err("its rows and labels do not fit".into());
        }
        let sequences = Arc::new(Sequences {
            ends,
            labels: of_rows,
            answers,
            tokens,
            since,
        });
        let task = Labelled::prepared(
            sequences, labels, &spec.file, division, numbers, train, table,
        )?;
        Ok(Arc::new(task))
    }

    fn task(mut self, about: About, spec: &DataSpec, name: &str) -> Result<Arc<dyn Task>, String> {
        match about {
            About::Rows { labels, folds } => self.rows(labels, folds, spec, name),
            About::Masked { known } => {
                let characters = self.stream("tokens", 2)?;
                let task = MaskedText::prepared(characters, known, &spec.file)?;
                Ok(Arc::new(task))
            }
            About::Next { known } => {
                let known = known.chars().collect();
                let characters = self.stream("tokens", 2)?;
                let task = next::of_prepared(characters, known, &spec.file, &spec.reading);
                Ok(Arc::new(task.map_err(|problem| problem.to_string())?))
            }
            About::Series(about) => {
                let values = self.numbers("values", 8, f64::from_bits)?;
                let times = self.reals("times", about.time.is_some())?;
                let classes = match about.labels {
                    None => None,
                    Some(_) => Some(self.numbers("classes", 4, |number| number as usize)?),
                };
                let task = Series::prepared(about, values, times, classes, &spec.file)?;
                Ok(Arc::new(task))
            }
        }
    }
}
