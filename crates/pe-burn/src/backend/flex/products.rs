//! For every pair of a query and a key the products of their vectors with the row of a table that belongs to the pair.
//!
//! With Burn's operations these are the products with every row of the table, from which `gather` takes those of the pairs, and a
//! sum of them with other such tensors. Here the products of a few tokens at a time are in the cache, and only with rows that
//! belong to one of their pairs; the sum is written once.

use alloc::vec;
use alloc::vec::Vec;
use core::mem::{MaybeUninit, take};
use core::ops::Range;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Int, Shape, Tensor, TensorData};

use super::filled_by;
use super::matrix::Matrix;
use super::pairs::{BLOCK, Pairs, Run};
use crate::backend::Side;
use crate::backend::autodiff::{Operand, Operation, apply};
use crate::backend::threads;

/// Up to so many multiplications one thread is faster than several.
const SMALL: usize = 1 << 20;

/// The number of parts of which the gradient of a table is the sum; one for each head where there are more of them.
const PARTS: usize = 16;

/// Element `(batch, head, i, j)` of the result is
///
/// ```text
/// content · x_i · y_j + x_i · A[rows[batch, i, j]] + y_j · B[rows[batch, i, j]]
/// ```
///
/// for vectors `x` and a table `A` of the queries, and vectors `y` and a table `B` of the keys, without the terms of what is not
/// there. A table of one row has that row for all pairs.
///
/// # Shapes
///
/// - `rows`: `[1 or batch, queries, keys]`
/// - output: `[batch, heads, queries, keys]`
///
/// Nothing is empty.
///
/// # Panics
///
/// When a table with more than one row does not have one of `rows`.
pub(crate) fn products(
    (x, of_x): Side,
    keys: Option<Side>,
    content: f64,
    rows: Tensor<3, Int>,
) -> Tensor<4> {
    let ([batch, heads, ..], [_, queries, k_seq]) = (x.dims(), rows.dims());
    let (y, of_y) = keys.map_or((None, None), |(y, table)| (Some(y), table));
    let tables = [&of_x, &of_y].map(|table| table.as_ref().map(Tensor::dims));
    let operands = [
        Some(Operand::of(x)),
        of_x.map(Operand::of),
        y.map(Operand::of),
        of_y.map(Operand::of),
    ];
    let is_there = operands.each_ref().map(Option::is_some);
    let operands = operands.map(|operand| {
        // Nothing reads it, and it has no gradient.
        operand.unwrap_or_else(|| Operand::Plain(nothing()))
    });
    let rows: Vec<u32> = rows.into_data().iter().collect();
    let pairs = Pairs::new([queries, k_seq], &rows);
    apply(operands, |operands: [FlexTensor; 4]| {
        let mut operands = operands.into_iter().zip(is_there);
        let mut next = || {
            operands
                .next()
                .and_then(|(x, is_there)| is_there.then_some(x))
        };
        let sides = [0, 1].map(|axis| {
            let vectors = next().map(in_rows);
            let table = next()
                .zip(tables[axis])
                .map(|(table, shape @ [_, width, _])| Table {
                    rows: table.to_contiguous(),
                    shape,
                    spans: pairs.spans(axis, width),
                });
            Tokens { vectors, table }
        });
        let kept = Products {
            batch,
            heads,
            content: content as f32,
            pairs,
            sides,
        };
        (kept.sum(), kept)
    })
    .tensor()
}

fn nothing() -> FlexTensor {
    FlexTensor::zeros(Shape::new([1]), DType::F32)
}

/// The tensor itself, or a copy of it, in which the elements of a row lie side by side.
fn in_rows(x: FlexTensor) -> FlexTensor {
    let layout = x.layout();
    match layout.has_contiguous_inner() && layout.has_positive_strides() {
        true => x,
        false => x.to_contiguous(),
    }
}

#[derive(Clone, Debug)]
struct Table {
    rows: FlexTensor,
    shape: [usize; 3],
    /// From the first to the last row that occurs in each block of tokens.
    spans: Vec<Range<usize>>,
}

#[derive(Clone, Debug)]
struct Tokens {
    vectors: Option<FlexTensor>,
    table: Option<Table>,
}

