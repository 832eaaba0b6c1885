//! CoPE's bias in one pass: gates of the scores, their sums, which are the positions, and the scores with the embeddings of
//! the positions around each.
//!
//! With Burn's operations these are about twenty tensors of queries × keys, each written and read again in the backward pass.
//! Here scores, products with the embeddings and which keys are hidden are kept, and sums are taken in `f64`.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bool, Int, Tensor, TensorData};
use multiversion::multiversion;

use super::{CHUNK, filled_by};
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::exp;
use crate::backend::threads;

/// `products` at the positions of the keys, which are sums of gates of the scores.
///
/// # Shapes
///
/// - `scores`: `[batch, heads, queries, keys]`, of queries and keys
/// - `products`: `[batch, heads, queries, positions]`, of queries and the embeddings of every position, or of two more than there
///   are keys
/// - `hidden`: `[1 or batch, 1, queries, keys]`, which keys have no gate
/// - `ends`: `[1 or batch, keys]`, the key behind the last one that is in the sum of a key; without it that is the last of all
/// - output: `[batch, heads, queries, keys]`
///
/// The scores are multiplied by `scale`, and no position is above `last`.
pub(crate) fn contextual(
    [scores, products]: [Tensor<4>; 2],
    (scale, last): (f64, usize),
    hidden: Tensor<4, Bool>,
    ends: Option<Tensor<2, Int>>,
) -> Tensor<4> {
    let (shape, [.., positions]) = (scores.dims(), products.dims());
    let hidden = hidden.into_data().iter().collect();
    let ends = ends.map(|ends| ends.into_data().iter().collect());
    let operands = [Operand::of(scores), Operand::of(products)];
    apply(operands, |operands: [FlexTensor; 2]| {
        let [scores, products] = operands.map(|operand| operand.to_contiguous());
        let kept = Contextual {
            shape,
            positions,
            scale: scale as f32,
            last,
            hidden,
            ends,
            scores,
            products,
        };
        (kept.bias(), kept)
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct Contextual {
    /// `[batch, heads, queries, keys]`.
    shape: [usize; 4],
    /// How many products a query has.
    positions: usize,
    scale: f32,
    last: usize,
    hidden: Vec<bool>,
    ends: Option<Vec<u32>>,
    scores: FlexTensor,
    products: FlexTensor,
}

/// What belongs to one query of one head.
struct Line<'a> {
    scores: &'a [f32],
    products: &'a [f32],
    hidden: &'a [bool],
    ends: Option<&'a [u32]>,
}

impl Contextual {
    /// A line of the output, of which there are batch · heads · queries.
    fn line(&self, line: usize) -> Line<'_> {
        let ([_, heads, queries, keys], positions) = (self.shape, self.positions);
        let batch = line / (heads * queries);
        // Where all sequences have the same positions there is one set of each.
        let hidden = (batch * queries + line % queries) * keys % self.hidden.len();
        let ends = self.ends.as_ref();
        Line {
            scores: &numbers(&self.scores)[line * keys..][..keys],
            products: &numbers(&self.products)[line * positions..][..positions],
            hidden: &self.hidden[hidden..][..keys],
            ends: ends.map(|ends| &ends[batch * keys % ends.len()..][..keys]),
        }
    }

    fn bias(&self) -> FlexTensor {
        let [.., keys] = self.shape;
        let lines = (CHUNK / keys).max(1);
        let write = |out: &mut [MaybeUninit<f32>]| {
            let pieces = out.chunks_mut(lines * keys).enumerate();
            threads::for_each(pieces, |(piece, out)| {
                let mut gates = Gates::of(keys);
                for (out, line) in out.chunks_exact_mut(keys).zip(piece * lines..) {
                    let line = self.line(line);
                    gates.open(&line, self.scale);
                    line.positions(&gates.values, self.last, |key, [below, above], part| {
                        out[key].write(below.1 + (above.1 - below.1) * part);
                    });
                }
            });
        };
        // SAFETY: the memory is lines of `keys` elements, a chunk is some of these lines, and every key has a position.
        unsafe { filled_by(self.shape, write) }
    }
}

fn numbers(tensor: &FlexTensor) -> &[f32] {
    tensor.as_slice().expect("contiguous")
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
        open(line.scores, line.hidden, scale, values, slopes);
    }
}

impl Line<'_> {
    /// Calls `each` with every key, the last one first, the products at the whole positions around its own, each with its
    /// index, and how far it is from the first of them to the second.
    fn positions(
        &self,
        gates: &[f32],
        last: usize,
        mut each: impl FnMut(usize, [(usize, f32); 2], f32),
    ) {
        let mut sum = 0.0_f64;
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

impl Operation<Flex, 2> for Contextual {
    /// A gate counts for its own key and for those before it that have it in their sums.
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 2] {
        let gradient = gradient.to_contiguous();
        let ([batch, heads, queries, keys], positions) = (self.shape, self.positions);
        let (count, lines) = (batch * heads * queries, (CHUNK / keys).max(1));
        let mut of_scores = vec![0.0_f32; count * keys];
        let mut of_products = vec![0.0_f32; count * positions];
        let pieces = of_scores.chunks_mut(lines * keys);
        let pieces = pieces.zip(of_products.chunks_mut(lines * positions));
        threads::for_each(pieces.enumerate(), |(piece, (of_scores, of_products))| {
            let mut gates = Gates::of(keys);
            let of_lines = of_scores.chunks_exact_mut(keys);
            let of_lines = of_lines.zip(of_products.chunks_exact_mut(positions));
            for ((of_scores, of_products), number) in of_lines.zip(piece * lines..) {
                let line = self.line(number);
                let gradient = &numbers(&gradient)[number * keys..][..keys];
                gates.open(&line, self.scale);
                line.positions(&gates.values, self.last, |key, [below, above], part| {
                    let gradient = gradient[key];
                    of_products[below.0] += (1.0 - part) * gradient;
                    of_products[above.0] += part * gradient;
                    of_scores[key] = (above.1 - below.1) * gradient;
                });
                let mut sum = 0.0_f64;
                for (key, of_score) in of_scores.iter_mut().enumerate() {
                    sum += f64::from(*of_score);
                    *of_score = sum as f32 * gates.slopes[key];
                    if line.is_last(key) {
                        sum = 0.0;
                    }
                }
            }
        });
        let tensor = |numbers, width| {
            FlexTensor::from_data(TensorData::new(numbers, [batch, heads, queries, width]))
        };
        [tensor(of_scores, keys), tensor(of_products, positions)]
    }
}
