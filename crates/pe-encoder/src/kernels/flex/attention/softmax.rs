//! The softmax of the scores, with bias and masks, and its gradient.

use std::ops::Range;

use multiversion::multiversion;
use pe_burn::exp_from;

use super::parts::{Sees, Spread};
use crate::kernels::flex::math::{largest, sum};

/// A score that is farther below the largest of its row has the weight 0. It would be at most 2e-22: a million such weights change no
/// `f32`. FoX and ALiBi give such weights to tokens some hundred places away. Their products with gradients are subnormal, and
/// processors multiply subnormal numbers many times slower.
const FAINT: f32 = -50.0;

/// Some of the rows of the scores of a head.
#[derive(Clone, Copy)]
pub struct Rows<'a> {
    /// The first key of the columns, and the one behind the last.
    pub keys: [usize; 2],
    /// The query of the first row.
    pub query: usize,
    pub sees: Sees,
    /// The bias of the head from the first of the rows on.
    pub bias: Option<Spread<'a>>,
    /// Where it is not 0, there is no key.
    pub padding: Option<&'a [u8]>,
}

impl Rows<'_> {
    /// The number of columns of a row.
    #[inline(always)]
    fn columns(self) -> usize {
        let [first, end] = self.keys;
        end - first
    }

    /// The columns of the keys that a row attends to.
    #[inline(always)]
    fn seen(self, row: usize) -> Range<usize> {
        let [first, end] = self.keys;
        let query = self.query + row;
        let seen = self.sees.keys(query..query + 1, end);
        let last = seen.end.clamp(first, end);
        seen.start.clamp(first, last) - first..last - first
    }

    /// Adds the bias to the scores of a row, which are those of the columns `seen`, and masks padding.
    #[inline(always)]
    fn mask(self, row: usize, scores: &mut [f32], seen: Range<usize>) {
        let keys = self.keys[0] + seen.start..self.keys[0] + seen.end;
        let seen = scores.len();
        if let Some(bias) = self.bias {
            let taken = bias.taken(row);
            let bias = &bias.row(row, keys.clone())[..seen];
            for i in 0..seen {
                scores[i] += bias[i] - taken;
            }
        }
        if let Some(padding) = self.padding {
            let padding = &padding[keys][..seen];
            for i in 0..seen {
                scores[i] = if padding[i] != 0 {
                    f32::NEG_INFINITY
                } else {
                    scores[i]
                };
            }
        }
    }

    /// The scores of a row that count, biased and masked. The others become weights of 0.
    #[inline(always)]
    fn scores(self, row: usize, scores: &mut [f32]) -> &mut [f32] {
        let seen = self.seen(row);
        scores[..seen.start].fill(0.0);
        scores[seen.end..].fill(0.0);
        let scores = &mut scores[seen.clone()];
        self.mask(row, scores, seen);
        scores
    }
}

/// Replaces every row of `scores` by its softmax: the weights of the keys, 0 for those that are masked.
/// `sums` gets the largest score of each row, and by what its exponentials were multiplied.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn softmax(scores: &mut [f32], rows: Rows, mut sums: Option<&mut [[f32; 2]]>) {
    let columns = rows.columns();
    let mut start = 0;
    let mut row = 0;
    while start < scores.len() {
        let weights = rows.scores(row, &mut scores[start..start + columns]);
        let seen = weights.len();
        let largest = largest(weights);
        for i in 0..seen {
            weights[i] = exp_from(FAINT, weights[i] - largest);
        }
        let all = sum(seen, |i| weights[i]);
        let by = if all > 0.0 { 1.0 / all } else { 0.0 };
        for i in 0..seen {
            weights[i] *= by;
        }
        if let Some(sums) = &mut sums {
            sums[row] = [largest, by];
        }
        start += columns;
        row += 1;
    }
}

/// As [`softmax`], with the `sums` that it returned for these rows.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn softmax_again(scores: &mut [f32], rows: Rows, sums: &[[f32; 2]]) {
    let columns = rows.columns();
    let mut start = 0;
    let mut row = 0;
    while start < scores.len() {
        let weights = rows.scores(row, &mut scores[start..start + columns]);
        let [largest, by] = sums[row];
        for i in 0..weights.len() {
            weights[i] = exp_from(FAINT, weights[i] - largest) * by;
        }
        start += columns;
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Computed from scores and once more from the sums.
    #[test]
    fn faint_scores_have_no_weight_and_no_weight_is_subnormal() {
        let scores = [3.0, 3.0 - 49.9, 3.0 - 50.1, 3.0 - 86.0, f32::NEG_INFINITY];
        let rows = Rows {
            keys: [0, scores.len()],
            query: 0,
            sees: Sees {
                causal: false,
                window: None,
            },
            bias: None,
            padding: None,
        };
        let (mut weights, mut sums) = (scores, [[0.0; 2]]);
        softmax(&mut weights, rows, Some(&mut sums));
        assert_eq!(weights[0], 1.0);
        assert!((2.1e-22..2.2e-22).contains(&weights[1]), "{}", weights[1]);
        assert_eq!(weights[2..], [0.0; 3]);
        let mut again = scores;
        softmax_again(&mut again, rows, &sums);
        assert_eq!(again, weights);
    }
}
