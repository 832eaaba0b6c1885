//! Helpers for tests: words looked for in a text, and tables of test cases. The integration tests include this file too.

use std::fmt::Display;

/// A message to the user, in which a test looks for words.
pub trait Says {
    fn text(&self) -> String;

    /// Panics unless the text holds these words. ` … ` stands for any text between two parts, which come in this order.
    #[track_caller]
    fn says(&self, words: &str) {
        let text = self.text();
        let mut rest = &text[..];
        for part in words.split(" … ") {
            let found = rest.split_once(part);
            rest = found.map_or_else(|| panic!("`{part}` is not in: {text}"), |(_, rest)| rest);
        }
    }

    #[track_caller]
    fn says_all(&self, all: &[&str]) {
        all.iter().for_each(|words| self.says(words));
    }
}

impl<T: Display + ?Sized> Says for T {
    fn text(&self) -> String {
        self.to_string()
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
