//! The command line.

mod array;
mod compare;
mod costs;
mod inspect;
mod judge;
mod merge;
mod names;
mod placed;
mod plot;
mod predict;
mod private;
mod report;
mod rows;
mod serve;
mod shortage;
mod signals;
mod sizes;
mod terminal;
mod train;

use std::path::{Path, PathBuf};
use std::process::ExitCode;

use clap::{Arg, CommandFactory, FromArgMatches, Parser, Subcommand};

use crate::ask::{Lab, ModelSpec, OTHER_SCALINGS, REFUSED, Scheme, Tasks};
use crate::console::tell;
use crate::device;
use crate::error::LabError;
use crate::folder::make_named_folder;
use crate::run;
use crate::task::Causal;
use terminal::print_line;

/// Which positional encoding, for which data?
///
/// A transformer does not see the order of its input by itself: it has to be told the position of each
/// token. There are several ways to tell it (the "schemes": a vector added to each token, a rotation of
/// queries and keys, a score for each distance, or nothing at all). This program trains the same small
/// transformer with each of them on small tasks or on your own data, tests it, also on longer inputs
/// than it was trained on, and reports which scheme did best and how sure that is.
///
/// Without a command it runs `compare`.
#[derive(Debug, Parser)]
#[command(name = "pe-lab", version, args_conflicts_with_subcommands = true)]
#[command(after_long_help = "\
Words:
  scheme    a way to tell the model the position of each token
  task      what the model has to learn: a generated toy, or real data
  seed      where the random numbers start; another seed repeats a training with other numbers
  study     schemes x tasks x seeds, in one folder; each combination is a trial
  step      one batch of examples, and one update of the model's weights

Environment: NO_COLOR turns colours off.
Exit codes: 0 success, 1 a trial or the study failed or was stopped, 2 wrong use, 3 trials are missing after `merge`.")]
pub struct Cli {
    #[command(subcommand)]
    command: Option<Command>,
    #[command(flatten)]
    compare: compare::CompareArgs,
}

#[derive(Debug, Subcommand)]
enum Command {
    /// Train every scheme on every task with several seeds, and report which one did best
    Compare(Box<compare::CompareArgs>),
    /// Train one scheme on one task and watch it
    ///
    /// A line every 50 steps has the mean loss of these steps, and some have the loss on held-out sequences; on a terminal a bar
    /// has the loss of the last step. Ctrl-C stops the training. One that was stopped or killed goes on with --resume.
    Train(Box<train::TrainArgs>),
    /// Write the report of a study again, or put several studies beside each other
    ///
    /// From the files of the study, without training.
    ///
    /// With --paper it also writes what a paper takes: tables as Markdown and LaTeX, a paragraph of methods, pictures as PDF.
    /// Several studies get one report: what differs between them, their verdicts, and the scores of every test that they have
    /// in common.
    Report(report::ReportArgs),
    /// Judge scores of trainings that were run elsewhere
    ///
    /// From a table of scheme, task, seed and score.
    ///
    /// The statistics are those of a study. What only a study knows, such as whether trainings had converged, is left out.
    Judge(judge::JudgeArgs),
    /// Measure what each scheme of a study costs, and write its report again
    ///
    /// Time per training step, tokens per second of training, of a forward pass and of decoding from a cache, and
    /// memory, at the training length and at longer ones. Run it when the machine is idle: with other programs at
    /// work the report leaves the times out.
    Costs(costs::CostsArgs),
    /// Make one study of the parts that `compare --shard` ran on several machines
    ///
    /// The folders must hold parts of the same study. A trial that is in several of them must have the same
    /// numbers in each.
    Merge(merge::MergeArgs),
    /// Print a script for sbatch that runs a study in parts on a Slurm cluster
    Slurm(array::SlurmArgs),
    /// Print a script that runs a study in parts on HyperQueue
    Hyperqueue(array::ArrayArgs),
    /// Predict labels, answers or numbers with the best model of a study of your own data
    ///
    /// Prints CSV, a line for each row, series or file: its number or name, and then the predicted label and its
    /// probability, or the predicted number or answer. A forecast has a line for each row that has enough rows before it, and
    /// one for the row after the last. The model is the one in winner.json of the study's folder.
    Predict(predict::PredictArgs),
    /// Draw the sinusoidal encoding, rotary positions or ALiBi, as SVG, PNG or PDF
    Plot(plot::PlotArgs),
    /// Tell what positions do in a model from Hugging Face, from its config.json
    ///
    /// Layer by layer, for whoever ports a model: which layers rotate queries and keys, which columns make a pair, the base,
    /// the scaling, the wavelengths, and with --json the rotation of a known query to compare your own code
    /// with.
    Inspect(inspect::InspectArgs),
    /// Show a web page: an encoding under sliders, a study while it runs, a guide
    ///
    /// The page is there for this machine alone (127.0.0.1), needs no network, and writes nothing. Ctrl-C ends
    /// it.
    Serve(serve::ServeArgs),
    /// List the tasks: what the model has to learn
    Tasks,
    /// List the schemes: the ways to tell a model the position of each token
    Schemes,
    /// List the devices: where to compute
    Devices,
    /// Print completions for a shell
    ///
    /// For bash: pe-lab completions bash > ~/.local/share/bash-completion/completions/pe-lab
    Completions {
        /// The shell
        shell: clap_complete::Shell,
    },
    /// Print the manual page, or write one for every command
    Man {
        /// Write pe-lab.1, pe-lab-compare.1 and so on to this folder
        #[arg(long, value_name = "FOLDER")]
        out: Option<PathBuf>,
    },
    /// Run the one trial whose spec.json lies in a folder (used by `compare`)
    #[command(hide = true)]
    Trial {
        /// The trial's folder
        folder: PathBuf,
        /// Measure what its scheme costs at this length, and print it as JSON, in place of the trial
        #[arg(long, value_name = "LENGTH")]
        cost: Option<usize>,
    },
}

