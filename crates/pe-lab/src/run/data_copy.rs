//! The study's own copy of the user's data. Its trials read the copy, so that they need nothing from
//! outside of the folder.

use std::fs;

use crate::ask::Tasks;
use crate::data::{self, DataSpec};
use crate::error::LabError;
use crate::folder::{StudyFolder, write_whole};

/// The tasks of a study in a folder: those of the laboratory, or the one made of the study's copy of
/// the data.
///
/// # Errors
///
/// [`LabError::ChangedData`] when the copy is not the file that the study was made with,
/// [`LabError::File`] when it cannot be read.
pub fn kept_tasks(data: Option<&DataSpec>, folder: &StudyFolder) -> Result<Tasks, LabError> {
    let Some(spec) = data else {
        return Ok(Tasks::default());
    };
    let path = folder.data(spec);
    // The digest is compared first: another file need not even hold data.
    let bytes = fs::read(&path).map_err(LabError::file(&path))?;
    if data::digest(&bytes) != spec.sha256 {
        return Err(LabError::ChangedData {
            path,
            file: spec.file.clone(),
        });
    }
    Tasks::from_file(&path)
}

/// Copies the user's data, if any, into the folder, unless it is there already.
///
/// # Errors
///
/// [`LabError::File`] when the folder cannot be written, [`LabError::Usage`] when the file has changed
/// since it was read.
pub fn keep_data(tasks: &Tasks, folder: &StudyFolder) -> Result<(), LabError> {
    let (Some(data), Some(file)) = (tasks.data(), tasks.data_file()) else {
        return Ok(());
    };
    let copy = folder.data(data.spec());
    if copy.exists() {
        return Ok(());
    }
    if let Some(parent) = copy.parent() {
        fs::create_dir_all(parent).map_err(LabError::file(parent))?;
    }
    let bytes = fs::read(file).map_err(LabError::file(file))?;
    if data::digest(&bytes) != data.spec().sha256 {
        return Err(LabError::Usage(format!(
            "{} was changed while it was read; run the command again",
            file.display()
        )));
    }
    write_whole(&copy, &bytes)?;
    // The copy has the permissions of the file, so that private data stays private.
    let kept = fs::metadata(file).and_then(|of| fs::set_permissions(&copy, of.permissions()));
    kept.map_err(LabError::file(&copy))
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
        let tasks = Tasks::from_file(&file).unwrap();
        let study = StudyFolder::at(folder.path().join("study"));
        fs::create_dir(study.path()).unwrap();
        keep_data(&tasks, &study).unwrap();
        let copy = study.data(tasks.data().unwrap().spec());
        let mode = fs::metadata(copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }
}
