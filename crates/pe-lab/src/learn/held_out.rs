//! The loss on held-out sequences along a training.

use burn::module::Module;
use burn::tensor::Device;

use super::batch::TensorBatch;
use super::losses::read_loss;
use super::model::Model;
use crate::error::LabError;
use crate::stats::mean;
use crate::task::{Sample, Task};

/// The most held-out sequences of a test along training.
const SEQUENCES: usize = 256;

/// Held-out sequences of the training lengths: some of each test set of the task inside the training lengths. A choice that
/// depends on their loss needs a task whose test sets count for nothing else ([`Tuning`](crate::task::Tuning)).
pub(super) struct HeldOut<'a> {
    task: &'a dyn Task,
    /// The sequences of each length.
    sets: Vec<Vec<Sample>>,
    /// Without autodiff.
    device: Device,
}

impl<'a> HeldOut<'a> {
    pub fn new(task: &'a dyn Task, device: Device) -> Self {
        let mut lengths = task.test_lengths();
        lengths.retain(|length| task.is_inside(*length));
        let share = (SEQUENCES / lengths.len().max(1)).max(1);
        let sets = lengths.iter().map(|length| {
            let set = task.test_set(*length);
            // Evenly over the set, whose samples may be sorted.
            let every = set.len().div_ceil(share).max(1);
            set.into_iter().step_by(every).collect::<Vec<_>>()
        });
        Self {
            task,
            sets: sets.filter(|set| !set.is_empty()).collect(),
            device,
        }
    }

    /// The mean over the lengths of the loss of a model in training. `None` where the task has no test set inside the
    /// training lengths.
    pub fn loss(&self, model: &Model) -> Result<Option<f64>, LabError> {
        let model = model.valid();
        let losses = self.sets.iter().map(|set| {
            let batch = TensorBatch::new(set, self.task.readout(), &self.device);
            // The first draw of random positions, the same at every test.
            let mut source = model.scheme().first_for_test(0);
            read_loss(model.loss(batch.at(set, &mut source)?))
        });
        Ok(mean(losses.collect::<Result<Vec<f64>, LabError>>()?))
    }
}
