//! The batches of a task as a data loader for `burn-train`.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;

use super::batch::TensorBatch;
use super::checkpoints::EPOCH;
use crate::ask::Scheme;
use crate::task::Task;

/// The training batches of a task. An epoch is [`EPOCH`] batches, or what is left of them.
#[derive(Clone)]
pub(super) struct Batches {
    pub task: Arc<dyn Task>,
    pub scheme: Scheme,
    pub batch_size: usize,
    /// The number of batches of the whole training.
    pub steps: usize,
    pub seed: u64,
    pub device: Device,
    /// The number of the next batch.
    pub next_step: Arc<AtomicUsize>,
    /// Tokens handed out so far.
    pub tokens: Arc<AtomicUsize>,
}

/// One epoch.
struct Epoch<'a> {
    batches: &'a Batches,
    done: usize,
    total: usize,
}

impl Iterator for Epoch<'_> {
    type Item = Result<TensorBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        if self.done == self.total {
            return None;
        }
        self.done += 1;
        let Batches {
            task,
            scheme,
            seed,
            batch_size,
            device,
            next_step,
            tokens,
            ..
        } = self.batches;
        let step = next_step.fetch_add(1, Ordering::Relaxed);
        let samples = task.train_batch(*seed, step, *batch_size);
        tokens.fetch_add(
            samples.iter().map(|s| s.tokens.len()).sum(),
            Ordering::Relaxed,
        );
        let batch = TensorBatch::new(&samples, task.readout(), device);
        let batch = batch.at(&samples, &mut scheme.for_training(*seed, step));
        Some(batch.map_err(DatasetError::new))
    }
}

impl DataLoaderIterator<TensorBatch> for Epoch<'_> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.total, Some("steps".into()))
    }
}

impl DataLoader<TensorBatch> for Batches {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<TensorBatch> + 'a> {
        let left = self.steps - self.next_step.load(Ordering::Relaxed).min(self.steps);
        Box::new(Epoch {
            batches: self,
            done: 0,
            total: left.min(EPOCH),
        })
    }

    fn num_items(&self) -> usize {
        self.steps.min(EPOCH)
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(Self {
            device: device.clone(),
            ..self.clone()
        })
    }

    /// The whole loader. Training runs on one device, so the batches are never divided.
    fn slice(&self, _start: usize, _end: usize) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(self.clone())
    }
}

/// An empty loader for validation: the model is tested after training, not during it.
pub(super) struct NoBatches;

/// No batch.
struct Nothing;

impl Iterator for Nothing {
    type Item = Result<TensorBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        None
    }
}

impl DataLoaderIterator<TensorBatch> for Nothing {
    fn progress(&self) -> Progress {
        Progress::new(0, 0, None)
    }
}

impl DataLoader<TensorBatch> for NoBatches {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<TensorBatch> + 'a> {
        Box::new(Nothing)
    }

    fn num_items(&self) -> usize {
        0
    }

    fn to_device(&self, _device: &Device) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(NoBatches)
    }

    fn slice(&self, _start: usize, _end: usize) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(NoBatches)
    }
}
