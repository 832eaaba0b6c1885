//! Which column of a row holds what, and the way from one order to the other.

use alloc::vec::Vec;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{PositionError, expect};
use crate::index::row_numbers;

/// Which column of an encoding holds which sine and cosine, or which columns of a head a rotation
/// takes together.
///
/// Code that mixes the two up trains, but cannot use the other's weights: [`convert_layout`] and
/// [`convert_heads`] convert them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// `sin ω₀p, cos ω₀p, sin ω₁p, cos ω₁p, …`: the paper's. An odd width ends in a sine.
    #[default]
    Interleaved,
    /// `sin ω₀p, sin ω₁p, …, cos ω₀p, cos ω₁p, …`: Marian's, tensor2tensor's, fairseq's. In an odd
    /// width the last cosine is the one left out, unless the formula ends it in a column of zeros.
    Halves,
}

impl Layout {
    /// The columns of the first and the second of pair `i`, in rows of so many columns.
    pub(crate) fn columns(self, i: usize, width: usize) -> (usize, usize) {
        match self {
            Self::Interleaved => (2 * i, 2 * i + 1),
            Self::Halves => (i, width.div_ceil(2) + i),
        }
    }

    /// For each column of a row in this layout, the one that holds the same in `from`.
    fn sources(self, from: Self, width: usize) -> Vec<usize> {
        let mut sources: Vec<usize> = (0..width).collect();
        for i in 0..width.div_ceil(2) {
            let (first, second) = self.columns(i, width);
            let (from_first, from_second) = from.columns(i, width);
            sources[first] = from_first;
            if 2 * i + 1 < width {
                sources[second] = from_second;
            }
        }
        sources
    }
}

/// Rows of one layout reordered for the other: a table of sines and cosines, embeddings that were
/// trained with it, the axis of a weight that meets them. No number changes.
///
/// An odd width ends in a sine that has no cosine. Where it ends in a column of zeros instead, as
/// tensor2tensor's and fairseq's, convert the columns before it.
///
/// # Shapes
///
/// - `x`: `[.., d_model]`, any width; move another axis to the end with `swap_dims`
/// - output: as `x`
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{Layout, convert_layout};
///
/// let rows = Tensor::<2>::from_floats([[0., 1., 2., 3., 4.]], &Device::flex());
/// let halves = convert_layout(rows, Layout::Interleaved, Layout::Halves);
/// halves.into_data().assert_eq(&[[0.0_f32, 2., 4., 1., 3.]].into(), true);
/// ```
pub fn convert_layout<const D: usize>(x: Tensor<D>, from: Layout, to: Layout) -> Tensor<D> {
    let width = x.dims()[D - 1];
    pick_columns(x, from, to, || to.sources(from, width))
}

/// The weights of a projection to queries or keys, made for rotary pairs in one layout, reordered
/// for the other.
///
/// Apply it to the weight and the bias of both projections: then the scores, and with them the
/// model, are the same as before. It is a permutation of columns, so no number changes.
///
/// # Shapes
///
/// - `x`: `[.., heads · d_head]`: the weight `[d_model, heads · d_head]` of a
///   [`Linear`](burn::nn::Linear), its bias, or queries and keys themselves
/// - output: as `x`
///
/// # Panics
///
/// Where [`try_convert_heads`] returns an error.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{Layout, convert_heads};
///
/// // Two heads of four columns, as Llama's checkpoints at Meta have them, for Hugging Face's.
/// let bias = Tensor::<1>::from_floats([0., 1., 2., 3., 10., 11., 12., 13.], &Device::flex());
/// let halves = convert_heads(bias, 2, 4, Layout::Interleaved, Layout::Halves);
/// halves.into_data().assert_eq(&[0.0_f32, 2., 1., 3., 10., 12., 11., 13.].into(), true);
/// ```
pub fn convert_heads<const D: usize>(
    x: Tensor<D>,
    heads: usize,
    rotary_dim: usize,
    from: Layout,
    to: Layout,
) -> Tensor<D> {
    expect(try_convert_heads(x, heads, rotary_dim, from, to))
}

/// As [`convert_heads`].
///
/// # Errors
///
/// [`PositionError::ZeroHeads`], [`Heads`](PositionError::Heads) when the heads cannot share the last
/// axis, and [`RotaryDim`](PositionError::RotaryDim) when `rotary_dim`, the number of columns that
/// are rotated in each head, is odd or more than there are.
pub fn try_convert_heads<const D: usize>(
    x: Tensor<D>,
    heads: usize,
    rotary_dim: usize,
    from: Layout,
    to: Layout,
) -> Result<Tensor<D>, PositionError> {
    let width = x.dims()[D - 1];
    if heads == 0 {
        return Err(PositionError::ZeroHeads);
    }
    if !width.is_multiple_of(heads) {
        return Err(PositionError::Heads {
            d_model: width,
            heads,
        });
    }
    let d_head = width / heads;
    if !rotary_dim.is_multiple_of(2) || rotary_dim > d_head {
        return Err(PositionError::RotaryDim { rotary_dim, d_head });
    }
    Ok(pick_columns(x, from, to, || {
        let mut head = to.sources(from, rotary_dim);
        head.extend(rotary_dim..d_head);
        let head = &head;
        let of_head = |first| head.iter().map(move |column| first + column);
        (0..heads).flat_map(|i| of_head(i * d_head)).collect()
    }))
}

fn pick_columns<const D: usize>(
    x: Tensor<D>,
    from: Layout,
    to: Layout,
    columns: impl FnOnce() -> Vec<usize>,
) -> Tensor<D> {
    if from == to || x.dims()[D - 1] == 0 {
        return x;
    }
    let device = x.device().without_autodiff();
    x.select(D - 1, row_numbers(&columns(), &device))
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::Device;

    use crate::Spectrum;

    #[test]
    fn the_rows_of_one_layout_become_those_of_the_other_and_back() {
        let device = Device::flex();
        for d_model in [1, 2, 3, 8, 9] {
            let rows = |layout| {
                let spectrum = Spectrum::new(d_model, 100.0).with_layout(layout);
                let rows: Vec<f32> = spectrum.rows(3..6);
                Tensor::<1>::from_data(rows.as_slice(), &device).reshape([3, d_model])
            };
            let (one, other) = (Layout::Interleaved, Layout::Halves);
            for (from, to) in [(one, other), (other, one), (one, one)] {
                let converted: Tensor<2> = convert_layout(rows(from), from, to);
                converted.into_data().assert_eq(&rows(to).into_data(), true);
            }
        }
        let empty = convert_layout(
            Tensor::<2>::zeros([3, 0], &device),
            Layout::Interleaved,
            Layout::Halves,
        );
        assert_eq!(empty.dims(), [3, 0]);
    }
}
