//! Samples on the host become tensors on a device.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use pe_burn::Positions;

use crate::ask::PositionSource;
use crate::error::LabError;
use crate::task::{Readout, Sample};

/// The token that fills up shorter rows. Padding is masked everywhere, so any token will do, and the
/// vocabulary needs no token for it.
const FILLER: i32 = 0;

/// Samples as tensors. Shorter samples are padded on the right.
#[derive(Clone, Debug)]
pub struct TensorBatch {
    /// `[rows, seq]`, where `seq` is the length of the longest sample.
    pub tokens: Tensor<2, Int>,
    /// `[rows, seq]`, true at padding. `None` when all samples have the same length.
    pub padding: Option<Tensor<2, Bool>>,
    /// The positions of the tokens: 0, 1, 2, … unless [`at`](Self::at) gave others.
    pub positions: Positions,
    /// Where the answers are read: indices into `rows × seq`. `None` under mean pooling.
    pub read: Option<Tensor<1, Int>>,
    /// The correct classes, one per answer.
    pub targets: Tensor<1, Int>,
}

impl TensorBatch {
    /// The samples as tensors on a device, at positions 0, 1, 2, …
    pub fn new(samples: &[Sample], readout: Readout, device: &Device) -> Self {
        let rows = samples.len();
        let seq = samples.iter().map(|s| s.tokens.len()).max().unwrap_or(0);
        let tokens = samples.iter().flat_map(|sample| {
            let real = sample.tokens.iter().map(|token| *token as i32);
            real.chain(std::iter::repeat_n(FILLER, seq - sample.tokens.len()))
        });
        let mixed = samples.iter().any(|sample| sample.tokens.len() < seq);
        let padding = mixed.then(|| {
            let padded = samples
                .iter()
                .flat_map(|sample| (0..seq).map(|position| position >= sample.tokens.len()));
            Tensor::from_data(
                TensorData::new(padded.collect::<Vec<_>>(), [rows, seq]),
                device,
            )
        });
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
            padding,
            positions: Positions::default(),
            read: (readout == Readout::PerToken).then(|| line(read.collect())),
            targets: line(targets.collect()),
        }
    }

    /// The same batch at positions from a scheme's source. Padding gets none.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when a sample is longer than the range of positions to draw from.
    pub fn at(
        mut self,
        samples: &[Sample],
        source: &mut PositionSource<'_>,
    ) -> Result<Self, LabError> {
        let lengths: Vec<usize> = samples.iter().map(|s| s.tokens.len()).collect();
        self.positions = source.positions(&lengths, self.tokens.dims()[1])?;
        Ok(self)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Answer;

    fn sample(tokens: &[usize], class: usize) -> Sample {
        Sample {
            tokens: tokens.to_vec(),
            answers: vec![Answer { position: 1, class }],
        }
    }

    #[test]
    fn shorter_rows_are_padded_on_the_right_and_masked() {
        let device = Device::flex();
        let samples = [sample(&[5, 6], 1), sample(&[7, 8, 9, 4], 2)];
        let batch = TensorBatch::new(&samples, Readout::PerToken, &device);
        let tokens: Vec<i64> = batch.tokens.into_data().iter().collect();
        assert_eq!(tokens, [5, 6, 0, 0, 7, 8, 9, 4]);
        let padding: Vec<bool> = batch.padding.unwrap().into_data().iter().collect();
        assert_eq!(
            padding,
            [false, false, true, true, false, false, false, false]
        );
        // Row 1 starts at index 4, the padded length.
        let read: Vec<i64> = batch.read.unwrap().into_data().iter().collect();
        assert_eq!(read, [1, 5]);
        let targets: Vec<i64> = batch.targets.into_data().iter().collect();
        assert_eq!(targets, [1, 2]);
    }

    #[test]
    fn rows_of_one_length_have_no_padding() {
        let samples = [sample(&[5, 6], 1), sample(&[7, 8], 2)];
        let batch = TensorBatch::new(&samples, Readout::MeanPooled, &Device::flex());
        assert!(batch.padding.is_none() && batch.read.is_none());
        assert_eq!(batch.tokens.dims(), [2, 2]);
    }
}
