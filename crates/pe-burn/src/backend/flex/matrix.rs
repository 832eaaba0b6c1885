//! Matrix products on parts of slices, on the calling thread.

use core::mem::MaybeUninit;
use core::ops::Range;

use burn::backend::flex::FlexTensor;
use gemm::{Parallelism, gemm};

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

    /// The numbers of rows and of columns.
    pub fn shape(self) -> [usize; 2] {
        [self.rows, self.columns]
    }

    /// One of the rows.
    ///
    /// # Panics
    ///
    /// As [`rows`](Self::rows).
    pub(super) fn row(self, row: usize) -> &'a [f32] {
        &self.rows(row..row + 1).values[..self.columns]
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

    /// The vectors of one head of one sequence, from a tensor `[batch, heads, tokens, d]` that [`in_rows`] returned.
    pub(super) fn of_head(x: &'a FlexTensor, [sequence, head]: [usize; 2]) -> Self {
        let layout = x.layout();
        let [_, _, tokens, d] = layout.shape().dims();
        let values = &x.storage()[layout.index(&[sequence, head, 0, 0])..];
        // With one row there is no next row, so its stride may be anything.
        let stride = if tokens == 1 {
            d
        } else {
            layout.strides()[2] as usize
        };
        Self::spaced(values, tokens, d, stride)
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

/// The tensor `[batch, heads, tokens, d]` itself, or a copy of it, in which the elements of a row lie side by side, and rows do not
/// overlap.
pub(super) fn in_rows(x: FlexTensor) -> FlexTensor {
    let layout = x.layout();
    let [_, _, tokens, d] = layout.shape().dims();
    let apart = tokens <= 1 || layout.strides()[2] >= d as isize;
    match layout.has_contiguous_inner() && layout.has_positive_strides() && apart {
        true => x,
        false => x.to_contiguous(),
    }
}
