//! Several studies beside each other: their verdicts, what differs between what they ran, and the scores of every test that
//! they have in common. Nothing else is compared, and no test compares two studies.

mod files;
#[cfg(test)]
mod tests;

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use serde::Serialize;

use super::Report;
use super::comparison::Part;
use super::paper::{DASH, Grid, Row};
use super::summary::{Summary, TaskSummary};
use super::words::{fixed, list, range};
use crate::ask::{StudySpec, differing, fields_of};
use crate::grouped::once;
use crate::stats::Interval;

/// Several studies beside each other.
#[derive(Clone, Debug, Serialize)]
pub struct Beside {
    /// The studies, in the order in which they were named.
    studies: Vec<Member>,
    differences: Vec<Difference>,
    /// The scores of what they have in common.
    tables: Vec<Table>,
    /// What is not compared, and why.
    not_compared: Vec<String>,
}

/// One of the studies.
#[derive(Clone, Debug, Serialize)]
pub struct Member {
    /// What it is called here: the name of its folder.
    pub name: String,
    pub verdict: Vec<String>,
    /// The number of its trials with scores, and of all its trials.
    pub finished: [usize; 2],
}

/// A field in which specs differ.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The field, as in `study.json`.
    pub field: String,
    /// Its value in each study, in words.
    pub values: Vec<String>,
}

/// The scores of one test, or of all tests together, in one part.
#[derive(Clone, Debug, Serialize)]
pub struct Table {
    /// What was tested.
    pub title: String,
    pub part: Part,
    /// The part, in words.
    #[serde(skip)]
    pub place: &'static str,
    /// The schemes, those of the first study first.
    pub rows: Vec<SchemeRow>,
}

/// A scheme in several studies.
#[derive(Clone, Debug, Serialize)]
pub struct SchemeRow {
    pub scheme: String,
    /// Its score in each study, where it has any.
    pub scores: Vec<Option<ScoreOf>>,
}

/// A normalized score.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct ScoreOf {
    /// The mean over seeds.
    pub mean: f64,
    /// Its 95 % interval over seeds.
    pub interval: Option<Interval>,
    pub seeds: usize,
}

