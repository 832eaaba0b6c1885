//! What a model learns of a file, and predicts.

use super::*;
use crate::common::column;

/// What a model has learned is what `predict` says: on its own test rows it is right as often as its score.
#[test]
fn predictions_are_those_of_the_test() {
    let folder = tempfile::tempdir().unwrap();
    let (file, test) = (folder.path().join("a.csv"), folder.path().join("b.csv"));
    let (out, text) = (folder.path().join("out"), rows_told_apart_by_order_alone());
    let lines: Vec<&str> = text.lines().skip(1).collect();
    let some = |lines: &[&str]| format!("label,text\n{}\n", lines.join("\n"));
    fs::write(&file, some(&lines[..500])).unwrap();
    fs::write(&test, some(&lines[500..])).unwrap();
    let flags = "--schemes none,sinusoidal --seeds 1 --steps 150 --quiet --json";
    let mut command = common::compare(flags, &out);
    command.arg("--data").arg(&file).arg("--test").arg(&test);
    let (code, stdout, stderr) = ended(&mut command);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let summary: serde_json::Value = serde_json::from_str(&stdout).unwrap();
    assert_eq!(summary["study"]["data"]["test"]["file"], "b.csv");
    let winner = json(&out.join("winner.json"));
    assert_eq!(winner["scheme"]["name"], "sinusoidal");
    let (stdout, _) = succeeds(&mut predict(&test, &out));
    let said = stdout.lines().skip(1);
    let said = said.map(|line| line.split(',').nth(1).unwrap());
    let right = said.zip(&lines[500..]);
    let right = right.filter(|(said, line)| line.starts_with(said)).count();
    let right_of = |scheme: &str| -> f64 {
        let of = |name: &str| {
            column(&out, name, |row| {
                let is_inside = row("inside_training") == "true";
                row("task") == "b.csv (trained on a.csv)" && row("scheme") == scheme && is_inside
            })
        };
        let (samples, shares) = (of("samples"), of("accuracy"));
        assert_eq!(samples.iter().sum::<f64>(), 100.0);
        assert_eq!(of("exact_match"), shares);
        samples
            .iter()
            .zip(shares)
            .map(|(of, share)| of * share)
            .sum()
    };
    let (sinusoidal, none) = (right_of("sinusoidal"), right_of("none"));
    assert!(
        (sinusoidal - right as f64).abs() < 1e-6,
        "{sinusoidal} {right}"
    );
    // Order is learned with positions, and not without.
    assert!(sinusoidal > 95.0 && none < 70.0, "{sinusoidal} {none}");
}

/// Rows of 5 to 10 tokens. The label says whether `a` is before `b`; both are anywhere among other words,
/// so only positions tell one label from the other.
fn rows_told_apart_by_order_alone() -> String {
    let mut rng = generator("data/test/order", 1, 0);
    let mut text = String::from("label,text\n");
    for row in 0..600 {
        let (label, first, second) = [("ab", "a", "b"), ("ba", "b", "a")][row % 2];
        let noise = rng.random_range(3..=8);
        let mut tokens: Vec<String> = (0..noise)
            .map(|_| format!("w{}", rng.random_range(0..5)))
            .collect();
        let place = rng.random_range(0..=noise);
        tokens.insert(place, first.into());
        let place = rng.random_range(place + 1..=noise + 1);
        tokens.insert(place, second.into());
        text.push_str(&format!("{label},{}\n", tokens.join(" ")));
    }
    text
}

/// `--train-length` is for the novel of the laboratory what it is for a text of one's own.
#[test]
fn the_text_of_the_laboratory_takes_a_training_length() {
    let (folder, out) = temporary("out");
    let study = |flags: &str| {
        let small = "--schemes none --seeds 1 --steps 2 --d-model 16 --heads 2 --layers 1";
        ended(&mut common::compare(&format!("{small} {flags}"), &out))
    };
    let (stdout, _) = well(study("--details --tasks text --train-length 16"));
    stdout.says("inside training: lengths 16; beyond: lengths 32, 64, 128");
    assert!(out.join("trials/text(train_length=16)-none-1").is_dir());
    // It goes on under its name, another length is added to it, and the study repeats itself.
    let (_, stderr) = well(study("--train-length 8"));
    stderr.says("1 of them are there already and are kept; 1 are new");
    let again = folder.path().join("again");
    let mut once_more = common::compare("--quiet", &again);
    succeeds(once_more.arg("--study").arg(out.join("study.toml")));
    let scores = |out: &Path| -> Vec<_> {
        let summary = json(&out.join("summary.json"));
        let tasks = summary["tasks"].as_array().unwrap().iter();
        let score = |task: &serde_json::Value| task["schemes"][0]["inside"]["mean"].clone();
        tasks.map(|of| (of["task"].clone(), score(of))).collect()
    };
    assert_eq!(scores(&again), scores(&out));
    assert_eq!(scores(&out).len(), 2);
    for (flags, said) in [
        ("--train-length 7", "it takes from 8 to 512 tokens"),
        ("--train-length 513", "it takes from 8 to 512 tokens"),
        ("--max-len 9", "is about data of your own"),
    ] {
        failed(study(flags), 2).says(said);
    }
    let other = folder.path().join("other");
    let mut other = common::compare("--tasks reverse --train-length 16", &other);
    failed(ended(&mut other), 2)
        .says("--train-length 16 is about texts, and none of the tasks reverse is one");
}
