//! Whether groups of rows can be divided so that each is on one side.

use std::collections::HashSet;

use super::HeldOut;
use crate::data::error::Problem;
use crate::data::limits::MIN_TESTED;
use crate::data::quote::{counted, grouped, shorten};
use crate::data::rows::{Rows, has_one_label};
use crate::data::together::Together;

/// Checks that the groups can be divided: each part needs one of them, and every label rows of two.
pub(super) fn check(data: &Rows, together: &Together, part: HeldOut) -> Result<(), Problem> {
    let (least, who) = match part {
        HeldOut::Fold { folds, .. } => (folds, format!("--folds {folds}")),
        _ => (2, "a test of its own".into()),
    };
    if together.units.len() < least {
        return Err(Problem::Other(format!(
            "--group: the file has {}, and {who} takes at least {least}",
            together.groups_in_words(data)
        )));
    }
    if !data.has_classes() {
        return Ok(());
    }
    let mut of_label: Vec<HashSet<usize>> = vec![HashSet::new(); data.labels.len()];
    for (row, unit) in data.rows.iter().zip(&together.of_row) {
        of_label[row.label].insert(*unit);
    }
    match of_label.iter().position(|units| units.len() < 2) {
        None => Ok(()),
        Some(label) => Err(Problem::Other(format!(
            "--group: all rows of the label {} are of one group, so no other group can test what was learned of it; the \
             file has {}",
            shorten(&data.labels[label]),
            together.groups_in_words(data)
        ))),
    }
}

/// Checks that no group is both in the file and in the test file.
pub(super) fn check_test_file(data: &Rows, first: usize) -> Result<(), Problem> {
    let (train, test) = match data.groups.len() {
        0 => return Ok(()),
        _ => data.groups.split_at(first),
    };
    let trained: HashSet<&u32> = train.iter().collect();
    let mut both = (1..).zip(test).filter(|(_, group)| trained.contains(group));
    match both.next() {
        None => Ok(()),
        Some((row, _)) => Err(Problem::Test(format!(
            "the group of row {row} of the test file has rows to train on too, and --group keeps the rows of a group \
             on one side; leave out --test, or take these rows out"
        ))),
    }
}

/// Checks that a division of groups can be trained on and tested.
pub(super) fn check_division(
    data: &Rows,
    together: &Together,
    train: &[usize],
    held_out: &[usize],
) -> Result<(), Problem> {
    if let Some(label) = missing(data, train.iter()) {
        return Err(Problem::Other(format!(
            "--group: all rows of the label {} are of groups that are held out, so that nothing is learned of it; there are too \
             few groups for this division: the file has {}",
            shorten(&data.labels[label]),
            together.groups_in_words(data)
        )));
    }
    match has_one_label(&data.rows, held_out) {
        false => Ok(()),
        true => Err(Problem::Other(format!(
            "--group: the groups that are held out have {} of fewer than two labels; there are too few groups to test on: the file has {}",
            counted(held_out.len(), "row"),
            together.groups_in_words(data)
        ))),
    }
}

/// A class that none of these rows has. Where labels are no classes, none is missing.
fn missing<'a>(data: &Rows, rows: impl Iterator<Item = &'a usize>) -> Option<usize> {
    if !data.has_classes() {
        return None;
    }
    let mut found = vec![false; data.labels.len()];
    rows.for_each(|row| found[data.rows[*row].label] = true);
    found.iter().position(|found| !found)
}

/// Whether the held-out groups have enough rows of more than `limit` tokens to be tested beyond training; or the reason why
/// not.
pub(super) fn enough_beyond(
    data: &Rows,
    train: &[usize],
    held_out: &[usize],
    limit: usize,
) -> Result<(), String> {
    let rows = &data.rows;
    let is_longer = |row: &&usize| rows[**row].tokens.len() > limit;
    let shorter = train.iter().filter(|row| !is_longer(row));
    if let Some(label) = missing(data, shorter) {
        return Err(format!(
            "without the rows longer than {limit} tokens, none is left to train on of the label {}",
            shorten(&data.labels[label])
        ));
    }
    let longer: Vec<usize> = held_out.iter().filter(is_longer).copied().collect();
    match longer.len() {
        few if few < MIN_TESTED => Err(format!(
            "longer than the 90th percentile of the lengths ({limit}): {} of the held-out groups, and such a test takes at least {MIN_TESTED}",
            counted(few, "row")
        )),
        _ if has_one_label(rows, &longer) => Err(format!(
            "the {} rows of the held-out groups that are longer than {limit} tokens have one label",
            grouped(longer.len())
        )),
        _ => Ok(()),
    }
}
