//! Files of a study or a training that were edited or damaged, two processes at one folder, and names that a terminal
//! would obey.

mod trainings;

use std::fs;
use std::path::{Path, PathBuf};
use std::process::Command;

use crate::common::{
    self, Ended, SMALL, Says, edit_sealed, ended, failed, json, rows as table, succeeds, temporary,
    well, words,
};
use crate::rows;
use pe_lab::folder::Entry;
use pe_lab::learn::CurvePoint;
use pe_lab::run::{Lock, TrialResult};
use serde_json::{Value, json};

fn study(out: &Path) -> Command {
    study_of("none,learned", "1", out)
}

fn study_of(schemes: &str, seeds: &str, out: &Path) -> Command {
    let flags = format!("--schemes {schemes} --seeds {seeds} --steps 3 --quiet");
    common::digits(&flags, out)
}

fn report(out: &Path) -> Ended {
    ended(&mut common::report(out))
}

fn merge(part: &Path, to: &Path) -> Ended {
    ended(&mut common::merge(&[part], to))
}

fn training(out: &Path, steps: &str) -> Ended {
    let flags = format!("--scheme learned --steps {steps} {SMALL}");
    ended(&mut common::train(&flags, out))
}

fn resume(out: &Path) -> Ended {
    ended(&mut common::resume(out))
}

fn edit(file: &Path, edit: impl FnOnce(&mut Value)) {
    let mut value = json(file);
    edit(&mut value);
    fs::write(file, value.to_string()).unwrap();
}

/// A finished study, and the result of one of its trials.
fn finished(folder: &Path) -> (PathBuf, PathBuf) {
    let out = folder.join("study");
    succeeds(&mut study(&out));
    let result = out.join("trials/digits-none-1/result.json");
    (out, result)
}

#[test]
fn an_edited_result_is_refused_and_named_and_an_old_one_is_read() {
    let folder = tempfile::tempdir().unwrap();
    let (out, file) = finished(folder.path());
    let whole = fs::read(&file).unwrap();
    let own = TrialResult::read(&Entry::named(&file)).unwrap();

    // A better score, another seed's number, a shorter time: all of them possible.
    let edits: [fn(&mut Value); 3] = [
        |result| result["outcome"]["finished"]["scores"][0]["accuracy"] = json!(1.0),
        |result| result["outcome"]["finished"]["parameters"] = json!(7),
        |result| result["outcome"]["finished"]["timing"]["ms_per_step"] = json!(0.5),
    ];
    for change in edits {
        edit(&file, change);
        for end in [report(&out), ended(&mut study(&out))] {
            failed(end, 1).says_all(&["digits-none-1", "result.json", "not as it was written"]);
        }
        fs::write(&file, &whole).unwrap();
    }
    edit(&file, |result| {
        drop(result.as_object_mut().unwrap().remove("digest"))
    });
    failed(report(&out), 1).says("its digest is missing");

    // Written in another way it is the same.
    fs::write(&file, &whole).unwrap();
    edit(&file, |_| {});
    let (code, _, stderr) = report(&out);
    assert_eq!((code, stderr.as_str()), (0, ""));

    // One of other code says so, here and when it is merged.
    let other = TrialResult {
        code: "0123456789abcdef".into(),
        ..own
    };
    other.write(&Entry::named(&file)).unwrap();
    let whole = folder.path().join("whole");
    for end in [report(&out), merge(&out, &whole)] {
        let (_, stderr) = well(end);
        stderr.says_all(&["different versions of the code", "1 by 0123456789abcdef"]);
    }
    let page = fs::read_to_string(whole.join("report.html")).unwrap();
    page.says("1 result of the code 0123456789abcdef");
    // A part with other numbers is no part of it, whatever code it names.
    let mut other = other;
    if let pe_lab::run::Outcome::Finished(measures) = &mut other.outcome {
        measures.parameters += 1;
    }
    other.write(&Entry::named(&file)).unwrap();
    let told = failed(merge(&out, &whole), 2);
    told.says("differ, as those of two kinds of processors may");
}

