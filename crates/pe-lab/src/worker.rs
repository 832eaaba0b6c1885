//! Trials as processes of their own.
//!
//! Burn's random generator belongs to the process, and so does a crash: a trial that has a process
//! to itself can neither disturb the others nor take them down. The parent writes `spec.json` into
//! the trial's folder and starts this program again with the hidden subcommand `trial`; the worker
//! prints the number of steps done, a line each, and writes `result.json`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use indicatif::{MultiProgress, ProgressBar, ProgressStyle};

use crate::error::LabError;
use crate::files::{read_json, write_json};
use crate::task::Task;
use crate::tasks::Tasks;
use crate::train::Watch;
use crate::trial::{self, Outcome, TrialResult, TrialSpec};

/// Where the reason stands why a trial left no result.
const FAILURE: &str = "failure.json";

/// Why the last try of a trial left no result, if it was tried.
///
/// # Errors
///
/// When the file is there and cannot be read.
pub fn failure(study: &Path, trial: &TrialSpec) -> Result<Option<String>, LabError> {
    let file = trial.folder(study).join(FAILURE);
    match file.exists() {
        true => read_json(&file).map(Some),
        false => Ok(None),
    }
}

/// Steps between two lines of a worker.
const REPORT_EVERY: usize = 10;

/// Stops the workers of a study, from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    asked: bool,
    children: BTreeMap<u32, Child>,
}

impl Stop {
    /// Ends the trials that are running; no other is started.
    pub fn now(&self) {
        let mut running = lock(&self.0);
        running.asked = true;
        for child in running.children.values_mut() {
            // One that has ended by itself meanwhile is as good as killed.
            let _ = child.kill();
        }
    }

    /// Whether a stop was asked for.
    pub fn asked(&self) -> bool {
        lock(&self.0).asked
    }

    fn started(&self, mut child: Child) -> u32 {
        let mut running = lock(&self.0);
        if running.asked {
            let _ = child.kill();
        }
        let id = child.id();
        running.children.insert(id, child);
        id
    }

