//! How rows are divided.

use super::*;
use crate::data::rows::Row;

/// Rows of these labels and tokens.
fn data(rows: impl IntoIterator<Item = (usize, Vec<u32>)>) -> Rows {
    let rows: Vec<Row> = rows
        .into_iter()
        .map(|(label, tokens)| Row { tokens, label })
        .collect();
    let labels = rows.iter().map(|row| row.label).max().unwrap() + 1;
    Rows {
        rows,
        labels: (0..labels).map(|label| format!("label {label}")).collect(),
        ..Rows::default()
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
        let all = lengths
            .iter()
            .flat_map(|(length, count)| (0..*count).map(|_| *length));
        let data = data(all.map(|length| (0, vec![0; length])));
        let bins = bins(&data, (0..data.rows.len()).collect(), 4);
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
    let label = |i: usize| match i {
        7 => 2,
        _ => usize::from(i.is_multiple_of(101)),
    };
    let mut data = data((0..40_000).map(|i| (label(i), vec![0; 1 + i / 400])));
    let rows = data.rows.clone();
    let all = |label| rows.iter().filter(move |row| row.label == label).count();
    let thinned = bins(&data, (0..rows.len()).collect(), 2);
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
    assert_eq!(bins(&data, few.clone(), 1)[0].rows, few);
    // Numbers, of which hardly two are equal, are thinned too.
    data.targets = Some(Vec::new());
    for (row, of) in data.rows.iter_mut().enumerate() {
        of.label = row;
    }
    let thinned = bins(&data, (0..rows.len()).collect(), 2);
    let tested: usize = thinned.iter().map(|bin| bin.rows.len()).sum();
    assert!((10_000..=10_002).contains(&tested), "{tested}");
}
