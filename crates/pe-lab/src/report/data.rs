//! The results of a study, laid out by task, scheme and seed, and what is known about its tasks.

use std::collections::{BTreeMap, BTreeSet};

use serde::Serialize;

use super::results::{Results, ResultsFile};
use super::summary::TaskSummary;
use crate::ask::{AtResolution, StudySpec, TaskSteps, Tasks, Versions};
use crate::data::DataSpec;
use crate::grouped::once;
use crate::learn::LengthScore;
use crate::run::{Costs, Measures, Outcome, Outcomes, Study, codes};
use crate::stats::{Errors, mean};
use crate::task::{Measure, Task, TestRows};

/// Where the scores of a report are from.
#[expect(
    clippy::large_enum_variant,
    reason = "nearly every one is the large one"
)]
#[derive(Clone, Debug, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Origin {
    /// A study that was run here.
    Study(StudySpec),
    /// A table of scores that were computed elsewhere.
    Results(ResultsFile),
}

impl Origin {
    /// The schemes that are compared.
    pub fn schemes(&self) -> &[String] {
        match self {
            Self::Study(spec) => &spec.schemes,
            Self::Results(file) => &file.schemes,
        }
    }

    /// The study, if it was one.
    pub fn study(&self) -> Option<&StudySpec> {
        match self {
            Self::Study(spec) => Some(spec),
            Self::Results(_) => None,
        }
    }

    /// The person's own data, if a study was made of them.
    pub fn own_data(&self) -> Option<&DataSpec> {
        self.study()?.data.as_ref()
    }
}

/// One trial as the report sees it.
#[derive(Clone, Copy, Debug)]
pub struct Run<'a> {
    pub task: &'a str,
    pub scheme: &'a str,
    pub seed: u64,
    /// The measures, or the reason why there are none.
    pub outcome: Result<&'a Measures, Loss<'a>>,
}

/// Why a run has no measures.
#[derive(Clone, Copy, Debug)]
pub struct Loss<'a> {
    pub reason: &'a str,
    /// Whether the training itself failed, as when it diverges. Otherwise something around it did, such as
    /// a full disk, and the run is tried again.
    pub failed: bool,
}

/// The planned looks at a study that stops when it is decided.
#[derive(Clone, Debug)]
pub struct Look {
    /// The number of seeds of every look.
    pub planned: Vec<usize>,
    /// The number of seeds of the last complete look. `None` before the first.
    pub reached: Option<usize>,
}

/// The results of a study, laid out for the report.
#[derive(Debug)]
pub struct Data<'a> {
    /// Where the scores are from.
    pub origin: Origin,
    /// What is known of the tasks apart from the scores of schemes.
    pub tasks: Vec<TaskSummary>,
    /// The seeds that are reported: those of the study, or those up to the last complete look.
    pub seeds: Vec<u64>,
    /// The looks, if the study stops when it is decided.
    pub look: Option<Look>,
    /// What was found in the user's data, if the task is made of it.
    pub description: Vec<String>,
    /// What a person is warned of about these data.
    pub warning: Option<String>,
    /// The trials that were run, also those without a score.
    pub runs: Vec<Run<'a>>,
    /// The versions that computed the trials, each once.
    pub versions: Vec<&'a Versions>,
    /// How many results were computed by which code.
    pub codes: BTreeMap<&'a str, usize>,
    /// The processors that the trials ran on, as far as they are known.
    pub processors: BTreeSet<&'a str>,
    /// What the schemes cost, if it was measured.
    pub costs: Option<&'a Costs>,
}

impl<'a> Data<'a> {
    /// The results of a study.
    pub fn of(study: &'a Study, outcomes: &'a Outcomes) -> Self {
        let done = outcomes.results.iter().map(|result| Run {
            task: &result.spec.task,
            scheme: &result.spec.scheme.name,
            seed: result.spec.seed,
            outcome: match &result.outcome {
                Outcome::Finished(measures) => Ok(measures),
                Outcome::Failed(reason) => Err(Loss {
                    reason,
                    failed: true,
                }),
            },
        });
        let missing = outcomes.missing.iter().filter_map(|(trial, reason)| {
            Some(Run {
                task: &trial.task,
                scheme: &trial.scheme.name,
                seed: trial.seed,
                outcome: Err(Loss {
                    reason: reason.as_deref()?,
                    failed: false,
                }),
            })
        });
        let versions = once(outcomes.results.iter().map(|result| &result.versions));
        let runs = done.chain(missing).collect();
        let waiting = outcomes.missing.iter().any(|missing| missing.1.is_none());
        let look = study.looks().map(|looks| Look {
            reached: looks.reached(outcomes.seeds.len()).filter(|_| !waiting),
            planned: looks.seeds().to_vec(),
        });
        Self {
            seeds: outcomes.seeds.clone(),
            look,
            costs: outcomes.costs.as_ref(),
            codes: codes(&outcomes.results),
            ..Self::new(study.spec(), runs, versions, study.tasks())
        }
    }

