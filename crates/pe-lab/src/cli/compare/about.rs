//! What `compare` says of a study before it runs.

use std::path::Path;

use crate::ask::{AtResolution, Shard, StudySpec, TaskSteps, Tasks, rates_in_words};
use crate::device;
use crate::error::LabError;
use crate::grouped::{counted, ranges};
use crate::run::{Choices, Estimate, in_words};

/// A study, and what of it is to be run.
pub(super) struct About<'a> {
    pub spec: &'a StudySpec,
    pub tasks: &'a Tasks,
    /// The trials of the whole study, those that are left, and those that choose learning rates before them.
    pub trials: usize,
    pub waiting: usize,
    pub tuning: &'a Choices,
    pub shard: Option<Shard>,
}

impl About<'_> {
    /// Lines about the data and about what is run, where, and how many trials at a time (`jobs`, for the reason `why`).
    pub fn lines(&self, jobs: usize, why: &str, out: &Path) -> Result<Vec<String>, LabError> {
        let Self {
            spec,
            tasks,
            trials,
            waiting,
            ..
        } = *self;
        let data = tasks.data().into_iter().flat_map(|data| data.describe());
        let mut lines: Vec<String> = data.cloned().collect();
        lines.extend(AtResolution::describe(spec, tasks));
        lines.push(format!(
            "{}{} ({}) on {}, {jobs} at a time ({why}); results go to {}",
            if spec.until.is_some() { "up to " } else { "" },
            counted(trials, "trial"),
            what_runs(spec),
            device::describe(&spec.device)?,
            out.display()
        ));
        lines.extend(short_warm_ups(spec));
        if let Some(shard) = self.shard {
            lines.push(format!("{waiting} of them are left in part {shard}"));
        } else if waiting < trials {
            lines.push(format!(
                "{} of them are there already and are kept; {waiting} are new",
                trials - waiting
            ));
        }
        let Choices {
            next,
            beyond,
            again,
            ..
        } = self.tuning;
        if let (Some(tune), false) = (&spec.tune, next.is_empty()) {
            lines.push(format!(
                "before these trials, {} to choose learning rates among {}; then at most {} with rates beyond these, and {} of the \
                 two best rates at other seeds",
                counted(next.len(), "training"),
                rates_in_words(&tune.rates),
                beyond.iter().map(Vec::len).sum::<usize>(),
                again.len()
            ));
        }
        Ok(lines)
    }

    /// How long it takes.
    pub fn estimate(&self, estimate: Option<&Estimate>) -> String {
        match estimate {
            Some(estimate) => format!(
                "{} on this machine, as measured with {} of a few steps",
                match self.spec.until {
                    Some(_) => format!("at most about {}", in_words(estimate.seconds)),
                    None => format!("about {}", estimate.in_words()),
                },
                counted(estimate.measured, "trial")
            ),
            None if self.waiting + self.tuning.next.len() == 0 => {
                "nothing is left to run".to_string()
            }
            None => "how long it takes cannot be measured: a short test run failed; the study itself will show why"
                .to_string(),
        }
    }
}

/// One line that says what a study runs.
fn what_runs(spec: &StudySpec) -> String {
    let tasks = spec.tasks.iter().map(|task| match task.auto_from {
        None => format!("{} for {}", task.name, task.in_words()),
        Some(_) => format!("{} until it has converged ({})", task.name, task.in_words()),
    });
    format!(
        "schemes {}; tasks {}; seeds {}; batch size {}",
        spec.schemes.join(", "),
        tasks.collect::<Vec<_>>().join(", "),
        ranges(spec.seeds.iter().copied()),
        spec.recipe.batch_size
    )
}

/// A line for each task whose training is so short that the warm-up of the recipe is cut.
fn short_warm_ups(spec: &StudySpec) -> Vec<String> {
    let of_task = |task: &TaskSteps| {
        let (steps, asked) = (
            task.auto_from.unwrap_or(task.steps),
            spec.recipe.warmup_steps,
        );
        let taken = spec.recipe.warm_up(steps);
        (taken < asked).then(|| {
            format!(
                "{}: the warm-up of {} is cut to {taken}, half of the training of {steps}: so short a training \
                 may tell little",
                task.name,
                counted(asked, "step")
            )
        })
    };
    spec.tasks.iter().filter_map(of_task).collect()
}
