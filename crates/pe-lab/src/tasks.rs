//! The tasks that a study can name: those of the laboratory, or the one made of the user's data.

use std::fs;
use std::path::{Path, PathBuf};
use std::sync::Arc;

use crate::data::{self, DataSpec, DataTask};
use crate::error::LabError;
use crate::files::write_whole;
use crate::task::{self, Task};

/// Where task names are looked up.
///
/// A study on a person's data has that data as its only task.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    data: Option<Arc<DataTask>>,
    /// Where the data was read from.
    path: PathBuf,
}

impl Tasks {
    /// The data in a file in the place of the laboratory's tasks.
    ///
    /// # Errors
    ///
    /// When the data cannot be used.
    pub fn from_file(path: &Path) -> Result<Self, LabError> {
        Ok(Self {
            data: Some(Arc::new(DataTask::load(path)?)),
            path: path.to_path_buf(),
        })
    }

    /// The tasks of a study that lies in a folder.
    ///
    /// # Errors
    ///
    /// When the copy of its data is not there or is not what it was.
    pub fn stored(data: Option<&DataSpec>, folder: &Path) -> Result<Self, LabError> {
        let Some(spec) = data else {
            return Ok(Self::default());
        };
        let path = folder.join(spec.kept_at());
        // The digest first: a file that is another need not even be data.
        let bytes = fs::read(&path).map_err(LabError::file(&path))?;
        if data::digest(&bytes) != spec.sha256 {
            return Err(LabError::ChangedData {
                path,
                file: spec.file.clone(),
            });
        }
        Self::from_file(&path)
    }

    /// Copies the data into the study's folder, so that its trials need nothing from outside.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written, or when the file was changed since it was read.
    pub fn store(&self, folder: &Path) -> Result<(), LabError> {
        let Some(data) = &self.data else {
            return Ok(());
        };
        let copy = folder.join(data.spec().kept_at());
        if copy.exists() {
            return Ok(());
        }
        if let Some(parent) = copy.parent() {
            fs::create_dir_all(parent).map_err(LabError::file(parent))?;
        }
        let bytes = fs::read(&self.path).map_err(LabError::file(&self.path))?;
        if data::digest(&bytes) != data.spec().sha256 {
            return Err(LabError::Usage(format!(
                "{} was changed while it was read; run the command again",
                self.path.display()
            )));
        }
        write_whole(&copy, &bytes)?;
        // Who may not read the data may not read its copy.
        let kept =
            fs::metadata(&self.path).and_then(|of| fs::set_permissions(&copy, of.permissions()));
        kept.map_err(LabError::file(&copy))
    }

    /// The user's data, if that is the task.
    pub fn data(&self) -> Option<&DataTask> {
        self.data.as_deref()
    }

    /// The names, in the order in which they are listed.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.all().into_iter().map(|task| task.name().to_string())
    }

    fn all(&self) -> Vec<Arc<dyn Task>> {
        match &self.data {
            Some(data) => vec![data.task().clone()],
            None => task::all(),
        }
    }

    /// The task of this name.
    ///
    /// # Errors
    ///
    /// [`LabError::UnknownTask`], which lists the names there are.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Task>, LabError> {
        let task = self.all().into_iter().find(|task| task.name() == name);
        task.ok_or_else(|| LabError::UnknownTask {
            name: name.to_string(),
            known: self.names().collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(unix)]
    #[test]
    fn a_copy_of_private_data_is_private() {
        use std::os::unix::fs::PermissionsExt;
        let folder = tempfile::tempdir().unwrap();
        let file = folder.path().join("patients.csv");
        let rows = (0..30).map(|i| format!("well,a b {i}\nill,b a {i}\n"));
        fs::write(&file, format!("label,text\n{}", rows.collect::<String>())).unwrap();
        fs::set_permissions(&file, fs::Permissions::from_mode(0o600)).unwrap();
        let tasks = Tasks::from_file(&file).unwrap();
        let study = folder.path().join("study");
        fs::create_dir(&study).unwrap();
        tasks.store(&study).unwrap();
        let copy = study.join(tasks.data().unwrap().spec().kept_at());
        let mode = fs::metadata(copy).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600);
    }

    #[test]
    fn an_unknown_name_lists_the_names() {
        let error = Tasks::default().get("sort").map(|_| ()).unwrap_err();
        let message = error.to_string();
        assert!(
            message.contains("`sort`") && message.contains("digits, reverse"),
            "{message}"
        );
    }
}
