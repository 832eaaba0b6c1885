//! A study while it runs: what is planned, what is done, what failed and why. Its files are read and nothing
//! else; a file that has not changed is not read again.

use std::collections::HashMap;
use std::path::PathBuf;
use std::sync::{Mutex, PoisonError};

use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::inside::{self, Opened, Stamp};
use crate::ask::{CHOOSING, StudySpec};
use crate::draw::Look;
use crate::folder::{StudyFolder, TrialFolder};
use crate::grouped::grouped;
use crate::learn::{CurvePoint, LengthScore};
use crate::run::{Measures, Outcome, TrialResult};

/// The most points of the curve of a trial that runs. It writes about ten.
const MAX_POINTS: usize = 1_000;
/// The most trials of a study that is shown. More would keep the machine busy for whoever asks.
const MAX_TRIALS: usize = 20_000;
/// The most trials whose curves are sent.
const MAX_CURVES: usize = 3_000;

/// The folder of a study that is watched.
#[derive(Debug)]
pub struct Watched {
    folder: StudyFolder,
    results: Mutex<HashMap<String, (Stamp, Seen)>>,
    said: Mutex<Option<(Stamp, Said)>>,
}

/// What a `result.json` said.
#[derive(Clone, Debug, Default, Serialize)]
struct Seen {
    state: State,
    reason: Option<String>,
    /// The steps that the trial was to take; `None` for a trial without a result.
    #[serde(skip)]
    steps: Option<String>,
    /// The mean normalized score at the training lengths, and beyond them.
    inside: Option<f64>,
    beyond: Option<f64>,
    /// How long it took.
    #[serde(skip)]
    seconds: Option<f64>,
    /// The loss on held-out sequences: steps and losses.
    held_out: Vec<(usize, f64)>,
}

/// What is known of a trial.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
enum State {
    /// It has scores.
    Done,
    /// It has no scores, for a reason.
    Failed,
    /// Its folder is there, and no result.
    Begun,
    /// Nothing is there.
    #[default]
    Waiting,
}

/// A trial as the page shows it.
#[derive(Debug, Serialize)]
struct Row<'a> {
    task: &'a str,
    scheme: &'a str,
    seed: u64,
    #[serde(flatten)]
    seen: Seen,
}

/// What is read of `summary.json`.
#[derive(Clone, Debug, Default, Deserialize)]
struct Said {
    verdict: Vec<String>,
    #[serde(default)]
    seeds: Vec<u64>,
    #[serde(default)]
    headlines: Vec<Best>,
}

/// What is read of a headline.
#[derive(Clone, Debug, Deserialize)]
struct Best {
    decided: bool,
    order: Vec<String>,
}

impl Said {
    /// The seeds that a study runs: one that stops when it is decided has no others then.
    fn seeds<'a>(&'a self, spec: &'a StudySpec) -> &'a [u64] {
        let is_decided = |of: &Best| of.decided && of.order.len() == spec.schemes.len();
        let decided = !self.headlines.is_empty() && self.headlines.iter().all(is_decided);
        match spec.until.is_some() && decided {
            true => &self.seeds,
            false => &spec.seeds,
        }
    }
}

/// A study as the page shows it.
#[derive(Debug, Serialize)]
struct Now<'a> {
    state: &'static str,
    folder: String,
    message: String,
    tasks: Vec<&'a str>,
    schemes: &'a [String],
    /// How each scheme looks, as in the report: its colour, and the lengths of dash and gap of its line.
    looks: Vec<Value>,
    /// The verdict of the report that was written last.
    verdict: Vec<String>,
    seeds: Vec<u64>,
    planned: usize,
    done: usize,
    failed: usize,
    begun: usize,
    /// The trainings so far that choose learning rates; they come before the trials.
    choosing: usize,
    /// The time that the trials left will take, from those of the same task that are done.
    seconds_left: Option<f64>,
    report: bool,
    curves: bool,
    trials: Vec<Row<'a>>,
}

impl Watched {
    /// The study in a folder, which need not be there yet.
    pub fn new(folder: PathBuf) -> Self {
        Self {
            folder: StudyFolder::at(folder),
            results: Mutex::default(),
            said: Mutex::default(),
        }
    }

