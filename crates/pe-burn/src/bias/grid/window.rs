//! Where queries and keys are in a window, and the entry of a table for each pair.

use alloc::format;
use alloc::vec::Vec;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};

use crate::backend::memory::check_room;
use crate::error::PositionError;
use crate::positions::Lookup;
use crate::tensor::indices_in;

/// The largest height and width of a window: the entries of its table can then be counted in `i32`, the
/// only integers of some devices.
const MAX_SIDE: usize = 1 << 14;

/// Refuses a window without tokens, and one whose table does not fit into memory.
pub(super) fn check_window(
    name: &'static str,
    window: [usize; 2],
    heads: usize,
) -> Result<(), PositionError> {
    for side in window {
        if side == 0 || side > MAX_SIDE {
            let bound = format!("at least 1 and at most {MAX_SIDE} on each side");
            return Err(PositionError::number(name, side, bound));
        }
    }
    check_room::<f32>(offsets(window), heads)
}

/// The number of offsets between two tokens of a window.
pub(super) fn offsets([height, width]: [usize; 2]) -> usize {
    (2 * height - 1) * (2 * width - 1)
}

/// A row and a column for each token, none for a prefix token.
pub(super) type Cells = Vec<Option<[i64; 2]>>;

/// The cell of every query and key: its row and column on the grid, or `None` for a prefix token. Both are for `rows`
/// rows of a batch.
pub struct Pairs {
    rows: usize,
    queries: Cells,
    keys: Cells,
}

impl Pairs {
    /// At least one query and one key. The grid of the queries is `stride` times as coarse as that of the
    /// keys.
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] when positions are not on a grid of height and width.
    pub(super) fn new(
        queries: &Lookup,
        keys: &Lookup,
        stride: usize,
    ) -> Result<Self, PositionError> {
        let rows = queries.batch.max(keys.batch);
        let mut pairs = Self {
            rows,
            queries: cells(queries, rows, stride)?,
            keys: cells(keys, rows, 1)?,
        };
        // Counted from the first grid row and column in each row of the batch, so that the numbers stay small.
        let (q, k) = (queries.seq, keys.seq);
        for row in 0..rows {
            let queries = &mut pairs.queries[row * q..][..q];
            let keys = &mut pairs.keys[row * k..][..k];
            for axis in 0..2 {
                let mut cells: Vec<&mut [i64; 2]> = queries
                    .iter_mut()
                    .chain(keys.iter_mut())
                    .flatten()
                    .collect();
                let first = cells.iter().map(|cell| cell[axis]).min().unwrap_or(0);
                cells.iter_mut().for_each(|cell| cell[axis] -= first);
            }
        }
        Ok(pairs)
    }

    /// Refuses prefix tokens, which have no row and no column.
    pub fn check_no_prefix(&self) -> Result<(), PositionError> {
        let cells = self.queries.iter().chain(&self.keys);
        match cells.filter(|cell| cell.is_none()).count() {
            0 => Ok(()),
            prefix => Err(PositionError::number(
                "the number of prefix tokens among queries and keys",
                prefix,
                "0: this bias has none for them, only BEiT's has",
            )),
        }
    }

    /// The most rows, and the most columns, between a query and a key.
    pub fn farthest(&self) -> [usize; 2] {
        let (q, k) = (self.queries.len() / self.rows, self.keys.len() / self.rows);
        [0, 1].map(|axis| {
            let ends = |cells: &[Option<[i64; 2]>]| {
                let places = cells.iter().flatten().map(|cell| cell[axis]);
                Some((places.clone().min()?, places.max()?))
            };
            let of_row = |row: usize| {
                let (first_query, last_query) = ends(&self.queries[row * q..][..q])?;
                let (first_key, last_key) = ends(&self.keys[row * k..][..k])?;
                Some((last_query - first_key).max(last_key - first_query))
            };
            (0..self.rows).filter_map(of_row).max().unwrap_or(0) as usize
        })
    }

    /// Refuses queries and keys that are farther apart than two tokens of a window.
    pub fn check_within(&self, window: [usize; 2]) -> Result<(), PositionError> {
        let farthest = self.farthest();
        for (axis, what) in ["rows", "columns"].into_iter().enumerate() {
            if farthest[axis] >= window[axis] {
                return Err(PositionError::number(
                    format!("the distance of a query and a key in {what}"),
                    farthest[axis],
                    format!(
                        "at most {}, in a window of {} × {}",
                        window[axis] - 1,
                        window[0],
                        window[1]
                    ),
                ));
            }
        }
        Ok(())
    }

    /// The rows (axis 0) or columns (axis 1) from each key to each query, query minus key.
    ///
    /// # Shapes
    ///
    /// - output: `[rows, queries, keys]`
    pub fn apart(&self, axis: usize, device: &Device) -> Tensor<3, Int> {
        let device = device.clone().without_autodiff();
        let places = |cells: &[Option<[i64; 2]>]| {
            let places: Vec<usize> = cells
                .iter()
                .map(|cell| cell.map_or(0, |cell| cell[axis] as usize))
                .collect();
            indices_in(&places, [self.rows, places.len() / self.rows], &device)
        };
        let (queries, keys) = (places(&self.queries), places(&self.keys));
        queries.unsqueeze_dim::<3>(2) - keys.unsqueeze_dim::<3>(1)
    }

    /// The table entry of each pair. The table of a window has its entries row by row, from the most negative offset on.
    /// Offsets are query minus key.
    ///
    /// # Shapes
    ///
    /// - output: `[rows, queries, keys]`
    pub fn entries(&self, [height, width]: [usize; 2], device: &Device) -> Tensor<3, Int> {
        let across = 2 * width as i64 - 1;
        let centre = (height as i64 - 1) * across + width as i64 - 1;
        self.apart(0, device) * across + self.apart(1, device) + centre
    }

    /// Which queries, and which keys, are prefix tokens: `[rows, queries, 1]` and `[rows, 1, keys]`. `None`
    /// where there are none.
    pub fn prefix(&self, device: &Device) -> Option<[Tensor<3, Bool>; 2]> {
        if self.check_no_prefix().is_ok() {
            return None;
        }
        let device = device.clone().without_autodiff();
        let mask = |cells: &[Option<[i64; 2]>], shape| {
            let mask: Vec<bool> = cells.iter().map(Option::is_none).collect();
            Tensor::from_data(TensorData::new(mask, shape), &device)
        };
        let (queries, keys) = (&self.queries, &self.keys);
        Some([
            mask(queries, [self.rows, queries.len() / self.rows, 1]),
            mask(keys, [self.rows, 1, keys.len() / self.rows]),
        ])
    }
}

/// The row and the column of every token, times `stride`; `None` for a prefix token.
pub(super) fn cells(lookup: &Lookup, rows: usize, stride: usize) -> Result<Cells, PositionError> {
    let (grid, ids) = lookup.on_image()?;
    let cell = |token: usize| {
        let [_, row, column] = grid.cell(token);
        let place = |p: usize| (p as u64).saturating_mul(stride as u64).min(1 << 60) as i64;
        (token >= grid.prefix()).then(|| [place(row), place(column)])
    };
    let cells: Vec<_> = match ids {
        Some(ids) => ids.iter().map(|id| cell(*id)).collect(),
        None => (0..lookup.seq).map(cell).collect(),
    };
    // There is one row of positions for the whole batch, or one for each of its rows.
    let len = rows * lookup.seq;
    Ok(cells.into_iter().cycle().take(len).collect())
}
