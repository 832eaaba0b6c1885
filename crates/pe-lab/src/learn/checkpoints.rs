//! Checkpoints that are whole or not there, and from which of them a training can go on.

use burn::lr_scheduler::LrSchedulerRecord;
use burn::optim::OptimizerRecord;
use burn::store::ModuleRecord;
use burn::tensor::Bytes;
use burn::train::checkpoint::{Checkpoint, Checkpointer, CheckpointerError};

use super::losses::Losses;
use crate::data;
use crate::error::LabError;
use crate::folder::{Entry, TrialFolder, names, of_digest, read_sealed, remove, write_whole};

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

/// Where a training can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// The epochs after which it goes on; 0 without a checkpoint.
    pub epochs: usize,
    /// The epochs of later checkpoints that are not as they were written.
    pub damaged: Vec<usize>,
}

/// The most bytes of a part of a checkpoint.
const MOST_BYTES: u64 = 16 << 30;

/// The most bytes of the file of a digest.
const MOST_OF_DIGEST: u64 = 1_000;

/// One of the three parts of a checkpoint: a burnpack, written whole or not at all, and beside it the digest of its bytes.
pub(super) struct Part {
    folder: Entry,
    name: &'static str,
}

impl Part {
    /// The parts of a checkpoint of the model, the optimizer and the schedule.
    pub fn all(folder: &TrialFolder) -> [Self; 3] {
        ["model", "optim", "scheduler"].map(|name| Self {
            folder: folder.checkpoints(),
            name,
        })
    }

    /// The burnpack and its digest.
    fn files(&self, epoch: usize) -> [Entry; 2] {
        ["bpk", "sha256"].map(|ending| {
            let name = format!("{}-{epoch}.{ending}", self.name);
            self.folder.entry(name)
        })
    }

    /// Whether the part is there as it was written.
    fn is_whole<R: Checkpoint>(&self, epoch: usize) -> bool {
        self.read::<R>(epoch).is_ok()
    }

    /// The part, if it is there as it was written. What Burn is given are bytes, so that it reads no file itself.
    fn read<R: Checkpoint>(&self, epoch: usize) -> Result<R, CheckpointerError> {
        let [file, digest] = self.files(epoch);
        let digest = digest.read(MOST_OF_DIGEST);
        let digest = digest.map_err(CheckpointerError::IOError)?;
        let digest = String::from_utf8_lossy(digest.trim_ascii());
        let bytes = of_digest(&file, Some(&digest), MOST_BYTES);
        let bytes = bytes.map_err(CheckpointerError::IOError)?;
        R::checkpoint_from_bytes(Bytes::from_bytes_vec(bytes)).map_err(CheckpointerError::Record)
    }
}

impl<R: Checkpoint> Checkpointer<R> for Part {
    fn save(&self, epoch: usize, record: R) -> Result<(), CheckpointerError> {
        let bytes = record
            .checkpoint_into_bytes()
            .map_err(CheckpointerError::Record)?;
        let [file, digest] = self.files(epoch);
        let write = |file: &Entry, bytes: &[u8]| {
            write_whole(file, bytes).map_err(|error| CheckpointerError::Unknown(error.to_string()))
        };
        write(&file, &bytes)?;
        write(&digest, data::digest(&bytes).as_bytes())
    }

    fn delete(&self, epoch: usize) -> Result<(), CheckpointerError> {
        for file in self.files(epoch) {
            remove(&file).map_err(|error| CheckpointerError::Unknown(error.to_string()))?;
        }
        Ok(())
    }

    fn restore(&self, epoch: usize) -> Result<R, CheckpointerError> {
        self.read(epoch)
    }
}

/// The losses up to the last checkpoint.
pub(super) fn stored_losses(folder: &TrialFolder) -> Result<Losses, LabError> {
    let (losses, sealed): (Losses, bool) = read_sealed(&folder.losses())?;
    match sealed {
        true => Ok(losses),
        false => Err(LabError::Content {
            path: folder.losses().to_path_buf(),
            reason: "it is not as it was written: its digest is missing".into(),
        }),
    }
}

/// Where a training of `steps` steps can go on.
///
/// It is the newest checkpoint whose files are all as they were written, since a process that is killed may
/// leave some of them, and a disk may damage them. At least one step must be left, so that there is something to
/// measure the time of.
pub fn last_checkpoint(folder: &TrialFolder, steps: usize) -> LastCheckpoint {
    let names = names(&folder.checkpoints()).unwrap_or_default();
    let mut epochs: Vec<usize> = names
        .iter()
        .filter_map(|name| {
            let name = name.to_str()?;
            name.strip_prefix("scheduler-")?
                .strip_suffix(".bpk")?
                .parse()
                .ok()
        })
        .collect();
    epochs.sort_unstable();
    let losses = stored_losses(folder).map_or(0, |losses| losses.training.len());
    let [model, optimizer, schedule] = Part::all(folder);
    let mut last = LastCheckpoint::default();
    for epoch in epochs.into_iter().rev() {
        let done = epoch.saturating_mul(EPOCH);
        if done >= steps {
            continue;
        }
        if done <= losses
            && model.is_whole::<ModuleRecord>(epoch)
            && optimizer.is_whole::<OptimizerRecord>(epoch)
            && schedule.is_whole::<LrSchedulerRecord>(epoch)
        {
            last.epochs = epoch;
            break;
        }
        last.damaged.push(epoch);
    }
    last
}
