//! A study: schemes × tasks × seeds, one folder, trials that are never run twice.

use std::collections::BTreeSet;
use std::fs::{self, File, TryLockError};
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize};

use crate::data::DataSpec;
use crate::device;
use crate::error::LabError;
use crate::files::{UNFINISHED, read_json, write_json, write_whole};
use crate::model::ModelSpec;
use crate::plan::{All, Names, Plan, Seeds, Steps};
use crate::scheme;
use crate::task::Task;
use crate::tasks::Tasks;
use crate::train::Recipe;
use crate::trial::{TrialResult, TrialSpec, Versions};
use crate::worker::{self, Crew};
use burn::tensor::Device;

/// What makes a folder a study's, and what tells that a process is at work in it.
const STUDY: &str = "study.json";
const LOCK: &str = "study.lock";
/// The plan that a study leaves for the next.
const PLAN: &str = "study.toml";

/// More than any training here has use for.
const MAX_STEPS: usize = 10_000_000;

/// Everything that determines the numbers of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySpec {
    /// The positional schemes compared, by name.
    pub schemes: Vec<String>,
    /// The tasks, each with its number of training steps.
    pub tasks: Vec<TaskSteps>,
    /// The user's data, where the task is made of it.
    pub data: Option<DataSpec>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// How to train.
    pub recipe: Recipe,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The device's name.
    pub device: String,
    /// The versions it is run with.
    pub versions: Versions,
}

/// A task and how long to train on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSteps {
    /// The task's name.
    pub name: String,
    /// Optimizer steps.
    pub steps: usize,
}

impl StudySpec {
    /// The study that a plan asks for, with the tasks it names.
    ///
    /// # Errors
    ///
    /// When a name does not exist, when something is named twice, when a list is empty, when a
    /// number is out of its bounds, or when the data cannot be used.
    pub fn of(plan: Plan) -> Result<(Self, Tasks), LabError> {
        let tasks = match &plan.data {
            Some(file) => Tasks::from_file(file)?,
            None => Tasks::default(),
        };
        let model = plan.model.unwrap_or_default();
        model.check()?;
        let recipe = plan.recipe.unwrap_or_default();
        recipe.check()?;
        let device = plan.device.unwrap_or_else(|| "flex".into());
        device::open(&device)?;

        let names = match plan.tasks {
            Some(names) => names.of(tasks.names()),
            None => tasks.names().collect(),
        };
        unique("task", &names)?;
        // All schemes are those that every task can be given to.
        let fits = |name: &str| {
            names.iter().try_for_each(|task| {
                let scheme = scheme::config(name, model.d_model, model.heads, 1)?;
                let scheme = scheme.on(tasks.get(task)?.as_ref())?;
                scheme.encoding.try_init(&Device::flex())?;
                Ok::<(), LabError>(())
            })
        };
        names
            .iter()
            .try_for_each(|task| tasks.get(task).map(|_| ()))?;
        let all = scheme::names().filter(|name| fits(name).is_ok());
        let schemes = plan.schemes.unwrap_or(Names::All(All::All));
        let schemes = schemes.of(all.map(str::to_string));
        unique("scheme", &schemes)?;
        schemes.iter().try_for_each(|name| fits(name))?;
        let seeds = plan.seeds.unwrap_or(Seeds::Count(2)).list()?;
        unique("seed", &seeds)?;
        let spec = Self {
            schemes,
            tasks: steps(&names, plan.steps, &tasks)?,
            data: tasks.data().map(|data| data.spec().clone()),
            seeds,
            recipe,
            model,
            device,
            versions: Versions::current(),
        };
        Ok((spec, tasks))
    }

    /// The plan that asks for this study.
    pub fn plan(&self) -> Plan {
        let tasks = self.tasks.iter().map(|task| task.name.clone()).collect();
        let steps = self
            .tasks
            .iter()
            .map(|task| (task.name.clone(), task.steps));
        Plan {
            schemes: Some(Names::These(self.schemes.clone())),
            tasks: self.data.is_none().then_some(Names::These(tasks)),
            data: self.data.as_ref().map(DataSpec::kept_at),
            seeds: Some(Seeds::These(self.seeds.clone())),
            steps: Some(Steps::ByTask(steps.collect())),
            device: Some(self.device.clone()),
            recipe: Some(self.recipe.clone()),
            model: Some(self.model.clone()),
        }
    }

