//! Every number of a report: by task and scheme, inside and beyond the training lengths.

use std::ops::RangeInclusive;

use serde::Serialize;

use super::comparison::{Comparison, Paired, Part, family};
use super::data::{Data, TaskFacts};
use super::stats::{
    Interval, RESAMPLES, interquartile_mean, interquartile_mean_interval, mean, mean_interval,
};
use crate::ask::StudySpec;
use crate::learn::LengthScore;
use crate::run::Measures;

/// A study in numbers, with the sentences about them.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was run.
    pub study: StudySpec,
    /// What the numbers show, one sentence per line, the answer first. Empty until the verdict is made.
    pub verdict: Vec<String>,
    /// The number of trials of the study.
    pub trials: usize,
    /// The number of trials with scores.
    pub finished: usize,
    /// The number of trials that have not been run yet.
    pub not_run: usize,
    /// What was found in the user's data, if the task is made of it.
    pub data: Vec<String>,
    /// The schemes over all tasks, in the order of the study.
    pub schemes: Vec<SchemeOverall>,
    /// Every pair of schemes over all tasks. Holm's correction is for all of them together.
    pub comparisons: Vec<Comparison>,
    /// The tasks.
    pub tasks: Vec<TaskSummary>,
}

/// One scheme over all tasks.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeOverall {
    /// The scheme's name.
    pub scheme: String,
    /// Its normalized scores inside the training lengths, or on held-out data if there is one length.
    pub inside: Option<Aggregate>,
    /// Its normalized scores beyond the training lengths.
    pub beyond: Option<Aggregate>,
    /// The number of parameters of the model: the smallest and the largest over tasks.
    pub parameters: Option<[usize; 2]>,
    /// The number of parameters of the scheme alone: the smallest and the largest over tasks.
    pub position_parameters: Option<[usize; 2]>,
    /// Milliseconds per training step, the mean over runs.
    pub ms_per_step: Option<f64>,
    /// Input tokens per second of training, the mean over runs.
    pub tokens_per_second: Option<f64>,
    /// The number of trials with scores.
    pub finished: usize,
    /// The number of trials that were run and have no scores.
    pub failed: usize,
}

/// Normalized scores over tasks.
#[derive(Clone, Debug, Serialize)]
pub struct Aggregate {
    /// The interquartile mean of all runs, pooled over tasks and seeds.
    pub iqm: f64,
    /// The 95 % interval of `iqm`, with seeds drawn within each task.
    pub interval: Option<Interval>,
    /// The mean over tasks of the means over seeds.
    pub mean: f64,
    /// The number of tasks in it.
    pub tasks: usize,
    /// The number of runs in it.
    pub runs: usize,
    /// The score of every seed: the mean over the tasks that it finished.
    pub seeds: Vec<SeedMean>,
}

/// The normalized score of one seed, averaged over tasks.
#[derive(Clone, Debug, Serialize)]
pub struct SeedMean {
    /// The seed.
    pub seed: u64,
    /// The mean over tasks.
    pub normalized: f64,
}

/// One task of a study.
#[derive(Clone, Debug, Serialize)]
pub struct TaskSummary {
    /// The task's name.
    pub task: String,
    /// What it asks for.
    pub about: String,
    /// Where it comes from.
    pub source: String,
    /// Training steps.
    pub steps: usize,
    /// The lengths seen in training, where they are known.
    pub train_lengths: Option<RangeInclusive<usize>>,
    /// The tested lengths inside the training lengths, and those beyond.
    pub lengths: [Vec<usize>; 2],
    /// Whether a tested length is that of the longest sequence of a group.
    pub mixes_lengths: bool,
    /// The number of sequences tested inside and beyond.
    pub samples: [usize; 2],
    /// The average floor inside and beyond.
    pub floors: [Option<f64>; 2],
    /// What the floor is, in words.
    pub floor_about: String,
    /// The accuracy inside the training lengths from which on the task counts as solved, if it has one.
    pub solved_at: Option<f64>,
    /// What the numbers show about this task. Empty until the verdict is made.
    pub verdict: Vec<String>,
    /// The schemes, in the order of the study.
    pub schemes: Vec<SchemeSummary>,
    /// Every pair of schemes on this task. Holm's correction is for all of them together.
    pub comparisons: Vec<Comparison>,
}