/// What the list of schemes says about settings.
const SETTINGS: &str = "
Settings can stand behind a name, such as \"rotary(base=500000, share=0.25)\" (in a shell, between quotes):
  base=B           the base of the wavelengths, of sinusoidal and rotary schemes, xpos, pope and fox_rotary
  share=S          the share of the columns of a head that are rotated, of rotary and randomized_rotary
  scaling=NAME     a scaling of RoPE in training and test, of rotary and randomized_rotary: linear, ntk, dynamic, yarn or llama3
  factor=F         with scaling: how far it stretches [default: longest test length / training length; 1 for dynamic]
  original=N       with scaling dynamic, yarn or llama3: the length it takes as the original one [default: the training length]
  init=S           the trained table starts at N(0, S), of learned, t5, shaw, transformer_xl, deberta, cope, tupe, tupe_r, erpe and inkling
  nope_every=N     every N-th layer has no positions, of schemes that act in the layers
  window=W         layers attend to tokens fewer than W places away, of every scheme
  global_every=N   with window: every N-th layer attends to all tokens";

const TASK_SETTINGS: &str = "
Settings can stand behind a name, such as \"mqar(tokens=64, pairs=4, vocabulary=8192)\" (in a shell, between quotes):
  tokens=T         of mqar: the tokens of the training, even, from 4 to 512; tests have T, 2 T and 4 T [default: 64]
  pairs=P          of mqar: the pairs among T tokens, at most a quarter of them [default: T / 16]
  vocabulary=V     of mqar: the different symbols, half of them keys, even, from 4 T to 65536 [default: 8192]
  others=WHAT      of mqar: what stands at all other places, symbols or blanks [default: symbols]
  train_length=N   of text: the tokens of a training window, from 8 to 512 [default: 64]";

impl Lab {
    /// A program with this laboratory: reads the command line, runs the command, and says what is wrong.
    ///
    /// The workers of a study are this program too, started anew with the hidden command `trial`.
    #[must_use]
    pub fn main(self) -> ExitCode {
        self.install();
        shortage::end_with_a_sentence();
        let command = Cli::command().mut_args(with_negative_numbers);
        let command = command.mut_subcommands(|of| of.mut_args(with_negative_numbers));
        let cli = command
            .try_get_matches()
            .and_then(|of| Cli::from_arg_matches(&of));
        let cli = cli.unwrap_or_else(|error| error.exit());
        match cli.run() {
            Ok(code) => ExitCode::from(code),
            Err(error) => {
                tell(&format!("error: {error}"));
                ExitCode::from(error.exit_code())
            }
        }
    }
}

/// Lets a flag take a negative number as its value, and not as another flag, so that it can say which values it takes.
fn with_negative_numbers(flag: Arg) -> Arg {
    let takes_value = flag.get_long().is_some() && flag.get_action().takes_values();
    flag.allow_negative_numbers(takes_value)
}

