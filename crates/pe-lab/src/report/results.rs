//! Scores of trainings that were run elsewhere, from a table. They are judged as the results of a study are.

#[cfg(test)]
mod tests;

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;

use csv::StringRecord;
use serde::Serialize;

use super::words::{counted, list};
use crate::data::{Cells, digest, shorten};
use crate::error::LabError;
use crate::folder::{Entry, read_bounded};
use crate::grouped::once;
use crate::learn::{LengthScore, TEST_ONLY};
use crate::run::Measures;
use crate::task::Score;

/// The columns that a table has to have.
const NEEDED: [&str; 4] = ["scheme", "task", "seed", "score"];
/// What the `results.csv` of a study calls the score and the part.
const OF_STUDY: [(&str, &str); 2] = [("score", "normalized"), ("part", "inside_training")];
/// The most schemes, tasks and seeds. All pairs of schemes are compared.
const MOST: usize = 200;
/// The lowest score. Below it rounding would count as a difference between runs.
const LOWEST: f64 = -1e6;
/// What the table of a study says of a trial that was not run.
pub(super) const NOT_RUN: &str = "not run yet";
/// The most characters of a name: a task that is tested on a file of its own has the names of two files.
const LONGEST: usize = 600;

/// A table of scores.
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct ResultsFile {
    /// Its name, without its folder.
    pub file: String,
    /// The SHA-256 digest of its bytes.
    pub sha256: String,
    /// The number of its rows, without the names of the columns.
    pub rows: usize,
    /// The schemes, in the order of the table.
    pub schemes: Vec<String>,
    /// The tasks, in the order of the table.
    pub tasks: Vec<String>,
    pub seeds: Vec<u64>,
    pub unread: Vec<String>,
    /// The number of rows that were left out, since their column `failure` is filled.
    pub failed: usize,
    /// The schemes of these rows.
    pub failed_schemes: Vec<String>,
    /// The number of rows of trials of a study that were not run.
    pub not_run: usize,
    /// The number of rows that were left out, since they have a scaling that was on in the test only: they are no
    /// trainings of their own.
    pub test_only: usize,
}

/// The scores of a table.
#[derive(Debug)]
pub struct Results {
    pub(super) about: ResultsFile,
    pub(super) runs: Vec<ScoredRun>,
}

/// The scores of one scheme on one task at one seed.
#[derive(Debug)]
pub(super) struct ScoredRun {
    pub task: String,
    pub scheme: String,
    pub seed: u64,
    pub measures: Measures,
}

/// A row of the table.
struct Line {
    /// Its number in the file, counted from 1.
    number: usize,
    scheme: String,
    task: String,
    seed: u64,
    score: f64,
    /// 0 where no length is given.
    length: usize,
    inside: bool,
}

impl Results {
    /// Reads a table: CSV with the columns `scheme`, `task`, `seed` and `score` in any order, and `length` and `part`
    /// (`inside` or `beyond` the training lengths) if it has them. Semicolons and tabs separate columns too, and with them numbers
    /// may have decimal commas. A higher score is better, and 1 is the highest that a score can be. The `results.csv` of a study
    /// is such a table too: its normalized scores are judged, trials that failed have none, and scalings that were on in the test
    /// only are left out.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] when it cannot be read, [`LabError::Usage`] with the line and what is wrong in it.
    pub fn read(file: &Path) -> Result<Self, LabError> {
        let wrong = |reason: String| LabError::Usage(format!("{}: {reason}", file.display()));
        if file.exists() && !file.is_file() {
            let what = "it is no file; name a table, such as the results.csv of a study";
            return Err(wrong(what.into()));
        }
        let bytes = read_bounded(&Entry::named(file))?;
        let text = str::from_utf8(&bytes).map_err(|error| {
            wrong(format!(
                "it is no text in UTF-8 (byte {}); save the table as CSV",
                error.valid_up_to() + 1
            ))
        })?;
        let text = text.strip_prefix('\u{feff}').unwrap_or(text);
        let Rows {
            lines,
            unread,
            failed,
            not_run,
            test_only,
        } = lines(text).map_err(wrong)?;
        let name = file.file_name().unwrap_or(file.as_os_str());
        let about = ResultsFile {
            file: name.to_string_lossy().into_owned(),
            sha256: digest(&bytes),
            rows: lines.len(),
            schemes: once(lines.iter().map(|line| line.scheme.clone())),
            tasks: once(lines.iter().map(|line| line.task.clone())),
            seeds: {
                let mut seeds = once(lines.iter().map(|line| line.seed));
                seeds.sort_unstable();
                seeds
            },
            unread,
            failed: failed.len(),
            failed_schemes: once(failed),
            not_run,
            test_only,
        };
        for (what, count) in [
            ("schemes", about.schemes.len()),
            ("tasks", about.tasks.len()),
            ("seeds", about.seeds.len()),
        ] {
            if count > MOST {
                return Err(wrong(format!(
                    "it has {count} {what}, and at most {MOST} are judged"
                )));
            }
        }
        check_places(&lines).map_err(wrong)?;
        check_lengths(&lines).map_err(wrong)?;
        Ok(Self {
            runs: runs(lines),
            about,
        })
    }

