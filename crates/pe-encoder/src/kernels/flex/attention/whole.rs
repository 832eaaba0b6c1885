//! Attention that stores its weights, for short sequences.

use pe_burn::threads;

use super::parts::{BiasParts, Head, Parts, Sizes};
use super::softmax::{Rows, softmax, softmax_backward};
use crate::kernels::flex::products::{Matrix, New, both_initialized, initialized, set_product};

/// The output and the attention weights.
pub fn forward(inputs: Parts<'_>) -> [Vec<f32>; 2] {
    let sizes = inputs.sizes;
    let Sizes { seq, d_model, .. } = sizes;
    let (batch, d_head) = (inputs.batch(), sizes.d_head());
    let write = |out: New<'_>, weights: New<'_>| {
        let sequences = out
            .chunks_mut(seq * d_model)
            .zip(weights.chunks_mut(sizes.scores()))
            .enumerate();
        threads::for_each(sequences, |(row, (out, weights))| {
            for (head, weights) in weights.chunks_exact_mut(seq * seq).enumerate() {
                let of = inputs.head(row, head);
                set_product(weights, seq, sizes.scale, of.q, of.k.t());
                // SAFETY: the product has initialized all of it: seq rows of q times as many of k.
                let weights = unsafe { weights.assume_init_mut() };
                let rows = Rows {
                    keys: [0, seq],
                    query: 0,
                    sees: sizes.sees,
                    bias: of.bias,
                    padding: of.padding,
                };
                softmax(weights, rows, None);
                let weights = Matrix::dense(weights, seq);
                set_product(&mut out[head * d_head..], d_model, 1.0, weights, of.v);
            }
        });
    };
    let lens = [batch * seq * d_model, batch * sizes.scores()];
    // SAFETY: there are `batch` chunks of both. Of the weights of a sequence, heads · seq · seq, a head initializes seq · seq;
    // of the output, `[seq, d_model]`, its `d_head` columns, and `d_model` is heads · d_head (`Sizes::new`).
    unsafe { both_initialized(lens, write) }
}

/// The gradient of `qkv`, from `dout`, the gradient of the output. `dbias` gets that of the bias, for each sequence.
// Longer than a screen: the three kinds of bias beside each other, since what makes each of them sound is the same.
pub fn backward(
    inputs: Parts<'_>,
    weights: &[f32],
    dout: &[f32],
    dbias: Option<&mut Vec<f32>>,
) -> Vec<f32> {
    let sizes = inputs.sizes;
    let Sizes { seq, d_model, .. } = sizes;
    let head = |row: usize, head: usize, dqkv: New<'_>, scores: New<'_>| {
        let weights = &weights[row * sizes.scores() + head * seq * seq..][..seq * seq];
        let dout = &dout[row * seq * d_model..][..seq * d_model];
        let of = inputs.head(row, head);
        head_backward(dqkv, scores, of, weights, dout, sizes, head);
    };
    let (of_qkv, sequence_size) = (inputs.qkv.len(), seq * sizes.width());
    let room = || Vec::with_capacity(seq * seq);
    // SAFETY of all three: of the gradient of a sequence, `[seq, width]`, a head initializes the columns of its queries, keys and
    // values, and those of all heads are `width` together (`Sizes::new`).
    match dbias.zip(inputs.bias) {
        None => {
            let write = |dqkv: New<'_>| {
                let dqkv = dqkv.chunks_mut(sequence_size).enumerate();
                threads::for_each(dqkv, |(row, dqkv)| {
                    let mut room = room();
                    let scores = &mut room.spare_capacity_mut()[..seq * seq];
                    (0..sizes.heads).for_each(|i| head(row, i, dqkv, scores));
                });
            };
            // SAFETY: as above.
            unsafe { initialized(of_qkv, write) }
        }
        Some((target, BiasParts::Pairs(_))) => {
            let write = |dqkv: New<'_>, dscores: New<'_>| {
                let sequences = dqkv
                    .chunks_mut(sequence_size)
                    .zip(dscores.chunks_mut(sizes.scores()))
                    .enumerate();
                threads::for_each(sequences, |(row, (dqkv, dscores))| {
                    let heads = dscores.chunks_exact_mut(seq * seq).enumerate();
                    heads.for_each(|(i, scores)| head(row, i, dqkv, scores));
                });
            };
            // SAFETY: as above, and there are `batch` chunks of both; of the scores of a sequence, heads · seq · seq, a head
            // initializes seq · seq.
            let [dqkv, dscores] =
                unsafe { both_initialized([of_qkv, inputs.batch() * sizes.scores()], write) };
            *target = dscores;
            dqkv
        }
        Some((target, bias @ (BiasParts::Distances(_) | BiasParts::Tokens(_)))) => {
            let of_sequence = bias.of_sequence(sizes);
            *target = vec![0.0; inputs.batch() * of_sequence];
            let write = |dqkv: New<'_>| {
                let sequences = dqkv
                    .chunks_mut(sequence_size)
                    .zip(target.chunks_mut(of_sequence))
                    .enumerate();
                threads::for_each(sequences, |(row, (dqkv, dbias))| {
                    let mut room = room();
                    let scores = &mut room.spare_capacity_mut()[..seq * seq];
                    let of_head = of_sequence / sizes.heads;
                    let heads = dbias.chunks_exact_mut(of_head).enumerate();
                    heads.for_each(|(i, dbias)| {
                        head(row, i, dqkv, scores);
                        // SAFETY: `head` has initialized all of it.
                        let scores = unsafe { scores.assume_init_ref() };
                        bias.add_gradient(dbias, scores, 0, 0..seq, seq);
                    });
                });
            };
            // SAFETY: as above, and there are `batch` chunks of both.
            unsafe { initialized(of_qkv, write) }
        }
    }
}

/// The backward pass of one head of one sequence: writes the gradient of its scores to `dscores`, and
/// those of its queries, keys and values to its columns of `dqkv`.
fn head_backward(
    dqkv: New<'_>,
    dscores: New<'_>,
    of: Head<'_>,
    weights: &[f32],
    dout: &[f32],
    sizes: Sizes,
    head: usize,
) {
    let Sizes { seq, d_model, .. } = sizes;
    let dout = &dout[head * sizes.d_head()..];
    let dout = Matrix::spaced(dout, seq, sizes.d_head(), d_model);
    set_product(dscores, seq, 1.0, dout, of.v.t());
    // SAFETY: the product has initialized all of it: seq rows of the gradient times as many of v.
    let dscores = unsafe { dscores.assume_init_mut() };
    softmax_backward(dscores, weights, seq);
    let dscores = Matrix::dense(dscores, seq);
    let weights = Matrix::dense(weights, seq);
    let scale = sizes.scale;
    let products = [
        (scale, dscores, of.k),
        (scale, dscores.t(), of.q),
        (1.0, weights.t(), dout),
    ];
    for (which, (scale, a, b)) in products.into_iter().enumerate() {
        let target = &mut dqkv[sizes.column(which, head)..];
        set_product(target, sizes.width(), scale, a, b);
    }
}
