//! What the tests of this folder share: files that are read, and what is said of them.

use std::fs;
use std::path::{Path, PathBuf};

use super::reading::Reading;
use super::spec::Source;
use super::task::DataTask;

/// The usual settings, but for a change.
pub fn reading(change: impl FnOnce(&mut Reading)) -> Reading {
    let mut reading = Reading::default();
    change(&mut reading);
    reading
}

/// A file of this name and content in a folder.
pub fn file(folder: &Path, name: &str, content: impl AsRef<[u8]>) -> PathBuf {
    let file = folder.join(name);
    fs::write(&file, content).unwrap();
    file
}

/// The task of a file that is there, or what is wrong with it.
pub fn task_of(file: &Path, reading: Reading) -> Result<DataTask, String> {
    let source = Source {
        reading,
        ..Source::from(file)
    };
    DataTask::read(&source).map_err(|error| error.to_string())
}

/// The task of a file of this name and content, or what is wrong with it.
pub fn read(name: &str, content: impl AsRef<[u8]>, reading: Reading) -> Result<DataTask, String> {
    let folder = tempfile::tempdir().unwrap();
    task_of(&file(folder.path(), name, content), reading)
}

/// What is said to a person, in which words have to be.
pub trait Says {
    fn text(&self) -> String;

    #[track_caller]
    fn says(&self, words: &str) {
        let text = self.text();
        assert!(text.contains(words), "`{words}` is not in: {text}");
    }

    #[track_caller]
    fn says_all(&self, all: &[&str]) {
        all.iter().for_each(|words| self.says(words));
    }
}

impl Says for str {
    fn text(&self) -> String {
        self.to_string()
    }
}

impl Says for DataTask {
    fn text(&self) -> String {
        self.describe().join("\n")
    }
}

/// The rows of a table: a row on each line, and a bar between two cells. In a cell, `⏎` is the end of a line.
pub fn rows<const N: usize>(table: &str) -> Vec<[&'static str; N]> {
    let cell = |cell: &str| -> &'static str { cell.trim().replace('⏎', "\n").leak() };
    let row = |line: &str| {
        let cells: Vec<_> = line.split('|').map(cell).collect();
        cells.try_into().unwrap_or_else(|_| panic!("{line}"))
    };
    let lines = table.lines().filter(|line| !line.trim().is_empty());
    lines.map(row).collect()
}
