//! Which rows are held out while something is chosen, where rows have groups.

use std::collections::{BTreeMap, HashSet};

use crate::data::split::{Split, a_part};
use crate::task::{Input, Sample};

/// One row in this many is held out.
const APART: usize = 10;

/// A key that identifies what the model reads of a sample.
pub(super) fn key(sample: &Sample) -> Vec<usize> {
    let times = sample.times.iter().flatten();
    let times = times.map(|time| time.to_bits() as usize);
    match &sample.input {
        Input::Tokens(tokens) => tokens.iter().copied().chain(times).collect(),
        Input::Vectors { values, .. } => {
            let values = values.iter().map(|value| value.to_bits() as usize);
            values.chain(times).collect()
        }
    }
}

/// A tenth of the rows to train on, in whole units, drawn as the test is.
pub(super) fn apart(split: &Split) -> Vec<usize> {
    let mut sizes: BTreeMap<usize, usize> = BTreeMap::new();
    for row in &split.train {
        *sizes.entry(split.together.of_row[*row]).or_default() += 1;
    }
    let of_units: Vec<usize> = sizes.values().copied().collect();
    let drawn = sizes.keys().zip(a_part(&of_units, APART, "data/apart", 0));
    let drawn: HashSet<&usize> = drawn.filter(|(_, is)| *is).map(|(unit, _)| unit).collect();
    let is_apart = |row: &&usize| drawn.contains(&split.together.of_row[**row]);
    split.train.iter().filter(is_apart).copied().collect()
}
