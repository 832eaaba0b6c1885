//! How rows are divided.

use super::bins::MAX_TESTED;
use super::*;
use crate::data::testing::{Says, labelled_rows as data};

fn fifth(rows: &Rows) -> Split {
    Split::new(rows, HeldOut::Fifth, false).unwrap()
}

fn held_out(split: &Split) -> Vec<usize> {
    let mut rows = all_of(&split.inside);
    rows.sort_unstable();
    rows
}

fn all_of(bins: &[Bin]) -> Vec<usize> {
    bins.iter().flat_map(|bin| bin.rows.clone()).collect()
}

/// The longest length and the number of rows of each bin.
fn shape(bins: &[Bin]) -> Vec<(usize, usize)> {
    let of = |bin: &Bin| (bin.length, bin.rows.len());
    bins.iter().map(of).collect()
}

fn count(all: &Rows, rows: &[usize], label: usize) -> usize {
    let has = |row: &&usize| all.rows[**row].label == label;
    rows.iter().filter(has).count()
}

#[test]
fn a_fifth_of_each_class_is_held_out_and_no_row_is_lost() {
    // 100 rows of class 0, 10 of class 1, 2 of class 2; all of three tokens.
    let labels = [vec![0; 100], vec![1; 10], vec![2; 2]].concat();
    let rows = data((0..).zip(labels).map(|(i, label)| (label, vec![i, 0, 0])));
    let split = fifth(&rows);
    let tested = held_out(&split);
    assert_eq!(
        [0, 1, 2].map(|label| count(&rows, &tested, label)),
        [20, 2, 1]
    );
    let mut all = [split.train.clone(), tested].concat();
    all.sort_unstable();
    assert_eq!(all, (0..112).collect::<Vec<_>>());
    assert_eq!(split, fifth(&rows));
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
    let split = fifth(&rows);
    let sequence = |row: &usize| rows.rows[*row].tokens[0];
    let trained: std::collections::HashSet<u32> = split.train.iter().map(sequence).collect();
    let tested = held_out(&split);
    assert!(tested.iter().all(|row| !trained.contains(&sequence(row))));
    assert!((50..=60).contains(&tested.len()), "{}", tested.len());
    let together = &split.together;
    assert_eq!((together.repeated, together.contradictory), (200, 100));
}

#[test]
fn a_class_of_one_large_and_one_small_group_has_both_sides() {
    let of = |large: usize, small: usize| {
        let groups = [vec![(0, vec![1, 1]); large], vec![(0, vec![2, 2]); small]].concat();
        let others = (0..20).map(|row| (1, vec![3, row]));
        fifth(&data(groups.into_iter().chain(others)))
    };
    let split = of(30, 7);
    // A fifth of the 37 rows is 7: the small group, and never the large one.
    assert_eq!(held_out(&split)[..7], (30..37).collect::<Vec<_>>());
    assert_eq!(split.train[..30], (0..30).collect::<Vec<_>>());
    // Where no group fits into a fifth, the smallest is held out.
    assert_eq!(held_out(&of(12, 8))[..8], (12..20).collect::<Vec<_>>());
}

/// 400 rows of two classes, of 1 to 20 tokens, 20 rows of each length.
fn mixed() -> Vec<(usize, Vec<u32>)> {
    let row = |row: u32| (row as usize % 2, vec![row; 1 + (row as usize / 2) % 20]);
    (0..400).map(row).collect()
}

#[test]
fn the_longest_tenth_is_beyond_and_bins_have_about_as_many_rows_each() {
    let rows = data(mixed());
    let split = fifth(&rows);
    assert_eq!(split.train_lengths, (1, 18));
    let length = |row: &usize| rows.rows[*row].tokens.len();
    assert!(split.train.iter().all(|row| length(row) <= 18));
    let beyond = split.beyond.as_ref().unwrap();
    // 40 rows of 19 and 20 tokens: two bins of 20.
    assert_eq!(shape(beyond), [(19, 20), (20, 20)]);
    // 72 rows inside: three bins of at least 20.
    assert_eq!(held_out(&split).len(), 72);
    assert_eq!(split.inside.len(), 3);
    let mut shortest = 1;
    for bin in &split.inside {
        assert!((20..=28).contains(&bin.rows.len()), "{}", bin.rows.len());
        let lengths: Vec<usize> = bin.rows.iter().map(length).collect();
        assert!(lengths.is_sorted() && lengths[0] >= shortest);
        assert_eq!(lengths.last(), Some(&bin.length));
        shortest = bin.length + 1;
    }
}

