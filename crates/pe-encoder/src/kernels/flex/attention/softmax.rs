//! The softmax of the scores, with bias and masks, and its gradient.

use multiversion::multiversion;

use crate::kernels::flex::math::{exp, largest, sum};

/// Some of the rows of the scores of a head.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The number of columns of a row.
    pub keys: usize,
    /// Where the queries of the rows begin, if each attends only to the keys up to its own.
    pub causal: Option<usize>,
    /// The bias of the head from the first of the rows on, and the number of its columns.
    pub bias: Option<(&'a [f32], usize)>,
    /// Where it is not 0, there is no key.
    pub padding: Option<&'a [u8]>,
}

impl<'a> Rows<'a> {
    /// How many keys row `row` attends to.
    #[inline(always)]
    fn seen(self, row: usize) -> usize {
        match self.causal {
            Some(first) => (first + row + 1).min(self.keys),
            None => self.keys,
        }
    }

    /// Adds the bias to the scores of a row, and masks padding.
    #[inline(always)]
    fn mask(self, row: usize, scores: &mut [f32]) {
        let seen = scores.len();
        if let Some((bias, columns)) = self.bias {
            let bias = &bias[row * columns..][..seen];
            for i in 0..seen {
                scores[i] += bias[i];
            }
        }
        if let Some(padding) = self.padding {
            let padding = &padding[..seen];
            for i in 0..seen {
                scores[i] = if padding[i] != 0 {
                    f32::NEG_INFINITY
                } else {
                    scores[i]
                };
            }
        }
    }
}

/// Replaces every row of `scores` by its softmax: the weights of the keys, 0 for those that are masked.
/// `sums` gets the largest score of each row, and by what its exponentials were multiplied.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn softmax(scores: &mut [f32], rows: Rows<'_>, mut sums: Option<&mut [[f32; 2]]>) {
    let mut start = 0;
    let mut row = 0;
    while start < scores.len() {
        let seen = rows.seen(row);
        let (weights, later) = scores[start..start + rows.keys].split_at_mut(seen);
        rows.mask(row, weights);
        let largest = largest(weights);
        for i in 0..seen {
            weights[i] = exp(weights[i] - largest);
        }
        let all = sum(seen, |i| weights[i]);
        let by = if all > 0.0 { 1.0 / all } else { 0.0 };
        for i in 0..seen {
            weights[i] *= by;
        }
        later.fill(0.0);
        if let Some(sums) = &mut sums {
            sums[row] = [largest, by];
        }
        start += rows.keys;
        row += 1;
    }
}

/// As [`softmax`], from the `sums` of before.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn softmax_again(scores: &mut [f32], rows: Rows<'_>, sums: &[[f32; 2]]) {
    let mut start = 0;
    let mut row = 0;
    while start < scores.len() {
        let seen = rows.seen(row);
        let (weights, later) = scores[start..start + rows.keys].split_at_mut(seen);
        rows.mask(row, weights);
        let [largest, by] = sums[row];
        for i in 0..seen {
            weights[i] = exp(weights[i] - largest) * by;
        }
        later.fill(0.0);
        start += rows.keys;
        row += 1;
    }
}

/// Replaces the gradients of the weights by the gradients of the scores.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn softmax_backward(gradients: &mut [f32], weights: &[f32], keys: usize) {
    let weights = &weights[..gradients.len()];
    let mut start = 0;
    while start < gradients.len() {
        let row = &mut gradients[start..start + keys];
        let weights = &weights[start..start + keys];
        let mean = sum(keys, |i| row[i] * weights[i]);
        for i in 0..keys {
            row[i] = (row[i] - mean) * weights[i];
        }
        start += keys;
    }
}
