//! `pe-lab train`: one trial, watched, with checkpoints.

use std::cell::Cell;
use std::ffi::OsString;
use std::path::PathBuf;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Instant;

use super::names::Known;
use super::private::keep_as_private_as;
use super::rows::Rows;
use super::signals::{PATIENCE, on_stop};
use super::sizes::Sizes;
use super::terminal::{print_line, write_line};
use crate::ask::{Names, Plan, Scheme, Seeds, Steps, StudySpec, TrialSpec, task_names};
use crate::console::tell;
use crate::device::DEVICES;
use crate::error::LabError;
use crate::folder::{
    StudyFolder, TrialFolder, is_there, is_unfinished, make_named_folder, names, read_sealed,
    remove_unfinished, write_sealed,
};
use crate::grouped::counted;
use crate::learn::{Checkpoints, CurvePoint, EPOCH, LastCheckpoint, Watch, last_checkpoint};
use crate::run::{
    Lock, Outcome, Progress, TrialResult, check_room, join_kernels, keep_data, kept_tasks,
    run_trial,
};
use crate::task::{Measure, Task};

/// A training: what it runs, its task, and the lock of its folder.
type Found = (TrialSpec, Arc<dyn Task>, Lock);

/// The flags of `train`.
#[derive(Clone, Debug, clap::Args)]
pub struct TrainArgs {
    /// The task (see `pe-lab tasks`)
    ///
    /// Such as reverse or "mqar(tokens=64,pairs=4)".
    #[arg(long, default_value = "reverse", value_name = "NAME", value_parser = Known::of(task_names()), hide_possible_values = true)]
    task: String,
    /// Train a decoder, which writes the answer token by token
    ///
    /// See `pe-lab compare --help`.
    #[arg(long)]
    causal: bool,
    /// Your own data in place of a task (see `pe-lab compare --help`)
    #[arg(long, value_name = "PATH", conflicts_with = "task")]
    data: Option<PathBuf>,
    /// The scheme (see `pe-lab schemes`)
    #[arg(long, default_value = "sinusoidal", value_name = "NAME", value_parser = Known::of(Scheme::names()), hide_possible_values = true)]
    scheme: String,
    /// Where the random numbers start
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Training steps [default: the task's own]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Where to compute (see `pe-lab devices`)
    ///
    /// BACKEND:CARD chooses a graphics card by a part of its name or by its number.
    #[arg(long, default_value = "flex", value_name = "NAME", value_parser = Known::of(DEVICES.iter().map(|device| device.name)), hide_possible_values = true)]
    device: String,
    /// Folder for the checkpoints and the result
    #[arg(long, default_value = "pe-lab-train", value_name = "FOLDER")]
    out: PathBuf,
    /// Go on with the training in the folder, from its last checkpoint
    #[arg(long, conflicts_with_all = ["task", "causal", "data", "Rows", "Reading", "ModelSpec", "Recipe", "scheme", "seed", "steps", "device"])]
    resume: bool,
    // Each of these begins a heading of its own in the help, under which all later flags would stand, so they come last.
    #[command(flatten)]
    rows: Rows,
    #[command(flatten)]
    sizes: Sizes,
}

impl TrainArgs {
    /// Trains and tests, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        join_kernels();
        let folder = TrialFolder::at(&self.out);
        let (spec, task, _lock) = match self.resume {
            true => self.found(&folder)?,
            false => self.started(&folder)?,
        };
        let LastCheckpoint { epochs, damaged } = last_checkpoint(&folder, spec.steps);
        for epoch in damaged {
            tell(&format!(
                "the checkpoint of step {} is not whole, and the training goes on without it",
                epoch * EPOCH
            ));
        }
        tell(&format!(
            "{} with the scheme {}, seed {}: {} on {}{}",
            spec.task,
            spec.scheme.name,
            spec.seed,
            counted(spec.steps, "step"),
            spec.device,
            match epochs {
                0 => String::new(),
                epochs => format!(", from step {} on", epochs * EPOCH),
            }
        ));
        let result = self.watched(&spec, &task, &folder, epochs)?;
        result.write(&folder.result())?;
        Ok(show(&result, task.as_ref(), &folder))
    }

