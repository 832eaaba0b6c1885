//! From samples on the host to tensors on a device.

use burn::tensor::{Device, Int, Tensor, TensorData};

use crate::task::{Readout, Sample};

/// Samples of one length as tensors.
#[derive(Clone, Debug)]
pub struct TensorBatch {
    /// `[rows, seq]`.
    pub tokens: Tensor<2, Int>,
    /// Where answers are read: indices into `rows × seq`. `None` under mean pooling.
    pub read: Option<Tensor<1, Int>>,
    /// The right classes, one per answer.
    pub targets: Tensor<1, Int>,
}

impl TensorBatch {
    /// Uploads samples, which must all have the same number of tokens.
    pub fn new(samples: &[Sample], readout: Readout, device: &Device) -> Self {
        let rows = samples.len();
        let seq = samples.first().map_or(0, |sample| sample.tokens.len());
        let tokens = samples.iter().flat_map(|s| &s.tokens).map(|t| *t as i32);
        let targets = samples
            .iter()
            .flat_map(|s| &s.answers)
            .map(|a| a.class as i32);
        let read = samples.iter().enumerate().flat_map(|(row, sample)| {
            sample
                .answers
                .iter()
                .map(move |answer| (row * seq + answer.position) as i32)
        });
        let line = |values: Vec<i32>| {
            let length = values.len();
            Tensor::from_data(TensorData::new(values, [length]), device)
        };
        Self {
            tokens: Tensor::from_data(
                TensorData::new(tokens.collect::<Vec<_>>(), [rows, seq]),
                device,
            ),
            read: (readout == Readout::PerToken).then(|| line(read.collect())),
            targets: line(targets.collect()),
        }
    }
}