    /// What was read, in lines for a person.
    pub fn describe(&self) -> Vec<String> {
        let about = &self.about;
        let mut lines = vec![format!(
            "{}: {}, {}, {}, {}",
            about.file,
            counted(about.rows, "score"),
            counted(about.schemes.len(), "scheme"),
            counted(about.tasks.len(), "task"),
            counted(about.seeds.len(), "seed")
        )];
        if !about.unread.is_empty() {
            lines.push(format!("not read: the columns {}", about.unread.join(", ")));
        }
        if about.failed > 0 {
            lines.push(format!(
                "left out: {} of failed trainings (of {}), as the column failure is filled; a study counts them as the lowest score",
                counted(about.failed, "row"),
                list(&about.failed_schemes)
            ));
        }
        if about.not_run > 0 {
            lines.push(format!(
                "left out: {} of trials that were not run yet",
                counted(about.not_run, "row")
            ));
        }
        if about.test_only > 0 {
            lines.push(format!(
                "left out: {} of schemes with a scaling{TEST_ONLY}, which are no trainings of their own",
                counted(about.test_only, "row")
            ));
        }
        lines
    }
}

struct Rows {
    lines: Vec<Line>,
    /// The names of the columns that are not read.
    unread: Vec<String>,
    /// The schemes of the rows whose column `failure` is filled.
    failed: Vec<String>,
    /// The number of rows of trials of a study that were not run.
    not_run: usize,
    /// The number of rows of a scaling that was on in the test only.
    test_only: usize,
}

fn lines(text: &str) -> Result<Rows, String> {
    let table = Cells::of(text)?;
    let names: Vec<String> = table.names.iter().map(|name| name.to_lowercase()).collect();
    let (columns, unread) = Columns::of(&names, !table.has_commas)?;
    let mut rows = Rows {
        lines: Vec::new(),
        unread,
        failed: Vec::new(),
        not_run: 0,
        test_only: 0,
    };
    for (number, record) in &table.rows {
        let scheme = cell(record, columns.needed[0]);
        match columns.failure.map_or("", |at| cell(record, at)) {
            NOT_RUN => rows.not_run += 1,
            "" if scheme.ends_with(TEST_ONLY) => rows.test_only += 1,
            "" => {
                let line = columns.line(*number, record);
                let line = line.map_err(|reason| format!("line {number}: {reason}"));
                rows.lines.push(line?);
            }
            _ => rows.failed.push(scheme.to_string()),
        }
    }
    match (rows.lines.is_empty(), table.rows.len()) {
        (true, 0) => Err("it has no row below the names of its columns".into()),
        (true, all) => Err(format!(
            "all its rows, {all}, are left out, since their column failure is filled or their scheme ends with{TEST_ONLY}"
        )),
        (false, _) => Ok(rows),
    }
}

