//! `pe-lab report`: the report of a study, which `compare` writes too.

use std::path::Path;

use super::terminal::print_line;
use crate::error::LabError;
use crate::report::Report;
use crate::run::{Outcomes, Study};

/// Writes the report of the study in a folder, and returns the exit code.
pub(super) fn run(folder: &Path) -> Result<u8, LabError> {
    let study = Study::load(folder)?;
    show(&study, &study.outcomes()?)
}

/// Writes the report of a study and prints its table. The exit code is 1 if a trial has no score.
pub(super) fn show(study: &Study, outcomes: &Outcomes) -> Result<u8, LabError> {
    let report = Report::of(study, outcomes);
    let files = report.write()?;
    print_line(&report.table());
    if let [page, others @ ..] = &files[..] {
        print_line(&format!(
            "wrote {} and {} files beside it",
            page.display(),
            others.len()
        ));
    }
    for (trial, reason) in &outcomes.missing {
        if let Some(reason) = reason {
            eprintln!("{} has no result: {reason}", trial.id());
        }
    }
    let not_run = outcomes.missing.iter().filter(|trial| trial.1.is_none());
    match not_run.count() {
        0 => {}
        count => eprintln!("{count} of the trials have not been run yet"),
    }
    if !outcomes.missing.is_empty() {
        eprintln!("run `pe-lab compare` on this folder again to try the missing trials");
    }
    Ok(u8::from(outcomes.without_score() > 0))
}
