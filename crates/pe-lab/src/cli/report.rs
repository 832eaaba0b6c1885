//! `pe-lab report`: the report of a study, which `compare` writes too.

use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use super::placed;
use super::private::keep_as_private_as;
use super::terminal::{print_json, print_line};
use crate::console::tell;
use crate::error::LabError;
use crate::folder::{StudyFolder, is_there};
use crate::report::Report;
use crate::run::{Outcomes, Study, provenance};

/// How a report is shown.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Show {
    /// Print the numbers and sentences of the report as JSON, in place of the table
    #[arg(long)]
    json: bool,
    /// Print the report and errors, and nothing else: no description of the data, no progress
    #[arg(long, short)]
    pub quiet: bool,
    /// Open the page of the report in the browser
    #[arg(long)]
    open: bool,
}

/// The flags of `report`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct Args {
    /// The study's folder
    #[arg(value_name = "FOLDER", default_value = super::compare::OUT)]
    folder: PathBuf,
    /// Write the report to another folder, and leave the study as it is
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    show: Show,
}

impl Args {
    /// Writes the report of the study in a folder, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let study = Study::load(&self.folder)?;
        keep_as_private_as(study.tasks().files())?;
        let to = match &self.out {
            None => study.folder().clone(),
            Some(out) => {
                std::fs::create_dir_all(out).map_err(LabError::file(out))?;
                let to = StudyFolder::at(out);
                // A report would take the place of that study's own.
                if is_there(&to.spec())? && to != *study.folder() {
                    return Err(LabError::Usage(format!(
                        "{} holds a study of its own; choose another folder with --out",
                        out.display()
                    )));
                }
                to
            }
        };
        show(&study, &study.outcomes()?, &self.show, &to)
    }
}

/// Writes the report of a study to a folder and prints it. The exit code is 1 if a trial has no score.
pub(super) fn show(
    study: &Study,
    outcomes: &Outcomes,
    how: &Show,
    to: &StudyFolder,
) -> Result<u8, LabError> {
    let report = Report::of(study, outcomes);
    let files = match to == study.folder() {
        true => report.write(to)?,
        false => placed::write(&report, to.path())?,
    };
    if how.json {
        print_json(&report.json()?);
    } else {
        print_line(&report.table());
        if let [page, others @ ..] = &files[..] {
            print_line(&format!(
                "wrote {} and {} files beside it",
                page.display(),
                others.len()
            ));
        }
    }
    if !how.quiet {
        provenance(&outcomes.results)
            .iter()
            .for_each(|line| tell(line));
    }
    for (trial, reason) in &outcomes.missing {
        if let Some(reason) = reason {
            tell(&format!("{} has no result: {reason}", trial.id()));
        }
    }
    let not_run = outcomes.missing.iter().filter(|trial| trial.1.is_none());
    match not_run.count() {
        0 => {}
        count => tell(&format!("{count} of the trials have not been run yet")),
    }
    if !outcomes.missing.is_empty() {
        tell("run `pe-lab compare` on this folder again to try the missing trials");
    }
    if how.open {
        open(&to.page());
    }
    Ok(u8::from(outcomes.without_score() > 0))
}

/// Opens a file or the address of a page with the program that the system has for it. A system without one gets
/// a line that says so, since the report itself is written.
pub(super) fn open(file: &Path) {
    let (program, arguments): (&str, &[&str]) = match std::env::consts::OS {
        "macos" => ("open", &[]),
        "windows" => ("cmd", &["/C", "start", ""]),
        _ => ("xdg-open", &[]),
    };
    let mut command = Command::new(program);
    // A name that begins with a dash is no option.
    let file = Path::new(".").join(file);
    command.args(arguments).arg(&file);
    // What the browser says is not ours to print.
    let command = command
        .stdin(Stdio::null())
        .stdout(Stdio::null())
        .stderr(Stdio::null());
    match command.status() {
        Ok(status) if status.success() => {}
        Ok(status) => tell(&format!(
            "{} was not opened: {program} ended with {status}",
            file.display()
        )),
        Err(error) => tell(&format!(
            "{} was not opened: {program}: {error}",
            file.display()
        )),
    }
}
