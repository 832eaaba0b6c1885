//! Signals, closed terminals, full disks, private data, and study folders from somebody else.

use crate::rows;
use std::fs;
use std::io::{BufRead, BufReader};
use std::os::unix::fs::{PermissionsExt, symlink};
use std::os::unix::process::CommandExt;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use crate::common::{
    self, Says, behind, edit_sealed, failed, pipe, report, resume, send, succeeds, temporary,
    train_digits,
};

/// Two short trials, one after the other.
fn study(out: &Path) -> Command {
    with_steps("12", out)
}

/// With enough steps, the second trial still runs when a signal is sent after the first.
fn with_steps(steps: &str, out: &Path) -> Command {
    let flags = "--schemes none,learned --seeds 1 --jobs 1 --batch-size 16 --steps";
    common::digits(&format!("{flags} {steps}"), out)
}

fn finished(out: &Path) -> bool {
    out.join("report.html").exists()
}

#[test]
fn a_study_behind_nohup_outlives_its_terminal() {
    let folder = tempfile::tempdir().unwrap();
    for (setup, code) in [("trap '' HUP", 0), (":", 1)] {
        let out = folder.path().join(code.to_string());
        let mut command = behind(setup, &with_steps("300", &out));
        let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
        let mut child = child.spawn().unwrap();
        let lines = BufReader::new(child.stderr.take().unwrap()).lines();
        // Read on, so that the pipe stays open.
        for line in lines.map_while(Result::ok) {
            if line.contains("accuracy by length") && line.trim_start().starts_with("1/") {
                send("-HUP", &child.id().to_string());
            }
        }
        assert_eq!(child.wait().unwrap().code(), Some(code));
        assert_eq!(finished(&out), code == 0);
    }
}

#[test]
fn ctrl_c_in_a_terminal_stores_no_failure() {
    let (_folder, out) = temporary("study");
    let mut command = with_steps("300", &out);
    let command = command.process_group(0).stderr(Stdio::piped());
    let mut child = command.spawn().unwrap();
    let mut lines = BufReader::new(child.stderr.take().unwrap()).lines();
    assert!(lines.any(|line| line.unwrap().contains("accuracy by length")));
    send("-INT", &format!("-{}", child.id()));
    lines.for_each(drop);
    assert_eq!(child.wait().unwrap().code(), Some(1));
    for trial in fs::read_dir(out.join("trials")).unwrap() {
        assert!(!trial.unwrap().path().join("failure.json").exists());
    }
}

#[test]
fn a_study_that_nobody_watches_writes_its_report() {
    let folder = tempfile::tempdir().unwrap();
    // A reader that has gone, and a disk that is full.
    let out = folder.path().join("gone");
    let mut command = study(&out);
    let child = command.stdout(Stdio::null()).stderr(Stdio::piped());
    let mut child = child.spawn().unwrap();
    drop(child.stderr.take());
    assert_eq!(child.wait().unwrap().code(), Some(0));
    assert!(finished(&out));
    if Path::new("/dev/full").exists() {
        let out = folder.path().join("full");
        let mut command = behind("exec 2>/dev/full", &study(&out));
        let ended = command.stdout(Stdio::null()).status().unwrap();
        assert_eq!(ended.code(), Some(0));
        assert!(finished(&out));
        // Where the report cannot be printed the program says so, and the files are there.
        fs::remove_file(out.join("report.html")).unwrap();
        let mut command = behind("exec >/dev/full", &study(&out));
        failed(common::ended(&mut command), 1).says("standard output: No space left");
        assert!(finished(&out));
    }
}

/// Every file and folder in a folder, and the folder itself.
fn everything(folder: &Path) -> Vec<PathBuf> {
    let mut all = vec![folder.to_path_buf()];
    let mut next = 0;
    while next < all.len() {
        if all[next].is_dir() {
            let entries = fs::read_dir(&all[next]).unwrap();
            all.extend(entries.map(|entry| entry.unwrap().path()));
        }
        next += 1;
    }
    all
}

