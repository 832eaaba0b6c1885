//! Rows of a group are on one side of every division, and rows that are nearly the same are warned of.

use std::collections::BTreeSet;
use std::fs;

use super::{DataError, DataTask, Made, Reading, Source};
use crate::data::testing::{Says, reading};
use crate::rng::{RngExt, generator};
use crate::task::{Task, Tuning};

/// Rows of each group.
const OF_GROUP: usize = 5;
const GROUPS: usize = 60;

/// Groups of rows that differ in one token of twelve, each group with a label drawn at random and a first token of its own.
fn rows(line: impl Fn(&str, usize, &str) -> String) -> String {
    let mut rng = generator("groups", 1, 0);
    let mut text = String::new();
    for group in 0..GROUPS {
        let label = ["no", "yes"][rng.random_range(0..2)];
        let words: Vec<String> = (0..11)
            .map(|_| format!("w{}", rng.random_range(0..50)))
            .collect();
        for _ in 0..OF_GROUP {
            let mut words = words.clone();
            words[rng.random_range(0..11)] = format!("v{}", rng.random_range(0..50));
            text.push_str(&line(
                label,
                group,
                &format!("g{group} {}", words.join(" ")),
            ));
        }
    }
    text
}

fn csv() -> String {
    format!(
        "label,who,text\n{}",
        rows(|label, group, text| format!("{label},{group},{text}\n"))
    )
}

fn read(
    name: &str,
    text: &str,
    reading: Reading,
    folds: Option<usize>,
) -> Result<DataTask, DataError> {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join(name);
    fs::write(&file, text).unwrap();
    DataTask::read(&Source {
        file,
        folds,
        reading,
        ..Source::default()
    })
}

fn by(group: Option<&str>) -> Reading {
    reading(|r| {
        r.text = Some("text".into());
        r.group = group.map(Into::into);
    })
}

/// The groups that are trained on and those that are tested, of every task.
fn sides(data: &DataTask) -> Vec<[BTreeSet<usize>; 2]> {
    let Made::Rows(tasks) = &data.made else {
        panic!("labelled rows");
    };
    let of = |rows: &[usize]| rows.iter().map(|row| row / OF_GROUP).collect();
    tasks
        .iter()
        .map(|task| [of(task.own().2), of(&task.tested_rows())])
        .collect()
}

#[test]
fn nearly_equal_rows_are_warned_of_and_groups_keep_them_together() {
    let json = rows(|label, group, text| {
        format!("{{\"label\": \"{label}\", \"who\": {group}, \"text\": \"{text}\"}}\n")
    });
    for (name, text) in [("a.csv", csv()), ("a.jsonl", json)] {
        let plain = read(name, &text, by(None), None).unwrap();
        let warning = plain.warning().unwrap();
        assert!(warning.starts_with("nearly the same rows"), "{warning}");
        assert!(plain.describe().iter().any(|line| line == warning));
        let [[trained, tested]] = &sides(&plain)[..] else {
            panic!("one task");
        };
        assert!(trained.intersection(tested).count() > 20, "{name}");
        for folds in [None, Some(4)] {
            let kept = read(name, &text, by(Some("who")), folds).unwrap();
            assert_eq!(kept.warning(), None);
            assert!(
                kept.describe()
                    .iter()
                    .any(|line| line.starts_with("60 groups of rows"))
            );
            let mut all = BTreeSet::new();
            for [trained, tested] in sides(&kept) {
                assert!(trained.is_disjoint(&tested), "{name}, {folds:?}");
                assert_eq!(trained.len() + tested.len(), GROUPS);
                assert!((10..=16).contains(&tested.len()), "{}", tested.len());
                all.extend(tested);
            }
            assert_eq!(all.len() == GROUPS, folds.is_some());
        }
    }
}

#[test]
fn what_is_held_out_for_a_choice_is_whole_groups() {
    let data = read("a.csv", &csv(), by(Some("who")), None).unwrap();
    let tuning = Tuning::of(data.task()).unwrap();
    // The first token after BOS is that of the group.
    let group = |sample: &crate::task::Sample| sample.input.tokens()[1];
    let trained: BTreeSet<usize> = (0..100)
        .flat_map(|step| tuning.train_batch(1, step, 64))
        .map(|sample| group(&sample))
        .collect();
    let lengths = tuning.test_lengths().into_iter();
    let held_out: BTreeSet<usize> = lengths
        .flat_map(|length| tuning.test_set(length))
        .map(|sample| group(&sample))
        .collect();
    assert!(trained.is_disjoint(&held_out));
    assert_eq!(
        (trained.len(), held_out.len()),
        (44, 5),
        "of 49 groups to train on"
    );
}

