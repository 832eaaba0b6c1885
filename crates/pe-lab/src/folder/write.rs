//! Reading files, and writing them so that each is there whole or not at all.

use std::ffi::OsString;
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read, Seek, Write};
use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use crate::data::digest_of;
use crate::door::{Entry, bytes_of, is_unfinished};
use crate::error::LabError;

/// The most bytes of a file of JSON.
const MOST_BYTES: u64 = 256 << 20;

/// Turns an error with a file of a study into a [`LabError`]: [`LabError::Content`] if it is no regular file.
fn wrong(file: &Entry) -> impl FnOnce(io::Error) -> LabError {
    let path = file.to_path_buf();
    move |error| match error.kind() {
        ErrorKind::InvalidData => LabError::content(&path)(error),
        _ => LabError::file(&path)(error),
    }
}

/// Creates a file, or opens the one that is there, whose content stays.
///
/// # Errors
///
/// [`LabError::File`] when the file cannot be written, [`LabError::Content`] when it is a link, a pipe or the like.
pub fn create(file: &Entry) -> Result<File, LabError> {
    file.create().map_err(wrong(file))
}

/// Makes a folder, and those on the way to it.
///
/// # Errors
///
/// As [`create`].
pub fn make_folder(folder: &Entry) -> Result<(), LabError> {
    folder.make_folder().map_err(wrong(folder))
}

/// The names of what is in a folder; none where there is no folder.
///
/// # Errors
///
/// As [`create`].
pub fn names(folder: &Entry) -> Result<Vec<OsString>, LabError> {
    folder.names().map_err(wrong(folder))
}

/// Whether two paths lead to the same file or folder, which is there.
pub fn is_same(a: &Path, b: &Path) -> bool {
    let real = |path: &Path| fs::canonicalize(path).ok();
    real(a).is_some_and(|a| Some(a) == real(b))
}

/// Gives a file or a folder of a study another name.
///
/// # Errors
///
/// As [`create`].
pub fn rename(from: &Entry, to: &Entry) -> Result<(), LabError> {
    from.rename(to).map_err(wrong(from))
}

/// Removes the files in a folder that a killed process was writing.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be read or a file not be removed.
pub fn remove_unfinished(folder: &Entry) -> Result<(), LabError> {
    let names = names(folder)?.into_iter();
    let mut left = names.filter(|name| is_unfinished(name));
    left.try_for_each(|name| remove(&folder.entry(name)))
}

/// Removes a file, if it is there.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be removed.
pub fn remove(file: &Entry) -> Result<(), LabError> {
    file.remove().map_err(wrong(file))
}

/// Removes a folder with everything in it, if it is there.
///
/// # Errors
///
/// [`LabError::File`] when something cannot be removed.
pub fn remove_all(folder: &Entry) -> Result<(), LabError> {
    folder.remove_all().map_err(wrong(folder))
}

/// Whether a file is there. If its folder cannot be read, that is an error, since the answer is unknown.
///
/// # Errors
///
/// [`LabError::File`] when the system cannot tell.
pub fn is_there(file: &Entry) -> Result<bool, LabError> {
    file.is_there().map_err(wrong(file))
}

/// Makes a folder that the user named, unless it is there.
///
/// # Errors
///
/// [`LabError::Usage`] for a file of this name, [`LabError::File`] when it cannot be made.
pub fn make_named_folder(path: &Path) -> Result<(), LabError> {
    if path.is_file() {
        return Err(LabError::Usage(format!(
            "{} is a file, and this takes a folder; choose another with --out",
            path.display()
        )));
    }
    fs::create_dir_all(path).map_err(LabError::file(path))
}

/// Reads a JSON file.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it does not hold a `T`.
pub fn read_json<T: DeserializeOwned>(file: &Entry) -> Result<T, LabError> {
    serde_json::from_slice(&read_bounded(file)?).map_err(LabError::content(file))
}

/// The bytes of a file of a study, which may come from somebody else: a link, a pipe, a device and a file of any size
/// are not read.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it is no file or has more bytes than any file of
/// a study.
pub fn read_bounded(file: &Entry) -> Result<Vec<u8>, LabError> {
    file.read(MOST_BYTES).map_err(wrong(file))
}

/// The bytes of a file, which must have this digest if one is given. The digest is computed before they are read into
/// memory.
///
/// # Errors
///
/// [`ErrorKind::InvalidData`] when it has another digest, is too large or is no regular file.
pub fn of_digest(file: &Entry, digest: Option<&str>, most: u64) -> io::Result<Vec<u8>> {
    let mut file = file.open()?;
    if let Some(digest) = digest {
        let found = digest_of(Read::by_ref(&mut file).take(most))?;
        if found != digest {
            return Err(io::Error::new(
                ErrorKind::InvalidData,
                "it is not as it was written",
            ));
        }
        file.rewind()?;
    }
    bytes_of(file, most)
}

/// Writes a value as JSON, whole or not at all.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_json<T: Serialize>(file: &Entry, value: &T) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value).map_err(LabError::content(file))?;
    write_whole(file, text.as_bytes())
}

/// Writes rows as CSV, whole or not at all, and returns the bytes of the file; rows of named fields get a header.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_csv<T: Serialize>(
    file: &Entry,
    rows: impl IntoIterator<Item = T>,
) -> Result<Vec<u8>, LabError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .serialize(row)
            .map_err(|error| LabError::file(file)(error.into()))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| LabError::file(file)(error.into_error()))?;
    write_whole(file, &bytes)?;
    Ok(bytes)
}

/// Writes bytes to a file under a temporary name and then renames it: a reader finds the whole file
/// or none.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_whole(file: &Entry, bytes: &[u8]) -> Result<(), LabError> {
    write_by(file, 0o666, |out| out.write_all(bytes))
}

/// [`write_whole`] for content that `fill` writes, which may be larger than the memory. `mode` is the permissions of the
/// file on Unix, less the umask of the process.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written, or with the error of `fill`.
pub fn write_by(
    file: &Entry,
    mode: u32,
    fill: impl FnOnce(&mut File) -> io::Result<()>,
) -> Result<(), LabError> {
    file.replace(mode, fill).map_err(wrong(file))
}
