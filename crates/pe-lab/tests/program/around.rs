//! What is around a study: help, completions, the manual, quiet and JSON output, the browser.

use std::fs;
use std::path::Path;

use crate::common::{
    self, Ended, Says, ended, failed, lab, report, small, succeeds, temporary, well,
};

fn tiny(flags: &str, out: &Path) -> Ended {
    let mut command = small(&format!("--seeds 1 --steps 2 {flags}"), out);
    ended(command.args(["--tasks", " digits ", "--schemes", "none, learned"]))
}

#[test]
fn quiet_prints_the_report_alone_and_json_the_numbers() {
    let (folder, out) = temporary("study");
    let (code, stdout, stderr) = tiny("--quiet", &out);
    assert_eq!((code, stderr.as_str()), (0, ""));
    let answer = "One seed proves nothing, whatever the scores: at least 3 are needed";
    assert!(stdout.starts_with(answer), "{stdout}");
    assert!(stdout.lines().count() <= 25, "{stdout}");
    assert!(stdout.trim_end().ends_with("files beside it"), "{stdout}");
    let long = stdout
        .lines()
        .find(|line| line.chars().count() > 80 && !line.starts_with("wrote"));
    assert_eq!(long, None, "{stdout}");
    let (json, _) = well(tiny("--json", &out));
    let printed: serde_json::Value = serde_json::from_str(&json).unwrap();
    assert_eq!(printed, common::json(&out.join("summary.json")));
    let (_, reported, _) = ended(report(&out).arg("--json"));
    assert_eq!(reported, json);
    // A report does not take the place of another study's.
    let other = folder.path().join("other");
    assert_eq!(tiny("-q", &other).0, 0);
    let elsewhere = ended(report(&out).arg("--out").arg(&other));
    failed(elsewhere, 2).says("holds a study of its own");
}

#[cfg(target_os = "linux")]
#[test]
fn open_hands_the_page_to_the_program_of_the_system() {
    use std::os::unix::fs::PermissionsExt;

    let folder = tempfile::tempdir().unwrap();
    let (out, bin) = (folder.path().join("study"), folder.path().join("bin"));
    fs::create_dir(&bin).unwrap();
    let (opener, told) = (bin.join("xdg-open"), folder.path().join("told"));
    let script = format!("#!/bin/sh\necho \"$1\" > '{}'\n", told.display());
    fs::write(&opener, script).unwrap();
    fs::set_permissions(&opener, fs::Permissions::from_mode(0o755)).unwrap();
    assert_eq!(tiny("-q", &out).0, 0);
    let path = format!("{}:/bin:/usr/bin", bin.display());
    let (_, stderr) = succeeds(report(&out).arg("--open").env("PATH", path));
    assert_eq!(stderr, "");
    let page = out.join("report.html").display().to_string();
    assert_eq!(fs::read_to_string(&told).unwrap().trim(), page);
    // Without such a program the report is there all the same.
    let empty = folder.path().join("empty");
    let (_, stderr) = succeeds(report(&out).arg("--open").env("PATH", &empty));
    stderr.says("was not opened: xdg-open");
}

#[test]
fn help_lists_the_keys_and_completions_know_the_names() {
    let (help, _) = succeeds(lab().args(["compare", "--help"]));
    help.says_all(&[
        "see `pe-lab schemes`",
        "[possible values: quick, standard, full, lm]",
        "--features tokenizers",
        "[possible values: cells, words, characters, bytes, u16, u32, numbers, FILE]",
        "input_ids",
        "{\"label\": \"x\", \"text\": \"a b\"}",
        "--no-beyond",
        "--skip-bad",
    ]);
    for shell in ["bash", "zsh", "fish", "powershell", "elvish"] {
        let (script, _) = succeeds(lab().args(["completions", shell]));
        script.says_all(&["pe-lab", "predict", "skip-bad"]);
        // The shells that complete values know the schemes.
        if ["bash", "zsh", "fish"].contains(&shell) {
            assert!(script.contains("randomized_rotary"), "{shell}");
        }
    }
    failed(ended(lab().args(["completions", "tcsh"])), 2).says("bash");
}

#[test]
fn the_manual_is_printed_or_written_for_every_command() {
    let folder = tempfile::tempdir().unwrap();
    let (page, _) = succeeds(lab().arg("man"));
    page.says_all(&[".TH pe-lab 1", "Exit codes"]);
    let out = folder.path().join("man");
    assert_eq!(ended(lab().args(["man", "--out"]).arg(&out)).0, 0);
    for name in ["", "-compare", "-predict", "-plot-curves"] {
        let page = out.join(format!("pe-lab{name}.1"));
        fs::read_to_string(page).unwrap().says(".TH");
    }
    // The worker's command is hidden.
    assert!(!out.join("pe-lab-trial.1").exists());
}

/// On a terminal, which the program `script` plays, there are colours unless NO_COLOR is set.
#[cfg(target_os = "linux")]
#[test]
fn no_color_turns_colours_off_on_a_terminal() {
    let program = assert_cmd::cargo::cargo_bin!("pe-lab").display();
    let line = format!("{program} compare --nonsense");
    let said = |no_color: Option<&str>| {
        let mut command = std::process::Command::new("script");
        command.args(["-qec", &line, "/dev/null"]);
        command.env("TERM", "xterm-256color");
        command.env_remove("NO_COLOR").env_remove("CLICOLOR");
        if let Some(value) = no_color {
            command.env("NO_COLOR", value);
        }
        let output = command.stdin(std::process::Stdio::null()).output().ok()?;
        Some(String::from_utf8_lossy(&output.stdout).into_owned())
    };
    let Some(coloured) = said(None) else {
        eprintln!("skipped: there is no program `script`");
        return;
    };
    coloured.says_all(&["--nonsense", "\u{1b}["]);
    let plain = said(Some("1")).unwrap();
    plain.says("--nonsense");
    assert!(!plain.contains("\u{1b}["), "{plain:?}");
}
