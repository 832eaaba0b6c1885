//! Scaled dot-product attention `softmax(q kᵀ / √d_head + bias) v` in several heads (Vaswani et al.
//! 2017, section 3.2; without bias there), and its gradients.
//!
//! Queries, keys and values lie side by side in each row, as one projection writes them, and the
//! heads are read where they are: nothing is transposed or copied. What is kept for the way back
//! are the attention weights.

use std::mem::MaybeUninit;

use multiversion::multiversion;
use rayon::prelude::*;

use super::math::{exp, largest, sum};
use super::products::{Matrix, column_sums, set_product, written};

/// The sizes: `qkv` is `[batch, seq, 3 d_model]`, the result `[batch, seq, d_model]`, the weights
/// `[batch, heads, seq, seq]`.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub seq: usize,
    pub d_model: usize,
    pub heads: usize,
}

impl Sizes {
    fn d_head(self) -> usize {
        self.d_model / self.heads
    }

    fn scale(self) -> f32 {
        1.0 / (self.d_head() as f32).sqrt()
    }

    /// The scores of one sequence.
    fn scores(self) -> usize {
        self.heads * self.seq * self.seq
    }

    /// Queries (0), keys (1) or values (2) of one head of one sequence.
    fn part(self, qkv: &[f32], which: usize, head: usize) -> Matrix<'_> {
        let from = which * self.d_model + head * self.d_head();
        Matrix::spaced(&qkv[from..], self.seq, self.d_head(), 3 * self.d_model)
    }
}

/// The result and the attention weights.
///
/// Nothing attends to where `padding`, `[batch, seq]`, is true; a sequence of padding alone gets 0.
/// `bias` is `[1 or batch, heads, seq, seq]`.
pub fn forward(
    qkv: &[f32],
    padding: Option<&[u8]>,
    bias: Option<&[f32]>,
    sizes: Sizes,
) -> (Vec<f32>, Vec<f32>) {
    let Sizes { seq, d_model, .. } = sizes;
    let d_head = sizes.d_head();
    let batch = qkv.len() / (seq * 3 * d_model);
    let mut weights = Vec::new();
    // SAFETY: every sequence, and every head in it, has its own part of both targets, and
    // `set_product` initializes it.
    let out = unsafe {
        written(batch * seq * d_model, |out| {
            weights = written(batch * sizes.scores(), |weights| {
                out.par_chunks_mut(seq * d_model)
                    .zip(weights.par_chunks_mut(sizes.scores()))
                    .zip(qkv.par_chunks(seq * 3 * d_model))
                    .enumerate()
                    .for_each(|(row, ((out, weights), qkv))| {
                        let padding = padding.map(|all| &all[row * seq..][..seq]);
                        // A bias for all sequences is that of each.
                        let bias = bias.map(|all| &all[row * sizes.scores() % all.len()..]);
                        for (head, weights) in weights.chunks_exact_mut(seq * seq).enumerate() {
                            let [q, k, v] = [0, 1, 2].map(|which| sizes.part(qkv, which, head));
                            set_product(weights, seq, sizes.scale(), q, k.t());
                            let weights = weights.assume_init_mut();
                            let bias = bias.map(|all| &all[head * seq * seq..][..seq * seq]);
                            softmax(weights, seq, bias, padding);
                            let weights = Matrix::dense(weights, seq);
                            set_product(&mut out[head * d_head..], d_model, 1.0, weights, v);
                        }
                    });
            });
        })
    };
    (out, weights)
}

/// The gradient of a loss with respect to `qkv`, from that with respect to the result.
pub fn backward(qkv: &[f32], weights: &[f32], sizes: Sizes, dout: &[f32]) -> Vec<f32> {
    let Sizes { seq, d_model, .. } = sizes;
    // SAFETY: every sequence has its own part of the target, and `head_back` initializes that of
    // every head.
    unsafe {
        written(qkv.len(), |dqkv| {
            dqkv.par_chunks_mut(seq * 3 * d_model)
                .zip(qkv.par_chunks(seq * 3 * d_model))
                .zip(weights.par_chunks(sizes.scores()))
                .zip(dout.par_chunks(seq * d_model))
                .for_each(|(((dqkv, qkv), weights), dout)| {
                    let mut scratch = Vec::with_capacity(seq * seq);
                    let scores = &mut scratch.spare_capacity_mut()[..seq * seq];
                    for (head, weights) in weights.chunks_exact(seq * seq).enumerate() {
                        head_back(dqkv, scores, qkv, weights, dout, sizes, head);
                    }
                });
        })
    }
}