    /// Every trial of the study, task by task.
    ///
    /// # Errors
    ///
    /// When a task does not exist or a scheme refuses the model's size.
    pub fn trials(&self, tasks: &Tasks) -> Result<Vec<TrialSpec>, LabError> {
        let mut trials = Vec::new();
        for TaskSteps { name: task, steps } in &self.tasks {
            let of_task = tasks.get(task)?;
            let max_tokens = of_task.max_tokens();
            for seed in &self.seeds {
                for scheme in &self.schemes {
                    trials.push(TrialSpec {
                        task: task.clone(),
                        data: self.data.clone(),
                        scheme: scheme::config(
                            scheme,
                            self.model.d_model,
                            self.model.heads,
                            max_tokens,
                        )?
                        .on(of_task.as_ref())?,
                        seed: *seed,
                        steps: *steps,
                        recipe: self.recipe.clone(),
                        model: self.model.clone(),
                        device: self.device.clone(),
                    });
                }
            }
        }
        Ok(trials)
    }

    /// The names of the parts in which two studies differ.
    fn differences(&self, other: &Self) -> Vec<String> {
        let parts = |spec: &Self| serde_json::to_value(spec).unwrap_or_default();
        let (ours, theirs) = (parts(self), parts(other));
        let names = ours.as_object().into_iter().flat_map(|parts| parts.keys());
        names
            .filter(|name| ours[*name] != theirs[*name])
            .cloned()
            .collect()
    }
}

/// The tasks with their steps: the plan's, or else the task's own.
fn steps(names: &[String], plan: Option<Steps>, tasks: &Tasks) -> Result<Vec<TaskSteps>, LabError> {
    if let Some(Steps::ByTask(by_task)) = &plan
        && let Some(stray) = by_task.keys().find(|name| !names.contains(name))
    {
        return Err(LabError::Usage(format!(
            "steps are given for the task `{stray}`, which is not in the study"
        )));
    }
    let mut with_steps = Vec::new();
    for name in names {
        let own = tasks.get(name)?.steps();
        let steps = match &plan {
            None => own,
            Some(Steps::All(steps)) => *steps,
            Some(Steps::ByTask(by_task)) => by_task.get(name).copied().unwrap_or(own),
        };
        if !(1..=MAX_STEPS).contains(&steps) {
            return Err(LabError::Usage(format!(
                "{steps} steps were asked for `{name}`; it must be from 1 to {MAX_STEPS}"
            )));
        }
        with_steps.push(TaskSteps {
            name: name.clone(),
            steps,
        });
    }
    Ok(with_steps)
}

fn unique<T: Ord + ToString>(what: &str, list: &[T]) -> Result<(), LabError> {
    if list.is_empty() {
        return Err(LabError::Usage(format!("name at least one {what}")));
    }
    let mut seen = BTreeSet::new();
    match list.iter().find(|item| !seen.insert(*item)) {
        Some(twice) => {
            let twice = twice.to_string();
            Err(LabError::Usage(format!(
                "the {what} `{twice}` is named twice"
            )))
        }
        None => Ok(()),
    }
}

/// A study: what was asked, and what is known.
#[derive(Debug)]
pub struct Study {
    /// What was asked.
    pub spec: StudySpec,
    /// The tasks it names.
    pub tasks: Tasks,
    /// Where it lives.
    pub folder: PathBuf,
    /// The results, in the order of [`StudySpec::trials`].
    pub results: Vec<TrialResult>,
    /// Trials that have no result: why they failed, or none if they have not been run. Running the
    /// study again tries them again.
    pub missing: Vec<(TrialSpec, Option<String>)>,
    /// How many results were there before.
    pub resumed: usize,
}

impl Study {
    /// The study that lies in a folder, finished or not, without running anything.
    ///
    /// # Errors
    ///
    /// When there is none, or when one of its files cannot be read.
    pub fn load(folder: &Path) -> Result<Self, LabError> {
        let file = folder.join(STUDY);
        if !file.exists() {
            let folder = folder.to_path_buf();
            return Err(LabError::NoStudy { folder });
        }
        let spec: StudySpec = read_json(&file)?;
        let tasks = Tasks::stored(spec.data.as_ref(), folder)?;
        let (results, waiting) = sort_out(&spec, &tasks, folder)?;
        let mut missing = Vec::new();
        for trial in waiting {
            let reason = worker::failure(folder, &trial)?;
            missing.push((trial, reason));
        }
        Ok(Self {
            missing,
            resumed: results.len(),
            folder: folder.to_path_buf(),
            results,
            spec,
            tasks,
        })
    }

    /// Trials without a score.
    pub fn without_score(&self) -> usize {
        let failed = self
            .results
            .iter()
            .filter(|result| result.measures().is_none());
        failed.count() + self.missing.len()
    }
}

