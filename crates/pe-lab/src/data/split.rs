//! Divides the rows into training and test.

mod bins;
mod groups;
#[cfg(test)]
mod tests;

use std::collections::HashSet;

pub(super) use bins::Bin;
use bins::bins;

use super::error::{Problem, SHOWN, list};
use super::limits::{MAX_CLASSES, MIN_ROWS, MIN_TESTED};
use super::numbers::finite;
use super::quote::{counted, grouped, shorten};
use super::rows::{Rows, has_one_label};
use super::together::{Together, Unit};
use crate::grouped::agreeing;
use crate::rng::{generator, permutation};

/// One row in this many is held out.
const HELD_OUT: usize = 5;
const INSIDE_BINS: usize = 4;
const BEYOND_BINS: usize = 3;

/// Which rows are held out for the test.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum HeldOut {
    /// A fifth of each class, drawn once.
    Fifth,
    /// One of several parts of each class. Each row is in one part.
    Fold {
        /// Which part, from 0.
        fold: usize,
        folds: usize,
    },
    /// The rows from this one on, which come from a file of their own.
    From(usize),
}

/// A fixed division of the rows, the same for every seed and scheme.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Split {
    /// Rows to train on, in the order of the file.
    pub train: Vec<usize>,
    /// The lengths of the shortest and the longest row that may be in training.
    pub train_lengths: (usize, usize),
    /// The held-out rows that are tested, by length.
    pub inside: Vec<Bin>,
    /// The number of held-out rows, tested or not.
    pub held_out: usize,
    /// The rows longer than any in training, by length; or the reason why there is no such test.
    pub beyond: Result<Vec<Bin>, String>,
    /// The number of held-out rows whose sequence is also in training. Only a test file can have such rows.
    pub leaked: usize,
    /// Which rows are all trained on or all held out.
    pub together: Together,
    /// The rows that are neither trained on nor tested: those of training groups that are longer than the training
    /// lengths.
    pub left_out: usize,
}

impl Split {
    /// Divides the rows.
    ///
    /// The longest tenth of the rows is for the test beyond the training lengths, if there are enough of
    /// them, unless `no_beyond` asks for them in training or every row is tested in a fold. Of the rest,
    /// `held_out` says which rows are tested.
    ///
    /// # Errors
    ///
    /// A [`Problem`] for too few rows, one class, too many classes, a class without two different sequences,
    /// if most sequences have one token, or if a test has only one label.
    pub fn new(data: &Rows, held_out: HeldOut, no_beyond: bool) -> Result<Self, Problem> {
        let rows = &data.rows;
        let to_train = match held_out {
            HeldOut::From(first) => first,
            _ => rows.len(),
        };
        match (to_train, data.labels.len()) {
            (0, _) => return Err(Problem::NoRow),
            (few, _) if few < MIN_ROWS => {
                return Err(Problem::Other(format!(
                    "has {}, too few to train on some and test on others; it takes at least {MIN_ROWS}",
                    counted(few, "row")
                )));
            }
            (rows, 1) => {
                let label = data.labels[0].clone();
                return Err(Problem::OneClass { rows, label });
            }
            (_, classes) if classes > MAX_CLASSES && data.has_classes() => {
                return Err(Problem::TooManyClasses { classes });
            }
            _ => {}
        }
        let single = rows.iter().filter(|row| row.tokens.len() == 1).count();
        if 2 * single > rows.len() {
            let (single, rows) = (grouped(single), grouped(rows.len()));
            let advice = match data.channels {
                Some(_) => {
                    "if a row is one patch, make it smaller: --patch; if it is a step of a series, say what is to be predicted \
                     with --target. Otherwise give rows more than one step"
                }
                None => {
                    "if a row is one long word, such as a gene, take its characters: --tokens characters; if it is one cell, take its \
                     words: --tokens words; if it is a step of a series, say what is to be predicted with --target. Otherwise separate \
                     tokens by spaces or columns"
                }
            };
            return Err(Problem::Other(format!(
                "{single} of {rows} rows have only one token, so positions cannot matter; {advice}"
            )));
        }
        match held_out {
            HeldOut::From(first) => Self::of_a_test_file(data, first),
            _ => Self::drawn(data, held_out, no_beyond),
        }
    }

