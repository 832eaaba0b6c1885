//! What the schemes that compute with queries and keys have in common.

#[cfg(feature = "flex")]
use alloc::vec::Vec;

use burn::tensor::{Device, Int, Tensor};

use super::distances::shifted;
use super::{Heads, check_batches};
use crate::backend::Side;
use crate::backend::memory::check_shape_on;
use crate::error::{PositionError, check_width};
use crate::positions::Lookup;
#[cfg(feature = "flex")]
use crate::tensor::indices_in;
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

/// Refuses products of every token with `others` tokens or table rows where they do not fit into memory.
pub(super) fn check_scores(tokens: &Tensor<4>, others: usize) -> Result<(), PositionError> {
    let [batch, heads, seq, _] = tokens.dims();
    check_shape_on(&tokens.device(), [batch, heads, seq, others])
}

/// For every pair of a query and a key, their own product and the products with the table row of the pair:
///
/// ```text
/// content · x_i · y_j + x_i · A[rows[batch, i, j]] + y_j · B[rows[batch, i, j]]
/// ```
///
/// for vectors `x` and a table `A` of the queries, and vectors `y` and a table `B` of the keys. The terms of a missing
/// table or of missing keys are left out. A table with a single row has that row for all pairs.
///
/// # Shapes
///
/// - vectors: `[batch, heads, tokens, d_head]`
/// - tables: `[1 or heads, width, d_head]`
/// - `rows`: `[1 or batch, queries, keys]`
/// - output: `[batch, heads, queries, keys]`
pub(super) fn with_rows(
    queries: Side,
    keys: Option<Side>,
    content: f64,
    rows: Tensor<3, Int>,
) -> Tensor<4> {
    #[cfg(feature = "flex")]
    if flex_takes(&queries.0, queries.1.as_ref())
        && keys
            .as_ref()
            .is_none_or(|(y, table)| flex_takes(y, table.as_ref()))
    {
        return crate::backend::flex::products(queries, keys, content, rows);
    }
    let picked = |(vectors, table): Side, rows| {
        let (table, [batch, heads, ..]) = (table?, vectors.dims());
        let one = table.dims()[1] == 1;
        let products = vectors.matmul(table.swap_dims(1, 2).unsqueeze());
        Some(match one {
            true => products,
            false => pick_each(products, of_heads(rows, batch, heads)),
        })
    };
    let whole = keys.as_ref().filter(|_| content != 0.0).map(|(y, _)| {
        let x = queries.0.clone();
        x.matmul(y.clone().transpose()) * content
    });
    let of_queries = picked(queries, rows.clone());
    let of_keys = keys.and_then(|keys| picked(keys, rows.swap_dims(1, 2)));
    let terms = [whole, of_queries, of_keys.map(Tensor::transpose)];
    let sum = terms.into_iter().flatten().reduce(|sum, term| sum + term);
    sum.expect("a term")
}

/// As [`with_rows`] without the product of queries and keys, for consecutive positions: the table of the queries has a
/// row for each distance key − query, beginning with the last query and the first key. The table of the keys has one row.
///
/// # Shapes
///
/// - tables: `[1 or heads, queries + keys − 1, d_head]` and `[1 or heads, 1, d_head]`
/// - output: `[batch, heads, queries, keys]`
pub(super) fn with_distances(
    (x, table): (Tensor<4>, Tensor<3>),
    (y, row): (Tensor<4>, Tensor<3>),
) -> Tensor<4> {
    #[cfg(feature = "flex")]
    if flex_takes(&x, Some(&table)) && flex_takes(&y, Some(&row)) {
        let [queries, keys] = [&x, &y].map(|side| side.dims()[2]);
        let rows = (0..queries).rev().flat_map(|row| row..row + keys);
        let device = x.device().without_autodiff();
        let rows = indices_in(&rows.collect::<Vec<_>>(), [1, queries, keys], &device);
        let of_keys = Some((y, Some(row)));
        return crate::backend::flex::products((x, Some(table)), of_keys, 0.0, rows);
    }
    let of_queries = shifted(x.matmul(table.swap_dims(1, 2).unsqueeze()));
    of_queries + row.unsqueeze::<4>().matmul(y.transpose())
}

