//! Every number of a report: by task and scheme, inside and beyond the training lengths.

use std::ops::RangeInclusive;

use serde::Serialize;

use super::comparison::{Comparison, Headline, Part};
use super::costs::CostSummary;
use super::data::{Data, Origin, TaskFacts, title};
use super::language::LanguageSummary;
use crate::ask::StudySpec;
use crate::learn::{LengthScore, has_converged};
use crate::run::Measures;
use crate::stats::{
    Answer, Errors, Interval, MARGIN, RowScores, interquartile_mean, judge, mean, mean_interval,
    other_rows, overall_interval,
};
use crate::task::{Measure, Score, TestRows};

/// A study in numbers, with the sentences about them.
#[derive(Clone, Debug, Serialize)]
pub struct Summary {
    /// What was run, or where else the scores are from.
    #[serde(flatten)]
    pub origin: Origin,
    /// What the numbers show, one sentence per line, the answer first. Empty until the verdict is made.
    pub verdict: Vec<String>,
    /// The seeds that are reported: those of the study, or those up to the last complete look.
    pub seeds: Vec<u64>,
    /// The planned looks, if the study stops when it is decided: the number of seeds of each.
    pub looks: Option<Vec<usize>>,
    /// The number of seeds of the last complete look.
    pub look: Option<usize>,
    /// The largest shares of studies in which a claim of each kind is false.
    pub errors: Errors,
    /// Two schemes are level if their means differ by less than this.
    pub margin: f64,
    /// The number of trials of these seeds.
    pub trials: usize,
    /// The number of trials with scores.
    pub finished: usize,
    /// The number of trials that have not been run yet.
    pub not_run: usize,
    /// What was found in the user's data, if the task is made of it.
    pub data: Vec<String>,
    /// The schemes over all tasks, in the order of the study.
    pub schemes: Vec<SchemeOverall>,
    /// Which scheme is best inside, and beyond.
    pub headlines: Vec<Headline>,
    /// Every pair of schemes over all tasks. Holm's correction is for all of them together.
    pub comparisons: Vec<Comparison>,
    /// The tasks.
    pub tasks: Vec<TaskSummary>,
    /// What the schemes cost, if it was measured.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub costs: Option<CostSummary>,
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
    /// The number of tasks in it.
    pub tasks: usize,
    /// The number of runs in it.
    pub runs: usize,
    /// The score of every seed: the mean over tasks.
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
    /// What it is called on a page: the name of the person's file, or the task's name.
    pub title: String,
    /// What it asks for.
    pub about: String,
    /// Where it comes from.
    pub source: String,
    /// What its scores are measured in.
    pub measure: Measure,
    /// Training steps; with `auto_from` the most of one training. 0 where they are not known.
    #[serde(skip_serializing_if = "is_zero")]
    pub steps: usize,
    /// The steps of the first training, if trials went on until they had converged.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub auto_from: Option<usize>,
    /// The lengths seen in training, where they are known.
    pub train_lengths: Option<RangeInclusive<usize>>,
    /// The tested lengths inside the training lengths, and those beyond.
    pub lengths: [Vec<usize>; 2],
    /// Whether a tested length is that of the longest sequence of a group.
    pub mixes_lengths: bool,
    /// Whether the tests differ in the resolution of images, and lengths are numbers of patches.
    pub resolutions: bool,
    /// How the tested sequences hang together.
    #[serde(skip)]
    pub rows: TestRows,
    /// The number of sequences tested inside and beyond.
    pub samples: [usize; 2],
    /// The average floor inside and beyond.
    pub floors: [Option<f64>; 2],
    /// What the floor is, in words.
    pub floor_about: String,
    /// The accuracy inside the training lengths from which on the task counts as solved, if there is one.
    pub solved_at: Option<f64>,
    /// The schemes, in the order of the study.
    pub schemes: Vec<SchemeSummary>,
    /// What else there is of a language model.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub language: Option<LanguageSummary>,
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
    /// The seeds whose training, of a number of steps, is too short to tell: it ended within the warm-up, or with too
    /// few losses to say whether it had converged.
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
    /// The mean.
    pub mean: f64,
    /// The fewest.
    pub least: usize,
    /// The most.
    pub most: usize,
}

