//! The numbers behind the pictures of a scheme, and where its keys are.

use burn::tensor::Tensor;
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

impl Line {
    pub fn new(label: impl Into<String>, values: Vec<f64>) -> Self {
        let label = label.into();
        Self { label, values }
    }
}

/// From the shortest to the longest of some wavelengths, in words.
pub fn span(wavelengths: &[f64]) -> String {
    let shortest = wavelengths.iter().copied().fold(f64::INFINITY, f64::min);
    let longest = wavelengths.iter().copied().fold(0.0, f64::max);
    let (shortest, longest) = (shown(shortest), shown(longest));
    format!("with wavelengths from {shortest} to {longest} positions")
}

/// A number to four digits.
pub fn shown(number: f64) -> String {
    match number {
        n if n.is_infinite() => "infinitely many".into(),
        n if n >= 1e7 => format!("{n:.3e}"),
        n if n >= 1e3 => format!("{n:.0}"),
        n => format!("{n:.3}"),
    }
}

/// At most `most` indices of `count` things, evenly spaced, the first and the last among them.
pub fn some(most: usize, count: usize) -> impl ExactSizeIterator<Item = usize> {
    let shown = count.min(most);
    (0..shown).map(move |k| k * (count - 1) / (shown - 1).max(1))
}

/// The numbers of a tensor.
pub fn host<const D: usize>(tensor: Tensor<D>) -> Vec<f64> {
    let data = tensor.into_data().convert::<f64>();
    data.try_to_vec().expect("it was converted")
}

/// The position of the query.
pub const QUERY: Control = Control::whole("query", "position of the query", (0, MAX_POSITION), 256);

/// How far away the keys are from the query, on both sides.
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
