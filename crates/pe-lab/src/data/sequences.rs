//! The rows of a data file as a task reads them: all of their tokens in one run.

use super::rows::Rows;

/// Labelled rows, whose tokens have the numbers of [`Rows::words`].
#[derive(Debug)]
pub(super) struct Sequences {
    /// Where each row ends among the tokens.
    pub ends: Vec<u32>,
    pub labels: Vec<u32>,
    /// The tokens of each label, where labels are answers that are written; else none.
    pub answers: Option<Vec<Vec<u32>>>,
    /// The tokens of all rows, one row after the other.
    tokens: Vec<u32>,
    /// How long after the first token of its row each token comes, where rows have times.
    pub since: Option<Vec<f64>>,
}

impl Sequences {
    /// The rows of a file that was read. There are at most [`MAX_ROWS`](super::limits::MAX_ROWS) of them with
    /// [`MAX_TOKENS`](super::limits::MAX_TOKENS) each, so 32 bits count their tokens.
    pub fn of(data: &Rows) -> Self {
        let mut end = 0;
        let ends = data.rows.iter().map(|row| {
            end += row.tokens.len() as u32;
            end
        });
        let ends = ends.collect();
        let tokens = data.rows.iter().flat_map(|row| &row.tokens);
        Self {
            ends,
            labels: data.rows.iter().map(|row| row.label as u32).collect(),
            answers: data.answers.clone(),
            tokens: tokens.copied().collect(),
            since: data
                .times
                .as_ref()
                .map(|times| times.rows().flatten().copied().collect()),
        }
    }

    pub fn count(&self) -> usize {
        self.ends.len()
    }

    pub fn length(&self, row: usize) -> usize {
        self.ends[row] as usize - self.start(row)
    }

    pub fn label(&self, row: usize) -> usize {
        self.labels[row] as usize
    }

    /// The tokens of a row.
    pub fn tokens(&self, row: usize) -> &[u32] {
        &self.tokens[self.start(row)..self.ends[row] as usize]
    }

    /// How long after the first token of a row each of its tokens comes, where rows have times.
    pub fn since(&self, row: usize) -> Option<&[f64]> {
        let since = self.since.as_ref()?;
        Some(&since[self.start(row)..self.ends[row] as usize])
    }

    fn start(&self, row: usize) -> usize {
        match row {
            0 => 0,
            _ => self.ends[row - 1] as usize,
        }
    }
}
