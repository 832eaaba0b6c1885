//! The batches of a task as a data loader for `burn-train`.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, AtomicUsize, Ordering};
use std::time::Instant;

use burn::data::dataloader::{DataLoader, DataLoaderIterator, Progress};
use burn::data::dataset::DatasetError;
use burn::tensor::Device;

use super::batch::TensorBatch;
use super::checkpoints::EPOCH;
use super::model::Model;
use crate::ask::Scheme;
use crate::error::LabError;
use crate::rng::stream_of;
use crate::stats::mean;
use crate::task::{Sample, Task};

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
        let seed = stream_of(task.name(), *seed);
        let samples = task.train_batch(seed, step, *batch_size);
        tokens.fetch_add(
            samples.iter().map(|s| s.input.len()).sum(),
            Ordering::Relaxed,
        );
        let batch = TensorBatch {
            dropout_seed: Some(stream_of("dropout", seed.wrapping_add(step as u64))),
            ..TensorBatch::new(&samples, task.readout(), device)
        };
        let batch = batch.at(&samples, &mut scheme.for_training(seed, step));
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

/// The most held-out sequences of a test along training.
const HELD_OUT: usize = 256;

/// The number of tests along a training of enough steps.
const TESTS: usize = 10;

/// Held-out sequences of the training lengths, for the loss along training: some of each test set of the task inside
/// the training lengths. A choice that depends on them needs a task whose test sets count for nothing else
/// ([`Tuning`](crate::task::Tuning)).
///
/// `burn-train` asks for them after every epoch. They are handed out about [`TESTS`] times, and always after
/// the last step. The loss before the first step is asked for apart: [`loss_before`](Self::loss_before).
#[derive(Clone)]
pub(super) struct HeldOut {
    /// The samples of each batch.
    batches: Vec<Vec<Sample>>,
    task: Arc<dyn Task>,
    scheme: Scheme,
    steps: usize,
    next_step: Arc<AtomicUsize>,
    /// The nanoseconds that these tests took.
    took: Arc<AtomicU64>,
    device: Device,
}

impl HeldOut {
    pub fn new(
        task: Arc<dyn Task>,
        scheme: Scheme,
        steps: usize,
        next_step: Arc<AtomicUsize>,
        took: Arc<AtomicU64>,
        device: &Device,
    ) -> Self {
        let trained = task.train_lengths();
        let lengths: Vec<usize> = task
            .test_lengths()
            .into_iter()
            .filter(|length| trained.contains(length))
            .collect();
        let share = HELD_OUT / lengths.len().max(1);
        let batches = lengths.iter().map(|length| {
            let mut set = task.test_set(*length);
            // Evenly over the set, whose samples may be sorted.
            let every = set.len().div_ceil(share.max(1)).max(1);
            let mut index = 0;
            set.retain(|_| {
                index += 1;
                (index - 1) % every == 0
            });
            set
        });
        Self {
            batches: batches.filter(|batch| !batch.is_empty()).collect(),
            task,
            scheme,
            steps,
            next_step,
            took,
            device: device.clone(),
        }
    }

    /// The loss of a model before its first step. `None` without sequences.
    pub fn loss_before(&self, model: &Model) -> Result<Option<f64>, LabError> {
        let test = Test {
            held_out: self,
            due: true,
            done: 0,
            started: None,
        };
        let losses = test.map(|batch| {
            let batch = batch.map_err(|error| LabError::Machine(error.to_string()))?;
            let loss = model.loss(batch).try_into_scalar::<f64>();
            loss.map_err(|error| LabError::Machine(error.to_string()))
        });
        Ok(mean(losses.collect::<Result<Vec<f64>, LabError>>()?))
    }

    /// Whether there is a test after this many steps.
    fn is_due(&self, done: usize) -> bool {
        let epochs = self.steps.div_ceil(EPOCH).div_ceil(TESTS);
        done == self.steps || done.is_multiple_of(epochs * EPOCH)
    }
}

/// One test along training.
struct Test<'a> {
    held_out: &'a HeldOut,
    due: bool,
    done: usize,
    started: Option<Instant>,
}

impl Iterator for Test<'_> {
    type Item = Result<TensorBatch, DatasetError>;

    fn next(&mut self) -> Option<Self::Item> {
        let HeldOut {
            batches,
            task,
            scheme,
            took,
            device,
            ..
        } = self.held_out;
        let started = *self.started.get_or_insert_with(Instant::now);
        let samples = batches.get(self.done).filter(|_| self.due);
        let Some(samples) = samples else {
            let nanoseconds = u64::try_from(started.elapsed().as_nanos()).unwrap_or(u64::MAX);
            took.fetch_add(nanoseconds, Ordering::Relaxed);
            return None;
        };
        self.done += 1;
        let batch = TensorBatch::new(samples, task.readout(), device);
        // The first draw of random positions, the same at every test.
        Some(match scheme.for_test(0).next() {
            Some(mut source) => batch.at(samples, &mut source).map_err(DatasetError::new),
            None => Ok(batch),
        })
    }
}

impl DataLoaderIterator<TensorBatch> for Test<'_> {
    fn progress(&self) -> Progress {
        Progress::new(self.done, self.held_out.batches.len(), None)
    }
}

impl DataLoader<TensorBatch> for HeldOut {
    fn iter<'a>(&'a self) -> Box<dyn DataLoaderIterator<TensorBatch> + 'a> {
        Box::new(Test {
            held_out: self,
            due: self.is_due(self.next_step.load(Ordering::Relaxed)),
            done: 0,
            started: None,
        })
    }

    fn num_items(&self) -> usize {
        self.batches.len()
    }

    fn to_device(&self, device: &Device) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(Self {
            device: device.clone(),
            ..self.clone()
        })
    }

    /// The whole loader, as for the training.
    fn slice(&self, _start: usize, _end: usize) -> Arc<dyn DataLoader<TensorBatch>> {
        Arc::new(self.clone())
    }
}
