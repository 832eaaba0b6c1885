//! Whether rows have labels, and labels that say that one is missing.

use super::error::Problem;
use super::limits::MAX_CHARACTERS;
use super::numbers::{self, is_missing};
use super::quote::{counted, shorten};

/// Whether every row has a label.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) enum Labels {
    /// A row without one cannot be used.
    #[default]
    Needed,
    /// Rows are to be predicted: the label of one that has none is [`UNLABELLED`].
    IfAny,
}

impl Labels {
    /// The label of a row, from what stands where labels stand. A word for a missing value is a label to predict only if it is
    /// one of the study, among `words`.
    pub fn of<'a>(self, found: Option<&'a str>, words: &[String]) -> &'a str {
        let found = found.unwrap_or("").trim();
        let is_none = || is_missing(found) && words.iter().all(|word| word != found);
        match self {
            Self::IfAny if found.chars().nth(MAX_CHARACTERS).is_some() || is_none() => UNLABELLED,
            _ => found,
        }
    }
}

/// The label of a row that is to be predicted and has none. No row of a study has it.
pub(super) const UNLABELLED: &str = "";

/// The labels of a file that are words for a missing value, such as `NA`.
#[derive(Debug, Default)]
pub(super) struct Missing {
    /// The first, with its line.
    first: Option<(usize, String)>,
    count: usize,
}

impl Missing {
    pub fn add(&mut self, line: usize, label: &str) {
        if is_missing(label) {
            self.count += 1;
            self.first.get_or_insert_with(|| (line, label.to_string()));
        }
    }

    /// Refuses them where all other labels are numbers to be predicted: as a class among classes, one of them would turn all
    /// numbers into classes.
    ///
    /// # Errors
    ///
    /// [`Problem::Lines`] with the first of them.
    pub fn check<'a>(self, labels: impl Iterator<Item = &'a str>) -> Result<(), Problem> {
        let Some((line, label)) = self.first else {
            return Ok(());
        };
        let others = labels.filter(|label| !is_missing(label));
        let others: Vec<String> = others.map(String::from).collect();
        if numbers::measured_values(&others).is_none() {
            return Ok(());
        }
        let rows = counted(self.count, "row");
        Err(Problem::at_line(
            line,
            format!(
                "the label is {}, and all labels are numbers but those of {rows} that are missing; delete these rows, leave them out with \
                 --objective number --skip-bad {}, or take all labels for classes with --objective class",
                shorten(&label),
                self.count
            ),
        ))
    }
}
