//! Short studies of small models show what is known about the schemes.

use crate::common::{compare, scored, succeeds};
use tempfile::TempDir;

/// Large enough to learn each task within a few hundred steps.
const MODEL: &str = "--d-model 32 --layers 1 --heads 2 --d-ff 64 --batch-size 32 --lr 0.008";

/// A study of one seed.
fn study(task: &str, schemes: &str, steps: &str) -> TempDir {
    let folder = tempfile::tempdir().unwrap();
    let flags = format!("--tasks {task} --schemes {schemes} --seeds 2, --quiet --steps {steps}");
    succeeds(&mut compare(&format!("{flags} {MODEL}"), folder.path()));
    folder
}

/// The accuracy of a scheme at a length, and its floor.
fn score(study: &TempDir, scheme: &str, length: u64) -> (f64, f64) {
    let of = |name| match scored(study.path(), scheme, &length.to_string(), name)[..] {
        [of_one_seed] => of_one_seed,
        _ => panic!("one seed, one score: {scheme} at {length}"),
    };
    (of("accuracy"), of("floor"))
}

#[test]
fn digits_need_positions() {
    let study = study("digits", "none,sinusoidal,learned", "200");
    let (none, floor) = score(&study, "none", 64);
    assert!(none < 0.5 && none > floor, "none: {none}, floor {floor}");
    for scheme in ["sinusoidal", "learned"] {
        let (accuracy, _) = score(&study, scheme, 64);
        assert!(accuracy > 0.7, "{scheme}: {accuracy}");
    }
}

#[test]
fn the_control_needs_no_positions_and_is_hurt_by_them_beyond_training() {
    let study = study("majority", "none,sinusoidal", "600");
    for length in [10, 20, 40, 80] {
        let (none, _) = score(&study, "none", length);
        assert!(none > 0.95, "none at {length}: {none}");
    }
    let (inside, _) = score(&study, "sinusoidal", 20);
    let (beyond, _) = score(&study, "sinusoidal", 80);
    let is_hurt = inside > 0.95 && beyond < 0.9;
    assert!(is_hurt, "sinusoidal: {inside}, {beyond}");
}

#[test]
fn shifting_needs_positions_and_works_a_little_beyond_training() {
    let study = study("shift3", "none,sinusoidal,learned", "600");
    for length in [10, 20] {
        let (none, floor) = score(&study, "none", length);
        let is_floor = (none - floor).abs() < 0.05;
        assert!(is_floor, "none at {length}: {none}, floor {floor}");
    }
    for scheme in ["sinusoidal", "learned"] {
        let (inside, _) = score(&study, scheme, 20);
        assert!(inside > 0.95, "{scheme} at 20: {inside}");
        let (near, _) = score(&study, scheme, 21);
        let (far, _) = score(&study, scheme, 80);
        let is_near_alone = near > 0.9 && far < 0.6;
        assert!(is_near_alone, "{scheme} at 21: {near}, at 80: {far}");
    }
}
