//! A study: schemes × tasks × seeds in one folder. No trial is run twice.

use std::collections::BTreeMap;
use std::path::Path;

use super::claim::{check_free, claim};
use super::costs::Costs;
use super::data_copy::kept_tasks;
use super::lock::Lock;
use super::trial::{TrialResult, too_few};
use super::worker::Crew;
use crate::ask::{Shard, StudySpec, Tasks, TrialSpec, Tuned, Until, difference_in_words};
use crate::console::short;
use crate::error::LabError;
use crate::folder::{StudyFolder, TrialFolder, is_there, read_json, read_sealed};
use crate::grouped::counted;
use crate::stats::Looks;
use crate::task::Tuning;

/// A study: what it runs, on which tasks, and the folder that holds its files.
#[derive(Clone, Debug)]
pub struct Study {
    spec: StudySpec,
    tasks: Tasks,
    folder: StudyFolder,
}

/// The results of a study so far.
#[derive(Debug)]
pub struct Outcomes {
    /// The results, in the order of [`StudySpec::trials`].
    pub results: Vec<TrialResult>,
    /// The seeds that these results are about: those of the study. In one that stops when it is decided, those up to
    /// the last look whose trials are all finished, see [`Looks`].
    pub seeds: Vec<u64>,
    /// The trials of these seeds without a result, each with the reason why it failed, or `None` if it has
    /// not been run.
    /// Running the study again tries them again.
    pub missing: Vec<(TrialSpec, Option<String>)>,
    /// How many results were there before the study was run this time.
    pub resumed: usize,
    /// What the schemes cost, if it was measured.
    pub costs: Option<Costs>,
}

impl Study {
    /// Refuses trials that choose a learning rate or a number of steps on a task that has too few different training
    /// examples to hold some out. Returns a warning for each task that has few.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] for a task that has too few.
    pub fn check_choices(&self, trials: &[TrialSpec]) -> Result<Vec<String>, LabError> {
        let mut warnings = Vec::new();
        let choices = trials.iter();
        let choices = choices.filter_map(|trial| Some((trial.task.as_str(), trial.chooses()?)));
        for (task, what) in choices.collect::<BTreeMap<_, _>>() {
            let task = self.tasks.get(task)?;
            match Tuning::held_out(task.as_ref()) {
                0 => return Err(too_few(task.as_ref(), what)),
                held_out if held_out < Tuning::FEW => {
                    let name = short(task.name());
                    let examples = counted(held_out, "example");
                    warnings.push(format!(
                        "warning: {name} has {examples} to choose {what} by, of those to train on; fewer than {} hardly tell one choice from \
                         another",
                        Tuning::FEW
                    ));
                }
                _ => {}
            }
        }
        Ok(warnings)
    }

    /// A study that may or may not have been run. Nothing is read or written.
    ///
    /// # Errors
    ///
    /// Those of [`StudySpec::check`].
    pub fn new(spec: StudySpec, tasks: Tasks, folder: &Path) -> Result<Self, LabError> {
        spec.check(&tasks)?;
        let folder = StudyFolder::at(folder);
        Ok(Self {
            spec,
            tasks,
            folder,
        })
    }

    /// The study in a folder, finished or not.
    ///
    /// # Errors
    ///
    /// [`LabError::NoStudy`] when there is none; when one of its files cannot be read.
    pub fn load(folder: &Path) -> Result<Self, LabError> {
        let folder = StudyFolder::at(folder);
        let spec = spec_in(&folder)?;
        let tasks = kept_tasks(spec.data.as_ref(), &folder)?;
        Self::new(spec, tasks, folder.path())
    }

    /// Refuses a folder that holds something else than a study, before anything is run.
    ///
    /// # Errors
    ///
    /// [`LabError::NotAStudy`].
    pub fn check_is_free(&self) -> Result<(), LabError> {
        match self.folder.path().exists() {
            true => check_free(&self.folder),
            false => Ok(()),
        }
    }

    /// This study in another folder, which may hold only a part of the trials.
    ///
    /// # Errors
    ///
    /// As [`load`](Self::load); when the folder holds another study, with what differs.
    pub(super) fn same_in(&self, folder: &Path) -> Result<Self, LabError> {
        let folder = StudyFolder::at(folder);
        let other = spec_in(&folder)?;
        let differs = self.spec.differences(&other);
        if !differs.is_empty() {
            let places = ["in the one", "in the other"];
            return Err(LabError::Usage(format!(
                "{} and {} hold different studies (they differ in: {}); only parts of one study can be merged",
                self.folder.path().display(),
                folder.path().display(),
                difference_in_words(&differs, [&self.spec, &other], places)
            )));
        }
        Ok(Self {
            folder,
            ..self.clone()
        })
    }

