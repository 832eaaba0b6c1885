//! Samples on the host become tensors on a device.

use burn::tensor::{Bool, Device, Element, Int, Tensor, TensorData};
use pe_burn::Positions;

use crate::ask::PositionSource;
use crate::error::LabError;
use crate::task::{Input, Readout, Sample};

/// The token that fills up shorter rows. Padding is masked everywhere, so any token will do, and the
/// vocabulary needs no token for it.
const FILLER: i32 = 0;

/// What a model reads: tokens or vectors, as [`Input`] but for a whole batch.
#[derive(Clone, Debug)]
pub enum InputTensor {
    /// Tokens, `[rows, seq]`.
    Tokens(Tensor<2, Int>),
    /// Vectors, `[rows, seq, width]`.
    Vectors(Tensor<3>),
}

impl InputTensor {
    /// The number of rows, and the length of the longest.
    pub fn dims(&self) -> [usize; 2] {
        match self {
            Self::Tokens(tokens) => tokens.dims(),
            Self::Vectors(vectors) => {
                let [rows, seq, _] = vectors.dims();
                [rows, seq]
            }
        }
    }

    /// The inputs of some samples, which are all of one kind, padded to `seq`.
    fn new(samples: &[Sample], seq: usize, device: &Device) -> Self {
        let rows = samples.len();
        let filled = |sample: &Sample| seq - sample.input.len();
        match samples.first().map(|sample| &sample.input) {
            None | Some(Input::Tokens(_)) => {
                let tokens = samples.iter().flat_map(|sample| {
                    let real = sample.input.tokens().iter().map(|token| *token as i32);
                    real.chain(std::iter::repeat_n(FILLER, filled(sample)))
                });
                let tokens = TensorData::new(tokens.collect::<Vec<_>>(), [rows, seq]);
                Self::Tokens(Tensor::from_data(tokens, device))
            }
            Some(Input::Vectors { width, .. }) => {
                let mut all = Vec::with_capacity(rows * seq * width);
                for sample in samples {
                    match &sample.input {
                        Input::Vectors { values, .. } => all.extend_from_slice(values),
                        Input::Tokens(_) => panic!("a batch of vectors has a sample of tokens"),
                    }
                    all.extend(std::iter::repeat_n(0.0, filled(sample) * width));
                }
                let vectors = TensorData::new(all, [rows, seq, *width]);
                Self::Vectors(Tensor::from_data(vectors, device))
            }
        }
    }
}

impl From<Tensor<2, Int>> for InputTensor {
    fn from(tokens: Tensor<2, Int>) -> Self {
        Self::Tokens(tokens)
    }
}

impl From<Tensor<3>> for InputTensor {
    fn from(vectors: Tensor<3>) -> Self {
        Self::Vectors(vectors)
    }
}

/// Samples as tensors. Shorter samples are padded on the right.
#[derive(Clone, Debug)]
pub struct TensorBatch {
    /// The input, where `seq` is the length of the longest sample.
    pub input: InputTensor,
    /// `[rows, seq]`, true at padding. `None` when all samples have the same length.
    pub padding: Option<Tensor<2, Bool>>,
    /// The positions of the tokens: 0, 1, 2, … unless [`at`](Self::at) gave others.
    pub positions: Positions,
    /// Where the answers are read: indices into `rows × seq`. `None` under mean pooling.
    pub read: Option<Tensor<1, Int>>,
    /// The correct classes, one per answer.
    pub targets: Tensor<1, Int>,
    /// The correct numbers, one per answer, where numbers are to be predicted.
    pub numbers: Option<Tensor<1>>,
    /// In training, the seed of the step's dropout. It does not depend on the steps before, so a training that goes on from
    /// a checkpoint draws the same random numbers.
    pub dropout_seed: Option<u64>,
}

