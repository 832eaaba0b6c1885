//! How long the trials of a study will take, measured on a few short ones.

use std::collections::BTreeMap;
use std::fs;
use std::path::Path;

use super::data_copy::keep_data;
use super::trial::{Outcome, TrialResult};
use super::tune::Choices;
use super::worker::Crew;
use crate::ask::{Tasks, TrialSpec};
use crate::error::LabError;
use crate::folder::StudyFolder;

/// The training steps of a trial that is run to measure its time.
const STEPS: usize = 8;

/// The least seconds that a process takes beside its steps, and that one step takes. On a busy machine a short trial may
/// measure 0, and no other time can be scaled from that.
const SHORTEST_PROCESS: f64 = 0.05;
const SHORTEST_STEP: f64 = 1e-5;

/// How long a study will take.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct Estimate {
    /// Seconds until the last trial ends, at most: a trial that goes on until it has converged may end before.
    pub seconds: f64,
    /// The fewest seconds: every first training has converged and is run once more on all examples, and no choice of a
    /// learning rate tries further rates.
    pub least: f64,
    /// The number of short trials that were run to measure this.
    pub measured: usize,
}

/// What a trial costs: seconds for everything but the training, and for one step of it.
#[derive(Clone, Copy, Debug, PartialEq)]
struct Cost {
    fixed: f64,
    step: f64,
}

/// What trials cost on this machine, measured on a few short ones.
#[derive(Clone, Debug)]
pub struct TrialTimes {
    /// The task and the scheme of the first trial, from whose cost the cost of others is scaled.
    first: (String, String),
    by_kind: BTreeMap<(String, String), Cost>,
}

impl Estimate {
    /// How long these trials take, after those that choose learning rates, as many at a time as the crew runs: see
    /// [`TrialTimes::measure`]. A round of choices waits for the one before.
    ///
    /// # Errors
    ///
    /// As [`TrialTimes::measure`].
    pub fn of(
        trials: &[TrialSpec],
        choices: &Choices,
        tasks: &Tasks,
        crew: &Crew<'_>,
    ) -> Result<Option<Self>, LabError> {
        // Trials of the study come first: one trial of each task and scheme is measured, and those that tune have fewer
        // tests.
        let costs = TrialTimes::measure(&[trials, &choices.next].concat(), tasks, crew)?;
        Ok(costs.map(|costs| Self::new(&costs, trials, choices, crew.jobs)))
    }

    fn new(costs: &TrialTimes, trials: &[TrialSpec], choices: &Choices, jobs: usize) -> Self {
        let total = |round: &[TrialSpec]| costs.total(round, jobs);
        let least = |round: &[TrialSpec]| {
            let shortest: Vec<TrialSpec> = round.iter().map(shortest).collect();
            total(&shortest)
        };
        let sure = [&choices.next[..], &choices.again, trials];
        let beyond: f64 = choices.beyond.iter().map(|round| total(round)).sum();
        Self {
            seconds: sure.map(total).iter().sum::<f64>() + beyond,
            least: sure.map(least).iter().sum(),
            measured: costs.by_kind.len(),
        }
    }

    /// The time in words: one, or the shortest and the longest where results of trainings decide what else is trained.
    pub fn in_words(&self) -> String {
        match self.least < self.seconds {
            false => in_words(self.seconds),
            true => format!(
                "{} at the least and {} at the most",
                in_words(self.least),
                in_words(self.seconds)
            ),
        }
    }
}

/// The trial with the fewest steps that it may take.
fn shortest(trial: &TrialSpec) -> TrialSpec {
    TrialSpec {
        steps: trial.least_steps(),
        auto_from: None,
        ..trial.clone()
    }
}

/// A time in words.
pub fn in_words(seconds: f64) -> String {
    let minutes = seconds / 60.0;
    match seconds {
        s if s < 1.5 => "a second".to_string(),
        s if s < 90.0 => format!("{s:.0} seconds"),
        _ if minutes < 90.0 => format!("{minutes:.0} minutes"),
        _ => format!("{:.1} hours", minutes / 60.0),
    }
}