    fn drawn(data: &Rows, part: HeldOut, no_beyond: bool) -> Result<Self, Problem> {
        let rows = &data.rows;
        let length = |row: &usize| rows[*row].tokens.len();
        let mut lengths: Vec<usize> = (0..rows.len()).map(|row| length(&row)).collect();
        lengths.sort_unstable();
        let longest = lengths[lengths.len() - 1];
        let together = Together::of(data);
        let has_groups = !data.groups.is_empty();
        match (data.has_classes(), has_groups) {
            (_, true) => groups::check(data, &together, part)?,
            (true, false) => check_classes(data, &together.units)?,
            (false, false) => {}
        }
        let limit = match part {
            _ if no_beyond => Err("--no-beyond keeps the longest rows in training".to_string()),
            HeldOut::Fold { .. } => {
                Err("with --folds every row is tested once, the longest ones too".to_string())
            }
            _ => limit(data, &together.units, &lengths),
        };
        // With groups all rows are divided, since a group has rows of all lengths; without, those that training may have.
        let divided = limit.clone().ok().filter(|_| !has_groups);
        let (mut train, mut held_out) = divide(data, &together.units, part, divided);
        let limit = match limit {
            Ok(limit) if has_groups => {
                groups::enough_beyond(data, &train, &held_out, limit).map(|()| limit)
            }
            limit => limit,
        };
        let train_limit = *limit.as_ref().unwrap_or(&longest);
        let trained = train.len();
        train.retain(|row| length(row) <= train_limit);
        let left_out = trained - train.len();
        let beyond = match &limit {
            Err(why) => Err(why.clone()),
            Ok(limit) if has_groups => Ok(held_out
                .extract_if(.., |row| length(row) > *limit)
                .collect()),
            Ok(limit) => Ok((0..rows.len()).filter(|row| length(row) > *limit).collect()),
        };
        check_sides(data, &together, part, [&train, &held_out])?;
        Ok(Self {
            train,
            train_lengths: (lengths[0], train_limit),
            held_out: held_out.len(),
            inside: bins(data, held_out, INSIDE_BINS),
            beyond: beyond.map(|beyond: Vec<usize>| bins(data, beyond, BEYOND_BINS)),
            leaked: 0,
            together,
            left_out,
        })
    }

    /// Trains on all rows before `first`, and tests on the others. Those longer than any in training are the
    /// test beyond the training lengths, if there are enough of them.
    fn of_a_test_file(data: &Rows, first: usize) -> Result<Self, Problem> {
        let rows = &data.rows;
        let length = |row: &usize| rows[*row].tokens.len();
        groups::check_test_file(data, first)?;
        check_labels_of_test_file(data, first)?;
        let shortest = (0..first).map(|row| length(&row)).min().unwrap_or(0);
        let longest = (0..first).map(|row| length(&row)).max().unwrap_or(0);
        let (mut inside, mut beyond): (Vec<usize>, Vec<usize>) =
            (first..rows.len()).partition(|row| length(row) <= longest);
        let beyond = match beyond.len() {
            0 => Err("no row of the test file is longer than those in training".to_string()),
            count if count < MIN_TESTED || has_one_label(rows, &beyond) => {
                inside.append(&mut beyond);
                let why = match count < MIN_TESTED {
                    true => "too few for a test",
                    false => "all of one label",
                };
                Err(format!(
                    "the test file has {} longer than any in training, {why}; {} as inside",
                    counted(count, "row"),
                    agreeing(count, "it counts", "they count")
                ))
            }
            _ => Ok(beyond),
        };
        if has_one_label(rows, &inside) {
            return Err(Problem::Test(format!(
                "the test at the training lengths has {}, and a score needs rows of two labels",
                match inside.len() {
                    0 => "no rows".to_string(),
                    count => format!("{} of one label", counted(count, "row")),
                }
            )));
        }
        let trained: HashSet<_> = (0..first).map(|row| data.sequence(row)).collect();
        let is_leaked = |row: &usize| trained.contains(&data.sequence(*row));
        let leaked = (first..rows.len()).filter(is_leaked).count();
        Ok(Self {
            train: (0..first).collect(),
            train_lengths: (shortest, longest),
            held_out: rows.len() - first,
            inside: bins(data, inside, INSIDE_BINS),
            beyond: beyond.map(|beyond| bins(data, beyond, BEYOND_BINS)),
            leaked,
            together: Together::of(data),
            left_out: 0,
        })
    }
}

