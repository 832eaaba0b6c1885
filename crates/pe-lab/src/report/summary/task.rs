//! One task, and one scheme on it.

use super::numbers::{
    Group, LanguageSummary, SchemeSummary, SeedScore, StepsTaken, TaskSummary, leaders,
    least_to_lead,
};
use crate::ask::steps_in_words;
use crate::learn::{LengthScore, has_converged};
use crate::report::comparison::Part;
use crate::report::data::Data;
use crate::run::Measures;
use crate::stats::{Bounds, intervals, mean};
use crate::task::{Measure, Score};

impl TaskSummary {
    /// The facts of a task with what the schemes did on it.
    pub(super) fn of(data: &Data<'_>, facts: &Self) -> Self {
        let schemes = data.origin.schemes().iter();
        let mut schemes: Vec<SchemeSummary> = schemes
            .map(|scheme| SchemeSummary::of(data, facts, scheme))
            .collect();
        set_intervals(&mut schemes, |of| &mut of.inside);
        set_intervals(&mut schemes, |of| &mut of.beyond);
        set_intervals(&mut schemes, |of| &mut of.near);
        set_intervals(&mut schemes, |of| &mut of.far);
        Self {
            language: LanguageSummary::of(data, &facts.name),
            schemes,
            ..facts.clone()
        }
    }

    /// ` after 1500 steps`, or ` after 1500 to 6000 steps`; nothing where the steps are not known.
    pub fn after_steps(&self) -> String {
        match self.steps {
            0 => String::new(),
            _ => format!(" after {}", steps_in_words(self.auto_from, self.steps)),
        }
    }

    pub fn has_one_length(&self) -> bool {
        self.lengths.iter().map(Vec::len).sum::<usize>() <= 1
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
    pub(super) fn first_part(&self) -> Part {
        match self.has(Part::Inside) {
            true => Part::Inside,
            false => Part::Beyond,
        }
    }

    /// The part that the [leaders](Self::leaders) lead in, with a space before it, where there are two.
    pub fn leads_in(&self) -> String {
        match self.has(Part::Inside) && self.has(Part::Beyond) {
            true => format!(" {}", self.parts()[0]),
            false => String::new(),
        }
    }

    /// The schemes with the highest mean in the first part.
    pub fn leaders(&self) -> Vec<&str> {
        let part = self.first_part();
        let scores = self.schemes.iter();
        let scores = scores.filter_map(|of| Some((of.scheme.as_str(), of.part(part)?.normalized)));
        leaders(&scores.collect::<Vec<_>>(), least_to_lead([self]))
    }

    /// The names of its two parts in a table.
    pub fn parts(&self) -> [&'static str; 2] {
        Part::names(self.resolutions)
    }

    pub fn scheme(&self, name: &str) -> Option<&SchemeSummary> {
        self.schemes.iter().find(|scheme| scheme.scheme == name)
    }

    /// Whether every sequence has one answer. The scores show it: then the share of sequences that are fully correct is
    /// the accuracy.
    pub fn has_one_answer(&self) -> bool {
        let groups = |of: &'_ SchemeSummary| {
            [&of.inside, &of.beyond]
                .map(|group| group.as_ref().is_none_or(|group| group.has_one_answer))
        };
        self.schemes.iter().flat_map(groups).all(|one| one)
    }
}

/// Sets the intervals of one group of lengths of all schemes: they share the dispersion of their runs.
fn set_intervals(
    schemes: &mut [SchemeSummary],
    pick: fn(&mut SchemeSummary) -> &mut Option<Group>,
) {
    let mut groups: Vec<&mut Group> = schemes
        .iter_mut()
        .filter_map(|of| pick(of).as_mut())
        .collect();
    let Some(bounds) = groups.first().map(|group| group.bounds) else {
        return;
    };
    let scores = |group: &&mut Group| [group.seeds.iter().map(|of| of.normalized).collect()];
    let scores: Vec<[Vec<f64>; 1]> = groups.iter().map(scores).collect();
    for (group, interval) in groups.iter_mut().zip(intervals(&scores, bounds)) {
        group.interval = interval;
    }
}

/// The mean of a time. `None` where the trials ran on several kinds of processors: a scheme that happened to run
/// on the faster one would look cheap.
pub(super) fn cost(data: &Data<'_>, times: impl Iterator<Item = f64>) -> Option<f64> {
    match data.processors.len() {
        0 | 1 => mean(times),
        _ => None,
    }
}

