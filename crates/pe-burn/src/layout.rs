//! Which column of a row holds which sine or cosine, conversion between the two layouts, and which way pairs turn.

use alloc::format;
use alloc::vec::Vec;

use burn::tensor::Tensor;
use serde::{Deserialize, Serialize};

use crate::error::{PositionError, check_number, check_size};
use crate::tensor::indices;

/// Which column of an encoding holds which sine and cosine; for RoPE, which two columns of a head
/// are rotated as a pair.
///
/// Code that mixes the two up trains without an error, but cannot use weights of the other layout:
/// [`convert_layout`] and [`convert_heads`] convert them.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Layout {
    /// `sin ω₀p, cos ω₀p, sin ω₁p, cos ω₁p, …`: the order of the paper. An odd width ends in a sine.
    ///
    /// RoPE: columns (0, 1), (2, 3), … are pairs, as in RoFormer, GPT-J and Meta's Llama.
    #[default]
    Interleaved,
    /// `sin ω₀p, sin ω₁p, …, cos ω₀p, cos ω₁p, …`: the order of Marian, tensor2tensor and fairseq. An odd
    /// width has no cosine for its last sine, unless the formula ends in a column of zeros.
    ///
    /// RoPE: columns (0, d/2), (1, d/2 + 1), … are pairs, as in GPT-NeoX, and in Llama and Qwen at
    /// Hugging Face.
    Halves,
}

impl Layout {
    /// The first and the second column of pair `i` in a row of `width` columns.
    pub(crate) fn columns(self, i: usize, width: usize) -> (usize, usize) {
        match self {
            Self::Interleaved => (2 * i, 2 * i + 1),
            Self::Halves => (i, width.div_ceil(2) + i),
        }
    }

    /// For each column of a row in this layout, the column of the layout `from` with the same content.
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

/// The direction of a rotation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Turn {
    Forward,
    /// By the opposite angles.
    Inverse,
}

impl Turn {
    /// The factor of the angles.
    #[cfg(feature = "flex")]
    pub(crate) fn sign(self) -> f32 {
        match self {
            Self::Forward => 1.0,
            Self::Inverse => -1.0,
        }
    }

    /// The opposite direction.
    pub(crate) fn inverse(self) -> Self {
        match self {
            Self::Forward => Self::Inverse,
            Self::Inverse => Self::Forward,
        }
    }
}

/// Reorders the columns of rows from one layout to the other: a table of sines and cosines,
/// embeddings that were trained with it, or the axis of a weight that multiplies them. Values stay
/// as they are.
///
/// An odd width ends in a sine without a cosine. Where it ends in a column of zeros instead, as in
/// tensor2tensor and fairseq, convert the columns before it.
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
    select_columns(x, from, to, || to.sources(from, width))
}

/// Reorders the weights of a query or key projection from one layout of RoPE to the other.
///
/// Apply it to the weight and the bias of both projections: the attention scores, and with them the
/// model, are then the same as before. It is a permutation of columns, so values stay as they are.
///
/// # Shapes
///
/// - `x`: `[.., heads · d_head]`: the weight `[d_model, heads · d_head]` of a
///   [`Linear`](burn::nn::Linear), its bias, or queries and keys themselves
/// - output: as `x`
///
/// # Errors
///
/// [`PositionError::Number`] when the last axis is not a multiple of `heads`, or when `rotary_dim`,
/// the number of columns that are rotated in each head, is 0, odd, or more than a head has.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{Layout, convert_heads};
///
/// // Two heads of four columns: from the layout of Meta's Llama checkpoints to Hugging Face's.
/// let bias = Tensor::<1>::from_floats([0., 1., 2., 3., 10., 11., 12., 13.], &Device::flex());
/// let halves = convert_heads(bias, 2, 4, Layout::Interleaved, Layout::Halves)?;
/// halves.into_data().assert_eq(&[0.0_f32, 2., 1., 3., 10., 12., 11., 13.].into(), true);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[doc(alias = "permute")]
pub fn convert_heads<const D: usize>(
    x: Tensor<D>,
    heads: usize,
    rotary_dim: usize,
    from: Layout,
    to: Layout,
) -> Result<Tensor<D>, PositionError> {
    let d_head = share_of_heads("the last axis of x", x.dims()[D - 1], heads)?;
    check_rotary_dim(rotary_dim, d_head)?;
    Ok(select_columns(x, from, to, || {
        let mut head = to.sources(from, rotary_dim);
        head.extend(rotary_dim..d_head);
        let head = &head;
        let of_head = |first| head.iter().map(move |column| first + column);
        (0..heads).flat_map(|i| of_head(i * d_head)).collect()
    }))
}

/// The width of each of `heads` heads that share a width.
pub(crate) fn share_of_heads(
    name: &'static str,
    width: usize,
    heads: usize,
) -> Result<usize, PositionError> {
    check_size("heads", heads)?;
    match width.is_multiple_of(heads) {
        true => Ok(width / heads),
        false => {
            let bound = format!("a multiple of the number of heads, {heads}");
            Err(PositionError::number(name, width, bound))
        }
    }
}

/// Refuses a number of rotated columns that does not come in pairs or is more than a head has.
pub(crate) fn check_rotary_dim(rotary_dim: usize, d_head: usize) -> Result<(), PositionError> {
    check_number(d_head >= 2, "d_head", d_head, "at least 2")?;
    if rotary_dim == 0 || !rotary_dim.is_multiple_of(2) || rotary_dim > d_head {
        let name = match rotary_dim == d_head {
            true => "rotary_dim (d_head, unless it is set)",
            false => "rotary_dim",
        };
        let bound = format!("even, from 2 to d_head {d_head}");
        return Err(PositionError::number(name, rotary_dim, bound));
    }
    Ok(())
}

fn select_columns<const D: usize>(
    x: Tensor<D>,
    from: Layout,
    to: Layout,
    columns: impl FnOnce() -> Vec<usize>,
) -> Tensor<D> {
    if from == to || x.dims()[D - 1] == 0 {
        return x;
    }
    let device = x.device().without_autodiff();
    x.select(D - 1, indices(&columns(), &device))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::testing::refused;

    use burn::tensor::Device;

    use crate::Spectrum;

    #[test]
    fn converting_a_layout_there_and_back_gives_its_rows() {
        let device = Device::flex();
        for d_model in [1, 2, 3, 8, 9] {
            let rows = |layout| {
                let spectrum = Spectrum::new(d_model, 100.0).unwrap().with_layout(layout);
                let rows: Vec<f32> = spectrum.rows(3..6).unwrap();
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

    #[test]
    fn heads_that_cannot_be_converted_are_refused() {
        let x = Tensor::<1>::zeros([8], &Device::flex());
        let (from, to) = (Layout::Interleaved, Layout::Halves);
        // The numbers of heads and of rotated columns. With 0 of these the conversion would silently do nothing.
        refused! {
            |bad| convert_heads(x.clone(), bad.0, bad.1, from, to);
            (2, 0) => "rotary_dim must be even, from 2 to d_head 4; got 0",
            (2, 3) => "rotary_dim must be even, from 2 to d_head 4; got 3",
            (2, 6) => "rotary_dim must be even, from 2 to d_head 4; got 6",
            (0, 2) => "heads must be at least 1; got 0",
            (3, 2) => "the last axis of x must be a multiple of the number of heads, 3; got 8",
        }
    }
}
