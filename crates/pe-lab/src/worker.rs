//! Trials as processes of their own.
//!
//! Burn's random generator belongs to the process, and so does a crash: a trial that has a process
//! to itself can neither disturb the others nor take them down. The parent writes `spec.json` into
//! the trial's folder and starts this program again with the hidden subcommand `trial`; the worker
//! prints the number of steps done, a line each, and writes `result.json`.

use std::cmp::Reverse;
use std::fs::{self, File};
use std::io::{BufRead, BufReader, IsTerminal, Write};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::{Mutex, PoisonError};
use std::thread;
use std::time::Instant;

use indicatif::{ProgressBar, ProgressDrawTarget, ProgressStyle};

use crate::error::LabError;
use crate::study::{read_json, trial_folder, write_json};
use crate::trial::{self, Outcome, TrialResult, TrialSpec};

/// Steps between two lines of a worker.
const REPORT_EVERY: usize = 10;

/// Where progress goes: a bar on a terminal, a line per finished trial elsewhere.
pub struct Progress {
    bar: Option<ProgressBar>,
}

impl Progress {
    /// A bar when standard error is a terminal, lines when it is not.
    pub fn to_stderr() -> Self {
        let terminal = std::io::stderr().is_terminal();
        let bar =
            terminal.then(|| ProgressBar::with_draw_target(None, ProgressDrawTarget::stderr()));
        Self { bar }
    }

    fn start(&self, trials: &[TrialSpec]) {
        if let Some(bar) = &self.bar {
            let style = ProgressStyle::with_template("{wide_bar} {percent}%  {eta} left  {msg}");
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
            bar.set_length(trials.iter().map(cost).sum());
        }
    }

    fn advance(&self, trial: &TrialSpec, steps: usize) {
        if let Some(bar) = &self.bar {
            bar.inc(cost(trial) * steps as u64 / trial.steps.max(1) as u64);
        }
    }

    fn finished(&self, line: &str) {
        match &self.bar {
            Some(bar) => bar.println(line),
            None => eprintln!("{line}"),
        }
    }

    fn end(&self) {
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

/// What a trial takes, roughly: steps times the tokens of a typical sequence.
fn cost(trial: &TrialSpec) -> u64 {
    let tokens = crate::task::by_name(&trial.task).map_or(1, |task| {
        let lengths = task.train_lengths();
        (lengths.start() + lengths.end()) / 2 + task.framing()
    });
    (trial.steps * tokens) as u64
}

/// Runs trials, `jobs` at a time, and gives back those that got no result, with the reason.
///
/// # Errors
///
/// When a trial's folder cannot be written.
pub fn run_all(
    trials: &[TrialSpec],
    folder: &Path,
    program: &Path,
    jobs: usize,
    progress: &Progress,
) -> Result<Vec<(TrialSpec, String)>, LabError> {
    // The longest first, so that no long trial is left to run alone at the end.
    let mut longest_first: Vec<&TrialSpec> = trials.iter().collect();
    longest_first.sort_by_key(|trial| Reverse(cost(trial)));
    let queue = Mutex::new(longest_first.into_iter());
    let missing = Mutex::new(Vec::new());
    let done = Mutex::new(0);
    let threads = (cores() / jobs.max(1)).max(1);
    progress.start(trials);
    let outcome = thread::scope(|scope| {
        let workers: Vec<_> = (0..jobs.max(1).min(trials.len()))
            .map(|_| {
                scope.spawn(|| {
                    loop {
                        let next = queue.lock().unwrap_or_else(PoisonError::into_inner).next();
                        let Some(trial) = next else { return Ok(()) };
                        let started = Instant::now();
                        let ended = run_one(trial, folder, program, threads, progress)?;
                        let mut done = done.lock().unwrap_or_else(PoisonError::into_inner);
                        *done += 1;
                        let seconds = started.elapsed().as_secs_f64();
                        let count = format!("{:>3}/{}", *done, trials.len());
                        let what = match &ended {
                            Ok(result) => describe(result),
                            Err(reason) => format!("no result: {reason}"),
                        };
                        progress.finished(&format!(
                            "{count}  {:<24} {seconds:>5.0} s  {what}",
                            trial.id()
                        ));
                        if let Err(reason) = ended {
                            let mut missing =
                                missing.lock().unwrap_or_else(PoisonError::into_inner);
                            missing.push((trial.clone(), reason));
                        }
                    }
                })
            })
            .collect();
        workers.into_iter().try_for_each(|worker| {
            worker
                .join()
                .unwrap_or_else(|_| Err(LabError::Trial("a thread panicked".into())))
        })
    });
    progress.end();
    outcome?;
    Ok(missing.into_inner().unwrap_or_else(PoisonError::into_inner))
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

/// Runs one trial in a process of its own. The inner error is the reason why it left no result.
fn run_one(
    trial: &TrialSpec,
    folder: &Path,
    program: &Path,
    threads: usize,
    progress: &Progress,
) -> Result<Result<TrialResult, String>, LabError> {
    let folder = trial_folder(folder, trial);
    fs::create_dir_all(&folder).map_err(LabError::file(&folder))?;
    let spec = folder.join("spec.json");
    write_json(&spec, trial)?;
    let log = folder.join("worker.log");
    let errors = File::create(&log).map_err(LabError::file(&log))?;
    let mut child = Command::new(program)
        .arg("trial")
        .arg(&folder)
        .env("RAYON_NUM_THREADS", threads.to_string())
        .env("OMP_NUM_THREADS", threads.to_string())
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(errors)
        .spawn()
        .map_err(LabError::file(program))?;
    let mut steps = 0;
    for line in child
        .stdout
        .take()
        .into_iter()
        .flat_map(|out| BufReader::new(out).lines())
    {
        if let Some(now) = line.ok().and_then(|line| line.parse::<usize>().ok()) {
            progress.advance(trial, now.saturating_sub(steps));
            steps = now;
        }
    }
    let status = child.wait().map_err(LabError::file(program))?;
    let file = folder.join("result.json");
    if !status.success() || !file.exists() {
        let said = fs::read_to_string(&log).unwrap_or_default();
        let last = said.lines().rev().find(|line| !line.trim().is_empty());
        let last = last
            .map(|line| format!(": {}", line.trim()))
            .unwrap_or_default();
        return Ok(Err(format!(
            "the trial's process ended with {status}{last} (see {})",
            log.display()
        )));
    }
    if fs::metadata(&log).is_ok_and(|log| log.len() == 0) {
        fs::remove_file(&log).map_err(LabError::file(&log))?;
    }
    Ok(Ok(read_json(&file)?))
}

/// What the hidden subcommand does: the trial of one folder.
///
/// # Errors
///
/// When the spec cannot be read, the trial cannot run or its result cannot be written.
pub fn serve(folder: &Path) -> Result<(), LabError> {
    let spec: TrialSpec = read_json(&folder.join("spec.json"))?;
    let steps = spec.steps;
    let result = trial::run(&spec, folder, move |step| {
        if step.is_multiple_of(REPORT_EVERY) || step == steps {
            let mut out = std::io::stdout();
            // Nobody reads any more: the study was stopped, and so is its trial.
            if writeln!(out, "{step}").and_then(|()| out.flush()).is_err() {
                std::process::exit(1);
            }
        }
    })?;
    write_json(&folder.join("result.json"), &result)
}