impl TrialTimes {
    /// Runs a trial of a few steps for every task with the first scheme, and for every scheme on the first
    /// task, as many at a time as the study will. The cost of every other trial follows in proportion.
    ///
    /// `None` if there is nothing to run, or if a short trial fails.
    ///
    /// # Errors
    ///
    /// When a temporary folder cannot be written, [`LabError::Trial`] when the crew was stopped.
    pub fn measure(
        trials: &[TrialSpec],
        tasks: &Tasks,
        crew: &Crew<'_>,
    ) -> Result<Option<Self>, LabError> {
        let Some(first) = trials.first() else {
            return Ok(None);
        };
        let mut pilots: BTreeMap<(String, String), TrialSpec> = BTreeMap::new();
        for trial in trials {
            // Every task and every scheme gets a short trial (a pilot), also if only some pairs of them are left.
            let is_new = |part: fn(&(String, String)) -> &String| {
                let own = kind(trial);
                !pilots.keys().any(|known| part(known) == part(&own))
            };
            if trial.task == first.task
                || trial.scheme.name == first.scheme.name
                || is_new(|kind| &kind.0)
                || is_new(|kind| &kind.1)
            {
                let short = TrialSpec {
                    steps: STEPS.min(trial.steps),
                    auto_from: None,
                    ..trial.clone()
                };
                pilots.entry(kind(trial)).or_insert(short);
            }
        }
        let temporary =
            tempfile::tempdir().map_err(LabError::file(Path::new("a temporary folder")))?;
        let folder = StudyFolder::at(temporary.path());
        keep_data(tasks, &folder)?;
        let short: Vec<TrialSpec> = pilots.values().cloned().collect();
        let missing = crew.run_all(&short, tasks, &folder)?;
        if crew.stop.asked() {
            return Err(LabError::Trial("stopped before the study began".into()));
        }
        if !missing.is_empty() {
            return Ok(None);
        }
        let mut costs = BTreeMap::new();
        for (kind, pilot) in pilots {
            match cost(&pilot, &folder)? {
                Some(cost) => costs.insert(kind, cost),
                None => return Ok(None),
            };
        }
        Ok(Some(Self {
            first: kind(first),
            by_kind: costs,
        }))
    }

    /// The seconds until the last of these trials ends, with `jobs` of them at a time.
    pub fn total(&self, trials: &[TrialSpec], jobs: usize) -> f64 {
        let seconds = trials
            .iter()
            .map(|trial| seconds(trial, &self.first, &self.by_kind));
        let (total, longest) = seconds.fold((0.0, 0.0_f64), |(total, longest), seconds| {
            (total + seconds, longest.max(seconds))
        });
        (total / jobs.max(1) as f64).max(longest)
    }

    /// The same cost for every trial.
    #[cfg(test)]
    pub(super) fn flat(trials: &[TrialSpec], fixed: f64, step: f64) -> Self {
        Self {
            first: kind(&trials[0]),
            by_kind: trials
                .iter()
                .map(|trial| (kind(trial), Cost { fixed, step }))
                .collect(),
        }
    }
}

fn kind(trial: &TrialSpec) -> (String, String) {
    (trial.task.clone(), trial.scheme.name.clone())
}

/// What a short trial cost. The time of its process is that between its first and its last file.
fn cost(pilot: &TrialSpec, folder: &StudyFolder) -> Result<Option<Cost>, LabError> {
    let place = folder.trial(&pilot.id());
    let written = |file: &Path| {
        let written = fs::metadata(file).and_then(|file| file.modified());
        written.map_err(LabError::file(file))
    };
    let result = TrialResult::read(&place.result())?;
    let Outcome::Finished(measures) = result.outcome else {
        return Ok(None);
    };
    let step = measures.timing.ms_per_step / 1e3;
    let process = written(&place.result())?.duration_since(written(&place.spec())?);
    let process = process.map_or(0.0, |process| process.as_secs_f64());
    Ok(Some(Cost {
        fixed: (process - step * pilot.steps as f64).max(0.0),
        step,
    }))
}

