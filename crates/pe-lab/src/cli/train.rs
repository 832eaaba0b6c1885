//! `pe-lab train`: one trial, watched, with checkpoints.

use std::fs;
use std::io::IsTerminal;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::time::Instant;

use burn::train::Interrupter;

use crate::error::LabError;
use crate::files::{read_json, write_json};
use crate::plan::{Names, Plan, Seeds, Steps};
use crate::study::StudySpec;
use crate::task::Task;
use crate::tasks::Tasks;
use crate::train::{Checkpoints, EPOCH, Watch, last_checkpoint};
use crate::trial::{self, Outcome, TrialResult, TrialSpec};

/// The flags of `train`.
#[derive(Clone, Debug, clap::Args)]
pub struct Args {
    /// The task (see `pe-lab tasks`)
    #[arg(long, default_value = "reverse", value_name = "NAME")]
    task: String,
    /// Your own data in place of a task (see `pe-lab compare --help`)
    #[arg(long, value_name = "FILE", conflicts_with = "task")]
    data: Option<PathBuf>,
    /// The scheme (see `pe-lab schemes`)
    #[arg(long, default_value = "sinusoidal", value_name = "NAME")]
    scheme: String,
    /// The start of the random numbers
    #[arg(long, default_value_t = 1, value_name = "N")]
    seed: u64,
    /// Training steps [default: the task's own]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Where to compute (see `pe-lab devices`)
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
    /// Folder for the checkpoints and the result
    #[arg(long, default_value = "pe-lab-train", value_name = "FOLDER")]
    out: PathBuf,
    /// Go on with the training that lies in the folder, from its last checkpoint
    #[arg(long, conflicts_with_all = ["task", "data", "scheme", "seed", "steps", "device"])]
    resume: bool,
}

impl Args {
    /// Trains, tests, and gives back the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let (spec, task) = match self.resume {
            true => self.found()?,
            false => self.started()?,
        };
        let epochs = last_checkpoint(&self.out, spec.steps);
        eprintln!(
            "{} with the scheme {}, seed {}: {} steps on {}{}",
            spec.task,
            spec.scheme.name,
            spec.seed,
            spec.steps,
            spec.device,
            match epochs {
                0 => String::new(),
                epochs => format!(", from step {} on", epochs * EPOCH),
            }
        );
        let interrupter = Interrupter::new();
        super::on_stop({
            let interrupter = interrupter.clone();
            // Asked a second time, as during the test, which knows no pause, it ends at once.
            move || match interrupter.should_stop() {
                false => interrupter.stop(Some("Ctrl-C")),
                true => std::process::exit(1),
            }
        })?;
        let dashboard = std::io::stdout().is_terminal();
        let watch = Watch {
            on_step: match dashboard {
                true => Box::new(|step, _| {
                    // The dashboard is there by now, and has taken the terminal.
                    if step.is_multiple_of(EPOCH) {
                        hear_ctrl_c();
                    }
                }),
                false => lines(spec.steps),
            },
            dashboard,
            checkpoints: Checkpoints::After(epochs),
            interrupter,
        };
        let result = trial::run(&spec, &task, &self.out, watch).inspect_err(|error| {
            if matches!(error, LabError::Stopped { .. }) {
                eprintln!(
                    "the checkpoints are kept; `pe-lab train --resume --out {}` goes on",
                    self.out.display()
                );
            }
        })?;
        write_json(&self.out.join("result.json"), &result)?;
        Ok(show(&result, &self.out))
    }

    /// A training that is new, in a folder of its own.
    fn started(&self) -> Result<(TrialSpec, Arc<dyn Task>), LabError> {
        let plan = Plan {
            schemes: Some(Names::These(vec![self.scheme.clone()])),
            tasks: match self.data {
                Some(_) => None,
                None => Some(Names::These(vec![self.task.clone()])),
            },
            data: self.data.clone(),
            seeds: Some(Seeds::These(vec![self.seed])),
            steps: self.steps.map(Steps::All),
            device: Some(self.device.clone()),
            recipe: None,
            model: None,
        };
        let (study, tasks) = StudySpec::of(plan)?;
        let trials = study.trials(&tasks)?;
        let [spec] = &trials[..] else {
            return Err(LabError::Usage(format!(
                "one task, one scheme and one seed make one training; these make {}",
                trials.len()
            )));
        };
        for line in tasks.data().iter().flat_map(|data| data.describe()) {
            eprintln!("{line}");
        }
        fs::create_dir_all(&self.out).map_err(LabError::file(&self.out))?;
        let mut entries = fs::read_dir(&self.out).map_err(LabError::file(&self.out))?;
        if entries.next().is_some() {
            let folder = self.out.display();
            return Err(LabError::Usage(if self.spec_file().exists() {
                format!("{folder} holds a training; go on with --resume, or choose another --out")
            } else {
                format!("{folder} is not empty; choose a new or an empty folder with --out")
            }));
        }
        tasks.store(&self.out)?;
        write_json(&self.spec_file(), spec)?;
        Ok((spec.clone(), tasks.get(&spec.task)?))
    }

    /// The training that lies in the folder.
    fn found(&self) -> Result<(TrialSpec, Arc<dyn Task>), LabError> {
        if !self.spec_file().exists() {
            return Err(LabError::Usage(format!(
                "{} holds no training to go on with: there is no spec.json in it",
                self.out.display()
            )));
        }
        if self.out.join("result.json").exists() {
            return Err(LabError::Usage(format!(
                "the training in {} is finished; see its result.json",
                self.out.display()
            )));
        }
        let spec: TrialSpec = read_json(&self.spec_file())?;
        let task = Tasks::stored(spec.data.as_ref(), &self.out)?.get(&spec.task)?;
        Ok((spec, task))
    }

    fn spec_file(&self) -> PathBuf {
        self.out.join("spec.json")
    }
}

