//! This program, called as a laboratory.

use std::path::Path;
use std::process::Command;

use super::common::{Ended, SMALL, ended, well, words};

/// This program, to be given arguments.
pub fn lab() -> Command {
    Command::new(std::env::current_exe().unwrap())
}

/// Runs the program in a folder, with the words of a line.
pub fn ran(folder: &Path, line: &str) -> Ended {
    ended(lab().args(words(line)).current_dir(folder))
}

/// The same, to a good end.
#[track_caller]
pub fn good(folder: &Path, line: &str) -> (String, String) {
    well(ran(folder, line))
}

/// A study of small models, as [`good`].
#[track_caller]
pub fn small(folder: &Path, line: &str) -> (String, String) {
    good(folder, &format!("{line} {SMALL} --batch-size 16"))
}