impl Beside {
    /// Two or more studies, each with the path of its folder.
    pub fn of(studies: &[(PathBuf, &Report<'_>)]) -> Self {
        let paths: Vec<&Path> = studies.iter().map(|of| of.0.as_path()).collect();
        let summaries: Vec<&Summary> = studies.iter().map(|of| &of.1.summary).collect();
        Self::of_summaries(&paths, &summaries)
    }

    fn of_summaries(paths: &[&Path], summaries: &[&Summary]) -> Self {
        let mut beside = Self {
            differences: differences(summaries),
            studies: names(paths)
                .into_iter()
                .zip(summaries)
                .map(|(name, of)| Member {
                    name,
                    verdict: of.verdict.clone(),
                    finished: [of.finished, of.trials],
                })
                .collect(),
            tables: Vec::new(),
            not_compared: Vec::new(),
        };
        for part in Part::ALL {
            beside.add_part(summaries, part);
        }
        beside
    }

    /// The tables of one part.
    fn add_part(&mut self, summaries: &[&Summary], part: Part) {
        let tasks = summaries.iter().flat_map(|of| &of.tasks);
        let tested = tasks.filter(|task| task.has(part));
        let titles: Vec<String> = once(tested.map(|task| task.title.clone()));
        let place = part.in_words(summaries.iter().all(|of| of.resolutions()));
        let (mut shared, mut alone) = (Vec::new(), Vec::new());
        for title in &titles {
            match common(summaries, title, part) {
                Ok(tasks) => {
                    self.tables.push(of_task(&tasks, title, (part, place)));
                    shared.push(title.clone());
                }
                Err(None) => alone.push(title.clone()),
                Err(Some(why)) => {
                    self.not_compared.push(format!("{title} {place}: {why}."));
                }
            }
        }
        if !alone.is_empty() {
            self.not_compared.push(format!(
                "{} {place}: not in all of these studies.",
                list(&alone)
            ));
        }
        let all_shared = shared.len() == titles.len();
        if titles.len() > 1 && all_shared {
            self.tables.push(overall(summaries, (part, place)));
        } else if titles.len() > 1 {
            self.not_compared.push(format!(
                "The means over all tasks {place}: they are means over different tests."
            ));
        }
    }

    /// The tables, a column for each study.
    fn grids(&self) -> Vec<Grid> {
        let header = |first: &str| {
            let names = self.studies.iter().map(|of| of.name.clone());
            [first.to_string()].into_iter().chain(names).collect()
        };
        let differences = self.differences.iter();
        let specs = (!self.differences.is_empty()).then(|| Grid {
            name: "specs".into(),
            caption: "What differs between the studies.".into(),
            header: header("Field"),
            rows: differences
                .map(|of| row(&of.field, of.values.iter().cloned()))
                .collect(),
        });
        let scores = self.tables.iter().enumerate().map(|(nth, table)| Grid {
            name: format!("beside-{}", nth + 1),
            caption: format!(
                "{} {}: the normalized score of every scheme in every study, the mean over seeds and its 95 % interval.",
                table.title, table.place
            ),
            header: header("Scheme"),
            rows: table.rows.iter().map(row_of_scores).collect(),
        });
        specs.into_iter().chain(scores).collect()
    }

    /// The sentences that stand between the verdicts and the tables.
    fn remarks(&self) -> Vec<String> {
        let mut lines = Vec::new();
        if self.differences.is_empty() {
            lines.push("The studies ran the same.".to_string());
        }
        lines.extend(
            self.not_compared
                .iter()
                .map(|of| format!("Not compared: {of}")),
        );
        if !self.tables.is_empty() {
            lines.push(
                "No test compares two studies: each is judged by itself, and what differs between them, as listed, may be why \
                 scores differ."
                    .into(),
            );
        }
        lines
    }
}

/// The names of the last folders of their paths, or the paths where these are the same.
fn names(paths: &[&Path]) -> Vec<String> {
    let last = |path: &&Path| {
        let name = path.file_name().unwrap_or(path.as_os_str());
        name.to_string_lossy().into_owned()
    };
    let short: Vec<String> = paths.iter().map(last).collect();
    let is_alone = |name: &String| short.iter().filter(|other| *other == name).count() == 1;
    match short.iter().all(is_alone) {
        true => short,
        false => paths
            .iter()
            .map(|path| path.display().to_string())
            .collect(),
    }
}

/// The task of this title in every study, if the same was tested in all of them. Otherwise the reason, which is `None` if
/// one of the studies has no such task.
fn common<'a>(
    summaries: &[&'a Summary],
    title: &str,
    part: Part,
) -> Result<Vec<&'a TaskSummary>, Option<String>> {
    let of_title = |of: &&'a Summary| {
        let mut tasks = of.tasks.iter();
        tasks.find(|task| task.title == title && task.has(part))
    };
    let tasks: Option<Vec<&TaskSummary>> = summaries.iter().map(of_title).collect();
    let tasks = tasks.ok_or(None)?;
    let at = part as usize;
    let first = tasks[0];
    let differs = |what: &str, same: &dyn Fn(&TaskSummary) -> bool| {
        let is_same = tasks.iter().all(|task| same(task));
        (!is_same).then(|| format!("{what} differ"))
    };
    let specs: Vec<Option<&StudySpec>> = summaries.iter().map(|of| of.study()).collect();
    let is_same_data = |of: &Option<&StudySpec>| {
        let data = |of: &Option<&StudySpec>| of.and_then(|of| of.data.clone());
        data(of) == data(&specs[0])
    };
    let generation = |of: &Option<&StudySpec>| of.map(|of| of.versions.numbers);
    let why = [
        (!specs.iter().all(is_same_data))
            .then(|| "the data, or how they are read, differ".to_string()),
        differs("the measures", &|of| of.measure == first.measure),
        differs("the tested lengths", &|of| {
            of.lengths[at] == first.lengths[at]
        }),
        differs("the numbers of tested sequences", &|of| {
            of.samples[at] == first.samples[at] || of.samples[at] * first.samples[at] == 0
        }),
        differs("the floors", &|of| of.floors[at] == first.floors[at]),
        (!specs
            .iter()
            .all(|of| generation(of) == generation(&specs[0])))
        .then(|| {
            "they were made by versions of pe-lab that give other numbers for the same spec"
                .to_string()
        }),
    ];
    match why.into_iter().flatten().next() {
        Some(why) => Err(Some(why)),
        None => Ok(tasks),
    }
}

