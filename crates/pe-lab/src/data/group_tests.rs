//! Rows of a group are on one side of every division, and rows that are nearly the same are warned of.

use std::collections::BTreeSet;

use super::DataTask;
use crate::data::testing::{self, Says, folded, read, tasks_of_rows, tested, tested_on};
use crate::rng::{RngExt, generator};
use crate::task::{Sample, Task, Tuning};

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
            let words = format!("g{group} {}", words.join(" "));
            text.push_str(&line(label, group, &words));
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

/// Settings without groups, and with them.
const PLAIN: &str = "text = 'text'";
const BY_WHO: &str = "text = 'text'; group = 'who'";

/// The groups that are trained on and those that are tested, of every task.
fn sides(data: &DataTask) -> Vec<[BTreeSet<usize>; 2]> {
    let of = |rows: &[usize]| rows.iter().map(|row| row / OF_GROUP).collect();
    tasks_of_rows(data)
        .iter()
        .map(|task| [of(&task.train), of(&task.tested_rows())])
        .collect()
}

#[test]
fn nearly_equal_rows_are_warned_of_and_groups_keep_them_together() {
    let json = rows(|label, group, text| {
        format!("{{\"label\": \"{label}\", \"who\": {group}, \"text\": \"{text}\"}}\n")
    });
    for (name, text) in [("a.csv", csv()), ("a.jsonl", json)] {
        let plain = read(name, &text, PLAIN).unwrap();
        let warning = plain.warning().unwrap();
        assert!(warning.starts_with("nearly the same rows"), "{warning}");
        assert!(plain.describe().iter().any(|line| line == warning));
        let [[trained, tested]] = &sides(&plain)[..] else {
            panic!("one task");
        };
        assert!(trained.intersection(tested).count() > 20, "{name}");
        for folds in [None, Some(4)] {
            let kept = folded(name, &text, BY_WHO, folds).unwrap();
            assert_eq!(kept.warning(), None);
            kept.says("\n60 groups of rows");
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
    let data = read("a.csv", csv(), BY_WHO).unwrap();
    let tuning = Tuning::of(data.task()).unwrap();
    // The first token after BOS is that of the group.
    let groups = |samples: &[Sample]| -> BTreeSet<usize> {
        let group = |sample: &Sample| sample.input.tokens()[1];
        samples.iter().map(group).collect()
    };
    let trained = (0..100).flat_map(|step| tuning.train_batch(1, step, 64));
    let trained = groups(&trained.collect::<Vec<_>>());
    let held_out = groups(&tested(&tuning));
    assert!(trained.is_disjoint(&held_out));
    // There are 49 groups to train on.
    assert_eq!((trained.len(), held_out.len()), (45, 4));
}

#[test]
fn what_is_held_out_for_a_choice_has_several_labels_and_leaves_some_of_each() {
    let choice = |groups_of_label: usize| {
        let mut rng = generator("labels of groups", 1, 0);
        let mut text = "label,who,text\n".to_string();
        for group in 0..3 * groups_of_label {
            let label = ["a", "b", "c"][group % 3];
            for _ in 0..20 {
                let words = (0..8).map(|_| format!(" w{}", rng.random_range(0..50)));
                text.push_str(&format!("{label},g{group},{}\n", words.collect::<String>()));
            }
        }
        Tuning::of(read("a.csv", text, BY_WHO).unwrap().task())
    };
    let labels = |samples: &[Sample]| -> BTreeSet<usize> {
        samples.iter().map(|of| of.answers[0].class).collect()
    };
    let tuning = choice(4).unwrap();
    assert_eq!(labels(&tested(&tuning)).len(), 3);
    assert_eq!(labels(&tuning.train_batch(1, 0, 256)).len(), 3);
    // The test has one of the two groups of each label, and the other is needed for the training.
    assert!(choice(2).is_none());
}

#[test]
fn rows_of_one_group_are_one_unit_of_the_test() {
    let data = read("a.csv", csv(), BY_WHO).unwrap();
    let task = data.task();
    let lengths = task.test_lengths();
    let units: BTreeSet<usize> = task.test_units(lengths[0]).into_iter().collect();
    assert_eq!((task.test_set(lengths[0]).len(), units.len()), (55, 11));
    // Without groups only equal rows make a unit, and hardly any are equal.
    let plain = read("a.csv", csv(), PLAIN).unwrap().task();
    let units: BTreeSet<usize> = plain.test_units(lengths[0]).into_iter().collect();
    assert!(units.len() >= 58, "{}", units.len());
}

#[test]
fn groups_where_they_make_no_sense_are_refused_with_the_reason() {
    let refused = |name: &str, text: &str, settings: &str, said: &str| {
        read(name, text, settings).unwrap_err().says(said);
    };
    let long = csv().repeat(3);
    for [name, settings, said] in testing::rows(
        "
        a.csv | text = 'text'; group = 'whom'   | --group names `whom`, and there is no such column
        a.csv | text = 'text'; group = 'label'  | the column of the label
        a.csv | text = 'text'; group = 'text'   | the column of the group
        a.txt | group = 'who'                   | --group is about labelled rows
        a.bin | group = 'who'                   | --group is about labelled rows
        a.csv | target = 'who'; group = 'label' | --group is not about a series
        ",
    ) {
        refused(name, &long, settings, said);
    }
    // All rows of one label in one group.
    let same = |line: &str| match line.split_once(',') {
        Some(("yes", rest)) => format!("yes,same,{}\n", rest.split_once(',').unwrap().1),
        _ => format!("{line}\n"),
    };
    let one: String = csv().lines().map(same).collect();
    refused(
        "a.csv",
        &one,
        BY_WHO,
        "all rows of the label `yes` are of one group",
    );
    let empty = csv().replacen(",3,g3", ",,g3", 1);
    refused("a.csv", &empty, BY_WHO, "has no group");
}

#[test]
fn a_group_of_a_test_file_is_not_trained_on() {
    let all = csv();
    let lines: Vec<&str> = all.lines().collect();
    let rows = |rows: &[&str]| format!("{}\n{}\n", lines[0], rows.join("\n"));
    let train = rows(&lines[1..201]);
    let read = |test: &[&str]| tested_on(("a.csv", &train), ("b.csv", rows(test)), BY_WHO);
    read(&lines[201..]).unwrap();
    let error = read(&lines[199..]).unwrap_err();
    error.says("the group of row 1 of the test file");
}

/// Rows with numbers of groups of these sizes, which all share a sequence if `joined` says so.
fn sized(sizes: &[usize], joined: bool) -> String {
    let mut text = String::from("label,who,text\n");
    for (group, size) in sizes.iter().enumerate() {
        for row in 0..*size {
            let last = if row == 0 && joined {
                "same".into()
            } else {
                format!("{group} {row}")
            };
            text.push_str(&format!("{}.5,g{group},a b {last}\n", row % 4));
        }
    }
    text
}

#[test]
fn too_few_groups_and_joined_ones_are_told_alike_however_rows_are_divided() {
    let refused = |joined, folds, said: &str| {
        let read = folded("a.csv", sized(&[10; 4], joined), BY_WHO, folds);
        read.unwrap_err().says(said);
    };
    let one = "the file has 1 group of rows (4 by name; groups with a sequence in common count as one), and ";
    refused(
        true,
        None,
        &format!("{one}a test of its own takes at least 2"),
    );
    refused(true, Some(3), &format!("{one}--folds 3 takes at least 3"));
    refused(
        false,
        Some(5),
        "the file has 4 groups of rows, and --folds 5 takes at least 5",
    );
}

#[test]
fn a_test_of_few_groups_is_warned_of() {
    // A fifth is 37 rows, into which the small group alone fits.
    let data = read("a.csv", sized(&[60, 60, 60, 4], false), BY_WHO).unwrap();
    data.says(
        "few groups: the test is 4 rows of 1 group, and says little … 4 groups of rows, each",
    );
    let data = read("a.csv", csv(), BY_WHO).unwrap();
    assert!(
        !data
            .describe()
            .iter()
            .any(|line| line.starts_with("few groups"))
    );
}
