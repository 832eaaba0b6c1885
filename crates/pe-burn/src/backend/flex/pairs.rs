//! Which row of a table belongs to each pair of a query and a key, as runs: most often rows follow each other along the keys, or
//! stay the same.

use alloc::vec::Vec;
use core::ops::Range;

use super::units::blocks;

/// The row of a table for every pair.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// The numbers of queries and of keys.
    pub counts: [usize; 2],
    /// Of each line of keys, of one sequence or of each.
    lines: Vec<Vec<Run>>,
}

/// Keys of a line whose rows follow each other, or that have the same row.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub keys: Range<usize>,
    /// The row of the first key.
    pub row: usize,
    /// From a key to the next: 0 or 1.
    pub step: usize,
}

impl Pairs {
    pub fn new(counts @ [_, keys]: [usize; 2], rows: &[u32]) -> Self {
        let lines = rows.chunks(keys).map(runs).collect();
        Self { counts, lines }
    }

    /// The rows of one sequence.
    pub fn of(&self, sequence: usize) -> &[Vec<Run>] {
        let [queries, _] = self.counts;
        &self.lines[sequence * queries % self.lines.len()..][..queries]
    }

    /// The queries and keys of a block of tokens of one side.
    pub fn tokens(&self, axis: usize, block: Range<usize>) -> [Range<usize>; 2] {
        let mut tokens = self.counts.map(|count| 0..count);
        tokens[axis] = block;
        tokens
    }

    /// The rows from the first to the last one that occurs in each block of tokens.
    pub fn spans(&self, axis: usize, width: usize) -> Vec<Range<usize>> {
        let sequences = 0..self.lines.len() / self.counts[0];
        let all = sequences.flat_map(|sequence| {
            let blocks = blocks(self.counts[axis]);
            blocks.map(move |block| (sequence, block))
        });
        let span = |(sequence, block)| {
            if width == 1 {
                return 0..1;
            }
            let [queries, keys] = self.tokens(axis, block);
            let lines = self.of(sequence)[queries].iter().flatten();
            let rows = lines
                .filter_map(|run| run.within(&keys))
                .map(|run| run.rows());
            let (first, end) = rows.fold((usize::MAX, 0), |(first, end), rows| {
                (first.min(rows.start), end.max(rows.end))
            });
            assert!(end <= width, "row {} of a table of {width}", end - 1);
            first..end
        };
        all.map(span).collect()
    }
}

/// The runs of a line.
fn runs(rows: &[u32]) -> Vec<Run> {
    let mut runs: Vec<Run> = Vec::new();
    for (key, row) in rows.iter().map(|row| *row as usize).enumerate() {
        if !runs.last_mut().is_some_and(|run| run.takes(row)) {
            let keys = key..key + 1;
            runs.push(Run { keys, row, step: 0 });
        }
    }
    runs
}

impl Run {
    /// Whether it goes on with the row of the next key; then it has this key too.
    fn takes(&mut self, row: usize) -> bool {
        let len = self.keys.len();
        if len == 1 && row == self.row + 1 {
            self.step = 1;
        }
        let takes = row == self.row + self.step * len;
        self.keys.end += usize::from(takes);
        takes
    }

    /// The part that is of these keys.
    pub fn within(&self, keys: &Range<usize>) -> Option<Self> {
        let keys = self.keys.start.max(keys.start)..self.keys.end.min(keys.end);
        let row = self.row + self.step * keys.start.saturating_sub(self.keys.start);
        let step = self.step;
        (!keys.is_empty()).then_some(Self { keys, row, step })
    }

    /// From its first to its last row.
    fn rows(&self) -> Range<usize> {
        self.row..self.row + self.step * (self.keys.len() - 1) + 1
    }
}