    /// Scores that were computed elsewhere.
    pub fn of_results(results: &'a Results) -> Self {
        let about = &results.about;
        let runs = results.runs.iter().map(|run| Run {
            task: &run.task,
            scheme: &run.scheme,
            seed: run.seed,
            outcome: Ok(&run.measures),
        });
        let runs: Vec<Run<'_>> = runs.collect();
        Self {
            tasks: about.tasks.iter().map(|task| scored(task, &runs)).collect(),
            description: results.describe(),
            ..Self::of_runs(Origin::Results(about.clone()), &about.seeds, runs)
        }
    }

    /// Runs of which nothing else is known.
    fn of_runs(origin: Origin, seeds: &[u64], runs: Vec<Run<'a>>) -> Self {
        Self {
            origin,
            tasks: Vec::new(),
            seeds: seeds.to_vec(),
            look: None,
            description: Vec::new(),
            warning: None,
            runs,
            versions: Vec::new(),
            codes: BTreeMap::new(),
            processors: BTreeSet::new(),
            costs: None,
        }
    }

    pub fn new(
        spec: &'a StudySpec,
        runs: Vec<Run<'a>>,
        versions: Vec<&'a Versions>,
        tasks: &Tasks,
    ) -> Self {
        let facts = spec.tasks.iter().map(|task| {
            let known = tasks.get(&task.name).ok();
            let scores = scores_on(&task.name, &runs);
            asked(task, known.as_deref(), scores, spec.data.as_ref())
        });
        let facts: Vec<TaskSummary> = facts.collect();
        let measured = runs.iter().filter_map(|run| run.outcome.ok());
        let machines = measured.filter_map(|measures| measures.timing.machine.as_ref());
        let processors = machines.map(|machine| machine.computer());
        Self {
            processors: processors.collect(),
            tasks: facts,
            warning: tasks.data().and_then(|data| data.warning()).map(Into::into),
            description: {
                let found = tasks.data().map(|data| data.describe());
                let mut lines = found.unwrap_or_default().to_vec();
                lines.extend(AtResolution::describe(spec, tasks));
                lines
            },
            versions,
            ..Self::of_runs(Origin::Study(spec.clone()), &spec.seeds, runs)
        }
    }

    /// The runs of one scheme on one task.
    pub fn runs_of<'b>(
        &'b self,
        task: &'b str,
        scheme: &'b str,
    ) -> impl Iterator<Item = &'b Run<'a>> {
        self.runs
            .iter()
            .filter(move |run| run.task == task && run.scheme == scheme)
    }

    /// The errors that the claims of this report may use.
    pub fn errors(&self) -> Errors {
        let none = Errors {
            headline: 0.0,
            pairs: 0.0,
            level: 0.0,
        };
        match &self.look {
            None => Errors::default(),
            Some(Look { reached: None, .. }) => none,
            Some(look) => Errors::default().divided(look.planned.len()),
        }
    }

    /// The share of intervals over seeds and rows that may miss the truth: 5 %, or an equal part of it for
    /// each planned look.
    pub fn error_of_rows(&self) -> f64 {
        0.05 / self.look.as_ref().map_or(1, |look| look.planned.len()) as f64
    }

    /// The measures of all schemes on one task.
    pub fn of_task<'b>(&'b self, task: &'b str) -> impl Iterator<Item = &'a Measures> + 'b {
        let runs = self.runs.iter().filter(move |run| run.task == task);
        runs.filter_map(|run| run.outcome.ok())
    }

    /// The measures of one scheme on one task, each with its seed.
    pub fn measured<'b>(
        &'b self,
        task: &'b str,
        scheme: &'b str,
    ) -> impl Iterator<Item = (u64, &'a Measures)> + 'b {
        self.runs_of(task, scheme)
            .filter_map(|run| Some((run.seed, run.outcome.ok()?)))
    }

    /// [`measured`](Self::measured) of trainings that were run here. It is empty for scores that were computed elsewhere.
    pub fn trained<'b>(
        &'b self,
        task: &'b str,
        scheme: &'b str,
    ) -> impl Iterator<Item = (u64, &'a Measures)> + 'b {
        let is_study = self.origin.study().is_some();
        self.measured(task, scheme).filter(move |_| is_study)
    }
}

/// The title of a person's data: the name of their file. A folder of images is kept in one file of the ending `images`;
/// its title is the name of the folder.
pub fn file_title(data: &DataSpec) -> &str {
    data.file.strip_suffix(".images").unwrap_or(&data.file)
}

/// The file with the test rows of a person's data: that of `--test`, if there is one.
pub fn tested_file(data: &DataSpec) -> &str {
    data.test
        .as_ref()
        .map_or(file_title(data), |test| &test.file)
}

