//! The numbers behind the pictures of a scheme, and where its keys are.

use serde::Serialize;

use crate::serve::controls::{Control, Values};

/// The largest position that can be looked at.
pub const MAX_POSITION: u64 = 1_000_000_000;

/// The numbers behind the pictures of a scheme.
#[derive(Debug, Default, Serialize)]
pub struct Numbers {
    /// What is worth saying in words.
    pub facts: Vec<String>,
    /// A program with these settings.
    pub code: String,
    /// Table: the positions of the rows.
    pub positions: Vec<usize>,
    /// Table: the number of columns.
    pub columns: usize,
    /// Table: the rows, one behind the other. They are no part of the JSON.
    #[serde(skip)]
    pub rows: Vec<f32>,
    /// Table: the columns of the sine and of the cosine of a few pairs, with the index of the pair.
    pub pairs: Vec<(usize, usize, Option<usize>)>,
    /// Table: the similarity of every row to that of the chosen position.
    pub similarity: Vec<f64>,
    /// Frequencies in radians per position, of every pair: a line for each name.
    pub frequencies: Vec<Line>,
    /// Distance: the position of each key less that of the query.
    pub offsets: Vec<i64>,
    /// Distance: the scores or biases at these offsets, and what they are.
    pub lines: Vec<Line>,
    /// Distance: what the lines show.
    pub measure: &'static str,
}

/// A named line of a picture.
#[derive(Debug, Serialize)]
pub struct Line {
    pub label: String,
    pub values: Vec<f64>,
}

/// The position of the query, and how far away the keys are, on both sides.
pub const QUERY: Control = Control::whole("query", "position of the query", (0, MAX_POSITION), 256);

/// See [`QUERY`].
pub const REACH: Control =
    Control::whole("reach", "keys up to this far away", (1, MAX_POSITION), 256);

/// Which random numbers stand for trained ones.
pub const SEED: Control = Control::whole("seed", "seed of the random numbers", (0, 9_999), 1);

/// The offsets of the keys of a request: evenly spaced, 0 among them, none before position 0 and none past
/// [`MAX_POSITION`].
pub fn offsets(values: &Values) -> Vec<i64> {
    /// The most keys on each side.
    const SIDE: usize = 256;
    let (query, reach) = (values.whole("query"), values.whole("reach"));
    let step = reach.div_ceil(SIDE);
    let left = reach.min(query) / step;
    let right = reach.min(MAX_POSITION as usize - query) / step;
    let step = step as i64;
    (-(left as i64)..=right as i64).map(|k| k * step).collect()
}

/// The positions of the keys at these offsets.
pub fn keys(values: &Values, offsets: &[i64]) -> Vec<usize> {
    let query = values.whole("query") as i64;
    offsets
        .iter()
        .map(|offset| (query + offset) as usize)
        .collect()
}
