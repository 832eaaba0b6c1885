//! Which rows are held out while something is chosen, where rows have groups.

use std::collections::{BTreeMap, HashSet};

use crate::data::rows::Rows;
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

/// A tenth of the rows to train on, in whole units, drawn as the test is: of the units of each label by themselves, and never the
/// only one. Empty where these have fewer than two labels, or all rows of one: whatever is chosen by them would be chosen for
/// one label.
pub(super) fn apart(data: &Rows, split: &Split) -> Vec<usize> {
    let has_classes = data.has_classes();
    let mut by_label: BTreeMap<usize, BTreeMap<usize, usize>> = BTreeMap::new();
    for row in &split.train {
        let unit = split.together.of_row[*row];
        let label = split.together.units[unit].label;
        let units = by_label.entry(if has_classes { label } else { 0 });
        *units.or_default().entry(unit).or_default() += 1;
    }
    let mut drawn: HashSet<usize> = HashSet::new();
    for (label, units) in by_label {
        let sizes: Vec<usize> = units.values().copied().collect();
        let is_apart = a_part(&sizes, APART, "data/apart", label as u64);
        let of_label = units.into_keys().zip(is_apart);
        drawn.extend(of_label.filter(|of| of.1 && sizes.len() > 1).map(|of| of.0));
    }
    let is_apart = |row: &usize| drawn.contains(&split.together.of_row[*row]);
    let (apart, left): (Vec<usize>, Vec<usize>) = split.train.iter().partition(|row| is_apart(row));
    let labels = |rows: &[usize]| {
        let labels = rows.iter().map(|row| data.rows[*row].label);
        labels.collect::<HashSet<usize>>().len()
    };
    match has_classes && (labels(&apart) < 2 || labels(&left) < labels(&split.train)) {
        true => Vec::new(),
        false => apart,
    }
}
