//! Attention of a block of queries at a time, for long sequences: memory grows with the length, not with its
//! square.
//!
//! Of the weights only the largest score and the sum of each row are kept. The backward pass computes the
//! weights of a block again from them (Dao et al. 2022, *FlashAttention*, section 3.1). Keys that no query of a
//! block attends to are left out: in causal attention those behind it, in local attention those outside of its window.

use std::ops::Range;

use pe_burn::threads;

use super::parts::{BiasParts, Head, Parts, Sizes};
use super::softmax::{Rows, softmax, softmax_again, softmax_backward};
use crate::kernels::flex::products::{Matrix, add_spaced_product, put_product};

/// The number of queries in a block.
pub const TILE: usize = 64;

/// The blocks of queries, and the keys that each attends to. The last one comes first.
fn tiles(sizes: Sizes) -> impl Iterator<Item = (Range<usize>, Range<usize>)> {
    let starts = (0..sizes.seq).step_by(TILE).rev();
    starts.map(move |start| {
        let queries = start..(start + TILE).min(sizes.seq);
        (queries.clone(), sizes.sees.keys(queries, sizes.seq))
    })
}

/// Room for the scores of a block.
fn room(sizes: Sizes) -> Vec<f32> {
    let keys = tiles(sizes).map(|(_, keys)| keys.len()).max();
    vec![0.0; TILE * keys.unwrap_or(0)]
}

impl<'a> Head<'a> {
    /// The rows of the scores of a block.
    fn rows(self, queries: &Range<usize>, keys: &Range<usize>, sizes: Sizes) -> Rows<'a> {
        Rows {
            keys: [keys.start, keys.end],
            query: queries.start,
            sees: sizes.sees,
            bias: self.bias.map(|bias| bias.from(queries.start)),
            padding: self.padding,
        }
    }

    /// Writes the products of the queries of a block with the keys.
    fn scores(self, scores: &mut [f32], queries: &Range<usize>, keys: &Range<usize>, sizes: Sizes) {
        let (q, k) = (self.q.rows(queries.clone()), self.k.rows(keys.clone()));
        put_product(scores, keys.len(), sizes.scale, q, k.t());
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
    let sequences = out
        .chunks_mut(seq * d_model)
        .zip(sums.chunks_mut(heads * seq))
        .enumerate();
    threads::for_each(sequences, |(row, (out, sums))| {
        let mut room = room(sizes);
        for (head, sums) in sums.chunks_exact_mut(seq).enumerate() {
            let of = inputs.head(row, head);
            for (queries, keys) in tiles(sizes) {
                let weights = &mut room[..queries.len() * keys.len()];
                of.scores(weights, &queries, &keys, sizes);
                let rows = of.rows(&queries, &keys, sizes);
                softmax(weights, rows, Some(&mut sums[queries.clone()]));
                let weights = Matrix::dense(weights, keys.len());
                let out = &mut out[queries.start * d_model + head * sizes.d_head()..];
                put_product(out, d_model, 1.0, weights, of.v.rows(keys));
            }
        }
    });
    (out, sums)
}

/// The gradient of `qkv`, from `dout`, the gradient of the output. `dbias` gets that of the bias, for each sequence.
pub fn backward(
    inputs: Parts<'_>,
    sums: &[[f32; 2]],
    dout: &[f32],
    dbias: Option<&mut Vec<f32>>,
) -> Vec<f32> {
    let sizes = inputs.sizes;
    let Sizes { seq, d_model, .. } = sizes;
    let mut dqkv = vec![0.0; inputs.qkv.len()];
    let sequences = dqkv.chunks_mut(seq * sizes.width()).enumerate();
    let sequence = |row: usize, dqkv: &mut [f32], mut dbias: Option<&mut [f32]>| {
        let mut rooms = [(); 2].map(|()| room(sizes));
        let dout = &dout[row * seq * d_model..][..seq * d_model];
        for head in 0..sizes.heads {
            let sums = &sums[(row * sizes.heads + head) * seq..][..seq];
            let dbias = dbias.as_deref_mut().map(|all| {
                let of_head = all.len() / sizes.heads;
                &mut all[head * of_head..][..of_head]
            });
            head_backward(
                dqkv,
                inputs.bias.zip(dbias),
                &mut rooms,
                inputs.head(row, head),
                sums,
                dout,
                sizes,
                head,
            );
        }
    };
    match dbias.zip(inputs.bias) {
        None => threads::for_each(sequences, |(row, dqkv)| sequence(row, dqkv, None)),
        Some((target, bias)) => {
            let of_sequence = bias.of_sequence(sizes);
            *target = vec![0.0; inputs.batch() * of_sequence];
            let sequences = sequences.zip(target.chunks_mut(of_sequence));
            threads::for_each(sequences, |((row, dqkv), dbias)| {
                sequence(row, dqkv, Some(dbias))
            });
        }
    }
    dqkv
}

/// The backward pass of one head of one sequence. The gradient of its bias holds zeros.
#[allow(clippy::too_many_arguments)]
fn head_backward(
    dqkv: &mut [f32],
    mut dbias: Option<(BiasParts<'_>, &mut [f32])>,
    rooms: &mut [Vec<f32>; 2],
    of: Head<'_>,
    sums: &[[f32; 2]],
    dout: &[f32],
    sizes: Sizes,
    head: usize,
) {
    let Sizes { seq, d_model, .. } = sizes;
    let (width, scale) = (sizes.width(), sizes.scale);
    let dout = &dout[head * sizes.d_head()..];
    let dout = Matrix::spaced(dout, seq, sizes.d_head(), d_model);
    let [of_q, of_k, of_v] = [0, 1, 2].map(|which| sizes.column(which, head));
    for (queries, keys) in tiles(sizes) {
        let [weights, gradients] = rooms
            .each_mut()
            .map(|room| &mut room[..queries.len() * keys.len()]);
        of.scores(weights, &queries, &keys, sizes);
        let rows = of.rows(&queries, &keys, sizes);
        softmax_again(weights, rows, &sums[queries.clone()]);
        let dout = dout.rows(queries.clone());
        let v = of.v.rows(keys.clone());
        put_product(gradients, keys.len(), 1.0, dout, v.t());
        softmax_backward(gradients, weights, keys.len());
        if let Some((bias, all)) = &mut dbias {
            bias.add_gradient(all, gradients, queries.start, keys.clone(), seq);
        }
        let gradients = Matrix::dense(gradients, keys.len());
        let weights = Matrix::dense(weights, keys.len());
        let dq = &mut dqkv[queries.start * width + of_q..];
        put_product(dq, width, scale, gradients, of.k.rows(keys.clone()));
        let of_keys = &mut dqkv[keys.start * width + of_k..];
        add_spaced_product(of_keys, width, scale, gradients.t(), of.q.rows(queries));
        let of_values = &mut dqkv[keys.start * width + of_v..];
        add_spaced_product(of_values, width, 1.0, weights.t(), dout);
    }
}
