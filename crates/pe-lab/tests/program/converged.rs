//! `--steps auto`: trials that go on until they have converged, or to a limit.

use std::fs;
use std::path::Path;
use std::process::Command;
use std::sync::{Arc, Mutex};
use std::time::Duration;

use crate::common::{
    Says, compare, edit_sealed, ended, failed, json, killed_after, lab, names, report, results,
    rows, succeeds, temporary,
};
use pe_lab::ask::{Tasks, TrialSpec};
use pe_lab::folder::{Entry, TrialFolder};
use pe_lab::learn::{CurvePoint, Watch};
use pe_lab::run::{TrialResult, run_trial};
use serde_json::Value;

/// A small model: these trainings take a second.
const SMALL: &str = "--d-model 32 --heads 2 --layers 1 --d-ff 64 --batch-size 32 --jobs 1";

/// It is learned within 200 steps.
const EASY: &str = "--tasks majority --schemes none";

/// After 200 steps its loss still falls.
const HARD: &str = "--tasks bucket_sort --schemes sinusoidal";

fn command(task: &str, steps: &str, more: &str, out: &Path) -> Command {
    compare(&format!("{task} {SMALL} --steps {steps} {more}"), out)
}

fn run(task: &str, steps: &str, more: &str, out: &Path) -> (String, String) {
    succeeds(&mut command(task, steps, &format!("{more} --details"), out))
}

/// The steps of the training that was tested.
fn steps(result: &Value) -> u64 {
    let curve = result["outcome"]["finished"]["curve"].as_array().unwrap();
    curve.last().unwrap()["step"].as_u64().unwrap()
}

fn summary(out: &Path) -> Value {
    json(&out.join("summary.json"))
}

#[test]
fn an_easy_task_stops_before_the_limit_with_the_numbers_of_as_many_steps() {
    let folder = tempfile::tempdir().unwrap();
    let [first, again, fixed] = ["first", "again", "fixed"].map(|name| folder.path().join(name));
    // A training of 100 steps is longer than this warm-up.
    let warmup = |seeds: &str| format!("--warmup 50 --seeds {seeds}");
    let (stdout, stderr) = run(EASY, "auto:100..1600", &warmup("2"), &first);
    stderr.says("majority until it has converged (100 to 1600 steps)");
    let found = results(&first);
    let taken: Vec<u64> = found.iter().map(steps).collect();
    assert_eq!(taken.len(), 2);
    for steps in &taken {
        assert!([100, 200, 400, 800].contains(steps), "{taken:?}");
    }
    // The verdict has the same opinion, first of all after the answer.
    let summary = summary(&first);
    let scheme = &summary["tasks"][0]["schemes"][0];
    assert_eq!(scheme["not_converged"], serde_json::json!([]));
    let steps = &scheme["steps"];
    assert_eq!(steps["mean"], taken.iter().sum::<u64>() as f64 / 2.0);
    assert_eq!(steps["most"].as_u64(), taken.iter().max().copied());
    let said = summary["verdict"][1].as_str().unwrap();
    said.says("Trainings went on until they had converged, within the limit of 1600 steps");
    stdout.says("100 to 1600 steps, until it has converged");
    // The table has the steps of each trial.
    let csv = fs::read_to_string(first.join("results.csv")).unwrap();
    csv.says(&format!("majority,none,1,{},flex", taken[0]));

    // A study of as many steps has the same numbers.
    run(EASY, &taken[0].to_string(), &warmup("1"), &fixed);
    let of_fixed = results(&fixed);
    assert_eq!(of_fixed[0]["outcome"], found[0]["outcome"]);
    assert!(of_fixed[0]["spec"]["auto_from"].is_null());
    // The steps were chosen on examples that are held out of the training, and not by the test: the losses of the last
    // training that chose are those of one that is trained without them, and not those of the test.
    let result = Entry::named(first.join("trials/majority-none-1/result.json"));
    let spec = TrialSpec {
        tuning: true,
        ..TrialResult::read(&result).unwrap().spec
    };
    let place = TrialFolder::at(folder.path().join("chosen"));
    fs::create_dir_all(place.path()).unwrap();
    let majority = Tasks::default().get("majority").unwrap();
    let without = run_trial(&spec, &majority, &place, Watch::steps(|_, _| {})).unwrap();
    let without = without.measures().unwrap();
    assert_eq!(without.steps() as u64, taken[0]);
    let seen = Arc::new(Mutex::new(Vec::new()));
    let sees = seen.clone();
    let watch = Watch {
        on_held_out: Box::new(move |points| sees.lock().unwrap().push(points.to_vec())),
        ..Watch::steps(|_, _| {})
    };
    let spec = TrialSpec {
        tuning: false,
        test_scalings: None,
        ..spec
    };
    let tested = run_trial(&spec, &majority, &place, watch).unwrap();
    let seen = seen.lock().unwrap();
    let is_end = |points: &&Vec<CurvePoint>| points.last().unwrap().step as u64 == taken[0];
    let ends: Vec<_> = seen.iter().filter(is_end).collect();
    assert_eq!(ends.len(), 2, "one that chooses, and one that is tested");
    assert_eq!(*ends[0], without.held_out);
    assert_eq!(*ends[1], tested.measures().unwrap().held_out);
    assert_ne!(ends[0], ends[1]);
    // So has the same study again, by its plan.
    let plan = first.join("study.toml");
    succeeds(compare("--quiet", &again).arg("--study").arg(plan));
    assert_eq!(results(&again), found);
}

