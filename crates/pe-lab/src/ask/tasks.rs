//! Where the name of a task is looked up.

use std::path::Path;
use std::sync::Arc;

use crate::data::{DataTask, Source};
use crate::error::LabError;
use crate::task::{self, Task};

/// The tasks that a study can name: those of the laboratory, or the one made of the user's data.
#[derive(Clone, Debug, Default)]
pub struct Tasks {
    data: Option<Arc<DataTask>>,
}

impl Tasks {
    /// The task made of the user's data, or one for each fold. They take the place of the laboratory's tasks.
    ///
    /// # Errors
    ///
    /// [`LabError::Data`] when the data cannot be used.
    pub fn from_source(source: &Source) -> Result<Self, LabError> {
        Ok(Self {
            data: Some(Arc::new(DataTask::read(source)?)),
        })
    }

    /// The user's data, if the tasks are made of it.
    pub fn data(&self) -> Option<&DataTask> {
        self.data.as_deref()
    }

    /// The user's files.
    pub fn files(&self) -> impl Iterator<Item = &Path> {
        let source = self.data().map(DataTask::source);
        source.into_iter().flat_map(|source| {
            let files = [Some(source.file.as_path()), source.test.as_deref()];
            files.into_iter().flatten()
        })
    }

    /// The names, in the order in which they are listed.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.all().into_iter().map(|task| task.name().to_string())
    }

    fn all(&self) -> Vec<Arc<dyn Task>> {
        match &self.data {
            Some(data) => data.tasks(),
            None => task::all(),
        }
    }

    /// The task of this name.
    ///
    /// # Errors
    ///
    /// [`LabError::UnknownTask`], which lists the names that exist.
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
