//! For how many steps each task of a study is trained on.

use serde::{Deserialize, Serialize};

use crate::ask::plan::Steps;
use crate::ask::steps::{MAX_STEPS, StepCount, steps_id, steps_in_words};
use crate::ask::tasks::Tasks;
use crate::error::LabError;
use crate::task::plain_name;

/// A task, and for how many steps to train on it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct TaskSteps {
    /// The task's name.
    pub name: String,
    /// Optimizer steps; with `auto_from`, the most that one training may take.
    pub steps: usize,
    /// The steps of the first training of trials that go on until they have converged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub auto_from: Option<usize>,
}

impl Steps {
    /// Whether they say for how many steps this task is trained, one of the tasks of these names. Where a task is spelled in another way
    /// than its name, they are taken to be about all.
    pub fn are_of(&self, task: &str, names: &[String]) -> bool {
        let Self::ByTask(by_task) = self else {
            return true;
        };
        // A decoder's task may be named without `(causal)`.
        let is = |key: &String, name: &str| key == name || plain_name(name) == Some(key);
        let is_known = |key: &String| names.iter().any(|name| is(key, name));
        by_task.keys().any(|key| is(key, task)) || !by_task.keys().all(is_known)
    }
}

impl TaskSteps {
    /// `1500 steps`, or `1500 to 6000 steps`.
    pub fn in_words(&self) -> String {
        steps_in_words(self.auto_from, self.steps)
    }

    /// A name for the number of steps, as [`TrialSpec::steps_id`](crate::ask::TrialSpec::steps_id).
    pub fn steps_id(&self) -> String {
        steps_id(self.auto_from, self.steps)
    }

    /// What a person writes for these steps.
    pub(super) fn asked(&self) -> StepCount {
        match self.auto_from {
            None => StepCount::Fixed(self.steps),
            Some(first) => StepCount::Auto {
                first: Some(first),
                limit: Some(self.steps),
            },
        }
    }

    pub(super) fn check(&self) -> Result<(), LabError> {
        let Self {
            name,
            steps,
            auto_from,
        } = self;
        if !(1..=MAX_STEPS).contains(steps) {
            return Err(LabError::Usage(format!(
                "{steps} steps were asked for `{name}`; it takes from 1 to {MAX_STEPS}"
            )));
        }
        match auto_from {
            Some(first) if !(1..=*steps).contains(first) => Err(LabError::Usage(format!(
                "the first training of `{name}` has {first} steps; it takes from 1 to its limit of {steps}"
            ))),
            _ => Ok(()),
        }
    }
}

/// The tasks with their steps: those of the plan, or else the task's own number.
pub(super) fn of_tasks(
    names: &[String],
    plan: Option<Steps>,
    tasks: &Tasks,
) -> Result<Vec<TaskSteps>, LabError> {
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
        let asked = match &plan {
            None => None,
            Some(Steps::All(steps)) => Some(*steps),
            Some(Steps::ByTask(by_task)) => by_task.get(name).copied(),
        };
        let (steps, auto_from) = asked.unwrap_or(own.into()).on(own);
        let task = TaskSteps {
            name: name.clone(),
            steps,
            auto_from,
        };
        task.check()?;
        with_steps.push(task);
    }
    Ok(with_steps)
}
