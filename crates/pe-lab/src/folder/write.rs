//! Reading files, and writing them so that each is there whole or not at all.

use std::fs;
use std::path::Path;

use serde::{Serialize, de::DeserializeOwned};

use crate::error::LabError;

/// How the name of a file begins while it is being written.
pub const UNFINISHED: &str = ".unfinished-";

/// Reads a JSON file.
///
/// # Errors
///
/// [`LabError::File`] when it cannot be read, [`LabError::Content`] when it does not hold a `T`.
pub fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, LabError> {
    let text = fs::read_to_string(file).map_err(LabError::file(file))?;
    serde_json::from_str(&text).map_err(LabError::content(file))
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

/// Writes rows as CSV, whole or not at all; rows of named fields get a header.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_csv<T: Serialize>(
    file: &Path,
    rows: impl IntoIterator<Item = T>,
) -> Result<(), LabError> {
    let mut writer = csv::Writer::from_writer(Vec::new());
    for row in rows {
        writer
            .serialize(row)
            .map_err(|error| LabError::file(file)(error.into()))?;
    }
    let bytes = writer
        .into_inner()
        .map_err(|error| LabError::file(file)(error.into_error()))?;
    write_whole(file, &bytes)
}

/// Writes bytes to a file under a temporary name and then renames it: a reader finds the whole file
/// or none.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written.
pub fn write_whole(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || {
        let mut builder = tempfile::Builder::new();
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Temporary files are private; a result is as readable as any other new file.
            builder.permissions(fs::Permissions::from_mode(0o666));
        }
        let mut temporary = builder.prefix(UNFINISHED).tempfile_in(folder)?;
        std::io::Write::write_all(&mut temporary, bytes)?;
        temporary.persist(file).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(LabError::file(file))
}
