//! The prepared form of the user's data in the folder of a study. It is made once, and every worker reads it in the
//! place of the study's copy of the data.

use std::io;
use std::sync::Arc;

use super::data_copy::{check_copies, kept_tasks, mode_of_all};
use crate::ask::{CODE, Tasks, TrialSpec};
use crate::console::tell;
use crate::data::{DataSpec, digest, prepared_digest, prepared_task};
use crate::error::LabError;
use crate::folder::{StudyFolder, is_there, write_by};
use crate::task::Task;

/// Writes the prepared form of the user's data, if any, unless it is in the folder already. One that is not what these
/// tasks make of the data is named and made again, so that nothing is trained on what somebody else left there.
///
/// # Errors
///
/// [`LabError::ChangedData`] when a copy of the data is not the file that the study was made with, [`LabError::File`]
/// when the folder cannot be written.
pub(super) fn keep_prepared(tasks: &Tasks, folder: &StudyFolder) -> Result<(), LabError> {
    let Some(data) = tasks.data().filter(|data| data.spec().is_prepared()) else {
        return Ok(());
    };
    check_copies(data.spec(), folder)?;
    let (file, of) = (folder.prepared(), made_of(data.spec()));
    if is_there(&file)? {
        let own = data.write_prepared(&of, &mut io::sink());
        let own = own.map_err(LabError::file(&file))?;
        let reason = match prepared_digest(&file, &of) {
            Ok(kept) if kept == own => return Ok(()),
            Ok(_) => "it does not hold what the data is".to_string(),
            Err(reason) => reason,
        };
        tell(&format!("{}: {reason}; it is made again", file.display()));
    }
    // What is made of private data is private.
    write_by(&file, mode_of_all(tasks.files())?, |out| {
        data.write_prepared(&of, out).map(drop)
    })
}

/// The task of a trial in a folder of a study. Without a prepared form that can be used, the data itself is read, which
/// is said.
///
/// # Errors
///
/// As [`kept_tasks`]; [`LabError::Unknown`].
pub(super) fn task_of(spec: &TrialSpec, folder: &StudyFolder) -> Result<Arc<dyn Task>, LabError> {
    if let Some(data) = spec.data.as_ref().filter(|data| data.is_prepared()) {
        let file = folder.prepared();
        match prepared_task(&file, &made_of(data), data, &spec.task) {
            Ok(task) => return Ok(task),
            Err(reason) => tell(&format!(
                "{}: {reason}; the data is read in its place",
                file.display()
            )),
        }
    }
    kept_tasks(spec.data.as_ref(), folder)?.get(&spec.task)
}

/// A digest of the data and of the code that reads it.
fn made_of(data: &DataSpec) -> String {
    let spec = serde_json::to_string(data).unwrap_or_default();
    digest(format!("{spec}\n{CODE}").as_bytes())
}