    /// The study as it is now, as JSON; `None` when nobody waits for it any longer, which `is_wanted` tells.
    pub fn now(&self, is_wanted: &dyn Fn() -> bool) -> Option<Vec<u8>> {
        let folder = self.folder.path().display();
        let said = |state: &str, message: String| {
            let folder = folder.to_string();
            let said = json!({"state": state, "message": message, "folder": folder});
            Some(said.to_string().into_bytes())
        };
        if !self.folder.path().is_dir() {
            let message = format!(
                "There is no folder {folder}. It was moved or deleted, or is not there yet; this page goes on when \
                 it is there."
            );
            return said("missing", message);
        }
        let spec: StudySpec = match inside::json(&self.folder.spec()) {
            Ok(Some(spec)) => spec,
            Ok(None) => {
                let spec = StudyFolder::SPEC;
                return said(
                    "no_study",
                    format!("{folder} holds no study: there is no {spec} in it."),
                );
            }
            Err(reason) => return said("damaged", reason),
        };
        let trials = spec.tasks.len().saturating_mul(spec.schemes.len());
        let trials = trials.saturating_mul(spec.seeds.len());
        if trials > MAX_TRIALS {
            return said(
                "damaged",
                format!(
                    "{} asks for {} trials, and a page shows at most {}.",
                    self.folder.spec().display(),
                    grouped(trials, ','),
                    grouped(MAX_TRIALS, ',')
                ),
            );
        }
        match serde_json::to_vec(&self.read(&spec, is_wanted)?) {
            Ok(json) => Some(json),
            Err(error) => said("damaged", error.to_string()),
        }
    }

    fn read<'a>(&self, spec: &'a StudySpec, is_wanted: &dyn Fn() -> bool) -> Option<Now<'a>> {
        let said = self.said();
        let mut seeds = said.seeds(spec).to_vec();
        seeds.retain(|seed| spec.seeds.contains(seed));
        seeds.truncate(spec.seeds.len());
        let mut trials = Vec::new();
        let mut seconds = Some(0.0);
        for task in &spec.tasks {
            let before = trials.len();
            for seed in &seeds {
                for scheme in &spec.schemes {
                    if !is_wanted() {
                        return None;
                    }
                    let id = format!("{}-{scheme}-{seed}", task.name);
                    trials.push(Row {
                        task: &task.name,
                        scheme,
                        seed: *seed,
                        seen: self.trial(&id, &task.steps_id()),
                    });
                }
            }
            seconds = seconds
                .zip(seconds_left(&trials[before..]))
                .map(|(a, b)| a + b);
        }
        let look = |scheme: &String| {
            let look = Look::of(scheme, &spec.schemes);
            json!({"colour": look.colour(), "dash": look.dash()})
        };
        let curves = trials.len() <= MAX_CURVES;
        if !curves {
            trials.iter_mut().for_each(|of| of.seen.held_out.clear());
        }
        let count = |state: State| trials.iter().filter(|of| of.seen.state == state).count();
        let begun = count(State::Begun);
        Some(Now {
            state: "study",
            folder: self.folder.path().display().to_string(),
            message: String::new(),
            tasks: spec.tasks.iter().map(|task| task.name.as_str()).collect(),
            schemes: &spec.schemes,
            looks: spec.schemes.iter().map(look).collect(),
            verdict: said.verdict,
            seeds,
            planned: trials.len(),
            done: count(State::Done),
            failed: count(State::Failed),
            begun,
            choosing: self.choosing(spec),
            // Trials that run at the same time share the time.
            seconds_left: seconds.map(|seconds| seconds / begun.max(1) as f64),
            report: matches!(inside::open(&self.folder.page()), Ok(Some(_))),
            curves,
            trials,
        })
    }

    /// The number of trainings that choose learning rates and have begun, or ended.
    fn choosing(&self, spec: &StudySpec) -> usize {
        let all = match spec.tune.is_some() {
            true => self.folder.trials().names().unwrap_or_default(),
            false => Vec::new(),
        };
        let names = all.iter().filter_map(|name| name.to_str());
        names.filter(|name| name.contains(CHOOSING)).count()
    }

    /// What the report says. There is nothing before the first report, and nothing in a file that cannot be read.
    fn said(&self) -> Said {
        let Ok(Some(file)) = inside::open(&self.folder.summary()) else {
            return Said::default();
        };
        let stamp = file.stamp;
        let mut known = self.said.lock().unwrap_or_else(PoisonError::into_inner);
        match &*known {
            Some((read, said)) if *read == stamp => said.clone(),
            _ => {
                let said = file.json::<Said>().unwrap_or_default();
                *known = Some((stamp, said.clone()));
                said
            }
        }
    }

    /// What the files of a trial say.
    fn trial(&self, id: &str, steps: &str) -> Seen {
        let folder = self.folder.trial(id);
        let file = match inside::open(&folder.result()) {
            Ok(Some(file)) => file,
            Ok(None) => return unfinished(&folder),
            Err(reason) => return Seen::failed(reason),
        };
        let stamp = file.stamp;
        let mut results = self.results.lock().unwrap_or_else(PoisonError::into_inner);
        if let Some((_, read)) = results.get(id).filter(|(known, _)| *known == stamp) {
            return of_these_steps(read.clone(), steps);
        }
        let read = match file.json::<TrialResult>() {
            Ok(result) => of(&result, id),
            Err(reason) => Seen::failed(reason),
        };
        results.insert(id.to_string(), (stamp, read.clone()));
        of_these_steps(read, steps)
    }

    /// The page of the report.
    pub fn report(&self) -> Result<Vec<u8>, String> {
        let (file, folder) = (self.folder.page(), self.folder.path());
        let page = inside::open(&file)?.map(Opened::bytes).transpose()?;
        page.ok_or_else(|| {
            format!(
                "there is no report yet: {} is written when the study ends, and by `pe-lab report {}`",
                file.display(),
                folder.display()
            )
        })
    }
}

