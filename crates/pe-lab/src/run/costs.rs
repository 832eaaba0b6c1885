//! What the schemes of a study cost.

use serde::{Deserialize, Serialize};

use super::machine::Machine;
use crate::error::LabError;
use crate::folder::{StudyFolder, is_there, read_json};
use crate::learn::Cost;

/// If other programs keep more than this many cores busy, times cannot be compared.
const QUIET: f64 = 0.1;

/// What the schemes of a study cost on one of its tasks.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Costs {
    /// The task.
    pub task: String,
    /// The device.
    pub device: String,
    /// The machine.
    pub machine: Machine,
    /// The schemes, in the order of the study.
    pub schemes: Vec<SchemeCosts>,
}

/// What one scheme costs.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct SchemeCosts {
    /// The scheme.
    pub scheme: String,
    /// Its costs by length, the shortest first.
    pub at: Vec<Cost>,
}

impl Costs {
    /// What was measured for the study in a folder, if anything.
    ///
    /// # Errors
    ///
    /// When the file cannot be read or does not hold costs.
    pub fn of(folder: &StudyFolder) -> Result<Option<Self>, LabError> {
        let file = folder.costs();
        match is_there(&file)? {
            true => read_json(&file).map(Some),
            false => Ok(None),
        }
    }

    /// Which of these schemes were not measured.
    pub fn not_measured<'a>(&self, schemes: impl Iterator<Item = &'a str>) -> Vec<String> {
        let is_measured = |name: &&str| self.schemes.iter().any(|of| of.scheme == *name);
        schemes
            .filter(|name| !is_measured(name))
            .map(Into::into)
            .collect()
    }

    /// The most cores that other programs kept busy during a measurement. `None` where the system does not tell.
    pub fn others(&self) -> Option<f64> {
        let all = self.schemes.iter().flat_map(|of| &of.at);
        all.filter_map(|cost| cost.others).reduce(f64::max)
    }

    /// Whether no other programs are known to have kept the machine busy, so that times can be compared.
    pub fn quiet(&self) -> bool {
        self.others().is_none_or(|others| others <= QUIET)
    }
}
