//! The loss of every step, and that on held-out sequences: reported, kept beside the checkpoints, and
//! checked.

use std::sync::{Arc, Mutex, PoisonError};

use burn::train::Interrupter;
use burn::train::logger::MetricLogger;
use burn::train::metric::store::{EpochSummary, MetricsUpdate, NumericMetricUpdate, Split};
use burn::train::metric::{LossMetric, Metric, MetricDefinition, MetricId, NumericEntry};
use serde::{Deserialize, Serialize};

use crate::error::LabError;
use crate::folder::{Entry, write_sealed};

/// Called after every step with the number of steps done and the loss of the last one.
pub type OnStep = Box<dyn FnMut(usize, f64) + Send>;

/// Called after every test on held-out sequences with the losses of all of them so far.
pub type OnHeldOut = Box<dyn FnMut(&[CurvePoint]) + Send>;

/// The loss at a step of the training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The number of steps done.
    pub step: usize,
    /// The loss.
    pub loss: f64,
}

/// The losses of a training.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
pub(super) struct Losses {
    /// The loss of every step.
    pub training: Vec<f64>,
    /// The loss on held-out sequences, at a few steps.
    pub held_out: Vec<CurvePoint>,
}

impl Losses {
    /// The losses of the first `steps` steps.
    pub fn up_to(mut self, steps: usize) -> Self {
        self.training.truncate(steps);
        self.held_out.retain(|point| point.step <= steps);
        self
    }
}

/// Keeps the loss of every step, and stops the training when a loss is not finite.
pub(super) struct LossLog {
    pub losses: Arc<Mutex<Losses>>,
    /// The losses of the held-out batches of the test that is running.
    pub testing: Vec<f64>,
    /// Why the losses could not be written.
    pub unwritten: Arc<Mutex<Option<LabError>>>,
    /// The metric that is the loss, once `burn-train` has said which one it is.
    pub loss: Option<MetricId>,
    /// The file for the losses, if there are checkpoints to go on from.
    pub file: Option<Entry>,
    pub on_step: OnStep,
    pub on_held_out: OnHeldOut,
    pub interrupter: Interrupter,
}

impl MetricLogger for LossLog {
    fn log(&mut self, update: MetricsUpdate, _epoch: usize, split: &Split) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        let of_loss =
            |entry: &&NumericMetricUpdate| Some(&entry.entry.metric_id) == self.loss.as_ref();
        for entry in update.entries_numeric.iter().filter(of_loss) {
            if let Some(
                NumericEntry::Value(loss)
                | NumericEntry::Aggregated {
                    aggregated_value: loss,
                    ..
                },
            ) = entry.numeric_entry
            {
                if *split == Split::Valid {
                    self.testing.push(loss);
                    continue;
                }
                losses.training.push(loss);
                (self.on_step)(losses.training.len(), loss);
                if !loss.is_finite() {
                    self.interrupter.stop(Some("the loss is not a number"));
                }
            }
        }
    }

    fn read_numeric(
        &mut self,
        _name: &str,
        _epoch: usize,
        _split: &Split,
    ) -> Result<Vec<NumericEntry>, String> {
        Ok(Vec::new())
    }

    fn log_metric_definition(&mut self, definition: MetricDefinition) {
        if *definition.name == LossMetric::new().name().as_str() {
            self.loss = Some(definition.metric_id);
        }
    }

    fn log_epoch_summary(&mut self, _summary: EpochSummary) {
        let mut losses = self.losses.lock().unwrap_or_else(PoisonError::into_inner);
        if !self.testing.is_empty() {
            let point = CurvePoint {
                step: losses.training.len(),
                loss: self.testing.iter().sum::<f64>() / self.testing.len() as f64,
            };
            losses.held_out.push(point);
            (self.on_held_out)(&losses.held_out);
            self.testing.clear();
        }
        if let Some(file) = &self.file
            && let Err(error) = write_sealed(file, &*losses)
        {
            let mut unwritten = self
                .unwritten
                .lock()
                .unwrap_or_else(PoisonError::into_inner);
            *unwritten = Some(error);
            self.interrupter
                .stop(Some("the losses could not be written"));
        }
    }
}
