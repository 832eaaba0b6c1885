//! The command line.

mod compare;
mod plot;
mod train;

use std::path::PathBuf;

use clap::{Parser, Subcommand};

use crate::device;
use crate::error::LabError;
use crate::report::Report;
use crate::scheme;
use crate::study::Study;
use crate::task;
use crate::worker;

/// Which positional encoding, for which data?
///
/// A transformer sees its input as a bag of tokens: it has to be told where each token stands. There
/// are several ways to tell it (the "schemes": a vector added to each token, a rotation of what
/// attention compares, a score for each distance, nothing at all). This program trains the same tiny transformer with each of them on
/// small tasks or on your own data, tests it, also on longer inputs than it was trained on, and
/// reports who wins and how sure that is.
///
/// Without a command it runs `compare`.
#[derive(Debug, Parser)]
#[command(name = "pe-lab", version, args_conflicts_with_subcommands = true)]
#[command(after_help = "\
Words:
  scheme    a way to tell the model where a token stands
  task      what the model has to learn; a toy, or real data
  seed      the start of the random numbers: the same training with another seed is another try
  study     schemes x tasks x seeds, in one folder; each combination is a trial
  step      one batch of examples, after which the model is improved a little

Exit codes: 0 all went well, 1 a trial or the study failed or was stopped, 2 wrong use.")]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compare: compare::Args,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train every scheme on every task, several times over, and report who wins
    Compare(compare::Args),
    /// Train one scheme on one task and watch it
    ///
    /// On a terminal Burn's dashboard shows the loss while it falls (Ctrl-C or the key q stops it), elsewhere a
    /// line every 50 steps. A training that was stopped or killed goes on with --resume.
    Train(train::Args),
    /// Write the report of a study again, from its files, without training
    Report {
        /// The study's folder
        #[arg(value_name = "FOLDER", default_value = compare::OUT)]
        folder: PathBuf,
    },
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

impl Cli {
    /// Runs the command and gives back the exit code.
    ///
    /// # Errors
    ///
    /// Whatever goes wrong, with its own exit code.
    pub fn run(self) -> Result<u8, LabError> {
        match self.command {
            None => self.compare.run(),
            Some(Command::Compare(args)) => args.run(),
            Some(Command::Train(args)) => args.run(),
            Some(Command::Report { folder }) => show(&Study::load(&folder)?),
            Some(Command::Trial { folder }) => worker::serve(&folder).map(|()| 0),
            Some(Command::Plot(args)) => plot::run(&args),
            Some(Command::Tasks) => {
                for task in task::all() {
                    print_line(&format!(
                        "{:<18} {} ({})",
                        task.name(),
                        task.about(),
                        task.source()
                    ));
                }
                Ok(0)
            }
            Some(Command::Schemes) => {
                for name in scheme::names() {
                    print_line(&format!("{name:<22} {}", scheme::about(name)));
                }
                Ok(0)
            }
            Some(Command::Devices) => {
                for entry in device::DEVICES {
                    let here = match device::open(entry.name) {
                        Ok(_) => String::new(),
                        Err(LabError::NoDevice { .. }) => " (none on this machine)".to_string(),
                        Err(_) => format!(" (needs a build with --features {})", entry.feature),
                    };
                    print_line(&format!("{:<10} {}{here}", entry.name, entry.about));
                }
                Ok(0)
            }
        }
    }
}

/// Writes a study's report and prints its table.
fn show(study: &Study) -> Result<u8, LabError> {
    let report = Report::of(study);
    let files = report.write()?;
    print_line(&report.table());
    if let [page, others @ ..] = &files[..] {
        print_line(&format!(
            "wrote {} and {} files beside it",
            page.display(),
            others.len()
        ));
    }
    for (trial, reason) in &study.missing {
        if let Some(reason) = reason {
            eprintln!("{} has no result: {reason}", trial.id());
        }
    }
    let not_run = study.missing.iter().filter(|missing| missing.1.is_none());
    match not_run.count() {
        0 => {}
        count => eprintln!("{count} of the trials have not been run yet"),
    }
    if !study.missing.is_empty() {
        eprintln!("run `pe-lab compare` on this folder again to try the missing trials");
    }
    Ok(u8::from(study.without_score() > 0))
}

/// Prints to a pipe that may be closed: a reader that has seen enough is no error. A full disk is.
fn print_line(line: &str) {
    use std::io::{ErrorKind, Write};
    match writeln!(std::io::stdout(), "{line}") {
        Err(error) if error.kind() != ErrorKind::BrokenPipe => {
            eprintln!("error: standard output: {error}");
            std::process::exit(1);
        }
        _ => {}
    }
}

/// Calls back on Ctrl-C, and when the program is asked to end.
fn on_stop(stop: impl Fn() + Send + 'static) -> Result<(), LabError> {
    ctrlc::set_handler(stop)
        .map_err(|error| LabError::Usage(format!("Ctrl-C cannot be listened to: {error}")))
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::CommandFactory;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