#[test]
fn where_nothing_can_be_beyond_the_reason_is_given() {
    let why = |rows: Vec<(usize, Vec<u32>)>| fifth(&data(rows)).beyond.unwrap_err();
    let changed = |change: &dyn Fn(&mut usize, &mut Vec<u32>)| {
        let mut rows = mixed();
        rows.iter_mut()
            .for_each(|(label, tokens)| change(label, tokens));
        why(rows)
    };
    why(mixed().into_iter().take(150).collect()).says("only ");
    // More than a tenth of the rows are of the longest length.
    changed(&|_, tokens| tokens.truncate(17)).says("no rows are longer … (17)");
    changed(&|label, tokens| *label *= usize::from(tokens.len() <= 18)).says("all have one label");
    let only_long = changed(&|label, tokens| {
        if tokens.len() == 20 {
            *label = 2
        }
    });
    only_long.says("too few are left of the label `label 2`");
}

#[test]
fn a_bin_of_few_rows_joins_its_neighbour() {
    let shape = |lengths: &[(usize, usize)]| {
        let all = lengths
            .iter()
            .flat_map(|(length, count)| vec![*length; *count]);
        let data = data(all.map(|length| (0, vec![0; length])));
        shape(&bins(&data, (0..data.rows.len()).collect(), 4))
    };
    assert_eq!(shape(&[(10, 202), (30, 1)]), [(30, 203)]);
    assert_eq!(shape(&[(10, 50), (20, 3), (30, 50)]), [(10, 50), (30, 53)]);
    assert_eq!(shape(&[(10, 3)]), [(10, 3)]);
}

#[test]
fn a_bin_is_thinned_over_lengths_and_labels_alike() {
    // 40,000 rows of 1 to 100 tokens, every hundredth of class 1, and one of class 2.
    let label = |i: usize| match i {
        7 => 2,
        _ => usize::from(i.is_multiple_of(101)),
    };
    let mut data = data((0..40_000).map(|i| (label(i), vec![0; 1 + i / 400])));
    let all: Vec<usize> = (0..data.rows.len()).collect();
    let thinned = bins(&data, all.clone(), 2);
    assert_eq!(thinned.len(), 2);
    let tested = all_of(&thinned);
    let many = tested.len();
    assert!((10_000..=10_006).contains(&many), "{many}");
    let [of_1, all_1] = [&tested, &all].map(|rows| count(&data, rows, 1));
    assert_eq!(count(&data, &tested, 2), 1);
    assert!(of_1.abs_diff(all_1 / 4) <= 2, "{of_1} of {all_1}");
    for bin in &thinned {
        let lengths: Vec<usize> = bin
            .rows
            .iter()
            .map(|row| data.rows[*row].tokens.len())
            .collect();
        assert_eq!(lengths.last(), Some(&bin.length));
        assert!(lengths[lengths.len() - 1] - lengths[0] >= 48, "{lengths:?}");
    }
    // A bin of as many rows as may be tested stays as it is.
    let few: Vec<usize> = (0..MAX_TESTED).collect();
    assert_eq!(bins(&data, few.clone(), 1)[0].rows, few);
    // Numbers, of which hardly two are equal, are thinned too.
    data.targets = Some(Vec::new());
    for (row, of) in data.rows.iter_mut().enumerate() {
        of.label = row;
    }
    let tested = all_of(&bins(&data, all, 2)).len();
    assert!((10_000..=10_002).contains(&tested), "{tested}");
}
