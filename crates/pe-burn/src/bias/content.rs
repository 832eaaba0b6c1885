//! What the schemes share that compute with queries and keys.

use burn::tensor::{Device, Int, Tensor};

use super::{Heads, check_batches};
use crate::backend::memory::check_shape_on;
use crate::error::{PositionError, check_width};
use crate::positions::Lookup;
use crate::tensor::{cast, check_device, compute_dtype};

/// What the module of a scheme was built for: the number of heads, `None` where it does the same in every head, and `d_head`.
type Sizes = (Option<usize>, usize);

/// Checks queries, keys and their positions, and computes what is added to their scores. Where there is no
/// query or no key, the result is empty and `compute` is not called.
///
/// `compute` gets both sides in the type that sums are computed in; what it returns is rounded once to the
/// type of the queries.
pub(super) fn score_bias(
    queries: Heads,
    keys: Heads,
    (heads_of_module, d_head_of_module): Sizes,
    device: &Device,
    compute: impl FnOnce([(Tensor<4>, Lookup); 2]) -> Result<Tensor<4>, PositionError>,
) -> Result<Tensor<4>, PositionError> {
    let [batch, heads, q_seq, _] = queries.0.dims();
    let [k_batch, k_heads, k_seq, _] = keys.0.dims();
    for (side, _) in [queries, keys] {
        let [_, heads, _, d_head] = side.dims();
        check_width("d_head", d_head_of_module, d_head)?;
        check_width("heads", heads_of_module.unwrap_or(heads), heads)?;
        check_device(side, device)?;
    }
    if k_heads != heads {
        let bound = alloc::format!("that of the queries, {heads}: repeat keys that heads share");
        let name = "the number of heads of the keys";
        return Err(PositionError::number(name, k_heads, bound));
    }
    check_batches(batch, k_batch)?;
    let q_lookup = queries.1.lookup(Some(batch), q_seq)?;
    let k_lookup = keys.1.lookup(Some(batch), k_seq)?;
    let own = queries.0.dtype();
    let shape = [batch, heads, q_seq, k_seq];
    if shape.contains(&0) {
        return Ok(Tensor::zeros(shape, (device, own)));
    }
    check_scores(queries.0, k_seq)?;
    let dtype = compute_dtype(own.into());
    let sides = [
        (cast(queries.0.clone(), dtype), q_lookup),
        (cast(keys.0.clone(), dtype), k_lookup),
    ];
    compute(sides).map(|bias| cast(bias, own.into()))
}

/// Refuses scores of every token with this many others, or rows of a table, where the memory has not enough for them.
pub(super) fn check_scores(tokens: &Tensor<4>, others: usize) -> Result<(), PositionError> {
    let [batch, heads, seq, _] = tokens.dims();
    check_shape_on(&tokens.device(), [batch, heads, seq, others])
}

/// Picks for every pair the score that belongs to its distance.
///
/// # Shapes
///
/// - `scores`: `[batch, heads, seq, rows]`, of every token with every row of a table
/// - `rows`: `[1 or batch, seq, others]`, the row of each pair
/// - output: `[batch, heads, seq, others]`
pub(super) fn pick(scores: Tensor<4>, rows: Tensor<3, Int>) -> Tensor<4> {
    #[cfg(feature = "flex")]
    if crate::backend::flex::supports(&scores) {
        return crate::backend::flex::pick(scores, rows);
    }
    let [batch, heads, ..] = scores.dims();
    pick_each(scores, of_heads(rows, batch, heads))
}

/// As [`pick`], where every head of every sequence picks its own: `[batch, heads, seq, others]`.
pub(super) fn pick_each(scores: Tensor<4>, picked: Tensor<4, Int>) -> Tensor<4> {
    let [batch, heads, seq, width] = scores.dims();
    let [.., others] = picked.dims();
    // As the rows of a matrix: with more axes Flex computes the place of every number by divisions.
    let rows = batch * heads * seq;
    let (scores, picked) = (
        scores.reshape([rows, width]),
        picked.reshape([rows, others]),
    );
    scores
        .gather(1, picked)
        .reshape([batch, heads, seq, others])
}

/// The rows of pairs for every row of a batch and every head, `[batch, heads, seq, others]`.
pub(super) fn of_heads(rows: Tensor<3, Int>, batch: usize, heads: usize) -> Tensor<4, Int> {
    let [_, seq, others] = rows.dims();
    rows.unsqueeze_dim::<4>(1)
        .expand([batch, heads, seq, others])
}
