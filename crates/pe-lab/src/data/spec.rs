//! Which files the user's data are, and what identifies them.

use std::io::{self, BufReader, Read};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

use super::format::Format;
use super::reading::Reading;
use crate::door::Entry;

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
    /// A table of the classes of rows, by their ids.
    pub labels: Option<PathBuf>,
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
    /// This source with the test file that lies beside its file, by their names: `X_TEST` beside `X_TRAIN`, with the same
    /// end.
    /// `None` where there is none, or something else is said of the test.
    pub(super) fn with_test_beside(&self) -> Option<Self> {
        let says = self.test.is_some() || self.folds.is_some() || self.reading.no_beyond;
        if says || self.inside.is_some() || self.reading.target.is_some() {
            return None;
        }
        let name = self.file.file_name()?.to_str()?;
        let of = |train: &str, test: &str| {
            let (stem, end) = name.rsplit_once(train)?;
            Some(format!("{stem}{test}{end}"))
        };
        let test = of("_TRAIN.", "_TEST.").or_else(|| of("_train.", "_test."))?;
        let test = self.file.with_file_name(test);
        test.is_file().then(|| Self {
            test: Some(test),
            ..self.clone()
        })
    }

    /// One of its files, to be opened.
    pub(super) fn entry(&self, file: &Path) -> Entry {
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
    /// The table of the classes of rows, by their ids.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub labels: Option<FileSpec>,
}

impl DataSpec {
    /// A file that was read so, with nothing beside it.
    pub fn new(file: FileSpec, format: Format, reading: &Reading) -> Self {
        Self {
            file: file.file,
            format,
            sha256: file.sha256,
            bytes: file.bytes,
            test: None,
            folds: None,
            reading: reading.clone(),
            vocabulary: None,
            tokenizer: None,
            labels: None,
        }
    }

    /// What a label is called.
    pub(super) fn label(&self) -> &str {
        match (&self.reading.label, self.format) {
            (Some(name), _) => name,
            (None, Format::Ts | Format::Arff) => "target",
            (None, _) => self.reading.usual_label(),
        }
    }

    /// Whether the file is read window by window, and may be of any size.
    pub fn is_windowed(&self) -> bool {
        self.format.is_windowed(&self.reading)
    }
}

/// The name of a file without its folder.
pub(super) fn name_of(path: &Path) -> String {
    let name = path.file_name();
    let name = name.map_or_else(String::new, |name| name.to_string_lossy().into_owned());
    short_enough(name)
}

/// Shortens a name that is too long, as one that is not UTF-8 may be once it is written in UTF-8. The end stays, since it
/// says what the file is.
pub(super) fn short_enough(name: String) -> String {
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
    pub(super) fn of(path: &Path, bytes: &[u8]) -> Self {
        Self {
            file: name_of(path),
            sha256: digest(bytes),
            bytes: bytes.len() as u64,
        }
    }
}

/// The SHA-256 digest of a file's bytes, as in its [`DataSpec`].
pub fn digest(bytes: &[u8]) -> String {
    format!("{:x}", Sha256::digest(bytes))
}

/// [`digest`] for a file of any size.
///
/// # Errors
///
/// When the file cannot be read.
pub fn digest_of(file: impl Read) -> io::Result<String> {
    Ok(digest_and_size(file)?.0)
}

/// The SHA-256 digest of a file of any size, and its bytes.
pub(super) fn digest_and_size(file: impl Read) -> io::Result<(String, u64)> {
    let mut sha = Sha256::new();
    let bytes = io::copy(&mut BufReader::with_capacity(1 << 16, file), &mut sha)?;
    Ok((format!("{:x}", sha.finalize()), bytes))
}
