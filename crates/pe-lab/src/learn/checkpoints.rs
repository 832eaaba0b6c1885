//! Checkpoints, each written whole or not at all, and which of them a training can go on from.

use burn::module::Module;
use burn::optim::OptimizerRecord;
use burn::store::{ModuleRecord, RecordError};
use burn::tensor::Bytes;
use pe_encoder::ModuleAdam;

use super::losses::Losses;
use super::model::Model;
use crate::data::digest;
use crate::error::LabError;
use crate::folder::{
    Entry, TrialFolder, make_folder, names, of_digest, read_sealed, remove, write_sealed,
    write_whole,
};

/// Steps between two checkpoints, and between two tests on held-out sequences of a short training.
pub const EPOCH: usize = 50;

/// The number of checkpoints that are kept.
const KEPT: usize = 2;

/// The most bytes of a part of a checkpoint.
const MOST_BYTES: u64 = 16 << 30;

/// The most bytes of the file of a digest.
const MOST_OF_DIGEST: u64 = 1_000;

/// The checkpoints of a training: one every [`EPOCH`] steps, of which the last two are kept.
///
/// A checkpoint is the weights and the state of the optimizer, each in a file of Burn's own format with the digest of its bytes
/// beside it. The losses up to the last one are in a file of their own. Nothing else has a state: batches, random numbers and the
/// learning rate follow from the number of the step.
#[derive(Clone, Copy, Debug)]
pub struct Checkpoints<'a> {
    /// The folder of the training.
    pub folder: &'a TrialFolder,
    /// The checkpoint to go on from, by its number of epochs of [`EPOCH`] steps; 0 starts anew.
    pub after: usize,
}

/// The last checkpoint from which a training can go on.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LastCheckpoint {
    /// The epochs after which it goes on; 0 without a checkpoint.
    pub epochs: usize,
    /// The epochs of later checkpoints that are not as they were written.
    pub damaged: Vec<usize>,
}

impl Checkpoints<'_> {
    /// What the training goes on from: the model and the optimizer with the state of the checkpoint, and the losses up to it.
    pub(super) fn start(
        &self,
        model: Model,
        optimizer: ModuleAdam,
    ) -> Result<(Model, ModuleAdam, Losses), LabError> {
        make_folder(&self.folder.checkpoints())?;
        if self.after == 0 {
            return Ok((model, optimizer, Losses::default()));
        }
        let (weights, state) = records(self.folder, self.after)?;
        let losses = read_sealed::<Losses>(&self.folder.losses())?.up_to(self.after * EPOCH);
        Ok((
            model.load_record(weights),
            optimizer.load_record(state),
            losses,
        ))
    }

    /// Writes the checkpoint of an epoch, and removes those that are no longer kept.
    pub(super) fn write(
        &self,
        epoch: usize,
        model: &Model,
        optimizer: &ModuleAdam,
        losses: &Losses,
    ) -> Result<(), LabError> {
        let failed = |error: RecordError| LabError::Machine(error.to_string());
        write_sealed(&self.folder.losses(), losses)?;
        let parts = [
            model.clone().into_record().into_bytes().map_err(failed)?,
            optimizer.to_record().into_bytes().map_err(failed)?,
        ];
        for ([file, of_file], bytes) in files(self.folder, epoch).iter().zip(parts) {
            write_whole(file, &bytes)?;
            write_whole(of_file, digest(&bytes).as_bytes())?;
        }
        let Some(old) = epoch.checked_sub(KEPT) else {
            return Ok(());
        };
        files(self.folder, old)
            .iter()
            .flatten()
            .try_for_each(remove)
    }
}

/// The files of a checkpoint: of the weights and of the optimizer, each with the file of its digest.
fn files(folder: &TrialFolder, epoch: usize) -> [[Entry; 2]; 2] {
    let folder = folder.checkpoints();
    ["model", "optim"].map(|part| {
        ["bpk", "sha256"].map(|ending| folder.entry(format!("{part}-{epoch}.{ending}")))
    })
}

/// A part of a checkpoint, if its bytes are those that were written. Burn gets the bytes and opens no file.
fn read<R>(
    [file, of_file]: &[Entry; 2],
    parsed: fn(Bytes) -> Result<R, RecordError>,
) -> Result<R, LabError> {
    let bytes = of_file.read(MOST_OF_DIGEST).and_then(|digest| {
        let digest = String::from_utf8_lossy(digest.trim_ascii());
        of_digest(file, Some(&digest), MOST_BYTES)
    });
    let bytes = Bytes::from_bytes_vec(bytes.map_err(LabError::file(file))?);
    parsed(bytes).map_err(LabError::content(file))
}

/// The weights and the state of the optimizer in the checkpoint of an epoch.
fn records(
    folder: &TrialFolder,
    epoch: usize,
) -> Result<(ModuleRecord, OptimizerRecord), LabError> {
    let [model, optimizer] = files(folder, epoch);
    Ok((
        read(&model, ModuleRecord::from_bytes)?,
        read(&optimizer, OptimizerRecord::from_bytes)?,
    ))
}

/// The last checkpoint from which a training of `steps` steps can go on.
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
            name.strip_prefix("optim-")?
                .strip_suffix(".bpk")?
                .parse()
                .ok()
        })
        .filter(|epoch: &usize| epoch.saturating_mul(EPOCH) < steps)
        .collect();
    epochs.sort_unstable();
    let losses = read_sealed::<Losses>(&folder.losses()).map_or(0, |losses| losses.training.len());
    let is_whole = |epoch: usize| epoch * EPOCH <= losses && records(folder, epoch).is_ok();
    let mut last = LastCheckpoint::default();
    for epoch in epochs.into_iter().rev() {
        if is_whole(epoch) {
            last.epochs = epoch;
            break;
        }
        last.damaged.push(epoch);
    }
    last
}