/// Checks that the rows from `first` on, those of a test file, have labels that can be learned of the rows before them.
fn check_labels_of_test_file(data: &Rows, first: usize) -> Result<(), Problem> {
    let (to_train, tested) = data.rows.split_at(first);
    if tested.is_empty() {
        return Err(Problem::Test("the test file has no row of data".into()));
    }
    let mut known = vec![false; data.labels.len()];
    for row in to_train {
        known[row.label] = true;
    }
    let mut unknown = (1..).zip(tested).filter(|(_, row)| !known[row.label]);
    if let (true, Some((number, row))) = (data.has_classes(), unknown.next()) {
        return Err(Problem::Test(format!(
            "the label {} of row {number} is only in the test file, so no model can have learned it",
            shorten(&data.labels[row.label])
        )));
    }
    if known.iter().filter(|known| **known).count() < 2 {
        let label = data.labels[data.rows[0].label].clone();
        return Err(Problem::OneClass { rows: first, label });
    }
    Ok(())
}

/// The rows to train on and those that are held out, of the units of up to `limit` tokens.
fn divide(
    data: &Rows,
    units: &[Unit],
    part: HeldOut,
    limit: Option<usize>,
) -> (Vec<usize>, Vec<usize>) {
    let (mut train, mut held_out) = (Vec::new(), Vec::new());
    // Where labels are no classes, all rows are divided as one.
    let has_classes = data.has_classes();
    let classes = if has_classes { data.labels.len() } else { 1 };
    let mut by_class: Vec<Vec<&Unit>> = vec![Vec::new(); classes];
    let fits = |unit: &&Unit| limit.is_none_or(|limit| unit.length <= limit);
    for unit in units.iter().filter(fits) {
        by_class[if has_classes { unit.label } else { 0 }].push(unit);
    }
    for (class, units) in by_class.iter().enumerate() {
        let is_held_out = match part {
            HeldOut::Fold { fold, folds } => in_fold(units, class, fold, folds),
            // The only group of a label is trained on: others may have rows of it too.
            _ if !data.groups.is_empty() && units.len() == 1 => vec![false],
            _ => {
                let sizes: Vec<usize> = units.iter().map(|unit| unit.rows.len()).collect();
                in_a_fifth(&sizes, class)
            }
        };
        for (unit, is_held_out) in units.iter().zip(is_held_out) {
            let side = if is_held_out {
                &mut held_out
            } else {
                &mut train
            };
            side.extend(&unit.rows);
        }
    }
    train.sort_unstable();
    (train, held_out)
}

/// Checks that a division can be trained on and tested.
fn check_sides(
    data: &Rows,
    together: &Together,
    part: HeldOut,
    [train, held_out]: [&[usize]; 2],
) -> Result<(), Problem> {
    let has_groups = !data.groups.is_empty();
    if let (HeldOut::Fold { fold, folds }, true) = (part, has_one_label(&data.rows, held_out)) {
        let of = match has_groups {
            true => format!(": the file has {}", together.groups_in_words(data)),
            false => String::new(),
        };
        return Err(Problem::Other(format!(
            "--folds {folds} leaves {} of fewer than two labels in fold {}; use fewer folds{of}",
            counted(held_out.len(), "row"),
            fold + 1
        )));
    }
    match has_groups {
        true => groups::check_division(data, together, train, held_out),
        false => Ok(()),
    }
}

/// The number of groups of every class, among those up to a length.
fn groups_by_class(classes: usize, groups: &[Unit], limit: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for group in groups.iter().filter(|group| group.length <= limit) {
        counts[group.label] += 1;
    }
    counts
}

