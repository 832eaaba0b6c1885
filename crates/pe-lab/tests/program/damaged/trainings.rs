//! Checkpoints, weights and trainings that are not as they were written.

use super::*;
use crate::common::{flip, measured, temporary};

#[test]
fn a_training_of_an_edited_spec_is_refused() {
    let (_folder, out) = temporary("training");
    well(training(&out, "3"));
    fs::remove_file(out.join("result.json")).unwrap();
    let file = out.join("spec.json");
    let whole = fs::read(&file).unwrap();
    edit(&file, |spec| spec["steps"] = json!(4));
    failed(resume(&out), 1).says("spec.json … it is not as it was written");
    fs::write(&file, &whole).unwrap();
    well(resume(&out));
}

#[test]
fn a_damaged_checkpoint_changes_no_result() {
    let (_folder, out) = temporary("training");
    well(training(&out, "60"));
    let unbroken = measured(&out);
    let checkpoint = |name: &str| out.join("checkpoint").join(name);
    let again = |said: &str| {
        fs::remove_file(out.join("result.json")).unwrap();
        let (_, stderr) = well(resume(&out));
        stderr.says(said);
        assert_eq!(measured(&out), unbroken, "{said}");
    };
    again("from step 50 on");
    // One bit of a weight: the file can still be read as one.
    for name in ["model-1.bpk", "optim-1.bpk"] {
        flip(&checkpoint(name), 9);
        again("the checkpoint of step 50 is not whole");
    }
    // A loss of before the checkpoint, which is in the result.
    let losses = out.join("losses.json");
    edit(&losses, |losses| losses["training"][3] = json!(0.5));
    again("the checkpoint of step 50 is not whole");
    fs::remove_file(checkpoint("optim-1.sha256")).unwrap();
    again("the checkpoint of step 50 is not whole");
}

#[test]
fn the_weights_of_a_winner_are_those_that_were_trained() {
    let folder = tempfile::tempdir().unwrap();
    let (rows, out) = (folder.path().join("rows.csv"), folder.path().join("study"));
    rows::write_rows(&rows);
    succeeds(&mut rows::of_data(&rows, &out));
    let predict = || ended(&mut common::predict(&rows, &out));
    assert_eq!(predict().0, 0);
    let flipped: fn(&Path) = |file| flip(file, 9);
    let edited: fn(&Path) = |file| edit(file, |winner| winner["model"]["heads"] = json!(0));
    for (name, said, change) in [
        (
            "winner.bpk",
            "does not hold the weights … pe-lab compare --out",
            flipped,
        ),
        ("winner.json", "not as it was written", edited),
    ] {
        let file = out.join(name);
        let whole = fs::read(&file).unwrap();
        change(&file);
        let (code, stdout, stderr) = predict();
        assert_eq!((code, &*stdout), (1, ""), "{stderr}");
        stderr.says_all(&[name, said]);
        fs::write(&file, whole).unwrap();
    }
    // One byte of the weights of the trial that won, before they are copied.
    let trial = out.join("trials/data-none-1");
    let merged = || merge(&out, &folder.path().join("whole"));
    let file = trial.join("weights.bpk");
    let whole = fs::read(&file).unwrap();
    let kept = fs::read(out.join("winner.bpk")).unwrap();
    assert_eq!(whole, kept);
    for before_end in [1, whole.len() / 2, whole.len()] {
        fs::write(&file, &whole).unwrap();
        flip(&file, before_end);
        for end in [report(&out), merged()] {
            let told = failed(end, 1);
            told.says("data-none-1/result.json … weights.bpk … it is not as it was written");
        }
    }
    // A link.
    fs::remove_file(&file).unwrap();
    #[cfg(unix)]
    {
        std::os::unix::fs::symlink("/dev/zero", &file).unwrap();
        failed(report(&out), 1).says("is no file");
        fs::remove_file(&file).unwrap();
    }
    // Without its result the trial is run again, as the message says.
    fs::write(&file, &kept[..kept.len() / 2]).unwrap();
    fs::remove_file(trial.join("result.json")).unwrap();
    failed(predict(), 1)
        .says("a model of data-none-1 that the study no longer has … pe-lab compare --out");
    succeeds(rows::of_data(&rows, &out).arg("--quiet"));
    assert_eq!((predict().0, merged().0, report(&out).0), (0, 0, 0));
    // Without the weights the winner still names them, so that no others can take their place.
    fs::remove_file(&file).unwrap();
    fs::write(out.join("winner.bpk"), &kept).unwrap();
    assert_eq!(report(&out).0, 0);
    failed(predict(), 1).says("winner.bpk");
    // One that somebody edited, with the digest of what it is now.
    let file = out.join("winner.json");
    edit_sealed(&file, |winner| winner["model"]["heads"] = json!(0));
    failed(predict(), 1).says("no trial of this study");
}
