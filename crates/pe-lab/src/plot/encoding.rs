//! The part of a sinusoidal encoding that a picture shows.

use std::ops::Range;

use pe_burn::{Layout, MAX_POSITION, PositionError, Spectrum};

use super::text::number;
use crate::error::LabError;
use crate::grouped::grouped;

/// The most positions in one picture.
pub const MAX_SEQ_LEN: usize = 1_000_000;
/// The most columns in one picture.
pub const MAX_D_MODEL: usize = 32_768;
/// The most entries (positions × columns) in one picture. They take a few seconds.
pub const MAX_ENTRIES: usize = 1 << 30;
/// The number of entries in memory at a time.
const BLOCK: usize = 1 << 22;

/// The part of a sinusoidal encoding that a picture shows: some consecutive positions.
#[derive(Clone, Debug)]
pub struct Encoding {
    pub(super) spectrum: Spectrum,
    start: usize,
    seq_len: usize,
}

impl Encoding {
    /// The positions `start` to `start + seq_len − 1` of an encoding.
    ///
    /// # Errors
    ///
    /// [`LabError::Position`] when `d_model` or `base` is out of range or a position is beyond
    /// [`MAX_POSITION`]; [`LabError::Usage`] when `seq_len` is 0, or more than [`MAX_SEQ_LEN`],
    /// [`MAX_D_MODEL`] or [`MAX_ENTRIES`] allow.
    pub fn new(
        d_model: usize,
        base: f64,
        layout: Layout,
        start: usize,
        seq_len: usize,
    ) -> Result<Self, LabError> {
        let spectrum = spectrum(d_model, base)?.with_layout(layout);
        let usage = |text: String| Err(LabError::Usage(text));
        if seq_len == 0 || seq_len > MAX_SEQ_LEN {
            return usage(format!(
                "a picture shows 1 to {MAX_SEQ_LEN} positions; --seq-len {seq_len} is out of range"
            ));
        }
        if start > MAX_POSITION - (seq_len - 1) {
            return Err(LabError::Position(PositionError::Overflow {
                start,
                seq: seq_len,
                max: MAX_POSITION,
            }));
        }
        if seq_len * d_model > MAX_ENTRIES {
            return usage(format!(
                "--seq-len {seq_len} × --d-model {d_model} are {} entries, and a picture is made \
                 of at most {MAX_ENTRIES}; lower one of the two",
                seq_len * d_model
            ));
        }
        Ok(Self {
            spectrum,
            start,
            seq_len,
        })
    }

    /// The number of columns.
    pub(super) fn d_model(&self) -> usize {
        self.spectrum.d_model()
    }

    /// The first position, and the number of positions.
    pub(super) fn positions(&self) -> (usize, usize) {
        (self.start, self.seq_len)
    }

    /// Calls `each` with every row, in order. Only a part of the rows is in memory at a time.
    pub(super) fn for_each_row(&self, mut each: impl FnMut(&[f32])) -> Result<(), LabError> {
        let per_block = (BLOCK / self.d_model()).max(1);
        let end = self.start + self.seq_len;
        for start in (self.start..end).step_by(per_block) {
            let block: Range<usize> = start..end.min(start + per_block);
            let rows: Vec<f32> = self.spectrum.rows(block)?;
            rows.chunks_exact(self.d_model()).for_each(&mut each);
        }
        Ok(())
    }

    /// For example "d_model 512, base 10,000, positions 0 to 99"; also the layout, if it is not the
    /// paper's.
    pub(super) fn describe(&self) -> String {
        let (d_model, base) = (self.d_model(), number(self.spectrum.base()));
        let layout = match self.spectrum.layout() {
            Layout::Interleaved => "",
            Layout::Halves => ", layout halves",
        };
        let [first, last] =
            [self.start, self.start + self.seq_len - 1].map(|position| grouped(position, ','));
        let positions = match self.seq_len {
            1 => format!("position {first}"),
            _ => format!("positions {first} to {last}"),
        };
        format!("d_model {d_model}, base {base}{layout}, {positions}")
    }

    /// The column of a pair's sine, and that of its cosine if it has one: the last sine of an odd
    /// `d_model` has none.
    pub(super) fn pair(&self, pair: usize) -> (usize, Option<usize>) {
        let d_model = self.d_model();
        let (sin, cos) = match self.spectrum.layout() {
            Layout::Interleaved => (2 * pair, 2 * pair + 1),
            Layout::Halves => (pair, d_model.div_ceil(2) + pair),
        };
        (sin, (cos < d_model).then_some(cos))
    }
}

/// The spectrum of an encoding that is not too wide to be drawn.
pub(super) fn spectrum(d_model: usize, base: f64) -> Result<Spectrum, LabError> {
    if d_model > MAX_D_MODEL {
        return Err(LabError::Usage(format!(
            "a picture shows at most {MAX_D_MODEL} columns; --d-model {d_model} is out of range"
        )));
    }
    Ok(Spectrum::new(d_model, base)?)
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;

    pub fn encoding(d_model: usize, start: usize, seq_len: usize) -> Encoding {
        Encoding::new(d_model, 10_000.0, Layout::Interleaved, start, seq_len).unwrap()
    }

    #[test]
    fn rows_come_in_order_and_all_of_them_across_blocks() {
        // Blocks of 128 rows: positions 5 to 304 are three of them.
        let encoding = encoding(MAX_D_MODEL, 5, 300);
        let mut position = 5;
        encoding
            .for_each_row(|row| {
                assert_eq!(row[0], (f64::from(position)).sin() as f32);
                assert_eq!(row[1], (f64::from(position)).cos() as f32);
                position += 1;
            })
            .unwrap();
        assert_eq!(position, 305);
    }

    #[test]
    fn pairs_lie_where_the_layout_puts_them() {
        let halves = Encoding::new(7, 1e4, Layout::Halves, 0, 1).unwrap();
        assert_eq!(halves.pair(2), (2, Some(6)));
        assert_eq!(halves.pair(3), (3, None));
        assert_eq!(encoding(7, 0, 1).pair(2), (4, Some(5)));
        assert_eq!(encoding(7, 0, 1).pair(3), (6, None));
    }
}
