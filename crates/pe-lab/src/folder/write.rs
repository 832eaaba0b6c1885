//! Reading files, and writing them so that each is there whole or not at all.

use std::fs::{self, File};
use std::io::ErrorKind;
use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use crate::error::LabError;

/// How the name of a file begins while it is being written.
pub const UNFINISHED: &str = ".unfinished-";

/// The most bytes of a file of JSON.
const MOST_BYTES: u64 = 256 << 20;

/// Creates a file, or empties it; not through a link, which may lead anywhere.
///
/// # Errors
///
/// [`LabError::File`] when the file cannot be written or is a link.
pub fn create(file: &Path) -> Result<File, LabError> {
    let mut options = File::options();
    options.write(true).create(true).truncate(true);
    #[cfg(unix)]
    {
        use std::os::unix::fs::OpenOptionsExt;
        options.custom_flags(rustix::fs::OFlags::NOFOLLOW.bits() as i32);
    }
    options.open(file).map_err(LabError::file(file))
}

/// Removes the files in a folder that a killed process was writing.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be read or a file not be removed.
pub fn remove_unfinished(folder: &Path) -> Result<(), LabError> {
    let entries = fs::read_dir(folder).map_err(LabError::file(folder))?;
    for entry in entries.flatten() {
        let name = entry.file_name();
        if name.to_string_lossy().starts_with(UNFINISHED) {
            remove(&entry.path())?;
        }
    }
    Ok(())
}

/// Removes a file, if it is there.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be removed.
pub fn remove(file: &Path) -> Result<(), LabError> {
    let gone = |error: &std::io::Error| error.kind() == ErrorKind::NotFound;
    // Where nothing can be written, the system may say that of a file that is not there.
    if fs::symlink_metadata(file).is_err_and(|error| gone(&error)) {
        return Ok(());
    }
    match fs::remove_file(file) {
        Err(error) if !gone(&error) => Err(LabError::file(file)(error)),
        _ => Ok(()),
    }
}

/// Whether a file is there. One in a folder that cannot be read is an error, since nobody knows.
///
/// # Errors
///
/// [`LabError::File`] when the system cannot tell.
pub fn is_there(file: &Path) -> Result<bool, LabError> {
    file.try_exists().map_err(LabError::file(file))
}

/// Reads a JSON file.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it does not hold a `T`.
pub fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, LabError> {
    serde_json::from_slice(&read_bounded(file)?).map_err(LabError::content(file))
}

/// The bytes of a file of a study, which may come from somebody else: a pipe, a device and a file of any size are not
/// read.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it is no file or has more bytes than any file of
/// a study.
pub fn read_bounded(file: &Path) -> Result<Vec<u8>, LabError> {
    let wrong = |reason: String| LabError::Content {
        path: file.to_path_buf(),
        reason,
    };
    let of = fs::metadata(file).map_err(LabError::file(file))?;
    if !of.is_file() {
        return Err(wrong("it is no file".into()));
    }
    if of.len() > MOST_BYTES {
        return Err(wrong(format!(
            "it has {} bytes, and no file of a study has more than {MOST_BYTES}",
            of.len()
        )));
    }
    fs::read(file).map_err(LabError::file(file))
}

/// Writes a value as JSON, whole or not at all.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_json<T: Serialize>(file: &Path, value: &T) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value).map_err(LabError::content(file))?;
    write_whole(file, text.as_bytes())
}

/// Writes rows as CSV, whole or not at all, and returns the bytes of the file; rows of named fields get a header.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_csv<T: Serialize>(
    file: &Path,
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
pub fn write_whole(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    write_with_mode(file, bytes, 0o666)
}

/// As [`write_whole`], with the permissions of a new file on Unix, less those that the process does not give.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_with_mode(file: &Path, bytes: &[u8], mode: u32) -> Result<(), LabError> {
    write_by(file, mode, |out| std::io::Write::write_all(out, bytes))
}

/// The same of a file that `fill` writes, which may be larger than the memory.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written, or with the error of `fill`.
pub fn write_by(
    file: &Path,
    mode: u32,
    fill: impl FnOnce(&mut tempfile::NamedTempFile) -> std::io::Result<()>,
) -> Result<(), LabError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            builder.permissions(fs::Permissions::from_mode(mode));
        }
        #[cfg(not(unix))]
        let _ = mode;
        let mut temporary = builder.prefix(UNFINISHED).tempfile_in(folder)?;
        fill(&mut temporary)?;
        // Otherwise a crash of the system may leave an empty file under the name.
        temporary.as_file().sync_all()?;
        temporary.persist(file).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(LabError::file(file))
}
