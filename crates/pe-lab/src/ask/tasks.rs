//! Where the name of a task is looked up.

use std::path::{Path, PathBuf};
use std::sync::Arc;

use super::registry;
use super::settings::Named;
use super::task_settings::with_settings;
use crate::data::{DataTask, Source};
use crate::error::LabError;
use crate::task::{Causal, Task, causal_name, plain_name};

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
            let files = [&source.test, &source.tokenizer, &source.labels];
            let files = files.into_iter().flatten();
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

    /// The names of these tasks in their decoder form ([`Causal`]). Names of a decoder's tasks stay the same.
    ///
    /// # Errors
    ///
    /// As [`get`](Self::get).
    pub fn causal(&self, names: Vec<String>) -> Result<Vec<String>, LabError> {
        let causal = |name: String| match self.get(&name)?.causal() {
            true => Ok(name),
            false => Ok(self.get(&causal_name(&name))?.name().to_string()),
        };
        names.into_iter().map(causal).collect()
    }

    /// The task of this name. Those of the laboratory may have settings, such as `mqar(tokens=64, pairs=4, vocabulary=8192)` and
    /// `text(train_length=128)`, and the decoder form of a task is named as `addition(causal)`. The name of the returned task
    /// is the canonical spelling.
    ///
    /// # Errors
    ///
    /// [`LabError::Unknown`], which lists the names that exist; [`LabError::Usage`] for a setting that the task does not have
    /// or a value that it does not take, and with the reason why a task cannot be a decoder's.
    pub fn get(&self, name: &str) -> Result<Arc<dyn Task>, LabError> {
        if let (None, Some(plain)) = (&self.data, plain_name(name)) {
            let task = Causal::of(self.get(plain)?);
            let task = task.map_err(|why| {
                LabError::Usage(format!(
                    "{why}; `pe-lab tasks` says which tasks --causal is for"
                ))
            })?;
            return Ok(Arc::new(task));
        }
        let of = |name: &str| match &self.data {
            Some(data) => data.tasks().into_iter().find(|task| task.name() == name),
            None => registry::task(name),
        };
        let task = match (&self.data, name.split_once('(')) {
            (None, Some((plain, _))) if of(plain.trim()).is_some() => {
                Some(with_settings(&Named::read("task", name)?)?)
            }
            _ => of(name),
        };
        task.ok_or_else(|| match &self.data {
            Some(_) => LabError::unknown("task", name, self.names()),
            None => LabError::unknown("task", name, registry::task_names()),
        })
    }
}
