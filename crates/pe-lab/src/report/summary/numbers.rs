//! What the numbers of a report are: those of a scheme, of a task, and of a scheme on a task.

use std::collections::BTreeMap;
use std::ops::RangeInclusive;

use serde::Serialize;

use crate::stats::{Bounds, EQUAL, Interval, mean};
use crate::task::{Forecast, Measure, Score, TestRows};

/// One scheme over all tasks.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeOverall {
    pub scheme: String,
    /// Its normalized scores inside the training lengths, or on held-out data if there is one length.
    pub inside: Option<Aggregate>,
    /// Its normalized scores beyond the training lengths.
    pub beyond: Option<Aggregate>,
    /// The part of `beyond` up to 1.5 times the longest training length.
    pub near: Option<Aggregate>,
    /// The rest of `beyond`.
    pub far: Option<Aggregate>,
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
    /// The number of trials whose training failed. They score the floor.
    pub failed: usize,
    /// The number of trials that ended without a result for another reason. They are left out.
    pub lost: usize,
}

/// Normalized scores over tasks. A seed counts if it has a score on every task; a failed training scores the
/// floor.
#[derive(Clone, Debug, Serialize)]
pub struct Aggregate {
    /// The mean over tasks and seeds.
    pub mean: f64,
    /// The 95 % interval of `mean` over seeds.
    pub interval: Option<Interval>,
    /// The interquartile mean of all runs, pooled over tasks and seeds. It hides failures.
    pub iqm: f64,
    pub tasks: usize,
    pub runs: usize,
    /// The score of every seed: the mean over tasks.
    pub seeds: Vec<SeedMean>,
}

/// The normalized score of one seed, averaged over tasks.
#[derive(Clone, Debug, Serialize)]
pub struct SeedMean {
    pub seed: u64,
    /// The mean over tasks.
    pub normalized: f64,
}

/// One task of a study.
#[derive(Clone, Debug, Default, Serialize)]
pub struct TaskSummary {
    #[serde(rename = "task")]
    pub name: String,
    /// What it is called on a page: the name of the person's file, or the task's name.
    pub title: String,
    /// What it asks for.
    pub about: String,
    /// Where it comes from.
    pub source: String,
    /// What its scores are measured in.
    pub measure: Measure,
    /// What a loss of 1 is in the unit of the measure, where that is an error.
    #[serde(skip)]
    pub(crate) unit: f64,
    /// Training steps; with `auto_from` the most of one training. 0 where they are not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps: usize,
    /// The steps of the first training, if trials went on until they had converged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_from: Option<usize>,
    /// The lengths seen in training, where they are known.
    pub train_lengths: Option<RangeInclusive<usize>>,
    /// The tested lengths inside the training lengths, and those beyond. Scores of another program may have none: then
    /// the length is 0.
    pub lengths: [Vec<usize>; 2],
    /// The largest length that counts as a little beyond: 1.5 times the longest training length.
    #[serde(skip)]
    pub(crate) near: usize,
    /// Whether a tested length stands for sequences of several lengths: it is that of the longest.
    pub mixes_lengths: bool,
    /// Whether the tests differ in the resolution of images: a length is then a number of patches, and what is not
    /// inside is not beyond anything.
    pub resolutions: bool,
    /// How the tested sequences depend on each other.
    #[serde(skip)]
    pub rows: TestRows,
    /// Of a person's own data, the number of each row's unit at every tested length: see
    /// [`Task::test_units`](crate::task::Task::test_units).
    #[serde(skip)]
    pub(crate) units: BTreeMap<usize, Vec<usize>>,
    /// The number of different sequences tested inside and beyond; 0 if nothing was tested yet.
    pub samples: [usize; 2],
    /// The average floor inside and beyond.
    pub floors: [Option<f64>; 2],
    /// What the floor is, in words.
    pub floor_about: String,
    /// The accuracy inside the training lengths from which on the task counts as solved, if there is one.
    pub solved_at: Option<f64>,
    /// The numbers that are forecast, if the task is a forecast.
    #[serde(skip)]
    pub(crate) forecast: Option<Forecast>,
    /// The schemes, in the order of the study. None until the results are summed up.
    pub schemes: Vec<SchemeSummary>,
    /// What else there is of a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<LanguageSummary>,
}

