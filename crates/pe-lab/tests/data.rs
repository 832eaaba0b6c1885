//! Studies on a user's own data: `pe-lab compare --data FILE`, and what such data can teach a model.

mod common;

use std::fs;
use std::path::Path;

use burn::tensor::Device;
use common::{ended, lab};
use pe_lab::ask::{ModelSpec, Recipe, Scheme};
use pe_lab::data::DataTask;
use pe_lab::folder::TrialFolder;
use pe_lab::learn::{Job, Keep, Model, Watch, evaluate, train};
use pe_lab::rng::{RngExt, generator};

fn compare(data: &Path, out: &Path) -> (i32, String, String) {
    let flags = ["compare", "--schemes", "none,learned", "--seeds", "1"];
    let mut command = lab();
    command.args(flags).args(["--steps", "2", "--data"]);
    ended(command.arg(data).arg("--out").arg(out))
}

/// Reviews whose label depends on the order of two words.
fn rows(end: &str) -> String {
    let pair = |i: usize| {
        let filler = "so ".repeat(i % 5);
        format!("good,not {filler}bad {i}{end}bad,bad {filler}not {i}{end}")
    };
    format!("label,text{end}{}", (0..40).map(pair).collect::<String>())
}

#[test]
fn a_study_on_a_file_keeps_a_copy_and_no_longer_needs_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (file, out) = (folder.path().join("reviews.csv"), folder.path().join("out"));
    fs::write(&file, rows("\n")).unwrap();
    let (code, stdout, stderr) = compare(&file, &out);
    assert_eq!(code, 0, "{stderr}");
    assert!(stderr.contains("80 rows of labelled sequences"), "{stderr}");
    assert!(stdout.contains("on reviews.csv"), "{stdout}");
    assert!(
        stdout.contains("All seeds are tested on the same 16 rows of reviews.csv"),
        "{stdout}"
    );
    // Every tested row has its answer.
    let result = fs::read_to_string(out.join("trials/data-none-1/result.json")).unwrap();
    let result: serde_json::Value = serde_json::from_str(&result).unwrap();
    for score in result["outcome"]["finished"]["scores"].as_array().unwrap() {
        let right = score["rows"]["right"].as_array().unwrap();
        let sum: u64 = right.iter().map(|right| right.as_u64().unwrap()).sum();
        assert_eq!(score["samples"], right.len());
        assert_eq!(score["rows"]["asked"], 1);
        let accuracy = sum as f64 / right.len() as f64;
        assert!((score["accuracy"].as_f64().unwrap() - accuracy).abs() < 1e-12);
    }
    let kept = fs::read_to_string(out.join("data/reviews.csv")).unwrap();
    assert_eq!(kept, rows("\n"));

    // Changed data is another study; the same data is the same.
    fs::write(&file, rows("\n").replace("so", "very")).unwrap();
    let (code, _, stderr) = compare(&file, &out);
    assert_eq!(code, 2);
    assert!(
        stderr.contains("holds another study (it differs in: data"),
        "{stderr}"
    );

    // Report, and the study again from what it left, without the file.
    fs::remove_file(&file).unwrap();
    let again = |arguments: &[&str]| lab().args(arguments).output().unwrap();
    let out_name = out.to_string_lossy().into_owned();
    let reported = again(&["report", &out_name]);
    assert!(reported.status.success());
    let plan = out.join("study.toml").to_string_lossy().into_owned();
    let elsewhere = folder
        .path()
        .join("elsewhere")
        .to_string_lossy()
        .into_owned();
    let repeated = again(&["compare", "--study", &plan, "--out", &elsewhere]);
    assert!(repeated.status.success());
    let spec = |folder: &str| fs::read_to_string(Path::new(folder).join("study.json")).unwrap();
    assert_eq!(spec(&elsewhere), spec(&out_name));
}

#[test]
fn windows_line_ends_and_json_lines_and_plain_text_are_data_too() {
    let folder = tempfile::tempdir().unwrap();
    let json: String = (0..30)
        .map(|i| format!("{{\"label\": {}, \"tokens\": [\"a\", {i}]}}\r\n", i % 2))
        .collect();
    let text = "the quick brown fox jumps over the lazy dog.\r\n".repeat(60);
    for (name, content) in [
        ("reviews.csv", rows("\r\n")),
        ("rows.jsonl", json),
        ("fox.txt", text),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        let (code, _, stderr) = compare(&file, &folder.path().join(format!("{name}-out")));
        assert_eq!(code, 0, "{name}: {stderr}");
    }
}