fn check_classes(data: &Rows, groups: &[Unit]) -> Result<(), Problem> {
    let mut rows = vec![0; data.labels.len()];
    data.rows.iter().for_each(|row| rows[row.label] += 1);
    let sequences = groups_by_class(data.labels.len(), groups, usize::MAX);
    let classes = 0..data.labels.len();
    let small: Vec<usize> = classes.filter(|class| sequences[*class] < 2).collect();
    if small.is_empty() {
        return Ok(());
    }

    let mut are_numbers = true;
    let shown = small.iter().take(SHOWN).map(|class| {
        let (label, own) = (&data.labels[*class], sequences[*class]);
        are_numbers &= finite(label).is_some();
        let (rows, own) = (counted(rows[*class], "row"), counted(own, "sequence"));
        format!("{}: {rows}, {own} of its own", shorten(label))
    });
    let shown: Vec<String> = shown.collect();
    let or = match are_numbers {
        true => ". If labels are numbers to be predicted, say --objective number",
        false => "",
    };
    let headline = format!(
        "every label needs two different sequences, one to train on and one to test on; add rows for these, or leave them out{or}"
    );
    Err(Problem::Other(list(headline, small.len(), &shown)))
}

/// The largest training length if longer rows are kept for a test, which is the 90th percentile of the
/// lengths (nearest rank); or the reason why there is no such test.
fn limit(data: &Rows, groups: &[Unit], lengths: &[usize]) -> Result<usize, String> {
    let longest = lengths[lengths.len() - 1];
    let limit = lengths[(lengths.len() * 9).div_ceil(10) - 1];
    let longer = lengths.len() - lengths.partition_point(|length| *length <= limit);
    if lengths[0] == longest {
        return Err(format!("all sequences have {longest} tokens"));
    }
    if longer < MIN_TESTED {
        return Err(format!(
            "{} longer than the 90th percentile of the lengths ({limit}), and such a test takes at least {MIN_TESTED}",
            match longer {
                0 => "no rows are".to_string(),
                1 => "only 1 row is".to_string(),
                _ => format!("only {longer} rows are"),
            }
        ));
    }
    let mut beyond = data.rows.iter().filter(|row| row.tokens.len() > limit);
    let first = beyond.next().map(|row| row.label);
    if beyond.all(|row| Some(row.label) == first) {
        return Err(format!(
            "the {} rows longer than {limit} tokens all have one label",
            grouped(longer)
        ));
    }
    if !data.groups.is_empty() {
        return Ok(limit); // what is left of groups is known when they are divided
    }
    let inside = groups_by_class(data.labels.len(), groups, limit);
    let few = inside.iter().position(|groups| *groups < 2);
    if let Some(class) = few.filter(|_| data.has_classes()) {
        return Err(format!(
            "without the rows longer than {limit} tokens, too few are left of the label {}",
            shorten(&data.labels[class])
        ));
    }
    Ok(limit)
}

/// Draws the groups of one class that are held out: as many as fit into a fifth of its rows, but at least
/// one.
pub(super) fn in_a_fifth(sizes: &[usize], class: usize) -> Vec<bool> {
    a_part(sizes, HELD_OUT, "data/split", class as u64)
}

/// Draws groups of these sizes, from a random stream of this purpose: as many as fit into one of `parts` equal parts of
/// all their rows, but at least one.
pub(super) fn a_part(sizes: &[usize], parts: usize, purpose: &str, stream: u64) -> Vec<bool> {
    let rows: usize = sizes.iter().sum();
    let quota = ((rows + parts / 2) / parts).max(1);
    let order = permutation(sizes.len(), &mut generator(purpose, 0, stream));
    let mut is_held_out = vec![false; sizes.len()];
    let mut held_out = 0;
    for group in &order {
        let size = sizes[*group];
        if held_out + size <= quota {
            is_held_out[*group] = true;
            held_out += size;
        }
    }
    if held_out == 0
        && let Some(smallest) = order.iter().min_by_key(|group| sizes[**group])
    {
        is_held_out[*smallest] = true;
    }
    is_held_out
}

/// The groups of one class in one of several parts. The groups are dealt in a random order, each to the part
/// with the fewest rows so far. Which part begins differs by class, so that small classes do not all fill
/// the same parts.
fn in_fold(groups: &[&Unit], class: usize, fold: usize, folds: usize) -> Vec<bool> {
    let order = permutation(groups.len(), &mut generator("data/folds", 0, class as u64));
    let mut rows = vec![0; folds];
    let mut is_in = vec![false; groups.len()];
    for group in order {
        let parts = (0..folds).map(|part| (part + class) % folds);
        let part = parts.min_by_key(|part| rows[*part]).unwrap_or(0);
        rows[part] += groups[group].rows.len();
        is_in[group] = part == fold;
    }
    is_in
}
