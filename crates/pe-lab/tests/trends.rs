//! What is known about the schemes comes out, on a small budget.

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

/// Scores of a study: accuracy of `scheme` at `length`, one per seed.
fn scores(jsonl: &str, scheme: &str, length: u64) -> Vec<(f64, f64)> {
    let results = jsonl
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    results
        .filter(|result| result["spec"]["scheme"]["kind"] == scheme)
        .flat_map(|result| {
            let scores = result["outcome"]["finished"]["scores"]
                .as_array()
                .unwrap()
                .clone();
            scores
                .into_iter()
                .filter(|score| score["length"] == length)
                .collect::<Vec<_>>()
        })
        .map(|score| {
            (
                score["accuracy"].as_f64().unwrap(),
                score["floor"].as_f64().unwrap(),
            )
        })
        .collect()
}

fn study(task: &str, schemes: &str, steps: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    Command::new(assert_cmd::cargo::cargo_bin!("pe-lab"))
        .args([
            "compare",
            "--tasks",
            task,
            "--schemes",
            schemes,
            "--seeds",
            "2,",
        ])
        .args(["--steps", steps, "--out"])
        .arg(&out)
        .assert()
        .success();
    fs::read_to_string(out.join("results.jsonl")).unwrap()
}

/// The one seed's score and its floor.
fn score(results: &str, scheme: &str, length: u64) -> (f64, f64) {
    let [score] = scores(results, scheme, length)[..] else {
        panic!("one seed, one score: {scheme} at {length}")
    };
    score
}

#[test]
fn digits_need_positions() {
    let results = study("digits", "none,sinusoidal,learned", "200");
    let (none, floor) = score(&results, "none", 64);
    assert!(none < 0.5 && none > floor, "none: {none}, floor {floor}");
    for scheme in ["sinusoidal", "learned"] {
        let (accuracy, _) = score(&results, scheme, 64);
        assert!(accuracy > 0.7, "{scheme}: {accuracy}");
    }
}

#[test]
fn reversing_needs_positions() {
    // Without positions there is nothing to learn but the mode of the bag, and that is soon known.
    let results = study("reverse", "none", "500");
    for length in [10, 20] {
        let (none, floor) = score(&results, "none", length);
        assert!(
            (none - floor).abs() < 0.05,
            "none at {length}: {none}, floor {floor}"
        );
    }
}

#[test]
fn positions_reverse_what_training_saw_and_no_more() {
    let results = study("reverse", "sinusoidal,learned", "1500");
    for scheme in ["sinusoidal", "learned"] {
        let (inside, _) = score(&results, scheme, 20);
        assert!(inside > 0.95, "{scheme} at 20: {inside}");
        let (beyond, floor) = score(&results, scheme, 80);
        assert!(
            beyond < floor + 0.1,
            "{scheme} at 80: {beyond}, floor {floor}"
        );
    }
}