#[test]
fn a_file_that_cannot_be_used_is_refused_with_the_reason_and_nothing_starts() {
    let folder = tempfile::tempdir().unwrap();
    let out = folder.path().join("out");
    let mut broken = rows("\n").into_bytes();
    let place = broken.windows(4).position(|w| w == b"good").unwrap();
    broken[place] = 0xff;
    let long = format!("{}good,{}\n", rows("\n"), "word ".repeat(200_000));
    let one_word = format!("{}good,{}\n", rows("\n"), "x".repeat(1_000_000));
    for (name, content, said) in [
        ("empty.csv", Vec::new(), "is empty"),
        ("blank.csv", b"\r\n\r\n".to_vec(), "is empty"),
        (
            "one.csv",
            rows("\n").replace("bad,", "good,").into_bytes(),
            "good",
        ),
        (
            "bytes.csv",
            broken,
            "line 2: byte 1 of the line, 0xff, is not UTF-8",
        ),
        ("long.csv", long.into_bytes(), "line 82: "),
        ("word.csv", one_word.into_bytes(), "line 82: "),
        (
            "header.csv",
            rows("\n").replacen("label", "class", 1).into_bytes(),
            "`label`",
        ),
        (
            "hole.csv",
            format!("{}good,\n", rows("\n")).into_bytes(),
            "line 82: ",
        ),
        ("bad.jsonl", b"{\"label\": 1,\n".to_vec(), "line 1: "),
        ("short.txt", b"abc".to_vec(), "2,000"),
        ("table.xlsx", b"PK".to_vec(), ".csv"),
    ] {
        let file = folder.path().join(name);
        fs::write(&file, content).unwrap();
        let (code, stdout, stderr) = compare(&file, &out);
        assert_eq!(code, 2, "{name}: {stderr}");
        assert!(
            stderr.contains(said) && stderr.contains(name),
            "{name}: {stderr}"
        );
        assert!(stderr.len() < 2_000, "{name}: {} bytes", stderr.len());
        assert_eq!(stdout, "", "{name}");
        assert!(!out.exists(), "{name}");
    }
    for (path, said) in [
        (folder.path().join("none.csv"), "No such file"),
        (folder.path().to_path_buf(), "not a file"),
    ] {
        let (code, _, stderr) = compare(&path, &out);
        assert_eq!(code, 2, "{stderr}");
        assert!(stderr.contains(said), "{stderr}");
    }
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

#[test]
fn order_is_learned_with_positions_and_not_without() {
    let folder = tempfile::tempdir().unwrap();
    let file = folder.path().join("order.csv");
    fs::write(&file, rows_told_apart_by_order_alone()).unwrap();
    let data = DataTask::load(&file).unwrap();
    let task = data.task();
    let plain = Device::flex();
    let device = plain.clone().autodiff();
    let recipe = Recipe {
        batch_size: 32,
        learning_rate: 2e-3,
        ..Recipe::default()
    };
    let accuracy = |name: &str| {
        let spec = ModelSpec::default();
        let scheme = Scheme::by_name(name, spec.d_model, spec.heads, task.max_tokens()).unwrap();
        let model = Model::init(&spec, task.as_ref(), &scheme, 1, &device).unwrap();
        let folder = tempfile::tempdir().unwrap();
        let folder = TrialFolder::at(folder.path());
        let job = Job {
            task: task.clone(),
            seed: 1,
            steps: 150,
            recipe: &recipe,
            folder: &folder,
            device: &device,
        };
        let trained = train(model, job, Watch::steps(|_, _| {})).unwrap();
        let scores = evaluate(&trained.model, task.as_ref(), &plain, Keep::Rows).unwrap();
        let tested: usize = scores.iter().map(|score| score.samples).sum();
        assert_eq!(tested, 120);
        assert!(scores.iter().all(|score| score.inside));
        assert!(scores.iter().all(|score| score.by_position.is_empty()));
        assert!(scores.iter().all(|score| score.exact == score.accuracy));
        let right: f64 = scores.iter().map(|s| s.accuracy * s.samples as f64).sum();
        right / tested as f64
    };
    let (sinusoidal, none) = (accuracy("sinusoidal"), accuracy("none"));
    assert!(sinusoidal > 0.95, "{sinusoidal}");
    assert!(none < 0.7, "{none}");
}
