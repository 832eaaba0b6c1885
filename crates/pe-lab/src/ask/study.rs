//! A study with nothing left open.

mod names;
mod steps;

use serde::{Deserialize, Serialize};

pub use steps::TaskSteps;

use names::{check_scalings, scheme_names, task_names, unique};

use super::model::ModelSpec;
use super::plan::{Names, Plan, Seeds, Steps, Until};
use super::recipe::Recipe;
use super::scaling::{Lengths, TestScaling};
use super::scheme::Scheme;
use super::tasks::Tasks;
use super::trial::TrialSpec;
use super::tuning::Tuned;
use super::versions::Versions;
use crate::console::short;
use crate::data::{DataSpec, Format, Objective, Reading};
use crate::device;
use crate::error::LabError;
use crate::folder::{Copied, StudyFolder};
use crate::grouped::once;
use crate::stats::{FEWEST_SEEDS, Looks};

/// The most bytes of a name in a folder of most file systems.
const LONGEST_NAME: usize = 255;

/// How many bytes `-rate-` and a learning rate add to the name of a trial, at most.
const RATE: usize = 30;

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
    /// The learning rates that are tried for every scheme on every task in place of the recipe's, and what was
    /// chosen. Without it nothing is tuned.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub tune: Option<Tuned>,
    /// The sizes of the model.
    pub model: ModelSpec,
    /// The scalings that language models are tested with and not trained with; without it the usual ones.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub test_scalings: Option<Vec<TestScaling>>,
    /// The device's name.
    pub device: String,
    /// The versions of the laboratory and of Burn.
    pub versions: Versions,
    /// The size of the study each time before something was added to it, or before its steps were changed.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub grown: Vec<Grown>,
}

/// The size of a study before something was added to it, or before its steps were changed.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Grown {
    /// The number of its seeds.
    pub seeds: usize,
    /// The number of its schemes.
    pub schemes: usize,
    /// The number of its tasks.
    pub tasks: usize,
    /// The tasks that got other steps, with those that they had.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub steps: Vec<TaskSteps>,
}

impl StudySpec {
    /// Turns a plan into a spec, and looks up its tasks. What the plan leaves open gets its default.
    ///
    /// # Errors
    ///
    /// When a name does not exist or is given twice, when a list is empty, when a number is out of
    /// its bounds, or when the data cannot be used.
    pub fn of(plan: Plan) -> Result<(Self, Tasks), LabError> {
        let tasks = match plan.source()? {
            Some(source) => Tasks::from_source(&source)?,
            None => Tasks::default(),
        };
        let model = plan.model.unwrap_or_default();
        model.check()?;
        let recipe = plan.recipe.unwrap_or_default();
        recipe.check()?;
        let device = plan.device.unwrap_or_else(|| "flex".into());
        device::open(&device)?;

        let mut steps = plan.steps;
        let is_causal = plan.causal == Some(true) && tasks.data().is_none();
        let reading = plan.reading.as_ref();
        let names = task_names(plan.tasks, is_causal, &tasks, reading, &mut steps)?;
        let schemes = scheme_names(plan.schemes, &names, &tasks, &model)?;
        let count = match plan.until {
            Some(Until::Decided) => Looks::most(),
            None => FEWEST_SEEDS,
        };
        let seeds = plan.seeds.unwrap_or(Seeds::Count(count as u64)).list()?;
        unique("seed", &seeds)?;
        if plan.until.is_some() && seeds.len() < FEWEST_SEEDS {
            return Err(LabError::Usage(format!(
                "a study that stops when it is decided has at least {FEWEST_SEEDS} seeds, since fewer prove nothing, and this one has {}",
                seeds.len()
            )));
        }
        let tune = plan.tune.map(|count| Tuned::around(&recipe, count, &seeds));
        if let Some(scalings) = &plan.test_scalings {
            check_scalings(scalings, &names, &tasks, &schemes, &model)?;
        }
        let spec = Self {
            schemes,
            tasks: steps::of_tasks(&names, steps, &tasks)?,
            data: tasks.data().map(|data| data.spec().clone()),
            seeds,
            until: plan.until,
            recipe,
            tune: tune.transpose()?,
            model,
            test_scalings: plan.test_scalings,
            device,
            versions: Versions::current(),
            grown: Vec::new(),
        };
        Ok((spec, tasks))
    }

