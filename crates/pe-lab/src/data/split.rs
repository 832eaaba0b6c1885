//! Divides the rows into training and test, and the test into bins of similar length.

use std::collections::{HashMap, HashSet};

use serde::{Deserialize, Serialize};

use super::error::{Problem, SHOWN, SmallClass};
use super::limits::{MAX_CLASSES, MIN_ROWS};
use super::quote::{grouped, shorten};
use super::rows::{Row, Rows};
use crate::rng::{generator, permutation};

/// One row in this many is held out.
const HELD_OUT: usize = 5;
/// The smallest number of rows in a bin, and in the test beyond the training lengths.
const MIN_TESTED: usize = 20;
/// About the largest number of rows that are tested in a bin. More would take longer than the training,
/// and with so many, one row is only 0.02 % of the score.
const MAX_TESTED: usize = 5_000;
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
        /// How many parts there are.
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
    /// The number of rows whose sequence occurs in an earlier row.
    pub repeated: usize,
    /// The number of different sequences that occur under more than one label.
    pub contradictory: usize,
    /// The number of held-out rows whose sequence is also in training. Only a test file can have such rows.
    pub leaked: usize,
}

/// Test rows of similar length, shortest first.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(super) struct Bin {
    /// The length of the longest row.
    pub length: usize,
    /// The rows.
    pub rows: Vec<usize>,
}

