//! Trials as processes of their own.
//!
//! Burn's random generator is global to a process, and a crash ends a process. With a process to
//! itself, no trial can change the numbers of another or end it. The parent writes `spec.json` into
//! the trial's folder and starts this program again with the hidden subcommand `trial`. The worker
//! prints the number of steps done, one number per line, and writes `result.json`.

use std::cmp::Reverse;
use std::collections::BTreeMap;
use std::io::{self, BufRead, BufReader, Read, Write};
use std::path::Path;
use std::process::{Child, ChildStdout, Command, ExitStatus, Output, Stdio};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::thread;
use std::time::Instant;

use super::data_copy::{check_kept, kept_tasks};
use super::machine::{cores, join_kernels};
use super::progress::Progress;
use super::trial::{Outcome, TrialResult, run_trial};
use crate::ask::{Tasks, TrialSpec};
use crate::console::tell;
use crate::error::LabError;
use crate::folder::{
    StudyFolder, TrialFolder, create, is_there, make_folder, read_json, remove, write_json,
};
use crate::grouped::counted;
use crate::learn::Watch;
use crate::task::Measure;

/// A worker reports its progress every this many steps.
const REPORT_EVERY: usize = 10;

/// The most bytes of what a worker wrote to standard error that are read.
const MOST_OF_LOG: u64 = 16 << 20;

/// Stops the workers of a study. It can be called from any thread.
#[derive(Clone, Debug, Default)]
pub struct Stop(Arc<Mutex<Running>>);

#[derive(Debug, Default)]
struct Running {
    asked: bool,
    children: BTreeMap<u32, Child>,
}

