//! The rotation of pairs of columns by angles:
//!
//! ```text
//! (a, b) → (a cos − b sin, a sin + b cos)
//! ```
//!
//! With Burn's operations that takes seven passes over memory. On Flex, with the feature `flex`, a
//! kernel does it in one pass on all threads, in place where the input is not shared; the backward pass
//! is the inverse rotation.

use alloc::vec;
use alloc::vec::Vec;
use core::ops::Range;

use burn::tensor::Tensor;

use crate::backend::Addend;
use crate::layout::{Layout, Turn};
use crate::tensor::{cast, indices};

/// Rotates the first columns of `x`, as many as `rows` has, in the type of the rows, and rounds once to
/// the type of `x`.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d_head]`, any float type; not empty
/// - `rows`: `[1 or batch, seq, width]`, all sines before all cosines, `f32` or `f64`
/// - output: as `x`
pub(crate) fn rotate(x: Tensor<4>, rows: Addend, layout: Layout, turn: Turn) -> Tensor<4> {
    #[cfg(feature = "cube")]
    if crate::backend::cube::rotates(&x, &rows) {
        return crate::backend::cube::rotate(x, rows, layout, turn);
    }
    let (own, dtype) = (x.dtype(), rows.dtype());
    let rotated = rotate_same_type(cast(x, dtype.into()), rows, layout, turn);
    cast(rotated, own.into())
}

/// [`rotate`] for queries and keys of one batch size and length: on a graphics card, with a feature for
/// one, in a single launch.
pub(crate) fn rotate_both(
    q: Tensor<4>,
    k: Tensor<4>,
    rows: Addend,
    layout: Layout,
    turn: Turn,
) -> (Tensor<4>, Tensor<4>) {
    #[cfg(feature = "cube")]
    if q.dtype() == k.dtype()
        && [&q, &k]
            .into_iter()
            .all(|x| crate::backend::cube::rotates(x, &rows))
    {
        return crate::backend::cube::rotate_both(q, k, rows, layout, turn);
    }
    #[cfg(feature = "flex")]
    if q.dtype() == rows.dtype()
        && [&q, &k]
            .into_iter()
            .all(|x| crate::backend::flex::rotates(x, &rows))
    {
        return crate::backend::flex::rotate_both(q, k, rows, layout, turn.sign());
    }
    let k = rotate(k, rows.clone(), layout, turn);
    (rotate(q, rows, layout, turn), k)
}

/// [`rotate`] for some heads of a projection; the others stay as they are.
///
/// # Shapes
///
/// - `x`: `[batch, seq, heads of all, d_head]`, any float type; not empty
/// - output: as `x`
pub(crate) fn rotate_heads(
    x: Tensor<4>,
    rows: Addend,
    heads: Range<usize>,
    layout: Layout,
    turn: Turn,
) -> Tensor<4> {
    #[cfg(feature = "cube")]
    if heads.start == 0 && crate::backend::cube::rotates(&x, &rows) {
        return crate::backend::cube::rotate_heads(x, rows, heads.end, layout, turn);
    }
    #[cfg(feature = "flex")]
    if crate::backend::flex::rotates(&x, &rows) {
        return crate::backend::flex::rotate_heads(x, rows, heads, layout, turn.sign());
    }
    let all = x.dims()[2];
    let by_heads = x.swap_dims(1, 2);
    let part = |heads: Range<usize>| by_heads.clone().narrow(1, heads.start, heads.len());
    let turned = rotate(part(heads.clone()), rows, layout, turn);
    let mut parts = vec![turned, part(heads.end..all)];
    if heads.start > 0 {
        parts.insert(0, part(0..heads.start));
    }
    Tensor::cat(parts, 1).swap_dims(1, 2)
}

