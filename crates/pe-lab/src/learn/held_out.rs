//! The loss on held-out sequences along a training.

use burn::module::Module;
use burn::tensor::Device;

use super::batch::TensorBatch;
use super::evaluation::with_room;
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
            let longest = set.iter().map(|sample| sample.input.len()).max();
            let at_once = with_room(longest.unwrap_or(0), self.task.classes());
            self.loss_on(&model, set, at_once)
        });
        Ok(mean(losses.collect::<Result<Vec<f64>, LabError>>()?))
    }

    /// The mean loss over all answers of a set, `at_once` sequences at a time.
    fn loss_on(&self, model: &Model, set: &[Sample], at_once: usize) -> Result<f64, LabError> {
        // The first draw of random positions, the same at every test.
        let mut source = model.scheme().first_for_test(0);
        let answers = |part: &[Sample]| part.iter().map(|s| s.answers.len()).sum::<usize>() as f64;
        let (all, mut sum) = (answers(set), 0.0);
        for part in set.chunks(at_once) {
            let batch = TensorBatch::new(part, self.task.readout(), &self.device);
            let loss = read_loss(model.loss(batch.at(part, &mut source)?))?;
            sum += loss * (answers(part) / all);
        }
        Ok(sum)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::testing::{model, text};
    use crate::task::Reverse;

    /// Parts of different sizes count by their answers; rows of `reverse` have as many answers as tokens.
    #[test]
    fn a_set_in_parts_has_the_loss_of_the_whole() {
        let text = text();
        let tasks: [&dyn Task; 2] = [&text, &Reverse];
        for task in tasks {
            let held_out = HeldOut::new(task, Device::flex());
            let model = model(task, "learned").valid();
            let set: Vec<Sample> = held_out.sets.iter().flatten().take(40).cloned().collect();
            let of = |at_once| held_out.loss_on(&model, &set, at_once).unwrap();
            assert!((of(7) - of(40)).abs() < 1e-6, "{} and {}", of(7), of(40));
            let by_parts: Vec<f64> = set
                .chunks(7)
                .map(|part| held_out.loss_on(&model, part, 7).unwrap())
                .collect();
            // The last part is smaller, and its loss is another one.
            assert!((mean(by_parts).unwrap() - of(40)).abs() > 1e-5);
        }
    }
}
