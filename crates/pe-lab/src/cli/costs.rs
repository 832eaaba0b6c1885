//! `pe-lab costs`: measure what the schemes of a study cost, which `compare --costs` does too.

use std::path::PathBuf;

use super::private::keep_as_private_as;
use super::report::{ForPaper, Show, show};
use super::signals::stop_of_trials;
use crate::console::tell;
use crate::error::LabError;
use crate::folder::StudyFolder;
use crate::run::{Stop, Study};

/// The flags of `costs`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct CostsArgs {
    /// The study's folder
    #[arg(value_name = "FOLDER", default_value = StudyFolder::DEFAULT)]
    folder: PathBuf,
    #[command(flatten)]
    show: Show,
}

impl CostsArgs {
    /// Measures, writes the report again, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let study = Study::load(&self.folder)?;
        keep_as_private_as(study.tasks().files())?;
        measure(&study, &stop_of_trials()?, &self.show)?;
        let (outcomes, paper) = (study.outcomes()?, ForPaper::default());
        show(&study, &outcomes, &self.show, paper, study.folder())
    }
}

/// Measures the costs of a study's schemes.
pub(super) fn measure(study: &Study, stop: &Stop, how: &Show) -> Result<(), LabError> {
    let program = std::env::current_exe().map_err(LabError::file("pe-lab".as_ref()))?;
    let costs = study.measure_costs(&program, stop, &how.progress())?;
    let left_out = costs.not_measured(study.spec().schemes.iter().map(String::as_str));
    if !left_out.is_empty() {
        tell(&format!(
            "not measured, since no trial of {} was begun with them: {}",
            costs.task,
            left_out.join(", ")
        ));
    }
    if let (false, Some(others)) = (costs.quiet(), costs.others()) {
        tell(&format!(
            "other programs kept up to {others:.1} processor cores busy meanwhile, so the report leaves these times out; \
             `pe-lab costs {}` measures them again",
            study.folder().path().display()
        ));
    }
    Ok(())
}
