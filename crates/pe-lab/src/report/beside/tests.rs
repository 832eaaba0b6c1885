//! Tests of several studies beside each other.

use std::path::Path;

use super::{Beside, SchemeRow};
use crate::data::testing::Says;
use crate::report::summary::Summary;
use crate::report::synthetic::Synthetic;

fn study(tasks: &[&str], schemes: &[&str], longest: usize, accuracy: f64) -> Synthetic {
    Synthetic::each(tasks, schemes, 3, |_, _, seed| {
        let own = accuracy + 0.01 * seed as f64;
        [(10, own), (longest, own - 0.2)]
    })
}

fn beside(studies: &[(&str, &Synthetic)]) -> Beside {
    let summaries: Vec<Summary> = studies.iter().map(|of| of.1.judged()).collect();
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
    let differs = |field: &str| -> Option<String> {
        let mut all = beside.differences.iter();
        Some(all.find(|of| of.field == field)?.values.join(" | "))
    };
    for (field, values) in [
        ("recipe.learning_rate", Some("0.0015 | 0.003")),
        ("tasks.reverse.steps", Some("1500 | 3000")),
        ("schemes", Some("none, rotary | rotary, alibi")),
        ("seeds", None),
        ("model.layers", None),
    ] {
        assert_eq!(differs(field).as_deref(), values, "{field}");
    }
    // Both tasks and their mean, inside and beyond.
    let each = ["reverse", "mine", "The mean over all tasks"];
    assert_eq!(titles(&beside), each.repeat(2));
    let rows = &beside.tables[0].rows;
    let has = |row: &SchemeRow| {
        let scores = row.scores.iter().map(Option::is_some);
        format!("{} {:?}", row.scheme, scores.collect::<Vec<_>>())
    };
    let expected = [
        "none [true, false]",
        "rotary [true, true]",
        "alibi [false, true]",
    ];
    assert_eq!(rows.iter().map(has).collect::<Vec<_>>(), expected);
    for (score, accuracy) in rows[1].scores.iter().zip([0.52, 0.72]) {
        assert!((score.unwrap().mean - (accuracy - 0.25) / 0.75).abs() < 1e-9);
    }
    let text = beside.text();
    text.says_all(&["No test compares two studies", "recipe.learning_rate"]);
}

fn titles(beside: &Beside) -> Vec<&str> {
    let tables = beside.tables.iter();
    tables.map(|table| table.title.as_str()).collect()
}

#[test]
fn what_was_not_tested_alike_is_left_out_and_said() {
    let one = study(&["reverse", "mine", "more"], &["none"], 40, 0.5);
    let other = study(&["reverse", "mine", "other"], &["none"], 50, 0.7);
    let beside = beside(&[("x", &one), ("y", &other)]);
    assert_eq!(titles(&beside), ["reverse", "mine"], "inside alone");
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
    let one = study(&["reverse"], &["none"], 40, 0.5);
    let mut newer = one.clone();
    newer.spec.versions.numbers += 1;
    let beside = self::beside(&[("x", &one), ("y", &newer)]);
    assert!(beside.tables.is_empty());
    let why = &beside.not_compared[0];
    why.says("other numbers for the same spec");
}

#[test]
fn images_are_put_beside_each_other_at_other_resolutions() {
    let one = study(&["digits_32"], &["none"], 144, 0.5);
    let text = beside(&[("x", &one), ("y", &one)]).text();
    text.says("digits_32 at other resolutions: the normalized score");
    assert!(!text.contains("training lengths"), "{text}");
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