/// The seconds of one trial. Where its pair of task and scheme was not measured: those of its task with the first scheme,
/// times the ratio of its scheme to the first one on the first task.
fn seconds(
    trial: &TrialSpec,
    first: &(String, String),
    costs: &BTreeMap<(String, String), Cost>,
) -> f64 {
    let of = |task: &str, scheme: &str| costs.get(&(task.to_string(), scheme.to_string()));
    let cost = match of(&trial.task, &trial.scheme.name) {
        Some(cost) => *cost,
        None => {
            let task = of(&trial.task, &first.1);
            let scheme = of(&first.0, &trial.scheme.name);
            let base = of(&first.0, &first.1);
            let (Some(task), Some(scheme), Some(base)) = (task, scheme, base) else {
                // Where one of these was not measured: the longest time among trials of the same task or scheme.
                let (task, scheme) = kind(trial);
                let alike = costs.iter().filter(|of| of.0.0 == task || of.0.1 == scheme);
                let seconds = alike.map(|of| of.1.fixed + of.1.step * trial.most_steps() as f64);
                return seconds.fold(0.0, f64::max);
            };
            let ratio = |part: fn(&Cost) -> f64, least: f64| {
                part(scheme).max(least) / part(base).max(least)
            };
            Cost {
                fixed: task.fixed * ratio(|cost| cost.fixed, SHORTEST_PROCESS),
                step: task.step * ratio(|cost| cost.step, SHORTEST_STEP),
            }
        }
    };
    cost.fixed + cost.step * trial.most_steps() as f64
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::ask::{Plan, StudySpec};

    #[test]
    fn what_was_not_measured_is_in_proportion() {
        let plan =
            "schemes = ['none', 'rotary']\ntasks = ['reverse', 'digits']\nseeds = 1\nsteps = 100";
        let (spec, tasks) = StudySpec::of(Plan::parse(plan).unwrap()).unwrap();
        let trials = spec.trials(&tasks).unwrap();
        let cost = |task: &str, scheme: &str, fixed, step| {
            ((task.to_string(), scheme.to_string()), Cost { fixed, step })
        };
        let costs = BTreeMap::from([
            cost("reverse", "none", 1.0, 0.01),
            cost("reverse", "rotary", 2.0, 0.03),
            cost("digits", "none", 4.0, 0.05),
        ]);
        let of = |trial| seconds(trial, &kind(&trials[0]), &costs);
        let all: Vec<f64> = trials.iter().map(of).collect();
        for (seconds, expected) in all.iter().zip([2.0, 5.0, 9.0, 8.0 + 15.0]) {
            assert!((seconds - expected).abs() < 1e-9, "{all:?}");
        }
        // A measured time of 0 is raised to a least time, so that ratios stay bounded.
        let costs = BTreeMap::from([
            cost("reverse", "none", 0.0, 0.01),
            cost("reverse", "rotary", 2.0, 0.03),
            cost("digits", "none", 4.0, 0.05),
        ]);
        assert!(seconds(&trials[3], &kind(&trials[0]), &costs) <= 4.0 * 40.0 + 15.0);
        // Of the first task only one scheme is left, and of the other task only the other scheme.
        let left = [&trials[0], &trials[3]];
        let costs = BTreeMap::from([
            cost("reverse", "none", 1.0, 0.01),
            cost("digits", "rotary", 4.0, 0.05),
        ]);
        let of = |trial: &TrialSpec| seconds(trial, &kind(&trials[0]), &costs);
        assert_eq!(left.map(of), [2.0, 9.0]);
        // A pair that was not measured takes as long as the longest of the same task or scheme.
        assert_eq!(of(&trials[2]), 9.0);
    }

    #[test]
    fn rounds_of_choices_follow_each_other() {
        let plan = "schemes = ['none']\ntasks = ['reverse']\nseeds = 3\nsteps = 400";
        let (spec, tasks) = StudySpec::of(Plan::parse(plan).unwrap()).unwrap();
        let trials = spec.trials(&tasks).unwrap();
        let costs = TrialTimes::flat(&trials, 1.0, 0.01);
        let times = |choices: &Choices, jobs| {
            let estimate = Estimate::new(&costs, &trials, choices, jobs);
            (estimate.least, estimate.seconds)
        };
        // Five seconds a trial, however many run at a time.
        assert_eq!(times(&Choices::default(), 16), (5.0, 5.0));
        let one = trials[..1].to_vec();
        let choices = Choices {
            next: trials.clone(),
            beyond: vec![one.clone(), one],
            again: trials.clone(),
            ..Choices::default()
        };
        assert_eq!(times(&choices, 16), (15.0, 25.0));
        assert_eq!(times(&choices, 1), (45.0, 55.0));
    }

    #[test]
    fn a_trial_that_has_converged_at_once_runs_its_first_training_twice() {
        let steps = |text: &str| {
            let plan = format!("tasks = ['reverse']\nsteps = {text}");
            let (spec, tasks) = StudySpec::of(Plan::parse(&plan).unwrap()).unwrap();
            let trial = spec.trials(&tasks).unwrap().remove(0);
            let choosing = TrialSpec {
                tuning: true,
                ..trial.clone()
            };
            [trial, choosing].map(|trial| (shortest(&trial).steps, trial.most_steps()))
        };
        assert_eq!(steps("90"), [(90, 90); 2]);
        assert_eq!(steps("'auto:7..7'"), [(7, 7); 2]);
        assert_eq!(steps("'auto:50..300'"), [(100, 650), (50, 650)]);
    }

    #[test]
    fn a_time_is_told_as_a_person_does() {
        let told = [0.2, 61.0, 100.0, 3_000.0, 9_000.0].map(|seconds| {
            let estimate = Estimate {
                seconds,
                least: seconds,
                measured: 1,
            };
            estimate.in_words()
        });
        let expected = "a second, 61 seconds, 2 minutes, 50 minutes, 2.5 hours";
        assert_eq!(told.join(", "), expected);
    }
}