/// One scheme on one task.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeSummary {
    /// The scheme's name.
    pub scheme: String,
    /// The score inside the training lengths.
    pub inside: Option<Group>,
    /// The score beyond the training lengths.
    pub beyond: Option<Group>,
    /// The number of parameters of the model.
    pub parameters: Option<usize>,
    /// The number of parameters of the scheme alone.
    pub position_parameters: Option<usize>,
    /// Milliseconds per training step, the mean over seeds.
    pub ms_per_step: Option<f64>,
    /// Input tokens per second of training, the mean over seeds.
    pub tokens_per_second: Option<f64>,
    /// The seeds that did not solve the task inside the training lengths, if it can be solved.
    pub unsolved_inside: Vec<u64>,
    /// The seeds without a score, each with the reason.
    pub failed: Vec<(u64, String)>,
}

/// The score of one scheme on a group of lengths.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The mean accuracy over seeds.
    pub mean: f64,
    /// The mean share of sequences with every answer correct.
    pub exact: f64,
    /// The mean normalized score: 0 at the floor, 1 if every answer is correct.
    pub normalized: f64,
    /// The 95 % interval of `normalized` over seeds.
    pub interval: Option<Interval>,
    /// The score of every seed: the mean over the sequences of all lengths of the group.
    pub seeds: Vec<SeedScore>,
}

/// The score of one seed.
#[derive(Clone, Debug, Serialize)]
pub struct SeedScore {
    /// The seed.
    pub seed: u64,
    /// The accuracy.
    pub accuracy: f64,
    /// The normalized score: 0 at the floor, 1 if every answer is correct.
    pub normalized: f64,
}

impl Summary {
    /// The numbers of a study, without the verdict.
    pub fn of(data: &Data<'_>) -> Self {
        let tasks: Vec<TaskSummary> = data
            .tasks
            .iter()
            .map(|facts| TaskSummary::of(data, facts))
            .collect();
        let schemes = &data.spec.schemes;
        let overall = schemes
            .iter()
            .map(|scheme| SchemeOverall::of(data, scheme, &tasks));
        let parts = Part::ALL.map(|part| (part, tasks.iter().any(|task| task.has(part))));
        let parts: Vec<Part> = parts.iter().filter(|p| p.1).map(|p| p.0).collect();
        let comparisons = match &tasks[..] {
            [task] => task.comparisons.clone(),
            _ => family(schemes, &parts, |part, a, b| {
                // For every seed the mean over the tasks that both schemes finished at this seed.
                let seeds = data.spec.seeds.iter().filter_map(|seed| {
                    mean(tasks.iter().filter_map(|task| {
                        let score = |scheme| Some(task.score(part, scheme, *seed)?.normalized);
                        Some(score(a)? - score(b)?)
                    }))
                });
                seeds.collect::<Vec<_>>().into()
            }),
        };
        let trials = tasks.len() * schemes.len() * data.spec.seeds.len();
        Self {
            study: data.spec.clone(),
            verdict: Vec::new(),
            trials,
            not_run: trials.saturating_sub(data.runs.len()),
            data: data.description.clone(),
            finished: data.runs.iter().filter(|run| run.outcome.is_ok()).count(),
            schemes: overall.collect(),
            comparisons,
            tasks,
        }
    }
}

impl SchemeOverall {
    fn of(data: &Data<'_>, scheme: &str, tasks: &[TaskSummary]) -> Self {
        let runs: Vec<_> = data
            .runs
            .iter()
            .filter(|run| run.scheme == scheme)
            .collect();
        let measured: Vec<&Measures> = runs.iter().filter_map(|run| run.outcome.ok()).collect();
        let range = |part: fn(&Measures) -> usize| {
            let of_runs = || measured.iter().map(|measures| part(measures));
            Some([of_runs().min()?, of_runs().max()?])
        };
        Self {
            scheme: scheme.to_string(),
            inside: Aggregate::of(tasks, scheme, Part::Inside),
            beyond: Aggregate::of(tasks, scheme, Part::Beyond),
            parameters: range(|measures| measures.parameters),
            position_parameters: range(|measures| measures.position_parameters),
            ms_per_step: mean(measured.iter().map(|m| m.timing.ms_per_step)),
            tokens_per_second: mean(measured.iter().map(|m| m.timing.tokens_per_second)),
            finished: measured.len(),
            failed: runs.len() - measured.len(),
        }
    }

