//! Matrix products on parts of slices, and how rows are divided between threads.

use std::mem::MaybeUninit;
use std::ops::Range;

use gemm::{Parallelism, gemm};
use multiversion::multiversion;
use rayon::prelude::*;

/// A view of a slice as a matrix.
#[derive(Clone, Copy)]
pub struct Matrix<'a> {
    values: &'a [f32],
    rows: usize,
    columns: usize,
    row_stride: usize,
    column_stride: usize,
}

impl<'a> Matrix<'a> {
    /// All of `values`, in rows of `columns` elements.
    pub fn dense(values: &'a [f32], columns: usize) -> Self {
        Self::spaced(values, values.len() / columns, columns, columns)
    }

    /// `rows × columns` elements from the start of `values`; each row begins `row_stride` elements
    /// after the one before.
    ///
    /// # Panics
    ///
    /// When the matrix does not fit into `values`.
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

    /// Some of the rows.
    ///
    /// # Panics
    ///
    /// When there are not so many rows, or when the matrix is transposed.
    pub fn rows(self, rows: Range<usize>) -> Self {
        assert_eq!(self.column_stride, 1, "rows of a transposed matrix");
        assert!(rows.end <= self.rows, "{rows:?} of {} rows", self.rows);
        let values = &self.values[rows.start * self.row_stride..];
        Self::spaced(values, rows.len(), self.columns, self.row_stride)
    }

