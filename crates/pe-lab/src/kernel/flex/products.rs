//! Matrix products on parts of slices, and rows handed out to threads.

use std::mem::MaybeUninit;

use gemm::{Parallelism, gemm};

/// A matrix that lies in a slice.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// Rows of so many numbers, one after the other, as many as there are.
    pub fn dense(values: &'a [f32], columns: usize) -> Self {
        Self::spaced(values, values.len() / columns, columns, columns)
    }

    /// `rows × columns` numbers, the rows `row_stride` apart.
    pub fn spaced(values: &'a [f32], rows: usize, columns: usize, row_stride: usize) -> Self {
        check(values.len(), rows, columns, row_stride);
        Self {
            values,
            rows,
            columns,
            row_stride,
            column_stride: 1,
        }
    }

    /// The same numbers with rows and columns exchanged.
    pub fn t(self) -> Self {
        Self {
            rows: self.columns,
            columns: self.rows,
            row_stride: self.column_stride,
            column_stride: self.row_stride,
            ..self
        }
    }
}

/// Panics unless a matrix of this size lies within so many numbers.
fn check(len: usize, rows: usize, columns: usize, row_stride: usize) {
    let end = match (rows, columns) {
        (0, _) | (_, 0) => 0,
        _ => (rows - 1) * row_stride + columns,
    };
    assert!(
        end <= len && columns <= row_stride,
        "a {rows} × {columns} matrix in {len} numbers, rows {row_stride} apart"
    );
}

/// Sets `out`, whose rows are `row_stride` apart, to `scale · a b`.
pub fn set_product(
    out: &mut [MaybeUninit<f32>],
    row_stride: usize,
    scale: f32,
    a: Matrix,
    b: Matrix,
) {
    check(out.len(), a.rows, b.columns, row_stride);
    // SAFETY: the product lies within `out`, and what is there is not read.
    unsafe { multiply(out.as_mut_ptr().cast(), row_stride, false, scale, a, b) }
}

/// Adds `a b` to `out`, whose rows lie one after the other.
pub fn add_product(out: &mut [f32], a: Matrix, b: Matrix) {
    check(out.len(), a.rows, b.columns, b.columns);
    // SAFETY: the product lies within `out`, which is initialized.
    unsafe { multiply(out.as_mut_ptr(), b.columns, true, 1.0, a, b) }
}

/// One product on one thread.
///
/// # Safety
///
/// The product, its rows `row_stride` apart, lies within what `out` points to, which is initialized
/// if it is to be added to.
unsafe fn multiply(out: *mut f32, row_stride: usize, add: bool, scale: f32, a: Matrix, b: Matrix) {
    assert_eq!(a.columns, b.rows, "the inner sizes of a product");
    // SAFETY: `Matrix` lies within its slice, and the caller vouches for the target.
    unsafe {
        gemm(
            a.rows,
            b.columns,
            a.columns,
            out,
            1,
            row_stride as isize,
            add,
            a.values.as_ptr(),
            a.column_stride as isize,
            a.row_stride as isize,
            b.values.as_ptr(),
            b.column_stride as isize,
            b.row_stride as isize,
            1.0,
            scale,
            false,
            false,
            false,
            Parallelism::None,
        );
    }
}

/// Rows that one thread takes at a time: an eighth of all, so that there are some for every thread,
/// and no fewer than keep a matrix product busy. The number of threads has no say in it: sums over
/// the rows come out the same on one thread and on many.
pub fn rows_at_a_time(rows: usize) -> usize {
    rows.div_ceil(8).max(64)
}

/// A vector of `len` numbers that `write` fills.
///
/// # Safety
///
/// `write` initializes every number.
pub unsafe fn written(len: usize, write: impl FnOnce(&mut [MaybeUninit<f32>])) -> Vec<f32> {
    // Zeroing first would be a pass over memory of its own.
    let mut values = Vec::with_capacity(len);
    write(&mut values.spare_capacity_mut()[..len]);
    // SAFETY: so the caller has promised.
    unsafe { values.set_len(len) };
    values
}

/// Adds up vectors of one length, in their order. There is one at least: no operation is without rows.
pub fn total(parts: impl IntoIterator<Item = Vec<f32>>) -> Vec<f32> {
    let add = |mut total: Vec<f32>, part: Vec<f32>| {
        total.iter_mut().zip(&part).for_each(|(sum, x)| *sum += x);
        total
    };
    parts.into_iter().reduce(add).expect("some rows")
}

/// The sum of each column.
pub fn column_sums(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    for row in rows.chunks_exact(columns) {
        sums.iter_mut().zip(row).for_each(|(sum, x)| *sum += x);
    }
    sums
}
