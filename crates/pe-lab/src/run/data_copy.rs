//! The study's own copy of the user's data. Its trials read the copy, so that they need nothing from
//! outside of the folder.

use std::fs;
use std::path::{Component, Path};

use crate::ask::Tasks;
use crate::data::{self, DataSpec, Known, Source};
use crate::error::LabError;
use crate::folder::{StudyFolder, write_by, write_with_mode};

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
    let is_windowed = spec.is_windowed() || (spec.tokenizer.is_some() && folder.ids().exists());
    let source = Source {
        file: folder.data(spec),
        test: spec.test.as_ref().map(|test| folder.test(test)),
        folds: spec.folds,
        reading: spec.reading.clone(),
        tokenizer: spec.tokenizer.as_ref().map(|of| folder.tokenizer(of)),
        known: is_windowed.then(|| Known {
            sha256: spec.sha256.clone(),
            vocabulary: spec.vocabulary,
            ids: spec.tokenizer.as_ref().map(|_| folder.ids()),
        }),
    };
    if let (Some(path), Some(tokenizer)) = (&source.tokenizer, &spec.tokenizer) {
        check(path, &tokenizer.file, &tokenizer.sha256, tokenizer.bytes)?;
    }
    match is_windowed {
        true => check_size(&source.file, &spec.file, spec.bytes)?,
        false => check_copies(spec, folder)?,
    }
    Tasks::from_source(&source)
}

/// Checks that the copies of a file and of its test file are the files that the study was made with.
///
/// # Errors
///
/// As [`kept_tasks`].
pub(super) fn check_copies(spec: &DataSpec, folder: &StudyFolder) -> Result<(), LabError> {
    check(&folder.data(spec), &spec.file, &spec.sha256, spec.bytes)?;
    match &spec.test {
        Some(test) => check(&folder.test(test), &test.file, &test.sha256, test.bytes),
        None => Ok(()),
    }
}

/// Checks that a copy is the file that it was. Another file need not even hold data, so this comes before it
/// is read as such. A study may come from somebody else: a name that leads out of its folder, a link and a pipe
/// are not opened.
fn check(copy: &Path, file: &str, sha256: &str, bytes: u64) -> Result<(), LabError> {
    check_size(copy, file, bytes)?;
    let kept = fs::read(copy).map_err(LabError::file(copy))?;
    match data::digest(&kept) == sha256 {
        true => Ok(()),
        false => Err(LabError::ChangedData {
            path: copy.to_path_buf(),
            file: file.to_string(),
        }),
    }
}

/// Checks that the name of a file names no folder.
fn is_plain(file: &str) -> Result<(), LabError> {
    let mut parts = Path::new(file).components();
    let plain = matches!(
        (parts.next(), parts.next()),
        (Some(Component::Normal(_)), None)
    );
    match plain {
        true => Ok(()),
        false => Err(LabError::Usage(format!(
            "the study names the data file `{}`; it must be the name of a file without a folder",
            file.escape_debug()
        ))),
    }
}

/// The same of a file that is read window by window, by its size alone: every trial checks it, and it may be
/// larger than the memory.
fn check_size(copy: &Path, file: &str, bytes: u64) -> Result<(), LabError> {
    is_plain(file)?;
    let of = fs::symlink_metadata(copy).map_err(LabError::file(copy))?;
    match of.is_file() && of.len() == bytes {
        true => Ok(()),
        false => Err(LabError::ChangedData {
            path: copy.to_path_buf(),
            file: file.to_string(),
        }),
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
        return keep_packed(data.private(), bytes, &folder.data(spec));
    }
    keep(&source.file, &folder.data(spec), &spec.sha256)?;
    if let (Some(file), Some(tokenizer)) = (&source.tokenizer, &spec.tokenizer) {
        keep(file, &folder.tokenizer(tokenizer), &tokenizer.sha256)?;
        let ids = folder.ids();
        if !ids.exists() {
            write_by(&ids, mode(&source.file)?, |out| data.write_ids(out))?;
        }
    }
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
    let mut changed = false;
    // Private data stays private: the copy is never readable for anybody who cannot read the file.
    let written = write_by(copy, mode(file)?, |out| {
        std::io::copy(&mut fs::File::open(file)?, out)?;
        changed = data::digest_of(out.path())? != sha256;
        match changed {
            true => Err(std::io::ErrorKind::InvalidData.into()),
            false => Ok(()),
        }
    });
    match changed {
        true => Err(LabError::Usage(format!(
            "{} was changed while it was read; run the command again",
            file.display()
        ))),
        false => written,
    }
}

/// Who may read and write a file.
pub(super) fn mode(file: &Path) -> Result<u32, LabError> {
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
    // Whoever may not read the folder or one of its files may not read the copy.
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