/// As [`rotate`], for an input in the type of the rows.
fn rotate_same_type(x: Tensor<4>, rows: Addend, layout: Layout, turn: Turn) -> Tensor<4> {
    #[cfg(feature = "flex")]
    if crate::backend::flex::rotates(&x, &rows) {
        return crate::backend::flex::rotate(x, rows, layout, turn.sign());
    }
    let [rows_batch, seq, width] = rows.dims();
    let pairs = width / 2;
    let rows = rows.into_tensor().reshape([rows_batch, 1, seq, width]);
    let (sin, cos) = (
        rows.clone().narrow(3, 0, pairs),
        rows.narrow(3, pairs, pairs),
    );
    let sin = match turn {
        Turn::Forward => sin,
        Turn::Inverse => -sin,
    };
    rotate_by(x, sin, cos, layout)
}

/// Rotates pairs of columns by angles of which these are the sines and cosines, with Burn's operations in their type, and
/// rounds once to the type of `x`.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d_head]`
/// - `sin`, `cos`: `[1 or batch, 1 or heads, seq, pairs]`
/// - output: as `x`
pub(crate) fn rotate_by(x: Tensor<4>, sin: Tensor<4>, cos: Tensor<4>, layout: Layout) -> Tensor<4> {
    let ([batch, heads, seq, d_head], pairs) = (x.dims(), sin.dims()[3]);
    let (own, width) = (x.dtype(), 2 * pairs);
    let x = cast(x, sin.dtype().into());
    let turned = |a: Tensor<4>, b: Tensor<4>| {
        let first = a.clone() * cos.clone() - b.clone() * sin.clone();
        (first, a * sin + b * cos)
    };
    let rest = (width < d_head).then(|| x.clone().narrow(3, width, d_head - width));
    let mut parts = match layout {
        Layout::Halves => {
            let (a, b) = turned(x.clone().narrow(3, 0, pairs), x.narrow(3, pairs, pairs));
            vec![a, b]
        }
        Layout::Interleaved => {
            let side_by_side = x.narrow(3, 0, width).reshape([batch, heads, seq, pairs, 2]);
            let column = |i| {
                let column = side_by_side.clone().narrow(4, i, 1);
                column.reshape([batch, heads, seq, pairs])
            };
            let (a, b) = turned(column(0), column(1));
            vec![Tensor::stack::<5>(vec![a, b], 4).reshape([batch, heads, seq, width])]
        }
    };
    parts.extend(rest);
    let all = match parts.len() {
        1 => parts.remove(0),
        _ => Tensor::cat(parts, 3),
    };
    cast(all, own.into())
}

