//! The command line.

mod plot;

use std::path::PathBuf;

use clap::{Args, Parser, Subcommand};

use crate::device::{self, Kind};
use crate::error::LabError;
use crate::report;
use crate::scheme;
use crate::study::{self, Study, StudySpec};
use crate::task;
use crate::worker::{self, Progress};

/// Which positional encoding, for which data?
///
/// A transformer sees its input as a bag of tokens: it has to be told where each token stands. There
/// are several ways to tell it (the "schemes": a fixed pattern of sines and cosines, a table that is
/// trained, nothing at all). This program trains the same tiny transformer with each of them on
/// small tasks, tests it, also on longer inputs than it was trained on, and shows who wins.
///
/// Without a command it runs `compare`.
#[derive(Debug, Parser)]
#[command(name = "pe-lab", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "Exit codes: 0 all went well, 1 a trial or the study failed, 2 wrong use.")]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compare: CompareArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train every scheme on every task, several times over, and report who wins
    Compare(CompareArgs),
    /// Draw a picture of the sinusoidal encoding, as SVG or PNG
    Plot(plot::PlotArgs),
    /// List the tasks: what the model has to learn
    Tasks,
    /// List the schemes: the ways to tell a model where a token stands
    Schemes,
    /// List the devices: where to compute
    Devices,
    /// Run the one trial whose spec.json lies in a folder (used by `compare`)
    #[command(hide = true)]
    Trial {
        /// The trial's folder
        folder: PathBuf,
    },
}

#[derive(Clone, Debug, Args)]
struct CompareArgs {
    /// Tasks to train on, separated by commas (see `pe-lab tasks`) [default: all]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    tasks: Option<Vec<String>>,
    /// Schemes to compare, separated by commas (see `pe-lab schemes`) [default: all]
    #[arg(long, value_delimiter = ',', value_name = "A,B")]
    schemes: Option<Vec<String>>,
    /// How often to repeat each training with other random numbers: a count (3 means the seeds
    /// 1, 2 and 3), or the seeds themselves with a comma (`7,9`, or `7,` for one)
    #[arg(long, default_value = "2", value_name = "N or LIST")]
    seeds: String,
    /// Training steps, for every task [default: each task's own]
    #[arg(long, value_name = "N")]
    steps: Option<usize>,
    /// Folder for the results. A study that was stopped goes on where it was
    #[arg(long, default_value = "pe-lab-results", value_name = "FOLDER")]
    out: PathBuf,
    /// Trainings to run side by side [default: one per processor core, one alone on a graphics card]
    #[arg(long, value_name = "N")]
    jobs: Option<usize>,
    /// Where to compute (see `pe-lab devices`)
    #[arg(long, default_value = "flex", value_name = "NAME")]
    device: String,
}

impl Cli {
    /// Runs the command and gives back the exit code.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong, with its own exit code.
    pub fn run(self) -> Result<u8, LabError> {
        match self.command {
            None => compare(&self.compare),
            Some(Command::Compare(args)) => compare(&args),
            Some(Command::Trial { folder }) => worker::serve(&folder).map(|()| 0),
            Some(Command::Plot(args)) => plot::run(&args),
            Some(Command::Tasks) => {
                for task in task::all() {
                    print_line(&format!(
                        "{:<10} {} ({})",
                        task.name(),
                        task.about(),
                        task.source()
                    ));
                }
                Ok(0)
            }
            Some(Command::Schemes) => {
                for name in scheme::names() {
                    print_line(&format!("{name:<12} {}", scheme::about(name)));
                }
                Ok(0)
            }
            Some(Command::Devices) => {
                for entry in device::DEVICES {
                    let here = match device::open(entry.name) {
                        Ok(_) => String::new(),
                        Err(_) => format!(" (needs a build with --features {})", entry.feature),
                    };
                    print_line(&format!("{:<10} {}{here}", entry.name, entry.about));
                }
                Ok(0)
            }
        }
    }
}

fn compare(args: &CompareArgs) -> Result<u8, LabError> {
    let names = |list: &[&str]| list.iter().map(|name| name.to_string()).collect();
    let schemes = args
        .schemes
        .clone()
        .unwrap_or_else(|| names(scheme::names()));
    let tasks = args.tasks.clone().unwrap_or_else(|| {
        task::all()
            .iter()
            .map(|task| task.name().to_string())
            .collect()
    });
    let seeds = seeds(&args.seeds)?;
    let spec = StudySpec::new(&schemes, &tasks, &seeds, args.steps, &args.device)?;
    let cores = worker::cores();
    let (jobs, why) = match (args.jobs, device::lookup(&args.device)?.kind) {
        (Some(0), _) => return Err(LabError::Usage("--jobs must be at least 1".into())),
        (Some(jobs), _) => (jobs, "as asked".to_string()),
        (None, Kind::Cpu) => (cores, format!("one for each of {cores} cores")),
        (None, Kind::Gpu) => (1, "the card is for one at a time".to_string()),
    };
    eprintln!(
        "{} trials ({}) on {}, {jobs} at a time ({why}); results go to {}",
        spec.trials()?.len(),
        report::what_was_run(&spec),
        spec.device,
        args.out.display()
    );
    let program = std::env::current_exe().map_err(LabError::file("pe-lab".as_ref()))?;
    let study = study::run(&spec, &args.out, &program, jobs, &Progress::to_stderr())?;
    if study.resumed > 0 {
        eprintln!("{} of the trials were there already", study.resumed);
    }
    finish(&study, args)
}

fn finish(study: &Study, args: &CompareArgs) -> Result<u8, LabError> {
    let files = report::write(study, &args.out)?;
    print_line(&report::table(study));
    for file in files {
        print_line(&format!("wrote {}", file.display()));
    }
    for (trial, reason) in &study.missing {
        eprintln!("{} has no result: {reason}", trial.id());
    }
    if !study.missing.is_empty() {
        eprintln!("run the same command again to try the missing trials again");
    }
    Ok(u8::from(study.failures() > 0))
}

/// Prints to a pipe that may be closed: a reader that has seen enough is no error.
fn print_line(line: &str) {
    use std::io::Write;
    let _ = writeln!(std::io::stdout(), "{line}");
}

/// `3` is the seeds 1, 2, 3; with a comma, the seeds themselves.
fn seeds(text: &str) -> Result<Vec<u64>, LabError> {
    let wrong = || {
        LabError::Usage(format!(
            "`{text}` is neither a number of seeds (such as 3) nor a list of them (such as 7,9)"
        ))
    };
    if !text.contains(',') {
        return match text.trim().parse::<u64>() {
            Ok(count @ 1..=1000) => Ok((1..=count).collect()),
            _ => Err(wrong()),
        };
    }
    let parts = text.trim_end_matches(',').split(',');
    parts
        .map(|part| part.trim().parse().map_err(|_| wrong()))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }

    #[test]
    fn seeds_are_a_count_or_a_list() {
        assert_eq!(seeds("3").unwrap(), [1, 2, 3]);
        assert_eq!(seeds("7,9").unwrap(), [7, 9]);
        assert_eq!(seeds("7,").unwrap(), [7]);
        for wrong in ["0", "", "x", "1,x", ",", "-1", "1001"] {
            assert!(
                seeds(wrong).unwrap_err().to_string().contains("neither"),
                "{wrong}"
            );
        }
    }
}