    /// The scores of one part.
    pub fn part(&self, part: Part) -> Option<&Aggregate> {
        match part {
            Part::Inside => self.inside.as_ref(),
            Part::Beyond => self.beyond.as_ref(),
        }
    }
}

impl Aggregate {
    fn of(tasks: &[TaskSummary], scheme: &str, part: Part) -> Option<Self> {
        let groups: Vec<&Group> = tasks
            .iter()
            .filter_map(|task| task.scheme(scheme)?.part(part))
            .collect();
        let strata: Vec<Vec<f64>> = groups
            .iter()
            .map(|group| group.normalized_seeds())
            .collect();
        let runs = strata.concat();
        let mut seeds: Vec<u64> = groups
            .iter()
            .flat_map(|group| group.seeds.iter().map(|seed| seed.seed))
            .collect();
        seeds.sort_unstable();
        seeds.dedup();
        let of_seed = |seed: u64| {
            let scores = groups.iter().flat_map(|group| &group.seeds);
            mean(scores.filter(|s| s.seed == seed).map(|s| s.normalized))
        };
        Some(Self {
            iqm: interquartile_mean(&runs)?,
            interval: interquartile_mean_interval(&strata, RESAMPLES),
            mean: mean(groups.iter().map(|group| group.normalized))?,
            tasks: groups.len(),
            runs: runs.len(),
            seeds: seeds
                .into_iter()
                .filter_map(|seed| {
                    let normalized = of_seed(seed)?;
                    Some(SeedMean { seed, normalized })
                })
                .collect(),
        })
    }
}

impl TaskSummary {
    fn of(data: &Data<'_>, facts: &TaskFacts) -> Self {
        let schemes = data.spec.schemes.iter();
        let schemes = schemes.map(|scheme| SchemeSummary::of(data, facts, scheme));
        let mut summary = Self {
            task: facts.name.clone(),
            about: facts.about.clone(),
            source: facts.source.clone(),
            steps: facts.steps,
            train_lengths: facts.train_lengths.clone(),
            lengths: facts.lengths.clone(),
            mixes_lengths: facts.mixes_lengths,
            samples: facts.samples,
            floors: facts.floors,
            floor_about: facts.floor_about.clone(),
            solved_at: facts.solved_at,
            verdict: Vec::new(),
            schemes: schemes.collect(),
            comparisons: Vec::new(),
        };
        let parts: Vec<Part> = Part::ALL
            .into_iter()
            .filter(|part| summary.has(*part))
            .collect();
        // If sequences have several answers, a difference is not a number of sequences.
        let has_one_answer = summary.has_one_answer();
        summary.comparisons = family(&data.spec.schemes, &parts, |part, a, b| {
            let pairs: Vec<_> = data
                .spec
                .seeds
                .iter()
                .filter_map(|seed| {
                    let score = |scheme| summary.score(part, scheme, *seed);
                    Some((score(a)?, score(b)?))
                })
                .collect();
            let accuracy = mean(pairs.iter().map(|(a, b)| a.accuracy - b.accuracy));
            let sequences = has_one_answer.then_some(summary.samples[part as usize] as f64);
            Paired {
                differences: pairs
                    .iter()
                    .map(|(a, b)| a.normalized - b.normalized)
                    .collect(),
                sequences: accuracy
                    .zip(sequences)
                    .map(|(difference, all)| difference * all),
            }
        });
        summary
    }

    /// Whether any test of the task is in this part.
    pub fn has(&self, part: Part) -> bool {
        !self.lengths[part as usize].is_empty()
    }

    /// The scheme of this name.
    pub fn scheme(&self, name: &str) -> Option<&SchemeSummary> {
        self.schemes.iter().find(|scheme| scheme.scheme == name)
    }

    /// Whether every sequence has one answer. The scores tell: then a sequence is as often fully correct
    /// as an answer.
    pub fn has_one_answer(&self) -> bool {
        let groups = |of: &'_ SchemeSummary| {
            [&of.inside, &of.beyond]
                .map(|group| group.as_ref().is_none_or(|group| group.exact == group.mean))
        };
        self.schemes.iter().flat_map(groups).all(|one| one)
    }

    /// The score of one run.
    fn score(&self, part: Part, scheme: &str, seed: u64) -> Option<&SeedScore> {
        let seeds = &self.scheme(scheme)?.part(part)?.seeds;
        seeds.iter().find(|s| s.seed == seed)
    }
}

