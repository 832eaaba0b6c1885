//! The study's own copy of the user's data. Its trials read the copy, so that they need nothing from
//! outside of the folder.

use std::fs;
use std::path::{Component, Path};

use crate::ask::Tasks;
use crate::data::{self, DataSpec, Source};
use crate::error::LabError;
use crate::folder::{StudyFolder, write_with_mode};

/// The tasks of a study in a folder: those of the laboratory, or the one made of the study's copy of
/// the data.
///
/// # Errors
///
/// [`LabError::ChangedData`] when a copy is not the file that the study was made with,
/// [`LabError::File`] when it cannot be read.
pub fn kept_tasks(data: Option<&DataSpec>, folder: &StudyFolder) -> Result<Tasks, LabError> {
    let Some(spec) = data else {
        return Ok(Tasks::default());
    };
    let source = Source {
        file: folder.data(spec),
        test: spec.test.as_ref().map(|test| folder.test(test)),
        folds: spec.folds,
        reading: spec.reading.clone(),
    };
    check(&source.file, &spec.file, &spec.sha256, spec.bytes)?;
    if let (Some(path), Some(test)) = (&source.test, &spec.test) {
        check(path, &test.file, &test.sha256, test.bytes)?;
    }
    Tasks::from_source(&source)
}

/// Checks that a copy is the file that it was. Another file need not even hold data, so this comes before it
/// is read as such. A study may come from somebody else: a name that leads out of its folder, a link and a pipe
/// are not opened.
fn check(copy: &Path, file: &str, sha256: &str, bytes: u64) -> Result<(), LabError> {
    let mut parts = Path::new(file).components();
    let plain = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    if !plain {
        return Err(LabError::Usage(format!(
            "the study names the data file `{}`; it must be the name of a file without a folder",
            file.escape_debug()
        )));
    }
    let changed = || LabError::ChangedData {
        path: copy.to_path_buf(),
        file: file.to_string(),
    };
    let of = fs::symlink_metadata(copy).map_err(LabError::file(copy))?;
    if !of.is_file() || of.len() != bytes {
        return Err(changed());
    }
    let kept = fs::read(copy).map_err(LabError::file(copy))?;
    match data::digest(&kept) == sha256 {
        true => Ok(()),
        false => Err(changed()),
    }
}

/// Copies the user's data, if any, into the folder, unless it is there already.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written, [`LabError::Usage`] when the file has changed
/// since it was read.
pub fn keep_data(tasks: &Tasks, folder: &StudyFolder) -> Result<(), LabError> {
    let Some(data) = tasks.data() else {
        return Ok(());
    };
    let (source, spec) = (data.source(), data.spec());
    if let Some(bytes) = data.packed() {
        return keep_packed(&source.file, bytes, &folder.data(spec));
    }
    keep(&source.file, &folder.data(spec), &spec.sha256)?;
    match (&source.test, &spec.test) {
        (Some(file), Some(test)) => keep(file, &folder.test(test), &test.sha256),
        _ => Ok(()),
    }
}

fn keep(file: &Path, copy: &Path, sha256: &str) -> Result<(), LabError> {
    if copy.exists() {
        return Ok(());
    }
    if let Some(parent) = copy.parent() {
        fs::create_dir_all(parent).map_err(LabError::file(parent))?;
    }
    let bytes = fs::read(file).map_err(LabError::file(file))?;
    if data::digest(&bytes) != sha256 {
        return Err(LabError::Usage(format!(
            "{} was changed while it was read; run the command again",
            file.display()
        )));
    }
    // Private data stays private: the copy is never readable for anybody who cannot read the file.
    write_with_mode(copy, &bytes, mode(file)?)
}

/// Who may read and write a file.
fn mode(file: &Path) -> Result<u32, LabError> {
    #[cfg(unix)]
    {
        use std::os::unix::fs::PermissionsExt;
        let of = fs::metadata(file).map_err(LabError::file(file))?;
        Ok(of.permissions().mode() & 0o666)
    }
    #[cfg(not(unix))]
    {
        let _ = file;
        Ok(0o666)
    }
}

/// Writes a file of what was read from a folder, unless it is there already.
fn keep_packed(from: &Path, bytes: &[u8], copy: &Path) -> Result<(), LabError> {
    if copy.exists() {
        return Ok(());
    }
    if let Some(parent) = copy.parent() {
        fs::create_dir_all(parent).map_err(LabError::file(parent))?;
    }
    // Whoever may not read the folder may not read the copy.
    write_with_mode(copy, bytes, mode(from)?)
}

#[cfg(all(test, unix))]
mod tests {
    use std::os::unix::fs::PermissionsExt;

    use super::*;

    #[test]
    fn a_copy_of_private_data_is_private() {
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("patients.csv");
        let rows = (0..30).map(|i| format!("well,a b {i}\nill,b a {i}\n"));
        fs::write(&file, format!("label,text\n{}", rows.collect::<String>())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let tasks = Tasks::from_source(&Source::from(file.as_path())).unwrap();
        let study = StudyFolder::at(folder.path().join("study"));
        fs::create_dir(study.path()).unwrap();
        keep_data(&tasks, &study).unwrap();
        let copy = study.data(tasks.data().unwrap().spec());
        let mode = fs::metadata(copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