    /// Checks everything that the spec of a file may have wrong, as [`of`](Self::of) does for a plan.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the number that is out of its bounds and with them; when a task, scheme or device does not
    /// exist, is named twice or does not fit.
    pub fn check(&self, tasks: &Tasks) -> Result<(), LabError> {
        self.model.check()?;
        self.recipe.check()?;
        device::lookup(&self.device)?;
        let names: Vec<&str> = self.tasks.iter().map(|task| task.name.as_str()).collect();
        unique("task", &names)?;
        unique("scheme", &self.schemes)?;
        unique("seed", &self.seeds)?;
        Seeds::These(self.seeds.clone()).list()?;
        self.tasks.iter().try_for_each(TaskSteps::check)?;
        for tune in self.tune.iter() {
            let rates = tune.rates.iter().copied();
            for learning_rate in rates.chain(tune.chosen.iter().map(|chosen| chosen.rate)) {
                let recipe = Recipe {
                    learning_rate,
                    ..self.recipe.clone()
                };
                recipe.check()?;
            }
        }
        self.trials(tasks)?.iter().try_for_each(|trial| {
            trial.scheme.kinds_of_layers(self.model.layers)?;
            Ok(())
        })
    }

    /// Checks that file systems take the names of all trials.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the trial, the length of its name and the bound.
    pub fn check_names(&self, tasks: &Tasks) -> Result<(), LabError> {
        self.trials(tasks)?
            .iter()
            .try_for_each(|trial| self.check_name(trial))
    }

    /// Checks that every scheme fits every task, as those of a plan do: a study that grows joins two plans.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the reason.
    pub fn check_fits(&self, tasks: &Tasks) -> Result<(), LabError> {
        let tasks = self.tasks.iter().map(|task| tasks.get(&task.name));
        let tasks = tasks.collect::<Result<Vec<_>, LabError>>()?;
        let mut schemes = self.schemes.iter();
        schemes.try_for_each(|scheme| names::check_fits(scheme, &tasks, &self.model))
    }

    /// Refuses a trial whose folder has a longer name than file systems take.
    fn check_name(&self, trial: &TrialSpec) -> Result<(), LabError> {
        // A folder that is set aside, and one of a training that chooses a rate, have a longer name.
        let rate = if self.tune.is_some() { RATE } else { 0 };
        let bytes = trial.id().len() + rate + format!("-at-{}", trial.steps_id()).len();
        match bytes > LONGEST_NAME {
            true => Err(LabError::Usage(format!(
                "the trial {} has a name of {bytes} bytes, which is that of its folder, and file systems take up to {LONGEST_NAME}: give \
                 the scheme fewer settings, or numbers of fewer digits",
                short(&trial.id())
            ))),
            false => Ok(()),
        }
    }

    /// Checks that parts of the study can be run on their own, as [`Shard`](super::Shard) divides it.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] for a study that stops when it is decided or chooses learning rates.
    pub fn check_parts(&self) -> Result<(), LabError> {
        let why = match (self.until, &self.tune) {
            (Some(_), _) => {
                "stops when it is decided is looked at as a whole: it has no parts; leave out --until, or take `until` out of it"
            }
            (None, Some(_)) => {
                "chooses learning rates has no parts: each would choose learning rates of its own; leave out --tune, or take `tune` out of it"
            }
            (None, None) => return Ok(()),
        };
        Err(LabError::Usage(format!("a study that {why}")))
    }