impl Cli {
    /// Runs the command, and returns the exit code.
    ///
    /// # Errors
    ///
    /// Any error of the laboratory; [`LabError::exit_code`] is the exit code for it.
    pub fn run(self) -> Result<u8, LabError> {
        match self.command {
            None => self.compare.run(),
            Some(Command::Compare(args)) => args.run(),
            Some(Command::Train(args)) => args.run(),
            Some(Command::Report(args)) => args.run(),
            Some(Command::Judge(args)) => args.run(),
            Some(Command::Costs(args)) => args.run(),
            Some(Command::Merge(args)) => args.run(),
            Some(Command::Slurm(args)) => args.run(),
            Some(Command::Hyperqueue(args)) => args.hyperqueue(),
            Some(Command::Trial { folder, cost: None }) => run::serve(&folder).map(|()| 0),
            Some(Command::Trial {
                folder,
                cost: Some(length),
            }) => {
                print_line(&run::serve_cost(&folder, length)?);
                Ok(0)
            }
            Some(Command::Predict(args)) => args.run(),
            Some(Command::Plot(args)) => plot::run(&args),
            Some(Command::Inspect(args)) => inspect::run(&args),
            Some(Command::Serve(args)) => args.run(),
            Some(Command::Completions { shell }) => {
                let mut script = Vec::new();
                clap_complete::generate(shell, &mut Self::command(), "pe-lab", &mut script);
                print_line(String::from_utf8_lossy(&script).trim_end());
                Ok(0)
            }
            Some(Command::Man { out }) => manual(out.as_deref()).map(|()| 0),
            Some(Command::Tasks) => {
                list_tasks();
                Ok(0)
            }
            Some(Command::Schemes) => {
                list_schemes();
                Ok(0)
            }
            Some(Command::Devices) => {
                list_devices();
                Ok(0)
            }
        }
    }
}

/// Prints a line for each task, and their settings.
fn list_tasks() {
    for task in Tasks::default().every() {
        let model = match (task.causal(), Causal::of(task.clone())) {
            (true, _) => "decoder",
            (false, Ok(_)) => "encoder; decoder with --causal",
            (false, Err(_)) => "encoder",
        };
        print_line(&format!(
            "{:<18} {} ({}) [{model}]",
            task.name(),
            task.about(),
            task.source()
        ));
    }
    print_line(TASK_SETTINGS);
}

/// Prints a line for each scheme, their settings, and the schemes of the library that are not available here.
fn list_schemes() {
    for name in Scheme::names() {
        print_line(&format!("{name:<22} {}", Scheme::description(name)));
    }
    let model = ModelSpec::default();
    let takes_times = |name: &&str| {
        let scheme = Scheme::by_name(name, &model, 64);
        scheme.is_ok_and(|scheme| scheme.takes_times())
    };
    let of_times: Vec<&str> = Scheme::names().filter(takes_times).collect();
    print_line(&format!(
        "\nSchemes that take real positions, such as times: {}; the others get 0, 1, 2, …",
        of_times.join(", ")
    ));
    print_line(SETTINGS);
    print_line("\nSchemes and scalings of pe-burn that are not here:");
    for (name, why) in REFUSED.iter().chain(&OTHER_SCALINGS) {
        print_line(&format!("  {name:<16} {why}"));
    }
}

/// Prints a line for each device, and whether it is here.
fn list_devices() {
    for entry in device::DEVICES {
        let here = match device::open(entry.name) {
            Ok(device) => match device::card_of(&device) {
                Some(card) => format!(" (here: {card})"),
                None => String::new(),
            },
            Err(LabError::NoDevice { .. }) => " (none on this machine)".to_string(),
            Err(_) => format!(
                " (needs a build with --features {})",
                entry.feature.unwrap_or_default()
            ),
        };
        print_line(&format!("{:<10} {}{here}", entry.name, entry.about));
    }
}

/// Prints the manual page of the program, or writes one for every command to a folder.
fn manual(out: Option<&Path>) -> Result<(), LabError> {
    let command = Cli::command();
    let Some(out) = out else {
        let mut page = Vec::new();
        let rendered = clap_mangen::Man::new(command).render(&mut page);
        rendered.map_err(LabError::file("pe-lab.1".as_ref()))?;
        print_line(String::from_utf8_lossy(&page).trim_end());
        return Ok(());
    };
    make_named_folder(out)?;
    clap_mangen::generate_to(command, out).map_err(LabError::file(out))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_command_line_is_well_formed() {
        Cli::command().debug_assert();
    }
}