fn is_zero(number: &usize) -> bool {
    *number == 0
}

impl StepsTaken {
    fn of(steps: &[usize]) -> Option<Self> {
        Some(Self {
            mean: mean(steps.iter().map(|steps| *steps as f64))?,
            least: *steps.iter().min()?,
            most: *steps.iter().max()?,
        })
    }
}

/// The score of one scheme on a group of lengths. A failed training scores the floor.
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
    /// The score of every seed: the mean over the sequences of all lengths of the group.
    pub seeds: Vec<SeedScore>,
    /// Whether every sequence has one answer: then it is as often fully correct as an answer.
    #[serde(skip)]
    pub has_one_answer: bool,
}

/// The score of one seed.
#[derive(Clone, Debug, Serialize)]
pub struct SeedScore {
    /// The seed.
    pub seed: u64,
    /// The score in what the task measures.
    #[serde(flatten)]
    pub score: Score,
    /// The normalized score: 0 at the floor, 1 if it is perfect.
    pub normalized: f64,
    /// Whether the training failed, so that this is the floor.
    pub failed: bool,
}

impl Summary {
    /// The numbers of a study, without the verdict.
    pub fn of(data: &Data<'_>) -> Self {
        let tasks: Vec<TaskSummary> = data
            .tasks
            .iter()
            .map(|facts| TaskSummary::of(data, facts))
            .collect();
        let schemes = data.origin.schemes();
        let overall = schemes
            .iter()
            .map(|scheme| SchemeOverall::of(data, scheme, &tasks));
        let overall: Vec<SchemeOverall> = overall.collect();
        let errors = data.errors();
        let questions: Vec<Question<'_>> = Part::ALL
            .into_iter()
            .map(|part| Question::of(part, &tasks, schemes))
            .filter(|question| !question.names.is_empty())
            .collect();
        let scores: Vec<_> = questions
            .iter()
            .map(|question| question.scores.clone())
            .collect();
        let answers = judge(&scores, errors, MARGIN);
        let answered = || questions.iter().zip(&answers);
        let headlines = answered().map(|(question, answer)| {
            Headline::of(question.part, &question.tasks, &question.names, answer)
        });
        let comparisons =
            answered().flat_map(|(question, answer)| question.comparisons(data, answer));
        let trials = tasks.len() * schemes.len() * data.seeds.len();
        Self {
            origin: data.origin.clone(),
            verdict: Vec::new(),
            seeds: data.seeds.clone(),
            looks: data.look.as_ref().map(|look| look.planned.clone()),
            look: data.look.as_ref().and_then(|look| look.reached),
            errors,
            margin: MARGIN,
            trials,
            not_run: trials.saturating_sub(data.runs.len()),
            data: data.description.clone(),
            finished: data.runs.iter().filter(|run| run.outcome.is_ok()).count(),
            costs: data.costs.map(|costs| CostSummary {
                task: title(&costs.task, data.origin.own_data()),
                ..CostSummary::of(costs, &overall)
            }),
            schemes: overall,
            headlines: headlines.collect(),
            comparisons: comparisons.collect(),
            tasks,
        }
    }
}

/// Below this normalized score no scheme of a study leads: it is not above the floor.
const FLOOR: f64 = 0.05;
/// The same on data for which it is not known what counts as solved: so little was learned that the differences are
/// not about positions. Of an error such as that of a forecast, as little may be all there is to learn.
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
        false => FLOOR,
    }
}

/// The names with the highest score, if there are several names and one of them leads.
fn leaders<'a>(scores: &[(&'a str, f64)], least: f64) -> Vec<&'a str> {
    let top = scores.iter().map(|of| of.1).fold(f64::MIN, f64::max);
    let with_top = scores.iter().filter(|of| of.1 == top);
    match scores.len() > 1 && top >= least {
        true => with_top.map(|of| of.0).collect(),
        false => Vec::new(),
    }
}