impl TensorBatch {
    /// The samples as tensors on a device, at positions 0, 1, 2, …
    pub fn new(samples: &[Sample], readout: Readout, device: &Device) -> Self {
        let rows = samples.len();
        let seq = samples.iter().map(|s| s.input.len()).max().unwrap_or(0);
        let mixed = samples.iter().any(|sample| sample.input.len() < seq);
        let padding = mixed.then(|| {
            let padded = samples
                .iter()
                .flat_map(|sample| (0..seq).map(|position| position >= sample.input.len()));
            let padded = TensorData::new(padded.collect::<Vec<_>>(), [rows, seq]);
            Tensor::from_data(padded, device)
        });
        let answers = samples.iter().flat_map(|sample| &sample.answers);
        let targets = answers.map(|answer| answer.class as i32);
        let read = samples.iter().enumerate().flat_map(|(row, sample)| {
            sample
                .answers
                .iter()
                .map(move |answer| (row * seq + answer.position) as i32)
        });
        let indices = |values: Vec<i32>| Tensor::from_data(line(values), device);
        let numbers = samples.iter().flat_map(|sample| &sample.numbers);
        let numbers: Vec<f32> = numbers.copied().collect();
        Self {
            input: InputTensor::new(samples, seq, device),
            padding,
            positions: Positions::default(),
            read: (readout == Readout::PerToken).then(|| indices(read.collect())),
            targets: indices(targets.collect()),
            numbers: (!numbers.is_empty()).then(|| Tensor::from_data(line(numbers), device)),
            dropout_seed: None,
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
        let [_, seq] = self.input.dims();
        let times: Option<Vec<&[f64]>> = samples.iter().map(|s| s.times.as_deref()).collect();
        if let Some(positions) = times.and_then(|times| source.at_times(&times, seq).transpose()) {
            self.positions = positions?;
            return Ok(self);
        }
        if let Some(positions) = source.of_tokens(samples, seq)? {
            self.positions = positions;
            return Ok(self);
        }
        let lengths: Vec<usize> = samples.iter().map(|s| s.input.len()).collect();
        self.positions = source.positions(&lengths, seq)?;
        Ok(self)
    }
}

/// Numbers as data of one dimension, without a copy.
fn line<E: Element>(numbers: Vec<E>) -> TensorData {
    let count = numbers.len();
    TensorData::new(numbers, [count])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::Answer;

    fn sample(tokens: &[usize], class: usize) -> Sample {
        Sample::new(tokens.to_vec(), vec![Answer { position: 1, class }])
    }

    #[test]
    fn shorter_rows_are_padded_on_the_right_and_masked() {
        let device = Device::flex();
        let samples = [sample(&[5, 6], 1), sample(&[7, 8, 9, 4], 2)];
        let batch = TensorBatch::new(&samples, Readout::PerToken, &device);
        let InputTensor::Tokens(tokens) = batch.input else {
            panic!("{batch:?}")
        };
        let tokens: Vec<i64> = tokens.into_data().iter().collect();
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
        assert_eq!(batch.input.dims(), [2, 2]);
    }

    #[test]
    fn vectors_are_padded_with_zeros() {
        let device = Device::flex();
        let vectors = |values: &[f32]| {
            let values = values.to_vec();
            Sample::new(Input::Vectors { width: 2, values }, Vec::new())
        };
        let samples = [vectors(&[5.0, 6.0]), vectors(&[7.0, 8.0, 9.0, 4.0])];
        let batch = TensorBatch::new(&samples, Readout::MeanPooled, &device);
        assert_eq!(batch.input.dims(), [2, 2]);
        let InputTensor::Vectors(vectors) = batch.input else {
            panic!("{batch:?}")
        };
        assert_eq!(vectors.dims(), [2, 2, 2]);
        let values: Vec<f32> = vectors.into_data().iter().collect();
        assert_eq!(values, [5.0, 6.0, 0.0, 0.0, 7.0, 8.0, 9.0, 4.0]);
        let padding: Vec<bool> = batch.padding.unwrap().into_data().iter().collect();
        assert_eq!(padding, [false, true, false, false]);
    }
}
