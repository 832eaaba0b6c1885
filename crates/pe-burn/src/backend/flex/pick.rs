//! For every pair of a query and a key the score that belongs to their distance.
//!
//! Burn's `gather` takes an index of its own for every element, 64 bits each, and its backward pass runs on one thread. Here all
//! heads share the indices, and so do all sequences that have the same positions.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Int, Tensor, TensorData};

use super::{CHUNK, filled_by};
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::threads;

/// Element `(batch, head, i, j)` of the result is `scores[batch, head, i, rows[batch, i, j]]`.
///
/// # Shapes
///
/// - `scores`: `[batch, heads, seq, width]`
/// - `rows`: `[1 or batch, seq, others]`, each below `width`
/// - output: `[batch, heads, seq, others]`
///
/// # Panics
///
/// When a row is not below `width`.
pub(crate) fn pick(scores: Tensor<4>, rows: Tensor<3, Int>) -> Tensor<4> {
    let pick = Pick {
        shape: scores.dims(),
        others: rows.dims()[2],
        rows: rows.into_data().iter().collect(),
    };
    apply([Operand::of(scores)], |[scores]: [FlexTensor; 1]| {
        (pick.of(&scores.to_contiguous()), pick)
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct Pick {
    /// That of the scores: `[batch, heads, seq, width]`.
    shape: [usize; 4],
    others: usize,
    rows: Vec<u32>,
}

impl Pick {
    fn of(&self, scores: &FlexTensor) -> FlexTensor {
        let ([batch, heads, seq, width], others) = (self.shape, self.others);
        let scores = scores.as_slice::<f32>().expect("contiguous");
        let lines = (CHUNK / others).max(1);
        let write = |out: &mut [MaybeUninit<f32>]| {
            let pieces = out.chunks_mut(lines * others).enumerate();
            threads::for_each(pieces, |(piece, out)| {
                for (out, line) in out.chunks_exact_mut(others).zip(piece * lines..) {
                    let scores = &scores[line * width..][..width];
                    for (out, row) in out.iter_mut().zip(self.rows_of(line)) {
                        out.write(scores[*row as usize]);
                    }
                }
            });
        };
        // SAFETY: the memory is batch · heads · seq lines of `others` elements, a chunk is some of these lines, and a line has as
        // many rows.
        unsafe { filled_by([batch, heads, seq, others], write) }
    }

    /// The rows of a line of the output, of which there are batch · heads · seq.
    fn rows_of(&self, line: usize) -> &[u32] {
        let [_, heads, seq, _] = self.shape;
        let line = line / (heads * seq) * seq + line % seq;
        // Where all sequences have the same positions there is one set of rows.
        let start = line * self.others % self.rows.len();
        &self.rows[start..][..self.others]
    }
}

impl Operation<Flex, 1> for Pick {
    /// The gradient of a score is the sum over the pairs that it was picked for.
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        let gradient = gradient.to_contiguous();
        let gradient = gradient.as_slice::<f32>().expect("contiguous");
        let ([.., width], others) = (self.shape, self.others);
        let mut sums = vec![0.0_f32; self.shape.iter().product()];
        let lines = (CHUNK / width).max(1);
        let pieces = sums.chunks_mut(lines * width).enumerate();
        threads::for_each(pieces, |(piece, sums)| {
            for (sums, line) in sums.chunks_exact_mut(width).zip(piece * lines..) {
                let gradient = &gradient[line * others..][..others];
                for (gradient, row) in gradient.iter().zip(self.rows_of(line)) {
                    sums[*row as usize] += gradient;
                }
            }
        });
        [FlexTensor::from_data(TensorData::new(sums, self.shape))]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::Device;

    use crate::testing::{random, values};

    #[test]
    fn scores_and_their_gradients_equal_those_of_gather() {
        let device = Device::flex().autodiff();
        for [batch, heads, seq, width, others] in [
            [1, 1, 1, 1, 1],
            [2, 3, 5, 4, 7],
            [3, 2, 4, 9, 1],
            [1, 2, 300, 50, 200],
        ] {
            for of_rows in [1, batch] {
                let scores = random([batch, heads, seq, width], &device).require_grad();
                let weights = random([batch, heads, seq, others], &device);
                let pairs = of_rows * seq * others;
                let rows: Vec<i64> = (0..pairs).map(|i| (i * i % 31 % width) as i64).collect();
                let rows = TensorData::new(rows, [of_rows, seq, others]);
                let rows = Tensor::<3, Int>::from_data(rows, &device.clone().inner());
                let of = |picked: Tensor<4>| {
                    let gradients = (picked.clone() * weights.clone()).sum().backward();
                    (values(picked), values(scores.grad(&gradients).unwrap()))
                };
                let index = rows.clone().unsqueeze_dim::<4>(1);
                let index = index.expand([batch, heads, seq, others]);
                let index = Tensor::from_inner(index);
                let expected = of(scores.clone().gather(3, index));
                let (picked, gradients) = of(pick(scores.clone(), rows));
                assert_eq!(picked, expected.0);
                for (gradient, expected) in gradients.iter().zip(&expected.1) {
                    assert!((gradient - expected).abs() < 1e-4, "{gradient} {expected}");
                }
            }
        }
    }

    #[test]
    #[should_panic(expected = "index out of bounds")]
    fn a_row_that_is_not_there_is_refused() {
        let device = Device::flex();
        let rows = Tensor::<3, Int>::from_data([[[2]]], &device);
        pick(Tensor::zeros([1, 1, 1, 2], &device), rows);
    }
}
