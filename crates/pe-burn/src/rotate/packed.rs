//! Queries, keys and values side by side in one projection.

use alloc::format;
use alloc::vec;

use burn::tensor::Tensor;

use super::Rotate;
use crate::error::PositionError;
use crate::positions::Positions;

/// A projection by its heads, `[batch, seq, heads + 2 · kv_heads, d_head]`.
pub(super) fn by_heads(
    qkv: Tensor<3>,
    [heads, kv_heads]: [usize; 2],
) -> Result<Tensor<4>, PositionError> {
    let [batch, seq, width] = qkv.dims();
    let bounded = |name, got, bound| Err(PositionError::number(name, got, bound));
    for (name, number) in [("heads", heads), ("kv_heads", kv_heads)] {
        if number == 0 {
            return bounded(name, number, "at least 1".into());
        }
    }
    let all = kv_heads
        .checked_mul(2)
        .and_then(|two| two.checked_add(heads));
    match all {
        Some(all) if width > 0 && width.is_multiple_of(all) => {
            Ok(qkv.reshape([batch, seq, all, width / all]))
        }
        _ => {
            let bound = format!(
                "above 0, and a multiple of the heads: {heads} of queries, {kv_heads} of keys and as many of values"
            );
            bounded("the width of the projection", width, bound)
        }
    }
}

/// A projection of which the heads have been told apart by [`by_heads`].
pub(super) fn side_by_side(heads: Tensor<4>) -> Tensor<3> {
    let [batch, seq, all, d_head] = heads.dims();
    heads.reshape([batch, seq, all * d_head])
}

/// Rotates queries and keys each for itself, with copies of them.
pub(super) fn apart<S: Rotate + ?Sized>(
    scheme: &S,
    qkv: Tensor<3>,
    heads: [usize; 2],
    positions: &Positions,
) -> Result<Tensor<3>, PositionError> {
    let all = by_heads(qkv, heads)?.swap_dims(1, 2);
    let d_head = all.dims()[3];
    let width = scheme.width(d_head);
    if width != d_head {
        return Err(PositionError::config(format!(
            "the scheme makes queries and keys {width} wide, and a projection has heads of {d_head}: rotate them apart \
             from the values"
        )));
    }
    let [heads, kv_heads] = heads;
    let q = all.clone().narrow(1, 0, heads);
    let k = all.clone().narrow(1, heads, kv_heads);
    let v = all.narrow(1, heads + kv_heads, kv_heads);
    let shapes = [&q, &k].map(|x| x.dims());
    let (q, k) = scheme.try_rotate(q, k, positions)?;
    for (x, shape) in [&q, &k].into_iter().zip(shapes) {
        if x.dims() != shape {
            let got = x.dims();
            return Err(PositionError::config(format!(
                "the scheme rotated queries or keys of shape {shape:?} to {got:?}: the shape has to stay"
            )));
        }
    }
    Ok(side_by_side(Tensor::cat(vec![q, k, v], 1).swap_dims(1, 2)))
}
