//! From samples on the host to tensors on a device.

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use pe_burn::Positions;

use crate::error::LabError;
use crate::rng::HostRng;
use crate::scheme::Scheme;
use crate::task::{Readout, Sample};

/// The token that fills up shorter rows. Which one it is makes no difference, since padding is
/// masked wherever it could be seen, so it needs no place of its own in a vocabulary.
const FILLER: i32 = 0;

/// Samples as tensors, shorter ones padded at the right.
#[derive(Clone, Debug)]
pub struct TensorBatch {
    /// `[rows, seq]`, `seq` being the longest sample.
    pub tokens: Tensor<2, Int>,
    /// `[rows, seq]`, true at padding. `None` where all samples are of one length.
    pub padding: Option<Tensor<2, Bool>>,
    /// Where the tokens stand: at 0, 1, 2, … unless a scheme drew other positions.
    pub positions: Positions,
    /// Where answers are read: indices into `rows × seq`. `None` under mean pooling.
    pub read: Option<Tensor<1, Int>>,
    /// The right classes, one per answer.
    pub targets: Tensor<1, Int>,
}

impl TensorBatch {
    /// Uploads samples.
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

    /// With the positions that a scheme has for these samples, which are those of the batch: drawn
    /// for each as long as it is, without its padding.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when a sample is longer than there are positions.
    pub fn at(
        mut self,
        samples: &[Sample],
        scheme: &Scheme,
        rng: &mut HostRng,
    ) -> Result<Self, LabError> {
        let lengths: Vec<usize> = samples.iter().map(|s| s.tokens.len()).collect();
        self.positions = scheme.positions(&lengths, self.tokens.dims()[1], rng)?;
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
    fn shorter_rows_are_filled_up_at_the_right_and_marked() {
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
        // An answer is read in its own row, however long the row is.
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