/// One scheme on one task.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeSummary {
    pub scheme: String,
    /// The score inside the training lengths.
    pub inside: Option<Group>,
    /// The score beyond the training lengths.
    pub beyond: Option<Group>,
    /// The part of `beyond` up to 1.5 times the longest training length.
    pub near: Option<Group>,
    /// The rest of `beyond`.
    pub far: Option<Group>,
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
    /// The steps that it was trained for, if trials went on until they had converged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub steps: Option<StepsTaken>,
    /// The seeds whose held-out loss still fell at the end of the training. Of trials that went on until they had
    /// converged, those that met the limit before.
    pub not_converged: Vec<u64>,
    /// The seeds whose training is too short to tell: it ended within the warm-up, or with too few losses to say whether
    /// it had converged.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub too_short: Vec<u64>,
    /// The seeds whose training failed, each with the reason. They score the floor.
    pub failed: Vec<(u64, String)>,
    /// The seeds that ended without a result for another reason. They are left out.
    pub lost: Vec<(u64, String)>,
}

/// The steps of the trainings that were tested, over seeds.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct StepsTaken {
    pub mean: f64,
    pub least: usize,
    pub most: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl StepsTaken {
    pub(super) fn of(steps: &[usize]) -> Option<Self> {
        Some(Self {
            mean: mean(steps.iter().map(|steps| *steps as f64))?,
            least: *steps.iter().min()?,
            most: *steps.iter().max()?,
        })
    }
}

/// The score of one scheme on a group of lengths. A failed training scores the floor, or the lowest score of any scheme on the
/// task if that is below it.
#[derive(Clone, Debug, Serialize)]
pub struct Group {
    /// The mean over seeds, in what the task measures.
    pub mean: f64,
    /// The mean share of sequences with every answer correct, over the seeds that did not fail. `None` where
    /// the score is a loss.
    pub exact: Option<f64>,
    /// The mean normalized score: 0 at the floor, 1 if it is perfect. See [`Score::over`].
    pub normalized: f64,
    /// The 95 % interval of `normalized` over seeds.
    pub interval: Option<Interval>,
    /// The normalized scores that are possible.
    #[serde(skip)]
    pub bounds: Bounds,
    /// The score of every seed: the mean over the sequences of all lengths of the group.
    pub seeds: Vec<SeedScore>,
    /// Whether every sequence has one answer: then the share of sequences that are fully correct is the accuracy.
    #[serde(skip)]
    pub has_one_answer: bool,
}

/// The score of one seed.
#[derive(Clone, Debug, Serialize)]
pub struct SeedScore {
    pub seed: u64,
    /// The score in what the task measures.
    #[serde(flatten)]
    pub score: Score,
    /// The normalized score: 0 at the floor, 1 if it is perfect.
    pub normalized: f64,
    /// Whether the training failed, so that this is the floor, or the lowest score of any scheme.
    pub failed: bool,
}

/// A language model's scores by length, with those of a sliding window, and what the models write.
#[derive(Clone, Debug, Serialize)]
pub struct LanguageSummary {
    /// How many of the last tokens of a window are scored; they are the same at every length.
    pub scored: usize,
    /// The tokens from one sliding window to the next.
    pub stride: usize,
    pub lengths: Vec<usize>,
    /// Each scheme, followed by its scalings that are on in the test only.
    pub rows: Vec<LanguageRow>,
    /// What the model of each scheme writes, at the first seed with a result.
    pub written: Vec<WrittenText>,
}

/// The scores of one scheme, or of one scaling that is on in the test only.
#[derive(Clone, Debug, Serialize)]
pub struct LanguageRow {
    /// The scheme, or the scheme with the scaling.
    pub name: String,
    /// The scheme that was trained.
    pub scheme: String,
    /// The score at each of the lengths, in their order.
    pub lengths: Vec<Bits>,
    /// The score of a sliding window of the training length. Only of what was trained.
    pub sliding: Option<Bits>,
}

