//! Making a folder the study's own, for one process at a time.

use std::ffi::OsString;

use super::data_copy::keep_data;
use super::lock::Lock;
use crate::ask::{StudySpec, Tasks, TrialSpec, check_takes_place_of};
use crate::error::LabError;
use crate::folder::{
    StudyFolder, is_there, is_unfinished, make_named_folder, names, read_bounded, read_json,
    read_sealed, remove, remove_all, remove_unfinished, rename, write_sealed, write_whole,
};

/// Makes the folder this study's, and locks it until the returned lock is dropped.
///
/// # Errors
///
/// When the folder holds a study that this one does not contain, or other files, when another process works on it, or when it
/// cannot be written.
pub(super) fn claim(
    spec: &StudySpec,
    tasks: &Tasks,
    folder: &StudyFolder,
) -> Result<Lock, LabError> {
    let path = folder.path();
    make_named_folder(path)?;
    check_free(folder)?;
    let lock = Lock::of(path, &folder.lock())?;
    remove_unfinished(&folder.entry(""))?;
    for place in folder.places_of_data() {
        remove_unfinished(&place)?;
    }
    if is_there(&folder.spec())? {
        let old: StudySpec = read_sealed(&folder.spec())?;
        check_takes_place_of(&old, spec, path)?;
        if *spec != old {
            write_sealed(&folder.spec(), spec)?;
        }
    } else {
        write_sealed(&folder.spec(), spec)?;
    }
    // The process may have been killed between these steps, so every claim writes what is missing.
    keep_data(tasks, folder)?;
    let plan = folder.plan();
    let text = toml::to_string(&spec.plan()).map_err(LabError::content(&plan))?;
    if !read_bounded(&plan).is_ok_and(|there| there == text.as_bytes()) {
        write_whole(&plan, text.as_bytes())?;
    }
    for trial in spec.trials(tasks)? {
        set_aside(&trial, folder)?;
        let place = folder.trial(&trial.id());
        if is_there(place.entry())? {
            remove_unfinished(place.entry())?;
            // A trial that was killed leaves its learning curve.
            remove(&place.curve())?;
        }
    }
    Ok(lock)
}

/// Prepares the folder of a trial for the number of steps that it has now. A result of another number of steps is
/// kept aside, and one of this number is taken back from there.
fn set_aside(trial: &TrialSpec, folder: &StudyFolder) -> Result<(), LabError> {
    let (id, place) = (trial.id(), folder.trial(&trial.id()));
    // If the spec cannot be read, the trial has no result to keep; running it writes the spec again.
    let there = read_json::<TrialSpec>(&place.spec()).ok();
    if let Some(there) = there.filter(|there| there.steps_id() != trial.steps_id()) {
        let aside = folder.aside(&id, &there.steps_id());
        remove_all(aside.entry())?;
        rename(place.entry(), aside.entry())?;
    }
    let aside = folder.aside(&id, &trial.steps_id());
    if is_there(aside.entry())? && !is_there(place.entry())? {
        rename(aside.entry(), place.entry())?;
    }
    Ok(())
}

/// Refuses a folder that holds something else than a study.
pub(super) fn check_free(folder: &StudyFolder) -> Result<(), LabError> {
    // Asked twice: another process may have made the folder its own in between.
    if !is_there(&folder.spec())? && !is_free(folder)? && !is_there(&folder.spec())? {
        return Err(LabError::NotAStudy {
            folder: folder.path().to_path_buf(),
        });
    }
    Ok(())
}

/// Whether a folder without a spec may become the study's: it is empty, it holds only what a process leaves that was
/// killed before it wrote the spec, or it is a study whose spec was deleted.
fn is_free(folder: &StudyFolder) -> Result<bool, LabError> {
    if is_there(&folder.lock())? && is_there(&folder.plan())? {
        return Ok(true);
    }
    let names = names(&folder.entry(""))?;
    let own = |name: &OsString| name == StudyFolder::LOCK || is_unfinished(name);
    Ok(names.iter().all(own))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::Plan;
    use std::fs;

    fn study() -> (StudySpec, Tasks) {
        let plan = "schemes = ['none', 'learned']\ntasks = ['reverse', 'digits']\nseeds = [1, 2]";
        StudySpec::of(Plan::parse(plan).unwrap()).unwrap()
    }

    #[test]
    fn of_many_that_start_at_once_one_gets_the_folder_and_the_others_wait() {
        let temporary = tempfile::tempdir().unwrap();
        let (spec, tasks) = study();
        for round in 0..30 {
            let folder = StudyFolder::at(temporary.path().join(round.to_string()));
            let start = std::sync::Barrier::new(16);
            let claims: Vec<Result<Lock, LabError>> = std::thread::scope(|scope| {
                let claim = || {
                    start.wait();
                    claim(&spec, &tasks, &folder)
                };
                let all: Vec<_> = (0..16).map(|_| scope.spawn(claim)).collect();
                all.into_iter().map(|one| one.join().unwrap()).collect()
            });
            assert_eq!(claims.iter().filter(|claim| claim.is_ok()).count(), 1);
            for claim in claims {
                let busy = matches!(claim, Ok(_) | Err(LabError::Busy { .. }));
                assert!(busy, "{claim:?}");
            }
        }
    }

    #[test]
    fn a_claim_that_was_killed_is_completed() {
        let temporary = tempfile::tempdir().unwrap();
        let folder = StudyFolder::at(temporary.path());
        fs::write(folder.lock(), "").unwrap();
        let left = folder.path().join(".pe-lab-unfinished-0123456789abcdef");
        fs::write(left, "{").unwrap();
        let (spec, tasks) = study();
        claim(&spec, &tasks, &folder).unwrap();
        fs::remove_file(folder.path().join("study.toml")).unwrap();
        claim(&spec, &tasks, &folder).unwrap();
        assert!(folder.path().join("study.toml").exists());
    }
}