/// The text in a column, without blanks around it.
fn cell(record: &StringRecord, column: usize) -> &str {
    record.get(column).unwrap_or_default().trim()
}

/// Where the columns are.
struct Columns {
    /// The columns of [`NEEDED`].
    needed: [usize; 4],
    length: Option<usize>,
    part: Option<usize>,
    /// Why a trial of a study failed.
    failure: Option<usize>,
    decimal_commas: bool,
}

impl Columns {
    /// Finds the columns by these names, and returns them with the names that are not read.
    fn of(names: &[String], decimal_commas: bool) -> Result<(Self, Vec<String>), String> {
        let known = NEEDED.into_iter().chain(["length", "part", "failure"]);
        let known = known.chain(OF_STUDY.map(|(_, other)| other));
        for name in known {
            if names.iter().filter(|of| *of == name).count() > 1 {
                return Err(format!("line 1 names the column `{name}` twice"));
            }
        }
        let own = |name: &str| names.iter().position(|of| of == name);
        let of_study = |name: &str| {
            let (_, other) = OF_STUDY.iter().find(|(of, _)| *of == name)?;
            own(other)
        };
        let place = |name: &str| own(name).or_else(|| of_study(name));
        let needed = NEEDED.map(|name| place(name).ok_or(name));
        if let Some(name) = needed.iter().find_map(|of| of.err()) {
            return Err(format!(
                "line 1 names no column `{name}`, but {}; it takes scheme, task, seed and score, and may have length and part",
                shorten(&names.join(", "))
            ));
        }
        let columns = Self {
            needed: needed.map(Result::unwrap_or_default),
            length: place("length"),
            part: place("part"),
            failure: own("failure"),
            decimal_commas,
        };
        let read = |column: &usize| {
            let others = [columns.length, columns.part, columns.failure];
            columns.needed.contains(column) || others.contains(&Some(*column))
        };
        let unread = (0..names.len()).filter(|column| !read(column));
        let unread = unread.map(|column| names[column].clone()).collect();
        Ok((columns, unread))
    }

    /// The row on the line of this number.
    fn line(&self, number: usize, record: &StringRecord) -> Result<Line, String> {
        let cell = |column: usize| cell(record, column);
        let [scheme, task, seed, score] = self.needed.map(cell);
        Ok(Line {
            number,
            scheme: name("scheme", scheme)?,
            task: name("task", task)?,
            seed: (seed.parse().ok())
                .ok_or_else(|| wrong("seed", seed, "a whole number, 0 or more"))?,
            score: a_score(score, self.decimal_commas)?,
            length: match self.length.map(cell) {
                None | Some("") => 0,
                Some(text) => (text.parse().ok().filter(|length| *length > 0))
                    .ok_or_else(|| wrong("length", text, "a whole number, 1 or more"))?,
            },
            inside: match self.part.map(|part| cell(part).to_lowercase()).as_deref() {
                None | Some("inside" | "true") => true,
                Some("beyond" | "false") => false,
                Some(text) => {
                    let parts = "inside or beyond (the lengths of the training), or true or false";
                    return Err(wrong("part", text, parts));
                }
            },
        })
    }
}

/// What is wrong with the cell of a column.
fn wrong(what: &str, text: &str, takes: &str) -> String {
    format!("the {what} is {}; it takes {takes}", shorten(text))
}

fn name(what: &str, text: &str) -> Result<String, String> {
    match text.chars().count() {
        0 => Err(format!("the {what} is empty")),
        n if n > LONGEST => Err(format!(
            "the name of the {what} has {n} characters; it takes up to {LONGEST}"
        )),
        _ => Ok(text.to_string()),
    }
}