impl SchemeSummary {
    pub(super) fn of(data: &Data<'_>, task: &TaskSummary, scheme: &str) -> Self {
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
        let (falling, short) = convergence(data, task, &measured);
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
            not_converged: falling,
            too_short: short,
            failed: losses(data, task, scheme, true),
            lost: losses(data, task, scheme, false),
            parameters: measured.first().map(|(_, m)| m.parameters),
            position_parameters: measured.first().map(|(_, m)| m.position_parameters),
            ms_per_step: cost(data, measured.iter().map(|(_, m)| m.timing.ms_per_step)),
            tokens_per_second: cost(
                data,
                measured.iter().map(|(_, m)| m.timing.tokens_per_second),
            ),
        }
    }

    pub fn part(&self, part: Part) -> Option<&Group> {
        match part {
            Part::Inside => self.inside.as_ref(),
            Part::Beyond => self.beyond.as_ref(),
        }
    }
}

/// The seeds of runs without measures, those that failed or the others, each with its reason.
fn losses(data: &Data<'_>, task: &TaskSummary, scheme: &str, failed: bool) -> Vec<(u64, String)> {
    let runs = data.runs_of(&task.name, scheme);
    let losses = runs.filter_map(|run| Some((run.seed, run.outcome.err()?)));
    let losses = losses.filter(|(_, loss)| loss.failed == failed);
    losses
        .map(|(seed, loss)| (seed, loss.reason.to_string()))
        .collect()
}

/// The seeds of runs that had not converged, and of those that were too short to tell.
fn convergence(
    data: &Data<'_>,
    task: &TaskSummary,
    measured: &[(u64, &Measures)],
) -> (Vec<u64>, Vec<u64>) {
    let study = data.origin.study();
    let warm_up = study.map_or(0, |study| study.recipe.warmup_steps);
    // Below the limit of `auto` the steps were chosen by examples held out of the training.
    let chosen = |m: &Measures| task.auto_from.is_some() && !m.met_limit(task.steps);
    let is_short =
        |m: &Measures| m.steps() <= warm_up || (!chosen(m) && has_converged(&m.held_out).is_none());
    // Too few losses do not show that a limit was enough.
    let falling = measured.iter().filter(|(_, m)| match task.auto_from {
        Some(_) => !chosen(m),
        None => !is_short(m) && has_converged(&m.held_out) == Some(false),
    });
    let short = measured.iter().filter(|(_, m)| is_short(m));
    let seed = |run: &(u64, &Measures)| run.0;
    (falling.map(seed).collect(), short.map(seed).collect())
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
        let normalized = |of: &Measures| of.mean_of(&belongs, LengthScore::normalized);
        let value = |of: &LengthScore| of.score.value();
        let scores = all
            .iter()
            .filter_map(|run| Some((normalized(run)?, run.mean_of(&belongs, value)?)));
        let lowest = scores.min_by(|a, b| a.0.total_cmp(&b.0));
        let lowest = lowest.filter(|of| of.0 < 0.0);
        let seeds: Vec<SeedScore> = runs
            .iter()
            .filter_map(|(seed, measures)| {
                Some(match measures {
                    Some(of_run) => SeedScore {
                        seed: *seed,
                        score: measure.score(of_run.mean_of(&belongs, value)?),
                        normalized: normalized(of_run)?,
                        failed: false,
                    },
                    None => {
                        let (normalized, score) = lowest.unwrap_or((0.0, floor?));
                        SeedScore {
                            seed: *seed,
                            score: measure.score(score),
                            normalized,
                            failed: true,
                        }
                    }
                })
            })
            .collect();
        let exact = runs
            .iter()
            .filter_map(|run| run.1?.mean_of(&belongs, |of| of.exact.unwrap_or(0.0)));
        let exact = mean(exact).filter(|_| measure.is_accuracy());
        // The lowest score that is possible has no right answer at any length.
        let none_right = |score: &LengthScore| match measure.is_accuracy() {
            true => Score::Accuracy(0.0).over(score.floor),
            false => f64::NEG_INFINITY,
        };
        let low = all.iter().find_map(|run| run.mean_of(&belongs, none_right));
        let bounds = match low.filter(|low| low.is_finite()) {
            Some(low) => Bounds::Between(low, 1.0),
            None => Bounds::UpTo(1.0),
        };
        let mut tested = runs
            .iter()
            .filter_map(|run| run.1)
            .flat_map(|of| &of.scores);
        Some(Self {
            mean: mean(seeds.iter().map(|seed| seed.score.value()))?,
            exact,
            normalized: mean(seeds.iter().map(|seed| seed.normalized))?,
            interval: None, // set when all schemes are known
            bounds,
            has_one_answer: tested.all(|of| of.exact.is_none_or(|exact| exact == value(of))),
            seeds,
        })
    }
}
