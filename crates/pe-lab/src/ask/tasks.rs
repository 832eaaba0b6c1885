//! Where the name of a task is looked up.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::registry;
use crate::data::{DataTask, Source, check_train_length};
use crate::error::LabError;
use crate::task::{Task, text_length, text_with};

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
        self.data().into_iter().flat_map(|data| {
            let source = data.source();
            let files = [&source.test, &source.tokenizer].into_iter().flatten();
            let files = files.chain([&source.file]).chain(data.private());
            files.map(PathBuf::as_path)
        })
    }

    /// The names that the word `all` stands for, in the order in which they are listed.
    pub fn names(&self) -> impl Iterator<Item = String> {
        self.all().into_iter().map(|task| task.name().to_string())
    }

    fn all(&self) -> Vec<Arc<dyn Task>> {
        match &self.data {
            Some(data) => data.tasks(),
            None => registry::tasks(true).collect(),
        }
    }

    /// The tasks that are in a study only if they are named.
    fn apart(&self) -> Vec<Arc<dyn Task>> {
        match &self.data {
            Some(_) => Vec::new(),
            None => registry::tasks(false).collect(),
        }
    }

    /// Every task, in the order in which they are listed.
    pub fn every(&self) -> Vec<Arc<dyn Task>> {
        [self.all(), self.apart()].concat()
    }

    /// The task of this name. A text of the laboratory may have the length of its training windows in it, such as
    /// `text(train_length=128)`.
    ///
    /// # Errors
    ///
    /// [`LabError::UnknownTask`], which lists the names that exist; [`LabError::Usage`] for a length out of bounds.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Task>, LabError> {
        if let (None, Some(length)) = (&self.data, text_length(name)) {
            check_train_length(length).map_err(LabError::Usage)?;
            return text_with(length).map_err(|short| {
                LabError::Usage(format!(
                    "--train-length is {length}: the text has {} characters, and that needs {}",
                    short.tokens, short.needed
                ))
            });
        }
        let known = || self.every().into_iter();
        let task = known().find(|task| task.name() == name);
        task.ok_or_else(|| LabError::UnknownTask {
            name: name.to_string(),
            known: known().map(|task| task.name().to_string()).collect(),
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_has_the_training_length_of_its_name() {
        let tasks = Tasks::default();
        let task = tasks.get("text(train_length=128)").unwrap();
        assert_eq!(task.test_lengths(), [128, 256, 512, 1024]);
        let refused = |name| {
            tasks
                .get(name)
                .map(|task| task.name().to_string())
                .unwrap_err()
                .to_string()
        };
        assert!(refused("text(train_length=7)").contains("it takes from 8 to 512 tokens"));
        assert!(refused("text(train_length=513)").contains("--train-length is 513"));
        assert!(refused("text(lines=3)").contains("no task `text(lines=3)`"));
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