/// Runs what is missing of a study and gives back all of it.
///
/// # Errors
///
/// When the folder holds another study, is in use or cannot be written, and when the study was
/// stopped. A trial that fails is no error.
pub fn run(
    spec: &StudySpec,
    tasks: &Tasks,
    folder: &Path,
    crew: &Crew<'_>,
) -> Result<Study, LabError> {
    spec.trials(tasks)?;
    let _lock = claim(spec, tasks, folder)?;
    let (_, waiting) = sort_out(spec, tasks, folder)?;
    let missing = crew.run_all(&waiting, tasks, folder)?;
    if !folder.join(STUDY).exists() {
        return Err(LabError::Usage(format!(
            "{} was deleted while its study ran; run it again, there or elsewhere",
            folder.display()
        )));
    }
    let (results, left) = sort_out(spec, tasks, folder)?;
    if crew.stop.asked() && !left.is_empty() {
        return Err(LabError::StudyStopped {
            finished: results.len(),
            total: results.len() + left.len(),
            folder: folder.to_path_buf(),
        });
    }
    Ok(Study {
        resumed: results.len() + left.len() - waiting.len(),
        spec: spec.clone(),
        tasks: tasks.clone(),
        folder: folder.to_path_buf(),
        results,
        missing: missing
            .into_iter()
            .map(|(trial, reason)| (trial, Some(reason)))
            .collect(),
    })
}

/// The results that are there, and the trials that have none.
fn sort_out(
    spec: &StudySpec,
    tasks: &Tasks,
    folder: &Path,
) -> Result<(Vec<TrialResult>, Vec<TrialSpec>), LabError> {
    let (mut results, mut waiting) = (Vec::new(), Vec::new());
    for trial in spec.trials(tasks)? {
        match stored(folder, &trial, tasks.get(&trial.task)?.as_ref())? {
            Some(result) => results.push(result),
            None => waiting.push(trial),
        }
    }
    Ok((results, waiting))
}

/// Makes the folder this study's, unless it is another's or in use, until the file that is given
/// back is dropped. The kernel drops it when the process is killed.
fn claim(spec: &StudySpec, tasks: &Tasks, folder: &Path) -> Result<File, LabError> {
    if folder.is_file() {
        return Err(LabError::Usage(format!(
            "{} is a file; the results need a folder: choose another with --out",
            folder.display()
        )));
    }
    fs::create_dir_all(folder).map_err(LabError::file(folder))?;
    let file = folder.join(STUDY);
    if !file.exists() {
        let mut entries = fs::read_dir(folder).map_err(LabError::file(folder))?;
        // A claim that was killed before it wrote the study leaves its lock and the unfinished file,
        // and a study whose description was deleted still has its plan.
        let ours = folder.join(LOCK).exists() && folder.join(PLAN).exists();
        let foreign = |name: &str| name != LOCK && !name.starts_with(UNFINISHED);
        if !ours
            && entries.any(|entry| entry.is_ok_and(|e| foreign(&e.file_name().to_string_lossy())))
        {
            return Err(LabError::NotAStudy {
                folder: folder.to_path_buf(),
            });
        }
    }
    let path = folder.join(LOCK);
    let lock = File::create(&path).map_err(LabError::file(&path))?;
    match lock.try_lock() {
        Ok(()) => {}
        Err(TryLockError::WouldBlock) => {
            return Err(LabError::Busy {
                folder: folder.to_path_buf(),
            });
        }
        Err(TryLockError::Error(error)) => return Err(LabError::file(&path)(error)),
    }
    if file.exists() {
        let old: StudySpec = read_json(&file)?;
        let differs = spec.differences(&old);
        if !differs.is_empty() {
            return Err(LabError::ChangedStudy {
                folder: folder.to_path_buf(),
                differs,
            });
        }
    } else {
        write_json(&file, spec)?;
    }
    // A kill may have come between these, so every claim makes good what is not there yet.
    tasks.store(folder)?;
    let plan = folder.join(PLAN);
    if !plan.exists() {
        let text = toml::to_string(&spec.plan()).map_err(|error| LabError::Content {
            path: plan.clone(),
            reason: error.to_string(),
        })?;
        write_whole(&plan, text.as_bytes())?;
    }
    Ok(lock)
}