/// A row for every scheme, those of the first study first, with its score in each study.
fn table<'a, T>(
    title: &str,
    (part, place): (Part, &'static str),
    studies: &[&'a T],
    schemes: impl Fn(&'a T) -> Vec<&'a String>,
    score: impl Fn(&T, &str) -> Option<ScoreOf>,
) -> Table {
    let names = once(studies.iter().flat_map(|of| schemes(of)));
    let rows = names.into_iter().cloned().map(|scheme| SchemeRow {
        scores: studies.iter().map(|of| score(of, &scheme)).collect(),
        scheme,
    });
    Table {
        title: title.into(),
        part,
        place,
        rows: rows.collect(),
    }
}

fn of_task<'a>(tasks: &[&'a TaskSummary], title: &str, at: (Part, &'static str)) -> Table {
    let schemes_of = |task: &'a TaskSummary| task.schemes.iter().map(|of| &of.scheme).collect();
    table(title, at, tasks, schemes_of, |task, scheme| {
        let group = task.scheme(scheme)?.part(at.0)?;
        Some(ScoreOf {
            mean: group.normalized,
            interval: group.interval,
            seeds: group.seeds.len(),
        })
    })
}

fn overall<'a>(summaries: &[&'a Summary], at: (Part, &'static str)) -> Table {
    let schemes_of = |of: &'a Summary| of.schemes.iter().map(|of| &of.scheme).collect();
    table(
        "The mean over all tasks",
        at,
        summaries,
        schemes_of,
        |of, scheme| {
            let score = of.scheme(scheme)?.part(at.0)?;
            Some(ScoreOf {
                mean: score.mean,
                interval: score.interval,
                seeds: score.seeds.len(),
            })
        },
    )
}

fn row(name: &str, cells: impl Iterator<Item = String>) -> Row {
    Row {
        cells: [name.to_string()].into_iter().chain(cells).collect(),
        bold: false,
    }
}

fn row_of_scores(of: &SchemeRow) -> Row {
    let cell = |score: &Option<ScoreOf>| match score {
        None => DASH.to_string(),
        Some(of) => {
            let interval = of.interval.map(|of| format!(" ({})", range(of)));
            fixed(of.mean, 2) + &interval.unwrap_or_default()
        }
    };
    row(&of.scheme, of.scores.iter().map(cell))
}

/// The fields in which specs differ. What a study chose and how it grew is left out: its verdict says it.
fn differences(summaries: &[&Summary]) -> Vec<Difference> {
    let fields = summaries
        .iter()
        .map(|of| of.study().map(fields_of).unwrap_or_default());
    let fields: Vec<BTreeMap<String, String>> = fields.collect();
    let words = |value: Option<&String>| value.cloned().unwrap_or_else(|| DASH.into());
    let difference = |(field, values): (&String, Vec<Option<&String>>)| Difference {
        field: field.clone(),
        values: values.into_iter().map(words).collect(),
    };
    differing(&fields).into_iter().map(difference).collect()
}