/// Rows with the same tokens. They stay together, so that no tested sequence is also in training.
struct Group {
    /// The label of the first row.
    label: usize,
    length: usize,
    rows: Vec<usize>,
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
            (few, _) if few < MIN_ROWS => return Err(Problem::TooFewRows { rows: few }),
            (rows, 1) => {
                let label = data.labels[0].clone();
                return Err(Problem::OneClass { rows, label });
            }
            (_, classes) if classes > MAX_CLASSES && data.answers.is_none() => {
                return Err(Problem::TooManyClasses { classes });
            }
            _ => {}
        }
        let single = rows.iter().filter(|row| row.tokens.len() == 1).count();
        if 2 * single > rows.len() {
            return Err(Problem::OneToken {
                single,
                rows: rows.len(),
            });
        }
        match held_out {
            HeldOut::From(first) => Self::of_a_test_file(data, first),
            _ => Self::drawn(data, held_out, no_beyond),
        }
    }

    /// Holds out a part of the rows.
    fn drawn(data: &Rows, part: HeldOut, no_beyond: bool) -> Result<Self, Problem> {
        let rows = &data.rows;
        let mut lengths: Vec<usize> = rows.iter().map(|row| row.tokens.len()).collect();
        lengths.sort_unstable();
        let longest = lengths[lengths.len() - 1];
        let (groups, contradictory) = groups(rows);
        let is_written = data.answers.is_some();
        if !is_written {
            check_classes(data, &groups)?;
        }
        let limit = match part {
            _ if no_beyond => Err("--no-beyond keeps the longest rows in training".to_string()),
            HeldOut::Fold { .. } => {
                Err("with --folds every row is tested once, the longest ones too".to_string())
            }
            _ => limit(data, &groups, &lengths),
        };

        let train_limit = *limit.as_ref().unwrap_or(&longest);
        let (mut train, mut held_out) = (Vec::new(), Vec::new());
        let classes = if is_written { 1 } else { data.labels.len() };
        let mut by_class: Vec<Vec<&Group>> = vec![Vec::new(); classes];
        for group in groups.iter().filter(|group| group.length <= train_limit) {
            // Answers that are written are no classes: all rows are divided as one.
            by_class[if is_written { 0 } else { group.label }].push(group);
        }
        for (class, groups) in by_class.iter().enumerate() {
            let is_held_out = match part {
                HeldOut::Fold { fold, folds } => in_fold(groups, class, fold, folds),
                _ => {
                    let sizes: Vec<usize> = groups.iter().map(|group| group.rows.len()).collect();
                    in_a_fifth(&sizes, class)
                }
            };
            for (group, is_held_out) in groups.iter().zip(is_held_out) {
                let side = if is_held_out {
                    &mut held_out
                } else {
                    &mut train
                };
                side.extend(&group.rows);
            }
        }
        train.sort_unstable();
        if let (HeldOut::Fold { fold, folds }, true) = (part, has_one_label(rows, &held_out)) {
            return Err(Problem::Folds(format!(
                "--folds {folds} leaves {} rows of one label in fold {}; use fewer folds",
                held_out.len(),
                fold + 1
            )));
        }
        let beyond = limit.map(|limit| {
            let beyond = (0..rows.len()).filter(|row| rows[*row].tokens.len() > limit);
            bins(rows, beyond.collect(), BEYOND_BINS)
        });
        Ok(Self {
            train,
            train_lengths: (lengths[0], train_limit),
            held_out: held_out.len(),
            inside: bins(rows, held_out, INSIDE_BINS),
            beyond,
            repeated: rows.len() - groups.len(),
            contradictory,
            leaked: 0,
        })
    }

    /// Trains on all rows before `first`, and tests on the others. Those longer than any in training are the
    /// test beyond the training lengths, if there are enough of them.
    fn of_a_test_file(data: &Rows, first: usize) -> Result<Self, Problem> {
        let rows = &data.rows;
        let length = |row: &usize| rows[*row].tokens.len();
        let tested: Vec<usize> = (first..rows.len()).collect();
        if tested.is_empty() {
            return Err(Problem::Test("the test file has no row of data".into()));
        }
        let mut known = vec![false; data.labels.len()];
        for row in &rows[..first] {
            known[row.label] = true;
        }
        let unknown = tested.iter().find(|row| !known[rows[**row].label]);
        if let Some(row) = unknown.filter(|_| data.answers.is_none()) {
            return Err(Problem::Test(format!(
                "the label {} is only in the test file, so no model can have learned it",
                shorten(&data.labels[rows[*row].label])
            )));
        }
        if known.iter().filter(|known| **known).count() < 2 {
            let label = data.labels[rows[0].label].clone();
            return Err(Problem::OneClass { rows: first, label });
        }
        let shortest = (0..first).map(|row| length(&row)).min().unwrap_or(0);
        let longest = (0..first).map(|row| length(&row)).max().unwrap_or(0);
        let (mut inside, mut beyond): (Vec<_>, Vec<_>) =
            tested.into_iter().partition(|row| length(row) <= longest);
        let mut longest_inside = longest;
        let beyond = match beyond.len() {
            0 => Err("no row of the test file is longer than those in training".to_string()),
            count if count < MIN_TESTED || has_one_label(rows, &beyond) => {
                longest_inside = beyond.iter().map(length).max().unwrap_or(longest);
                inside.append(&mut beyond);
                Err(format!(
                    "{count} rows of the test file are longer than those in training, too few or of \
                     one label; they count as inside"
                ))
            }
            _ => Ok(beyond),
        };
        if has_one_label(rows, &inside) {
            return Err(Problem::Test(format!(
                "{} rows of the test file are as long as those in training, and a score needs rows of \
                 two labels",
                grouped(inside.len())
            )));
        }
        let trained: HashSet<&[u32]> = rows[..first].iter().map(|row| &row.tokens[..]).collect();
        let leaked = rows[first..]
            .iter()
            .filter(|row| trained.contains(&row.tokens[..]));
        let leaked = leaked.count();
        let (groups, contradictory) = groups(rows);
        Ok(Self {
            train: (0..first).collect(),
            train_lengths: (
                shortest.min(inside.iter().map(length).min().unwrap_or(shortest)),
                longest_inside,
            ),
            held_out: rows.len() - first,
            inside: bins(rows, inside, INSIDE_BINS),
            beyond: beyond.map(|beyond| bins(rows, beyond, BEYOND_BINS)),
            repeated: rows.len() - groups.len(),
            contradictory,
            leaked,
        })
    }
}

/// Whether these rows have fewer than two labels.
fn has_one_label(rows: &[Row], of: &[usize]) -> bool {
    let mut labels = of.iter().map(|row| rows[*row].label);
    let first = labels.next();
    labels.all(|label| Some(label) == first)
}

/// The groups in the order of their first rows, and the number of groups with more than one label.
fn groups(rows: &[Row]) -> (Vec<Group>, usize) {
    let mut groups: Vec<Group> = Vec::new();
    let mut known: HashMap<&[u32], usize> = HashMap::new();
    for (number, row) in rows.iter().enumerate() {
        let next = groups.len();
        let group = *known.entry(&row.tokens).or_insert(next);
        if group == next {
            groups.push(Group {
                label: row.label,
                length: row.tokens.len(),
                rows: Vec::new(),
            });
        }
        groups[group].rows.push(number);
    }
    let contradictory = groups
        .iter()
        .filter(|group| group.rows.iter().any(|row| rows[*row].label != group.label))
        .count();
    (groups, contradictory)
}