#[test]
fn rows_of_one_group_are_one_unit_of_the_test() {
    let data = read("a.csv", &csv(), by(Some("who")), None).unwrap();
    let task = data.task();
    let lengths = task.test_lengths();
    let units: BTreeSet<usize> = task.test_units(lengths[0]).into_iter().collect();
    assert_eq!((task.test_set(lengths[0]).len(), units.len()), (55, 11));
    // Without groups only equal rows are one, and hardly any are equal.
    let plain = read("a.csv", &csv(), by(None), None).unwrap().task();
    let units: BTreeSet<usize> = plain.test_units(lengths[0]).into_iter().collect();
    assert!(units.len() >= 58, "{}", units.len());
}

#[test]
fn groups_where_they_make_no_sense_are_refused_with_the_reason() {
    let refused = |name: &str, text: &str, reading: Reading, said: &str| {
        let error = read(name, text, reading, None).unwrap_err().to_string();
        assert!(error.contains(said), "`{said}` is not in: {error}");
    };
    refused(
        "a.csv",
        &csv(),
        by(Some("whom")),
        "--group names `whom`, and there is no such column",
    );
    refused(
        "a.csv",
        &csv(),
        by(Some("label")),
        "the column of the label",
    );
    refused("a.csv", &csv(), by(Some("text")), "the column of the group");
    refused(
        "a.txt",
        &csv().repeat(3),
        reading(|r| r.group = Some("who".into())),
        "--group is about labelled rows",
    );
    refused(
        "a.bin",
        &csv(),
        reading(|r| r.group = Some("who".into())),
        "--group is about labelled rows",
    );
    let series = reading(|r| {
        r.target = Some("who".into());
        r.group = Some("label".into());
    });
    refused("a.csv", &csv(), series, "--group is not about a series");
    // All rows of one label in one group.
    let one = csv();
    let one: String = one
        .lines()
        .map(|line| match line.split_once(',') {
            Some(("yes", rest)) => format!("yes,same,{}\n", rest.split_once(',').unwrap().1),
            _ => format!("{line}\n"),
        })
        .collect();
    refused(
        "a.csv",
        &one,
        by(Some("who")),
        "all rows of the label `yes` are of one group",
    );
    let empty = csv().replacen(",3,g3", ",,g3", 1);
    refused("a.csv", &empty, by(Some("who")), "has no group");
}

#[test]
fn a_group_of_a_test_file_is_not_trained_on() {
    let folder = tempfile::tempdir().unwrap();
    let (file, test) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    let all = csv();
    let lines: Vec<&str> = all.lines().collect();
    let write = |to: &std::path::Path, rows: &[&str]| {
        fs::write(to, format!("{}\n{}\n", lines[0], rows.join("\n"))).unwrap();
    };
    let read = || {
        DataTask::read(&Source {
            file: file.clone(),
            test: Some(test.clone()),
            reading: by(Some("who")),
            ..Source::default()
        })
    };
    write(&file, &lines[1..201]);
    write(&test, &lines[201..]);
    read().unwrap();
    write(&test, &lines[199..]);
    let error = read().unwrap_err().to_string();
    error.says("the group of row 1 of the test file");
}

#[test]
fn groups_are_in_the_prepared_form_too() {
    let data = read("a.csv", &csv(), by(Some("who")), None).unwrap();
    let folder = tempfile::tempdir().unwrap();
    let path = folder.path().join("data.prepared");
    let mut file = fs::File::create(&path).unwrap();
    data.write_prepared("of", &mut file).unwrap();
    let prepared = super::prepared_task(
        &crate::folder::Entry::named(&path),
        "of",
        data.spec(),
        super::NAME,
    )
    .unwrap();
    let held_out = |task| {
        let tuning = Tuning::of(task).unwrap();
        let lengths = tuning.test_lengths().into_iter();
        lengths
            .flat_map(|length| tuning.test_set(length))
            .collect::<Vec<_>>()
    };
    assert_eq!(held_out(prepared), held_out(data.task()));
}