#[test]
fn a_hard_task_meets_the_limit_and_has_not_converged() {
    let (folder, out) = temporary("study");
    let (stdout, stderr) = run(HARD, "auto:100..200", "--seeds 1", &out);
    assert_eq!(steps(&results(&out)[0]), 200);
    stderr.says("after 200 steps, not converged");
    stdout.says("! sinusoidal had not converged at seed 1");
    let summary = summary(&out);
    let said = summary["verdict"][1].as_str().unwrap();
    said.says(
        "or to the limit of 200 steps. Met the limit without converging: sinusoidal on bucket_sort (every seed).",
    );
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    page.says_all(&[
        "Trained for 100 to 200 steps, until it had converged, on lengths 4 to 20",
        "bucket_sort (100 to 200 steps, until it had converged).",
        "200 to 200",
    ]);
    // With a limit that leaves no losses to judge by, nothing shows that it has converged, and it is too short to tell.
    let short = folder.path().join("short");
    run(EASY, "auto:20..40", "--seeds 1", &short);
    let scheme = &self::summary(&short)["tasks"][0]["schemes"][0];
    for list in ["not_converged", "too_short"] {
        assert_eq!(scheme[list], serde_json::json!([1]), "{list}");
    }
}

#[test]
fn a_study_of_steps_and_one_until_converged_are_kept_apart_in_one_folder() {
    let (_folder, out) = temporary("study");
    run(EASY, "100", "--seeds 1", &out);
    let fixed = results(&out);
    let (_, stderr) = run(EASY, "auto:100..400", "--seeds 1", &out);
    assert!(!stderr.contains("are there already"), "{stderr}");
    let auto = results(&out);
    assert_eq!(auto[0]["spec"]["auto_from"], 100);
    assert_eq!(auto.len(), 1);
    // Another limit is another study too.
    let (_, stderr) = run(EASY, "auto:100..200", "--seeds 1", &out);
    assert!(!stderr.contains("are there already"), "{stderr}");
    // Each comes back, and nothing is trained again.
    for (asked, before) in [("100", &fixed), ("auto:100..400", &auto)] {
        let (_, stderr) = run(EASY, asked, "--seeds 1", &out);
        stderr.says("1 of them are there already and are kept; 0 are new");
        assert_eq!(results(&out), *before);
    }
    let kept = ["", "-at-100", "-at-auto-100-200"].map(|end| format!("majority-none-1{end}"));
    assert_eq!(names(&out.join("trials")), kept);
    // A scheme more, without saying the steps again, goes on until it has converged too.
    let (_, stderr) = succeeds(&mut compare("--schemes learned --dry-run", &out));
    stderr.says_all(&[
        "majority until it has converged (100 to 400 steps)",
        "1 of them are there already and are kept; 1 are new",
    ]);
}