impl Summary {
    /// What was run, if it was run here.
    pub fn study(&self) -> Option<&StudySpec> {
        self.origin.study()
    }

    /// The names of the two parts in a table.
    pub fn part_names(&self) -> [&'static str; 2] {
        let two_parts = self.tasks.iter().any(|task| task.has(Part::Beyond));
        match (two_parts, self.resolutions()) {
            (true, true) => ["trained size", "other sizes"],
            (true, false) => ["inside", "beyond"],
            (false, _) if self.study().is_none() => ["score", ""],
            (false, _) => ["held-out", ""],
        }
    }

    /// Whether all that is tested beyond training is images of other resolutions.
    pub fn resolutions(&self) -> bool {
        let mut beyond = self.tasks.iter().filter(|task| task.has(Part::Beyond));
        beyond.clone().next().is_some() && beyond.all(|task| task.resolutions)
    }

    /// The part that tables are sorted by: inside, if anything is tested there.
    fn first_part(&self) -> Part {
        match self.tasks.iter().any(|task| task.has(Part::Inside)) {
            true => Part::Inside,
            false => Part::Beyond,
        }
    }

    /// The schemes with the highest mean over all tasks.
    pub fn leaders(&self) -> Vec<&str> {
        let part = self.first_part();
        let scores = self.schemes.iter();
        let scores = scores.filter_map(|of| Some((of.scheme.as_str(), of.part(part)?.mean)));
        leaders(&scores.collect::<Vec<_>>(), least_to_lead(&self.tasks))
    }

    /// The same numbers with the schemes of every table sorted by their score, the highest first.
    pub fn by_score(&self) -> Self {
        let mut sorted = self.clone();
        let part = self.first_part();
        let least = |score: Option<f64>| score.unwrap_or(f64::NEG_INFINITY);
        let mean = |of: &SchemeOverall| least(of.part(part).map(|of| of.mean));
        sorted.schemes.sort_by(|a, b| mean(b).total_cmp(&mean(a)));
        for task in &mut sorted.tasks {
            let part = task.first_part();
            let score = |of: &SchemeSummary| least(of.part(part).map(|of| of.normalized));
            task.schemes.sort_by(|a, b| score(b).total_cmp(&score(a)));
        }
        sorted
    }
}

/// One question: which scheme is best inside, or beyond, the training lengths.
struct Question<'a> {
    part: Part,
    /// The tasks on which some scheme has a score.
    tasks: Vec<&'a TaskSummary>,
    /// The schemes with at least one seed that has a score on each of these tasks.
    names: Vec<&'a str>,
    /// The scores of each, by task and seed.
    scores: Vec<Vec<Vec<f64>>>,
}

impl<'a> Question<'a> {
    fn of(part: Part, tasks: &'a [TaskSummary], schemes: &'a [String]) -> Self {
        let has_one = |task: &&TaskSummary| task.schemes.iter().any(|s| s.part(part).is_some());
        let tasks: Vec<&TaskSummary> = tasks.iter().filter(has_one).collect();
        let complete = schemes.iter().filter_map(|scheme| {
            let groups: Option<Vec<&Group>> = tasks
                .iter()
                .map(|task| task.scheme(scheme)?.part(part))
                .collect();
            let (_, scores) = complete_seeds(&groups?);
            let has_seeds = scores.first().is_some_and(|seeds| !seeds.is_empty());
            has_seeds.then_some((scheme.as_str(), scores))
        });
        let (names, scores) = complete.unzip();
        Self {
            part,
            tasks,
            names,
            scores,
        }
    }

    fn comparisons(&self, data: &Data<'_>, answer: &Answer) -> Vec<Comparison> {
        let rows = |scheme: &str| {
            data.origin.own_data()?;
            row_scores(data, &self.tasks, scheme, self.part)
        };
        let leader = answer
            .order
            .first()
            .map_or("", |leader| self.names[*leader]);
        let of_leader = rows(leader);
        let pairs = answer.pairs.iter().map(|pair| {
            let mut comparison = Comparison::of(self.part, &self.names, pair);
            if comparison.higher == leader
                && let (Some(a), Some(b)) = (&of_leader, rows(&comparison.lower))
            {
                comparison.other_rows = Some(other_rows(a, &b, data.error_of_rows()));
            }
            comparison
        });
        pairs.collect()
    }
}

