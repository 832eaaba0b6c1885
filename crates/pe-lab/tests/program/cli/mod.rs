//! The program as a user sees it: its output, its files, its exit codes.

mod study;

use std::fs;
use std::path::Path;
use std::time::SystemTime;

use crate::common::{
    Ended, Says, compare, digits, edit_sealed, ended, failed, json, lab, report, rows, well, words,
};
use pe_lab::ask::Scheme;

/// A study of two tiny trials.
fn tiny(flags: &str, out: &Path) -> Ended {
    let study = "--schemes none,learned --seeds 1 --steps 2";
    ended(&mut digits(&format!("{study} {flags}"), out))
}

/// The study of a file, or of other flags.
fn study(flags: &str, out: &Path) -> Ended {
    ended(&mut compare(flags, out))
}

/// The program with the words of a line.
fn run(line: &str) -> Ended {
    ended(lab().args(words(line)))
}

#[test]
fn wrong_use_exits_with_2_and_says_what_is_right() {
    let folder = tempfile::tempdir().unwrap();
    for [arguments, said] in rows(
        "
        compare --tasks sorting                    | the tasks are: digits, reverse
        compare --schemes cosine                   | none, sinusoidal, learned
        compare --device gpu                       | the devices are: flex, ndarray, tch, tch-cuda, wgpu
        compare --seeds many                       | neither a number of seeds
        compare --seeds 0                          | from 1 to 1000
        compare --steps 0                          | 0 steps were asked for
        compare --preset slow                      | quick, standard, full
        compare --preset standart                  | there is no preset `standart` (did you mean `standard`?)
        compare --schemes rope                     | there is no scheme `rope` (did you mean `rotary`?)
        compare --schemes sinusodal                | (did you mean `sinusoidal`?)
        compare --schemes all,rotarry              | there is no scheme `rotarry` (did you mean `rotary`?)
        train --scheme rope                        | there is no scheme `rope` (did you mean `rotary`?)
        compare --label Class                      | name its file with --data FILE
        compare --folds 5                          | name its file with --data FILE
        compare --delimiter ab                     | it takes one character
        compare --tokens letters                   | cells, words, characters
        compare --text a --columns b               | cannot be used with
        compare --preset full --study x.toml       | cannot be used with
        compare --data x.csv --tasks reverse       | cannot be used with
        compare --jobs 0                           | at least 1
        compare --steps ten                        | invalid value
        compare --steps -1                         | invalid value '-1' for '--steps
        compare --lr -0.1                          | learning_rate is -0.1; it must be above 0
        compare --tasks text --schemes none --test-scalings yarn | none of the schemes none has them
        compare --tasks text --test-scalings foo   | `foo` is no scaling; it must be one of linear
        compare --tasks addition --schemes rotary --heads 2 --d-model 30 | the scheme rotary: rotary_dim (d_head, unless it is set) must be even
        compare --schemes none,none                | named twice
        --colour                                   | unexpected argument
        banana                                     | unrecognized subcommand
        ",
    ) {
        let (code, stdout, stderr) = match arguments.strip_prefix("compare") {
            Some(flags) => study(flags, &folder.path().join("x")),
            None => run(arguments),
        };
        assert_eq!((code, &*stdout), (2, ""), "{arguments}: {stderr}");
        stderr.says(said);
    }
    let (_, _, stderr) = ended(lab().args(["compare", "--tasks", "digits, revers"]));
    stderr.says("there is no task `revers` (did you mean `reverse`?)");
    assert!(
        !folder.path().join("x").exists(),
        "wrong use leaves nothing"
    );
}

#[cfg(not(feature = "cuda"))]
#[test]
fn a_device_that_is_not_built_in_names_the_command() {
    failed(run("--device cuda"), 2)
        .says("cargo run --release --features cuda -- compare --device cuda");
}

#[test]
fn lists_and_help_name_everything() {
    let (tasks, _) = well(run("tasks"));
    tasks.says("digits  … \nreverse ");
    tasks.says_all(&[
        "mqar(tokens=64, pairs=4, vocabulary=8192)",
        "\n  pairs=P ",
        "\n  train_length=N ",
    ]);
    let (_, schemes, _) = run("schemes");
    // Behind a blank line it tells what can be set.
    let listed = schemes.lines().take_while(|line| !line.is_empty());
    assert_eq!(listed.count(), Scheme::names().len());
    schemes.says("rotary(base=500000, share=0.25)");
    let times = schemes.lines().find(|line| line.contains("such as times"));
    let times = times.unwrap_or_default();
    times.says(" sinusoidal, … time2vec");
    assert!(!times.contains("learned"), "{times}");
    for name in Scheme::names() {
        let about = schemes.lines().find_map(|line| line.strip_prefix(name));
        assert!(about.unwrap().trim().len() > 10, "{schemes}");
    }
    let alibi = schemes.lines().find(|line| line.starts_with("alibi "));
    let alibi = alibi.unwrap();
    alibi.says("a variant, not the paper's own … half a step farther");
    let (_, devices, _) = run("devices");
    assert!(devices.starts_with("flex "), "{devices}");
    let (help, _) = well(run("--help"));
    help.says_all(&["compare", "--seeds", "--device", "Exit codes"]);
    // The worker's command is hidden.
    assert!(!help.contains("spec.json"), "{help}");
}

#[test]
fn short_help_fits_on_a_screen_and_long_help_has_the_options_for_own_data() {
    let commands =
        "compare train report judge costs merge slurm hyperqueue predict plot inspect serve man";
    for command in commands.split(' ') {
        let (help, _) = well(run(&format!("{command} -h")));
        assert!(help.lines().count() <= 41, "{command}: {help}");
        for line in help.lines() {
            assert!(line.chars().count() <= 100, "{command}: {line}");
        }
    }
    let (_, short, _) = run("compare -h");
    let (_, long, _) = run("compare --help");
    for hidden in ["Your own data:", "--label ", "--folds ", "--weight-decay "] {
        assert!(!short.contains(hidden), "{short}");
        long.says(hidden);
    }
    // The headings of groups of options are for these groups alone.
    let (_, train, _) = run("train --help");
    train.says("--scheme … --device … --resume … Your own data: … --label … Model and training: … --d-model");
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
fn a_report_and_costs_need_a_study() {
    let folder = tempfile::tempdir().unwrap();
    failed(ended(&mut report(folder.path())), 2).says("holds no study");
    failed(ended(lab().arg("costs").arg(folder.path())), 2).says("holds no study");
    let file = folder.path().join("rows.csv");
    std::fs::write(&file, "label,text\n").unwrap();
    failed(ended(&mut report(&file)), 2).says("rows.csv holds no study: it is a file");
    failed(ended(lab().arg("serve").arg(&file)), 2).says("serve takes the folder of a study");
    failed(ended(lab().arg("man").arg("--out").arg(&file)), 2).says("rows.csv is a file");
}

#[test]
fn a_folder_with_something_else_in_it_is_refused() {
    let folder = tempfile::tempdir().unwrap();
    fs::write(folder.path().join("results.csv"), "mine").unwrap();
    failed(tiny("", folder.path()), 2).says("not empty");
    assert!(!folder.path().join("study.lock").exists());
    let kept = fs::read(folder.path().join("results.csv")).unwrap();
    assert_eq!(kept, b"mine");
}
