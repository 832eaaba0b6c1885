//! Tests of several studies beside each other.

use std::path::Path;

use super::{Beside, Difference};
use crate::report::summary::Summary;
use crate::report::synthetic::Synthetic;
use crate::report::verdict;

fn study(tasks: &[&str], schemes: &[&str], longest: usize, accuracy: f64) -> Synthetic {
    let mut study = Synthetic::new(tasks, schemes, 3);
    for task in tasks {
        for scheme in schemes {
            for seed in 1..=3 {
                let own = accuracy + 0.01 * seed as f64;
                study = study.score(task, scheme, seed, &[(10, own), (longest, own - 0.2)]);
            }
        }
    }
    study
}

fn beside(studies: &[(&str, &Synthetic)]) -> Beside {
    let judged = |study: &Synthetic| verdict::judged(Summary::of(&study.data()));
    let summaries: Vec<Summary> = studies.iter().map(|of| judged(of.1)).collect();
    let paths: Vec<&Path> = studies.iter().map(|of| Path::new(of.0)).collect();
    Beside::of_summaries(&paths, &summaries.iter().collect::<Vec<_>>())
}

#[test]
fn scores_of_the_same_tests_stand_beside_each_other() {
    let one = study(&["reverse", "mine"], &["none", "rotary"], 40, 0.5);
    let mut other = study(&["reverse", "mine"], &["rotary", "alibi"], 40, 0.7);
    other.spec.recipe.learning_rate = 0.003;
    other.spec.tasks[0].steps = 3000;
    let beside = beside(&[("a/first", &one), ("b/second", &other)]);
    let names: Vec<&str> = beside.studies.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["first", "second"]);
    assert_eq!(beside.studies[0].finished, [12, 12]);
    assert!(beside.not_compared.is_empty(), "{:?}", beside.not_compared);
    let differences = |field: &str| -> Option<&Difference> {
        beside.differences.iter().find(|of| of.field == field)
    };
    assert_eq!(
        differences("recipe.learning_rate").unwrap().values,
        ["0.0015", "0.003"]
    );
    assert_eq!(
        differences("tasks.reverse.steps").unwrap().values,
        ["1500", "3000"]
    );
    assert_eq!(
        differences("schemes").unwrap().values,
        ["none, rotary", "rotary, alibi"]
    );
    assert!(differences("seeds").is_none() && differences("model.layers").is_none());
    // Both tasks and their mean, inside and beyond.
    let titles: Vec<&str> = beside
        .tables
        .iter()
        .map(|table| table.title.as_str())
        .collect();
    let mean = "The mean over all tasks";
    assert_eq!(titles, ["reverse", "mine", mean, "reverse", "mine", mean]);
    let reverse = &beside.tables[0];
    let schemes: Vec<&str> = reverse.rows.iter().map(|row| row.scheme.as_str()).collect();
    assert_eq!(schemes, ["none", "rotary", "alibi"]);
    let has = |row: usize| {
        reverse.rows[row]
            .scores
            .iter()
            .map(Option::is_some)
            .collect::<Vec<_>>()
    };
    assert_eq!(
        [has(0), has(1), has(2)],
        [[true, false], [true, true], [false, true]]
    );
    let rotary: Vec<f64> = reverse.rows[1]
        .scores
        .iter()
        .map(|of| of.unwrap().mean)
        .collect();
    assert!(
        (rotary[0] - (0.52 - 0.25) / 0.75).abs() < 1e-9
            && (rotary[1] - (0.72 - 0.25) / 0.75).abs() < 1e-9
    );
    let text = beside.text();
    assert!(
        text.contains("No test compares two studies") && text.contains("recipe.learning_rate"),
        "{text}"
    );
}

#[test]
fn what_was_not_tested_alike_is_left_out_and_said() {
    let one = study(&["reverse", "mine", "more"], &["none"], 40, 0.5);
    let other = study(&["reverse", "mine", "other"], &["none"], 50, 0.7);
    let beside = beside(&[("x", &one), ("y", &other)]);
    let titles: Vec<&str> = beside
        .tables
        .iter()
        .map(|table| table.title.as_str())
        .collect();
    assert_eq!(titles, ["reverse", "mine"], "inside alone");
    assert_eq!(
        beside.not_compared,
        [
            "more and other at the training lengths: not in all of these studies.",
            "The means over all tasks at the training lengths: they are means over different tests.",
            "reverse beyond the training lengths: the tested lengths differ.",
            "mine beyond the training lengths: the tested lengths differ.",
            "more and other beyond the training lengths: not in all of these studies.",
            "The means over all tasks beyond the training lengths: they are means over different tests.",
        ]
    );
    let mut newer = study(&["reverse"], &["none"], 40, 0.5);
    newer.spec.versions.numbers += 1;
    let beside = self::beside(&[
        ("x", &study(&["reverse"], &["none"], 40, 0.5)),
        ("y", &newer),
    ]);
    assert!(beside.tables.is_empty());
    assert!(
        beside.not_compared[0].contains("other numbers for the same spec"),
        "{:?}",
        beside.not_compared
    );
}

#[test]
fn folders_of_one_name_are_named_by_their_paths() {
    let one = study(&["reverse"], &["none"], 40, 0.5);
    let beside = beside(&[("a/out", &one), ("b/out", &one)]);
    let names: Vec<&str> = beside.studies.iter().map(|of| of.name.as_str()).collect();
    assert_eq!(names, ["a/out", "b/out"]);
    assert!(beside.differences.is_empty());
    assert_eq!(beside.remarks()[0], "The studies ran the same.");
}