impl Stop {
    /// Kills the trials that are running. No other trial is started.
    pub fn now(&self) {
        let mut running = lock(&self.0);
        running.asked = true;
        for child in running.children.values_mut() {
            // This fails only for a process that has already ended.
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

    fn kill(&self, id: u32) {
        if let Some(child) = lock(&self.0).children.get_mut(&id) {
            // This fails only for a process that has already ended.
            let _ = child.kill();
        }
    }

    fn ended(&self, id: u32) -> Option<Child> {
        lock(&self.0).children.remove(&id)
    }

    /// Runs a command to its end and returns what it wrote, or `None` if it was stopped before.
    pub(super) fn output(&self, command: &mut Command) -> io::Result<Option<Output>> {
        let mut child = apart(command)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::piped())
            .spawn()?;
        let (out, errors) = (child.stdout.take(), child.stderr.take());
        let id = self.started(child);
        let (mut stdout, mut stderr) = (Vec::new(), Vec::new());
        // Both at once: a process whose one pipe is full does not end while the other is read.
        let read = thread::scope(|scope| {
            let errors = || errors.map(|mut pipe| pipe.read_to_end(&mut stderr));
            let errors = thread::Builder::new().spawn_scoped(scope, errors)?;
            let out = out.map(|mut pipe| pipe.read_to_end(&mut stdout));
            out.into_iter()
                .chain(errors.join().ok().flatten())
                .collect::<io::Result<Vec<_>>>()
        });
        if read.is_err() {
            self.kill(id);
        }
        let status = self.ended(id).map(|mut child| child.wait()).transpose()?;
        read?;
        let ended = status.filter(|_| !self.asked());
        Ok(ended.map(|status| Output {
            status,
            stdout,
            stderr,
        }))
    }
}

/// The command in a process group of its own. Ctrl-C goes to all processes of a group; this way only the parent gets it,
/// which ends the child and does not take its end for a failure.
fn apart(command: &mut Command) -> &mut Command {
    #[cfg(unix)]
    std::os::unix::process::CommandExt::process_group(command, 0);
    command
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// A rough measure of how long a trial takes: its steps times the tokens of a typical sequence.
fn cost(trial: &TrialSpec, tasks: &Tasks) -> u64 {
    let tokens = tasks.get(&trial.task).map_or(1, |task| {
        let lengths = task.train_lengths();
        task.tokens_of((lengths.start() + lengths.end()) / 2)
    });
    (trial.most_steps() * tokens) as u64
}

/// The workers of a study.
pub struct Crew<'a> {
    /// The program that is started for every trial.
    pub program: &'a Path,
    /// How many trials run at a time.
    pub jobs: usize,
    /// Where progress is shown.
    pub progress: &'a Progress,
    /// Stops the trials.
    pub stop: &'a Stop,
}

impl Crew<'_> {
    /// Runs trials, and returns those without a result with the reason.
    ///
    /// # Errors
    ///
    /// When a trial's folder cannot be written.
    pub fn run_all(
        &self,
        trials: &[TrialSpec],
        tasks: &Tasks,
        folder: &StudyFolder,
    ) -> Result<Vec<(TrialSpec, String)>, LabError> {
        if trials.is_empty() {
            return Ok(Vec::new());
        }
        check_kept(tasks, folder)?;
        // The longest first, so that no long trial runs alone at the end.
        let mut longest_first: Vec<&TrialSpec> = trials.iter().collect();
        longest_first.sort_by_key(|trial| Reverse(cost(trial, tasks)));
        let queue = Mutex::new(longest_first.into_iter());
        let missing = Mutex::new(Vec::new());
        let done = Mutex::new(0);
        let costs = trials.iter().map(|trial| cost(trial, tasks));
        self.progress.start(costs.sum());
        let work = || {
            loop {
                let next = lock(&queue).next();
                let Some(trial) = next.filter(|_| !self.stop.asked()) else {
                    return Ok(());
                };
                let started = Instant::now();
                // If one trial's folder cannot be written, neither can the others.
                let ended = self
                    .run_one(trial, cost(trial, tasks), &folder.trial(&trial.id()))
                    .inspect_err(|_| self.stop.now())?;
                if self.stop.asked() {
                    return Ok(());
                }
                let mut done = lock(&done);
                *done += 1;
                let what = match &ended {
                    Ok(result) => {
                        let measure = tasks.get(&trial.task).map(|task| task.measure());
                        describe(result, measure.ok().as_ref())
                    }
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
        let outcome = self.in_threads(self.jobs.max(1).min(trials.len()), work);
        self.progress.end();
        outcome?;
        Ok(missing.into_inner().unwrap_or_else(PoisonError::into_inner))
    }

    /// Runs `work` in `count` threads, and waits for all of them.
    fn in_threads(
        &self,
        count: usize,
        work: impl Fn() -> Result<(), LabError> + Copy + Send,
    ) -> Result<(), LabError> {
        thread::scope(|scope| {
            let mut workers = Vec::new();
            let mut outcome = Ok(());
            for _ in 0..count {
                match thread::Builder::new().spawn_scoped(scope, work) {
                    Ok(worker) => workers.push(worker),
                    Err(error) => {
                        self.stop.now();
                        outcome = Err(LabError::not_started("thread")(error));
                        break;
                    }
                }
            }
            for worker in workers {
                let ended = worker
                    .join()
                    .unwrap_or_else(|_| Err(LabError::Trial("a thread panicked".into())));
                outcome = outcome.and(ended);
            }
            outcome
        })
    }

    /// Runs one trial in a process of its own. The inner error says why it left no result.
    fn run_one(
        &self,
        trial: &TrialSpec,
        work: u64,
        folder: &TrialFolder,
    ) -> Result<Result<TrialResult, String>, LabError> {
        make_folder(folder.entry())?;
        write_json(&folder.spec(), trial)?;
        remove(&folder.failure())?;
        remove(&folder.curve())?;
        let log = folder.worker_log();
        let errors = create(&log)?;
        errors.set_len(0).map_err(LabError::file(&log))?;
        let threads = (cores() / self.jobs.max(1)).max(1).to_string();
        let mut command = Command::new(self.program);
        let mut child = apart(&mut command)
            .args(["trial", "--"])
            .arg(folder.path())
            .env("RAYON_NUM_THREADS", &threads)
            .env("OMP_NUM_THREADS", &threads)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(errors)
            .spawn()
            .map_err(LabError::not_started("process"))?;
        let stdout = child.stdout.take();
        let id = self.stop.started(child);
        self.follow(trial, work, stdout);
        let Some(mut child) = self.stop.ended(id) else {
            return Ok(Err(
                "the trial's process was already removed from the list".into()
            ));
        };
        let status = child.wait().map_err(LabError::file(self.program))?;
        // A trial that was killed leaves its learning curve.
        remove(&folder.curve())?;
        self.left_by(trial, status, folder)
    }

    /// Shows the steps that the process of a trial counts, until it closes its output.
    fn follow(&self, trial: &TrialSpec, work: u64, stdout: Option<ChildStdout>) {
        let bar = self.progress.trial(trial);
        let mut counted = 0;
        for line in stdout
            .into_iter()
            .flat_map(|out| BufReader::new(out).lines().map_while(Result::ok))
        {
            let Ok(step) = line.parse::<u64>() else {
                continue;
            };
            if let Some(bar) = &bar {
                bar.set_position(step);
            }
            let so_far = work * step / trial.most_steps().max(1) as u64;
            self.progress.advance(so_far.saturating_sub(counted));
            counted = so_far;
        }
        if let Some(bar) = bar {
            bar.finish_and_clear();
        }
        // A trial that goes on until it has converged may end before its last step.
        self.progress.advance(work.saturating_sub(counted));
    }

    /// The result that the process of a trial left at its end, or why it left none.
    fn left_by(
        &self,
        trial: &TrialSpec,
        status: ExitStatus,
        folder: &TrialFolder,
    ) -> Result<Result<TrialResult, String>, LabError> {
        let (file, log) = (folder.result(), folder.worker_log());
        // A result is there whole or not at all, so it counts however the process ended. One of another spec, such as with
        // another number of steps, is from an earlier run.
        let result = match is_there(&file)? {
            true => Some(TrialResult::read(&file)?).filter(|result| result.spec == *trial),
            false => None,
        };
        let Some(result) = result else {
            let said = log.read(MOST_OF_LOG).unwrap_or_default();
            let said = cause(&String::from_utf8_lossy(&said));
            let reason = format!(
                "the trial's process ended with {status}{}{said} (see {})",
                memory(status),
                log.display()
            );
            if !self.stop.asked() {
                write_json(&folder.failure(), &reason)?;
            }
            return Ok(Err(reason));
        };
        if log.read(0).is_ok() {
            remove(&log)?;
        }
        Ok(Ok(result))
    }
}

/// What a process said at its end: the message of a panic, or its last line.
fn cause(log: &str) -> String {
    let mut lines = log.lines().map(str::trim).filter(|line| !line.is_empty());
    let said = match lines
        .clone()
        .position(|line| line.contains(" panicked at "))
    {
        Some(panic) => lines.nth(panic + 1),
        None => lines.next_back(),
    };
    said.map(|line| format!(": {line}")).unwrap_or_default()
}

/// What helps a process that the system has probably killed for want of memory.
fn memory(status: ExitStatus) -> &'static str {
    #[cfg(unix)]
    if std::os::unix::process::ExitStatusExt::signal(&status) == Some(9) {
        return "; if the memory was full, fewer trials at a time help (--jobs), or a smaller batch or model";
    }
    let _ = status;
    ""
}

/// The scores of a trial in a line. `measure` is that of its task, which knows the unit.
fn describe(result: &TrialResult, measure: Option<&Measure>) -> String {
    match &result.outcome {
        Outcome::Failed(reason) => format!("failed: {reason}"),
        Outcome::Finished(measures) => {
            let scores = &measures.scores;
            let scores = scores.iter().map(|of| {
                format!(
                    "{}: {}",
                    of.length,
                    of.score.measure().shown(of.score.value())
                )
            });
            let steps = result.spec.auto_from.map(|_| {
                let converged = match measures.met_limit(result.spec.steps) {
                    true => ", not converged",
                    false => "",
                };
                format!("  after {}{converged}", counted(measures.steps(), "step"))
            });
            format!(
                "{} by length {}{}",
                measure.map(Measure::name).unwrap_or_default(),
                scores.collect::<Vec<_>>().join("  "),
                steps.unwrap_or_default()
            )
        }
    }
}

/// Runs the trial whose spec lies in a folder. This is the hidden subcommand `trial`.
///
/// # Errors
///
/// When the spec cannot be read, the trial cannot run, or its result cannot be written.
pub fn serve(folder: &Path) -> Result<(), LabError> {
    join_kernels();
    let folder = TrialFolder::of_study(folder);
    let spec: TrialSpec = read_json(&folder.spec())?;
    let task = kept_tasks(spec.data.as_ref(), &folder.study())?.get(&spec.task)?;
    let steps = spec.most_steps();
    let mut watch = Watch::steps(move |step, _loss| {
        if step.is_multiple_of(REPORT_EVERY) || step == steps {
            let mut out = std::io::stdout();
            // The pipe is closed: the study was stopped, so the trial ends too.
            if writeln!(out, "{step}").and_then(|()| out.flush()).is_err() {
                std::process::exit(1);
            }
        }
    });
    let curve = folder.curve();
    let mut told = false;
    watch.on_held_out = Box::new(move |points| {
        // The curve is only for watching, so the trial goes on if it cannot be written.
        if let Err(error) = write_json(&curve, &points)
            && !std::mem::replace(&mut told, true)
        {
            tell(&format!("the loss so far cannot be shown: {error}"));
        }
    });
    let result = run_trial(&spec, &task, &folder, watch)?;
    result.write(&folder.result())?;
    remove(&folder.curve())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_cause_of_an_end_is_its_message_and_no_hint() {
        let panic = "thread 'main' (7) panicked at src/x.rs:1:2:\nno such row: 9\nstack backtrace:\n   0: f\n\
                     note: run with `RUST_BACKTRACE=1`\n\n";
        assert_eq!(cause(panic), ": no such row: 9");
        let full = "a note\nerror: the disk is full\n\n";
        assert_eq!(cause(full), ": error: the disk is full");
        assert_eq!(cause("\n"), "");
    }
}
