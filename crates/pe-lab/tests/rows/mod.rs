//! A file of labelled rows, and a short study of one.

use std::fs;
use std::path::Path;
use std::process::Command;

use crate::common::{SMALL, lab, words};

/// Writes a file of labelled rows.
pub fn write_rows(file: &Path) {
    let rows = (0..40).map(|i| format!("well,a b {i}\nill,b a {i}\n"));
    fs::write(file, format!("label,text\n{}", rows.collect::<String>())).unwrap();
}

/// A short study of a data file, with a small model.
pub fn of_data(file: &Path, out: &Path) -> Command {
    let mut command = lab();
    command.args(words("compare --schemes none --seeds 1 --steps 3 --data"));
    command.arg(file).args(words(SMALL)).arg("--out").arg(out);
    command
}
