//! CoPE's bias in one pass: scores, their gates, the sums of these, which are the positions, and the products of the query with the
//! embeddings of the positions around each.
//!
//! With Burn's operations these are about twenty tensors of queries × keys, each written and read again in the backward pass.
//! Here the scores of a few queries are in the cache, in the backward pass once more, and sums are taken in `f64`.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Range;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bool, Int, Tensor};
use multiversion::multiversion;

use super::matrix::{Matrix, add_product, in_rows, put_product};
use super::units::{blocks, for_each, parts_of, summed, units};
use super::{filled_by, tensor};
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::exp;

/// The products of queries with embeddings at the positions of the keys, which are sums of gates of the scores.
///
/// # Shapes
///
/// - queries and keys: `[batch, heads, queries or keys, d_head]`
/// - `embeddings`: `[d_head, positions]`, of every position, or of two more than there are keys
/// - `hidden`: `[1 or batch, 1, queries, keys]`, which keys have no gate
/// - `ends`: `[1 or batch, keys]`, the key behind the last one that is in the sum of a key; without it that is the last of all
/// - output: `[batch, heads, queries, keys]`
///
/// The scores are multiplied by `scale`, and no position is above `last`. Nothing is empty.
pub(crate) fn contextual(
    [q, k]: [Tensor<4>; 2],
    embeddings: Tensor<2>,
    (scale, last): (f64, usize),
    hidden: Tensor<4, Bool>,
    ends: Option<Tensor<2, Int>>,
) -> Tensor<4> {
    let [batch, heads, queries, d_head] = q.dims();
    let ([_, _, keys, _], [_, positions]) = (k.dims(), embeddings.dims());
    let hidden = hidden.into_data().iter().collect();
    let ends = ends.map(|ends| ends.into_data().iter().collect());
    let operands = [Operand::of(q), Operand::of(k), Operand::of(embeddings)];
    apply(operands, |[q, k, embeddings]: [FlexTensor; 3]| {
        let kept = Contextual {
            shape: [batch, heads, queries, keys],
            d_head,
            positions,
            scale: scale as f32,
            last,
            hidden,
            ends,
            q: in_rows(q),
            k: in_rows(k),
            embeddings: embeddings.to_contiguous(),
        };
        (kept.bias(), kept)
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct Contextual {
    /// `[batch, heads, queries, keys]`.
    shape: [usize; 4],
    d_head: usize,
    /// How many embeddings there are.
    positions: usize,
    scale: f32,
    last: usize,
    hidden: Vec<bool>,
    ends: Option<Vec<u32>>,
    q: FlexTensor,
    k: FlexTensor,
    embeddings: FlexTensor,
}

/// The scores of some queries of a head, and their products with the embeddings.
struct Block {
    scores: Vec<f32>,
    products: Vec<f32>,
}

/// What belongs to one query of one head and the keys up to the last one that has a gate. Those after it are at position 0, whose
/// product is the first.
struct Line<'a> {
    scores: &'a [f32],
    products: &'a [f32],
    hidden: &'a [bool],
    ends: Option<&'a [u32]>,
}

impl Contextual {
    fn multiplications(&self) -> usize {
        let [batch, heads, queries, keys] = self.shape;
        batch * heads * queries * (keys + self.positions) * self.d_head
    }

    fn embeddings(&self) -> Matrix<'_> {
        let embeddings = self.embeddings.as_slice().expect("contiguous");
        Matrix::dense(embeddings, self.positions)
    }

    /// The products of some queries of a head of a sequence.
    fn block(&self, of: [usize; 2], queries: Range<usize>) -> Block {
        let [.., keys] = self.shape;
        let mut scores = vec![0.0; queries.len() * keys];
        let mut products = vec![0.0; queries.len() * self.positions];
        let q = Matrix::of_head(&self.q, of).rows(queries);
        let k = Matrix::of_head(&self.k, of);
        put_product(&mut scores, keys, 1.0, q, k.t());
        put_product(&mut products, self.positions, 1.0, q, self.embeddings());
        Block { scores, products }
    }

    /// What belongs to a query of a sequence, which is at `line` of a block.
    fn line<'a>(
        &'a self,
        block: &'a Block,
        line: usize,
        sequence: usize,
        query: usize,
    ) -> Line<'a> {
        let ([_, _, queries, keys], positions) = (self.shape, self.positions);
        // Where all sequences have the same positions there is one set of each.
        let hidden = (sequence * queries + query) * keys % self.hidden.len();
        let hidden = &self.hidden[hidden..][..keys];
        let seen = hidden.iter().rposition(|is_hidden| !is_hidden);
        let seen = seen.map_or(0, |last| last + 1);
        let ends = self.ends.as_ref();
        Line {
            scores: &block.scores[line * keys..][..seen],
            products: &block.products[line * positions..][..positions],
            hidden: &hidden[..seen],
            ends: ends.map(|ends| &ends[sequence * keys % ends.len()..][..seen]),
        }
    }

    fn bias(&self) -> FlexTensor {
        let [batch, heads, ..] = self.shape;
        let write = |out: &mut [MaybeUninit<f32>]| {
            let units = units([batch, heads], [out]);
            for_each(units, self.multiplications(), |unit| {
                let [out] = &mut unit.memory;
                self.write_to(out, unit.of);
            });
        };
        // SAFETY: the units are all of the memory, and each is written.
        unsafe { filled_by(self.shape, write) }
    }

    /// Writes the bias of a head of a sequence, every element.
    fn write_to(&self, out: &mut [MaybeUninit<f32>], of: [usize; 2]) {
        let [_, _, queries, keys] = self.shape;
        let mut gates = Gates::of(keys);
        for tokens in blocks(queries) {
            let block = self.block(of, tokens.clone());
            for (line, query) in tokens.enumerate() {
                let line = self.line(&block, line, of[0], query);
                let (out, after) = out[query * keys..][..keys].split_at_mut(line.scores.len());
                after.fill(MaybeUninit::new(line.products[0]));
                gates.open(&line, self.scale);
                line.positions(&gates, self.last, |key, [below, above], part| {
                    out[key].write(below.1 + (above.1 - below.1) * part);
                });
            }
        }
    }

    /// Adds the gradients of a head of a sequence to those of its queries and keys and of the embeddings.
    fn add_gradients(
        &self,
        gradient: &[f32],
        of: [usize; 2],
        [of_q, of_k]: &mut [&mut [f32]; 2],
        of_embeddings: &mut [f32],
    ) {
        let ([_, _, queries, keys], d_head) = (self.shape, self.d_head);
        let mut gates = Gates::of(keys);
        for tokens in blocks(queries) {
            let block = self.block(of, tokens.clone());
            let mut of_scores = vec![0.0; block.scores.len()];
            let mut of_products = vec![0.0; block.products.len()];
            for (line, query) in tokens.clone().enumerate() {
                let gradient = &gradient[query * keys..][..keys];
                let of_scores = &mut of_scores[line * keys..][..keys];
                let of_products = &mut of_products[line * self.positions..][..self.positions];
                let line = self.line(&block, line, of[0], query);
                gates.open(&line, self.scale);
                line.gradients(&gates, self.last, gradient, [of_scores, of_products]);
            }
            let of_scores = Matrix::dense(&of_scores, keys);
            let of_products = Matrix::dense(&of_products, self.positions);
            let q = Matrix::of_head(&self.q, of).rows(tokens.clone());
            let of_q = &mut of_q[tokens.start * d_head..tokens.end * d_head];
            let k = Matrix::of_head(&self.k, of);
            put_product(of_q, d_head, 1.0, of_scores, k);
            add_product(of_q, of_products, self.embeddings().t());
            add_product(of_k, of_scores.t(), q);
            add_product(of_embeddings, q.t(), of_products);
        }
    }
}

