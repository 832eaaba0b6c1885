//! Which rows stay together: those of equal tokens at equal times, and those of one group where a person names a column of groups.
//! In the same way, images with the same pixels stay together.

use std::cmp::Reverse;
use std::collections::{HashMap, HashSet};
use std::hash::Hash;

use super::quote::{counted, grouped};
use super::rows::Rows;

/// Rows that are all trained on or all held out.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Unit {
    /// The label of the first row; of a group, that of most of its rows.
    pub label: usize,
    /// The tokens of its longest row; 0 for images.
    pub length: usize,
    /// The rows, in the order of the file.
    pub rows: Vec<usize>,
}

/// The rows of a file, in units that stay together.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Together {
    /// The units, in the order of their first rows.
    pub units: Vec<Unit>,
    /// The number of each row's unit.
    pub of_row: Vec<usize>,
    /// The number of rows whose sequence occurs in an earlier row.
    pub repeated: usize,
    /// The number of different sequences that occur under more than one label.
    pub contradictory: usize,
}

impl Together {
    /// The units of all rows. Groups that share a sequence are one.
    pub fn of(data: &Rows) -> Self {
        let sequences = (0..data.rows.len()).map(|row| data.sequence(row));
        let labels: Vec<usize> = data.rows.iter().map(|row| row.label).collect();
        let mut together = Self::equal(sequences, &labels, &data.groups);
        for unit in &mut together.units {
            let lengths = unit.rows.iter().map(|row| data.rows[*row].tokens.len());
            unit.length = lengths.max().unwrap_or(0);
        }
        together
    }

    /// The units of rows or images that are told apart by `all`, with the label of each and its group, if they have
    /// groups.
    pub fn equal<T: Eq + Hash>(
        all: impl Iterator<Item = T>,
        labels: &[usize],
        of_groups: &[u32],
    ) -> Self {
        let mut sequences: HashMap<T, usize> = HashMap::new();
        let mut is_contradictory: HashMap<usize, bool> = HashMap::new();
        let mut union = Union((0..labels.len()).collect());
        let mut groups: HashMap<u32, usize> = HashMap::new();
        let mut repeated = 0;
        for (row, sequence) in all.enumerate() {
            let first = *sequences.entry(sequence).or_insert(row);
            if first != row {
                repeated += 1;
                union.join(first, row);
                let other = labels[row] != labels[first];
                *is_contradictory.entry(first).or_default() |= other;
            }
            if let Some(group) = of_groups.get(row) {
                let first = *groups.entry(*group).or_insert(row);
                union.join(first, row);
            }
        }
        let mut units: Vec<Unit> = Vec::new();
        let mut known: HashMap<usize, usize> = HashMap::new();
        let mut of_row = Vec::with_capacity(labels.len());
        for (row, label) in labels.iter().enumerate() {
            let unit = *known.entry(union.root(row)).or_insert(units.len());
            if unit == units.len() {
                units.push(Unit {
                    label: *label,
                    length: 0,
                    rows: Vec::new(),
                });
            }
            units[unit].rows.push(row);
            of_row.push(unit);
        }
        if !of_groups.is_empty() {
            for unit in &mut units {
                // Of equally frequent labels the first.
                let labels = unit.rows.iter().map(|row| Reverse(labels[*row]));
                unit.label = most_frequent(labels).map_or(0, |Reverse(label)| label);
            }
        }
        Self {
            units,
            of_row,
            repeated,
            contradictory: is_contradictory.values().filter(|of| **of).count(),
        }
    }

    /// How many groups there are, and how many of them were joined.
    pub fn groups_in_words(&self, data: &Rows) -> String {
        let groups = counted(self.units.len(), "group");
        let named = data.groups.iter().collect::<HashSet<_>>().len();
        match named == self.units.len() {
            true => format!("{groups} of rows"),
            false => format!(
                "{groups} of rows ({} by name; groups with a sequence in common count as one)",
                grouped(named)
            ),
        }
    }

    /// Notes on rows that repeat earlier ones, on `leaked` rows of the test that are also in training, and on equal rows
    /// with several labels. The four phrases name these in the words for rows or for images.
    pub fn notes(&self, leaked: usize, [again, equal, known, labelled]: [&str; 4]) -> Vec<String> {
        let all_apart = match leaked {
            0 => format!("; {equal} are all in training or all in the test"),
            _ => String::new(),
        };
        let known = format!("{known} also in training");
        let notes = [
            (
                self.repeated,
                format!("{again} of an earlier one"),
                &all_apart[..],
            ),
            (leaked, known, "; a model may know their answers by heart"),
            (
                self.contradictory,
                labelled.into(),
                "; not all of their answers can be correct",
            ),
        ];
        let notes = notes.into_iter().filter(|(count, ..)| *count > 0);
        notes
            .map(|(count, what, then)| format!("{what}: {}{then}", grouped(count)))
            .collect()
    }
}

/// What occurs most often: of what is equally frequent, the largest.
pub(super) fn most_frequent<T: Copy + Ord + Hash>(all: impl Iterator<Item = T>) -> Option<T> {
    let mut counts: HashMap<T, usize> = HashMap::new();
    for one in all {
        *counts.entry(one).or_default() += 1;
    }
    let most = counts.into_iter().max_by_key(|(one, count)| (*count, *one));
    most.map(|(one, _)| one)
}

/// Numbers that are joined into sets; the smallest number of a set is its root.
struct Union(Vec<usize>);

impl Union {
    fn root(&mut self, of: usize) -> usize {
        let mut at = of;
        while self.0[at] != at {
            // Path halving: shortens the way for the next search.
            self.0[at] = self.0[self.0[at]];
            at = self.0[at];
        }
        at
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, labelled_rows};

    #[test]
    fn groups_that_share_a_sequence_are_one() {
        let rows = [
            (0, vec![1, 2]),
            (1, vec![3]),
            (1, vec![4, 4, 4]),
            (1, vec![3]),
            (0, vec![5]),
            (0, vec![3]),
        ];
        let data = Rows {
            groups: vec![7, 8, 9, 9, 7, 10],
            ..labelled_rows(rows)
        };
        let all = Together::of(&data);
        assert_eq!(all.of_row, [0, 1, 1, 1, 0, 1]);
        assert_eq!(all.units[0].rows, [0, 4]);
        assert_eq!((all.units[1].label, all.units[1].length), (1, 3));
        assert_eq!((all.repeated, all.contradictory), (2, 1));
        let said = all.groups_in_words(&data);
        said.says("2 groups of rows (4 by name; groups with a sequence in common count as one)");
    }
}
