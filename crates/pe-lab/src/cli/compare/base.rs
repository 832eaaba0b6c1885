//! The plan that the flags of `compare` change.

use std::path::PathBuf;

use super::CompareArgs;
use crate::ask::{Plan, StudySpec};
use crate::error::LabError;
use crate::folder::{StudyFolder, is_same, is_there, read_sealed};

impl CompareArgs {
    /// The plan of the file, the preset or the folder, and whether it is a preset's.
    pub(super) fn base(&self) -> Result<(Plan, bool), LabError> {
        let folder = StudyFolder::at(&self.out);
        // This also holds where `--data` names the study's data again.
        let there = match is_there(&folder.spec())? {
            true => Some(plan_in(&folder)?),
            false => None,
        };
        let (plan, is_preset) = match (&self.study, &self.preset, &there) {
            (Some(file), ..) => (Plan::read(file)?, false),
            (None, Some(name), _) => (Plan::preset(name)?, true),
            (None, None, Some(there)) => (there.clone(), false),
            (None, None, None) if self.data.is_some() => (Plan::preset("standard")?, true),
            (None, None, None) => (Plan::preset("quick")?, true),
        };
        Ok(match there {
            // A folder with a study keeps its own seeds and steps, so a budget chooses nothing there.
            Some(Plan { seeds, .. }) if self.budget.is_some() => {
                let kept = Plan {
                    seeds,
                    steps: None,
                    ..plan
                };
                (kept, is_preset)
            }
            _ => (plan, is_preset),
        })
    }

    /// The data of `--data`, unless they are those of the file of the study, whose settings then stay. Of other data they are left out,
    /// which is said.
    pub(super) fn other_data(&self, base: &Plan) -> Option<PathBuf> {
        let (Some(file), Some(asked), Some(of_file)) = (&self.study, &self.data, &base.data) else {
            return self.data.clone();
        };
        if asked == of_file || is_same(asked, of_file) {
            return None;
        }
        let settings = [
            ("folds", base.folds.is_some()),
            ("labels", base.labels.is_some()),
            ("test", base.test.is_some()),
            ("tokenizer", base.tokenizer.is_some()),
            ("[reading]", base.reading.is_some()),
        ];
        let lost = settings.iter().filter(|(_, is_set)| *is_set);
        let lost: Vec<&str> = lost.map(|(name, _)| *name).collect();
        if !lost.is_empty() {
            self.say(&format!(
                "left out of {}, since --data names another file: {}",
                file.display(),
                lost.join(", ")
            ));
        }
        Some(asked.clone())
    }
}

/// The plan of the study in a folder.
fn plan_in(folder: &StudyFolder) -> Result<Plan, LabError> {
    let there: StudySpec = read_sealed(&folder.spec())?;
    Ok(there.plan().inside(folder.path()))
}
