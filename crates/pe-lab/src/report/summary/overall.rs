//! One scheme over all tasks.

use super::numbers::{
    Aggregate, Group, SchemeOverall, SchemeSummary, SeedMean, TaskSummary, complete_seeds,
    groups_of, possible_means,
};
use super::task::cost;
use crate::report::comparison::Part;
use crate::report::data::Data;
use crate::run::Measures;
use crate::stats::{Bounds, Interval, interquartile_mean, intervals, mean, seed_means};

impl SchemeOverall {
    pub(super) fn of(data: &Data<'_>, scheme: &str, tasks: &[TaskSummary]) -> Self {
        let runs: Vec<_> = data
            .runs
            .iter()
            .filter(|run| run.scheme == scheme)
            .collect();
        let finished = runs.iter().filter(|run| run.outcome.is_ok()).count();
        let trained = tasks
            .iter()
            .flat_map(|task| data.trained(&task.name, scheme));
        let measured: Vec<&Measures> = trained.map(|run| run.1).collect();
        let failed = runs.iter().filter_map(|run| run.outcome.err());
        let failed = failed.filter(|loss| loss.failed).count();
        let range = |part: fn(&Measures) -> usize| {
            let of_runs = || measured.iter().map(|measures| part(measures));
            Some([of_runs().min()?, of_runs().max()?])
        };
        Self {
            scheme: scheme.to_string(),
            // Set when all schemes are known.
            inside: None,
            beyond: None,
            near: None,
            far: None,
            parameters: range(|measures| measures.parameters),
            position_parameters: range(|measures| measures.position_parameters),
            ms_per_step: cost(data, measured.iter().map(|m| m.timing.ms_per_step)),
            tokens_per_second: cost(data, measured.iter().map(|m| m.timing.tokens_per_second)),
            finished,
            failed,
            lost: runs.len() - finished - failed,
        }
    }

    pub fn part(&self, part: Part) -> Option<&Aggregate> {
        match part {
            Part::Inside => self.inside.as_ref(),
            Part::Beyond => self.beyond.as_ref(),
        }
    }
}

/// The seeds of a scheme that have a score on every task on which some scheme has one, the scores by task and seed, and
/// the scores that are possible. `None` if there is a task on which the scheme has none.
struct Runs {
    seeds: Vec<u64>,
    scores: Vec<Vec<f64>>,
    bounds: Bounds,
}

/// Picks one group of lengths: that of a scheme on a task, and that of a scheme over all tasks.
type Pick = (
    fn(&SchemeSummary) -> Option<&Group>,
    fn(&mut SchemeOverall) -> &mut Option<Aggregate>,
);

const PICKS: [Pick; 4] = [
    (|of| of.inside.as_ref(), |of| &mut of.inside),
    (|of| of.beyond.as_ref(), |of| &mut of.beyond),
    (|of| of.near.as_ref(), |of| &mut of.near),
    (|of| of.far.as_ref(), |of| &mut of.far),
];

/// Sets the scores of all schemes, whose intervals share the dispersion of their runs.
pub(super) fn set_scores(schemes: &mut [SchemeOverall], tasks: &[TaskSummary]) {
    for (pick, overall) in PICKS {
        let runs: Vec<Option<Runs>> = schemes
            .iter()
            .map(|of| Runs::of(tasks, &of.scheme, pick))
            .collect();
        let Some(bounds) = runs.iter().flatten().next().map(|of| of.bounds) else {
            continue;
        };
        let scores: Vec<&[Vec<f64>]> = runs
            .iter()
            .map(|of| of.as_ref().map_or(&[][..], |of| &of.scores))
            .collect();
        let intervals = intervals(&scores, bounds);
        for ((scheme, runs), interval) in schemes.iter_mut().zip(&runs).zip(intervals) {
            *overall(scheme) = runs.as_ref().and_then(|of| of.aggregate(interval));
        }
    }
}

impl Runs {
    fn of(
        tasks: &[TaskSummary],
        scheme: &str,
        pick: fn(&SchemeSummary) -> Option<&Group>,
    ) -> Option<Self> {
        // Only a task on which some scheme has a score takes part.
        let has_one = |task: &&TaskSummary| task.schemes.iter().any(|of| pick(of).is_some());
        let groups = groups_of(scheme, tasks.iter().filter(has_one), pick)?;
        let (seeds, scores) = complete_seeds(&groups);
        Some(Self {
            seeds,
            scores,
            bounds: possible_means(&groups),
        })
    }

    fn aggregate(&self, interval: Option<Interval>) -> Option<Aggregate> {
        let runs = self.scores.concat();
        let seeds = self.seeds.iter().zip(seed_means(&self.scores));
        let seeds = seeds.map(|(seed, normalized)| SeedMean {
            seed: *seed,
            normalized,
        });
        Some(Aggregate {
            mean: mean(runs.iter().copied())?,
            interval,
            iqm: interquartile_mean(&runs)?,
            tasks: self.scores.len(),
            runs: runs.len(),
            seeds: seeds.collect(),
        })
    }
}