/// The gates of a line, in memory that the lines of a piece share.
struct Gates {
    values: Vec<f32>,
    /// How much each changes with its score.
    slopes: Vec<f32>,
}

impl Gates {
    fn of(keys: usize) -> Self {
        let [values, slopes] = [(); 2].map(|()| vec![0.0; keys]);
        Self { values, slopes }
    }

    fn open(&mut self, line: &Line<'_>, scale: f32) {
        let Self { values, slopes } = self;
        let keys = line.scores.len();
        let (values, slopes) = (&mut values[..keys], &mut slopes[..keys]);
        open(line.scores, line.hidden, scale, values, slopes);
    }
}

impl Line<'_> {
    /// Calls `each` with every key, the last one first, the products at the whole positions around its own, each with its
    /// index, and how far it is from the first of them to the second.
    fn positions(
        &self,
        gates: &Gates,
        last: usize,
        mut each: impl FnMut(usize, [(usize, f32); 2], f32),
    ) {
        let mut sum = 0.0_f64;
        let gates = &gates.values[..self.scores.len()];
        for (key, gate) in gates.iter().enumerate().rev() {
            if self.is_last(key) {
                sum = 0.0;
            }
            sum += f64::from(*gate);
            // Not `min`, which would lose NaN.
            let position = if sum > last as f64 { last as f64 } else { sum };
            let below = position as usize;
            let at = |position: usize| (position, self.products[position]);
            let around = [at(below), at((below + 1).min(last))];
            each(key, around, (position - below as f64) as f32);
        }
    }

    /// Adds to the gradients of the products, and writes those of the scores, which are 0 where there is no gate.
    ///
    /// A gate counts for its own key and for those before it that have it in their sums.
    fn gradients(
        &self,
        gates: &Gates,
        last: usize,
        gradient: &[f32],
        [of_scores, of_products]: [&mut [f32]; 2],
    ) {
        let of_scores = &mut of_scores[..self.scores.len()];
        of_products[0] += gradient[self.scores.len()..].iter().sum::<f32>();
        self.positions(gates, last, |key, [below, above], part| {
            let gradient = gradient[key];
            of_products[below.0] += (1.0 - part) * gradient;
            of_products[above.0] += part * gradient;
            of_scores[key] = (above.1 - below.1) * gradient;
        });
        let mut sum = 0.0_f64;
        for (key, of_score) in of_scores.iter_mut().enumerate() {
            sum += f64::from(*of_score);
            *of_score = sum as f32 * gates.slopes[key];
            if self.is_last(key) {
                sum = 0.0;
            }
        }
    }

    /// Whether no sum goes from this key on to the next.
    fn is_last(&self, key: usize) -> bool {
        self.ends.is_some_and(|ends| ends[key] as usize == key + 1)
    }
}