#[derive(Clone, Debug)]
struct Products {
    batch: usize,
    heads: usize,
    content: f32,
    pairs: Pairs,
    /// Queries and keys.
    sides: [Tokens; 2],
}

/// Some tokens of one side and all of the other, with the products of the former.
struct Block<'a> {
    /// Which queries and which keys.
    tokens: [Range<usize>; 2],
    /// The rows of the queries; `None` where all pairs have one row.
    lines: Option<&'a [Vec<Run>]>,
    /// The row of the first product.
    start: usize,
    /// How far apart the products of two queries are, and those of two keys.
    strides: [usize; 2],
}

impl Table {
    /// Some rows of the table of a head.
    fn rows(&self, head: usize, span: &Range<usize>) -> Matrix<'_> {
        let [tables, width, d] = self.shape;
        let first = head % tables * width + span.start;
        let rows = self.rows.as_slice::<f32>().expect("contiguous");
        Matrix::dense(&rows[first * d..][..span.len() * d], d)
    }
}

impl Tokens {
    /// The vectors of a head of a sequence.
    fn vectors(&self, [sequence, head]: [usize; 2]) -> Matrix<'_> {
        let vectors = self.vectors.as_ref().expect("a table's vectors");
        let (layout, values) = (vectors.layout(), vectors.storage());
        let [_, _, tokens, d] = layout.shape().dims();
        let values = &values[layout.index(&[sequence, head, 0, 0])..];
        Matrix::spaced(values, [tokens, d], layout.strides()[2] as usize)
    }
}

impl Block<'_> {
    /// Calls `each` with the pairs of a query and some keys, where their products begin, and how far apart these are.
    fn each(&self, keys: usize, mut each: impl FnMut(Range<usize>, usize, usize)) {
        let [of_queries, of_keys] = self.tokens.clone();
        let [apart, step] = self.strides;
        for (line, query) in of_queries.enumerate() {
            let mut run = |Run {
                               keys: of_run,
                               row,
                               step: of_rows,
                           }: Run| {
                let product =
                    line * apart + (of_run.start - of_keys.start) * step + row - self.start;
                let pairs = query * keys + of_run.start..query * keys + of_run.end;
                each(pairs, product, step + of_rows);
            };
            match self.lines {
                Some(lines) => {
                    let runs = lines[query].iter();
                    runs.filter_map(|run| run.within(&of_keys))
                        .for_each(&mut run);
                }
                None => run(Run {
                    keys: of_keys.clone(),
                    row: 0,
                    step: 0,
                }),
            }
        }
    }
}

/// Adds products that are `step` apart to those of pairs.
fn add_products(pairs: &mut [f32], products: &[f32], step: usize) {
    let pairs = pairs.iter_mut();
    match step {
        0 => pairs.for_each(|pair| *pair += products[0]),
        1 => pairs
            .zip(products)
            .for_each(|(pair, product)| *pair += product),
        _ => {
            let products = products.iter().step_by(step);
            pairs
                .zip(products)
                .for_each(|(pair, product)| *pair += product);
        }
    }
}

/// Adds the gradients of pairs to those of their products, which are `step` apart.
fn add_to_products(products: &mut [f32], pairs: &[f32], step: usize) {
    match step {
        0 => {
            // Eight sums, of which a processor adds to several at once.
            let mut sums = [0.0_f32; 8];
            let (eights, rest) = pairs.as_chunks::<8>();
            for eight in eights {
                sums.iter_mut()
                    .zip(eight)
                    .for_each(|(sum, pair): (_, &f32)| *sum += pair);
            }
            products[0] += sums.iter().chain(rest).sum::<f32>();
        }
        1 => products
            .iter_mut()
            .zip(pairs)
            .for_each(|(product, pair)| *product += pair),
        _ => {
            let products = products.iter_mut().step_by(step);
            products
                .zip(pairs)
                .for_each(|(product, pair)| *product += pair);
        }
    }
}

/// A head of a sequence, with its part of some memory.
struct Unit<'a, T, const N: usize> {
    of: [usize; 2],
    memory: [&'a mut [T]; N],
}

