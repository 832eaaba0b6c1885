//! Queries, keys and values side by side in one projection.

use alloc::format;

use burn::tensor::Tensor;

use crate::error::PositionError;

/// A projection with an axis of heads, `[batch, seq, heads + 2 · kv_heads, d_head]`.
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

/// The inverse of [`by_heads`].
pub(super) fn side_by_side(heads: Tensor<4>) -> Tensor<3> {
    let [batch, seq, all, d_head] = heads.dims();
    heads.reshape([batch, seq, all * d_head])
}
