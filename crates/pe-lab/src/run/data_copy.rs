//! The study's own copy of the user's data. Its trials read the copy, so that they need nothing from
//! outside of the folder.

use std::fs;
use std::path::Path;

use crate::ask::Tasks;
use crate::data::{self, DataSpec, Known, Source};
use crate::error::LabError;
use crate::folder::{StudyFolder, UNFINISHED};

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
        check(path, &tokenizer.file, &tokenizer.sha256)?;
    }
    match is_windowed {
        true => check_size(&source.file, spec)?,
        false => check(&source.file, &spec.file, &spec.sha256)?,
    }
    if let (Some(path), Some(test)) = (&source.test, &spec.test) {
        check(path, &test.file, &test.sha256)?;
    }
    Tasks::from_source(&source)
}

/// Checks that a copy is the file that it was. Another file need not even hold data, so this comes before it
/// is read as such.
fn check(copy: &Path, file: &str, sha256: &str) -> Result<(), LabError> {
    let bytes = fs::read(copy).map_err(LabError::file(copy))?;
    match data::digest(&bytes) == sha256 {
        true => Ok(()),
        false => Err(LabError::ChangedData {
            path: copy.to_path_buf(),
            file: file.to_string(),
        }),
    }
}

/// The same of a file that is read window by window, by its size alone: every trial checks it, and it may be
/// larger than the memory.
fn check_size(copy: &Path, spec: &DataSpec) -> Result<(), LabError> {
    let bytes = fs::metadata(copy).map_err(LabError::file(copy))?.len();
    match bytes == spec.bytes {
        true => Ok(()),
        false => Err(LabError::ChangedData {
            path: copy.to_path_buf(),
            file: spec.file.clone(),
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
    keep(&source.file, &folder.data(spec), &spec.sha256)?;
    if let (Some(file), Some(tokenizer)) = (&source.tokenizer, &spec.tokenizer) {
        keep(file, &folder.tokenizer(tokenizer), &tokenizer.sha256)?;
        let ids = folder.ids();
        if !ids.exists() {
            let unfinished = ids.with_file_name(format!("{UNFINISHED}ids"));
            data.write_ids(&unfinished)
                .and_then(|()| fs::rename(&unfinished, &ids))
                .map_err(LabError::file(&ids))?;
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
    // Written beside its place and moved there when it is whole, so that a copy that is there is whole.
    let name = copy.file_name().unwrap_or_default().to_string_lossy();
    let unfinished = copy.with_file_name(format!("{UNFINISHED}{name}"));
    fs::copy(file, &unfinished).map_err(LabError::file(&unfinished))?;
    let copied = data::digest_of(&unfinished).map_err(LabError::file(&unfinished))?;
    if copied != sha256 {
        fs::remove_file(&unfinished).map_err(LabError::file(&unfinished))?;
        return Err(LabError::Usage(format!(
            "{} was changed while it was read; run the command again",
            file.display()
        )));
    }
    fs::rename(&unfinished, copy).map_err(LabError::file(copy))?;
    // The copy has the permissions of the file, so that private data stays private.
    let kept = fs::metadata(file).and_then(|of| fs::set_permissions(copy, of.permissions()));
    kept.map_err(LabError::file(copy))
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