/// Makes Ctrl-C a signal again, which the dashboard takes for a key that it has no use for.
fn hear_ctrl_c() {
    #[cfg(unix)]
    {
        use rustix::termios::{LocalModes, OptionalActions, tcgetattr, tcsetattr};
        // Without a terminal there is nothing to press.
        if let Ok(mut settings) = tcgetattr(std::io::stdin()) {
            settings.local_modes |= LocalModes::ISIG;
            let _ = tcsetattr(std::io::stdin(), OptionalActions::Now, &settings);
        }
    }
}

/// Prints a line every so many steps, for a log.
fn lines(steps: usize) -> Box<dyn FnMut(usize, f64) + Send> {
    let started = Instant::now();
    let (mut total, mut since) = (0.0, 0);
    Box::new(move |step, loss| {
        total += loss;
        since += 1;
        if step.is_multiple_of(EPOCH) || step == steps {
            let mean = total / since as f64;
            let seconds = started.elapsed().as_secs_f64();
            super::print_line(&format!(
                "step {step:>6} of {steps}  loss {mean:.4}  {seconds:>6.1} s"
            ));
            (total, since) = (0.0, 0);
        }
    })
}

fn show(result: &TrialResult, folder: &Path) -> u8 {
    let code = match &result.outcome {
        Outcome::Failed(reason) => {
            super::print_line(&format!("failed: {reason}"));
            1
        }
        Outcome::Finished(measures) => {
            super::print_line("length  accuracy  exact match  floor");
            for score in &measures.scores {
                super::print_line(&format!(
                    "{:>6}  {:>8.3}  {:>11.3}  {:>5.3}{}",
                    score.length,
                    score.accuracy,
                    score.exact,
                    score.floor,
                    if score.inside {
                        ""
                    } else {
                        "  beyond training"
                    }
                ));
            }
            0
        }
    };
    super::print_line(&format!("wrote {}", folder.join("result.json").display()));
    code
}
