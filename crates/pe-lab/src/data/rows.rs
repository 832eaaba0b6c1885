//! Collects labelled token sequences, and the rows that cannot be used.

use std::collections::HashMap;

use super::error::{BadLine, Problem, SHOWN};
use super::limits::{MAX_CHARACTERS, MAX_ROWS, MAX_TOKENS};
use super::quote::{grouped, shorten};

/// One labelled sequence: its tokens and its label as indices.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Row {
    /// Indices into [`Rows::words`].
    pub tokens: Vec<u32>,
    /// Index into [`Rows::labels`].
    pub label: usize,
}

/// The rows of a file, in its order.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Rows {
    pub rows: Vec<Row>,
    /// The different tokens, in the order of their first occurrence.
    pub words: Vec<String>,
    /// The different labels, sorted.
    pub labels: Vec<String>,
}

/// The tokens of a row that is being read. Tokens beyond the limit are only counted.
#[derive(Debug, Default)]
pub(super) struct Tokens {
    kept: Vec<String>,
    count: usize,
}

impl Tokens {
    /// Adds a token.
    pub fn push(&mut self, token: &str) {
        self.count += 1;
        if self.count <= MAX_TOKENS {
            // A token that is too long is an error; its beginning is enough for the message.
            let end = token.char_indices().nth(MAX_CHARACTERS + 1);
            self.kept
                .push(token[..end.map_or(token.len(), |(at, _)| at)].to_string());
        }
    }

    /// The number of tokens added.
    pub fn count(&self) -> usize {
        self.count
    }
}

/// Collects rows, and notes those that cannot be used, so that one message lists several of them.
#[derive(Debug, Default)]
pub(super) struct Collector {
    rows: Vec<Row>,
    words: Numbers,
    labels: Numbers,
    bad: Vec<BadLine>,
    bad_count: usize,
}

impl Collector {
    /// Notes a row that cannot be used. `what` is only called if the message will show it.
    pub fn reject(&mut self, line: usize, what: impl FnOnce() -> String) {
        self.bad_count += 1;
        if self.bad.len() < SHOWN {
            self.bad.push(BadLine { line, what: what() });
        }
    }

    /// Adds a row, or notes what is wrong with it.
    ///
    /// # Errors
    ///
    /// [`Problem::TooManyRows`] when there are [`MAX_ROWS`] rows already.
    pub fn take(&mut self, line: usize, label: &str, tokens: &Tokens) -> Result<(), Problem> {
        let too_long = |text: &&str| text.chars().nth(MAX_CHARACTERS).is_some();
        let all = || std::iter::once(label).chain(tokens.kept.iter().map(String::as_str));
        if label.is_empty() {
            self.reject(line, || {
                "has no label; write one, or delete the row".to_string()
            });
        } else if tokens.count == 0 {
            self.reject(line, || {
                format!(
                    "has no tokens beside the label {}; write some, or delete the row",
                    shorten(label)
                )
            });
        } else if tokens.count > MAX_TOKENS {
            self.reject(line, || {
                format!(
                    "a sequence of {} tokens, which begins with {}; at most {MAX_TOKENS}, since \
                     the cost of attention grows with the square of the length: shorten it, or \
                     make several rows of it",
                    grouped(tokens.count),
                    shorten(&tokens.kept[..8].join(" "))
                )
            });
        } else if let Some(long) = all().find(too_long) {
            self.reject(line, || {
                format!(
                    "{} is one label or token of more than {} characters; separate tokens by \
                     spaces",
                    shorten(long),
                    grouped(MAX_CHARACTERS)
                )
            });
        } else if self.rows.len() == MAX_ROWS {
            return Err(Problem::TooManyRows);
        } else {
            let label = self.labels.of(label) as usize;
            let tokens = tokens.kept.iter().map(|token| self.words.of(token));
            self.rows.push(Row {
                tokens: tokens.collect(),
                label,
            });
        }
        Ok(())
    }

    /// All rows.
    ///
    /// # Errors
    ///
    /// [`Problem::Lines`] when some rows cannot be used.
    pub fn finish(self) -> Result<Rows, Problem> {
        if self.bad_count > 0 {
            return Err(Problem::Lines {
                count: self.bad_count,
                shown: self.bad,
            });
        }
        let mut rows = self.rows;
        let found = self.labels.names();
        let mut labels = found.clone();
        labels.sort();
        let places: HashMap<&String, usize> = labels
            .iter()
            .enumerate()
            .map(|(place, name)| (name, place))
            .collect();
        for row in &mut rows {
            row.label = places[&found[row.label]];
        }
        Ok(Rows {
            rows,
            words: self.words.names(),
            labels,
        })
    }
}

/// Gives each string a number, from 0 in the order of first occurrence.
#[derive(Debug, Default)]
struct Numbers(HashMap<String, u32>);

impl Numbers {
    fn of(&mut self, name: &str) -> u32 {
        match self.0.get(name) {
            Some(number) => *number,
            None => {
                let number = self.0.len() as u32;
                self.0.insert(name.to_string(), number);
                number
            }
        }
    }

    fn names(self) -> Vec<String> {
        let mut names: Vec<(u32, String)> = self
            .0
            .into_iter()
            .map(|(name, number)| (number, name))
            .collect();
        names.sort_unstable();
        names.into_iter().map(|(_, name)| name).collect()
    }
}