impl Products {
    /// Every head of every sequence, those of the first head first.
    fn units<'a, T, const N: usize>(&self, mut memory: [&'a mut [T]; N]) -> Vec<Unit<'a, T, N>> {
        let count = self.batch * self.heads;
        let lens = memory.each_ref().map(|memory| memory.len() / count);
        let mut units: Vec<_> = (0..count)
            .map(|unit| {
                let mut lens = lens.iter();
                let part = memory.each_mut().map(|memory| {
                    let (part, rest) = take(memory).split_at_mut(*lens.next().expect("N lengths"));
                    *memory = rest;
                    part
                });
                let of = [unit / self.heads, unit % self.heads];
                Unit { of, memory: part }
            })
            .collect();
        units.sort_by_key(|unit| unit.of[1]);
        units
    }

    /// How many of so many units are worked on at a time, where they are to be divided into `parts`.
    fn at_a_time(&self, units: usize, parts: usize) -> usize {
        let [queries, keys] = self.pairs.counts;
        let [.., d] = self.sides[0]
            .vectors
            .as_ref()
            .expect("vectors of the queries")
            .layout()
            .shape()
            .dims::<4>();
        match self.batch * self.heads * queries * keys * d <= SMALL {
            true => units,
            false => units.div_ceil(parts),
        }
    }

    /// Calls `each` with every block of tokens that meets a table, and which rows of it.
    fn blocks<'a>(
        &'a self,
        sequence: usize,
        mut each: impl FnMut(usize, &'a Table, &'a Range<usize>, Block<'a>),
    ) {
        for (axis, side) in self.sides.iter().enumerate() {
            let Some(table) = &side.table else {
                continue;
            };
            let blocks = self.pairs.blocks(axis);
            let count = self.pairs.counts[axis].div_ceil(BLOCK);
            let spans = &table.spans[sequence * count % table.spans.len()..];
            for (block, span) in blocks.zip(spans) {
                let mut strides = [0; 2];
                strides[axis] = span.len();
                let one = table.shape[1] == 1;
                let block = Block {
                    tokens: self.pairs.tokens(axis, block),
                    lines: (!one).then(|| self.pairs.of(sequence)),
                    start: span.start,
                    strides,
                };
                each(axis, table, span, block);
            }
        }
    }

    fn sum(&self) -> FlexTensor {
        let [queries, keys] = self.pairs.counts;
        let write = |out: &mut [MaybeUninit<f32>]| {
            let mut units = self.units([out]);
            let at_a_time = self.at_a_time(units.len(), 8 * PARTS);
            threads::for_each(units.chunks_mut(at_a_time), |units| {
                let mut products = Vec::new();
                for Unit { of, memory: [out] } in units {
                    out.fill(MaybeUninit::new(0.0));
                    // SAFETY: all of it is initialized.
                    let out = unsafe { out.assume_init_mut() };
                    self.add_to(out, *of, &mut products);
                }
            });
        };
        let shape = [self.batch, self.heads, queries, keys];
        // SAFETY: the units are all of the memory.
        unsafe { filled_by(shape, write) }
    }

    /// Adds all terms of a head of a sequence to `out`, `[queries, keys]`.
    fn add_to(&self, out: &mut [f32], of: [usize; 2], products: &mut Vec<f32>) {
        let ([sequence, head], [_, keys]) = (of, self.pairs.counts);
        if self.content != 0.0 {
            let [x, y] = self.sides.each_ref().map(|side| side.vectors(of));
            x.times(y.t(), self.content, false, out);
        }
        self.blocks(sequence, |axis, table, span, block| {
            let tokens = block.tokens[axis].clone();
            products.resize(tokens.len() * span.len(), 0.0);
            let vectors = self.sides[axis].vectors(of).rows(tokens);
            vectors.times(table.rows(head, span).t(), 1.0, false, products);
            block.each(keys, |pairs, product, step| {
                add_products(&mut out[pairs], &products[product..], step);
            });
        });
    }

    /// Adds the gradients of a head of a sequence to those of its vectors and of its tables.
    fn add_gradients(
        &self,
        gradient: &[f32],
        of: [usize; 2],
        of_vectors: &mut [&mut [f32]; 2],
        of_tables: &mut [Vec<f32>; 2],
        sums: &mut Vec<f32>,
    ) {
        let ([sequence, head], [_, keys]) = (of, self.pairs.counts);
        if self.content != 0.0 {
            let [x, y] = self.sides.each_ref().map(|side| side.vectors(of));
            let [of_x, of_y] = of_vectors;
            let gradient = Matrix::dense(gradient, keys);
            gradient.times(y, self.content, false, of_x);
            gradient.t().times(x, self.content, false, of_y);
        }
        self.blocks(sequence, |axis, table, span, block| {
            let tokens = block.tokens[axis].clone();
            sums.clear();
            sums.resize(tokens.len() * span.len(), 0.0);
            block.each(keys, |pairs, product, step| {
                add_to_products(&mut sums[product..], &gradient[pairs], step);
            });
            let ([.., d], sums) = (table.shape, Matrix::dense(sums, span.len()));
            let of_block = &mut of_vectors[axis][tokens.start * d..tokens.end * d];
            sums.times(table.rows(head, span), 1.0, true, of_block);
            let of_rows = &mut of_tables[axis][span.start * d..span.end * d];
            let vectors = self.sides[axis].vectors(of).rows(tokens);
            sums.t().times(vectors, 1.0, true, of_rows);
        });
    }
}