/// The result of a trial, if it has one.
fn stored(
    folder: &Path,
    trial: &TrialSpec,
    task: &dyn Task,
) -> Result<Option<TrialResult>, LabError> {
    let file = trial.folder(folder).join("result.json");
    if !file.exists() {
        return Ok(None);
    }
    let result: TrialResult = read_json(&file)?;
    let damage = if result.spec != *trial {
        Some("it holds the result of another trial".to_string())
    } else {
        result.measures().and_then(|measures| measures.damage(task))
    };
    match damage {
        Some(reason) => Err(LabError::Content { path: file, reason }),
        None => Ok(Some(result)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::BTreeMap;

    use super::*;

    fn names(list: &[&str]) -> Option<Names> {
        Some(Names::These(
            list.iter().map(|name| name.to_string()).collect(),
        ))
    }

    fn plan(schemes: &[&str], tasks: &[&str], seeds: &[u64]) -> Plan {
        Plan {
            schemes: names(schemes),
            tasks: names(tasks),
            seeds: Some(Seeds::These(seeds.to_vec())),
            ..Plan::default()
        }
    }

    fn study() -> (StudySpec, Tasks) {
        StudySpec::of(plan(&["none", "learned"], &["reverse", "digits"], &[1, 2])).unwrap()
    }

    #[test]
    fn a_study_is_schemes_times_tasks_times_seeds() {
        let (spec, tasks) = study();
        let trials = spec.trials(&tasks).unwrap();
        assert_eq!(trials.len(), 8);
        let ids: BTreeSet<String> = trials.iter().map(TrialSpec::id).collect();
        assert_eq!(ids.len(), 8);
        assert!(ids.contains("reverse-learned-2"));
        assert_eq!(trials[0].steps, tasks.get("reverse").unwrap().steps());
    }

    #[test]
    fn wrong_use_is_named() {
        let said = |plan: Plan| StudySpec::of(plan).unwrap_err().to_string();
        let good = || plan(&["none"], &["digits"], &[1]);
        assert!(said(plan(&["rope!"], &["digits"], &[1])).contains("no scheme `rope!`"));
        assert!(said(plan(&["none"], &["x"], &[1])).contains("no task `x`"));
        assert!(said(plan(&["none", "none"], &["digits"], &[1])).contains("named twice"));
        assert!(said(plan(&[], &["digits"], &[1])).contains("at least one scheme"));
        assert!(said(plan(&["none"], &["digits"], &[])).contains("from 1 to 1000"));
        assert!(said(plan(&["none"], &["digits"], &[3, 3])).contains("`3` is named twice"));
        let steps = |steps| Plan {
            steps: Some(steps),
            ..good()
        };
        assert!(said(steps(Steps::All(0))).contains("0 steps were asked for `digits`"));
        let stray = BTreeMap::from([("reverse".to_string(), 5)]);
        assert!(said(steps(Steps::ByTask(stray))).contains("`reverse`, which is not in the study"));
        let device = Plan {
            device: Some("x".into()),
            ..good()
        };
        assert!(said(device).contains("no device `x`"));
        let heads = Plan {
            model: Some(ModelSpec {
                heads: 5,
                ..ModelSpec::default()
            }),
            ..good()
        };
        assert!(said(heads).contains("d_model 64 is not a multiple of the 5 heads"));
        for (batch_size, learning_rate, beta_2, word) in [
            (0, 1e-3, 0.9, "batch_size is 0"),
            (8, f64::NAN, 0.9, "learning_rate is NaN"),
            (8, 1e-3, 1.0, "beta_2 is 1"),
        ] {
            let recipe = Some(Recipe {
                batch_size,
                learning_rate,
                beta_2,
                ..Recipe::default()
            });
            assert!(said(Plan { recipe, ..good() }).contains(word));
        }
    }

    #[test]
    fn a_study_is_found_again_from_its_own_plan() {
        let (spec, _) = study();
        let text = toml::to_string(&spec.plan()).unwrap();
        let (again, _) = StudySpec::of(Plan::parse(&text).unwrap()).unwrap();
        assert_eq!(again, spec, "{text}");
    }

    #[test]
    fn a_folder_is_claimed_once_and_a_changed_study_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let (mut spec, tasks) = study();
        let lock = claim(&spec, &tasks, folder.path()).unwrap();
        let busy = claim(&spec, &tasks, folder.path()).unwrap_err();
        assert!(matches!(busy, LabError::Busy { .. }));
        drop(lock);
        claim(&spec, &tasks, folder.path()).unwrap();
        spec.seeds.push(3);
        spec.recipe.batch_size = 32;
        let message = claim(&spec, &tasks, folder.path()).unwrap_err().to_string();
        assert!(message.contains("recipe, seeds"), "{message}");
    }

    #[test]
    fn a_claim_that_was_killed_is_made_good() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join(LOCK), "").unwrap();
        fs::write(folder.path().join(".unfinished-x"), "{").unwrap();
        let (spec, tasks) = study();
        claim(&spec, &tasks, folder.path()).unwrap();
        fs::remove_file(folder.path().join("study.toml")).unwrap();
        claim(&spec, &tasks, folder.path()).unwrap();
        assert!(folder.path().join("study.toml").exists());
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
        let (spec, tasks) = study();
        let error = claim(&spec, &tasks, folder.path()).unwrap_err();
        assert!(matches!(error, LabError::NotAStudy { .. }));
        assert!(!folder.path().join(LOCK).exists());
    }

    #[test]
    fn a_folder_without_a_study_has_none_to_load() {
        let folder = tempfile::tempdir().unwrap();
        let error = Study::load(folder.path()).unwrap_err();
        assert_eq!(error.exit_code(), 2);
        assert!(error.to_string().contains("holds no study"));
    }
}
