//! Output folders that cannot be written: read-only, and full.

use std::path::Path;
use std::process::{Command, Output};

/// Runs a script that has an empty file system of its own at `$1` and the program as `$2`. `None` if the
/// system does not let users mount anything.
fn with_disk(options: &str, script: &str, at: &Path) -> Option<Output> {
    let alone = |script: &str| {
        let mut command = Command::new("unshare");
        command.args(["--user", "--map-root-user", "--mount"]);
        command.args(["sh", "-c", script, "sh"]);
        command.arg(at).arg(assert_cmd::cargo::cargo_bin!("pe-lab"));
        command
    };
    let mount = format!("mount -t tmpfs -o {options} none \"$1\"");
    if !alone(&mount).output().is_ok_and(|o| o.status.success()) {
        eprintln!("skipped: this system lets no user mount a file system");
        return None;
    }
    Some(alone(&format!("{mount} && {script}")).output().unwrap())
}

fn text(bytes: &[u8]) -> String {
    String::from_utf8_lossy(bytes).into_owned()
}

const STUDY: &str = "\"$2\" compare --tasks digits --schemes none,learned --seeds 1 --steps 2 --out \"$1/study\" --d-model 16 --layers 1 \
     --heads 2 --d-ff 32";

#[test]
fn a_read_only_folder_is_named_and_nothing_is_run() {
    let folder = tempfile::tempdir().unwrap();
    let script =
        format!("{STUDY}; echo code $?; \"$2\" train --steps 2 --out \"$1/t\"; echo code $?");
    let Some(output) = with_disk("ro", &script, folder.path()) else {
        return;
    };
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(stdout, "code 1\ncode 1\n", "{stderr}");
    let place = folder.path().join("study");
    let error = format!("error: {}: Read-only file system", place.display());
    assert!(stderr.contains(&error), "{stderr}");
    assert!(!stderr.contains("accuracy by"), "{stderr}");
}

#[test]
fn a_full_disk_loses_no_finished_trial_and_leaves_no_half_file() {
    let folder = tempfile::tempdir().unwrap();
    let script = format!(
        "{STUDY}; echo code $?; find \"$1\" -name '.pe-lab-unfinished-*' -o -name '*.html' -size 0; \
         mount -o remount,size=20m \"$1\"; {STUDY} >/dev/null; echo code $?"
    );
    let Some(output) = with_disk("size=24k", &script, folder.path()) else {
        return;
    };
    let (stdout, stderr) = (text(&output.stdout), text(&output.stderr));
    assert_eq!(stdout, "code 1\ncode 0\n", "{stderr}");
    assert!(stderr.contains("No space left on device"), "{stderr}");
}