    /// Runs the training, and shows its losses: in a bar on a terminal, and everywhere as lines.
    fn watched(
        &self,
        spec: &TrialSpec,
        task: &Arc<dyn Task>,
        folder: &TrialFolder,
        after: usize,
    ) -> Result<TrialResult, LabError> {
        let stop = Arc::new(AtomicBool::new(false));
        on_stop(PATIENCE, 1, {
            let stop = stop.clone();
            move || stop.store(true, Ordering::Relaxed)
        })?;
        let bar = Progress::to_stderr().training(spec);
        let unsaid = Cell::new(None);
        let say = |line: &str| {
            // A training whose lines are lost stops: its terminal was closed, or a disk is full.
            if let Err(error) = bar.suspend(|| write_line(line)) {
                unsaid.set(Some(error));
                stop.store(true, Ordering::Relaxed);
            }
        };
        let mut lines = lines(spec.steps, &say);
        let watch = Watch {
            on_step: Box::new(|step, loss| {
                bar.set_message(format!("{loss:.4}"));
                bar.set_position(step as u64);
                lines(step, loss);
            }),
            on_held_out: Box::new(|points| {
                if let Some(CurvePoint { step, loss }) = points.last() {
                    say(&format!(
                        "{}  held-out loss {loss:.4}",
                        at(*step, spec.steps)
                    ));
                }
            }),
            checkpoints: Some(Checkpoints { folder, after }),
            stop: stop.clone(),
        };
        let result = run_trial(spec, task, folder, watch);
        bar.finish_and_clear();
        result.map_err(|error| match error {
            LabError::Stopped { .. } => {
                let from = match last_checkpoint(folder, spec.steps).epochs {
                    0 => format!("there is no checkpoint yet (one every {EPOCH} steps), so it begins anew with"),
                    epochs => format!("the checkpoint of step {} is kept; to go on from it:", epochs * EPOCH),
                };
                tell(&format!("{from} `pe-lab train --resume --out {}`", self.out.display()));
                unsaid.take().unwrap_or(error)
            }
            error => error,
        })
    }

    /// Starts a new training in an empty folder, and locks it.
    fn started(&self, folder: &TrialFolder) -> Result<Found, LabError> {
        let plan = Plan {
            schemes: Some(Names::These(vec![self.scheme.clone()])),
            tasks: match self.data {
                Some(_) => None,
                None => Some(Names::These(vec![self.task.clone()])),
            },
            causal: self.causal.then_some(true),
            data: self.data.clone(),
            seeds: Some(Seeds::These(vec![self.seed])),
            steps: self.steps.map(|steps| Steps::All(steps.into())),
            device: Some(self.device.clone()),
            ..self.rows.plan()
        };
        let (study, tasks) = StudySpec::of(self.sizes.apply(plan))?;
        let trials = study.trials(&tasks)?;
        let [spec] = &trials[..] else {
            return Err(LabError::Usage(format!(
                "train runs one task with one scheme and one seed, and these arguments make {} trials; name one scheme with --scheme \
                 and one task with --task, and leave out --folds, which makes a task of each part",
                trials.len()
            )));
        };
        for line in tasks.data().iter().flat_map(|data| data.describe()) {
            tell(line);
        }
        check_room(&trials, &tasks, 1)?;
        keep_as_private_as(tasks.files())?;
        make_named_folder(&self.out)?;
        self.check_empty(folder)?;
        let lock = Lock::of(&self.out, &folder.lock())?;
        // Another process may have begun a training in between.
        self.check_empty(folder)?;
        remove_unfinished(folder.entry())?;
        keep_data(&tasks, &StudyFolder::at(&self.out))?;
        write_sealed(&folder.spec(), spec)?;
        Ok((spec.clone(), tasks.get(&spec.task)?, lock))
    }

