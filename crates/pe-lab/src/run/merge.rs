//! Several folders of one study become one.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::fs;
use std::io::ErrorKind;
use std::path::{Path, PathBuf};

use super::study::Study;
use super::trial::{Outcome, TrialResult, read_weights};
use crate::ask::TrialSpec;
use crate::error::LabError;
use crate::folder::{TrialFolder, write_whole};

/// Copies the results of `parts`, folders of the same study, into the folder `to`, and returns the study there.
/// A result that is in several folders must be the same in all of them, times aside. Nothing is copied before
/// all of them were compared.
///
/// # Errors
///
/// When a folder holds no study or another one, with what differs; when two results differ, with both files; when
/// a file cannot be read or written.
pub fn merge(parts: &[PathBuf], to: &Path) -> Result<Study, LabError> {
    let [first, others @ ..] = parts else {
        return Err(LabError::Usage("name at least one folder to merge".into()));
    };
    let mut all = vec![Study::load(first)?];
    for folder in others {
        let other = all[0].same_in(folder)?;
        all.push(other);
    }
    let target = Study::new(all[0].spec().clone(), all[0].tasks().clone(), to)?;
    let _lock = target.claim()?;
    // The target is the first to be asked: what it has stays.
    all.insert(0, target);
    let having = having(&all)?;
    let target = &all[0];
    let mut copies = Vec::new();
    for trial in target.spec().trials(target.tasks())? {
        let studies = having.get(OsStr::new(&trial.id()));
        let studies = studies.into_iter().flatten().map(|index| &all[*index]);
        if let Some((from, weights)) = one_of(studies, &trial)? {
            let place = target.folder().trial(&trial.id());
            if from != place {
                copies.push((from, place, weights));
            }
        }
    }
    for (from, place, weights) in copies {
        copy(&from, &place, weights.as_deref())?;
    }
    Ok(all.swap_remove(0))
}

/// For each name of a trial's folder, the studies that have it.
fn having(studies: &[Study]) -> Result<HashMap<OsString, Vec<usize>>, LabError> {
    let mut having: HashMap<OsString, Vec<usize>> = HashMap::new();
    for (index, study) in studies.iter().enumerate() {
        let trials = study.folder().trials();
        let entries = match fs::read_dir(&trials) {
            // No trial has begun.
            Err(error) if error.kind() == ErrorKind::NotFound => continue,
            entries => entries.map_err(LabError::file(&trials))?,
        };
        for entry in entries {
            let entry = entry.map_err(LabError::file(&trials))?;
            having.entry(entry.file_name()).or_default().push(index);
        }
    }
    Ok(having)
}

/// Where the result of a trial is, if any study has it, and the digest of its weights.
fn one_of<'a>(
    studies: impl Iterator<Item = &'a Study>,
    trial: &TrialSpec,
) -> Result<Option<(TrialFolder, Option<String>)>, LabError> {
    let mut found: Option<(TrialFolder, TrialResult)> = None;
    for study in studies {
        let Some(result) = study.result(trial)? else {
            continue;
        };
        let place = study.folder().trial(&trial.id());
        match &found {
            None => found = Some((place, result)),
            Some((known, same)) if without_times(same) != without_times(&result) => {
                return Err(LabError::Usage(format!(
                    "{} and {} are results of one trial and differ, as those of two kinds of processors may; delete one of them",
                    known.result().display(),
                    place.result().display()
                )));
            }
            Some(_) => {}
        }
    }
    Ok(found.map(|(place, result)| (place, result.weights)))
}

/// What is the same whenever the trial is run.
fn without_times(result: &TrialResult) -> TrialResult {
    let mut result = result.clone();
    // The same numbers of other code are the same numbers.
    result.code = None;
    result.weights = None;
    result.encoding = None;
    if let Outcome::Finished(measures) = &mut result.outcome {
        measures.timing.ms_per_step = 0.0;
        measures.timing.tokens_per_second = 0.0;
        measures.timing.threads = None;
        measures.timing.machine = None;
    }
    result
}

/// Copies what a finished trial left. The result comes last, since it says that the rest is there.
fn copy(from: &TrialFolder, to: &TrialFolder, weights: Option<&str>) -> Result<(), LabError> {
    let weights = read_weights(from, weights)?;
    fs::create_dir_all(to.path()).map_err(LabError::file(to.path()))?;
    if let Some(weights) = weights {
        write_whole(&to.weights(), &weights)?;
    }
    let files: [fn(&TrialFolder) -> PathBuf; 3] = [
        TrialFolder::spec,
        TrialFolder::encoding,
        TrialFolder::result,
    ];
    for file in files {
        let (from, to) = (file(from), file(to));
        if from.exists() {
            let bytes = fs::read(&from).map_err(LabError::file(&from))?;
            write_whole(&to, &bytes)?;
        }
    }
    Ok(())
}
