//! The division of labelled rows, their vocabulary and their epochs.

use super::*;
use crate::data::limits::MAX_VOCABULARY;
use crate::data::testing::{Says, labelled_rows};
use crate::rng::{generator, permutation};

fn task(rows: Vec<(usize, Vec<u32>)>, words: usize) -> (Labelled, Vec<String>) {
    made(&data(rows, words)).unwrap()
}

fn made(rows: &Rows) -> Result<(Labelled, Vec<String>), Problem> {
    let sequences = Arc::new(Sequences::of(rows));
    let name = "data".to_string();
    Labelled::new(
        rows,
        &sequences,
        name,
        ("a.csv", "label"),
        HeldOut::Fifth,
        false,
    )
}

/// Rows of two words: one of their own, and one that all rows have.
fn of_pairs(rows: u32) -> Labelled {
    let row = |row: u32| (row as usize % 2, vec![row, 0]);
    task((0..rows).map(row).collect(), rows as usize).0
}

fn data(rows: Vec<(usize, Vec<u32>)>, words: usize) -> Rows {
    Rows {
        words: (0..words).map(|word| format!("w{word}")).collect(),
        ..labelled_rows(rows)
    }
}

#[test]
fn the_vocabulary_is_that_of_training_by_frequency() {
    // Words 3 and 1 twice, 3 first in the file's numbering of words; 2 once; 0 in the test only.
    let rows = data(
        vec![(0, vec![1, 3]), (1, vec![2, 3, 1]), (0, vec![0, 0, 0])],
        4,
    );
    assert_eq!(vocabulary(&rows, &[0, 1]), (vec![0, 1, 3, 2], 3));
}

#[test]
fn rare_words_are_one_beyond_ten_thousand() {
    // Every row has 19 words of all rows, 1 that occurs nowhere else, and 20 that occur in four rows.
    let rows: Vec<_> = (0..4_000_u32)
        .map(|row| {
            let common = (0..19).chain([20 + row]);
            let some = (0..20).map(move |i| 4_020 + row / 4 * 20 + i);
            (row as usize % 2, common.chain(some).collect())
        })
        .collect();
    let (task, description) = task(rows, 24_020);
    // The vocabulary also has the unknown word, BOS and EOS.
    assert_eq!(task.vocabulary(), MAX_VOCABULARY + 3);
    description[3].says("the 10,000 most frequent of the ");
    let test = task.test_set(40);
    let (bos, eos) = (MAX_VOCABULARY + 1, MAX_VOCABULARY + 2);
    for sample in &test {
        let tokens = sample.input.tokens();
        assert_eq!((tokens[0], tokens[41], tokens[20]), (bos, eos, 0));
        assert!(tokens[1..20].iter().all(|token| (1..20).contains(token)));
    }
    assert_eq!((test.len(), task.floor(40)), (800, 0.5));
}

#[test]
fn steps_are_ten_epochs_within_bounds() {
    let steps = |rows: u32| of_pairs(rows).steps();
    // 80 % of the rows, ten times, in batches of 64.
    assert_eq!([steps(100), steps(4000), steps(40_000)], [200, 500, 3000]);
}

#[test]
fn an_order_that_is_kept_is_that_of_its_seed_and_epoch() {
    let task = of_pairs(100);
    let fresh = task.epochs.order(1, 0);
    assert_ne!(fresh, task.epochs.order(1, 1));
    assert_ne!(fresh, task.epochs.order(2, 0));
    assert_eq!(fresh, task.epochs.order(1, 0));
    assert_eq!(*fresh, permutation(80, &mut generator("data/train", 1, 0)));
}
