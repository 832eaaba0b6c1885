//! What `--tune` and `--steps auto` hold out of the training of a series or a text does not occur in what is trained on.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;
use std::sync::Arc;

use crate::data::testing::{read, tested, tested_on};
use crate::rng::{RngExt, generator};
use crate::task::{Input, Sample, Task, Tuning};

/// A model that memorizes the training is taken to know this many inputs before an answer. In random data no other place
/// has the same.
const KNOWN: usize = 5;

fn task(name: &str, text: &str, settings: &str) -> Arc<dyn Task> {
    read(name, text, settings).unwrap().task()
}

/// What stands before each answer of a sample, and the answer.
fn lessons(sample: &Sample) -> Vec<(Vec<u64>, u64)> {
    let inputs: Vec<u64> = match &sample.input {
        Input::Tokens(tokens) => tokens.iter().map(|token| *token as u64).collect(),
        Input::Vectors { values, .. } => values.iter().map(|x| u64::from(x.to_bits())).collect(),
    };
    let answers = sample.answers.iter().enumerate();
    let lesson = answers.filter_map(|(nth, answer)| {
        let before = inputs.get(answer.position.checked_sub(KNOWN)?..answer.position)?;
        let number = sample.numbers.get(nth);
        let said = number.map_or(answer.class as u64, |number| u64::from(number.to_bits()));
        Some((before.to_vec(), said))
    });
    lesson.collect()
}

/// The share of the answers that are known from memorizing the training, and in no other way: the data are random.
fn share_known(by_heart: &BTreeMap<Vec<u64>, u64>, samples: &[Sample]) -> f64 {
    let asked: Vec<_> = samples.iter().flat_map(lessons).collect();
    let right = asked
        .iter()
        .filter(|(before, said)| by_heart.get(before) == Some(said));
    right.count() as f64 / asked.len() as f64
}

#[test]
fn memory_of_the_training_is_no_help_with_what_is_held_out_of_it() {
    let mut rng = generator("held out", 1, 0);
    let mut random = |count: u32| rng.random_range(0..count);
    let mut numbers = String::from("y,z\n");
    let mut classes = String::from("y,z\n");
    let mut letters = String::new();
    for _ in 0..400 {
        writeln!(numbers, "{},{}", random(1_000_000), random(1_000_000)).unwrap();
        let class = ["a", "b", "c", "d"][random(4) as usize];
        writeln!(classes, "{class},{}", random(1_000_000)).unwrap();
    }
    for _ in 0..8_000 {
        letters.push(char::from(b'a' + random(26) as u8));
    }
    let from_y = "target = 'y'; columns = ['y']";
    let from_z = "target = 'y'; columns = ['z']";
    let next = "objective = 'next'; train_length = 16";
    for (what, name, text, settings) in [
        ("a forecast", "a.csv", &numbers, from_y),
        ("classes", "a.csv", &classes, from_z),
        ("the next character", "a.txt", &letters, next),
        ("masked characters", "a.txt", &letters, ""),
    ] {
        let task = task(name, text, settings);
        assert!(Tuning::held_out(task.as_ref()) > 0, "{what}");
        let tuning = Tuning::of(task).unwrap();
        let trained: Vec<Sample> = (0..400)
            .flat_map(|step| tuning.train_batch(1, step, 64))
            .collect();
        let by_heart: BTreeMap<_, _> = trained.iter().flat_map(lessons).collect();
        assert!(share_known(&by_heart, &trained) > 0.99, "{what}");
        assert!(!tuning.test_lengths().is_empty(), "{what}");
        for length in tuning.test_lengths() {
            let set = tuning.test_set(length);
            let known = share_known(&by_heart, &set);
            assert!(set.len() > 30, "{what}: {} held out", set.len());
            assert!(known < 0.01, "{what}: {known} of length {length} is known");
        }
    }
}

/// The number of each row is its own square, so what is to be predicted tells its row.
#[test]
fn a_window_lies_between_what_is_trained_on_and_what_is_held_out() {
    for (rows, window) in [(500, 32), (2_000, 32), (400, 10)] {
        let numbers = (0..rows).map(|row: u64| format!("{}\n", row * row));
        let text = format!("y\n{}", numbers.collect::<String>());
        let settings = format!("target = 'y'; max_len = {window}");
        let task = task("a.csv", &text, &settings);
        let unit = task.unit();
        let tuning = Tuning::of(task).unwrap();
        // The rows of a window and the one that is predicted, whose difference from the one before is 2 row − 1.
        let rows_of = |sample: &Sample| {
            let row = (f64::from(sample.numbers[0]) * unit + 1.0) / 2.0;
            let row = row.round() as usize;
            row - sample.input.len()..=row
        };
        let trained: BTreeSet<usize> = (0..400)
            .flat_map(|step| tuning.train_batch(1, step, 64))
            .flat_map(|sample| rows_of(&sample))
            .collect();
        let held_out: BTreeSet<usize> = tested(&tuning).iter().flat_map(rows_of).collect();
        let (last, first) = (*trained.last().unwrap(), *held_out.first().unwrap());
        assert!(first > last + window, "{last} {first}");
        assert_eq!(*trained.first().unwrap(), 0);
        // A tenth of the rows that train, or two windows.
        let to_train = rows as usize * 4 / 5;
        assert_eq!(*held_out.last().unwrap(), to_train - 1);
        assert_eq!(held_out.len(), (to_train / 10).max(2 * window));
    }
}

#[test]
fn a_part_that_would_leave_no_window_to_train_on_cannot_be_held_out() {
    let numbers = (0..126).map(|row| format!("{}\n", row * row));
    let text = format!("y\n{}", numbers.collect::<String>());
    let of = |settings: &str| {
        let task = task("a.csv", &text, &format!("target = 'y'; {settings}"));
        let is_possible = Tuning::held_out(task.as_ref()) > 0;
        assert_eq!(is_possible, Tuning::of(task).is_some());
        is_possible
    };
    assert_eq!(
        [of("max_len = 32"), of("max_len = 16"), of("")],
        [false, true, true]
    );
}

/// The rows to train on have 3 to 22 tokens, in equal shares.
#[test]
fn rows_are_held_out_whatever_lengths_a_test_file_has() {
    let lines = |count: usize, length: &dyn Fn(usize) -> usize| -> String {
        let line = |i: usize| {
            let words = (0..length(i)).map(|k| format!(" w{}", (i * i + k * (i + 3)) % 97));
            format!("{},{}\n", ["x", "y"][i % 2], words.collect::<String>())
        };
        (0..count).map(line).collect()
    };
    let rows = format!("label,text\n{}", lines(400, &|i| 3 + i % 20));
    // The longest length of those to train on, one of twenty, and one that none of them has.
    for length in [22, 12, 2] {
        let test = format!("label,text\n{}", lines(40, &|_| length));
        let data = tested_on(("a.csv", &rows), ("b.csv", &test), "").unwrap();
        let task = data.task();
        assert_eq!(task.test_lengths(), [length]);
        assert!(Tuning::held_out(task.as_ref()) > 0, "{length}");
        let tuning = Tuning::of(task).unwrap();
        let held_out = tested(&tuning);
        let lengths: BTreeSet<usize> = held_out.iter().map(|of| of.input.len() - 2).collect();
        assert!((25..60).contains(&held_out.len()), "{}", held_out.len());
        assert!(lengths.len() > 10, "{length}: {lengths:?}");
        assert!(tuning.test_lengths().iter().all(|of| tuning.is_inside(*of)));
    }
}