impl SchemeSummary {
    fn of(data: &Data<'_>, task: &TaskFacts, scheme: &str) -> Self {
        let measured: Vec<(u64, &Measures)> = data.measured(&task.name, scheme).collect();
        let inside = Group::of(&measured, |score| score.inside);
        let unsolved = |seed: &&SeedScore| task.solved_at.is_some_and(|at| seed.accuracy < at);
        let failed = data.runs_of(&task.name, scheme);
        Self {
            scheme: scheme.to_string(),
            unsolved_inside: inside
                .iter()
                .flat_map(|group| group.seeds.iter().filter(unsolved).map(|s| s.seed))
                .collect(),
            inside,
            beyond: Group::of(&measured, |score| !score.inside),
            parameters: measured.first().map(|(_, m)| m.parameters),
            position_parameters: measured.first().map(|(_, m)| m.position_parameters),
            ms_per_step: mean(measured.iter().map(|(_, m)| m.timing.ms_per_step)),
            tokens_per_second: mean(measured.iter().map(|(_, m)| m.timing.tokens_per_second)),
            failed: failed
                .filter_map(|run| Some((run.seed, run.outcome.err()?.to_string())))
                .collect(),
        }
    }

    /// The scores of one part.
    pub fn part(&self, part: Part) -> Option<&Group> {
        match part {
            Part::Inside => self.inside.as_ref(),
            Part::Beyond => self.beyond.as_ref(),
        }
    }
}

impl Group {
    fn of(measured: &[(u64, &Measures)], belongs: impl Fn(&LengthScore) -> bool) -> Option<Self> {
        // Every sequence has the same weight.
        let of_lengths = |measures: &Measures, pick: fn(&LengthScore) -> f64| {
            let of_group = || measures.scores.iter().filter(|score| belongs(score));
            let samples: usize = of_group().map(|score| score.samples).sum();
            let sum: f64 = of_group().map(|s| pick(s) * s.samples as f64).sum();
            (samples > 0).then(|| sum / samples as f64)
        };
        let seeds: Vec<SeedScore> = measured
            .iter()
            .filter_map(|(seed, measures)| {
                Some(SeedScore {
                    seed: *seed,
                    accuracy: of_lengths(measures, |score| score.accuracy)?,
                    normalized: of_lengths(measures, LengthScore::normalized)?,
                })
            })
            .collect();
        let exact = measured
            .iter()
            .filter_map(|(_, measures)| of_lengths(measures, |score| score.exact));
        let normalized: Vec<f64> = seeds.iter().map(|seed| seed.normalized).collect();
        Some(Self {
            mean: mean(seeds.iter().map(|seed| seed.accuracy))?,
            exact: mean(exact)?,
            normalized: mean(normalized.iter().copied())?,
            interval: mean_interval(&normalized, RESAMPLES),
            seeds,
        })
    }

