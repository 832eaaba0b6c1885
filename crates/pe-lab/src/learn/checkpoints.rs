//! From which checkpoint a training can go on.

use std::fs;

use burn::lr_scheduler::LrSchedulerRecord;
use burn::optim::OptimizerRecord;
use burn::store::ModuleRecord;
use burn::train::checkpoint::Checkpoint;

use super::losses::Losses;
use crate::error::LabError;
use crate::folder::{TrialFolder, read_json};

/// Steps between two checkpoints. `burn-train` calls this an epoch.
pub const EPOCH: usize = 50;

/// Whether a training writes checkpoints.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Checkpoints {
    /// It writes none. A trial of a study is short; if it is stopped, it is run again.
    None,
    /// It writes one every [`EPOCH`] steps and keeps the last two. It goes on after this many epochs; 0
    /// starts anew.
    After(usize),
}

/// The losses up to the last checkpoint.
pub(super) fn stored_losses(folder: &TrialFolder) -> Result<Losses, LabError> {
    read_json(&folder.losses())
}

/// The number of epochs after which a training of `steps` steps can go on; 0 without a checkpoint.
///
/// It is that of the newest checkpoint whose files can all be read, since a process that is killed may
/// leave half a file. At least one step must be left, so that there is something to measure the time of.
pub fn last_checkpoint(folder: &TrialFolder, steps: usize) -> usize {
    let checkpoints = folder.checkpoints();
    let names = fs::read_dir(&checkpoints).into_iter().flatten().flatten();
    let mut epochs: Vec<usize> = names
        .filter_map(|entry| {
            let name = entry.file_name();
            let name = name.to_str()?;
            name.strip_prefix("scheduler-")?
                .strip_suffix(".bpk")?
                .parse()
                .ok()
        })
        .collect();
    epochs.sort_unstable();
    let losses = stored_losses(folder).map_or(0, |losses| losses.training.len());
    let whole = |epoch: usize| {
        let file = |part: &str| checkpoints.join(format!("{part}-{epoch}.bpk"));
        epoch * EPOCH <= losses
            && epoch * EPOCH < steps
            && <ModuleRecord as Checkpoint>::load(file("model")).is_ok()
            && <OptimizerRecord as Checkpoint>::load(file("optim")).is_ok()
            && <LrSchedulerRecord as Checkpoint>::load(file("scheduler")).is_ok()
    };
    epochs
        .into_iter()
        .rev()
        .find(|epoch| whole(*epoch))
        .unwrap_or(0)
}