/// The gates `σ(scale · score)`, 0 for a key that is hidden, and how much each changes with its score.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn open(scores: &[f32], hidden: &[bool], scale: f32, gates: &mut [f32], slopes: &mut [f32]) {
    let keys = scores.len();
    let (hidden, gates, slopes) = (&hidden[..keys], &mut gates[..keys], &mut slopes[..keys]);
    for key in 0..keys {
        let score = scale * scores[key];
        // Of −|x|, so that nothing overflows: σ(x) = 1 / (1 + e^−x) = e^x / (1 + e^x).
        let small = exp(-score.abs());
        let large = 1.0 / (1.0 + small);
        let gate = if score < 0.0 { small * large } else { large };
        gates[key] = if hidden[key] { 0.0 } else { gate };
        let slope = small * large * large * scale;
        slopes[key] = if hidden[key] { 0.0 } else { slope };
    }
}

impl Operation<Flex, 3> for Contextual {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 3] {
        let gradient = gradient.to_contiguous();
        let gradient = gradient.as_slice::<f32>().expect("contiguous");
        let ([batch, heads, queries, keys], d_head) = (self.shape, self.d_head);
        let mut of_q = vec![0.0_f32; batch * heads * queries * d_head];
        let mut of_k = vec![0.0_f32; batch * heads * keys * d_head];
        let units = units([batch, heads], [&mut of_q[..], &mut of_k[..]]);
        let len = [d_head * self.positions];
        let parts = parts_of(
            units,
            self.multiplications(),
            len,
            |unit, [of_embeddings]| {
                let first = (unit.of[0] * heads + unit.of[1]) * queries * keys;
                let gradient = &gradient[first..][..queries * keys];
                self.add_gradients(gradient, unit.of, &mut unit.memory, of_embeddings);
            },
        );
        let of_embeddings = tensor(summed(&parts, 0, 1), [d_head, self.positions]);
        let of_q = tensor(of_q, [batch, heads, queries, d_head]);
        let of_k = tensor(of_k, [batch, heads, keys, d_head]);
        [of_q, of_k, of_embeddings]
    }
}