    /// The plan that gives this spec again. It names the study's own copy of the data, relative to
    /// the study's folder.
    pub fn plan(&self) -> Plan {
        let tasks = self.tasks.iter().map(|task| task.name.clone()).collect();
        let steps = self
            .tasks
            .iter()
            .map(|task| (task.name.clone(), task.asked()));
        let data = self.data.as_ref();
        let copies = data.map(|data| StudyFolder::at("").copies(data));
        let copies = copies.as_ref();
        let path = |(_, copy): &Copied| copy.to_path_buf();
        let reading = data.map(|data| {
            let mut reading = data.reading.clone();
            // In a plan, a text without an objective means the next token, so the masked objective is named.
            if data.format == Format::Text && reading.objective.is_none() {
                reading.objective = Some(Objective::Masked);
            }
            reading
        });
        Plan {
            schemes: Some(Names::These(self.schemes.clone())),
            tasks: data.is_none().then_some(Names::These(tasks)),
            causal: None,
            data: copies.map(|of| path(&of.data)),
            test: copies.and_then(|of| of.test.as_ref().map(path)),
            folds: data.and_then(|data| data.folds),
            tokenizer: copies.and_then(|of| of.tokenizer.as_ref().map(path)),
            labels: copies.and_then(|of| of.labels.as_ref().map(path)),
            seeds: Some(Seeds::These(self.seeds.clone())),
            until: self.until,
            steps: Some(Steps::ByTask(steps.collect())),
            tune: self.tune.as_ref().map(|tune| tune.rates.len()),
            device: Some(self.device.clone()),
            reading: reading.filter(|reading| *reading != Reading::default()),
            recipe: Some(self.recipe.clone()),
            model: Some(self.model.clone()),
            test_scalings: self.test_scalings.clone(),
        }
    }

    /// Every trial of the study, with the learning rates that were chosen so far: by task, then by seed, then by scheme.
    ///
    /// # Errors
    ///
    /// When a task does not exist, or a scheme does not fit the model's sizes or the task.
    pub fn trials(&self, tasks: &Tasks) -> Result<Vec<TrialSpec>, LabError> {
        let mut trials = Vec::new();
        for TaskSteps {
            name: task,
            steps,
            auto_from,
        } in &self.tasks
        {
            let of_task = tasks.get(task)?;
            let lengths = Lengths::of(of_task.as_ref());
            for seed in &self.seeds {
                for scheme in &self.schemes {
                    let tuned = self
                        .tune
                        .as_ref()
                        .and_then(|tune| tune.chosen_for(task, scheme));
                    let rate = tuned.map_or(self.recipe.learning_rate, |chosen| chosen.rate);
                    trials.push(TrialSpec {
                        task: task.clone(),
                        data: self.data.clone(),
                        scheme: Scheme::for_lengths(scheme, &self.model, lengths)?
                            .on(of_task.as_ref())?,
                        seed: *seed,
                        steps: *steps,
                        auto_from: *auto_from,
                        recipe: Recipe {
                            learning_rate: rate,
                            ..self.recipe.clone()
                        },
                        model: self.model.clone(),
                        // Only language models are tested with scalings.
                        test_scalings: self
                            .test_scalings
                            .clone()
                            .filter(|_| of_task.language().is_some()),
                        device: self.device.clone(),
                        tuning: false,
                    });
                }
            }
        }
        Ok(trials)
    }

