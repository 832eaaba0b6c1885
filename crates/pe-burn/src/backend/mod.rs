//! Everything that knows a backend: kernels for Flex and for graphics cards, operations recorded in Burn's autodiff graph,
//! threads and memory. All `unsafe` code of this crate is here.

mod addend;
#[cfg(any(feature = "flex", feature = "cube"))]
pub mod autodiff;
#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "flex")]
mod exp;
#[cfg(feature = "flex")]
pub(crate) mod flex;
#[cfg(all(feature = "std", target_os = "linux"))]
mod limits;
pub(crate) mod memory;
pub(crate) mod rows;
pub mod threads;

pub(crate) use addend::Addend;
#[cfg(feature = "flex")]
pub use exp::{exp, exp_from};

/// Panics when rows of angles do not fit to an input: kernels access the memory of both by these sizes.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d_head]`, of which the first `turned` heads are rotated
/// - `rows`: `[1 or batch, seq, width]` with an even width, at most `d_head`
///
/// # Panics
///
/// When these are not the shapes.
#[cfg(any(feature = "flex", feature = "cube"))]
pub(crate) fn check_rotation(x: [usize; 4], turned: usize, rows: [usize; 3]) {
    let ([batch, heads, seq, d_head], [rows_batch, rows_seq, width]) = (x, rows);
    let fits = (rows_batch == 1 || rows_batch == batch) && rows_seq == seq;
    assert!(
        fits && width <= d_head && width.is_multiple_of(2) && turned <= heads,
        "rows of angles {rows:?} do not fit to {turned} heads of an input {x:?}"
    );
}

/// Vectors of tokens, `[batch, heads, tokens, d]`, and the table whose rows they are multiplied with,
/// `[1 or heads, width, d]`.
pub(crate) type Side = (burn::tensor::Tensor<4>, Option<burn::tensor::Tensor<3>>);