/// Whether the kernel on Flex takes vectors and their table.
#[cfg(feature = "flex")]
fn flex_takes(vectors: &Tensor<4>, table: Option<&Tensor<3>>) -> bool {
    use crate::backend::flex::supports;

    supports(vectors) && table.is_none_or(supports)
}

/// For every pair of a token with another, picks one of the token's scores.
///
/// # Shapes
///
/// - `scores`: `[batch, heads, seq, width]`
/// - `picked`: `[batch, heads, seq, others]`, each below `width`
/// - output: `[batch, heads, seq, others]`
pub(super) fn pick_each(scores: Tensor<4>, picked: Tensor<4, Int>) -> Tensor<4> {
    let [batch, heads, seq, width] = scores.dims();
    let [.., others] = picked.dims();
    // As a matrix: with more axes, Flex computes the index of every number by divisions.
    let rows = batch * heads * seq;
    let (scores, picked) = (
        scores.reshape([rows, width]),
        picked.reshape([rows, others]),
    );
    scores
        .gather(1, picked)
        .reshape([batch, heads, seq, others])
}

/// The table rows of the pairs, repeated for every sequence and every head, `[batch, heads, seq, others]`.
pub(super) fn of_heads(rows: Tensor<3, Int>, batch: usize, heads: usize) -> Tensor<4, Int> {
    let [_, seq, others] = rows.dims();
    rows.unsqueeze_dim::<4>(1)
        .expand([batch, heads, seq, others])
}

#[cfg(all(test, feature = "flex"))]
mod tests {
    use super::*;

    use burn::module::Module;

    use crate::content::{DebertaConfig, ShawConfig, TransformerXlConfig, TupeConfig};
    use crate::testing::{distance, random};
    use crate::{AlibiConfig, Positions, ScoreBias};

    /// With `scaled_score_bias`, attention that multiplies its products by the factor has the same scores as with
    /// `score_bias`.
    #[test]
    fn a_factor_stands_for_products_of_queries_and_keys() {
        let device = Device::flex();
        let [q, k] = [5, 7].map(|seq| random([2, 2, seq, 4], &device));
        let at = (Positions::from(3), Positions::default());
        let check = |scheme: &dyn ScoreBias, expected: f64| {
            let (q_at, k_at) = ((&q, &at.0), (&k, &at.1));
            let scores = || q.clone().matmul(k.clone().transpose()) / 2.0;
            let (factor, added) = scheme.scaled_score_bias(q_at, k_at);
            assert!((factor - expected).abs() < 1e-15, "{factor} {expected}");
            let apart = distance(
                scores() + scheme.score_bias(q_at, k_at),
                scores() * factor + added,
            );
            assert!(apart < 1e-6, "{apart}");
        };
        let deberta = DebertaConfig::new(8, 2);
        check(&deberta.init(&device), libm::sqrt(1.0 / 3.0));
        let one_term = deberta.with_position_to_content(false);
        check(&one_term.init(&device), libm::sqrt(0.5));
        check(&TupeConfig::new(8, 2, 9).init(&device), libm::sqrt(0.5));
        check(&ShawConfig::new(4).init(&device), 1.0);
        check(&AlibiConfig::new(2).init(&device), 1.0);
    }

    /// Where only the parameters have gradient checkpointing, Burn's operations run, with the same result.
    #[test]
    fn parameters_with_gradient_checkpointing() {
        let plain = Device::flex();
        let device = plain.clone().autodiff().gradient_checkpointing();
        let [q, k] = [5, 7].map(|seq| random([2, 2, seq, 4], &plain));
        let at = (Positions::from(3), Positions::default());
        let bias = |scheme: &dyn ScoreBias| scheme.score_bias((&q, &at.0), (&k, &at.1));
        let check = |with: &dyn ScoreBias, without: &dyn ScoreBias| {
            let found = bias(with);
            assert!(found.device().is_autodiff());
            let apart = distance(bias(without), found.inner());
            assert!(apart < 1e-6, "{apart}");
        };
        let shaw = ShawConfig::new(4).init(&device);
        check(&shaw, &shaw.valid());
        let xl = TransformerXlConfig::new(8, 2).init(&device);
        check(&xl, &xl.valid());
        let deberta = DebertaConfig::new(8, 2).init(&device);
        check(&deberta, &deberta.valid());
    }
}