/// Bits per token over seeds.
#[derive(Clone, Debug, Serialize)]
pub struct Bits {
    /// The mean over seeds.
    pub bits: f64,
    /// Its 95 % interval over seeds.
    pub interval: Option<Interval>,
    /// 2 to the power of `bits`.
    pub perplexity: f64,
    /// The bits of each seed.
    pub seeds: Vec<f64>,
}

#[derive(Clone, Debug, Serialize)]
pub struct WrittenText {
    pub scheme: String,
    pub seed: u64,
    /// The beginning, from the held-out part of the text.
    pub prompt: String,
    /// How the model goes on.
    pub text: String,
}

/// The group that `pick` takes of a scheme on each of these tasks; `None` if the scheme has none on one of them.
pub(super) fn groups_of<'a>(
    scheme: &str,
    tasks: impl Iterator<Item = &'a TaskSummary>,
    pick: impl Fn(&'a SchemeSummary) -> Option<&'a Group>,
) -> Option<Vec<&'a Group>> {
    let of_tasks = tasks.map(|task| pick(task.scheme(scheme)?));
    of_tasks.collect()
}

/// The seeds that all of these groups have, and the scores of each group at these seeds.
pub(super) fn complete_seeds(groups: &[&Group]) -> (Vec<u64>, Vec<Vec<f64>>) {
    let Some(first) = groups.first() else {
        return (Vec::new(), Vec::new());
    };
    let score = |group: &Group, seed: u64| {
        let of_seed = group.seeds.iter().find(|of| of.seed == seed);
        of_seed.map(|of| of.normalized)
    };
    let seeds = first.seeds.iter().map(|of| of.seed);
    let seeds: Vec<u64> = seeds
        .filter(|seed| groups.iter().all(|group| score(group, *seed).is_some()))
        .collect();
    let scores = groups.iter().map(|group| {
        seeds
            .iter()
            .filter_map(|seed| score(group, *seed))
            .collect()
    });
    let scores = scores.collect();
    (seeds, scores)
}

/// The range in which the mean score of these groups can lie.
pub(super) fn possible_means(groups: &[&Group]) -> Bounds {
    let lows = groups.iter().map(|group| match group.bounds {
        Bounds::Between(low, _) => Some(low),
        Bounds::From(_) | Bounds::UpTo(_) => None,
    });
    match lows.collect::<Option<Vec<f64>>>().and_then(mean) {
        Some(low) => Bounds::Between(low, 1.0),
        None => Bounds::UpTo(1.0),
    }
}

/// A normalized score below this counts as not above the floor, and no scheme of a study leads with it.
pub const ABOVE_THE_FLOOR: f64 = 0.05;

/// Below this normalized score no scheme leads on data for which it is not known what counts as solved: so little was
/// learned that the differences are not about positions. It does not apply to an error, such as that of a forecast: there
/// a low score may be all there is to learn.
const UNLEARNED: f64 = 0.2;

/// The normalized score from which on a scheme can lead on some tasks.
pub fn least_to_lead<'a>(tasks: impl IntoIterator<Item = &'a TaskSummary>) -> f64 {
    let tasks: Vec<&TaskSummary> = tasks.into_iter().collect();
    if !tasks.iter().any(|task| task.has_floor()) {
        return f64::NEG_INFINITY;
    }
    let is_open = |task: &&TaskSummary| {
        task.solved_at.is_none() && !matches!(task.measure, Measure::Error { .. })
    };
    match tasks.iter().all(is_open) {
        true => UNLEARNED,
        false => ABOVE_THE_FLOOR,
    }
}

/// The names with the highest score, if there are several names and one of them leads.
pub(super) fn leaders<'a>(scores: &[(&'a str, f64)], least: f64) -> Vec<&'a str> {
    let top = scores.iter().map(|of| of.1).fold(f64::MIN, f64::max);
    let with_top = scores.iter().filter(|of| top - of.1 < EQUAL);
    match scores.len() > 1 && top >= least {
        true => with_top.map(|of| of.0).collect(),
        false => Vec::new(),
    }
}
