//! Which row of a table each pair of a query and a key uses, as runs of keys: along the keys, the row mostly goes up by 1
//! or stays the same.

use alloc::vec::Vec;
use core::ops::Range;

use super::units::blocks;

/// The row of a table for every pair.
#[derive(Clone, Debug)]
pub(super) struct Pairs {
    /// The numbers of queries and of keys.
    pub counts: [usize; 2],
    /// The runs of each query's line of keys, for one sequence or for each.
    lines: Vec<Vec<Run>>,
}

/// Neighbouring keys of a line whose rows go up by 1 each, or are the same.
#[derive(Clone, Debug)]
pub(super) struct Run {
    pub keys: Range<usize>,
    /// The row of the first key.
    pub row: usize,
    /// How much the row grows from one key to the next: 0 or 1.
    pub step: usize,
}

impl Pairs {
    pub fn new(counts @ [_, keys]: [usize; 2], rows: &[u32]) -> Self {
        let lines = rows.chunks(keys).map(runs).collect();
        Self { counts, lines }
    }

    /// The runs of every query of a sequence.
    pub fn of(&self, sequence: usize) -> &[Vec<Run>] {
        let [queries, _] = self.counts;
        &self.lines[sequence * queries % self.lines.len()..][..queries]
    }

    /// The ranges of queries and of keys, with the tokens of one axis limited to a block.
    pub fn tokens(&self, axis: usize, block: Range<usize>) -> [Range<usize>; 2] {
        let mut tokens = self.counts.map(|count| 0..count);
        tokens[axis] = block;
        tokens
    }

    /// For each block of tokens, the range from the lowest to the highest row that it uses.
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
    /// Whether the run continues with `row` at the next key. If so, that key is added to the run.
    fn takes(&mut self, row: usize) -> bool {
        let len = self.keys.len();
        if len == 1 && row == self.row + 1 {
            self.step = 1;
        }
        let takes = row == self.row + self.step * len;
        self.keys.end += usize::from(takes);
        takes
    }

    /// The part of the run within these keys.
    pub fn within(&self, keys: &Range<usize>) -> Option<Self> {
        let keys = self.keys.start.max(keys.start)..self.keys.end.min(keys.end);
        let row = self.row + self.step * keys.start.saturating_sub(self.keys.start);
        let step = self.step;
        (!keys.is_empty()).then_some(Self { keys, row, step })
    }

    /// The range from its first to its last row.
    fn rows(&self) -> Range<usize> {
        self.row..self.row + self.step * (self.keys.len() - 1) + 1
    }
}