/// What a task is called: a person's own data by the name of the file that is tested, so that results of several files can be
/// put together.
pub fn title(task: &str, own_data: Option<&DataSpec>) -> String {
    let Some(data) = own_data else {
        return task.to_string();
    };
    let file = file_title(data);
    match (data.folds, &data.test) {
        (Some(_), _) => format!("{file}, {task}"),
        (None, Some(test)) => format!("{} (trained on {file})", test.file),
        (None, None) => file.to_string(),
    }
}

/// A length at which a task is tested.
struct Tested {
    length: usize,
    inside: bool,
    floor: f64,
    samples: usize,
}

/// The tested lengths, those inside the training lengths and those beyond: from the results if there are any.
fn tested(scores: &[&LengthScore], task: Option<&dyn Task>) -> [Vec<Tested>; 2] {
    let mut tested: Vec<Tested> = scores
        .iter()
        .map(|score| Tested {
            length: score.length,
            inside: score.inside,
            floor: score.floor,
            samples: score.samples,
        })
        .collect();
    tested.sort_by_key(|of| of.length);
    tested.dedup_by_key(|of| of.length);
    if let (true, Some(task)) = (tested.is_empty(), task) {
        let lengths = task.test_lengths().into_iter();
        tested.extend(lengths.map(|length| Tested {
            length,
            inside: task.is_inside(length),
            floor: task.floor(length),
            samples: 0,
        }));
    }
    let (inside, beyond) = tested.into_iter().partition(|of| of.inside);
    [inside, beyond]
}

/// The scores of all runs on a task.
fn scores_on<'r>(
    task: &'r str,
    runs: &'r [Run<'_>],
) -> impl Iterator<Item = &'r LengthScore> + Clone {
    let runs = runs.iter().filter(move |run| run.task == task);
    runs.filter_map(|run| run.outcome.ok())
        .flat_map(|of| &of.scores)
}

/// Asks a task about itself. Lengths and floors come from the results if there are any: the task may
/// have changed since.
fn asked<'a>(
    steps: &TaskSteps,
    task: Option<&dyn Task>,
    scores: impl Iterator<Item = &'a LengthScore>,
    own_data: Option<&DataSpec>,
) -> TaskSummary {
    let scores: Vec<&LengthScore> = scores.collect();
    let measure = match (task, scores.first()) {
        (Some(task), _) => task.measure(),
        (None, first) => first.map_or(Measure::Accuracy, |of| of.score.measure()),
    };
    let groups = tested(&scores, task);
    let longest = match task {
        Some(task) => *task.train_lengths().end(),
        None => groups[0].last().map_or(0, |tested| tested.length),
    };
    let rows = task.map_or_else(TestRows::default, |task| task.test_rows());
    let text = |part: fn(&dyn Task) -> &str| task.map(part).unwrap_or_default().to_string();
    TaskSummary {
        name: steps.name.clone(),
        title: title(&steps.name, own_data),
        about: text(|task| task.about()),
        source: text(|task| task.source()),
        floor_about: match task {
            Some(task) => task.floor_about().to_string(),
            None => "the score that takes no skill".into(),
        },
        measure,
        unit: task.map_or(1.0, |task| task.unit()),
        steps: steps.steps,
        auto_from: steps.auto_from,
        train_lengths: task.map(|task| task.train_lengths()),
        mixes_lengths: task.is_some_and(|task| task.mixes_lengths()),
        resolutions: task.is_some_and(|task| {
            let mut lengths = task.test_lengths().into_iter();
            lengths.any(|length| task.grid_at(length) != task.grid())
        }),
        samples: [0, 1].map(|part| {
            let tested = groups[part].iter().map(|of| of.samples);
            match rows {
                TestRows::Repeated => tested.max().unwrap_or(0),
                TestRows::Drawn | TestRows::Independent | TestRows::Neighbours => tested.sum(),
            }
        }),
        rows,
        units: match task {
            Some(task) if own_data.is_some() && rows != TestRows::Neighbours => {
                let lengths = task.test_lengths().into_iter();
                lengths.map(|of| (of, task.test_units(of))).collect()
            }
            _ => BTreeMap::new(),
        },
        floors: [0, 1].map(|part| mean(groups[part].iter().map(|of| of.floor))),
        near: longest * 3 / 2,
        lengths: groups.map(|group| group.into_iter().map(|of| of.length).collect()),
        solved_at: task.and_then(|task| task.solved_at()),
        forecast: task.and_then(|task| task.forecast()),
        ..TaskSummary::default()
    }
}

/// What is known of a task of which there are only scores.
fn scored(task: &str, runs: &[Run<'_>]) -> TaskSummary {
    let scores = scores_on(task, runs);
    let lengths = |inside: bool| -> Vec<usize> {
        let of_part = scores.clone().filter(|score| score.inside == inside);
        let lengths: BTreeSet<usize> = of_part.map(|score| score.length).collect();
        lengths.into_iter().collect()
    };
    TaskSummary {
        name: task.into(),
        title: task.into(),
        measure: Measure::Given,
        unit: 1.0,
        near: usize::MAX,
        lengths: [lengths(true), lengths(false)],
        ..TaskSummary::default()
    }
}
