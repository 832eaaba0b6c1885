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

fn study(task: &str, steps: &str) -> String {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    Command::new(assert_cmd::cargo::cargo_bin!("pe-lab"))
        .args([
            "compare", "--tasks", task, "--seeds", "1", "--steps", steps, "--out",
        ])
        .arg(&out)
        .assert()
        .success();
    fs::read_to_string(out.join("results.jsonl")).unwrap()
}

#[test]
fn digits_need_positions() {
    let results = study("digits", "200");
    let [(none, floor)] = scores(&results, "none", 64)[..] else {
        panic!("one seed")
    };
    assert!(none < 0.5 && none > floor, "none: {none}");
    for scheme in ["sinusoidal", "learned"] {
        let [(accuracy, _)] = scores(&results, scheme, 64)[..] else {
            panic!("one seed")
        };
        assert!(accuracy > 0.7, "{scheme}: {accuracy}");
    }
}

#[test]
fn reversing_needs_positions_and_stops_at_the_training_lengths() {
    let results = study("reverse", "1000");
    for length in [10, 20] {
        let [(none, floor)] = scores(&results, "none", length)[..] else {
            panic!("one seed")
        };
        assert!(
            (none - floor).abs() < 0.05,
            "none at {length}: {none}, floor {floor}"
        );
    }
    for scheme in ["sinusoidal", "learned"] {
        let [(inside, _)] = scores(&results, scheme, 20)[..] else {
            panic!("one seed")
        };
        assert!(inside > 0.95, "{scheme} at 20: {inside}");
        let [(beyond, floor)] = scores(&results, scheme, 80)[..] else {
            panic!("one seed")
        };
        assert!(
            beyond < floor + 0.1,
            "{scheme} at 80: {beyond}, floor {floor}"
        );
    }
}