#[test]
fn a_study_of_private_data_is_private() {
    let (folder, file) = temporary("patients.csv");
    rows::write_rows(&file);
    for (mode, others) in [(0o600, 0o077), (0o640, 0o027), (0o4644, 0o7022)] {
        fs::set_permissions(&file, fs::Permissions::from_mode(mode)).unwrap();
        let out = folder.path().join(format!("{mode:o}"));
        let command = rows::of_data(&file, &out);
        succeeds(&mut behind("umask 022", &command));
        let all = everything(&out);
        assert!(all.iter().any(|path| path.ends_with("summary.json")));
        for path in all {
            let of = fs::metadata(&path).unwrap().permissions().mode();
            let forbidden = others & if path.is_dir() { 0o007 } else { 0o7777 };
            assert_eq!(of & forbidden, 0, "{mode:o} {}: {of:o}", path.display());
        }
    }
}

#[test]
fn what_a_killed_process_left_is_removed() {
    let (folder, out) = temporary("study");
    let trial = out.join("trials/digits-none-1");
    fs::create_dir_all(&out).unwrap();
    let left = [
        out.join(".pe-lab-unfinished-000000000000000a"),
        trial.join(".pe-lab-unfinished-000000000000000b"),
    ];
    fs::write(&left[0], "{").unwrap();
    assert_eq!(common::ended(&mut study(&out)).0, 0);
    assert!(!left[0].exists());
    fs::write(&left[1], "{").unwrap();
    assert_eq!(common::ended(&mut study(&out)).0, 0);
    assert!(!left[1].exists());
    // The same of a copy of a data file, and of the checkpoint of a training.
    let file = folder.path().join("rows.csv");
    rows::write_rows(&file);
    let out = folder.path().join("of-data");
    assert_eq!(common::ended(&mut rows::of_data(&file, &out)).0, 0);
    let left = out.join("data/.pe-lab-unfinished-000000000000000c");
    fs::write(&left, "{").unwrap();
    assert_eq!(common::ended(&mut rows::of_data(&file, &out)).0, 0);
    assert!(!left.exists());
    let out = folder.path().join("training");
    succeeds(&mut train_digits("3", &out));
    fs::remove_file(out.join("result.json")).unwrap();
    let left = out.join("checkpoint/.pe-lab-unfinished-000000000000000d");
    fs::write(&left, "{").unwrap();
    succeeds(&mut resume(&out));
    assert!(!left.exists());
}

#[test]
fn a_study_from_somebody_else_reads_nothing_outside_of_its_folder() {
    let (folder, file) = temporary("x.csv");
    rows::write_rows(&file);
    let out = folder.path().join("study");
    succeeds(&mut rows::of_data(&file, &out));
    let report = || common::ended(&mut report(&out));
    let spec = fs::read_to_string(out.join("study.json")).unwrap();
    let of_file = |path: &str| {
        edit_sealed(&out.join("study.json"), |study| {
            let other = study
                .to_string()
                .replace("\"x.csv\"", &format!("\"{path}\""));
            assert_ne!(other, study.to_string());
            *study = serde_json::from_str(&other).unwrap();
        });
    };
    for path in ["/dev/zero", "../x.csv", "/etc/passwd", ".."] {
        of_file(path);
        failed(report(), 2).says_all(&[path, "without a folder"]);
        fs::write(out.join("study.json"), &spec).unwrap();
    }
    // The copy is a link, a pipe or another file.
    let copy = out.join("data/x.csv");
    let replace: [&dyn Fn(); 3] = [
        &|| symlink("/dev/zero", &copy).unwrap(),
        &|| pipe(&copy),
        &|| fs::write(&copy, "label,text\n").unwrap(),
    ];
    for replace in replace {
        let _ = fs::remove_file(&copy);
        replace();
        failed(report(), 1).says("has changed since the study was made");
    }
}

#[test]
fn an_empty_plan_does_not_ask_for_everything() {
    let (folder, plan) = temporary("study.toml");
    for text in ["", "# nothing\n"] {
        fs::write(&plan, text).unwrap();
        let end = common::run_in(folder.path(), "compare --dry-run --study study.toml");
        failed(end, 2).says("it is empty");
    }
}