#[test]
fn a_damaged_study_is_an_error_that_names_the_file() {
    let folder = tempfile::tempdir().unwrap();
    let (out, result) = finished(folder.path());
    let spec = fs::read_to_string(out.join("study.json")).unwrap();
    let cut = &spec[..spec.len() / 2];
    for damaged in ["", " \n", "{}", "[]", "null", cut] {
        fs::write(out.join("study.json"), damaged).unwrap();
        for (code, stdout, stderr) in [report(&out), ended(&mut study(&out))] {
            assert!((1..=2).contains(&code), "{damaged:?}: {code} {stderr}");
            let said = stderr.contains("study.json");
            assert!(said && stdout.is_empty(), "{damaged:?}: {stderr}");
            stderr.says("compare --study … study.toml --out");
        }
    }
    fs::write(out.join("study.json"), &spec).unwrap();
    // A number that was changed by accident is not taken for another study.
    edit(&out.join("study.json"), |spec| spec["seeds"][0] = json!(77));
    for (code, _, stderr) in [report(&out), ended(&mut study(&out))] {
        assert_eq!(code, 1, "{stderr}");
        stderr.says("its digest is that of something else; delete it");
    }
    fs::write(out.join("study.json"), spec).unwrap();
    // Bytes that are no text are damage like any other.
    let named = [out.join("study.json"), result.clone()];
    for file in &named {
        let whole = fs::read(file).unwrap();
        let middle = whole.len() / 2;
        let damaged = [&whole[..middle], b"\xff\xfe\x00", &whole[middle..]].concat();
        fs::write(file, damaged).unwrap();
        let (code, _, stderr) = report(&out);
        let name = file.file_name().unwrap().to_string_lossy().into_owned();
        assert!(code == 1 && stderr.contains(&name), "{stderr}");
        stderr.says("delete it");
        // A file without an end, and one that nobody writes to.
        #[cfg(unix)]
        for target in ["/dev/zero", "/dev/tty"] {
            fs::remove_file(file).unwrap();
            std::os::unix::fs::symlink(target, file).unwrap();
            failed(report(&out), 1).says("it is no file");
        }
        fs::remove_file(file).unwrap();
        fs::write(file, whole).unwrap();
    }
    assert_eq!(report(&out).0, 0);
}

/// What is wrong with a model or a recipe, and what is said about it.
const WRONG: &str = "
    model  | heads         | 5             | is not a multiple of the 5 heads
    model  | heads         | 0             | heads is 0
    model  | d_model       | 0             | d_model is 0
    model  | d_ff          | 1099511627776 | d_ff is 1099511627776
    recipe | batch_size    | 1000000000    | batch_size is 1000000000
    recipe | batch_size    | 0             | batch_size is 0
    recipe | learning_rate | -1.0          | learning_rate is -1
";

/// What puts a value, written as JSON, into a part of a file.
fn put(part: &str, name: &str, value: &str) -> impl FnOnce(&mut Value) {
    move |spec| spec[part][name] = serde_json::from_str(value).unwrap()
}

#[test]
fn a_study_that_no_plan_makes_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = finished(folder.path());
    let file = out.join("study.json");
    let whole = fs::read(&file).unwrap();
    for [part, name, value, said] in table(WRONG) {
        edit_sealed(&file, put(part, name, value));
        failed(report(&out), 2).says(said);
        fs::write(&file, &whole).unwrap();
    }
    edit_sealed(&file, |spec| spec["tasks"][0]["steps"] = json!(1u64 << 63));
    failed(report(&out), 2).says("9223372036854775808 steps");
    fs::write(&file, &whole).unwrap();
    edit_sealed(&file, |spec| spec["schemes"] = json!(["none", "none"]));
    failed(report(&out), 2).says("`none` is named twice");
}

#[test]
fn one_process_at_a_time_works_in_a_folder_also_when_its_lock_was_deleted() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = finished(folder.path());
    let trained = folder.path().join("training");
    assert_eq!(training(&trained, "3").0, 0);
    fs::remove_file(trained.join("result.json")).unwrap();
    let places = [(&out, "study.lock"), (&trained, "train.lock")];
    for (place, name) in places {
        let file = place.join(name);
        let lock = Lock::of(place, &Entry::named(&file)).unwrap();
        for deleted in [false, true] {
            if deleted {
                fs::remove_file(&file).unwrap();
            }
            let end = match name {
                "study.lock" => ended(&mut study(place)),
                _ => resume(place),
            };
            // Where the system locks no folders, the file is what there is.
            if !deleted || cfg!(unix) {
                failed(end, 2).says("is in use by another pe-lab");
            }
        }
        drop(lock);
    }
    assert_eq!(ended(&mut study(&out)).0, 0);
    assert_eq!(resume(&trained).0, 0);
}

