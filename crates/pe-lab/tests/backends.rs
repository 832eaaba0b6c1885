//! Every device in the build trains, and runs a study. `PE_TEST_DEVICES` names some of them,
//! separated by commas.

mod common;

use std::fs;

use common::{Says, lab, succeeds};
use pe_lab::ask::{ModelSpec, Recipe, Scheme, Tasks};
use pe_lab::device::{self, DEVICES};
use pe_lab::error::LabError;
use pe_lab::learn::{Job, Model, Watch, train};

/// The devices to test. A device that is in the build but not on the machine fails the test.
fn devices() -> Vec<String> {
    match std::env::var("PE_TEST_DEVICES") {
        Ok(names) => names.split(',').map(str::to_string).collect(),
        Err(_) => DEVICES
            .iter()
            .map(|device| device.name.to_string())
            .filter(|name| !matches!(device::open(name), Err(LabError::DeviceNotBuilt { .. })))
            .filter(|name| name != "tch-cuda") // `tch` brings it in without a card
            .collect(),
    }
}

fn mean(losses: &[f64]) -> f64 {
    losses.iter().sum::<f64>() / losses.len() as f64
}

#[test]
fn fifty_steps_lower_the_loss() {
    // A task whose loss falls steadily from the start, from any initial weights: backends draw other ones.
    let task = Tasks::default().get("bucket_sort").unwrap();
    let scheme = Scheme::by_name("sinusoidal", &ModelSpec::default(), task.max_tokens()).unwrap();
    let recipe = Recipe {
        batch_size: 16,
        warmup_steps: 10,
        ..Recipe::default()
    };
    for name in devices() {
        let device = device::open(&name).unwrap().autodiff();
        let model = Model::init(&ModelSpec::default(), task.as_ref(), &scheme, 4, &device).unwrap();
        let job = Job {
            task: task.as_ref(),
            seed: 4,
            steps: 50,
            recipe: &recipe,
            device: &device,
        };
        let losses = train(model, job, Watch::steps(|_, _| {})).unwrap().losses;
        let (first, last) = (mean(&losses[..5]), mean(&losses[45..]));
        println!("{name}: from {first:.3} to {last:.3}");
        assert!(last < 0.8 * first, "{name}: from {first} to {last}");
    }
}

#[test]
fn a_study_runs_from_start_to_report() {
    for name in devices() {
        let folder = tempfile::tempdir().unwrap();
        let (table, said) = succeeds(
            lab()
                .args(["compare", "--tasks", "digits", "--schemes", "none,learned"])
                .args(["--seeds", "1", "--steps", "2", "--device", &name, "--out"])
                .arg(folder.path()),
        );
        table.says("learned");
        // A graphics card is named.
        let end = match ["flex", "ndarray", "tch"].contains(&name.as_str()) {
            true => ", ",
            false => " (",
        };
        said.says(&format!("on {name}{end}"));
        let results = fs::read_to_string(folder.path().join("results.csv")).unwrap();
        for scheme in ["none", "learned"] {
            results.says(&format!(",{scheme},"));
        }
        assert!(folder.path().join("report.html").exists(), "{name}");
    }
}
