//! The statistics of a study: what its runs say about the schemes, and how sure that is.
//!
//! | file | what it holds |
//! |---|---|
//! | `describe` | means, variances, the interquartile mean |
//! | `student` | Student's t: its tails and its quantiles |
//! | `welch` | two schemes compared: Welch's test on the means of seeds, over task × seed, and with pooled variances |
//! | `bounded` | intervals between the scores that are possible |
//! | `holm` | the correction for many tests |
//! | `judge` | the procedure: the headline, the table of pairs, what is level |
//! | `why` | why a pair is undecided |
//! | `looks` | a study that stops when it is decided: the error at each planned look |
//! | `rows` | whether other test rows would say the same |
//!
//! Every function depends on its arguments alone. Random draws come from fixed streams, so a report that
//! is made twice has the same numbers twice. `docs/statistics.md` has the formulas, their sources and what
//! a simulation says about them.

mod bounded;
mod describe;
mod holm;
mod judge;
mod looks;
mod rows;
mod student;
mod welch;
mod why;

use serde::Serialize;

pub use bounded::{Bounds, intervals};
pub(crate) use describe::seed_means;
pub use describe::{interquartile_mean, mean, variance};
pub use holm::holm;
pub use judge::{Answer, ENOUGH_SEEDS, EQUAL, Errors, Finding, LEVEL_SEEDS, MARGIN, Pair, judge};
pub use looks::Looks;
pub use rows::{OtherRows, RowScores, other_rows};
pub use student::{quantile, two_sided};
pub use welch::{Difference, Estimate, FEWEST_SEEDS, Pooled, compare};
pub use why::Why;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end.
    pub low: f64,
    /// The upper end.
    pub high: f64,
}
