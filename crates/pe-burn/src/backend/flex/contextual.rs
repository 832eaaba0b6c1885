//! CoPE's bias in one pass: the scores, their gates, the positions, which are sums of gates, and the products of each
//! query with the embeddings of the whole positions below and above.
//!
//! Burn's operations make about twenty tensors of shape queries × keys for this, which the backward pass writes and reads
//! again. Here a few queries at a time stay in the cache, keys that none of them sees are left out, and sums are taken in
//! `f64`.

mod lines;

use alloc::vec;
use alloc::vec::Vec;
use core::mem::MaybeUninit;
use core::ops::Range;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bool, Int, Tensor};

use self::lines::{ABREAST, cumulate, divide, is_last, open};
use super::matrix::{Matrix, add_product, in_rows, put_product};
use super::units::{blocks, for_each, parts_of, summed, units};
use super::{filled_by, tensor};
use crate::backend::autodiff::{Operand, Operation, apply};

/// Up to this many keys, the gates are kept for the backward pass, as attention keeps its weights. Beyond, they are
/// computed again.
const KEPT: usize = 128;

/// The products of queries with the embeddings at the positions of the keys. A position is a sum of gates, which are
/// computed from scores.
///
/// # Shapes
///
/// - queries and keys: `[batch, heads, queries or keys, d_head]`
/// - `embeddings`: `[d_head, positions]`, of all positions or of the first `keys + 2`
/// - `hidden`: `[1 or batch, 1, queries, keys]`, true for keys that have no gate
/// - `ends`: `[1 or batch, keys]`, for each key the end of its sum, one past the last key in it; `None` where every sum
///   goes to the last key
/// - output: `[batch, heads, queries, keys]`
///
/// The scores are multiplied by `scale`, and positions above `last` count as `last`. No tensor is empty.
pub(crate) fn contextual(
    [q, k]: [Tensor<4>; 2],
    embeddings: Tensor<2>,
    (scale, last): (f64, usize),
    hidden: Tensor<4, Bool>,
    ends: Option<Tensor<2, Int>>,
) -> Tensor<4> {
    let [batch, heads, queries, d_head] = q.dims();
    let ([_, _, keys, _], [_, positions]) = (k.dims(), embeddings.dims());
    let hidden: Vec<bool> = hidden.into_data().iter().collect();
    let last_seen = |keys: &[bool]| keys.iter().rposition(|is_hidden| !is_hidden);
    let seen = hidden
        .chunks(keys)
        .map(|line| last_seen(line).map_or(1, |last| last + 1));
    let seen = seen.collect();
    let ends = ends.map(|ends| ends.into_data().iter().collect());
    let operands = [Operand::of(q), Operand::of(k), Operand::of(embeddings)];
    let is_recorded = operands
        .iter()
        .any(|operand| matches!(operand, Operand::Tracked(_)));
    apply(operands, |[q, k, embeddings]: [FlexTensor; 3]| {
        let mut kept = Contextual {
            shape: [batch, heads, queries, keys],
            d_head,
            positions,
            scale: scale as f32,
            last,
            hidden,
            seen,
            ends,
            q: in_rows(q),
            k: in_rows(k),
            embeddings: embeddings.to_contiguous(),
            gates: Vec::new(),
        };
        (kept.bias(is_recorded && keys <= KEPT), kept)
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
    /// For each query, the number of keys up to the last one that it sees, at least 1. Later keys are at position 0.
    seen: Vec<usize>,
    ends: Option<Vec<u32>>,
    q: FlexTensor,
    k: FlexTensor,
    embeddings: FlexTensor,
    /// If gates are kept, those of every block. A block begins at the line of its first query.
    gates: Vec<f32>,
}

/// Some queries of a head of a sequence.
struct Block<'a> {
    /// Which sequence and which head.
    of: [usize; 2],
    queries: Range<usize>,
    /// How many keys each query needs.
    seen: &'a [usize],
    /// The largest of these numbers.
    keys: usize,
    /// How many positions these keys can have, and one more.
    width: usize,
}

/// The products of the queries of a block with the embeddings, and the positions of its keys. The blocks of a head reuse
/// this memory.
#[derive(Default)]
struct Placed {
    /// `[queries, width]`
    products: Vec<f32>,
    /// For each product, the next one minus this one; 0 for the last.
    steps: Vec<f32>,
    /// The sums of gates, for a few lines of keys at a time.
    sums: Vec<f64>,
    /// The position of each key, divided into its whole part and the rest: `[queries, keys]`.
    below: Vec<u32>,
    rest: Vec<f32>,
}

impl Contextual {
    fn multiplications(&self) -> usize {
        let [batch, heads, queries, keys] = self.shape;
        batch * heads * queries * (keys + self.positions) * self.d_head
    }

    /// The embeddings of the positions that the keys of a block can have.
    fn embeddings(&self, width: usize) -> Matrix<'_> {
        let embeddings = self.embeddings.as_slice().expect("contiguous");
        Matrix::spaced(embeddings, self.d_head, width, self.positions)
    }

    fn blocks(&self, of: [usize; 2]) -> impl Iterator<Item = Block<'_>> {
        let [_, _, queries, _] = self.shape;
        // Where all sequences have the same positions there is one set of lines.
        let seen = &self.seen[of[0] * queries % self.seen.len()..][..queries];
        blocks(queries).map(move |queries| {
            let seen = &seen[queries.clone()];
            let keys = most(seen);
            Block {
                of,
                queries,
                seen,
                keys,
                width: self.positions.min(keys + 2),
            }
        })
    }

    /// Which keys a query of a sequence does not see.
    fn hidden(&self, sequence: usize, query: usize) -> &[bool] {
        let [_, _, queries, keys] = self.shape;
        let first = (sequence * queries + query) * keys % self.hidden.len();
        &self.hidden[first..][..keys]
    }

    /// For each key of a sequence, the end of its sum, one past the last key in it; `None` where all keys are one
    /// document.
    fn ends(&self, sequence: usize) -> Option<&[u32]> {
        let [.., keys] = self.shape;
        let ends = self.ends.as_ref()?;
        Some(&ends[sequence * keys % ends.len()..][..keys])
    }

    /// The queries of a block, and the keys up to the last one that they see.
    fn vectors(&self, block: &Block<'_>) -> [Matrix<'_>; 2] {
        let [q, k] = [&self.q, &self.k].map(|x| Matrix::of_head(x, block.of));
        [q.rows(block.queries.clone()), k.rows(0..block.keys)]
    }

    /// Computes the gates of a block into `gates`.
    fn open(&self, block: &Block<'_>, gates: &mut [f32]) {
        let [q, k] = self.vectors(block);
        put_product(gates, block.keys, self.scale, q, k.t());
        let lines = gates.chunks_exact_mut(block.keys).zip(block.seen);
        for ((line, seen), query) in lines.zip(block.queries.clone()) {
            let (line, after) = line.split_at_mut(*seen);
            open(line, &self.hidden(block.of[0], query)[..*seen]);
            after.fill(0.0);
        }
    }

    /// Computes the positions of the keys of a block from its gates, and the products of its queries with the embeddings.
    fn place(&self, block: &Block<'_>, gates: &[f32], placed: &mut Placed) {
        let Block { keys, width, .. } = *block;
        let Placed {
            products,
            steps,
            sums,
            below,
            rest,
        } = placed;
        let [q, _] = self.vectors(block);
        for memory in [&mut *products, steps] {
            memory.resize(block.queries.len() * width, 0.0);
        }
        put_product(products, width, 1.0, q, self.embeddings(width));
        let lines = products.chunks_exact(width);
        for (steps, products) in steps.chunks_exact_mut(width).zip(lines) {
            for at in 0..width - 1 {
                steps[at] = products[at + 1] - products[at];
            }
            steps[width - 1] = 0.0;
        }
        below.resize(gates.len(), 0);
        rest.resize(gates.len(), 0.0);
        sums.resize(ABREAST * keys, 0.0);
        let ends = self.ends(block.of[0]);
        for (first, seen) in block.abreast() {
            let starts = |key| is_last(ends, key);
            let most = most(seen);
            let lines = &gates[first * keys..][..seen.len() * keys];
            cumulate(keys, (0..most).rev(), starts, lines, |at, sum| {
                sums[at] = sum
            });
            for (line, seen) in seen.iter().enumerate() {
                let (sums, at) = (&sums[line * keys..][..*seen], (first + line) * keys);
                let (below, rest) = (&mut below[at..][..*seen], &mut rest[at..][..*seen]);
                divide(sums, self.last as f64, below, rest);
            }
        }
    }

    /// The bias. If `keeps`, the gates are kept for the backward pass.
    fn bias(&mut self, keeps: bool) -> FlexTensor {
        let [batch, heads, ..] = self.shape;
        let kept = match keeps {
            true => self.shape.iter().product(),
            false => 0,
        };
        let mut gates = Vec::with_capacity(kept);
        let room = &mut gates.spare_capacity_mut()[..kept];
        let write = |out: &mut [MaybeUninit<f32>]| {
            let units = units([batch, heads], [out, room]);
            for_each(units, self.multiplications(), |unit| {
                let [out, gates] = &mut unit.memory;
                gates.fill(MaybeUninit::new(0.0));
                // SAFETY: all of it is initialized.
                let gates = unsafe { gates.assume_init_mut() };
                self.write_to(out, gates, unit.of);
            });
        };
        // SAFETY: the units are all of the memory, and each is written.
        let bias = unsafe { filled_by(self.shape, write) };
        // SAFETY: the units are all of this memory too.
        unsafe { gates.set_len(kept) };
        self.gates = gates;
        bias
    }

    /// Writes the bias of a head of a sequence, every element, and its gates, if there is memory to keep them in.
    fn write_to(&self, out: &mut [MaybeUninit<f32>], kept: &mut [f32], of: [usize; 2]) {
        let [.., all_keys] = self.shape;
        let (mut own, mut placed) = (Vec::new(), Placed::default());
        for block in self.blocks(of) {
            let Block { keys, width, .. } = block;
            let (first, count) = (block.queries.start * all_keys, block.queries.len() * keys);
            let gates = match kept.is_empty() {
                true => {
                    own.resize(count, 0.0);
                    &mut own[..]
                }
                false => &mut kept[first..][..count],
            };
            self.open(&block, gates);
            self.place(&block, gates, &mut placed);
            for (line, (query, seen)) in block.queries.zip(block.seen).enumerate() {
                let (out, after) = out[query * all_keys..][..all_keys].split_at_mut(*seen);
                let line = placed.line([line, *seen], [keys, width]);
                after.fill(MaybeUninit::new(line.products[0]));
                for key in 0..*seen {
                    let below = line.below[key] as usize;
                    out[key].write(line.products[below] + line.steps[below] * line.rest[key]);
                }
            }
        }
    }

    /// Adds the gradients of a head of a sequence to those of its queries and keys and of the embeddings, which are here
    /// `[positions, d_head]`.
    fn add_gradients(
        &self,
        gradient: &[f32],
        of: [usize; 2],
        [of_q, of_k]: &mut [&mut [f32]; 2],
        embeddings: &[f32],
        of_embeddings: &mut [f32],
    ) {
        let ([_, heads, queries, all_keys], d_head) = (self.shape, self.d_head);
        let (mut own, mut placed) = (Vec::new(), Placed::default());
        let (mut of_scores, mut of_products, mut sums) = (Vec::new(), Vec::new(), Vec::new());
        for block in self.blocks(of) {
            let Block { keys, width, .. } = block;
            let count = block.queries.len() * keys;
            let gates = match self.gates.is_empty() {
                true => {
                    own.resize(count, 0.0);
                    self.open(&block, &mut own);
                    &own[..]
                }
                false => {
                    let line = (of[0] * heads + of[1]) * queries + block.queries.start;
                    &self.gates[line * all_keys..][..count]
                }
            };
            self.place(&block, gates, &mut placed);
            of_scores.resize(count, 0.0);
            of_products.resize(block.queries.len() * width, 0.0);
            sums.resize(width, [0.0; 2]);
            for (line, (query, seen)) in block.queries.clone().zip(block.seen).enumerate() {
                let (gradient, after) = gradient[query * all_keys..][..all_keys].split_at(*seen);
                let of_products = &mut of_products[line * width..][..width];
                let (of_line, after_line) = of_scores[line * keys..][..keys].split_at_mut(*seen);
                let line = placed.line([line, *seen], [keys, width]);
                line.gradients(gradient, of_line, of_products, &mut sums);
                of_products[0] += after.iter().sum::<f32>();
                after_line.fill(0.0);
            }
            self.close(&block, gates, &mut placed.sums, &mut of_scores);
            let of_scores = Matrix::dense(&of_scores, keys);
            let of_products = Matrix::dense(&of_products, width);
            let [q, k] = self.vectors(&block);
            let of_q = &mut of_q[block.queries.start * d_head..block.queries.end * d_head];
            put_product(of_q, d_head, 1.0, of_scores, k);
            add_product(
                of_q,
                of_products,
                Matrix::dense(&embeddings[..width * d_head], d_head),
            );
            add_product(&mut of_k[..keys * d_head], of_scores.t(), q);
            add_product(&mut of_embeddings[..width * d_head], of_products.t(), q);
        }
    }

    /// Turns the gradients of the positions of a block into those of its scores. A gate is part of the position of its
    /// own key, and of the earlier keys whose sums reach it. `sums` is memory for a few lines of keys.
    fn close(&self, block: &Block<'_>, gates: &[f32], sums: &mut [f64], gradients: &mut [f32]) {
        let keys = block.keys;
        let ends = self.ends(block.of[0]);
        for (first, seen) in block.abreast() {
            let starts = |key| key > 0 && is_last(ends, key - 1);
            let most = most(seen);
            let lines = first * keys..(first + seen.len()) * keys;
            let (gradients, gates) = (&mut gradients[lines.clone()], &gates[lines]);
            cumulate(keys, 0..most, starts, gradients, |at, sum| sums[at] = sum);
            for (line, seen) in seen.iter().enumerate() {
                for at in line * keys..line * keys + seen {
                    let gate = gates[at];
                    // The slope of σ is σ (1 − σ).
                    gradients[at] = sums[at] as f32 * (gate * (1.0 - gate) * self.scale);
                }
            }
        }
    }
}

