//! Several folders of one study become one.

use std::fs;
use std::path::{Path, PathBuf};

use super::study::Study;
use super::trial::{Outcome, TrialResult};
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
    let first = Study::load(first)?;
    let mut all = vec![&first];
    let loaded = others
        .iter()
        .map(|folder| Study::load(folder))
        .collect::<Result<Vec<_>, _>>()?;
    for other in &loaded {
        let differs = first.spec().differences(other.spec());
        if !differs.is_empty() {
            return Err(LabError::Usage(format!(
                "{} and {} hold different studies (they differ in: {}); only parts of one study can be merged",
                first.folder().path().display(),
                other.folder().path().display(),
                differs.join(", ")
            )));
        }
        all.push(other);
    }
    let target = Study::new(first.spec().clone(), first.tasks().clone(), to)?;
    let _lock = target.claim()?;
    all.push(&target);
    let mut copies = Vec::new();
    for trial in target.spec().trials(target.tasks())? {
        if let Some(from) = one_of(&all, &trial)? {
            let place = target.folder().trial(&trial.id());
            if from != place {
                copies.push((from, place));
            }
        }
    }
    for (from, place) in copies {
        copy(&from, &place)?;
    }
    Ok(target)
}

/// Where the result of a trial is, if any study has it.
fn one_of(studies: &[&Study], trial: &TrialSpec) -> Result<Option<TrialFolder>, LabError> {
    let mut found: Option<(TrialFolder, TrialResult)> = None;
    // The target is the last: what it has stays.
    for study in studies.iter().rev() {
        let Some(result) = study.result(trial)? else {
            continue;
        };
        let place = study.folder().trial(&trial.id());
        match &found {
            None => found = Some((place, result)),
            Some((known, same)) if without_times(same) != without_times(&result) => {
                return Err(LabError::Usage(format!(
                    "{} and {} are results of one trial and differ; delete the wrong one",
                    known.result().display(),
                    place.result().display()
                )));
            }
            Some(_) => {}
        }
    }
    Ok(found.map(|(place, _)| place))
}

/// What is the same whenever the trial is run.
fn without_times(result: &TrialResult) -> TrialResult {
    let mut result = result.clone();
    // The same numbers of other code are the same numbers.
    result.code = None;
    if let Outcome::Finished(measures) = &mut result.outcome {
        measures.timing.ms_per_step = 0.0;
        measures.timing.tokens_per_second = 0.0;
        measures.timing.threads = None;
        measures.timing.machine = None;
    }
    result
}

/// Copies what a finished trial left. The result comes last, since it says that the rest is there.
fn copy(from: &TrialFolder, to: &TrialFolder) -> Result<(), LabError> {
    fs::create_dir_all(to.path()).map_err(LabError::file(to.path()))?;
    let files: [fn(&TrialFolder) -> PathBuf; 4] = [
        TrialFolder::spec,
        TrialFolder::encoding,
        TrialFolder::weights,
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
