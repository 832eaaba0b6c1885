//! Divides test rows into bins of similar length.

use std::collections::HashMap;

use crate::data::limits::MIN_TESTED;
use crate::data::rows::Rows;

/// About the largest number of rows that are tested in a bin. More would take longer than the training,
/// and with so many, one row is only 0.02 % of the score.
pub(super) const MAX_TESTED: usize = 5_000;

/// Test rows of similar length, shortest first.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(in crate::data) struct Bin {
    /// The length of the longest row.
    pub length: usize,
    pub rows: Vec<usize>,
}

/// Up to `most` bins by length, each with about the same number of rows.
pub(super) fn bins(data: &Rows, mut tested: Vec<usize>, most: usize) -> Vec<Bin> {
    let length = |row: usize| data.rows[row].tokens.len();
    tested.sort_unstable_by_key(|row| (length(*row), *row));
    let count = (tested.len() / MIN_TESTED).clamp(1, most);
    let bounds: Vec<usize> = (1..=count)
        .map(|bin| length(tested[(tested.len() * bin).div_ceil(count) - 1]))
        .collect();
    let mut bins: Vec<Bin> = Vec::new();
    for row in tested {
        let starts_new = bins.last().is_none_or(|bin| {
            let mut bounds = bounds.iter();
            bin.rows.len() >= MIN_TESTED
                && bounds.any(|bound| bin.length <= *bound && length(row) > *bound)
        });
        if starts_new {
            bins.push(Bin {
                length: 0,
                rows: Vec::new(),
            });
        }
        if let Some(bin) = bins.last_mut() {
            bin.length = length(row);
            bin.rows.push(row);
        }
    }
    if bins.len() > 1
        && let Some(few) = bins.pop_if(|bin| bin.rows.len() < MIN_TESTED)
        && let Some(bin) = bins.last_mut()
    {
        bin.length = few.length;
        bin.rows.extend(few.rows);
    }
    bins.iter_mut().for_each(|bin| thin(data, bin));
    bins
}

/// Reduces a bin to about [`MAX_TESTED`] rows, evenly over its lengths, and keeps the shares of the labels. Where labels
/// are numbers there are no shares to keep.
fn thin(data: &Rows, bin: &mut Bin) {
    let rows = &data.rows;
    let all = std::mem::take(&mut bin.rows);
    let total = all.len();
    let mut seen: HashMap<Option<usize>, usize> = HashMap::new();
    bin.rows = all
        .into_iter()
        .filter(|row| {
            let label = data.targets.is_none().then_some(rows[*row].label);
            let of_label = seen.entry(label).or_insert(0);
            *of_label += 1;
            // Keeps a row whenever the number to keep so far rises by one; the first row is always kept.
            let share = |count: usize| (count * MAX_TESTED).div_ceil(total);
            total <= MAX_TESTED || share(*of_label) > share(*of_label - 1)
        })
        .collect();
    if let Some(longest) = bin.rows.last() {
        bin.length = rows[*longest].tokens.len();
    }
}
