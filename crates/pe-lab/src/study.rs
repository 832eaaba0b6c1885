//! A study: schemes × tasks × seeds, one folder, trials that are never run twice.

use std::collections::BTreeSet;
use std::fs;
use std::path::{Path, PathBuf};

use serde::{Deserialize, Serialize, de::DeserializeOwned};

use crate::device;
use crate::error::LabError;
use crate::model::ModelSpec;
use crate::scheme;
use crate::task;
use crate::train::Recipe;
use crate::trial::{TrialResult, TrialSpec, Versions};
use crate::worker::{self, Progress};

/// Everything that determines the numbers of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySpec {
    /// The positional schemes compared, by name.
    pub schemes: Vec<String>,
    /// The tasks, each with its number of training steps.
    pub tasks: Vec<TaskSteps>,
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
    /// A study of these schemes, tasks and seeds with the reference training.
    ///
    /// `steps` replaces the number of steps that each task asks for.
    ///
    /// # Errors
    ///
    /// When a name does not exist, when something is named twice, or when a list is empty.
    pub fn new(
        schemes: &[String],
        tasks: &[String],
        seeds: &[u64],
        steps: Option<usize>,
        device: &str,
    ) -> Result<Self, LabError> {
        unique("scheme", schemes)?;
        unique("task", tasks)?;
        unique("seed", seeds)?;
        if steps == Some(0) {
            return Err(LabError::Usage("--steps must be at least 1".into()));
        }
        device::open(device)?;
        let model = ModelSpec::default();
        for name in schemes {
            scheme::config(name, model.d_model, 1)?;
        }
        let tasks = tasks
            .iter()
            .map(|name| {
                let task = task::by_name(name)?;
                Ok(TaskSteps {
                    name: name.clone(),
                    steps: steps.unwrap_or_else(|| task.steps()),
                })
            })
            .collect::<Result<_, LabError>>()?;
        Ok(Self {
            schemes: schemes.to_vec(),
            tasks,
            seeds: seeds.to_vec(),
            recipe: Recipe::default(),
            model,
            device: device.to_string(),
            versions: Versions::current(),
        })
    }

    /// Every trial of the study, task by task.
    ///
    /// # Errors
    ///
    /// When a task does not exist or a scheme refuses the model's size.
    pub fn trials(&self) -> Result<Vec<TrialSpec>, LabError> {
        let mut trials = Vec::new();
        for TaskSteps { name: task, steps } in &self.tasks {
            let max_tokens = task::by_name(task)?.max_tokens();
            for seed in &self.seeds {
                for scheme in &self.schemes {
                    trials.push(TrialSpec {
                        task: task.clone(),
                        scheme: scheme::config(scheme, self.model.d_model, max_tokens)?,
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

/// A finished study: what was asked, and what is known.
#[derive(Debug)]
pub struct Study {
    /// What was asked.
    pub spec: StudySpec,
    /// The results, in the order of [`StudySpec::trials`].
    pub results: Vec<TrialResult>,
    /// Trials that have no result, each with the reason. Running the study again tries them again.
    pub missing: Vec<(TrialSpec, String)>,
    /// How many results were there before.
    pub resumed: usize,
}

impl Study {
    /// Trials that failed, whether they left a result or not.
    pub fn failures(&self) -> usize {
        let failed = self
            .results
            .iter()
            .filter(|result| result.measures().is_none());
        failed.count() + self.missing.len()
    }
}

/// Runs what is missing of a study and gives back all of it.
///
/// `program` is started for every trial, `jobs` of them at a time.
///
/// # Errors
///
/// When the folder holds another study or cannot be written. A trial that fails is no error.
pub fn run(
    spec: &StudySpec,
    folder: &Path,
    program: &Path,
    jobs: usize,
    progress: &Progress,
) -> Result<Study, LabError> {
    let trials = spec.trials()?;
    claim(spec, folder)?;
    let mut waiting = Vec::new();
    for trial in &trials {
        if stored(folder, trial)?.is_none() {
            waiting.push(trial.clone());
        }
    }
    let resumed = trials.len() - waiting.len();
    let missing = worker::run_all(&waiting, folder, program, jobs, progress)?;
    let mut results = Vec::new();
    for trial in &trials {
        results.extend(stored(folder, trial)?);
    }
    Ok(Study {
        spec: spec.clone(),
        results,
        missing,
        resumed,
    })
}

/// The folder of a trial.
pub fn trial_folder(folder: &Path, trial: &TrialSpec) -> PathBuf {
    folder.join("trials").join(trial.id())
}

/// Makes the folder this study's, unless it is another's.
fn claim(spec: &StudySpec, folder: &Path) -> Result<(), LabError> {
    fs::create_dir_all(folder).map_err(LabError::file(folder))?;
    let file = folder.join("study.json");
    if file.exists() {
        let old: StudySpec = read_json(&file)?;
        let differs = spec.differences(&old);
        if differs.is_empty() {
            return Ok(());
        }
        return Err(LabError::ChangedStudy {
            folder: folder.to_path_buf(),
            differs,
        });
    }
    let mut entries = fs::read_dir(folder).map_err(LabError::file(folder))?;
    if entries.next().is_some() {
        return Err(LabError::NotAStudy {
            folder: folder.to_path_buf(),
        });
    }
    write_json(&file, spec)
}

/// The result of a trial, if it has one.
fn stored(folder: &Path, trial: &TrialSpec) -> Result<Option<TrialResult>, LabError> {
    let file = trial_folder(folder, trial).join("result.json");
    if !file.exists() {
        return Ok(None);
    }
    let result: TrialResult = read_json(&file)?;
    if result.spec != *trial {
        let reason = "it holds the result of another trial".into();
        return Err(LabError::Content { path: file, reason });
    }
    Ok(Some(result))
}

/// Reads a JSON file.
///
/// # Errors
///
/// When it cannot be read or holds something else.
pub fn read_json<T: DeserializeOwned>(file: &Path) -> Result<T, LabError> {
    let text = fs::read_to_string(file).map_err(LabError::file(file))?;
    serde_json::from_str(&text).map_err(LabError::content(file))
}

/// Writes a JSON file under a temporary name and renames it, so that it is there whole or not at all.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn write_json<T: Serialize>(file: &Path, value: &T) -> Result<(), LabError> {
    let text = serde_json::to_string_pretty(value).map_err(LabError::content(file))?;
    write_whole(file, text.as_bytes())
}

/// Writes a file under a temporary name and renames it.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn write_whole(file: &Path, bytes: &[u8]) -> Result<(), LabError> {
    let folder = file.parent().unwrap_or(Path::new("."));
    let write = || {
        let mut temporary = tempfile::Builder::new()
            .prefix(".unfinished-")
            .tempfile_in(folder)?;
        std::io::Write::write_all(&mut temporary, bytes)?;
        #[cfg(unix)]
        {
            use std::os::unix::fs::PermissionsExt;
            // Temporary files are private; a result is as readable as any other file.
            let readable = fs::Permissions::from_mode(0o644);
            temporary.as_file().set_permissions(readable)?;
        }
        temporary.persist(file).map_err(|error| error.error)?;
        Ok(())
    };
    write().map_err(LabError::file(file))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn spec() -> StudySpec {
        let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect::<Vec<_>>();
        StudySpec::new(
            &names(&["none", "learned"]),
            &names(&["reverse", "digits"]),
            &[1, 2],
            None,
            "flex",
        )
        .unwrap()
    }

    #[test]
    fn a_study_is_schemes_times_tasks_times_seeds() {
        let trials = spec().trials().unwrap();
        assert_eq!(trials.len(), 8);
        let ids: BTreeSet<String> = trials.iter().map(TrialSpec::id).collect();
        assert_eq!(ids.len(), 8);
        assert!(ids.contains("reverse-learned-2"));
        assert_eq!(trials[0].steps, 1500);
    }

    #[test]
    fn wrong_use_is_named() {
        let list = |names: &[&str]| {
            names
                .iter()
                .map(|name| name.to_string())
                .collect::<Vec<_>>()
        };
        let make = |schemes: &[&str], tasks: &[&str], seeds: &[u64], steps, device| {
            StudySpec::new(&list(schemes), &list(tasks), seeds, steps, device)
                .unwrap_err()
                .to_string()
        };
        assert!(make(&["rope!"], &["digits"], &[1], None, "flex").contains("no scheme `rope!`"));
        assert!(make(&["none"], &["x"], &[1], None, "flex").contains("no task `x`"));
        assert!(make(&["none", "none"], &["digits"], &[1], None, "flex").contains("named twice"));
        assert!(make(&["none"], &["digits"], &[], None, "flex").contains("at least one seed"));
        assert!(make(&["none"], &["digits"], &[1], Some(0), "flex").contains("at least 1"));
        assert!(make(&["none"], &["digits"], &[1], None, "x").contains("no device `x`"));
    }

    #[test]
    fn a_folder_is_claimed_once_and_a_changed_study_is_refused() {
        let folder = tempfile::tempdir().unwrap();
        let mut spec = spec();
        claim(&spec, folder.path()).unwrap();
        claim(&spec, folder.path()).unwrap();
        spec.seeds.push(3);
        spec.recipe.batch_size = 32;
        let message = claim(&spec, folder.path()).unwrap_err().to_string();
        assert!(message.contains("recipe, seeds"), "{message}");
    }

    #[test]
    fn a_folder_with_other_things_in_it_is_left_alone() {
        let folder = tempfile::tempdir().unwrap();
        fs::write(folder.path().join("thesis.txt"), "mine").unwrap();
        let error = claim(&spec(), folder.path()).unwrap_err();
        assert!(matches!(error, LabError::NotAStudy { .. }));
    }
}