impl Operation<Flex, 4> for Products {
    /// The parts of a table's gradient are added in the same order on any number of threads.
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 4] {
        let gradient = gradient.to_contiguous();
        let gradient = gradient.as_slice::<f32>().expect("contiguous");
        let ([queries, keys], [of_x, of_y]) = (self.pairs.counts, &self.sides);
        let shapes =
            [of_x, of_y].map(|side| side.vectors.as_ref().map(|x| x.layout().shape().clone()));
        let mut of_vectors = shapes
            .each_ref()
            .map(|shape| vec![0.0_f32; shape.as_ref().map_or(0, Shape::num_elements)]);
        let mut units = self.units(of_vectors.each_mut().map(Vec::as_mut_slice));
        let at_a_time = self.at_a_time(self.batch, PARTS.div_ceil(self.heads));
        let of_heads = units.chunks_mut(self.batch);
        let parts = of_heads.flat_map(|units| units.chunks_mut(at_a_time));
        let none = || [Vec::new(), Vec::new()];
        let mut parts: Vec<_> = parts.map(|units| (units, none())).collect();
        threads::for_each(parts.iter_mut(), |(units, of_tables)| {
            let mut sums = Vec::new();
            *of_tables = self.sides.each_ref().map(|side| {
                let len = side
                    .table
                    .as_ref()
                    .map_or(0, |table| table.shape[1] * table.shape[2]);
                vec![0.0; len]
            });
            for Unit { of, memory } in units.iter_mut() {
                let [sequence, head] = *of;
                let unit = sequence * self.heads + head;
                let gradient = &gradient[unit * queries * keys..][..queries * keys];
                self.add_gradients(gradient, *of, memory, of_tables, &mut sums);
            }
        });
        let of_tables = [0, 1].map(|axis| {
            let table = self.sides[axis].table.as_ref()?;
            let [tables, width, d] = table.shape;
            let mut sums = vec![0.0_f32; tables * width * d];
            for (units, of_tables) in &parts {
                let [_, head] = units[0].of;
                let sums = &mut sums[head % tables * width * d..][..width * d];
                for (sum, part) in sums.iter_mut().zip(&of_tables[axis]) {
                    *sum += part;
                }
            }
            Some(tensor(sums, Shape::new(table.shape)))
        });
        let ([x, y], [x_shape, y_shape]) = (of_vectors, shapes);
        let ([of_a, of_b], of_x) = (of_tables, x_shape.map(|shape| tensor(x, shape)));
        let of_y = y_shape.map(|shape| tensor(y, shape));
        [of_x, of_a, of_y, of_b].map(|gradient| gradient.unwrap_or_else(nothing))
    }
}

fn tensor(values: Vec<f32>, shape: Shape) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

#[cfg(test)]
mod tests;