    fn ended(&self, id: u32) -> Option<Child> {
        lock(&self.0).children.remove(&id)
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// Where progress goes: bars on a terminal, a line per finished trial elsewhere.
pub struct Progress(Option<Bars>);

struct Bars {
    all: MultiProgress,
    study: ProgressBar,
}

impl Progress {
    /// Bars when standard error is a terminal, lines when it is not.
    pub fn to_stderr() -> Self {
        Self(std::io::stderr().is_terminal().then(|| Bars {
            all: MultiProgress::new(),
            study: ProgressBar::new(0),
        }))
    }

    fn start(&self, work: u64) {
        if let Some(bars) = &self.0 {
            // First of all into its place: on its own it would draw itself.
            bars.all.add(bars.study.clone());
            bars.study
                .set_style(style("study {wide_bar} {percent}%  {eta} left"));
            bars.study.set_length(work);
        }
    }

    /// The line of a trial that starts, above the study's.
    fn trial(&self, trial: &TrialSpec) -> Option<ProgressBar> {
        let bars = self.0.as_ref()?;
        let bar = bars
            .all
            .insert_before(&bars.study, ProgressBar::new(trial.steps as u64));
        bar.set_style(style("{prefix:<28} {bar:30} {pos} of {len} steps"));
        bar.set_prefix(trial.id());
        Some(bar)
    }

    fn advance(&self, work: u64) {
        if let Some(bars) = &self.0 {
            bars.study.inc(work);
        }
    }

    fn finished(&self, line: &str) {
        match &self.0 {
            // Drawing is a courtesy: a terminal that is gone stops no study.
            Some(bars) => drop(bars.all.println(line)),
            None => eprintln!("{line}"),
        }
    }

    fn end(&self) {
        if let Some(bars) = &self.0 {
            bars.study.finish_and_clear();
        }
    }
}

fn style(template: &str) -> ProgressStyle {
    ProgressStyle::with_template(template).unwrap_or_else(|_| ProgressStyle::default_bar())
}

/// What a trial takes, roughly: steps times the tokens of a typical sequence.
fn cost(trial: &TrialSpec, tasks: &Tasks) -> u64 {
    let tokens = tasks.get(&trial.task).map_or(1, |task| {
        let lengths = task.train_lengths();
        (lengths.start() + lengths.end()) / 2 + task.framing()
    });
    (trial.steps * tokens) as u64
}

/// Who runs the trials.
pub struct Crew<'a> {
    /// The program that is started for every trial.
    pub program: &'a Path,
    /// How many run at a time.
    pub jobs: usize,
    /// Where progress goes.
    pub progress: &'a Progress,
    /// Stops them.
    pub stop: &'a Stop,
}

impl Crew<'_> {
    /// Runs trials and gives back those that got no result, with the reason.
    ///
    /// # Errors
    ///
    /// When a trial's folder cannot be written.
    pub fn run_all(
        &self,
        trials: &[TrialSpec],
        tasks: &Tasks,
        folder: &Path,
    ) -> Result<Vec<(TrialSpec, String)>, LabError> {
        // The longest first, so that no long trial is left to run alone at the end.
        let mut longest_first: Vec<&TrialSpec> = trials.iter().collect();
        longest_first.sort_by_key(|trial| Reverse(cost(trial, tasks)));
        let queue = Mutex::new(longest_first.into_iter());
        let missing = Mutex::new(Vec::new());
        let done = Mutex::new(0);
        self.progress
            .start(trials.iter().map(|trial| cost(trial, tasks)).sum());
        let work = || {
            loop {
                let next = lock(&queue).next();
                let Some(trial) = next.filter(|_| !self.stop.asked()) else {
                    return Ok(());
                };
                let started = Instant::now();
                // What one cannot write the others could not either.
                let ended = self
                    .run_one(trial, cost(trial, tasks), folder)
                    .inspect_err(|_| self.stop.now())?;
                if self.stop.asked() {
                    return Ok(());
                }
                let mut done = lock(&done);
                *done += 1;
                let what = match &ended {
                    Ok(result) => describe(result),
                    Err(reason) => format!("no result: {reason}"),
                };
                self.progress.finished(&format!(
                    "{:>3}/{}  {:<28} {:>5.0} s  {what}",
                    *done,
                    trials.len(),
                    trial.id(),
                    started.elapsed().as_secs_f64()
                ));
                if let Err(reason) = ended {
                    lock(&missing).push((trial.clone(), reason));
                }
            }
        };
        let outcome: Result<(), LabError> = thread::scope(|scope| {
            let workers: Vec<_> = (0..self.jobs.max(1).min(trials.len()))
                .map(|_| scope.spawn(work))
                .collect();
            workers.into_iter().try_for_each(|worker| {
                worker
                    .join()
                    .unwrap_or_else(|_| Err(LabError::Trial("a thread panicked".into())))
            })
        });
        self.progress.end();
        outcome?;
        Ok(missing.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs one trial in a process of its own. The inner error is why it left no result.
    fn run_one(
        &self,
        trial: &TrialSpec,
        work: u64,
        folder: &Path,
    ) -> Result<Result<TrialResult, String>, LabError> {
        let folder = trial.folder(folder);
        fs::create_dir_all(&folder).map_err(LabError::file(&folder))?;
        write_json(&folder.join("spec.json"), trial)?;
        let failure = folder.join(FAILURE);
        if failure.exists() {
            fs::remove_file(&failure).map_err(LabError::file(&failure))?;
        }
        let log = folder.join("worker.log");
        let errors = File::create(&log).map_err(LabError::file(&log))?;
        let threads = (cores() / self.jobs.max(1)).max(1).to_string();
        let mut child = Command::new(self.program)
            .arg("trial")
            .arg(&folder)
            .env("RAYON_NUM_THREADS", &threads)
            .env("OMP_NUM_THREADS", &threads)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(LabError::file(self.program))?;
        let told = child.stdout.take();
        let id = self.stop.started(child);
        let line = self.progress.trial(trial);
        let mut counted = 0;
        for now in told.into_iter().flat_map(|out| BufReader::new(out).lines()) {
            let Some(step) = now.ok().and_then(|line| line.parse::<u64>().ok()) else {
                continue;
            };
            if let Some(line) = &line {
                line.set_position(step);
            }
            let so_far = work * step / trial.steps.max(1) as u64;
            self.progress.advance(so_far.saturating_sub(counted));
            counted = so_far;
        }
        if let Some(line) = line {
            line.finish_and_clear();
        }
        let Some(mut child) = self.stop.ended(id) else {
            return Ok(Err("the trial's process is not known any more".into()));
        };
        let status = child.wait().map_err(LabError::file(self.program))?;
        let file = folder.join("result.json");
        if !status.success() || !file.exists() {
            let said = fs::read_to_string(&log).unwrap_or_default();
            let last = said.lines().rev().find(|line| !line.trim().is_empty());
            let last = last
                .map(|line| format!(": {}", line.trim()))
                .unwrap_or_default();
            let reason = format!(
                "the trial's process ended with {status}{last} (see {})",
                log.display()
            );
            if !self.stop.asked() {
                write_json(&failure, &reason)?;
            }
            return Ok(Err(reason));
        }
        if fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
            fs::remove_file(&log).map_err(LabError::file(&log))?;
        }
        Ok(Ok(read_json(&file)?))
    }
}

/// The processor cores there are.
pub fn cores() -> usize {
    thread::available_parallelism().map_or(1, usize::from)
}

fn describe(result: &TrialResult) -> String {
    match &result.outcome {
        Outcome::Failed(reason) => format!("failed: {reason}"),
        Outcome::Finished(measures) => {
            let scores = measures
                .scores
                .iter()
                .map(|s| format!("{}: {:.3}", s.length, s.accuracy));
            format!(
                "accuracy by length {}",
                scores.collect::<Vec<_>>().join("  ")
            )
        }
    }
}

/// What the hidden subcommand does: the trial of one folder.
///
/// # Errors
///
/// When the spec cannot be read, the trial cannot run or its result cannot be written.
pub fn serve(folder: &Path) -> Result<(), LabError> {
    let spec: TrialSpec = read_json(&folder.join("spec.json"))?;
    // The study's folder holds `trials/` with this folder in it.
    let study = folder.ancestors().nth(2).unwrap_or(folder);
    let tasks = Tasks::stored(spec.data.as_ref(), study)?;
    let task: Arc<dyn Task> = tasks.get(&spec.task)?;
    let steps = spec.steps;
    let watch = Watch::steps(move |step, _loss| {
        if step.is_multiple_of(REPORT_EVERY) || step == steps {
            let mut out = std::io::stdout();
            // Nobody reads any more: the study was stopped, and so is its trial.
            if writeln!(out, "{step}").and_then(|()| out.flush()).is_err() {
                std::process::exit(1);
            }
        }
    });
    let result = trial::run(&spec, &task, folder, watch)?;
    write_json(&folder.join("result.json"), &result)
}