    fn normalized_seeds(&self) -> Vec<f64> {
        self.seeds.iter().map(|seed| seed.normalized).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::Synthetic;

    fn close(value: f64, expected: f64) {
        assert!((value - expected).abs() < 1e-9, "{value} is not {expected}");
    }

    #[test]
    fn means_seeds_and_failures_are_kept_apart() {
        let study = Synthetic::new(&["reverse"], &["none", "learned"], 2)
            .score("reverse", "none", 1, &[(10, 0.30), (20, 0.20), (80, 0.19)])
            .score("reverse", "none", 2, &[(10, 0.30), (20, 0.30), (80, 0.17)])
            .score(
                "reverse",
                "learned",
                1,
                &[(10, 1.0), (20, 0.98), (80, 0.19)],
            )
            .fail("reverse", "learned", 2, "diverged");
        let summary = Summary::of(&study.data());
        assert_eq!((summary.trials, summary.finished), (4, 3));
        let task = &summary.tasks[0];
        assert_eq!(task.lengths, [vec![10, 20], vec![80]]);
        assert_eq!(task.train_lengths, Some(4..=20));
        let [none, learned] = &task.schemes[..] else {
            panic!("two schemes")
        };
        let inside = none.inside.as_ref().unwrap();
        close(inside.mean, 0.275);
        close(inside.seeds[1].accuracy, 0.30);
        assert_eq!(none.unsolved_inside, [1, 2]);
        assert!(learned.unsolved_inside.is_empty());
        assert_eq!(learned.failed, [(2, "diverged".to_string())]);
        assert_eq!(learned.inside.as_ref().unwrap().seeds.len(), 1);
        assert!(learned.inside.as_ref().unwrap().interval.is_none());
        close(none.beyond.as_ref().unwrap().mean, 0.18);
        // Only seed 1 has both.
        assert_eq!(task.comparisons[0].seeds, 1);
        assert_eq!(task.comparisons[0].higher, "learned");
        assert_eq!(summary.schemes[1].failed, 1);
    }

    #[test]
    fn normalized_scores_are_averaged_over_lengths_then_seeds() {
        // The floors of the synthetic tasks are 0.25 inside and 0.2 beyond.
        let study = Synthetic::new(&["mine"], &["a"], 2)
            .score("mine", "a", 1, &[(10, 1.0), (20, 0.625), (40, 0.2)])
            .score("mine", "a", 2, &[(10, 0.25), (20, 0.625), (40, 0.6)]);
        let summary = Summary::of(&study.data());
        let scheme = &summary.tasks[0].schemes[0];
        let inside = scheme.inside.as_ref().unwrap();
        close(inside.seeds[0].normalized, 0.75);
        close(inside.seeds[1].normalized, 0.25);
        close(inside.normalized, 0.5);
        let interval = inside.interval.unwrap();
        close(interval.low, 0.25);
        close(interval.high, 0.75);
        close(scheme.beyond.as_ref().unwrap().normalized, 0.25);
        // A task that is not known takes its floors from the results, and has no bound for "solved".
        assert!(scheme.unsolved_inside.is_empty());
        assert_eq!(summary.tasks[0].floors, [Some(0.25), Some(0.2)]);
    }

    #[test]
    fn tasks_are_pooled_for_the_interquartile_mean_and_paired_by_seed() {
        // Normalized scores are (accuracy − 0.25) / 0.75.
        let at = |normalized: f64| [(10, 0.25 + 0.75 * normalized)];
        let mut study = Synthetic::new(&["t", "u"], &["a", "b"], 4);
        for (seed, [ta, ua, tb, ub]) in [
            (1, [0.8, 0.4, 0.6, 0.4]),
            (2, [0.9, 0.5, 0.6, 0.2]),
            (3, [1.0, 0.6, 0.6, 0.0]),
        ] {
            for (task, scheme, score) in [
                ("t", "a", ta),
                ("u", "a", ua),
                ("t", "b", tb),
                ("u", "b", ub),
            ] {
                study = study.score(task, scheme, seed, &at(score));
            }
        }
        // Seed 4 has no `u` for `b`, and is paired on `t` alone.
        let study = study
            .score("t", "a", 4, &at(0.8))
            .score("u", "a", 4, &at(0.6))
            .score("t", "b", 4, &at(0.7));
        let summary = Summary::of(&study.data());
        let a = summary.schemes[0].inside.as_ref().unwrap();
        // 0.4 0.5 | 0.6 0.6 0.8 0.8 | 0.9 1.0
        close(a.iqm, 0.7);
        close(a.mean, (0.875 + 0.525) / 2.0);
        assert_eq!((a.tasks, a.runs, a.seeds.len()), (2, 8, 4));
        close(a.seeds[3].normalized, 0.7);
        let [pair] = &summary.comparisons[..] else {
            panic!("one pair, nothing beyond")
        };
        assert_eq!((pair.seeds, pair.above, pair.below), (4, 4, 0));
        close(pair.difference.unwrap(), (0.1 + 0.3 + 0.5 + 0.1) / 4.0);
        assert_eq!(pair.p, Some(0.125));
        assert!(summary.schemes[0].beyond.is_none());
    }

    #[test]
    fn a_study_without_any_result_has_a_summary() {
        let study = Synthetic::new(&["reverse", "mine"], &["a", "b"], 3);
        let summary = Summary::of(&study.data());
        assert_eq!((summary.trials, summary.finished), (12, 0));
        assert!(summary.schemes.iter().all(|s| s.inside.is_none()));
        // What is known about the task is still said.
        assert_eq!(summary.tasks[0].lengths[0], [10, 20]);
    }
}
