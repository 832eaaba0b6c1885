//! Scaled dot-product attention `softmax(q kᵀ / √d_head) v` in several heads (Vaswani et al. 2017,
//! section 3.2), and its gradients.
//!
//! Queries, keys and values lie side by side in each row, as one projection writes them, and the
//! heads are read where they are: nothing is transposed or copied. What is kept for the way back
//! are the attention weights.

use multiversion::multiversion;
use rayon::prelude::*;

use super::math::{exp, largest, sum};
use super::products::{Matrix, set_product, written};

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

    /// Queries (0), keys (1) or values (2) of one head of one sequence.
    fn part(self, qkv: &[f32], which: usize, head: usize) -> Matrix<'_> {
        let from = which * self.d_model + head * self.d_head();
        Matrix::spaced(&qkv[from..], self.seq, self.d_head(), 3 * self.d_model)
    }
}

/// The result and the attention weights.
///
/// Nothing attends to where `padding`, `[batch, seq]`, is true; a sequence of padding alone gets 0.
pub fn forward(qkv: &[f32], padding: Option<&[u8]>, sizes: Sizes) -> (Vec<f32>, Vec<f32>) {
    let Sizes {
        seq,
        d_model,
        heads,
    } = sizes;
    let d_head = sizes.d_head();
    let batch = qkv.len() / (seq * 3 * d_model);
    let mut weights = Vec::new();
    // SAFETY: every sequence, and every head in it, has its own part of both targets, and
    // `set_product` initializes it.
    let out = unsafe {
        written(batch * seq * d_model, |out| {
            weights = written(batch * heads * seq * seq, |weights| {
                out.par_chunks_mut(seq * d_model)
                    .zip(weights.par_chunks_mut(heads * seq * seq))
                    .zip(qkv.par_chunks(seq * 3 * d_model))
                    .enumerate()
                    .for_each(|(row, ((out, weights), qkv))| {
                        let padding = padding.map(|all| &all[row * seq..][..seq]);
                        for (head, weights) in weights.chunks_exact_mut(seq * seq).enumerate() {
                            let [q, k, v] = [0, 1, 2].map(|which| sizes.part(qkv, which, head));
                            set_product(weights, seq, sizes.scale(), q, k.t());
                            let weights = weights.assume_init_mut();
                            softmax(weights, seq, padding);
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
    let Sizes {
        seq,
        d_model,
        heads,
    } = sizes;
    let d_head = sizes.d_head();
    // SAFETY: every sequence has its own part of the target, and the three products of every head
    // initialize their columns of it.
    unsafe {
        written(qkv.len(), |dqkv| {
            dqkv.par_chunks_mut(seq * 3 * d_model)
                .zip(qkv.par_chunks(seq * 3 * d_model))
                .zip(weights.par_chunks(heads * seq * seq))
                .zip(dout.par_chunks(seq * d_model))
                .for_each(|(((dqkv, qkv), weights), dout)| {
                    let mut scratch = Vec::with_capacity(seq * seq);
                    for (head, weights) in weights.chunks_exact(seq * seq).enumerate() {
                        let [q, k, v] = [0, 1, 2].map(|which| sizes.part(qkv, which, head));
                        let from = head * d_head;
                        let dout = Matrix::spaced(&dout[from..], seq, d_head, d_model);
                        let scores = &mut scratch.spare_capacity_mut()[..seq * seq];
                        set_product(scores, seq, 1.0, dout, v.t());
                        let scores = scores.assume_init_mut();
                        softmax_back(scores, weights, seq, sizes.scale());
                        let scores = Matrix::dense(scores, seq);
                        let weights = Matrix::dense(weights, seq);
                        let products = [(scores, k), (scores.t(), q), (weights.t(), dout)];
                        for (which, (a, b)) in products.into_iter().enumerate() {
                            let target = &mut dqkv[which * d_model + from..];
                            set_product(target, 3 * d_model, 1.0, a, b);
                        }
                    }
                });
        })
    }
}

/// The softmax of every row of scores, with weight 0 where there is padding.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn softmax(scores: &mut [f32], seq: usize, padding: Option<&[u8]>) {
    let mut start = 0;
    while start < scores.len() {
        let row = &mut scores[start..start + seq];
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

/// Turns the gradients of weights into `scale` times those of scores.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn softmax_back(gradients: &mut [f32], weights: &[f32], seq: usize, scale: f32) {
    let weights = &weights[..gradients.len()];
    let mut start = 0;
    while start < gradients.len() {
        let row = &mut gradients[start..start + seq];
        let weights = &weights[start..start + seq];
        let mean = sum(seq, |i| row[i] * weights[i]);
        for i in 0..seq {
            row[i] = (row[i] - mean) * weights[i] * scale;
        }
        start += seq;
    }
}
