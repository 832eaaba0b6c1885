//! This program, called as a laboratory.

use std::path::Path;
use std::process::Command;

use super::common::SMALL;

/// This program, to be given arguments.
pub fn lab() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Runs the program in a folder to its end: exit code, standard output, standard error.
pub fn ran(folder: &Path, arguments: &[&str]) -> (i32, String, String) {
    let output = lab().args(arguments).current_dir(folder).output().unwrap();
    let text = |bytes: Vec<u8>| String::from_utf8(bytes).unwrap();
    (
        output.status.code().unwrap(),
        text(output.stdout),
        text(output.stderr),
    )
}

/// As [`ran`], without an error: standard output and standard error.
pub fn good(folder: &Path, arguments: &[&str]) -> (String, String) {
    let (code, stdout, stderr) = ran(folder, arguments);
    assert_eq!(code, 0, "{arguments:?}: {stdout}{stderr}");
    (stdout, stderr)
}

/// A study of small models, as [`good`].
pub fn small(folder: &Path, arguments: &[&str]) -> (String, String) {
    good(
        folder,
        &[arguments, &SMALL, &["--batch-size", "16"]].concat(),
    )
}

/// Every score and loss of a study, without the times.
pub fn numbers(out: &Path) -> Vec<String> {
    let text = std::fs::read_to_string(out.join("results.jsonl")).unwrap();
    let numbers = text.lines().map(|line| {
        let mut result: serde_json::Value = serde_json::from_str(line).unwrap();
        result["outcome"]["finished"]["timing"].take();
        result.to_string()
    });
    numbers.collect()
}