/// The seconds that the unfinished trials of a task will take, judged by its finished ones; `None` if none is finished.
fn seconds_left(trials: &[Row<'_>]) -> Option<f64> {
    let in_states = |states: &'static [State]| {
        let trials = trials.iter().map(|of| &of.seen);
        trials.filter(|seen| states.contains(&seen.state))
    };
    let left = in_states(&[State::Begun, State::Waiting]).count();
    let times = in_states(&[State::Done]).filter_map(|seen| seen.seconds);
    let times: Vec<f64> = times.collect();
    match (left, times.len()) {
        (0, _) => Some(0.0),
        (_, 0) => None,
        (left, done) => Some(left as f64 * times.iter().sum::<f64>() / done as f64),
    }
}

impl Seen {
    /// A trial without scores, and why it has none.
    fn failed(reason: String) -> Self {
        Self {
            state: State::Failed,
            reason: Some(reason),
            ..Self::default()
        }
    }
}

/// What is known of a trial without a result.
fn unfinished(folder: &TrialFolder) -> Seen {
    match inside::json::<String>(&folder.failure()) {
        Ok(Some(reason)) | Err(reason) => Seen::failed(reason),
        Ok(None) if matches!(inside::open(&folder.spec()), Ok(Some(_))) => {
            // A curve that cannot be read is soon written again, or removed.
            let curve: Vec<CurvePoint> = match inside::json(&folder.curve()) {
                Ok(Some(curve)) => curve,
                _ => Vec::new(),
            };
            let points = curve.into_iter().take(MAX_POINTS);
            Seen {
                state: State::Begun,
                held_out: points.map(|point| (point.step, point.loss)).collect(),
                ..Seen::default()
            }
        }
        Ok(None) => Seen::default(),
    }
}

/// What a result says, if it belongs to the trial in whose folder it lies.
fn of(result: &TrialResult, id: &str) -> Seen {
    if result.spec.id() != id {
        return Seen::failed("result.json holds the result of another trial".into());
    }
    let read = match &result.outcome {
        Outcome::Failed(reason) => Seen::failed(reason.clone()),
        Outcome::Finished(measures) => of_measures(measures),
    };
    Seen {
        steps: Some(result.spec.steps_id()),
        ..read
    }
}

/// A trial whose result has another number of steps counts as waiting: it will be run again.
fn of_these_steps(read: Seen, steps: &str) -> Seen {
    match read.steps.as_deref().is_none_or(|own| own == steps) {
        true => read,
        false => Seen::default(),
    }
}

fn of_measures(measures: &Measures) -> Seen {
    let points = measures
        .held_out
        .iter()
        .map(|point| (point.step, point.loss));
    Seen {
        state: State::Done,
        inside: measures.mean_of(|of| of.inside, LengthScore::normalized),
        beyond: measures.mean_of(|of| !of.inside, LengthScore::normalized),
        seconds: Some(measures.timing.seconds),
        held_out: points.collect(),
        ..Seen::default()
    }
}
