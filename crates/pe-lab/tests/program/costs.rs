//! What schemes cost, measured after a study.

use std::fs;
use std::path::Path;

use crate::common::{Ended, Says, ended, failed, json, report, small, succeeds, temporary, well};

const STUDY: &str =
    "--schemes none,rotary --tasks first_eq_last --seeds 1, --steps 2 --batch-size 4 --costs";

fn reported(out: &Path) -> Ended {
    ended(report(out).arg("--details"))
}

/// Sets how many cores other programs kept busy, which no test can choose.
fn with_others(folder: &Path, others: f64) {
    let file = folder.join("costs.json");
    let mut costs = json(&file);
    for scheme in costs["schemes"].as_array_mut().unwrap() {
        for at in scheme["at"].as_array_mut().unwrap() {
            at["others"] = others.into();
        }
    }
    fs::write(&file, costs.to_string()).unwrap();
}

#[test]
fn costs_are_measured_after_the_trials_and_reported() {
    let (_folder, out) = temporary("study");
    let (_, stderr) = succeeds(&mut small(STUDY, &out));
    let measuring =
        "measuring what each scheme costs, one at a time: 2 schemes at 3 lengths, 5 times each";
    let (_, after) = stderr.split_once(measuring).expect(&stderr);
    // After the first scheme, and after the first round.
    assert_eq!(after.matches(" more\n").count(), 2, "{stderr}");
    let costs = json(&out.join("costs.json"));
    assert_eq!(costs["task"], "first_eq_last");
    for scheme in costs["schemes"].as_array().unwrap() {
        let all = scheme["at"].as_array().unwrap();
        let sizes = all.iter().map(|at| [&at["tokens"], &at["batch_size"]]);
        assert_eq!(sizes.collect::<Vec<_>>(), [[22, 4], [42, 2], [82, 1]]);
        for at in all {
            assert!(at["step_ms"].as_f64().unwrap() > at["prefill_ms"].as_f64().unwrap());
        }
    }

    // A tenth of a core is little enough.
    with_others(&out, 0.1);
    let (stdout, _) = well(reported(&out));
    stdout.says("costs on first_eq_last on flex");
    assert!(stdout.contains("score for cost:"), "{stdout}");
    for chart in ["cost-inside.svg", "cost-beyond.svg"] {
        assert!(out.join(chart).exists(), "{chart}");
    }
    with_others(&out, 0.2);
    let (stdout, _) = well(reported(&out));
    let said = stdout.split_whitespace().collect::<Vec<_>>().join(" ");
    said.says("kept up to 0.2 processor cores busy");
    assert!(!said.contains("score for cost:"), "{said}");

    fs::write(out.join("costs.json"), "{").unwrap();
    failed(reported(&out), 1).says("costs.json cannot be read");
}
