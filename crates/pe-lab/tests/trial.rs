//! The numbers of a trial depend on its spec alone.

mod common;

use std::fs;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};

use common::smallest;
use pe_lab::ask::{Recipe, Scheme, Tasks, TrialSpec};
use pe_lab::error::LabError;
use pe_lab::folder::TrialFolder;
use pe_lab::learn::{Checkpoints, EPOCH, Watch, last_checkpoint};
use pe_lab::run::{Measures, Outcome, Timing, TrialResult, read_encoding, run_trial};

fn batches_of(batch_size: usize) -> Recipe {
    Recipe {
        batch_size,
        ..Recipe::default()
    }
}

fn spec(task: &str, scheme: &str) -> TrialSpec {
    TrialSpec {
        auto_from: None,
        task: task.into(),
        data: None,
        scheme: Scheme::by_name(scheme, &smallest(), 82).unwrap(),
        seed: 4,
        steps: 12,
        recipe: batches_of(16),
        model: smallest(),
        device: "flex".into(),
        tuning: false,
        test_scalings: None,
    }
}

fn trial(spec: &TrialSpec) -> TrialResult {
    let folder = tempfile::tempdir().unwrap();
    watched(spec, folder.path(), Watch::steps(|_, _| {})).unwrap()
}

fn watched(spec: &TrialSpec, folder: &Path, watch: Watch<'_>) -> Result<TrialResult, LabError> {
    let task = Tasks::default().get(&spec.task).unwrap();
    run_trial(spec, &task, &TrialFolder::at(folder), watch)
}

fn measures(spec: &TrialSpec) -> Measures {
    match trial(spec).outcome {
        Outcome::Finished(measures) => measures,
        Outcome::Failed(reason) => panic!("{reason}"),
    }
}

/// Everything but the clock.
fn without_time(mut measures: Measures) -> Measures {
    measures.timing = Timing::default();
    measures
}

#[test]
fn the_same_spec_gives_the_same_numbers_bit_for_bit() {
    for (task, scheme) in [
        ("reverse", "learned"),
        ("digits", "sinusoidal"),
        ("reverse", "fire"),
        ("reverse", "randomized_rotary"),
    ] {
        let spec = spec(task, scheme);
        let first = without_time(measures(&spec));
        // `==` on floats would hide a change of sign of zero, the text would not.
        let text = |measures: &Measures| serde_json::to_string(measures).unwrap();
        assert_eq!(text(&first), text(&without_time(measures(&spec))));
        let other = TrialSpec { seed: 5, ..spec };
        assert_ne!(first.curve, measures(&other).curve);
    }
}

#[test]
fn scores_cover_every_length_and_position_and_progress_every_step() {
    let folder = tempfile::tempdir().unwrap();
    let spec = TrialSpec {
        steps: 61,
        recipe: batches_of(2),
        ..spec("reverse", "none")
    };
    let steps = Arc::new(Mutex::new(Vec::new()));
    let seen = steps.clone();
    let watch = Watch::steps(move |step, _| seen.lock().unwrap().push(step));
    let result = watched(&spec, folder.path(), watch).unwrap();
    assert_eq!(*steps.lock().unwrap(), (1..=61).collect::<Vec<_>>());
    let measures = result.measures().unwrap();
    let lengths = measures.scores.iter().map(|s| (s.length, s.inside));
    let lengths: Vec<(usize, bool)> = lengths.collect();
    let beyond = [21, 25, 30, 40, 60, 80].map(|length| (length, false));
    assert_eq!(lengths[..2], [(10, true), (20, true)]);
    assert_eq!(lengths[2..], beyond);
    for score in &measures.scores {
        let positions: Vec<usize> = score.by_position.iter().map(|p| p.position).collect();
        assert_eq!(positions, (1..=score.length).collect::<Vec<_>>());
        let values = score.by_position.iter().map(|p| p.score.value());
        let mean = values.sum::<f64>() / score.length as f64;
        assert!((mean - score.score.value()).abs() < 1e-9);
    }
    assert_eq!(measures.curve.last().unwrap().step, 61);
    // Held-out sequences are tested before the training, after every epoch of so short a one, and after the last step.
    let held_out: Vec<usize> = measures.held_out.iter().map(|point| point.step).collect();
    assert_eq!(held_out, [0, EPOCH, 61]);
}