#[test]
fn a_training_on_a_full_disk_can_go_on() {
    let (_folder, out) = temporary("training");
    // No file may be larger than 16 blocks; a checkpoint is.
    let mut limited = behind("trap '' XFSZ; ulimit -f 16", &train_digits("60", &out));
    failed(common::ended(&mut limited), 1);
    assert!(!out.join("result.json").exists());
    succeeds(&mut resume(&out));
    assert!(out.join("result.json").exists());
}

#[test]
fn what_is_made_of_a_private_folder_of_images_is_private() {
    let (folder, images) = temporary("images");
    for (class, bright) in [("above", 200), ("below", 30)] {
        fs::create_dir_all(images.join(class)).unwrap();
        for number in 0..40_u8 {
            let image = image::GrayImage::from_fn(8, 8, |x, y| {
                image::Luma([bright + ((x * 3 + y * u32::from(number)) % 40) as u8])
            });
            let file = images.join(class).join(format!("{number}.png"));
            image.save(file).unwrap();
        }
    }
    let set = |path: &Path, mode| {
        fs::set_permissions(path, fs::Permissions::from_mode(mode)).unwrap();
    };
    set(&images, 0o755);
    // The modes of a folder of a class and of one of its images, and what nobody else may do then.
    for (nth, (mode, of_image, others)) in [
        (0o755, 0o644, 0),
        (0o750, 0o644, 0o007),
        (0o700, 0o644, 0o077),
        (0o755, 0o600, 0o077),
    ]
    .into_iter()
    .enumerate()
    {
        set(&images.join("below"), mode);
        set(&images.join("below/3.png"), of_image);
        let out = folder.path().join(nth.to_string());
        let command = rows::of_data(&images, &out);
        succeeds(&mut behind("umask 022", &command));
        let report = out.join("report.html");
        let of_report = fs::metadata(&report).unwrap().permissions().mode();
        assert_eq!(of_report & 0o044, 0o044 & !others, "{mode:o} {of_image:o}");
        for path in everything(&out) {
            let of = fs::metadata(&path).unwrap().permissions().mode();
            assert_eq!(of & others, 0, "{nth} {}: {of:o}", path.display());
        }
    }
}

/// 65,536 sequences of 512 tokens and a vocabulary of 65,536 take 26 TB.
#[cfg(target_os = "linux")]
#[test]
fn a_vocabulary_that_takes_more_than_the_memory_is_refused_before_anything_runs() {
    let (folder, ids) = temporary("ids.bin");
    let tokens = (0..40_000_u32).map(|i| if i == 7 { 65_535 } else { (i % 9) as u16 });
    fs::write(&ids, tokens.flat_map(u16::to_le_bytes).collect::<Vec<_>>()).unwrap();
    let out = folder.path().join("out");
    for command in ["compare --seeds 1 --jobs 1", "train"] {
        let sizes = "--tokens u16 --steps 1 --train-length 512 --batch-size 65536";
        let line = format!("{command} {sizes} --data ids.bin --out out");
        let stderr = failed(common::run_in(folder.path(), &line), 2);
        stderr.says("takes at least 26,388,279,066,624 bytes of memory, and ");
        assert!(!out.join("trials").exists() && !out.join("spec.json").exists());
    }
}

/// With `RUST_BACKTRACE=1` a panic writes where it happened, which takes memory.
#[cfg(target_os = "linux")]
#[test]
fn a_program_without_memory_ends() {
    let folder = tempfile::tempdir().unwrap();
    let (mut ended_itself, mut has_enough) = (0, 0);
    for megabytes in (40..160).step_by(3) {
        let out = folder.path().join(megabytes.to_string());
        let setup = format!("ulimit -v {}", megabytes << 10);
        let mut limited = behind(&setup, &train_digits("1", &out));
        limited.env("RUST_BACKTRACE", "1");
        limited.stdout(Stdio::null()).stderr(Stdio::null());
        let mut child = limited.spawn().unwrap();
        let code = common::end_of(&mut child, 60);
        assert!(code.is_some(), "it hangs with {megabytes} MiB");
        ended_itself += u32::from(code == Some(1));
        has_enough += u32::from(code == Some(0));
        // With more it has enough too.
        if has_enough == 3 {
            break;
        }
    }
    assert!(ended_itself > 0);
}
