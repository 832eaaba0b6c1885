//! Several folders of one study become one.

use std::collections::HashMap;
use std::ffi::{OsStr, OsString};
use std::path::{Path, PathBuf};

use super::study::Study;
use super::trial::{Outcome, Timing, TrialResult, encoding_bytes, read_weights};
use crate::ask::{StudySpec, TrialSpec};
use crate::error::LabError;
use crate::folder::{
    Entry, StudyFolder, TrialFolder, is_there, make_folder, names, read_bounded, read_sealed,
    remove, write_json, write_whole,
};

/// Copies the results of `parts`, folders of the same study, into the folder `to`, and returns the study there.
/// A result that is in several folders must be the same in all of them, times aside. Of a trial without a result the
/// reason why it failed is copied. Nothing is copied before all of them were compared.
///
/// # Errors
///
/// When a folder holds no study or another one, with what differs; when two results differ, with both files; when
/// a file cannot be read or written, or is damaged: delete it, and the trial is taken from another folder that has it.
pub fn merge(parts: &[PathBuf], to: &Path) -> Result<Study, LabError> {
    let [first, others @ ..] = parts else {
        return Err(LabError::Usage("name at least one folder to merge".into()));
    };
    let mut all = vec![Study::load(first)?];
    for folder in others {
        let other = all[0].same_in(folder)?;
        all.push(other);
    }
    let target = Study::new(merged_spec(&all, to)?, all[0].tasks().clone(), to)?;
    let _lock = target.claim()?;
    // The target comes first, so that its own results are preferred.
    all.insert(0, target);
    let having = having(&all)?;
    let target = &all[0];
    let (mut copies, mut failures) = (Vec::new(), Vec::new());
    for trial in target.spec().trials(target.tasks())? {
        let studies = having.get(OsStr::new(&trial.id()));
        let studies = studies.into_iter().flatten().map(|index| &all[*index]);
        let place = target.folder().trial(&trial.id());
        match one_of(studies.clone(), &trial)? {
            Some(found) if found.place != place => copies.push((found, place)),
            Some(_) => {}
            None => {
                // The target's reason may come from an earlier attempt, so the other folders are asked first.
                let studies = studies.rev();
                let mut reasons = studies.filter_map(|study| study.failure(&trial).transpose());
                if let Some(reason) = reasons.next().transpose()? {
                    failures.push((place, reason));
                }
            }
        }
    }
    for (place, reason) in failures {
        make_folder(place.entry())?;
        write_json(&place.failure(), &reason)?;
    }
    for (found, place) in copies {
        copy(&found, &place)?;
    }
    Ok(all.swap_remove(0))
}

/// What the merged study runs: what the parts run, and what a study in the folder `to` has besides.
fn merged_spec(parts: &[Study], to: &Path) -> Result<StudySpec, LabError> {
    let (of_parts, tasks) = (parts[0].spec(), parts[0].tasks());
    let mut spec = of_parts.clone();
    let file = StudyFolder::at(to).spec();
    if is_there(&file)? {
        spec = spec.grown_from(&read_sealed(&file)?, |_| true);
        if let (Some(tune), Some(of_parts)) = (&mut spec.tune, &of_parts.tune) {
            of_parts.chosen.iter().cloned().for_each(|of| tune.keep(of));
        }
        spec.check_fits(tasks)?;
    }
    let grown = parts.iter().map(|part| &part.spec().grown);
    let grown = grown.max_by_key(|grown| grown.len());
    if let Some(grown) = grown.filter(|grown| grown.len() > spec.grown.len()) {
        spec.grown.clone_from(grown);
    }
    Ok(spec)
}

/// For each name of a trial's folder, the studies that have it.
fn having(studies: &[Study]) -> Result<HashMap<OsString, Vec<usize>>, LabError> {
    let mut having: HashMap<OsString, Vec<usize>> = HashMap::new();
    for (index, study) in studies.iter().enumerate() {
        for name in names(&study.folder().trials())? {
            having.entry(name).or_default().push(index);
        }
    }
    Ok(having)
}

/// What a finished trial left in a folder.
struct Found {
    place: TrialFolder,
    result: TrialResult,
    /// Whether the weights that the result names are there. Without them the result still counts.
    is_whole: bool,
}

impl Found {
    /// What a study has of a trial, if it has finished it.
    ///
    /// # Errors
    ///
    /// When one of the files is not as it was written.
    fn of(study: &Study, trial: &TrialSpec) -> Result<Option<Self>, LabError> {
        let Some(result) = study.result(trial)? else {
            return Ok(None);
        };
        let place = study.folder().trial(&trial.id());
        let weights = read_weights(&place, result.weights.as_deref())?;
        encoding_bytes(&place, result.encoding.as_deref())?;
        Ok(Some(Self {
            is_whole: weights.is_some() || result.weights.is_none(),
            place,
            result,
        }))
    }
}

/// What a trial left, if any study has finished it: of several, the first that has its weights too, or else the first.
fn one_of<'a>(
    studies: impl Iterator<Item = &'a Study>,
    trial: &TrialSpec,
) -> Result<Option<Found>, LabError> {
    let mut best: Option<Found> = None;
    for study in studies {
        let Some(found) = Found::of(study, trial)? else {
            continue;
        };
        match &best {
            Some(known) if without_times(&known.result) != without_times(&found.result) => {
                return Err(LabError::Usage(format!(
                    "{} and {} are results of one trial and differ, as those of two kinds of processors may; delete one of them",
                    known.place.result().display(),
                    found.place.result().display()
                )));
            }
            Some(known) if known.is_whole || !found.is_whole => {}
            _ => best = Some(found),
        }
    }
    Ok(best)
}

/// The part of a result that is the same each time the trial is run.
fn without_times(result: &TrialResult) -> TrialResult {
    let mut result = result.clone();
    // Numbers count as the same even if another version of the code computed them.
    result.code.clear();
    result.weights = None;
    result.encoding = None;
    if let Outcome::Finished(measures) = &mut result.outcome {
        measures.timing = Timing::default();
    }
    result
}

/// Copies what a finished trial left. The result comes last, since it says that the rest is there.
fn copy(found: &Found, to: &TrialFolder) -> Result<(), LabError> {
    make_folder(to.entry())?;
    let weights = read_weights(&found.place, found.result.weights.as_deref())?;
    let encoding = encoding_bytes(&found.place, found.result.encoding.as_deref())?;
    for (file, bytes) in [(to.weights(), weights), (to.encoding(), encoding)] {
        match bytes {
            Some(bytes) => write_whole(&file, &bytes)?,
            None => remove(&file)?,
        }
    }
    remove(&to.failure())?;
    let files: [fn(&TrialFolder) -> Entry; 2] = [TrialFolder::spec, TrialFolder::result];
    for file in files {
        let from = file(&found.place);
        if is_there(&from)? {
            write_whole(&file(to), &read_bounded(&from)?)?;
        }
    }
    Ok(())
}