/// Turns each of the two columns of a pair by an angle of its own: `angles` has the angle of `rows` for every
/// column. V-JEPA 2 does so.
///
/// # Shapes
///
/// As for [`rotate`], with any number of angles in `rows`.
pub(crate) fn by_columns(
    x: Tensor<4>,
    rows: Tensor<3>,
    angles: &[usize],
    layout: Layout,
) -> Tensor<4> {
    let (own, device) = (x.dtype(), x.device().without_autodiff());
    let x = cast(x, rows.dtype().into());
    let ([batch, heads, seq, d_head], width) = (x.dims(), angles.len());
    let known = rows.dims()[2] / 2;
    let cosines: Vec<usize> = angles.iter().map(|angle| angle + known).collect();
    let of_columns = |columns: &[usize]| {
        let rows = rows.clone().select(2, indices(columns, &device));
        rows.unsqueeze_dim::<4>(1)
    };
    let (sin, cos) = (of_columns(angles), of_columns(&cosines));
    let turned = x.clone().narrow(3, 0, width);
    // The axis of the two columns of a pair.
    let (shape, axis) = match layout {
        Layout::Interleaved => ([batch, heads, seq, width / 2, 2], 4),
        Layout::Halves => ([batch, heads, seq, 2, width / 2], 3),
    };
    let pairs = turned.clone().reshape(shape);
    let column = |i| pairs.clone().narrow(axis, i, 1);
    let swapped =
        Tensor::cat(vec![-column(1), column(0)], axis).reshape([batch, heads, seq, width]);
    let turned = turned * cos + swapped * sin;
    let all = match width == d_head {
        true => turned,
        false => Tensor::cat(vec![turned, x.narrow(3, width, d_head - width)], 3),
    };
    cast(all, own.into())
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::tensor::{Device, Distribution};

    use crate::Spectrum;
    use crate::testing::distance;

    fn angles(batch: usize, seq: usize, width: usize, device: &Device) -> Tensor<3> {
        let spectrum = Spectrum::new(width, 100.0)
            .unwrap()
            .with_layout(Layout::Halves);
        let rows: alloc::vec::Vec<f32> = spectrum.rows(7..7 + batch * seq).unwrap();
        Tensor::<1>::from_data(rows.as_slice(), device).reshape([batch, seq, width])
    }

    #[test]
    fn the_gradient_is_rotated_by_the_inverse() {
        let device = Device::flex().autodiff();
        let rows = angles(1, 40, 8, &Device::flex());
        for layout in [Layout::Interleaved, Layout::Halves] {
            let x = Tensor::<4>::random([2, 3, 40, 10], Distribution::Default, &device);
            let weights = Tensor::<4>::random([2, 3, 40, 10], Distribution::Default, &device);
            let x = x.require_grad();
            let y = rotate(x.clone(), rows.clone().into(), layout, Turn::Forward);
            let gradient = x.grad(&(y * weights.clone()).sum().backward()).unwrap();
            let expected = rotate(weights, rows.clone().into(), layout, Turn::Inverse);
            assert!(distance(gradient, expected) < 1e-6);
        }
    }

    /// A kernel would read other rows, or past the end.
    #[test]
    #[cfg(feature = "flex")]
    fn angles_that_do_not_fit_are_refused() {
        let device = Device::flex();
        let refused = |rows: [usize; 3], heads: usize| {
            let x = Tensor::<4>::ones([3, 2, 5, 8], &device);
            let rows = angles(rows[0], rows[1], rows[2], &device);
            let (layout, turn) = (Layout::Halves, Turn::Forward);
            let all = || rotate(x.clone(), rows.clone().into(), layout, turn);
            let first = || {
                let side_by_side = x.clone().swap_dims(1, 2) + 0.0;
                rotate_heads(side_by_side, rows.clone().into(), 0..heads, layout, turn)
            };
            let said = |call: &dyn Fn() -> Tensor<4>| {
                let result = std::panic::catch_unwind(std::panic::AssertUnwindSafe(call));
                let message = result.map(|y| y.dims()).expect_err("refused");
                let message = message.downcast::<std::string::String>();
                assert!(message.expect("sizes").contains("do not fit to"));
            };
            if heads == 2 {
                said(&all);
            }
            said(&first);
        };
        refused([1, 5, 10], 2); // more columns than a head has
        refused([2, 5, 8], 2); // for two of three sequences
        refused([1, 4, 8], 2); // for four of five tokens
        refused([1, 5, 8], 3); // for three of two heads
    }

    /// Burn makes such a tensor without checking the length of its memory.
    #[test]
    #[cfg(feature = "flex")]
    #[should_panic(expected = "out of range for slice of length 16")]
    fn a_tensor_that_ends_past_its_memory_is_not_rotated() {
        use burn::backend::Flex;
        use burn::backend::flex::{FlexTensor, Layout as Strides};
        use burn::tensor::{DType, TensorData};

        let memory = FlexTensor::from_data(TensorData::from([1.0_f32; 16]));
        let data = memory.data_arc();
        drop(memory); // or the memory is shared
        let strides = Strides::contiguous([1, 4, 1, 8].into());
        let x = FlexTensor::from_arc(data, strides, DType::F32);
        let x = Tensor::<4>::from_primitive::<Flex>(x);
        let rows = angles(1, 1, 8, &Device::flex());
        rotate(x, rows.into(), Layout::Halves, Turn::Forward);
    }
}
