//! Matrix products on parts of slices, on the calling thread.

use core::ops::Range;

use burn::backend::flex::FlexTensor;
use gemm::{Parallelism, gemm};

/// A view of a slice as a matrix.
#[derive(Clone, Copy)]
pub(super) struct Matrix<'a> {
    values: &'a [f32],
    /// The numbers of rows and of columns.
    shape: [usize; 2],
    /// How far apart they are.
    strides: [usize; 2],
}

impl<'a> Matrix<'a> {
    /// All of `values`, in rows of `columns` elements.
    pub fn dense(values: &'a [f32], columns: usize) -> Self {
        Self::spaced(values, [values.len() / columns, columns], columns)
    }

    /// `[rows, columns]` from the start of `values`, each row `apart` elements after the one before.
    ///
    /// # Panics
    ///
    /// When the matrix does not fit into `values`.
    pub fn spaced(values: &'a [f32], shape @ [rows, columns]: [usize; 2], apart: usize) -> Self {
        assert!(rows == 0 || (rows - 1) * apart + columns <= values.len());
        Self {
            values,
            shape,
            strides: [apart, 1],
        }
    }

    /// The vectors of a head of a sequence in a tensor `[batch, heads, tokens, d]` from [`in_rows`].
    pub fn of_head(x: &'a FlexTensor, [sequence, head]: [usize; 2]) -> Self {
        let layout = x.layout();
        let [_, _, tokens, d] = layout.shape().dims();
        let values = &x.storage()[layout.index(&[sequence, head, 0, 0])..];
        Self::spaced(values, [tokens, d], layout.strides()[2] as usize)
    }

    /// Some of the rows.
    ///
    /// # Panics
    ///
    /// When there are not so many.
    pub fn rows(self, rows: Range<usize>) -> Self {
        assert!(rows.end <= self.shape[0]);
        Self {
            values: &self.values[rows.start * self.strides[0]..],
            shape: [rows.len(), self.shape[1]],
            ..self
        }
    }

    /// The transposed matrix, of the same elements.
    pub fn t(self) -> Self {
        let ([rows, columns], [row, column]) = (self.shape, self.strides);
        Self {
            shape: [columns, rows],
            strides: [column, row],
            ..self
        }
    }

    /// Writes `scale` times the product with another matrix to `out`, in dense rows, or adds it to what is there.
    ///
    /// # Panics
    ///
    /// When the sizes do not fit together.
    pub fn times(self, other: Self, scale: f32, add: bool, out: &mut [f32]) {
        let ([rows, inner], [others, columns]) = (self.shape, other.shape);
        assert_eq!(inner, others, "the inner sizes of a product");
        assert_eq!(out.len(), rows * columns, "the size of a product");
        let strides = |matrix: Self| matrix.strides.map(|stride| stride as isize);
        let ([a_row, a_column], [b_row, b_column]) = (strides(self), strides(other));
        let out = out.as_mut_ptr();
        let (a, b) = (self.values.as_ptr(), other.values.as_ptr());
        let apart = columns as isize;
        // SAFETY: `spaced` checked that the last row of each factor ends within its slice, and `out` has the size of the product.
        unsafe {
            gemm(
                rows,
                columns,
                inner,
                out,
                1,
                apart,
                add,
                a,
                a_column,
                a_row,
                b,
                b_column,
                b_row,
                1.0,
                scale,
                false,
                false,
                false,
                Parallelism::None,
            );
        }
    }
}

/// The tensor itself, or a copy of it, in which the elements of a row lie side by side.
pub(super) fn in_rows(x: FlexTensor) -> FlexTensor {
    let layout = x.layout();
    match layout.has_contiguous_inner() && layout.has_positive_strides() {
        true => x,
        false => x.to_contiguous(),
    }
}
