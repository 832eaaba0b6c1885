//! The losses of a training.

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::LabError;

/// The loss at a step of the training.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CurvePoint {
    /// The number of steps done.
    pub step: usize,
    /// The loss.
    pub loss: f64,
}

impl From<(usize, f64)> for CurvePoint {
    fn from((step, loss): (usize, f64)) -> Self {
        Self { step, loss }
    }
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

/// The number in a loss, which waits until the device has computed it.
pub(super) fn read_loss(loss: Tensor<1>) -> Result<f64, LabError> {
    loss.try_into_scalar::<f64>()
        .map_err(|error| LabError::Machine(error.to_string()))
}