/// As [`backward`], and the gradient with respect to the bias, which is one for all sequences
/// (`shared`) or one for each.
pub fn backward_with_bias(
    qkv: &[f32],
    weights: &[f32],
    sizes: Sizes,
    dout: &[f32],
    shared: bool,
) -> (Vec<f32>, Vec<f32>) {
    let Sizes { seq, d_model, .. } = sizes;
    let mut dscores = Vec::new();
    // SAFETY: every sequence, and every head in it, has its own part of both targets, and
    // `head_back` initializes it.
    let dqkv = unsafe {
        written(qkv.len(), |dqkv| {
            dscores = written(weights.len(), |dscores| {
                dqkv.par_chunks_mut(seq * 3 * d_model)
                    .zip(dscores.par_chunks_mut(sizes.scores()))
                    .zip(qkv.par_chunks(seq * 3 * d_model))
                    .zip(weights.par_chunks(sizes.scores()))
                    .zip(dout.par_chunks(seq * d_model))
                    .for_each(|((((dqkv, dscores), qkv), weights), dout)| {
                        let heads = weights.chunks_exact(seq * seq);
                        let heads = heads.zip(dscores.chunks_exact_mut(seq * seq));
                        for (head, (weights, scores)) in heads.enumerate() {
                            head_back(dqkv, scores, qkv, weights, dout, sizes, head);
                        }
                    });
            });
        })
    };
    match shared {
        true => (dqkv, column_sums(&dscores, sizes.scores())),
        false => (dqkv, dscores),
    }
}

/// Sets `dscores` to the gradient with respect to the scores of one head of one sequence, and its
/// columns of `dqkv` to those with respect to its queries, keys and values.
fn head_back(
    dqkv: &mut [MaybeUninit<f32>],
    dscores: &mut [MaybeUninit<f32>],
    qkv: &[f32],
    weights: &[f32],
    dout: &[f32],
    sizes: Sizes,
    head: usize,
) {
    let Sizes { seq, d_model, .. } = sizes;
    let from = head * sizes.d_head();
    let [q, k, v] = [0, 1, 2].map(|which| sizes.part(qkv, which, head));
    let dout = Matrix::spaced(&dout[from..], seq, sizes.d_head(), d_model);
    set_product(dscores, seq, 1.0, dout, v.t());
    // SAFETY: a product initializes all of its target.
    let dscores = unsafe { dscores.assume_init_mut() };
    softmax_back(dscores, weights, seq);
    let dscores = Matrix::dense(dscores, seq);
    let weights = Matrix::dense(weights, seq);
    let scale = sizes.scale();
    let products = [
        (scale, dscores, k),
        (scale, dscores.t(), q),
        (1.0, weights.t(), dout),
    ];
    for (which, (scale, a, b)) in products.into_iter().enumerate() {
        let target = &mut dqkv[which * d_model + from..];
        set_product(target, 3 * d_model, scale, a, b);
    }
}

/// The softmax of every row of scores, with `bias` added, and with weight 0 where there is padding.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn softmax(scores: &mut [f32], seq: usize, bias: Option<&[f32]>, padding: Option<&[u8]>) {
    let mut start = 0;
    while start < scores.len() {
        let row = &mut scores[start..start + seq];
        if let Some(bias) = bias {
            let bias = &bias[start..start + seq];
            for i in 0..seq {
                row[i] += bias[i];
            }
        }
        if let Some(padding) = padding {
            let padding = &padding[..seq];
            for i in 0..seq {
                row[i] = if padding[i] != 0 {
                    f32::NEG_INFINITY
                } else {
                    row[i]
                };
            }
        }
        let largest = largest(row);
        for i in 0..seq {
            row[i] = exp(row[i] - largest);
        }
        let all = sum(seq, |i| row[i]);
        let by = if all > 0.0 { 1.0 / all } else { 0.0 };
        for i in 0..seq {
            row[i] *= by;
        }
        start += seq;
    }
}

/// Turns the gradients of weights into those of scores.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn softmax_back(gradients: &mut [f32], weights: &[f32], seq: usize) {
    let weights = &weights[..gradients.len()];
    let mut start = 0;
    while start < gradients.len() {
        let row = &mut gradients[start..start + seq];
        let weights = &weights[start..start + seq];
        let mean = sum(seq, |i| row[i] * weights[i]);
        for i in 0..seq {
            row[i] = (row[i] - mean) * weights[i];
        }
        start += seq;
    }
}
