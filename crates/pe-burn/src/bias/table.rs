//! What schemes with a table of biases share: its initial values, and the look-up.

use burn::module::Initializer;
use burn::tensor::module::embedding;
use burn::tensor::{Int, Tensor};

/// What most tables start as: N(0, 0.02).
pub(crate) fn small() -> Initializer {
    Initializer::Normal {
        mean: 0.0,
        std: 0.02,
    }
}

/// What the tables of BEiT, LeViT and SAM start as.
pub(super) fn zeros() -> Initializer {
    Initializer::Zeros
}

/// The rows of a table for each pair.
///
/// # Shapes
///
/// - `table`: `[entries, heads]`
/// - `entries`: `[rows, queries, keys]`
/// - output: `[rows, heads, queries, keys]`
pub(super) fn gather(table: Tensor<2>, entries: Tensor<3, Int>) -> Tensor<4> {
    let [_, heads] = table.dims();
    let [rows, queries, keys] = entries.dims();
    embedding(table, entries.reshape([rows, queries * keys]))
        .reshape([rows, queries, keys, heads])
        .permute([0, 3, 1, 2])
}