    /// This study together with an earlier one in the same folder: the schemes, tasks and seeds of both, the
    /// earlier ones first. A task of both is trained for the steps of this study if its steps were asked for, and
    /// otherwise for those of the earlier one. What the earlier one had is recorded.
    pub fn grown_from(mut self, earlier: &Self, steps_asked: impl Fn(&str) -> bool) -> Self {
        let mut tasks = earlier.tasks.clone();
        for task in self.tasks {
            match tasks.iter_mut().find(|known| known.name == task.name) {
                Some(known) if steps_asked(&task.name) => *known = task,
                Some(_) => {}
                None => tasks.push(task),
            }
        }
        self.tasks = tasks;
        if let (Some(tune), Some(before)) = (&mut self.tune, &earlier.tune) {
            // A rate that was chosen for another number of steps is not kept.
            let kept = |task: &str| {
                let of = |tasks: &[TaskSteps]| tasks.iter().find(|t| t.name == task).cloned();
                of(&self.tasks) == of(&earlier.tasks)
            };
            let chosen = before.chosen.iter().filter(|chosen| kept(&chosen.task));
            tune.chosen = chosen.cloned().collect();
        }
        self.schemes = once(earlier.schemes.iter().cloned().chain(self.schemes));
        self.seeds = once(earlier.seeds.iter().copied().chain(self.seeds));
        self.grown.clone_from(&earlier.grown);
        let has_other_steps = |task: &&TaskSteps| {
            let mut own = self.tasks.iter();
            own.any(|own| own.name == task.name && own != *task)
        };
        let steps = earlier.tasks.iter().filter(has_other_steps);
        let steps: Vec<TaskSteps> = steps.cloned().collect();
        let size = |spec: &Self| [spec.seeds.len(), spec.schemes.len(), spec.tasks.len()];
        let before @ [seeds, schemes, tasks] = size(earlier);
        if size(&self) != before || !steps.is_empty() {
            self.grown.push(Grown {
                seeds,
                schemes,
                tasks,
                steps,
            });
        }
        self
    }

    /// What keeps this study from taking the place of an earlier one and keeping its results: the names of the fields that
    /// differ in more than what was added. Nothing can be added to a study that stops when it is decided: its looks, which
    /// share its allowed errors, were planned in advance.
    pub fn obstacles(&self, earlier: &Self) -> Vec<String> {
        let mut differs = self.differences(earlier);
        // The chosen rates follow from the tried ones, so they may be missing on either side.
        let rule = |spec: &Self| {
            let tune = spec.tune.clone();
            tune.map(|tune| Tuned {
                chosen: Vec::new(),
                ..tune
            })
        };
        differs.retain(|field| field != "tune");
        if rule(self) != rule(earlier) {
            differs.push("tune".into());
        }
        if earlier.until.is_some() {
            return differs;
        }
        let lost = |field: &str| match field {
            "schemes" => earlier.schemes.iter().any(|s| !self.schemes.contains(s)),
            "seeds" => earlier.seeds.iter().any(|seed| !self.seeds.contains(seed)),
            "tasks" => {
                let has = |name: &str| self.tasks.iter().any(|task| task.name == name);
                earlier.tasks.iter().any(|task| !has(&task.name))
            }
            _ => true,
        };
        differs.retain(|field| lost(field));
        differs
    }

    /// The names of the fields in which two specs differ. Versions are told apart in words: a newer program
    /// may give other numbers for the same spec.
    pub fn differences(&self, other: &Self) -> Vec<String> {
        // Every field is named, so that one which is added cannot be forgotten here.
        let Self {
            schemes,
            tasks,
            data,
            seeds,
            until,
            recipe,
            tune,
            model,
            test_scalings,
            device,
            versions,
            // Not what is run, but how it came to be.
            grown: _,
        } = self;
        let fields = [
            ("data", *data == other.data),
            ("device", *device == other.device),
            ("model", *model == other.model),
            ("recipe", *recipe == other.recipe),
            ("schemes", *schemes == other.schemes),
            ("seeds", *seeds == other.seeds),
            ("tasks", *tasks == other.tasks),
            ("test_scalings", *test_scalings == other.test_scalings),
            ("tune", *tune == other.tune),
            ("until", *until == other.until),
        ];
        let fields = fields.iter().filter(|(_, same)| !same);
        let mut differs: Vec<String> = fields.map(|(name, _)| name.to_string()).collect();
        if *versions != other.versions {
            differs.push(format!(
                "versions: it was made by {}, and this is {versions}",
                other.versions
            ));
        }
        differs
    }
}

#[cfg(test)]
mod tests;
