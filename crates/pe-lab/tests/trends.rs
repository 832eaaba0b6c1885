//! Short studies of small models show what is known about the schemes.

use std::fs;

use assert_cmd::Command;
use serde_json::Value;

/// Large enough to learn each task within a few hundred steps.
const MODEL: [&str; 12] = [
    "--d-model",
    "32",
    "--layers",
    "1",
    "--heads",
    "2",
    "--d-ff",
    "64",
    "--batch-size",
    "32",
    "--lr",
    "0.008",
];

/// The accuracy and the floor of a scheme at a length, one pair per seed.
fn scores(jsonl: &str, scheme: &str, length: u64) -> Vec<(f64, f64)> {
    let results = jsonl
        .lines()
        .map(|line| serde_json::from_str::<Value>(line).unwrap());
    results
        .filter(|result| result["spec"]["scheme"]["name"] == scheme)
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
        .args(MODEL)
        .args(["--quiet", "--steps", steps, "--out"])
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
fn the_control_needs_no_positions_and_is_hurt_by_them_beyond_training() {
    let results = study("majority", "none,sinusoidal", "600");
    for length in [10, 20, 40, 80] {
        let (none, _) = score(&results, "none", length);
        assert!(none > 0.95, "none at {length}: {none}");
    }
    let (inside, _) = score(&results, "sinusoidal", 20);
    let (beyond, _) = score(&results, "sinusoidal", 80);
    assert!(
        inside > 0.95 && beyond < 0.9,
        "sinusoidal: {inside}, {beyond}"
    );
}

#[test]
fn shifting_needs_positions_and_works_a_little_beyond_training() {
    let results = study("shift3", "none,sinusoidal,learned", "600");
    for length in [10, 20] {
        let (none, floor) = score(&results, "none", length);
        assert!(
            (none - floor).abs() < 0.05,
            "none at {length}: {none}, floor {floor}"
        );
    }
    for scheme in ["sinusoidal", "learned"] {
        let (inside, _) = score(&results, scheme, 20);
        assert!(inside > 0.95, "{scheme} at 20: {inside}");
        let (near, _) = score(&results, scheme, 21);
        let (far, _) = score(&results, scheme, 80);
        assert!(
            near > 0.9 && far < 0.6,
            "{scheme} at 21: {near}, at 80: {far}"
        );
    }
}
