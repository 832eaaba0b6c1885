//! A study with nothing left open.

use std::collections::BTreeSet;

use burn::tensor::Device;
use serde::{Deserialize, Serialize};

use super::model::ModelSpec;
use super::plan::{All, Names, Plan, Seeds, Steps, Until};
use super::recipe::Recipe;
use super::scheme::Scheme;
use super::tasks::Tasks;
use super::trial::TrialSpec;
use super::versions::Versions;
use crate::data::DataSpec;
use crate::device;
use crate::error::LabError;
use crate::folder::StudyFolder;
use crate::stats::Looks;

/// The most steps of a training. No task gains anything from more.
const MAX_STEPS: usize = 10_000_000;

/// Everything that determines the numbers of a study.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct StudySpec {
    /// The names of the positional schemes that are compared.
    pub schemes: Vec<String>,
    /// The tasks, each with its number of training steps.
    pub tasks: Vec<TaskSteps>,
    /// The user's data, if the task is made of it.
    pub data: Option<DataSpec>,
    /// The seeds.
    pub seeds: Vec<u64>,
    /// When to stop before every seed is run.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub until: Option<Until>,
    /// How to train.
    pub recipe: Recipe,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The device's name.
    pub device: String,
    /// The versions of the laboratory and of Burn.
    pub versions: Versions,
}

/// A task, and for how many steps to train on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSteps {
    /// The task's name.
    pub name: String,
    /// Optimizer steps.
    pub steps: usize,
}

impl StudySpec {
    /// Turns a plan into a spec, and looks up its tasks. What the plan leaves open gets its default.
    ///
    /// # Errors
    ///
    /// When a name does not exist or is given twice, when a list is empty, when a number is out of
    /// its bounds, or when the data cannot be used.
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
        // `all` means the schemes that fit every task of the study.
        let fits = |name: &str| {
            names.iter().try_for_each(|task| {
                let scheme = Scheme::by_name(name, model.d_model, model.heads, 1)?;
                let scheme = scheme.on(tasks.get(task)?.as_ref())?;
                scheme.init(&Device::flex()).map(|_| ())
            })
        };
        names
            .iter()
            .try_for_each(|task| tasks.get(task).map(|_| ()))?;
        let all = Scheme::names().filter(|name| fits(name).is_ok());
        let schemes = plan.schemes.unwrap_or(Names::All(All::All));
        let schemes = schemes.of(all.map(str::to_string));
        unique("scheme", &schemes)?;
        schemes.iter().try_for_each(|name| fits(name))?;
        let count = match plan.until {
            Some(Until::Decided) => Looks::most() as u64,
            None => 2,
        };
        let seeds = plan.seeds.unwrap_or(Seeds::Count(count)).list()?;
        unique("seed", &seeds)?;
        let spec = Self {
            schemes,
            tasks: steps(&names, plan.steps, &tasks)?,
            data: tasks.data().map(|data| data.spec().clone()),
            seeds,
            until: plan.until,
            recipe,
            model,
            device,
            versions: Versions::current(),
        };
        Ok((spec, tasks))
    }

    /// The plan that gives this spec again. It names the study's own copy of the data, relative to
    /// the study's folder.
    pub fn plan(&self) -> Plan {
        let tasks = self.tasks.iter().map(|task| task.name.clone()).collect();
        let steps = self
            .tasks
            .iter()
            .map(|task| (task.name.clone(), task.steps));
        Plan {
            schemes: Some(Names::These(self.schemes.clone())),
            tasks: self.data.is_none().then_some(Names::These(tasks)),
            data: self.data.as_ref().map(StudyFolder::data_inside),
            seeds: Some(Seeds::These(self.seeds.clone())),
            until: self.until,
            steps: Some(Steps::ByTask(steps.collect())),
            device: Some(self.device.clone()),
            recipe: Some(self.recipe.clone()),
            model: Some(self.model.clone()),
        }
    }

    /// Every trial of the study: by task, then by seed, then by scheme.
    ///
    /// # Errors
    ///
    /// When a task does not exist, or a scheme does not fit the model's sizes or the task.
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
                        scheme: Scheme::by_name(
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

    /// The names of the fields in which two specs differ. Versions are told apart in words: a newer program
    /// may give other numbers for the same spec.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        let parts = |spec: &Self| serde_json::to_value(spec).unwrap_or_default();
        let (ours, theirs) = (parts(self), parts(other));
        let names = ours.as_object().into_iter().flat_map(|parts| parts.keys());
        names
            .filter(|name| ours[*name] != theirs[*name])
            .map(|name| match name.as_str() {
                "versions" => format!(
                    "versions: it was made by {}, and this is {}",
                    other.versions, self.versions
                ),
                _ => name.clone(),
            })
            .collect()
    }
}

/// The tasks with their steps: those of the plan, or else the task's own number.
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
                "{steps} steps were asked for `{name}`; it takes from 1 to {MAX_STEPS}"
            )));
        }
        with_steps.push(TaskSteps {
            name: name.clone(),
            steps,
        });
    }
    Ok(with_steps)
}

/// Checks that a list is not empty and that nothing is in it twice.
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
}