/// The largest of the numbers of keys that queries need.
fn most(seen: &[usize]) -> usize {
    *seen.iter().max().expect("a query")
}

/// What belongs to one query and the keys that it sees.
struct Line<'a> {
    products: &'a [f32],
    steps: &'a [f32],
    below: &'a [u32],
    rest: &'a [f32],
}

impl Placed {
    /// One line of a block, cut to its first `seen` keys.
    fn line(&self, [line, seen]: [usize; 2], [keys, width]: [usize; 2]) -> Line<'_> {
        Line {
            products: &self.products[line * width..][..width],
            steps: &self.steps[line * width..][..width],
            below: &self.below[line * keys..][..seen],
            rest: &self.rest[line * keys..][..seen],
        }
    }
}

impl Line<'_> {
    /// Writes the gradients of the positions of the keys and those of the products. `sums` is memory for two numbers of each
    /// product.
    fn gradients(
        &self,
        gradient: &[f32],
        of_positions: &mut [f32],
        of_products: &mut [f32],
        sums: &mut [[f32; 2]],
    ) {
        sums.fill([0.0; 2]);
        for key in 0..of_positions.len() {
            let (below, gradient) = (self.below[key] as usize, gradient[key]);
            let [of_both, of_rest] = &mut sums[below];
            *of_both += gradient;
            *of_rest += self.rest[key] * gradient;
            of_positions[key] = self.steps[below] * gradient;
        }
        // A key takes the product at its whole position times 1 − rest, plus the next product times rest. At the last
        // one, rest is 0.
        let mut from_below = 0.0;
        for (of_product, [of_both, of_rest]) in of_products.iter_mut().zip(sums) {
            *of_product = *of_both - *of_rest + from_below;
            from_below = *of_rest;
        }
    }
}

