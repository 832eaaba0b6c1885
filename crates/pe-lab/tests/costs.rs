//! What schemes cost, measured after a study.

mod common;

use std::fs;
use std::path::Path;

use common::SMALL;

const STUDY: &[&str] = &[
    "compare",
    "--schemes",
    "none,rotary",
    "--tasks",
    "first_eq_last",
    "--seeds",
    "1,",
    "--steps",
    "2",
    "--batch-size",
    "4",
];

fn run(arguments: &[&str], folder: &Path) -> (i32, String, String) {
    common::ended(common::lab().args(arguments).arg(folder))
}

/// Sets how many cores other programs kept busy, which no test can choose.
fn with_others(folder: &Path, others: f64) {
    let file = folder.join("costs.json");
    let mut costs: serde_json::Value =
        serde_json::from_str(&fs::read_to_string(&file).unwrap()).unwrap();
    for scheme in costs["schemes"].as_array_mut().unwrap() {
        for at in scheme["at"].as_array_mut().unwrap() {
            at["others"] = others.into();
        }
    }
    fs::write(&file, costs.to_string()).unwrap();
}

#[test]
fn costs_are_measured_after_the_trials_and_reported() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("study");
    let (code, _, stderr) = run(&[STUDY, &SMALL, &["--costs", "--out"]].concat(), &out);
    assert_eq!(code, 0, "{stderr}");
    let measuring =
        "measuring what each scheme costs, one at a time: 2 schemes at 3 lengths, 5 times each";
    let (_, after) = stderr.split_once(measuring).expect(&stderr);
    // After the first scheme, and after the first round.
    assert_eq!(after.matches(" more\n").count(), 2, "{stderr}");
    let costs = fs::read_to_string(out.join("costs.json")).unwrap();
    let costs: serde_json::Value = serde_json::from_str(&costs).unwrap();
    assert_eq!(costs["task"], "first_eq_last");
    for scheme in costs["schemes"].as_array().unwrap() {
        let tokens: Vec<u64> = scheme["at"]
            .as_array()
            .unwrap()
            .iter()
            .map(|at| at["tokens"].as_u64().unwrap())
            .collect();
        assert_eq!(tokens, [22, 42, 82]);
        let batches = scheme["at"].as_array().unwrap().iter();
        let batches: Vec<u64> = batches
            .map(|at| at["batch_size"].as_u64().unwrap())
            .collect();
        assert_eq!(batches, [4, 2, 1]);
        for at in scheme["at"].as_array().unwrap() {
            assert!(at["step_ms"].as_f64().unwrap() > at["prefill_ms"].as_f64().unwrap());
        }
    }

    with_others(&out, 0.0);
    let (code, stdout, stderr) = run(&["report", "--details"], &out);
    assert_eq!(code, 0, "{stderr}");
    assert!(
        stdout.contains("costs on first_eq_last on flex"),
        "{stdout}"
    );
    assert!(stdout.contains("score for cost:"), "{stdout}");
    for chart in ["cost-inside.svg", "cost-beyond.svg"] {
        assert!(out.join(chart).exists(), "{chart}");
    }
    with_others(&out, 1.3);
    let (code, stdout, _) = run(&["report", "--details"], &out);
    assert_eq!(code, 0);
    let said = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    assert!(
        said.contains("kept up to 1.3 processor cores busy"),
        "{said}"
    );
    assert!(!said.contains("score for cost:"), "{said}");

    fs::write(out.join("costs.json"), "{").unwrap();
    let (code, _, stderr) = run(&["report", "--details"], &out);
    assert_eq!(code, 1, "{stderr}");
    assert!(stderr.contains("costs.json cannot be read"), "{stderr}");
}

#[test]
fn a_study_that_has_not_begun_has_no_costs() {
    let folder = tempfile::tempdir().unwrap();
    let (code, _, stderr) = run(&["costs"], folder.path());
    assert_eq!(code, 2, "{stderr}");
    assert!(stderr.contains("holds no study"), "{stderr}");
}