    /// What it runs.
    pub fn spec(&self) -> &StudySpec {
        &self.spec
    }

    /// Replaces the learning rates that are tried and those that were chosen.
    pub(super) fn set_tuned(&mut self, tuned: Tuned) {
        self.spec.tune = Some(tuned);
    }

    /// Its tasks.
    pub fn tasks(&self) -> &Tasks {
        &self.tasks
    }

    /// Its folder.
    pub fn folder(&self) -> &StudyFolder {
        &self.folder
    }

    /// The trials that a run of the study would run: those without a result in the folder.
    ///
    /// # Errors
    ///
    /// When a task does not exist.
    pub fn waiting(&self) -> Result<Vec<TrialSpec>, LabError> {
        let mut waiting = self.spec.trials(&self.tasks)?;
        waiting.retain(|trial| {
            let id = trial.id();
            let places = [
                self.folder.trial(&id),
                self.folder.aside(&id, &trial.steps_id()),
            ];
            let is_there = |place: &TrialFolder| {
                let result = TrialResult::read(&place.result());
                result.is_ok_and(|result| result.spec == *trial)
            };
            !places.iter().any(is_there)
        });
        Ok(waiting)
    }

    /// The results so far. Nothing is run.
    ///
    /// # Errors
    ///
    /// When one of its files cannot be read or holds something impossible.
    pub fn outcomes(&self) -> Result<Outcomes, LabError> {
        let (results, waiting) = self.sort_out()?;
        let mut missing = Vec::new();
        for trial in waiting {
            let reason = self.failure(&trial)?;
            missing.push((trial, reason));
        }
        let resumed = results.len();
        self.so_far(results, missing, resumed)
    }

    /// The planned looks at the study, if it stops when it is decided.
    pub fn looks(&self) -> Option<Looks> {
        let Until::Decided = self.spec.until?;
        Some(Looks::up_to(self.spec.seeds.len()))
    }

    /// The results so far. In a study that stops when it is decided, those of the seeds up to the last look whose
    /// trials are all finished, or up to the first look while none is.
    fn so_far(
        &self,
        mut results: Vec<TrialResult>,
        mut missing: Vec<(TrialSpec, Option<String>)>,
        resumed: usize,
    ) -> Result<Outcomes, LabError> {
        let mut seeds = self.spec.seeds.clone();
        if let Some(looks) = self.looks() {
            let waits = |seed: &u64| missing.iter().any(|m| m.0.seed == *seed && m.1.is_none());
            let done = seeds.iter().take_while(|seed| !waits(seed)).count();
            seeds.truncate(looks.reached(done).unwrap_or(looks.seeds()[0]));
            results.retain(|result| seeds.contains(&result.spec.seed));
            missing.retain(|missing| seeds.contains(&missing.0.seed));
        }
        Ok(Outcomes {
            results,
            seeds,
            missing,
            resumed,
            costs: Costs::of(&self.folder)?,
        })
    }

    /// Runs the trials without a result. A trial that fails is no error. A study that stops when it is decided is run look
    /// by look, until `decided` returns true for its results.
    ///
    /// # Errors
    ///
    /// When the folder holds another study, is in use or cannot be written;
    /// [`LabError::StudyStopped`] when the study was stopped.
    pub fn run(
        &self,
        crew: &Crew<'_>,
        decided: impl Fn(&Outcomes) -> bool,
    ) -> Result<Outcomes, LabError> {
        let _lock = self.claim()?;
        let (before, mut waiting) = self.sort_out()?;
        let rounds = match self.looks() {
            Some(looks) => looks.seeds().to_vec(),
            None => vec![self.spec.seeds.len()],
        };
        let mut failed = Vec::new();
        for seeds in rounds {
            let seeds = &self.spec.seeds[..seeds];
            let (now, later): (Vec<_>, Vec<_>) = waiting
                .into_iter()
                .partition(|trial| seeds.contains(&trial.seed));
            failed.extend(crew.run_all(&now, &self.tasks, &self.folder)?);
            self.check_folder()?;
            let (results, left) = self.sort_out()?;
            if crew.stop.asked() && !left.is_empty() {
                return Err(self.stopped(results.len(), left.len()));
            }
            let missing = failed
                .iter()
                .cloned()
                .map(|(trial, why)| (trial, Some(why)));
            let missing = missing.chain(later.iter().cloned().map(|trial| (trial, None)));
            let outcomes = self.so_far(results, missing.collect(), before.len())?;
            if later.is_empty() || decided(&outcomes) {
                return Ok(outcomes);
            }
            waiting = later;
        }
        self.outcomes()
    }