/// The seeds that all of these groups have, and the scores of each group at these seeds.
fn complete_seeds(groups: &[&Group]) -> (Vec<u64>, Vec<Vec<f64>>) {
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

/// The normalized score of every test row of a part, the rows of all folds side by side, at every seed that
/// counts for a scheme. The rows of a failed training score as it does. `None` if the results do not have
/// them: they were kept only since a later version.
fn row_scores(
    data: &Data<'_>,
    tasks: &[&TaskSummary],
    scheme: &str,
    part: Part,
) -> Option<RowScores> {
    let groups: Option<Vec<&Group>> = tasks
        .iter()
        .map(|task| task.scheme(scheme)?.part(part))
        .collect();
    let groups = groups?;
    let (seeds, _) = complete_seeds(&groups);
    let of_seed = |seed: &u64| {
        let of_task = |(task, group): (&&TaskSummary, &&Group)| {
            let score = group.seeds.iter().find(|of| of.seed == *seed)?;
            if task.rows == TestRows::Neighbours {
                return None;
            }
            if score.failed {
                return Some(vec![score.normalized; task.samples[part as usize]]);
            }
            let mut runs = data.measured(&task.task, scheme);
            let repeated = task.rows == TestRows::Repeated;
            rows_of(runs.find(|run| run.0 == *seed)?.1, part, repeated)
        };
        let rows: Option<Vec<Vec<f64>>> = tasks.iter().zip(&groups).map(of_task).collect();
        rows.map(|rows| rows.concat())
    };
    let runs: Option<RowScores> = seeds.iter().map(of_seed).collect();
    runs.filter(|runs| !runs.is_empty())
}

/// The normalized score of every test row of a part in one run. Rows that are tested at several lengths count
/// once, with their mean: they are no further rows.
fn rows_of(measures: &Measures, part: Part, repeated: bool) -> Option<Vec<f64>> {
    let inside = part == Part::Inside;
    let of_part = measures
        .scores
        .iter()
        .filter(|score| score.inside == inside);
    let rows: Option<Vec<Vec<f64>>> = of_part
        .map(|score| {
            let rows = score.rows.as_ref()?.scores(score.score);
            Some(rows.into_iter().map(|row| row.over(score.floor)).collect())
        })
        .collect();
    let rows = rows?;
    let rows = match (repeated, rows.first()) {
        (true, Some(first)) => {
            let mean = |row| mean(rows.iter().filter_map(|length| length.get(row).copied()));
            (0..first.len()).map(mean).collect::<Option<Vec<f64>>>()?
        }
        _ => rows.concat(),
    };
    Some(rows).filter(|rows| !rows.is_empty())
}

impl SchemeOverall {
    fn of(data: &Data<'_>, scheme: &str, tasks: &[TaskSummary]) -> Self {
        let runs: Vec<_> = data
            .runs
            .iter()
            .filter(|run| run.scheme == scheme)
            .collect();
        let finished = runs.iter().filter(|run| run.outcome.is_ok()).count();
        let trained = tasks
            .iter()
            .flat_map(|task| data.trained(&task.task, scheme));
        let measured: Vec<&Measures> = trained.map(|run| run.1).collect();
        let failed = runs.iter().filter_map(|run| run.outcome.err());
        let failed = failed.filter(|loss| loss.failed).count();
        let range = |part: fn(&Measures) -> usize| {
            let of_runs = || measured.iter().map(|measures| part(measures));
            Some([of_runs().min()?, of_runs().max()?])
        };
        Self {
            scheme: scheme.to_string(),
            inside: Aggregate::of(tasks, scheme, |of| of.inside.as_ref()),
            beyond: Aggregate::of(tasks, scheme, |of| of.beyond.as_ref()),
            near: Aggregate::of(tasks, scheme, |of| of.near.as_ref()),
            far: Aggregate::of(tasks, scheme, |of| of.far.as_ref()),
            parameters: range(|measures| measures.parameters),
            position_parameters: range(|measures| measures.position_parameters),
            ms_per_step: cost(data, measured.iter().map(|m| m.timing.ms_per_step)),
            tokens_per_second: cost(data, measured.iter().map(|m| m.timing.tokens_per_second)),
            finished,
            failed,
            lost: runs.len() - finished - failed,
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
    fn of(
        tasks: &[TaskSummary],
        scheme: &str,
        pick: fn(&SchemeSummary) -> Option<&Group>,
    ) -> Option<Self> {
        // Only a task on which some scheme has a score takes part.
        let has_one = |task: &&TaskSummary| task.schemes.iter().any(|of| pick(of).is_some());
        let groups: Option<Vec<&Group>> = tasks
            .iter()
            .filter(has_one)
            .map(|task| pick(task.scheme(scheme)?))
            .collect();
        let groups = groups?;
        let (seeds, scores) = complete_seeds(&groups);
        let runs = scores.concat();
        let at = |nth: usize| mean(scores.iter().map(|task| task[nth])).unwrap_or(0.0);
        Some(Self {
            mean: mean(runs.iter().copied())?,
            interval: overall_interval(&scores),
            iqm: interquartile_mean(&runs)?,
            tasks: groups.len(),
            runs: runs.len(),
            seeds: seeds
                .iter()
                .enumerate()
                .map(|(nth, seed)| SeedMean {
                    seed: *seed,
                    normalized: at(nth),
                })
                .collect(),
        })
    }
}

impl TaskSummary {
    fn of(data: &Data<'_>, facts: &TaskFacts) -> Self {
        let schemes = data.origin.schemes().iter();
        let schemes: Vec<SchemeSummary> = schemes
            .map(|scheme| SchemeSummary::of(data, facts, scheme))
            .collect();
        Self {
            task: facts.name.clone(),
            title: facts.title.clone(),
            about: facts.about.clone(),
            source: facts.source.clone(),
            measure: facts.measure.clone(),
            steps: facts.steps,
            auto_from: facts.auto_from,
            train_lengths: facts.train_lengths.clone(),
            lengths: facts.lengths.clone(),
            mixes_lengths: facts.mixes_lengths,
            resolutions: facts.resolutions,
            rows: facts.rows,
            samples: facts.samples,
            floors: facts.floors,
            floor_about: facts.floor_about.clone(),
            solved_at: facts.solved_at,
            language: LanguageSummary::of(data, facts, &schemes),
            schemes,
        }
    }

    /// Whether the tested lengths are known.
    pub fn has_lengths(&self) -> bool {
        self.lengths.iter().flatten().any(|length| *length > 0)
    }

    /// Whether it is known which score takes no skill.
    pub fn has_floor(&self) -> bool {
        self.floors.iter().any(Option::is_some)
    }

    /// Whether any test of the task is in this part.
    pub fn has(&self, part: Part) -> bool {
        !self.lengths[part as usize].is_empty()
    }

    /// The part that its table is sorted by.
    fn first_part(&self) -> Part {
        match self.has(Part::Inside) {
            true => Part::Inside,
            false => Part::Beyond,
        }
    }

    /// The schemes with the highest mean.
    pub fn leaders(&self) -> Vec<&str> {
        let part = self.first_part();
        let scores = self.schemes.iter();
        let scores = scores.filter_map(|of| Some((of.scheme.as_str(), of.part(part)?.normalized)));
        leaders(&scores.collect::<Vec<_>>(), least_to_lead([self]))
    }

    /// The names of its two parts in a table.
    pub fn parts(&self) -> [&'static str; 2] {
        match self.resolutions {
            true => ["trained size", "other sizes"],
            false => ["inside", "beyond"],
        }
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
                .map(|group| group.as_ref().is_none_or(|group| group.has_one_answer))
        };
        self.schemes.iter().flat_map(groups).all(|one| one)
    }
}

/// The mean of a time. `None` where the trials ran on several kinds of processors: a scheme that happened to run
/// on the faster one would look cheap.
fn cost(data: &Data<'_>, times: impl Iterator<Item = f64>) -> Option<f64> {
    match data.processors.len() {
        0 | 1 => mean(times),
        _ => None,
    }
}

impl SchemeSummary {
    fn of(data: &Data<'_>, task: &TaskFacts, scheme: &str) -> Self {
        let runs: Vec<(u64, Option<&Measures>)> = data
            .runs_of(&task.name, scheme)
            .filter_map(|run| match run.outcome {
                Ok(measures) => Some((run.seed, Some(measures))),
                Err(loss) => loss.failed.then_some((run.seed, None)),
            })
            .collect();
        let measured: Vec<(u64, &Measures)> = data.trained(&task.name, scheme).collect();
        let [floor, floor_beyond] = task.floors;
        let all: Vec<&Measures> = data.of_task(&task.name).collect();
        let inside = Group::of(&runs, &all, &task.measure, floor, |score| score.inside);
        let beyond = |belongs: fn(usize, usize) -> bool| {
            let is_tested = task.lengths[1]
                .iter()
                .any(|length| belongs(*length, task.near));
            Group::of(
                &runs,
                &all,
                &task.measure,
                floor_beyond.filter(|_| is_tested),
                |score| !score.inside && belongs(score.length, task.near),
            )
        };
        let unsolved = |seed: &&SeedScore| {
            !seed.failed && task.solved_at.is_some_and(|at| seed.score.value() < at)
        };
        let without = |failed: bool| {
            let runs = data.runs_of(&task.name, scheme);
            let losses = runs.filter_map(move |run| Some((run.seed, run.outcome.err()?)));
            let losses = losses.filter(move |(_, loss)| loss.failed == failed);
            losses
                .map(|(seed, loss)| (seed, loss.reason.to_string()))
                .collect()
        };
        let warm_up = data
            .origin
            .study()
            .map_or(0, |study| study.recipe.warmup_steps);
        let is_short = |m: &Measures| {
            let in_warm_up = m.steps() <= warm_up;
            task.auto_from.is_none() && (in_warm_up || has_converged(&m.held_out).is_none())
        };
        // Too few losses do not show that a limit was enough. Below the limit the steps were chosen by examples held
        // out of the training.
        let falling = measured.iter().filter(|(_, m)| match task.auto_from {
            Some(_) => m.met_limit(task.steps),
            None => !is_short(m) && has_converged(&m.held_out) == Some(false),
        });
        let short = measured.iter().filter(|(_, m)| is_short(m));
        let taken: Vec<usize> = measured.iter().map(|(_, m)| m.steps()).collect();
        Self {
            scheme: scheme.to_string(),
            unsolved_inside: inside
                .iter()
                .flat_map(|group| group.seeds.iter().filter(unsolved).map(|s| s.seed))
                .collect(),
            inside,
            beyond: beyond(|_, _| true),
            near: beyond(|length, near| length <= near),
            far: beyond(|length, near| length > near),
            steps: task.auto_from.and_then(|_| StepsTaken::of(&taken)),
            not_converged: falling.map(|run| run.0).collect(),
            too_short: short.map(|run| run.0).collect(),
            failed: without(true),
            lost: without(false),
            parameters: measured.first().map(|(_, m)| m.parameters),
            position_parameters: measured.first().map(|(_, m)| m.position_parameters),
            ms_per_step: cost(data, measured.iter().map(|(_, m)| m.timing.ms_per_step)),
            tokens_per_second: cost(
                data,
                measured.iter().map(|(_, m)| m.timing.tokens_per_second),
            ),
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
    /// The score of runs on the lengths that belong to the group. A run without measures failed, and scores
    /// the floor, or the lowest score of `all` runs on the task if that is below it: no scheme gains by failing.
    fn of(
        runs: &[(u64, Option<&Measures>)],
        all: &[&Measures],
        measure: &Measure,
        floor: Option<f64>,
        belongs: impl Fn(&LengthScore) -> bool,
    ) -> Option<Self> {
        // Every sequence has the same weight.
        let of_lengths = |measures: &Measures, pick: fn(&LengthScore) -> f64| {
            let of_group = || measures.scores.iter().filter(|score| belongs(score));
            let samples: usize = of_group().map(|score| score.samples).sum();
            let sum: f64 = of_group().map(|s| pick(s) * s.samples as f64).sum();
            (samples > 0).then(|| sum / samples as f64)
        };
        let normalized = |measures: &Measures| of_lengths(measures, LengthScore::normalized);
        let lowest = all.iter().filter_map(|run| normalized(run));
        let lowest = lowest.fold(0.0, f64::min);
        let seeds: Vec<SeedScore> = runs
            .iter()
            .filter_map(|(seed, measures)| {
                Some(match measures {
                    Some(of_run) => SeedScore {
                        seed: *seed,
                        score: measure.score(of_lengths(of_run, |of| of.score.value())?),
                        normalized: normalized(of_run)?,
                        failed: false,
                    },
                    None => SeedScore {
                        seed: *seed,
                        score: measure.score(floor?),
                        normalized: lowest,
                        failed: true,
                    },
                })
            })
            .collect();
        let exact = runs
            .iter()
            .filter_map(|run| of_lengths(run.1?, |score| score.exact.unwrap_or(0.0)));
        let exact = mean(exact).filter(|_| measure.is_accuracy());
        let scores: Vec<f64> = seeds.iter().map(|seed| seed.normalized).collect();
        let mut tested = runs
            .iter()
            .filter_map(|run| run.1)
            .flat_map(|of| &of.scores);
        Some(Self {
            mean: mean(seeds.iter().map(|seed| seed.score.value()))?,
            exact,
            normalized: mean(scores.iter().copied())?,
            interval: mean_interval(&scores),
            has_one_answer: tested.all(|of| of.exact.is_none_or(|exact| exact == of.score.value())),
            seeds,
        })
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
    fn a_row_that_is_tested_at_several_lengths_counts_once() {
        use crate::learn::{LengthScore, RowOutcomes};
        use crate::run::Timing;
        use crate::task::Score;

        let at = |length, right: &[u32]| LengthScore {
            length,
            inside: length == 4,
            samples: right.len(),
            score: Score::Accuracy(0.5),
            exact: Some(0.5),
            floor: 0.5,
            by_position: Vec::new(),
            by_depth: Vec::new(),
            rows: Some(RowOutcomes::Right {
                right: right.to_vec(),
                asked: 1,
            }),
        };
        let measures = Measures {
            scores: vec![at(2, &[1, 0, 1]), at(4, &[1, 1, 1]), at(9, &[1, 0, 0])],
            parameters: 1,
            position_parameters: 0,
            curve: Vec::new(),
            held_out: Vec::new(),
            timing: Timing {
                ms_per_step: 1.0,
                tokens_per_second: 1.0,
                threads: None,
                machine: None,
            },
            language: None,
            predicted: Vec::new(),
        };
        let rows = |part, repeated| rows_of(&measures, part, repeated).unwrap();
        // Normalized, a right answer is 1 and a wrong one −1.
        assert_eq!(rows(Part::Beyond, true), [1.0, -1.0, 0.0]);
        assert_eq!(rows(Part::Beyond, false), [1.0, -1.0, 1.0, 1.0, -1.0, -1.0]);
        assert_eq!(rows(Part::Inside, true), [1.0; 3]);
    }

    #[test]
    fn a_scheme_that_always_fails_is_not_above_one_below_the_floor() {
        let mut study = Synthetic::new(&["reverse"], &["none", "learned"], 3);
        for seed in 1..=3 {
            study = study
                .score("reverse", "none", seed, &[(10, 0.3), (80, 0.1)])
                .fail("reverse", "learned", seed, "diverged");
        }
        let summary = Summary::of(&study.data());
        let [none, learned] = &summary.tasks[0].schemes[..] else {
            panic!("two schemes")
        };
        let [none, learned] = [none, learned].map(|of| of.beyond.as_ref().unwrap().normalized);
        assert!(none < 0.0);
        close(learned, none);
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
        close(inside.seeds[1].score.value(), 0.30);
        assert_eq!(none.unsolved_inside, [1, 2]);
        assert!(learned.unsolved_inside.is_empty());
        assert_eq!(learned.failed, [(2, "diverged".to_string())]);
        // The failed training scores the floor, which is 0.25 inside and 0.2 beyond.
        let inside = learned.inside.as_ref().unwrap();
        let seeds: Vec<_> = inside
            .seeds
            .iter()
            .map(|s| (s.score.value(), s.failed))
            .collect();
        assert_eq!(seeds, [(0.99, false), (0.25, true)]);
        close(inside.normalized, (0.99 - 0.25) / 0.75 / 2.0);
        close(none.beyond.as_ref().unwrap().mean, 0.18);
        // Finished runs are below the floor beyond, and the failed one gains nothing by failing.
        let beyond = learned.beyond.as_ref().unwrap();
        close(beyond.seeds[1].normalized, (0.17 - 0.2) / 0.8);
        let inside: Vec<_> = summary
            .comparisons
            .iter()
            .filter(|c| c.part == Part::Inside)
            .collect();
        assert_eq!(
            (inside[0].seeds, inside[0].higher.as_str()),
            ([2, 2], "learned")
        );
        assert_eq!((summary.schemes[1].failed, summary.schemes[1].lost), (1, 0));
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
        // Student's t with one degree of freedom: 12.706 standard errors of 0.25.
        close(interval.low, 0.5 - 12.706_204_736_174_7 * 0.25);
        close(interval.high, 0.5 + 12.706_204_736_174_7 * 0.25);
        close(scheme.beyond.as_ref().unwrap().normalized, 0.25);
        // A task that is not known takes its floors from the results, and has no bound for "solved".
        assert!(scheme.unsolved_inside.is_empty());
        assert_eq!(summary.tasks[0].floors, [Some(0.25), Some(0.2)]);
    }

    #[test]
    fn a_seed_counts_if_it_has_a_score_on_every_task() {
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
        // Seed 4 has no `u` for `b`, so it counts for `a` alone.
        let study = study
            .score("t", "a", 4, &at(0.8))
            .score("u", "a", 4, &at(0.6))
            .score("t", "b", 4, &at(0.7));
        let summary = Summary::of(&study.data());
        let a = summary.schemes[0].inside.as_ref().unwrap();
        close(a.mean, (0.875 + 0.525) / 2.0);
        // 0.4 0.5 | 0.6 0.6 0.8 0.8 | 0.9 1.0
        close(a.iqm, 0.7);
        assert_eq!((a.tasks, a.runs, a.seeds.len()), (2, 8, 4));
        close(a.seeds[3].normalized, 0.7);
        let b = summary.schemes[1].inside.as_ref().unwrap();
        assert_eq!((b.runs, b.seeds.len()), (6, 3));
        let [pair] = &summary.comparisons[..] else {
            panic!("one pair, nothing beyond")
        };
        assert_eq!((pair.higher.as_str(), pair.seeds), ("a", [4, 3]));
        close(pair.difference, 0.7 - 0.4);
        assert!(summary.schemes[0].beyond.is_none());
        let [headline] = &summary.headlines[..] else {
            panic!("one part")
        };
        assert_eq!((headline.order[0].as_str(), headline.p), ("a", pair.p));
    }

    #[test]
    fn beyond_is_told_apart_up_to_one_and_a_half_times_and_further() {
        let study = Synthetic::new(&["reverse"], &["a"], 1).score(
            "reverse",
            "a",
            1,
            &[(20, 1.0), (21, 1.0), (30, 0.6), (31, 0.2), (80, 0.2)],
        );
        let summary = Summary::of(&study.data());
        let scheme = &summary.schemes[0];
        let mean = |of: &Option<Aggregate>| of.as_ref().unwrap().mean;
        // The floor beyond is 0.2.
        close(mean(&scheme.near), (1.0 + 0.5) / 2.0);
        close(mean(&scheme.far), 0.0);
        close(mean(&scheme.beyond), 1.5 / 4.0);
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
