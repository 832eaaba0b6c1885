//! Which rows of a file could not be used, or were changed.

use super::error::{BadLine, Problem, SHOWN};
use super::quote::{counted, grouped};
use super::reading::Reading;

/// How the token of an empty cell is shown.
pub(super) const SHOWN_EMPTY: &str = "<empty>";

/// Rows that cannot be used, and rows that were changed.
#[derive(Debug, Default)]
pub(super) struct Untaken {
    /// The first lines that cannot be used, and how many there are.
    bad: Vec<BadLine>,
    pub bad_count: usize,
    /// The rows that were cut.
    pub cut: usize,
    /// The rows with empty cells between others, and those that end with empty cells.
    pub with_empty: usize,
    pub ended_by_empty: usize,
}

impl Untaken {
    /// Notes a line that cannot be used.
    pub fn reject(&mut self, line: usize, what: String) {
        self.bad_count += 1;
        if self.bad.len() < SHOWN {
            self.bad.push(BadLine { line, what });
        }
    }

    /// The problem that lines cannot be used. `can_skip` says whether they could be left out.
    pub fn problem(self, can_skip: bool) -> Problem {
        Problem::Lines {
            count: self.bad_count,
            shown: self.bad,
            can_skip,
        }
    }

    /// All of these rows in words.
    pub fn describe(&self, reading: &Reading, are_numbers: bool) -> Vec<String> {
        let rows = |count| counted(count, "row");
        let mut notes = Vec::new();
        if self.bad_count > 0 {
            notes.push(self.left_out(reading.skip_bad));
        }
        if let (Some(max_len), true) = (reading.max_len, self.cut > 0) {
            notes.push(format!(
                "{} cut after {max_len} tokens, as --max-len says",
                rows(self.cut)
            ));
        }
        if self.with_empty > 0 {
            notes.push(format!(
                "{} with empty cells: an empty cell is {}",
                rows(self.with_empty),
                match are_numbers {
                    false => format!("a token of its own, shown as {SHOWN_EMPTY}"),
                    true => "a missing value, shown as ?".into(),
                }
            ));
        }
        if self.ended_by_empty > 0 {
            notes.push(format!(
                "{} with {} at the end: there the row ends",
                rows(self.ended_by_empty),
                match are_numbers {
                    false => "empty cells",
                    true => "missing values",
                }
            ));
        }
        notes
    }

    fn left_out(&self, skip_bad: usize) -> String {
        format!(
            "{} left out, since --skip-bad allows {}: {}{}",
            counted(self.bad_count, "bad line"),
            grouped(skip_bad),
            self.first(),
            match self.bad_count - self.bad.len() {
                0 => String::new(),
                more => format!("; and {} more", grouped(more)),
            }
        )
    }

    /// The first lines that cannot be used.
    pub fn first(&self) -> String {
        let lines: Vec<String> = self.bad.iter().map(ToString::to_string).collect();
        lines.join("; ")
    }
}
