//! Attention of new tokens to those of a cache, for decoding. It has no backward pass.
//!
//! The keys and values are read where the cache has them: a step of one token reads each of them once, and writes
//! nothing but its output.

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{FloatDType, Tensor};
use pe_burn::threads;

use super::parts::{Sees, Spread};
use super::softmax::{Rows, softmax};
use super::tiles::TILE;
use crate::kernels::flex::products::{Matrix, New, initialized, set_product};
use crate::kernels::flex::{contiguous, elements, tensor};

/// Below so many multiplications it takes longer to wake another thread than to compute.
const WORTH_A_THREAD: usize = 1 << 18;

/// As [`plain::cached_attention`](crate::plain::cached_attention), of tensors without autodiff whose shapes fit together. The bias
/// is of any float type.
// Longer than a screen: it prepares what the kernel of one head, which stands in its middle, captures.
pub fn cached_attention(
    q: Tensor<4>,
    [k, v]: [Tensor<4>; 2],
    bias: Option<Tensor<4>>,
    window: Option<usize>,
) -> Tensor<4> {
    let shape @ [_, heads, queries, d_head] = q.dims();
    let [_, _, keys, _] = k.dims();
    let q = contiguous(primitive(q));
    let [k, v] = [k, v].map(|x| Heads::new(primitive(x), heads));
    let bias = bias.map(|bias| contiguous(primitive(bias.cast(FloatDType::F32))));
    let bias = bias.as_ref().map(elements);
    let scale = 1.0 / (d_head as f32).sqrt();
    let q = elements(&q);
    let sees = Sees {
        causal: true,
        window,
    };

    let head = |index: usize, out: New<'_>| {
        let q = Matrix::dense(&q[index * queries * d_head..][..queries * d_head], d_head);
        let [k, v] = [&k, &v].map(|of| of.head(index));
        // There is one bias for all sequences, or one for each.
        let bias = bias.map(|all| &all[index * queries * keys % all.len()..]);
        let mut scores = Vec::new();
        for first in (0..queries).step_by(TILE) {
            let block = first..(first + TILE).min(queries);
            // The queries belong to the last keys. Keys that no query of the block attends to are left out.
            let before = keys - queries;
            let seen = sees.keys(before + block.start..before + block.end, keys);
            let columns = seen.len();
            scores.clear();
            scores.reserve(block.len() * columns);
            let room = &mut scores.spare_capacity_mut()[..block.len() * columns];
            let (queries_of, keys_of) = (q.rows(block.clone()), k.rows(seen.clone()).t());
            set_product(room, columns, scale, queries_of, keys_of);
            // SAFETY: the product has initialized all of it: the queries of the block times the keys that are seen.
            let scores = unsafe { room.assume_init_mut() };
            let rows = Rows {
                keys: [seen.start, seen.end],
                query: before + first,
                sees,
                bias: bias.map(|bias| Spread::pairs(bias, keys).from(first)),
                padding: None,
            };
            softmax(scores, rows, None);
            let weights = Matrix::dense(scores, columns);
            let out = &mut out[first * d_head..][..block.len() * d_head];
            set_product(out, d_head, 1.0, weights, v.rows(seen));
        }
    };
    let work = q.len() * keys;
    let write = |out: New<'_>| {
        let outs = out.chunks_exact_mut(queries * d_head).enumerate();
        match work < WORTH_A_THREAD {
            true => outs.for_each(|(index, out)| head(index, out)),
            false => threads::for_each(outs, |(index, out)| head(index, out)),
        }
    };
    // SAFETY: the output has as many elements as q, `[batch, heads, queries, d_head]`. A head initializes `[queries, d_head]`,
    // block by block: its weights times as many rows of v, which has `d_head` columns (`kernels::cached_attention`).
    let out = unsafe { initialized(q.len(), write) };
    Tensor::from_primitive::<Flex>(tensor(out, shape))
}

fn primitive(x: Tensor<4>) -> FlexTensor {
    let x = x.try_into_primitive::<Flex>();
    x.expect("a tensor on Flex without autodiff")
}

/// Keys or values, `[batch, heads, keys, d_head]`. Each head is dense; between heads there may be room.
struct Heads {
    x: FlexTensor,
    heads: usize,
}

impl Heads {
    fn new(x: FlexTensor, heads: usize) -> Self {
        let d_head = x.layout().shape()[3] as isize;
        let dense = x.layout().strides()[2..] == [d_head, 1];
        let positive = x.layout().strides()[..2].iter().all(|stride| *stride >= 0);
        let x = if dense && positive { x } else { contiguous(x) };
        Self { x, heads }
    }

    /// A head of a sequence; `index` counts the heads of all sequences.
    fn head(&self, index: usize) -> Matrix<'_> {
        let layout = self.x.layout();
        let [sequences, heads] = [0, 1].map(|axis| layout.strides()[axis] as usize);
        let from =
            layout.start_offset() + index / self.heads * sequences + index % self.heads * heads;
        let (keys, d_head) = (layout.shape()[2], layout.shape()[3]);
        Matrix::dense(&self.x.storage()[from..][..keys * d_head], d_head)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::plain;
    use crate::testing::{difference, random, values};
    use burn::tensor::Device;

    /// Prompts longer than a block, one token, several; with one bias, one for each sequence, none, and one of half precision; of a cache
    /// with room and of one without.
    #[test]
    fn output_is_that_of_burns_operations() {
        let device = Device::flex();
        let (batch, heads, d_head) = (3, 2, 12);
        for (queries, keys, room) in [
            (1, 1, 64),
            (1, 200, 256),
            (1, 200, 200),
            (5, 70, 96),
            (150, 150, 150),
            (130, 201, 256),
        ] {
            let q = random([batch, heads, queries, d_head], &device);
            let [k, v] = [(); 2].map(|()| {
                let all = random([batch, heads, room, d_head], &device);
                all.narrow(2, 0, keys)
            });
            let biases = [1, batch].map(|rows| random([rows, heads, queries, keys], &device));
            let half = biases[0].clone().cast(FloatDType::F16);
            for bias in biases.map(Some).into_iter().chain([None, Some(half)]) {
                let cache = [k.clone(), v.clone()];
                for window in [None, Some(1), Some(50), Some(500)] {
                    let (q, cache, bias) = (q.clone(), cache.clone(), bias.clone());
                    let got = cached_attention(q.clone(), cache.clone(), bias.clone(), window);
                    let expected = plain::cached_attention(q, cache, bias, window);
                    let apart = difference(&values(expected), &values(got));
                    let case = format!("{queries} of {keys} in {room}, window {window:?}");
                    assert!(apart < 2e-6, "{case}: {apart}");
                }
            }
        }
    }

    #[test]
    fn keys_and_values_in_another_order_are_read_too() {
        let device = Device::flex();
        let q = random([2, 3, 4, 8], &device);
        // [batch, keys, heads, d_head] in memory, and with sequences in reverse.
        let cache = [(); 2].map(|()| random([2, 9, 3, 8], &device).swap_dims(1, 2).flip([0]));
        let expected = plain::cached_attention(q.clone(), cache.clone(), None, None);
        let got = cached_attention(q, cache, None, None);
        assert!(difference(&values(expected), &values(got)) < 2e-6);
    }
}