#[test]
fn a_killed_study_goes_on_to_the_numbers_of_an_unbroken_one() {
    let folder = tempfile::tempdir().unwrap();
    let [unbroken, broken] = ["unbroken", "broken"].map(|name| folder.path().join(name));
    let task = "--tasks bucket_sort --schemes none,sinusoidal";
    run(task, "auto:50..200", "--seeds 1", &unbroken);
    for milliseconds in [50, 400, 900] {
        let mut command = command(task, "auto:50..200", "--seeds 1", &broken);
        killed_after(Duration::from_millis(milliseconds), &mut command);
    }
    // The worker of the last trial ends by itself, but the lock of the folder is free.
    run(task, "auto:50..200", "--seeds 1", &broken);
    assert_eq!(results(&broken), results(&unbroken));
    assert_eq!(results(&broken).len(), 2);
}

#[test]
fn a_dry_run_says_the_shortest_and_the_longest_time() {
    let (_folder, out) = temporary("study");
    let (stdout, _) = run(EASY, "auto:2000..64000", "--dry-run", &out);
    assert!(stdout.starts_with("about "), "{stdout}");
    stdout.says(" at the least and ");
    assert!(!out.exists());
    // A budget counts on the longest: three seeds of up to 126,000 steps each.
    let mut within = command(EASY, "auto:2000..64000", "--budget 9s", &out);
    failed(ended(&mut within), 2).says("3 seeds and 100 % of the steps");
}

#[test]
fn data_with_too_few_examples_to_hold_some_out_is_refused() {
    let (folder, file) = temporary("two.csv");
    let rows: String = (0..40)
        .map(|i| ["x,a b\n", "y,b a\n", "x,a a\n", "y,b b\n"][i % 4])
        .collect();
    fs::write(&file, format!("label,text\n{rows}")).unwrap();
    let data = file.to_str().unwrap();
    for flags in ["--steps auto:20..40", "--tune 2"] {
        let out = folder.path().join("study");
        let mut study = compare(&format!("--schemes none {flags}"), &out);
        failed(ended(study.args(["--data", data])), 2).says("too few different training examples");
        assert!(!out.exists());
    }
}

#[test]
fn tuning_trains_each_rate_until_it_has_converged() {
    let (_folder, out) = temporary("study");
    run(EASY, "auto:60..120", "--seeds 1 --tune 2", &out);
    let file = out.join("trials/majority-none-101-rate-0.0015/result.json");
    let result = TrialResult::read(&Entry::named(&file)).unwrap();
    assert_eq!((result.spec.auto_from, result.spec.steps), (Some(60), 120));
    assert!([60, 120].contains(&result.measures().unwrap().steps()));
}

#[test]
fn nonsense_is_refused() {
    let (_folder, out) = temporary("study");
    for [steps, said] in rows(
        "
        autoo         | `autoo` is neither a number of steps
        auto:0        | `auto:0` asks for 0 steps
        auto:         | neither
        auto:9..8     | above its limit of 8
        auto:10000001 | from 1 to 10000000
        ",
    ) {
        failed(ended(&mut command(EASY, steps, "", &out)), 2).says(said);
    }
    // `train` runs one training, of a number of steps.
    failed(ended(lab().args(["train", "--steps", "auto"])), 2).says("invalid");
    // A spec that begins above its limit was edited.
    run(EASY, "auto:20..40", "--seeds 1", &out);
    edit_sealed(&out.join("study.json"), |spec| {
        let first = &mut spec["tasks"][0]["auto_from"];
        assert_eq!(first.take(), 20);
        *first = 41.into();
    });
    failed(ended(&mut report(&out)), 2).says("the first training of `majority` has 41 steps");
}