    /// Runs those of the trials without a result that are in one part of the study, and returns how many of its
    /// trials are finished and which have no result, with the reason.
    ///
    /// # Errors
    ///
    /// As [`run`](Self::run), and those of [`StudySpec::check_parts`].
    pub fn run_shard(
        &self,
        crew: &Crew<'_>,
        shard: Shard,
    ) -> Result<(usize, Vec<(TrialSpec, String)>), LabError> {
        self.spec.check_parts()?;
        let _lock = self.claim()?;
        let own = |study: &Self| {
            let (mut results, mut waiting) = study.sort_out()?;
            results.retain(|result| shard.has(&result.spec));
            waiting.retain(|trial| shard.has(trial));
            Ok::<_, LabError>((results.len(), waiting))
        };
        let (_, waiting) = own(self)?;
        let failed = crew.run_all(&waiting, &self.tasks, &self.folder)?;
        self.check_folder()?;
        let (finished, left) = own(self)?;
        if crew.stop.asked() && !left.is_empty() {
            return Err(self.stopped(finished, left.len()));
        }
        Ok((finished, failed))
    }

    /// Makes the folder the study's, for this process alone until the lock is dropped.
    pub(super) fn claim(&self) -> Result<Lock, LabError> {
        claim(&self.spec, &self.tasks, &self.folder)
    }

    /// The error of a study that was stopped with so many trials finished and so many left.
    pub(super) fn stopped(&self, finished: usize, left: usize) -> LabError {
        LabError::StudyStopped {
            finished,
            total: finished + left,
            folder: self.folder.path().to_path_buf(),
        }
    }

    /// Checks that the folder is still there.
    fn check_folder(&self) -> Result<(), LabError> {
        if !is_there(&self.folder.spec())? {
            return Err(LabError::Usage(format!(
                "{} was deleted while its study ran; run it again, there or elsewhere",
                self.folder.path().display()
            )));
        }
        Ok(())
    }

    /// The results there are, and the trials that have none.
    fn sort_out(&self) -> Result<(Vec<TrialResult>, Vec<TrialSpec>), LabError> {
        let (mut results, mut waiting) = (Vec::new(), Vec::new());
        for trial in self.spec.trials(&self.tasks)? {
            match self.result(&trial)? {
                Some(result) => results.push(result),
                None => waiting.push(trial),
            }
        }
        Ok((results, waiting))
    }

    /// The result of a trial, if it has one.
    ///
    /// # Errors
    ///
    /// When its file cannot be read, or is of another trial or of other numbers than the study's.
    pub fn result(&self, trial: &TrialSpec) -> Result<Option<TrialResult>, LabError> {
        let file = self.folder.trial(&trial.id()).result();
        if !is_there(&file)? {
            return Ok(None);
        }
        let result = TrialResult::read(&file)?;
        let task = self.tasks.get(&trial.task)?;
        let damage = if result.spec != *trial {
            Some("it holds the result of another trial".to_string())
        } else if result.versions.numbers != self.spec.versions.numbers {
            Some(format!(
                "it was computed by {}, and the study is one of {}: their numbers differ",
                result.versions, self.spec.versions
            ))
        } else {
            let measures = result.measures();
            measures.and_then(|measures| measures.damage(task.as_ref()))
        };
        match damage {
            Some(reason) => Err(LabError::content(&file)(reason)),
            None => Ok(Some(result)),
        }
    }

    /// Why the last attempt of a trial left no result, if there was one.
    pub(super) fn failure(&self, trial: &TrialSpec) -> Result<Option<String>, LabError> {
        let file = self.folder.trial(&trial.id()).failure();
        match is_there(&file)? {
            true => read_json(&file).map(Some),
            false => Ok(None),
        }
    }
}

/// What the study in a folder runs.
fn spec_in(folder: &StudyFolder) -> Result<StudySpec, LabError> {
    if folder.path().is_file() {
        let path = folder.path().display();
        return Err(LabError::Usage(format!(
            "{path} holds no study: it is a file"
        )));
    }
    if !is_there(&folder.spec())? {
        let path = folder.path();
        return Err(match is_there(&TrialFolder::at(path).spec())? {
            true => LabError::Usage(format!(
                "{} holds no study, but one training, such as `pe-lab train` writes; name the folder of a study, which \
                 `pe-lab compare` makes",
                path.display()
            )),
            false => LabError::NoStudy {
                folder: path.to_path_buf(),
                file: StudyFolder::SPEC,
            },
        });
    }
    read_sealed(&folder.spec())
}

impl Outcomes {
    /// How many trials have no score.
    pub fn without_score(&self) -> usize {
        let failed = self
            .results
            .iter()
            .filter(|result| result.measures().is_none());
        failed.count() + self.missing.len()
    }
}