fn a_score(text: &str, decimal_commas: bool) -> Result<f64, String> {
    if text.is_empty() {
        return Err(
            "the score is empty; a training that failed has the score that takes no skill, or no row at all".into(),
        );
    }
    let number = match decimal_commas {
        true => text.replace(',', "."),
        false => text.to_string(),
    };
    match number.parse::<f64>() {
        Ok(score) if score.is_finite() && score < LOWEST => Err(format!(
            "the score is {}, below {LOWEST}, the lowest that is judged; a score takes 0 for no skill and 1 for a perfect result",
            shorten(text)
        )),
        Ok(score) if score <= 1.0 && score.is_finite() => Ok(score),
        Ok(score) if score.is_finite() => Err(format!(
            "the score is {}, above 1, which is the highest; divide percentages by 100, and of a loss take 1 - loss / floor, \
             where the floor is the loss that takes no skill",
            shorten(text)
        )),
        _ => Err(wrong("score", text, "a number")),
    }
}

/// Checks that no score is there twice, that all scores of a task have a length or none has, and that each length lies in
/// one part.
fn check_places(lines: &[Line]) -> Result<(), String> {
    let mut scores = BTreeMap::new();
    let mut tasks: BTreeMap<&str, &Line> = BTreeMap::new();
    let mut lengths: BTreeMap<(&str, usize), &Line> = BTreeMap::new();
    for line in lines {
        let own = (
            &line.scheme,
            &line.task,
            line.seed,
            line.length,
            line.inside,
        );
        if let Some(before) = scores.insert(own, line.number) {
            return Err(format!(
                "line {}: {} on {} at seed {} has a score on line {before} already",
                line.number, line.scheme, line.task, line.seed
            ));
        }
        let first = tasks.entry(&line.task).or_insert(line);
        if (first.length == 0) != (line.length == 0) {
            return Err(format!(
                "line {}: some scores on {} have a length and others, as that on line {}, have none",
                line.number, line.task, first.number
            ));
        }
        let first = lengths.entry((&line.task, line.length)).or_insert(line);
        if line.length > 0 && first.inside != line.inside {
            return Err(format!(
                "line {}: length {} of {} is inside the training lengths on one line and beyond them on another, line {}",
                line.number, line.length, line.task, first.number
            ));
        }
    }
    Ok(())
}

/// Checks that the runs of a task have scores at the same lengths inside, and at the same beyond: means over other lengths
/// cannot be compared.
fn check_lengths(lines: &[Line]) -> Result<(), String> {
    let mut lengths: BTreeMap<(&str, bool), BTreeSet<usize>> = BTreeMap::new();
    let mut runs: BTreeMap<(&str, bool, &str, u64), BTreeSet<usize>> = BTreeMap::new();
    for line in lines {
        let (task, inside) = (&line.task[..], line.inside);
        let run = (task, inside, &line.scheme[..], line.seed);
        lengths
            .entry((task, inside))
            .or_default()
            .insert(line.length);
        runs.entry(run).or_default().insert(line.length);
    }
    for ((task, inside, scheme, seed), own) in runs {
        if let Some(length) = lengths[&(task, inside)].difference(&own).next() {
            return Err(format!(
                "{scheme} on {task} at seed {seed} has no score at length {length}, where other runs have one; \
                 every run takes scores at the same lengths, since their mean is compared"
            ));
        }
    }
    Ok(())
}

/// The scores of each scheme on each task at each seed.
fn runs(lines: Vec<Line>) -> Vec<ScoredRun> {
    let mut all: Vec<ScoredRun> = Vec::new();
    let mut places = BTreeMap::new();
    for line in lines {
        let own = (line.scheme.clone(), line.task.clone(), line.seed);
        let at = *places.entry(own).or_insert(all.len());
        if at == all.len() {
            all.push(ScoredRun {
                task: line.task,
                scheme: line.scheme,
                seed: line.seed,
                measures: Measures::default(),
            });
        }
        all[at].measures.scores.push(LengthScore {
            length: line.length,
            inside: line.inside,
            samples: 1,
            score: Score::Given(line.score),
            exact: None,
            floor: 0.0,
            by_position: Vec::new(),
            by_depth: Vec::new(),
            rows: None,
        });
    }
    for run in &mut all {
        run.measures
            .scores
            .sort_by_key(|score| (score.length, !score.inside));
    }
    all
}
