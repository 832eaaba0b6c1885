//! `pe-lab merge`: the parts of a study, run on several machines, become one study.

use std::path::PathBuf;

use super::private::keep_as_private_as;
use super::report::{ForPaper, Show, show};
use crate::error::LabError;
use crate::run::{Study, merge};

/// The arguments of `merge`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct MergeArgs {
    /// The folders of the parts
    #[arg(value_name = "FOLDER", required = true)]
    parts: Vec<PathBuf>,
    /// Folder for the whole study. A study in it stays, and what it lacks is added
    ///
    /// Costs are not merged: `pe-lab costs` measures those of the whole.
    #[arg(long, value_name = "FOLDER")]
    out: PathBuf,
    #[command(flatten)]
    show: Show,
}

impl MergeArgs {
    /// Merges, writes the report, and returns the exit code: 3 if trials are missing.
    pub fn run(&self) -> Result<u8, LabError> {
        if let Some(first) = self.parts.first() {
            keep_as_private_as(Study::load(first)?.tasks().files())?;
        }
        let study = merge(&self.parts, &self.out)?;
        let (outcomes, paper) = (study.outcomes()?, ForPaper::default());
        let code = show(&study, &outcomes, &self.show, paper, study.folder())?;
        Ok(if outcomes.missing.is_empty() { code } else { 3 })
    }
}
