//! Reading files of a study as the page does: a file that cannot be read has a reason, and one that has not changed is
//! not read again.

use std::fs::File;
use std::io::{self, ErrorKind};
use std::time::SystemTime;

use serde::de::DeserializeOwned;

use crate::door::{Entry, bytes_of};

/// The most bytes of a file that is read.
const MAX_BYTES: u64 = 64 << 20;

/// When a file was written, and its size.
pub type Stamp = (SystemTime, u64);

/// A file of the study that was opened, so that what is known of it is known of the bytes that are read.
#[derive(Debug)]
pub struct Opened {
    file: File,
    name: String,
    /// When it was written, and its size.
    pub stamp: Stamp,
}

/// Opens a file; `None` if it is not there. The error says why it is not read.
pub fn open(file: &Entry) -> Result<Option<Opened>, String> {
    let name = file.display().to_string();
    let open = || -> io::Result<_> {
        let file = file.open()?;
        let about = file.metadata()?;
        Ok((file, (about.modified()?, about.len())))
    };
    match open() {
        Ok((file, stamp)) => Ok(Some(Opened { file, name, stamp })),
        Err(error) if error.kind() == ErrorKind::NotFound => Ok(None),
        Err(error) => Err(said(&name, &error)),
    }
}

/// What a JSON file holds; `None` if it is not there.
pub fn json<T: DeserializeOwned>(file: &Entry) -> Result<Option<T>, String> {
    open(file)?.map(Opened::json).transpose()
}

impl Opened {
    /// The bytes of the file.
    pub fn bytes(self) -> Result<Vec<u8>, String> {
        bytes_of(self.file, MAX_BYTES).map_err(|error| said(&self.name, &error))
    }

    /// What it holds as JSON.
    pub fn json<T: DeserializeOwned>(self) -> Result<T, String> {
        let name = self.name.clone();
        serde_json::from_slice(&self.bytes()?).map_err(|error| said(&name, &error))
    }
}

fn said(name: &str, reason: &dyn std::fmt::Display) -> String {
    format!("{name} cannot be read: {reason}")
}