#[test]
fn the_held_out_loss_follows_a_training_of_any_length_in_few_points() {
    let with = |steps| {
        measures(&TrialSpec {
            steps,
            recipe: batches_of(2),
            ..spec("digits", "learned")
        })
    };
    let steps = |of: &Measures| -> Vec<usize> { of.held_out.iter().map(|p| p.step).collect() };
    assert_eq!(steps(&with(3)), [0, 3]);
    let long = with(11 * EPOCH + 7);
    let mut expected: Vec<usize> = (0..=5).map(|nth| 2 * nth * EPOCH).collect();
    expected.push(11 * EPOCH + 7);
    assert_eq!(steps(&long), expected);
    // Ten digits, so a model that guesses has ln 10; this one has learned something.
    let (first, last) = (long.held_out[0].loss, long.held_out[6].loss);
    assert!((first - 10f64.ln()).abs() < 0.3, "{first}");
    assert!(last < first && last < 10f64.ln(), "{first}, {last}");
}

#[test]
fn a_training_that_diverges_stops_and_is_a_result_with_a_reason() {
    let spec = TrialSpec {
        recipe: Recipe {
            weight_decay: 1e30,
            ..Recipe::default()
        },
        steps: 1000,
        ..spec("reverse", "sinusoidal")
    };
    match trial(&spec).outcome {
        Outcome::Failed(reason) => assert_eq!(reason, "diverged: the loss is NaN at step 2"),
        Outcome::Finished(_) => panic!("a model full of NaN was scored"),
    }
}

#[test]
fn a_training_that_was_stopped_goes_on_from_its_checkpoint_to_the_same_numbers() {
    let spec = TrialSpec {
        steps: 3 * EPOCH - 1,
        recipe: batches_of(4),
        ..spec("reverse", "learned")
    };
    let folder = tempfile::tempdir().unwrap();
    let place = TrialFolder::at(folder.path());
    let from = |after, stop_at: usize| {
        let stop = Arc::new(AtomicBool::new(false));
        let stops = stop.clone();
        Watch {
            checkpoints: Some(Checkpoints {
                folder: &place,
                after,
            }),
            stop,
            ..Watch::steps(move |step, _| stops.store(step == stop_at, Ordering::Relaxed))
        }
    };
    let stopped = watched(&spec, folder.path(), from(0, 2 * EPOCH + 1)).unwrap_err();
    let LabError::Stopped { done, .. } = stopped else {
        panic!("{stopped}")
    };
    assert_eq!(done, 2 * EPOCH + 1);
    let last = || last_checkpoint(&place, spec.steps);
    assert_eq!((last().epochs, last().damaged), (2, vec![]));

    // A kill in the middle of writing leaves half a file: the checkpoint before it is taken.
    let newest = folder.path().join("checkpoint/optim-2.bpk");
    let digest = newest.with_extension("sha256");
    let whole = fs::read(&newest).unwrap();
    let of_whole = fs::read(&digest).unwrap();
    fs::write(&newest, &whole[..whole.len() / 2]).unwrap();
    assert_eq!((last().epochs, last().damaged), (1, vec![2]));

    let unbroken = without_time(measures(&spec));
    for (epochs, optimizer) in [(1, None), (2, Some(whole))] {
        if let Some(bytes) = optimizer {
            fs::write(&newest, bytes).unwrap();
            fs::write(&digest, &of_whole).unwrap();
        }
        assert_eq!(last().epochs, epochs);
        let resumed = watched(&spec, folder.path(), from(epochs, usize::MAX)).unwrap();
        let resumed = without_time(resumed.measures().unwrap().clone());
        assert!(resumed == unbroken, "from epoch {epochs}");
    }
}

#[test]
fn the_trained_encoding_is_kept_beside_the_result() {
    let rows = |scheme: &str, steps: usize| {
        let folder = tempfile::tempdir().unwrap();
        let spec = TrialSpec {
            steps,
            ..spec("reverse", scheme)
        };
        let result = watched(&spec, folder.path(), Watch::steps(|_, _| {})).unwrap();
        let rows = read_encoding(&TrialFolder::at(folder.path()), result.encoding.as_deref());
        assert_eq!(result.encoding.is_some(), matches!(rows, Ok(Some(_))));
        rows.unwrap()
    };
    for adds_nothing in ["none", "rotary", "alibi", "t5", "randomized_rotary"] {
        assert_eq!(rows(adds_nothing, 1), None, "{adds_nothing}");
    }
    let sinusoidal = rows("sinusoidal", 1).unwrap();
    assert_eq!((sinusoidal.len(), sinusoidal[0].len()), (82, 16));
    assert_eq!(sinusoidal[0][..4], [0.0, 1.0, 0.0, 1.0]);
    assert!((sinusoidal[3][0] - 3f32.sin()).abs() < 1e-7);
    // Training moves the rows it sees, up to BOS, 20 symbols and EOS, and leaves the others.
    let (before, after) = (rows("learned", 1).unwrap(), rows("learned", 12).unwrap());
    assert_ne!(before[3], after[3]);
    assert_eq!(before[60], after[60]);
}