#[test]
fn a_terminal_and_a_page_get_no_orders_from_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let (out, result) = finished(folder.path());
    let orders = "\u{1b}]0;x\u{7}\u{1b}[2J \u{202e}evil\u{2066} \u{9b}31m\u{7f}";
    let obeyed = [
        '\u{1b}', '\u{7}', '\u{202e}', '\u{2066}', '\u{9b}', '\u{7f}', '\r',
    ];
    // A trial that failed, and one that left no result.
    let mut failed = TrialResult::read(&Entry::named(&result)).unwrap();
    failed.outcome = pe_lab::run::Outcome::Failed(orders.into());
    failed.write(&Entry::named(&result)).unwrap();
    let missing = out.join("trials/digits-learned-1");
    fs::remove_file(missing.join("result.json")).unwrap();
    fs::write(missing.join("failure.json"), json!(orders).to_string()).unwrap();
    let (code, stdout, stderr) = report(&out);
    assert_eq!(code, 1);
    let page = fs::read_to_string(out.join("report.html")).unwrap();
    for text in [&stdout, &stderr, &page] {
        assert!(!text.contains(obeyed), "{text:?}");
    }
    stderr.says("\\u{1b}]0;x\\u{7}");
    page.says("\\u{202e}evil");
    // JSON keeps what was said.
    let (_, stdout, _) = ended(common::lab().args(["report", "--json"]).arg(&out));
    assert!(!stdout.contains(obeyed), "{stdout:?}");
    let said: Value = serde_json::from_str(&stdout).unwrap();
    assert!(said.to_string().contains("\u{202e}evil"), "{said}");
    // A name of a folder.
    let name = folder.path().join("a\u{1b}[31m\u{202e}b");
    let (_, _, stderr) = report(&name);
    stderr.says("a\\u{1b}[31m\\u{202e}b holds no study");
}

#[test]
fn a_large_loss_is_drawn() {
    let (_folder, out) = temporary("study");
    // Dashed lines: those from the eighth scheme on.
    succeeds(&mut study_of("none,kerple,cope", "2", &out));
    for trial in fs::read_dir(out.join("trials")).unwrap() {
        let file = trial.unwrap().path().join("result.json");
        let mut result = TrialResult::read(&Entry::named(&file)).unwrap();
        if let pe_lab::run::Outcome::Finished(measures) = &mut result.outcome {
            let losses = [1.0, 1e308, 2.0, 1.7e308, 1.0, -1e308];
            let less = if result.spec.seed == 1 { 1.0 } else { 1e-3 };
            let points = (1..).zip(losses.map(|loss| loss * less));
            measures.curve = points.map(CurvePoint::from).collect();
            measures.held_out = measures.curve.clone();
        }
        result.write(&Entry::named(&file)).unwrap();
    }
    let started = std::time::Instant::now();
    well(report(&out));
    assert!(started.elapsed().as_secs() < 60);
    let size = fs::metadata(out.join("report.html")).unwrap().len();
    assert!(size < 3_000_000, "{size}");
}

#[cfg(unix)]
#[test]
fn what_cannot_be_looked_into_is_no_trial_that_was_not_run() {
    let folder = tempfile::tempdir().unwrap();
    let (out, _) = finished(folder.path());
    // Not by permissions, which do not hold for everybody: a folder that leads into itself, and a file.
    let trial = out.join("trials/digits-none-1");
    fs::rename(&trial, folder.path().join("kept")).unwrap();
    std::os::unix::fs::symlink("digits-none-1", &trial).unwrap();
    let (code, stdout, stderr) = report(&out);
    assert_eq!(code, 1, "{stdout}");
    stderr.says("trials/digits-none-1/result.json");
    assert!(!stderr.contains("not been run"), "{stderr}");
    fs::remove_file(&trial).unwrap();
    fs::write(&trial, "a file").unwrap();
    failed(report(&out), 1).says("is a link or no folder");
    fs::remove_file(&trial).unwrap();
    fs::rename(folder.path().join("kept"), &trial).unwrap();
    assert_eq!(report(&out).0, 0);
}

#[cfg(unix)]
#[test]
fn names_of_folders_and_files_are_no_options_and_may_be_long_and_strange() {
    use std::ffi::OsStr;
    use std::os::unix::ffi::OsStrExt;

    let folder = tempfile::tempdir().unwrap();
    let mut command = common::lab();
    command.args(words("compare --tasks digits --schemes none --seeds 1"));
    command.args(["--steps", "2", "--out=-rf", "--open"]);
    // The program that opens the page gets a path that is no option.
    let tool = folder.path().join("xdg-open");
    fs::write(&tool, "#!/bin/sh\necho \"$@\" > opened\n").unwrap();
    fs::set_permissions(&tool, std::os::unix::fs::PermissionsExt::from_mode(0o755)).unwrap();
    succeeds(
        command
            .current_dir(folder.path())
            .env("PATH", folder.path()),
    );
    if cfg!(target_os = "linux") {
        let opened = fs::read_to_string(folder.path().join("opened")).unwrap();
        assert_eq!(opened, "./-rf/report.html\n");
    }

    // 255 bytes, none of which is UTF-8: in UTF-8 it is three times as long.
    let name = [&[0xff; 251][..], b".csv"].concat();
    let file = folder.path().join(OsStr::from_bytes(&name));
    rows::write_rows(&file);
    let out = folder.path().join("study");
    succeeds(&mut rows::of_data(&file, &out));
    assert_eq!(report(&out).0, 0);
}
