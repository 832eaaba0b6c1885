//! The program as a user sees it: its output, its files, its exit codes.

mod study;

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::common::{SMALL, edit_sealed, ended, json, lab, refused, says, well, words};
use pe_lab::ask::Scheme;

/// A study of two tiny trials.
fn tiny<'a>(more: &[&'a str]) -> Vec<&'a str> {
    let study = "--tasks digits --schemes none,learned --seeds 1 --steps 2";
    let study: Vec<&str> = study.split(' ').collect();
    [&["compare"], &SMALL[..], &study, more].concat()
}

/// Exit code, standard output and standard error.
fn run(arguments: &[&str], out: Option<&Path>) -> (i32, String, String) {
    let mut command = lab();
    command.args(arguments);
    if let Some(out) = out {
        command.arg("--out").arg(out);
    }
    ended(&mut command)
}

#[test]
fn wrong_use_exits_with_2_and_says_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    for (arguments, said) in [
        ("compare --tasks sorting", "the tasks are: digits, reverse"),
        ("compare --schemes cosine", "none, sinusoidal, learned"),
        (
            "compare --device gpu",
            "the devices are: flex, ndarray, tch, tch-cuda, wgpu",
        ),
        ("compare --seeds many", "neither a number of seeds"),
        ("compare --seeds 0", "from 1 to 1000"),
        ("compare --steps 0", "0 steps were asked for"),
        ("compare --preset slow", "quick, standard, full"),
        (
            "compare --preset standart",
            "there is no preset `standart` (did you mean `standard`?)",
        ),
        (
            "compare --schemes rope",
            "there is no scheme `rope` (did you mean `rotary`?)",
        ),
        (
            "compare --schemes sinusodal",
            "(did you mean `sinusoidal`?)",
        ),
        (
            "compare --schemes all,rotarry",
            "there is no scheme `rotarry` (did you mean `rotary`?)",
        ),
        (
            "train --scheme rope",
            "there is no scheme `rope` (did you mean `rotary`?)",
        ),
        ("compare --label Class", "name its file with --data FILE"),
        ("compare --folds 5", "name its file with --data FILE"),
        ("compare --delimiter ab", "it takes one character"),
        ("compare --tokens letters", "cells, words, characters"),
        ("compare --text a --columns b", "cannot be used with"),
        (
            "compare --preset full --study x.toml",
            "cannot be used with",
        ),
        (
            "compare --data x.csv --tasks reverse",
            "cannot be used with",
        ),
        ("compare --jobs 0", "at least 1"),
        ("compare --steps ten", "invalid value"),
        ("compare --schemes none,none", "named twice"),
        ("--colour", "unexpected argument"),
        ("banana", "unrecognized subcommand"),
    ] {
        let out = arguments
            .starts_with("compare")
            .then(|| folder.path().join("x"));
        let (code, stdout, stderr) = run(&words(arguments), out.as_deref());
        assert_eq!(code, 2, "{arguments}: {stderr}");
        assert!(stderr.contains(said), "{arguments}: {stderr}");
        assert_eq!(stdout, "", "{arguments}");
    }
    let (_, _, stderr) = run(&["compare", "--tasks", "digits, revers"], None);
    says(
        &stderr,
        &["there is no task `revers` (did you mean `reverse`?)"],
    );
    assert!(
        !folder.path().join("x").exists(),
        "wrong use must leave nothing behind"
    );
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_device_that_is_not_built_in_names_the_command() {
    refused(
        run(&["--device", "cuda"], None),
        2,
        &["cargo run --release --features cuda -- compare --device cuda"],
    );
}

#[test]
fn lists_and_help_name_everything() {
    let (tasks, _) = well(run(&["tasks"], None));
    assert!(
        tasks.lines().any(|line| line.starts_with("digits ")),
        "{tasks}"
    );
    assert!(
        tasks.lines().any(|line| line.starts_with("reverse ")),
        "{tasks}"
    );
    says(
        &tasks,
        &[
            "mqar(tokens=64, pairs=4, vocabulary=8192)",
            "\n  pairs=P ",
            "\n  train_length=N ",
        ],
    );
    let (_, schemes, _) = run(&["schemes"], None);
    // Behind a blank line it tells what can be set.
    let listed = schemes.lines().take_while(|line| !line.is_empty());
    assert_eq!(listed.count(), Scheme::names().len());
    assert!(schemes.contains("rotary(base=500000, share=0.25)"));
    let times = schemes.lines().find(|line| line.contains("such as times"));
    let times = times.unwrap_or_default();
    assert!(
        times.contains(" sinusoidal, ") && times.contains("time2vec") && !times.contains("learned"),
        "{times}"
    );
    for name in Scheme::names() {
        let line = schemes.lines().find(|line| line.starts_with(name));
        let about = line.and_then(|line| line.strip_prefix(name));
        assert!(
            about.is_some_and(|about| about.trim().len() > 10),
            "{schemes}"
        );
    }
    let alibi = schemes.lines().find(|line| line.starts_with("alibi "));
    assert!(
        alibi.is_some_and(|line| line.contains("a variant, not the paper's own")),
        "{schemes}"
    );
    let (_, devices, _) = run(&["devices"], None);
    assert!(
        devices.lines().any(|line| line.starts_with("flex ")),
        "{devices}"
    );
    let (help, _) = well(run(&["--help"], None));
    says(&help, &["compare", "--seeds", "--device", "Exit codes"]);
    assert!(
        !help.contains("spec.json"),
        "the worker's command is hidden: {help}"
    );
}

#[test]
fn short_help_fits_on_a_screen_and_long_help_has_the_options_for_own_data() {
    let commands =
        "compare train report judge costs merge slurm hyperqueue predict plot inspect serve man";
    for command in commands.split(' ') {
        let (help, _) = well(run(&[command, "-h"], None));
        assert!(help.lines().count() <= 41, "{command}: {help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
    let (_, short, _) = run(&["compare", "-h"], None);
    let (_, long, _) = run(&["compare", "--help"], None);
    for hidden in ["Your own data:", "--label ", "--folds ", "--weight-decay "] {
        assert!(!short.contains(hidden), "{short}");
        assert!(long.contains(hidden), "{long}");
    }
}

#[test]
fn a_full_standard_output_is_an_error_and_a_closed_one_is_not() {
    let Ok(full) = fs::OpenOptions::new().write(true).open("/dev/full") else {
        return;
    };
    let output = lab().arg("tasks").stdout(full).output().unwrap();
    assert_eq!(output.status.code(), Some(1));
    let (reader, writer) = std::io::pipe().unwrap();
    drop(reader);
    let output = lab().arg("tasks").stdout(writer).output().unwrap();
    assert_eq!(output.status.code(), Some(0));
}

#[test]
fn a_report_needs_a_study() {
    let folder = tempfile::tempdir().unwrap();
    let name = folder.path().to_string_lossy().into_owned();
    refused(run(&["report", &name], None), 2, &["holds no study"]);
}

#[test]
fn a_folder_with_something_else_in_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("results.csv"), "mine").unwrap();
    refused(run(&tiny(&[]), Some(folder.path())), 2, &["not empty"]);
    assert!(!folder.path().join("study.lock").exists());
    assert_eq!(
        fs::read_to_string(folder.path().join("results.csv")).unwrap(),
        "mine"
    );
}
