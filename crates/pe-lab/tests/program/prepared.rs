//! The prepared form of a study's data: who makes it and reads it, and what happens when it is damaged, foreign or half
//! written.

use std::fs;
use std::os::unix::fs::PermissionsExt;
use std::path::{Path, PathBuf};
use std::process::Command;
use std::time::Instant;

use crate::common::{self, Says, compare, failed, flip, good_in, killed_after, numbers, succeeds};

/// A table of so many rows with few and long tokens, so that a large file trains fast.
fn table(folder: &Path, rows: usize) -> PathBuf {
    let file = folder.join("rows.csv");
    let row = |i: usize| {
        let word = |k: usize| format!("w{:0>900}", (i * k) % 7);
        let order = [[1, 2, 3], [3, 2, 1]][i % 2];
        format!("l{},{} x{i}\n", i % 2, order.map(word).join(" "))
    };
    let rows: String = (0..rows).map(row).collect();
    fs::write(&file, format!("label,text\n{rows}")).unwrap();
    file
}

fn study(data: &Path, out: &Path) -> Command {
    let mut command = compare("--schemes none,learned --seeds 1 --steps 3 --quiet", out);
    command.arg("--data").arg(data);
    command
}

/// Has every trial run again.
fn forget(out: &Path) {
    for trial in fs::read_dir(out.join("trials")).unwrap() {
        fs::remove_file(trial.unwrap().path().join("result.json")).unwrap();
    }
}

#[test]
fn data_is_prepared_once_and_made_again_when_it_is_damaged() {
    let folder = tempfile::tempdir().unwrap();
    let (data, out) = (table(folder.path(), 420), folder.path().join("study"));
    assert!(fs::metadata(&data).unwrap().len() > 1 << 20);
    fs::set_permissions(&data, fs::Permissions::from_mode(0o600)).unwrap();
    assert_eq!(succeeds(&mut study(&data, &out)).1, "");
    let file = out.join("data.prepared");
    let about = fs::metadata(&file).unwrap();
    assert_eq!(about.permissions().mode() & 0o777, 0o600);
    assert!(about.len() < 1 << 20, "the words are not in it");
    let (whole, unbroken) = (fs::read(&file).unwrap(), numbers(&out));
    // The workers had nothing to say.
    let trial = out.join("trials/data-none-1");
    assert!(!trial.join("worker.log").exists());

    // What the parent finds damaged it names and makes again.
    let elsewhere = folder.path().join("elsewhere");
    fs::write(&elsewhere, "mine").unwrap();
    let mut flipped = whole.clone();
    flipped[whole.len() / 2] ^= 1;
    // A file of other rows, whose digest is right: another study's.
    let other = folder.path().join("other");
    fs::create_dir(&other).unwrap();
    succeeds(&mut study(&table(&other, 421), &other.join("study")));
    let foreign = fs::read(other.join("study/data.prepared")).unwrap();
    for (bytes, said) in [
        (Some(&flipped[..]), "not as it was written"),
        (Some(&whole[..whole.len() / 3]), "not as many numbers"),
        (Some(b""), "it has 0 bytes"),
        (Some(&foreign), "made of other data"),
        (None, "it is no file"),
    ] {
        fs::remove_file(&file).unwrap();
        match bytes {
            Some(bytes) => fs::write(&file, bytes).unwrap(),
            None => std::os::unix::fs::symlink(&elsewhere, &file).unwrap(),
        }
        forget(&out);
        let (_, stderr) = succeeds(&mut study(&data, &out));
        stderr.says_all(&["data.prepared", "it is made again", said]);
        assert_eq!(fs::read(&file).unwrap(), whole, "{said}");
        assert_eq!(numbers(&out), unbroken, "{said}");
    }
    assert_eq!(fs::read(&elsewhere).unwrap(), b"mine");
    // One that is not there is made without a word.
    fs::remove_file(&file).unwrap();
    forget(&out);
    assert_eq!(succeeds(&mut study(&data, &out)).1, "");
    assert_eq!(fs::read(&file).unwrap(), whole);

    // A worker that meets a damaged one says so and reads the data.
    for bytes in [Some(&flipped), None] {
        fs::remove_file(&file).unwrap();
        if let Some(bytes) = bytes {
            fs::write(&file, bytes).unwrap();
        }
        fs::remove_file(trial.join("result.json")).unwrap();
        let (_, stderr) = succeeds(common::lab().args(["trial", "--"]).arg(&trial));
        stderr.says_all(&["data.prepared", "the data is read"]);
    }
    fs::write(&file, &whole).unwrap();
    assert_eq!(succeeds(&mut study(&data, &out)).1, "");
    assert_eq!(numbers(&out), unbroken);

    // The copy itself is still looked at, before any trial is run.
    forget(&out);
    flip(&out.join("data/rows.csv"), 1);
    failed(common::ended(&mut study(&data, &out)), 1).says("rows.csv has changed");
}

#[test]
fn a_study_that_is_killed_while_it_prepares_goes_on() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(folder.path(), 420);
    let unbroken = folder.path().join("unbroken");
    let start = Instant::now();
    succeeds(&mut study(&data, &unbroken));
    let whole = start.elapsed();
    let broken = folder.path().join("broken");
    for hundredths in [2, 4, 7, 10, 14, 18, 25] {
        killed_after(whole * hundredths / 100, &mut study(&data, &broken));
    }
    // A machine that is busy may not have come as far as the folder.
    fs::create_dir_all(&broken).unwrap();
    // Half of it, under the name that files have until they are whole.
    let half = broken.join(".pe-lab-unfinished-0123456789abcdef");
    let prepared = |out: &Path| fs::read(out.join("data.prepared")).unwrap();
    fs::write(&half, &prepared(&unbroken)[..9_000]).unwrap();
    succeeds(&mut study(&data, &broken));
    assert_eq!(numbers(&broken), numbers(&unbroken));
    assert!(!half.exists());
    assert_eq!(prepared(&broken), prepared(&unbroken));
}

#[test]
fn parts_of_a_study_merge_and_small_data_is_not_prepared() {
    let folder = tempfile::tempdir().unwrap();
    let data = table(folder.path(), 420);
    let whole = folder.path().join("whole");
    succeeds(&mut study(&data, &whole));
    for part in 0..2 {
        let out = folder.path().join(format!("part-{part}"));
        succeeds(study(&data, &out).args(["--shard", &format!("{part}/2")]));
    }
    good_in(folder.path(), "merge part-0 part-1 --out merged");
    assert_eq!(numbers(&folder.path().join("merged")), numbers(&whole));
    good_in(folder.path(), "report merged");
    let (stdout, _) = good_in(folder.path(), "predict rows.csv --study merged");
    assert_eq!(stdout.lines().count(), 421);

    let small = folder.path().join("small");
    fs::create_dir(&small).unwrap();
    let data = table(&small, 60);
    succeeds(&mut study(&data, &small.join("study")));
    assert!(!small.join("study/data.prepared").exists());
}