impl<'a> Block<'a> {
    /// The queries whose lines are summed together: the index of the first within the block, and the number of keys of
    /// each query.
    fn abreast(&self) -> impl Iterator<Item = (usize, &'a [usize])> {
        let firsts = (0..self.seen.len()).step_by(ABREAST);
        firsts.zip(self.seen.chunks(ABREAST))
    }
}

impl Operation<Flex, 3> for Contextual {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 3] {
        let gradient = gradient.to_contiguous();
        let gradient = gradient.as_slice::<f32>().expect("contiguous");
        let ([batch, heads, queries, keys], d_head) = (self.shape, self.d_head);
        let mut of_q = vec![0.0_f32; batch * heads * queries * d_head];
        let mut of_k = vec![0.0_f32; batch * heads * keys * d_head];
        let embeddings = self.embeddings.transpose(0, 1).to_contiguous();
        let embeddings = embeddings.as_slice::<f32>().expect("contiguous");
        let units = units([batch, heads], [&mut of_q[..], &mut of_k[..]]);
        let len = [d_head * self.positions];
        let parts = parts_of(
            units,
            self.multiplications(),
            len,
            |unit, [of_embeddings]| {
                let first = (unit.of[0] * heads + unit.of[1]) * queries * keys;
                let gradient = &gradient[first..][..queries * keys];
                let memory = &mut unit.memory;
                self.add_gradients(gradient, unit.of, memory, embeddings, of_embeddings);
            },
        );
        let of_embeddings = tensor(summed(&parts, 0, 1), [self.positions, d_head]);
        let of_embeddings = of_embeddings.transpose(0, 1).to_contiguous();
        let of_q = tensor(of_q, [batch, heads, queries, d_head]);
        let of_k = tensor(of_k, [batch, heads, keys, d_head]);
        [of_q, of_k, of_embeddings]
    }
}