/// The number of groups of every class, among those up to a length.
fn groups_by_class(classes: usize, groups: &[Group], limit: usize) -> Vec<usize> {
    let mut counts = vec![0; classes];
    for group in groups.iter().filter(|group| group.length <= limit) {
        counts[group.label] += 1;
    }
    counts
}

fn check_classes(data: &Rows, groups: &[Group]) -> Result<(), Problem> {
    let mut rows = vec![0; data.labels.len()];
    for row in &data.rows {
        rows[row.label] += 1;
    }
    let sequences = groups_by_class(data.labels.len(), groups, usize::MAX);
    let small: Vec<usize> = (0..data.labels.len())
        .filter(|class| sequences[*class] < 2)
        .collect();
    if small.is_empty() {
        return Ok(());
    }
    let shown = small.iter().take(SHOWN).map(|class| SmallClass {
        label: data.labels[*class].clone(),
        rows: rows[*class],
        sequences: sequences[*class],
    });
    Err(Problem::SmallClasses {
        count: small.len(),
        shown: shown.collect(),
    })
}

/// The largest training length if longer rows are kept for a test, which is the 90th percentile of the
/// lengths (nearest rank); or the reason why there is no such test.
fn limit(data: &Rows, groups: &[Group], lengths: &[usize]) -> Result<usize, String> {
    let longest = lengths[lengths.len() - 1];
    let limit = lengths[(lengths.len() * 9).div_ceil(10) - 1];
    let longer = lengths.len() - lengths.partition_point(|length| *length <= limit);
    if lengths[0] == longest {
        return Err(format!("all sequences have {longest} tokens"));
    }
    if longer < MIN_TESTED {
        return Err(format!(
            "{} rows are longer than the 90th percentile of the lengths ({limit}), and such a \
             test takes at least {MIN_TESTED}",
            match longer {
                0 => "no".to_string(),
                _ => format!("only {longer}"),
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
    let inside = groups_by_class(data.labels.len(), groups, limit);
    let few = inside.iter().position(|groups| *groups < 2);
    if let Some(class) = few.filter(|_| data.answers.is_none()) {
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
    let rows: usize = sizes.iter().sum();
    let quota = ((rows + HELD_OUT / 2) / HELD_OUT).max(1);
    let order = permutation(sizes.len(), &mut generator("data/split", 0, class as u64));
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
fn in_fold(groups: &[&Group], class: usize, fold: usize, folds: usize) -> Vec<bool> {
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

/// Up to `most` bins by length, each with about the same number of rows.
fn bins(rows: &[Row], mut tested: Vec<usize>, most: usize) -> Vec<Bin> {
    let length = |row: usize| rows[row].tokens.len();
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
    bins.iter_mut().for_each(|bin| thin(rows, bin));
    bins
}

/// Reduces a bin to about [`MAX_TESTED`] rows, evenly over its lengths, and keeps the shares of the labels.
fn thin(rows: &[Row], bin: &mut Bin) {
    let all = std::mem::take(&mut bin.rows);
    let total = all.len();
    let mut seen: HashMap<usize, usize> = HashMap::new();
    bin.rows = all
        .into_iter()
        .filter(|row| {
            let of_label = seen.entry(rows[*row].label).or_insert(0);
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

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows of these labels and tokens.
    fn data(rows: impl IntoIterator<Item = (usize, Vec<u32>)>) -> Rows {
        let rows: Vec<Row> = rows
            .into_iter()
            .map(|(label, tokens)| Row { tokens, label })
            .collect();
        let labels = rows.iter().map(|row| row.label).max().unwrap() + 1;
        Rows {
            rows,
            words: Vec::new(),
            labels: (0..labels).map(|label| format!("label {label}")).collect(),
            answers: None,
            written: None,
        }
    }

    fn held_out(split: &Split) -> Vec<usize> {
        let mut rows: Vec<usize> = split
            .inside
            .iter()
            .flat_map(|bin| bin.rows.clone())
            .collect();
        rows.sort_unstable();
        rows
    }

    #[test]
    fn a_fifth_of_each_class_is_held_out_and_no_row_is_lost() {
        // 100 rows of class 0, 10 of class 1, 2 of class 2; all of three tokens.
        let labels = [vec![0; 100], vec![1; 10], vec![2; 2]].concat();
        let rows = data((0..).zip(labels).map(|(i, label)| (label, vec![i, 0, 0])));
        let split = Split::new(&rows, HeldOut::Fifth, false).unwrap();
        let tested = held_out(&split);
        let of = |class| {
            tested
                .iter()
                .filter(|row| rows.rows[**row].label == class)
                .count()
        };
        assert_eq!([of(0), of(1), of(2)], [20, 2, 1]);
        let mut all = [split.train.clone(), tested].concat();
        all.sort_unstable();
        assert_eq!(all, (0..112).collect::<Vec<_>>());
        assert_eq!(split, Split::new(&rows, HeldOut::Fifth, false).unwrap());
        // A shuffle, not the last rows.
        assert!(split.train.last() > Some(&100) && held_out(&split)[0] < 50);
        assert_eq!(split.beyond, Err("all sequences have 3 tokens".into()));
        assert_eq!(split.inside.len(), 1);
    }

    #[test]
    fn equal_sequences_stay_together() {
        // Every sequence three times, the third time under the other label.
        let rows = (0..300).map(|row| {
            let sequence = row / 3;
            let label = (sequence + u32::from(row % 3 == 2)) % 2;
            (label as usize, vec![sequence, 1])
        });
        let rows = data(rows);
        let split = Split::new(&rows, HeldOut::Fifth, false).unwrap();
        let sequence = |row: &usize| rows.rows[*row].tokens[0];
        let trained: std::collections::HashSet<u32> = split.train.iter().map(sequence).collect();
        let tested = held_out(&split);
        assert!(tested.iter().all(|row| !trained.contains(&sequence(row))));
        assert!((50..=60).contains(&tested.len()), "{}", tested.len());
        assert_eq!((split.repeated, split.contradictory), (200, 100));
    }

    #[test]
    fn a_class_of_one_large_and_one_small_group_has_both_sides() {
        let large = (0..30).map(|_| (0, vec![1, 1]));
        let small = (0..7).map(|_| (0, vec![2, 2]));
        let others = (0..20).map(|row| (1, vec![3, row]));
        let split = Split::new(
            &data(large.chain(small).chain(others)),
            HeldOut::Fifth,
            false,
        )
        .unwrap();
        // A fifth of the 37 rows is 7: the small group, and never the large one.
        assert_eq!(held_out(&split)[..7], (30..37).collect::<Vec<_>>());
        assert_eq!(split.train[..30], (0..30).collect::<Vec<_>>());
        // Where no group fits into a fifth, the smallest is held out.
        let large = (0..12).map(|_| (0, vec![1, 1]));
        let small = (0..8).map(|_| (0, vec![2, 2]));
        let others = (0..20).map(|row| (1, vec![3, row]));
        let split = Split::new(
            &data(large.chain(small).chain(others)),
            HeldOut::Fifth,
            false,
        )
        .unwrap();
        assert_eq!(held_out(&split)[..8], (12..20).collect::<Vec<_>>());
    }

    /// 400 rows of two classes, of 1 to 20 tokens, 20 rows of each length.
    fn mixed() -> Vec<(usize, Vec<u32>)> {
        let row = |row: u32| (row as usize % 2, vec![row; 1 + (row as usize / 2) % 20]);
        (0..400).map(row).collect()
    }

    #[test]
    fn the_longest_tenth_is_beyond_and_bins_have_about_as_many_rows_each() {
        let rows = data(mixed());
        let split = Split::new(&rows, HeldOut::Fifth, false).unwrap();
        assert_eq!(split.train_lengths, (1, 18));
        let length = |row: &usize| rows.rows[*row].tokens.len();
        assert!(split.train.iter().all(|row| length(row) <= 18));
        let beyond = split.beyond.as_ref().unwrap();
        // 40 rows of 19 and 20 tokens: two bins of 20.
        let shape = |bins: &[Bin]| -> Vec<(usize, usize)> {
            bins.iter()
                .map(|bin| (bin.length, bin.rows.len()))
                .collect()
        };
        assert_eq!(shape(beyond), [(19, 20), (20, 20)]);
        // 72 rows inside: three bins of at least 20.
        assert_eq!(held_out(&split).len(), 72);
        assert_eq!(split.inside.len(), 3);
        let mut shortest = 1;
        for bin in &split.inside {
            assert!(
                (20..=28).contains(&bin.rows.len()),
                "{:?}",
                shape(&split.inside)
            );
            let lengths: Vec<usize> = bin.rows.iter().map(length).collect();
            assert!(lengths.is_sorted() && lengths[0] >= shortest);
            assert_eq!(lengths.last(), Some(&bin.length));
            shortest = bin.length + 1;
        }
    }

    #[test]
    fn where_nothing_can_be_beyond_the_reason_is_given() {
        let why = |rows: Vec<(usize, Vec<u32>)>| {
            Split::new(&data(rows), HeldOut::Fifth, false)
                .unwrap()
                .beyond
                .unwrap_err()
        };
        let few: Vec<_> = mixed().into_iter().take(150).collect();
        assert!(why(few).contains("only "));
        // More than a tenth of the rows are of the longest length.
        let capped = mixed().into_iter().map(|(label, mut tokens)| {
            tokens.truncate(17);
            (label, tokens)
        });
        let message = why(capped.collect());
        assert!(
            message.contains("no rows are longer") && message.contains("(17)"),
            "{message}"
        );
        let one_label = mixed()
            .into_iter()
            .map(|(label, tokens)| (if tokens.len() > 18 { 0 } else { label }, tokens));
        assert!(why(one_label.collect()).contains("all have one label"));
        let only_long = mixed()
            .into_iter()
            .map(|(label, tokens)| (if tokens.len() == 20 { 2 } else { label }, tokens));
        assert!(why(only_long.collect()).contains("too few are left of the label `label 2`"));
    }

    #[test]
    fn a_bin_of_few_rows_joins_its_neighbour() {
        let shape = |lengths: &[(usize, usize)]| -> Vec<(usize, usize)> {
            let rows: Vec<Row> = lengths
                .iter()
                .flat_map(|(length, count)| (0..*count).map(|_| *length))
                .map(|length| Row {
                    label: 0,
                    tokens: vec![0; length],
                })
                .collect();
            let bins = bins(&rows, (0..rows.len()).collect(), 4);
            bins.iter()
                .map(|bin| (bin.length, bin.rows.len()))
                .collect()
        };
        assert_eq!(shape(&[(10, 202), (30, 1)]), [(30, 203)]);
        assert_eq!(shape(&[(10, 50), (20, 3), (30, 50)]), [(10, 50), (30, 53)]);
        assert_eq!(shape(&[(10, 3)]), [(10, 3)]);
    }

    #[test]
    fn a_bin_is_thinned_over_lengths_and_labels_alike() {
        // 40,000 rows of 1 to 100 tokens, every hundredth of class 1, and one of class 2.
        let rows: Vec<Row> = (0..40_000)
            .map(|i: usize| Row {
                label: if i == 7 {
                    2
                } else {
                    usize::from(i.is_multiple_of(101))
                },
                tokens: vec![0; 1 + i / 400],
            })
            .collect();
        let all = |label| rows.iter().filter(move |row| row.label == label).count();
        let thinned = bins(&rows, (0..rows.len()).collect(), 2);
        assert_eq!(thinned.len(), 2);
        let tested: Vec<usize> = thinned.iter().flat_map(|bin| bin.rows.clone()).collect();
        assert!(
            (10_000..=10_006).contains(&tested.len()),
            "{}",
            tested.len()
        );
        let of = |label| {
            tested
                .iter()
                .filter(|row| rows[**row].label == label)
                .count()
        };
        assert_eq!(of(2), 1);
        assert!(of(1).abs_diff(all(1) / 4) <= 2, "{} of {}", of(1), all(1));
        for bin in &thinned {
            let lengths: Vec<usize> = bin.rows.iter().map(|row| rows[*row].tokens.len()).collect();
            assert_eq!(lengths.last(), Some(&bin.length));
            assert!(lengths[lengths.len() - 1] - lengths[0] >= 48, "{lengths:?}");
        }
        // As many as are tested at most stay as they are.
        let few: Vec<usize> = (0..MAX_TESTED).collect();
        assert_eq!(bins(&rows, few.clone(), 1)[0].rows, few);
    }
}
