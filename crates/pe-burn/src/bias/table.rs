//! What schemes with a table of biases share: its initial values, its check, and the look-up.

use alloc::format;
use alloc::string::String;

use burn::module::{Initializer, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Int, Tensor};

use crate::error::PositionError;

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

/// Refuses a table that was put in place with another shape: its rows are looked up without another check.
pub(super) fn check_table(
    table: &Param<Tensor<2>>,
    expected: [usize; 2],
    sizes: impl FnOnce() -> String,
) -> Result<(), PositionError> {
    let got: [usize; 2] = table.lazy_shape().dims();
    let wrong = (0..2).find(|&axis| got[axis] != expected[axis]);
    wrong.map_or(Ok(()), |axis| {
        let name = [
            "the number of rows of the table",
            "the number of columns of the table",
        ][axis];
        let bound = format!("{}, for {}", expected[axis], sizes());
        Err(PositionError::number(name, got[axis], bound))
    })
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