    /// Checks that nothing is in the folder but the lock and files that were not finished.
    fn check_empty(&self, folder: &TrialFolder) -> Result<(), LabError> {
        let own = |name: &OsString| is_unfinished(name) || name == TrialFolder::LOCK;
        if !names(folder.entry())?.iter().all(own) {
            let (out, is_training) = (self.out.display(), is_there(&folder.spec())?);
            return Err(LabError::Usage(if is_training {
                format!("{out} holds a training; go on with --resume, or choose another --out")
            } else {
                format!("{out} is not empty; choose a new or an empty folder with --out")
            }));
        }
        Ok(())
    }

    /// Finds the training in the folder, and locks it.
    fn found(&self, folder: &TrialFolder) -> Result<Found, LabError> {
        if !is_there(&folder.spec())? {
            return Err(LabError::Usage(format!(
                "{} holds no training to go on with: there is no {} in it",
                self.out.display(),
                TrialFolder::SPEC
            )));
        }
        let lock = Lock::of(&self.out, &folder.lock())?;
        let of_data = StudyFolder::at(&self.out).places_of_data();
        for place in of_data
            .iter()
            .chain([folder.entry(), &folder.checkpoints()])
        {
            remove_unfinished(place)?;
        }
        if is_there(&folder.result())? {
            TrialResult::read(&folder.result())?;
            return Err(LabError::Usage(format!(
                "the training in {} is finished; see its {}",
                self.out.display(),
                TrialFolder::RESULT
            )));
        }
        let spec: TrialSpec = read_sealed(&folder.spec())?;
        // The data are kept in the same folder.
        let tasks = kept_tasks(spec.data.as_ref(), &StudyFolder::at(&self.out))?;
        keep_as_private_as(tasks.files())?;
        check_room(std::slice::from_ref(&spec), &tasks, 1)?;
        let task = tasks.get(&spec.task)?;
        Ok((spec, task, lock))
    }
}

/// Says the mean loss every [`EPOCH`] steps.
fn lines(steps: usize, say: impl Fn(&str)) -> impl FnMut(usize, f64) {
    let started = Instant::now();
    let (mut total, mut since) = (0.0, 0);
    move |step, loss| {
        total += loss;
        since += 1;
        if step.is_multiple_of(EPOCH) || step == steps {
            let (mean, at) = (total / since as f64, at(step, steps));
            let seconds = started.elapsed().as_secs_f64();
            say(&format!("{at}  loss {mean:.4}  {seconds:>6.1} s"));
            (total, since) = (0.0, 0);
        }
    }
}

/// The beginning of a line about a step.
fn at(step: usize, steps: usize) -> String {
    format!("step {step:>6} of {steps}")
}

/// Prints the scores, and returns the exit code.
fn show(result: &TrialResult, task: &dyn Task, folder: &TrialFolder) -> u8 {
    let code = match &result.outcome {
        Outcome::Failed(reason) => {
            print_line(&format!("failed: {reason}"));
            1
        }
        Outcome::Finished(measures) => {
            let measure = task.measure();
            let name = measure.name();
            // For other measures there is no exact match, or it is the score itself.
            let has_exact = measure == Measure::Accuracy;
            let exact = if has_exact { "  exact match" } else { "" };
            print_line(&format!("length  {name}{exact}  floor"));
            for score in &measures.scores {
                let exact = score.exact.filter(|_| has_exact);
                let exact = exact.map(|exact| format!("  {exact:>11.3}"));
                print_line(&format!(
                    "{:>6}  {:>width$}{}  {:>5}{}",
                    score.length,
                    measure.shown(score.score.value()),
                    exact.unwrap_or_default(),
                    measure.shown(score.floor),
                    if score.inside {
                        ""
                    } else {
                        "  beyond training"
                    },
                    width = name.chars().count()
                ));
            }
            0
        }
    };
    print_line(&format!("wrote {}", folder.result().display()));
    code
}