    /// The transposed matrix, of the same elements.
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

/// Panics unless such a matrix fits into a slice of `len` elements, and its rows do not overlap.
fn check(len: usize, rows: usize, columns: usize, row_stride: usize) {
    let end = match (rows, columns) {
        (0, _) | (_, 0) => 0,
        _ => (rows - 1) * row_stride + columns,
    };
    assert!(
        end <= len && columns <= row_stride,
        "a {rows} × {columns} matrix in {len} elements, its rows {row_stride} apart"
    );
}

/// Writes `scale · a b` to `out`, with its rows `row_stride` apart. Initializes those elements of
/// `out`.
///
/// # Panics
///
/// When the sizes do not fit together.
pub fn set_product(
    out: &mut [MaybeUninit<f32>],
    row_stride: usize,
    scale: f32,
    a: Matrix,
    b: Matrix,
) {
    check(out.len(), a.rows, b.columns, row_stride);
    // SAFETY: the last row of the product ends within `out.len()`, as was checked, and `out` is not read.
    unsafe { multiply(out.as_mut_ptr().cast(), row_stride, false, scale, a, b) }
}

/// As [`set_product`], to memory that is initialized already.
///
/// # Panics
///
/// When the sizes do not fit together.
pub fn put_product(out: &mut [f32], row_stride: usize, scale: f32, a: Matrix, b: Matrix) {
    check(out.len(), a.rows, b.columns, row_stride);
    // SAFETY: the last row of the product ends within `out.len()`, as was checked, and `out` is initialized.
    unsafe { multiply(out.as_mut_ptr(), row_stride, false, scale, a, b) }
}

/// Adds `a b` to `out`, a dense matrix.
///
/// # Panics
///
/// When the sizes do not fit together.
pub fn add_product(out: &mut [f32], a: Matrix, b: Matrix) {
    add_spaced_product(out, b.columns, 1.0, a, b);
}

/// Adds `scale · a b` to `out`, with its rows `row_stride` apart.
///
/// # Panics
///
/// When the sizes do not fit together.
pub fn add_spaced_product(out: &mut [f32], row_stride: usize, scale: f32, a: Matrix, b: Matrix) {
    check(out.len(), a.rows, b.columns, row_stride);
    // SAFETY: the last row of the product ends within `out.len()`, as was checked, and `out` is initialized.
    unsafe { multiply(out.as_mut_ptr(), row_stride, true, scale, a, b) }
}

/// `scale · a b` to `out`, or added to `out` if `add`, on this thread.
///
/// # Safety
///
/// `out` points to memory that holds the product with its rows `row_stride` apart, and nothing else
/// accesses it meanwhile. If `add`, it is initialized.
unsafe fn multiply(out: *mut f32, row_stride: usize, add: bool, scale: f32, a: Matrix, b: Matrix) {
    assert_eq!(a.columns, b.rows, "the inner sizes of a matrix product");
    // SAFETY: `Matrix::spaced` checked that the last row of each factor ends within its slice, `a` has as many columns as
    // `b` has rows, and the caller promises that the product lies within the memory of `out`.
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

/// The number of rows that a thread takes at a time: an eighth of all, so that there is work for
/// every thread, but at least 64, so that a matrix product is worth its overhead.
///
/// It does not depend on the number of threads. Each chunk is summed on its own and the sums are
/// added in the order of the chunks, so the result does not depend on it either.
pub fn rows_per_chunk(rows: usize) -> usize {
    rows.div_ceil(8).max(64)
}

/// Memory that is not yet initialized.
pub type New<'a> = &'a mut [MaybeUninit<f32>];

/// A vector of `len` elements that `write` initializes.
///
/// # Safety
///
/// `write` initializes every element.
pub unsafe fn initialized(len: usize, write: impl FnOnce(New<'_>)) -> Vec<f32> {
    // `vec![0.0; len]` would cost one more pass over the memory.
    let mut values = Vec::with_capacity(len);
    write(&mut values.spare_capacity_mut()[..len]);
    // SAFETY: the caller promises that the first `len` elements are initialized.
    unsafe { values.set_len(len) };
    values
}

/// As [`initialized`], two vectors at a time.
///
/// # Safety
///
/// `write` initializes every element of both.
pub unsafe fn both_initialized(
    [first, second]: [usize; 2],
    write: impl FnOnce(New<'_>, New<'_>),
) -> [Vec<f32>; 2] {
    let mut values = [first, second].map(Vec::with_capacity);
    let [of_first, of_second] = values.each_mut().map(Vec::spare_capacity_mut);
    write(&mut of_first[..first], &mut of_second[..second]);
    for (values, len) in values.iter_mut().zip([first, second]) {
        // SAFETY: the caller promises that the first `len` elements are initialized.
        unsafe { values.set_len(len) };
    }
    values
}

/// `a b` as a new dense matrix.
///
/// # Panics
///
/// When the sizes do not fit together.
pub fn product(a: Matrix, b: Matrix) -> Vec<f32> {
    let write = |out: New<'_>| set_product(out, b.columns, 1.0, a, b);
    // SAFETY: the product initializes its rows × columns elements, and there are no others.
    unsafe { initialized(a.rows * b.columns, write) }
}

/// Up to so many elements in the parts of a chunk, those of all chunks may be in memory together.
const SMALL: usize = 1 << 17;

/// The sums of what `part` returns for each chunk, vectors of these lengths, added in the order of the chunks.
///
/// Large ones are computed for as many chunks at a time as there are threads: a part of the gradient of a weight is as large as
/// the weight, and there are eight.
///
/// # Panics
///
/// When there is no chunk. (The modules never call a kernel with an empty input.)
pub fn sums_of<C: Send, const N: usize>(
    mut chunks: impl Iterator<Item = C>,
    lens: [usize; N],
    part: impl Fn(C) -> [Vec<f32>; N] + Sync,
) -> [Vec<f32>; N] {
    let at_a_time = match lens.iter().sum::<usize>() <= SMALL {
        true => usize::MAX,
        false => rayon::current_num_threads(),
    };
    let mut sums: Option<[Vec<f32>; N]> = None;
    loop {
        let some: Vec<C> = chunks.by_ref().take(at_a_time).collect();
        if some.is_empty() {
            return sums.expect("at least one chunk");
        }
        let parts: Vec<_> = some.into_par_iter().map(&part).collect();
        for part in parts {
            let Some(sums) = &mut sums else {
                sums = Some(part);
                continue;
            };
            for (sum, part) in sums.iter_mut().zip(&part) {
                add_rows(sum, part);
            }
        }
    }
}

/// The sum of each column of a dense matrix.
pub fn column_sums(rows: &[f32], columns: usize) -> Vec<f32> {
    let mut sums = vec![0.0; columns];
    add_rows(&mut sums, rows);
    sums
}

/// Adds every row of a dense matrix to `sums`, which is as long as a row.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn add_rows(sums: &mut [f32], rows: &[f32]) {
    let columns = sums.len().max(1);
    let mut start = 0;
    while start < rows.len() {
        let row = &rows[start..start + columns];
        for i in 0..columns {
            sums[i] += row[i];
        }
        start += columns;
    }
}
