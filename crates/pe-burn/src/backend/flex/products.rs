//! The products of queries or keys with rows of a table, where each pair of a query and a key has its own row.
//!
//! Burn's operations multiply with every row of the table, select the products of the pairs with `gather`, and add up
//! several such tensors. Here the products of a few tokens at a time stay in the cache, only with rows that one of their
//! pairs uses, and the sum is written once.

use alloc::vec;
use alloc::vec::Vec;
use core::iter;
use core::mem::MaybeUninit;
use core::ops::Range;
use core::slice;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{DType, Int, Shape, Tensor};

use super::matrix::{Matrix, add_product, in_rows, put_product};
use super::pairs::{Pairs, Run};
use super::units::{BLOCK, blocks, for_each, parts_of, summed, units};
use super::{filled_by, tensor};
use crate::backend::Side;
use crate::backend::autodiff::{Operand, Operation, apply};

/// Element `(batch, head, i, j)` of the result is
///
/// ```text
/// content · x_i · y_j + x_i · A[rows[batch, i, j]] + y_j · B[rows[batch, i, j]]
/// ```
///
/// for vectors `x` and a table `A` of the queries, and vectors `y` and a table `B` of the keys. The terms of a missing
/// table or of missing keys are left out. A table with a single row has that row for all pairs.
///
/// # Shapes
///
/// - `rows`: `[1 or batch, queries, keys]`
/// - output: `[batch, heads, queries, keys]`
///
/// No tensor is empty.
///
/// # Panics
///
/// When one of `rows` is past the end of a table with more than one row.
pub(crate) fn products(
    (x, of_x): Side,
    keys: Option<Side>,
    content: f64,
    rows: Tensor<3, Int>,
) -> Tensor<4> {
    let ([batch, heads, ..], [_, queries, k_seq]) = (x.dims(), rows.dims());
    let rows: Vec<u32> = rows.into_data().iter().collect();
    let pairs = Pairs::new([queries, k_seq], &rows);
    let (y, of_y) = keys.map_or((None, None), |(y, table)| (Some(y), table));
    let operands = [
        Some(Operand::of(x)),
        of_x.map(Operand::of),
        y.map(Operand::of),
        of_y.map(Operand::of),
    ];
    let mut is_there = operands.each_ref().map(Option::is_some).into_iter();
    let operands = operands.map(|operand| {
        // A placeholder: nothing reads it, and it has no gradient.
        operand.unwrap_or_else(|| Operand::Plain(nothing()))
    });
    apply(operands, |operands: [FlexTensor; 4]| {
        let given = operands.map(|x| (is_there.next() == Some(true)).then_some(x));
        let [x, of_x, y, of_y] = given;
        let side = |axis, vectors: Option<FlexTensor>, table: Option<FlexTensor>| Tokens {
            vectors: vectors.map(in_rows),
            table: table.map(|rows| Table::new(&rows, &pairs, axis)),
        };
        let sides = [side(0, x, of_x), side(1, y, of_y)];
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

#[derive(Clone, Debug)]
struct Table {
    rows: FlexTensor,
    shape: [usize; 3],
    /// For each block of tokens, the range from the lowest to the highest row that it uses.
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

/// Some tokens of one side with all tokens of the other, for the products of the former with a table.
struct Block<'a> {
    /// The ranges of queries and of keys.
    tokens: [Range<usize>; 2],
    /// The runs of rows of each query; `None` where all pairs use one row.
    lines: Option<&'a [Vec<Run>]>,
    /// The table row of the first product.
    start: usize,
    /// The distance in memory between the products of two queries, and of two keys.
    strides: [usize; 2],
}

impl Table {
    fn new(rows: &FlexTensor, pairs: &Pairs, axis: usize) -> Self {
        let rows = rows.to_contiguous();
        let shape @ [_, width, _] = rows.layout().shape().dims();
        let spans = pairs.spans(axis, width);
        Self { rows, shape, spans }
    }

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
    fn vectors(&self, of: [usize; 2]) -> Matrix<'_> {
        Matrix::of_head(self.vectors.as_ref().expect("a table's vectors"), of)
    }
}

impl Block<'_> {
    /// For each run of keys of each query, calls `each` with its pairs, the index of its first product, and the distance
    /// between products.
    fn each(&self, keys: usize, mut each: impl FnMut(Range<usize>, usize, usize)) {
        let [of_queries, of_keys] = &self.tokens;
        let one_row = Run {
            keys: of_keys.clone(),
            row: self.start,
            step: 0,
        };
        for (line, query) in of_queries.clone().enumerate() {
            let runs = match self.lines {
                Some(lines) => &lines[query],
                None => slice::from_ref(&one_row),
            };
            for run in runs.iter().filter_map(|run| run.within(of_keys)) {
                let [of_line, of_key] = self.strides;
                let first = line * of_line + (run.keys.start - of_keys.start) * of_key;
                let pairs = query * keys + run.keys.start..query * keys + run.keys.end;
                each(pairs, first + run.row - self.start, of_key + run.step);
            }
        }
    }
}

/// Adds to pairs their products, which are `step` apart.
fn add_products(pairs: &mut [f32], products: &[f32], step: usize) {
    match step {
        0 => add(pairs, iter::repeat(&products[0])),
        1 => add(pairs, products),
        _ => add(pairs, products.iter().step_by(step)),
    }
}

/// Adds the gradients of pairs to the gradients of their products, which are `step` apart.
fn add_to_products(products: &mut [f32], pairs: &[f32], step: usize) {
    match step {
        0 => {
            // Eight partial sums, several of which a processor can add to at once.
            let mut sums = [0.0_f32; 8];
            let (eights, rest) = pairs.as_chunks::<8>();
            eights.iter().for_each(|eight| add(&mut sums, eight));
            products[0] += sums.iter().chain(rest).sum::<f32>();
        }
        1 => add(products, pairs),
        _ => add(products.iter_mut().step_by(step), pairs),
    }
}

/// Adds each number to the element at the same place, up to the end of the shorter one.
fn add<'a, 'b>(
    to: impl IntoIterator<Item = &'a mut f32>,
    numbers: impl IntoIterator<Item = &'b f32>,
) {
    let pairs = to.into_iter().zip(numbers);
    pairs.for_each(|(to, number)| *to += number);
}

impl Products {
    /// The number of multiplications, roughly.
    fn multiplications(&self) -> usize {
        let [queries, keys] = self.pairs.counts;
        let tables = self.sides.iter().filter_map(|side| side.table.as_ref());
        let d = tables.map(|table| table.shape[2]).sum::<usize>();
        self.batch * self.heads * queries * keys * d
    }

    /// Calls `each` with every block of tokens of a side that has a table, and with the range of rows that the block
    /// uses.
    fn blocks<'a>(
        &'a self,
        sequence: usize,
        mut each: impl FnMut(usize, &'a Table, &'a Range<usize>, Block<'a>),
    ) {
        for (axis, side) in self.sides.iter().enumerate() {
            let Some(table) = &side.table else {
                continue;
            };
            let blocks = blocks(self.pairs.counts[axis]);
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
            let units = units([self.batch, self.heads], [out]);
            for_each(units, self.multiplications(), |unit| {
                let [out] = &mut unit.memory;
                out.fill(MaybeUninit::new(0.0));
                // SAFETY: all of it is initialized.
                let out = unsafe { out.assume_init_mut() };
                self.add_to(out, unit.of);
            });
        };
        let shape = [self.batch, self.heads, queries, keys];
        // SAFETY: the units are all of the memory.
        unsafe { filled_by(shape, write) }
    }

    /// Adds all terms of a head of a sequence to `out`, `[queries, keys]`.
    fn add_to(&self, out: &mut [f32], of: [usize; 2]) {
        let ([sequence, head], [_, keys]) = (of, self.pairs.counts);
        if self.content != 0.0 {
            let [x, y] = self.sides.each_ref().map(|side| side.vectors(of));
            put_product(out, keys, self.content, x, y.t());
        }
        let mut products = Vec::new();
        self.blocks(sequence, |axis, table, span, block| {
            let tokens = block.tokens[axis].clone();
            products.resize(tokens.len() * span.len(), 0.0);
            let vectors = self.sides[axis].vectors(of).rows(tokens);
            let rows = table.rows(head, span).t();
            put_product(&mut products, span.len(), 1.0, vectors, rows);
            block.each(keys, |pairs, product, step| {
                add_products(&mut out[pairs], &products[product..], step);
            });
        });
    }

    /// Adds the gradients of one head of one sequence to the gradients of its vectors and tables.
    fn add_gradients(
        &self,
        gradient: &[f32],
        of: [usize; 2],
        of_vectors: &mut [&mut [f32]; 2],
        of_tables: &mut [Vec<f32>; 2],
    ) {
        let ([sequence, head], [_, keys]) = (of, self.pairs.counts);
        if self.content != 0.0 {
            let [x, y] = self.sides.each_ref().map(|side| side.vectors(of));
            let [of_x, of_y] = of_vectors;
            let d_head = of_x.len() / self.pairs.counts[0];
            let gradient = Matrix::dense(gradient, keys);
            put_product(of_x, d_head, self.content, gradient, y);
            put_product(of_y, d_head, self.content, gradient.t(), x);
        }
        let mut sums = Vec::new();
        self.blocks(sequence, |axis, table, span, block| {
            let tokens = block.tokens[axis].clone();
            sums.clear();
            sums.resize(tokens.len() * span.len(), 0.0);
            block.each(keys, |pairs, product, step| {
                add_to_products(&mut sums[product..], &gradient[pairs], step);
            });
            let ([.., d], sums) = (table.shape, Matrix::dense(&sums, span.len()));
            let of_block = &mut of_vectors[axis][tokens.start * d..tokens.end * d];
            add_product(of_block, sums, table.rows(head, span));
            let of_rows = &mut of_tables[axis][span.start * d..span.end * d];
            let vectors = self.sides[axis].vectors(of).rows(tokens);
            add_product(of_rows, sums.t(), vectors);
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
        let units = units(
            [self.batch, self.heads],
            of_vectors.each_mut().map(Vec::as_mut_slice),
        );
        let tables = self.sides.each_ref().map(|side| side.table.as_ref());
        let lens = tables.map(|table| table.map_or(0, |table| table.shape[1] * table.shape[2]));
        let parts = parts_of(units, self.multiplications(), lens, |unit, of_tables| {
            let [sequence, head] = unit.of;
            let first = (sequence * self.heads + head) * queries * keys;
            let gradient = &gradient[first..][..queries * keys];
            self.add_gradients(gradient, unit.of, &mut unit.memory, of_tables);
        });
        let of_tables = [0, 1].map(|axis| {
            let shape @ [tables, ..] = tables[axis]?.shape;
            Some(tensor(summed(&parts, axis, tables), Shape::new(shape)))
        });
        let ([x, y], [x_shape, y_shape]) = (of_vectors, shapes);
        let ([of_a, of_b], of_x) = (of_tables, x_shape.map(|shape| tensor(x, shape)));
        let of_y = y_shape.map(|shape| tensor(y, shape));
        [of_x, of_a, of_y, of_b].map(|gradient| gradient.unwrap_or_else(nothing))
    }
}

#[cfg(test)]
mod tests;
