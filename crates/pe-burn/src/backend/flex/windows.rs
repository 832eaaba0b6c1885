//! Attention biases by distance, spread over all pairs of queries and keys.
//!
//! With consecutive positions a bias has one value per distance. Row `i` of the whole bias is a window
//! of these values. Burn can make it with `unfold` and `flip`, but copies such a view element by element,
//! and its backward pass takes one step per window.

use alloc::vec;
use core::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::Tensor;

use super::{CHUNK, filled_by, tensor};
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::threads;

/// Row `i` of the result is `strip[queries − 1 − i ..]`, `keys` elements long.
///
/// # Shapes
///
/// - `strip`: `[1, heads, 1, queries + keys − 1]`
/// - output: `[1, heads, queries, keys]`
pub(crate) fn windows(strip: Tensor<4>, queries: usize, keys: usize) -> Tensor<4> {
    apply([Operand::of(strip)], |[strip]: [FlexTensor; 1]| {
        let windows = Windows { queries, keys };
        (windows.of(&strip.to_contiguous()), windows)
    })
    .tensor()
}

#[derive(Clone, Copy, Debug)]
struct Windows {
    queries: usize,
    keys: usize,
}

impl Windows {
    fn strip(self) -> usize {
        self.queries + self.keys - 1
    }

    fn of(self, strip: &FlexTensor) -> FlexTensor {
        let Self { queries, keys } = self;
        let strips = strip.as_slice::<f32>().expect("contiguous");
        let heads = strips.len() / self.strip();
        let rows = (CHUNK / keys).max(1);
        let write = |out: &mut [MaybeUninit<f32>]| {
            let pieces = out.chunks_mut(rows * keys).enumerate();
            threads::for_each(pieces, |(piece, windows)| {
                for (row, i) in windows.chunks_exact_mut(keys).zip(piece * rows..) {
                    let (head, query) = (i / queries, i % queries);
                    let start = head * self.strip() + queries - 1 - query;
                    row.write_copy_of_slice(&strips[start..start + keys]);
                }
            });
        };
        // SAFETY: the memory has heads · queries rows of `keys` elements, a chunk is some of these rows, and each is written.
        unsafe { filled_by([1, heads, queries, keys], write) }
    }
}

impl Operation<Flex, 1> for Windows {
    /// The gradient of an element of the strip is the sum of the gradients of the pairs at its distance.
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        let Self { queries, keys } = self;
        let gradient = gradient.to_contiguous();
        let rows = gradient.as_slice::<f32>().expect("contiguous");
        let heads = rows.len() / (queries * keys);
        let mut strips = vec![0.0_f32; heads * self.strip()];
        let of_heads = strips.chunks_exact_mut(self.strip());
        let of_heads = of_heads.zip(rows.chunks_exact(queries * keys));
        threads::for_each(of_heads, |(strip, rows)| {
            for (query, row) in rows.chunks_exact(keys).enumerate() {
                let strip = &mut strip[queries - 1 - query..][..keys];
                for (sum, gradient) in strip.iter_mut().zip(row) {
                    *sum += gradient;
                }
            }
        });
        [tensor(strips, [1, heads, 1, self.strip()])]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::Device;

    use crate::testing::{random, values};

    #[test]
    fn windows_and_their_gradients_equal_the_definition() {
        for (heads, queries, keys) in [(1, 1, 1), (3, 2, 5), (2, 7, 3), (2, 300, 400)] {
            let device = Device::flex().autodiff();
            let width = queries + keys - 1;
            let strip = random([1, heads, 1, width], &device).require_grad();
            let weights = random([1, heads, queries, keys], &device);
            let bias = windows(strip.clone(), queries, keys);
            assert_eq!(bias.dims(), [1, heads, queries, keys]);
            let gradient = strip.grad(&(bias.clone() * weights.clone()).sum().backward());
            let gradient = values(gradient.unwrap());
            let (strip, bias, weights) = (values(strip), values(bias), values(weights));
            let mut expected = vec![0.0; gradient.len()];
            for (i, (value, weight)) in bias.iter().zip(weights).enumerate() {
                let (head, query, key) = (i / keys / queries, i / keys % queries, i % keys);
                let place = head * width + queries - 1 - query + key;
                assert_eq!(*value, strip[place]);
                expected[place] += weight;
            }
            for (gradient, expected) in gradient.iter().zip(expected) {
                assert!((gradient - expected).abs() < 1e-4, "{gradient} {expected}");
            }
        }
    }
}
