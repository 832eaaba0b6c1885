//! The tasks of labelled rows: one, or one for each fold.

use std::sync::Arc;

use super::error::Problem;
use super::labelled::Labelled;
use super::limits::{MAX_FOLDS, NAME};
use super::rows::Rows;
use super::sequences::Sequences;
use super::spec::DataSpec;
use super::split::HeldOut;
use super::task::FOLD;

/// The task of labelled rows, or one for each fold, and what was found in them. `in_file` rows are of the
/// file itself, the others of the test file.
///
/// # Errors
///
/// [`Problem::Other`] and [`Problem::Test`] for settings that exclude each other, and those of [`Labelled::new`].
pub(super) fn labelled(
    rows: &Rows,
    spec: &DataSpec,
    in_file: usize,
) -> Result<(Vec<Arc<Labelled>>, Vec<String>), Problem> {
    let sequences = Arc::new(Sequences::of(rows));
    let new = |name: String, held_out| {
        let no_beyond = spec.reading.no_beyond;
        let named = (&spec.file[..], spec.label());
        Labelled::new(rows, &sequences, name, named, held_out, no_beyond)
    };
    if spec.test.is_some() && spec.reading.no_beyond {
        return Err(Problem::Test(
            "--no-beyond is about rows that are held out of the file itself; leave it out with --test".into(),
        ));
    }
    let Some(folds) = spec.folds else {
        let held_out = match spec.test {
            Some(_) => HeldOut::From(in_file),
            None => HeldOut::Fifth,
        };
        let (task, description) = new(NAME.to_string(), held_out)?;
        return Ok((vec![Arc::new(task)], description));
    };
    if spec.test.is_some() {
        return Err(Problem::Other(
            "--folds and --test both say what is tested; keep one".into(),
        ));
    }
    if !(2..=MAX_FOLDS).contains(&folds) {
        return Err(Problem::Other(format!(
            "--folds is {folds}; it takes from 2 to {MAX_FOLDS}"
        )));
    }
    let (mut tasks, mut described) = (Vec::new(), Vec::new());
    for fold in 0..folds {
        let name = format!("{FOLD}{}", fold + 1);
        let (task, description) = new(name, HeldOut::Fold { fold, folds })?;
        tasks.push(Arc::new(task));
        if fold == 0 {
            described = description;
        }
    }
    let all = format!(
        "{folds} folds, each a task of its own that holds out other rows; what is said here of training and \
         test is fold 1"
    );
    described.insert(0, all);
    Ok((tasks, described))
}
