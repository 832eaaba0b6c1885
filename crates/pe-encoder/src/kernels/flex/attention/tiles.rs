//! Attention of a block of queries at a time, for long sequences: memory grows with the length, not with its
//! square.
//!
//! Of the weights only the largest score and the sum of each row are kept. The backward pass computes the
//! weights of a block again from them (Dao et al. 2022, *FlashAttention*, section 3.1). In causal attention
//! the keys behind a block are left out.

use std::ops::Range;

use rayon::prelude::*;

use super::parts::{Head, Parts, Sizes};
use super::softmax::{Rows, softmax, softmax_again, softmax_backward};
use crate::kernels::flex::products::{Matrix, add_spaced_product, put_product};

/// The number of queries in a block.
pub const TILE: usize = 64;

/// The blocks of queries, and the number of keys that each attends to. The last one comes first.
fn tiles(sizes: Sizes) -> impl Iterator<Item = (Range<usize>, usize)> {
    let starts = (0..sizes.seq).step_by(TILE).rev();
    starts.map(move |start| {
        let end = (start + TILE).min(sizes.seq);
        let keys = if sizes.causal { end } else { sizes.seq };
        (start..end, keys)
    })
}

/// Room for the scores of a block.
fn room(sizes: Sizes) -> Vec<f32> {
    vec![0.0; TILE * sizes.seq]
}

impl<'a> Head<'a> {
    /// The rows of the scores of a block.
    fn rows(self, queries: &Range<usize>, keys: usize, sizes: Sizes) -> Rows<'a> {
        Rows {
            keys,
            causal: sizes.causal.then_some(queries.start),
            bias: self
                .bias
                .map(|bias| (&bias[queries.start * sizes.seq..], sizes.seq)),
            padding: self.padding,
        }
    }

    /// Writes the products of the queries of a block with the keys.
    fn scores(self, scores: &mut [f32], queries: &Range<usize>, keys: usize, sizes: Sizes) {
        let (q, k) = (self.q.rows(queries.clone()), self.k.rows(0..keys));
        put_product(scores, keys, sizes.scale(), q, k.t());
    }
}

/// The output; and for every head and query the largest score, and by what its exponentials were multiplied.
pub fn forward(inputs: Parts<'_>) -> (Vec<f32>, Vec<[f32; 2]>) {
    let sizes = inputs.sizes;
    let Sizes {
        seq,
        d_model,
        heads,
        ..
    } = sizes;
    let batch = inputs.batch();
    let mut out = vec![0.0; batch * seq * d_model];
    let mut sums = vec![[0.0; 2]; batch * heads * seq];
    out.par_chunks_mut(seq * d_model)
        .zip(sums.par_chunks_mut(heads * seq))
        .enumerate()
        .for_each(|(row, (out, sums))| {
            let mut room = room(sizes);
            for (head, sums) in sums.chunks_exact_mut(seq).enumerate() {
                let of = inputs.head(row, head);
                for (queries, keys) in tiles(sizes) {
                    let weights = &mut room[..queries.len() * keys];
                    of.scores(weights, &queries, keys, sizes);
                    let rows = of.rows(&queries, keys, sizes);
                    softmax(weights, rows, Some(&mut sums[queries.clone()]));
                    let weights = Matrix::dense(weights, keys);
                    let out = &mut out[queries.start * d_model + head * sizes.d_head()..];
                    put_product(out, d_model, 1.0, weights, of.v.rows(0..keys));
                }
            }
        });
    (out, sums)
}

/// The gradient of `qkv`, from `dout`, the gradient of the output. `dscores` gets that of the scores.
pub fn backward(
    inputs: Parts<'_>,
    sums: &[[f32; 2]],
    dout: &[f32],
    dscores: Option<&mut Vec<f32>>,
) -> Vec<f32> {
    let sizes = inputs.sizes;
    let Sizes { seq, d_model, .. } = sizes;
    let mut dqkv = vec![0.0; inputs.qkv.len()];
    let sequences = dqkv.par_chunks_mut(seq * 3 * d_model).enumerate();
    let sequence = |row: usize, dqkv: &mut [f32], mut dscores: Option<&mut [f32]>| {
        let mut rooms = [(); 2].map(|()| room(sizes));
        let dout = &dout[row * seq * d_model..][..seq * d_model];
        for head in 0..sizes.heads {
            let sums = &sums[(row * sizes.heads + head) * seq..][..seq];
            let dscores = dscores
                .as_deref_mut()
                .map(|all| &mut all[head * seq * seq..]);
            head_backward(
                dqkv,
                dscores,
                &mut rooms,
                inputs.head(row, head),
                sums,
                dout,
                sizes,
                head,
            );
        }
    };
    match dscores {
        None => sequences.for_each(|(row, dqkv)| sequence(row, dqkv, None)),
        Some(target) => {
            *target = vec![0.0; inputs.batch() * sizes.scores()];
            sequences
                .zip(target.par_chunks_mut(sizes.scores()))
                .for_each(|((row, dqkv), dscores)| sequence(row, dqkv, Some(dscores)));
        }
    }
    dqkv
}

/// The backward pass of one head of one sequence. `dscores` is `[seq, seq]` and holds zeros.
#[allow(clippy::too_many_arguments)]
fn head_backward(
    dqkv: &mut [f32],
    mut dscores: Option<&mut [f32]>,
    rooms: &mut [Vec<f32>; 2],
    of: Head<'_>,
    sums: &[[f32; 2]],
    dout: &[f32],
    sizes: Sizes,
    head: usize,
) {
    let Sizes { seq, d_model, .. } = sizes;
    let from = head * sizes.d_head();
    let (width, scale) = (3 * d_model, sizes.scale());
    let dout = Matrix::spaced(&dout[from..], seq, sizes.d_head(), d_model);
    for (queries, keys) in tiles(sizes) {
        let [weights, gradients] = rooms
            .each_mut()
            .map(|room| &mut room[..queries.len() * keys]);
        of.scores(weights, &queries, keys, sizes);
        let rows = of.rows(&queries, keys, sizes);
        softmax_again(weights, rows, &sums[queries.clone()]);
        let dout = dout.rows(queries.clone());
        put_product(gradients, keys, 1.0, dout, of.v.rows(0..keys).t());
        softmax_backward(gradients, weights, keys);
        if let Some(all) = dscores.as_deref_mut() {
            let rows = all[queries.start * seq..].chunks_mut(seq);
            for (row, gradients) in rows.zip(gradients.chunks_exact(keys)) {
                row[..keys].copy_from_slice(gradients);
            }
        }
        let gradients = Matrix::dense(gradients, keys);
        let weights = Matrix::dense(weights, keys);
        let dq = &mut dqkv[queries.start * width + from..];
        put_product(dq, width, scale, gradients, of.k.rows(0..keys));
        let q = of.q.rows(queries);
        add_spaced_product(&mut dqkv[d_model + from..], width, scale, gradients.t(), q);
        add_spaced_product(
            &mut dqkv[2 * d_model + from..],
            width,
            1.0,
            weights.t(),
            dout,
        );
    }
}
