//! Reading files of a study, and none outside of its folder. A study may come from somebody else: a link that
//! leads out of the folder, a pipe and a file that would fill the memory are not read.

use std::fs::{self, File};
use std::io::{ErrorKind, Read};
use std::path::{Path, PathBuf};
use std::time::SystemTime;

use serde::de::DeserializeOwned;

/// The most bytes of a file that is read.
const MAX_BYTES: u64 = 64 << 20;

/// When a file was written, and its size.
pub type Stamp = (SystemTime, u64);

/// The inside of a folder.
#[derive(Debug)]
pub struct Inside {
    /// The folder itself, without links.
    root: PathBuf,
}

impl Inside {
    /// The inside of a folder; `None` if it is not there.
    pub fn of(folder: &Path) -> Option<Self> {
        let root = folder.canonicalize().ok().filter(|root| root.is_dir())?;
        Some(Self { root })
    }

    /// When a regular file inside was written, and its size.
    pub fn stamp(&self, file: &Path) -> Option<Stamp> {
        let real = file.canonicalize().ok()?;
        let about = fs::metadata(&real).ok()?;
        let is_inside = real.starts_with(&self.root) && about.is_file();
        is_inside.then_some((about.modified().ok()?, about.len()))
    }

    /// The bytes of a file; `None` if it is not there. The error says why it is not read.
    pub fn bytes(&self, file: &Path) -> Result<Option<Vec<u8>>, String> {
        let said = |reason: String| format!("{} cannot be read: {reason}", file.display());
        let Some((_, size)) = self.stamp(file) else {
            return match fs::symlink_metadata(file) {
                Ok(_) => Err(said(
                    "it is no regular file inside the study's folder".into(),
                )),
                Err(_) => Ok(None),
            };
        };
        if size > MAX_BYTES {
            return Err(said(format!(
                "it has {size} bytes, and at most {MAX_BYTES} are read"
            )));
        }
        let mut bytes = Vec::new();
        match File::open(file).and_then(|file| file.take(MAX_BYTES).read_to_end(&mut bytes)) {
            Ok(_) => Ok(Some(bytes)),
            Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
            Err(error) => Err(said(error.to_string())),
        }
    }

    /// What a JSON file holds; `None` if it is not there.
    pub fn json<T: DeserializeOwned>(&self, file: &Path) -> Result<Option<T>, String> {
        let Some(bytes) = self.bytes(file)? else {
            return Ok(None);
        };
        let read = serde_json::from_slice(&bytes);
        read.map(Some)
            .map_err(|error| format!("{} cannot be read: {error}", file.display()))
    }
}
