//! Which rows of a table the tokens of an input need: the one answer that every scheme works from.

use alloc::borrow::Cow;
use alloc::vec::Vec;

use burn::tensor::{Bool, Device, FloatDType, Tensor, TensorData};

use super::{Axes, DeviceIds, Grid, Kind, MAX_POSITION, Padding, Positions, axes};
use crate::backend::memory::check_room;
use crate::error::PositionError;
use crate::tensor::{ids_on, mask_on};

/// The positions of `seq` tokens in each row of a batch, checked.
pub(crate) struct Lookup<'a> {
    /// The number of rows that have positions of their own; 1 where all rows of a batch share them.
    pub batch: usize,
    pub seq: usize,
    pub rows: Rows<'a>,
    grid: Option<(&'a Grid, Option<&'a [usize]>)>,
    padding: Option<&'a Padding>,
}

/// The rows that the tokens need.
pub(crate) enum Rows<'a> {
    /// `seq` consecutive rows from this one on, for every row of the batch.
    Run(usize),
    /// Rows by id, `batch × seq` of them.
    Ids(Cow<'a, [usize]>),
    /// Real numbers, `batch × seq` of them. A table has no rows for them.
    Times(Cow<'a, [f64]>),
    /// Coordinates, `batch × seq × axes` of them, for schemes with axes and for distances.
    Coordinates { values: &'a [f64], axes: usize },
    /// Ids on a device, all below `seq`.
    Device(&'a DeviceIds),
}

impl Positions {
    /// The lookup of these positions for an input with `seq` tokens per row and `batch` rows (`None`
    /// for any number of rows).
    ///
    /// # Errors
    ///
    /// [`Shape`](PositionError::Shape) or [`Batch`](PositionError::Batch) when they are for another
    /// input, [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`], and
    /// [`TooLarge`](PositionError::TooLarge) when the ids of all tokens do not fit into memory.
    #[inline]
    pub(crate) fn lookup(
        &self,
        batch: Option<usize>,
        seq: usize,
    ) -> Result<Lookup<'_>, PositionError> {
        let padding = self.padding.as_ref();
        if let Kind::Run(start) = self.kind
            && padding.is_none()
        {
            check_run(start, seq)?;
            return Ok(Lookup::run(start, seq)); // the case of every decoding step
        }
        self.lookup_any(batch, seq, padding)
    }

    fn lookup_any<'a>(
        &'a self,
        batch: Option<usize>,
        seq: usize,
        padding: Option<&'a Padding>,
    ) -> Result<Lookup<'a>, PositionError> {
        let has_rows = |rows| rows == 1 || batch.is_none_or(|batch| rows == batch);
        let check = |what, got: [usize; 2]| match has_rows(got[0]) && got[1] == seq {
            true => Ok(got[0]),
            false => Err(PositionError::Shape {
                what,
                expected: [batch.unwrap_or(got[0]), seq],
                got,
            }),
        };
        let (what, shape) = self.kind.shape(seq);
        if let (Kind::Starts(starts), Some(expected)) = (&self.kind, batch)
            && !has_rows(starts.len())
        {
            let got = starts.len();
            return Err(PositionError::Batch {
                what,
                expected,
                got,
            });
        }
        let batch = check(what, shape)?;
        let rows = self.kind.rows(seq)?;
        let padded = padding.map_or(Ok(1), |padding| check("padding mask", padding.dims()))?;
        if batch != 1 && padded != 1 && batch != padded {
            return Err(PositionError::Batch {
                what: "rows in the padding mask",
                expected: batch,
                got: padded,
            });
        }
        let grid = match &self.kind {
            Kind::Grid { grid, ids } => Some((grid, ids.as_ref().map(|(ids, _)| &ids[..]))),
            _ => None,
        };
        Ok(Lookup {
            batch,
            seq,
            rows,
            grid,
            padding,
        })
    }
}

impl Kind {
    /// What these positions are, for errors, and their `[rows, tokens]`.
    fn shape(&self, seq: usize) -> (&'static str, [usize; 2]) {
        match self {
            Self::Run(_) => ("start", [1, seq]),
            Self::Starts(starts) => ("starts", [starts.len(), seq]),
            Self::Ids { shape, .. } => ("tensor of position ids", *shape),
            Self::Times { shape, .. } => ("tensor of times", *shape),
            Self::Coordinates { shape, .. } => ("tensor of coordinates", [shape[0], shape[1]]),
            Self::Grid { grid, ids: None } => ("grid", [1, grid.tokens()]),
            Self::Grid { ids: Some(ids), .. } => ("tensor of ids on a grid", ids.1),
            Self::Device(ids) => (ids.source, ids.ids.dims()),
        }
    }

    /// The rows of a table that `seq` tokens need.
    fn rows(&self, seq: usize) -> Result<Rows<'_>, PositionError> {
        Ok(match self {
            Self::Run(start) => {
                check_run(*start, seq)?;
                Rows::Run(*start)
            }
            Self::Starts(starts) => {
                if let Some(&last) = starts.iter().max() {
                    check_run(last, seq)?;
                }
                check_room::<usize>(starts.len(), seq)?;
                let ids = starts.iter().flat_map(|&start| start..start + seq);
                Rows::Ids(ids.collect())
            }
            Self::Ids { ids, .. } => Rows::Ids(ids.into()),
            Self::Times { times, .. } => Rows::Times(times.into()),
            Self::Coordinates { values, shape } => {
                let axes = shape[2];
                Rows::Coordinates { values, axes }
            }
            Self::Grid { ids: None, .. } => Rows::Run(0),
            Self::Grid { ids: Some(ids), .. } => Rows::Ids((&ids.0).into()),
            Self::Device(ids) => Rows::Device(ids),
        })
    }
}

impl Padding {
    fn dims(&self) -> [usize; 2] {
        match self {
            Self::Host(_, shape) => *shape,
            Self::Device(mask) => mask.dims(),
        }
    }
}

/// Refuses a run past the largest position.
pub(crate) fn check_run(start: usize, seq: usize) -> Result<(), PositionError> {
    match seq > 0 && start.saturating_add(seq) > MAX_POSITION + 1 {
        false => Ok(()),
        true => Err(PositionError::Overflow {
            start,
            seq,
            max: MAX_POSITION,
        }),
    }
}

impl<'a> Lookup<'a> {
    /// Consecutive rows for every row of a batch.
    pub fn run(start: usize, seq: usize) -> Self {
        Self::of(1, seq, Rows::Run(start))
    }

    /// Rows by id, `batch × seq` of them.
    pub fn ids(ids: Vec<usize>, batch: usize, seq: usize) -> Self {
        Self::of(batch, seq, Rows::Ids(Cow::Owned(ids)))
    }

    /// Rows of real numbers, `batch × seq` of them.
    fn times(times: Vec<f64>, batch: usize, seq: usize) -> Self {
        Self::of(batch, seq, Rows::Times(Cow::Owned(times)))
    }

    fn of(batch: usize, seq: usize, rows: Rows<'a>) -> Self {
        Self {
            batch,
            seq,
            rows,
            grid: None,
            padding: None,
        }
    }

    /// One more than the largest position, or an upper bound of it for positions on a device.
    pub fn end(&self) -> usize {
        match &self.rows {
            _ if self.seq == 0 => 0,
            Rows::Run(start) => start + self.seq,
            Rows::Ids(ids) => ids.iter().max().map_or(0, |max| max + 1),
            Rows::Times(times) => end_of_times(times),
            Rows::Coordinates { values, .. } => end_of_times(values),
            Rows::Device(_) => self.seq,
        }
    }

    /// As [`end`](Self::end), but exact where the result is past `limit`: positions on a device are
    /// read back, once, only if their upper bound is past the limit.
    pub fn end_beyond(&self, limit: usize) -> usize {
        let end = self.end();
        match &self.rows {
            Rows::Device(ids) if end > limit => ids.end(),
            _ => end,
        }
    }

    /// The largest distance of a position from 0, or an upper bound of it that is within `limit`.
    pub fn farthest_beyond(&self, limit: usize) -> f64 {
        match &self.rows {
            Rows::Times(times) => farthest(times),
            Rows::Coordinates { values, .. } => farthest(values),
            _ => self.end_beyond(limit).saturating_sub(1) as f64,
        }
    }

    /// Refuses positions from `max_len` on.
    pub fn check_limit(&self, max_len: usize) -> Result<(), PositionError> {
        match self.end_beyond(max_len) {
            end if end > max_len => Err(PositionError::TooLong {
                position: end - 1,
                max_len,
            }),
            _ => Ok(()),
        }
    }

    /// Refuses times, where a position is the index of a row.
    pub fn check_whole(&self, what: &'static str) -> Result<(), PositionError> {
        match self.rows {
            Rows::Times(_) => Err(PositionError::NotWhole { what }),
            Rows::Coordinates { axes, .. } => Err(Self::not_on_a_line(axes)),
            _ => Ok(()),
        }
    }

    /// Which tokens are padding, `[1 or batch, seq]`, on a device; `None` where none are marked.
    pub fn padding(&self, device: &Device) -> Option<Tensor<2, Bool>> {
        let device = &device.clone().without_autodiff();
        Some(match self.padding? {
            Padding::Host(padding, shape) => {
                Tensor::from_data(TensorData::new(padding.clone(), *shape), device)
            }
            Padding::Device(mask) => mask_on(mask, device),
        })
    }

    /// As `batch`, for an encoding that treats padding differently from other tokens: rows that share
    /// their positions may still differ in their padding.
    pub fn padded_batch(&self) -> usize {
        let padded = self.padding.map_or(0, |padding| padding.dims()[0]);
        self.batch.max(padded)
    }

    /// Refuses positions that do not have the axes of an encoding; `axes` is `None` for an encoding on a line.
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] for a grid or coordinates with another number of axes, for positions
    /// on a line where they have no meaning for these axes, and for coordinates without axes.
    #[inline]
    pub fn check_axes(&self, axes: Option<&Axes>) -> Result<(), PositionError> {
        match axes {
            Some(axes) => self.check_some_axes(axes),
            None => match self.rows {
                Rows::Coordinates { axes, .. } => Err(Self::not_on_a_line(axes)),
                _ => Ok(()),
            },
        }
    }

    fn check_some_axes(&self, axes: &Axes) -> Result<(), PositionError> {
        let got = match (&self.rows, self.grid) {
            (Rows::Coordinates { axes: count, .. }, _) if *count == axes.count() => return Ok(()),
            (Rows::Coordinates { axes: count, .. }, _) => axes::coordinates(*count),
            (_, Some((grid, _))) if axes.are_of(grid) => return Ok(()),
            (_, Some((grid, _))) => axes::grid(grid.axes()).into(),
            (_, None) if axes.take_lines() => return Ok(()),
            (_, None) => "positions on a line".into(),
        };
        let needs = axes.needs();
        Err(PositionError::Grid { needs, got })
    }

    /// The image whose tokens these are, and the ids of the tokens, `batch × seq` of them, unless they are all
    /// in order.
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] for all other positions.
    pub fn on_image(&self) -> Result<(&'a Grid, Option<&'a [usize]>), PositionError> {
        let got = match (&self.rows, self.grid) {
            (_, Some((grid, ids))) if grid.axes() == 2 => return Ok((grid, ids)),
            (_, Some((grid, _))) => axes::grid(grid.axes()).into(),
            (Rows::Coordinates { axes, .. }, _) => axes::coordinates(*axes),
            _ => "positions on a line".into(),
        };
        let needs = axes::grid(2).into();
        Err(PositionError::Grid { needs, got })
    }

    /// The error of a scheme on a line that was given coordinates.
    pub fn not_on_a_line(axes: usize) -> PositionError {
        PositionError::Grid {
            needs: "positions on a line".into(),
            got: axes::coordinates(axes),
        }
    }

    /// The coordinates of all tokens in this type, each rounded once, `[1 or batch, seq, axes]`. For `axes` 1, the tokens
    /// of a grid are numbered in order.
    pub fn numbers(&self, axes: usize, dtype: FloatDType, device: &Device) -> Tensor<3> {
        let device = device.clone().without_autodiff();
        let (batch, seq) = (self.batch, self.seq);
        let tensor = |numbers: Vec<f64>| {
            let data = TensorData::new(numbers, [batch, seq, axes]);
            Tensor::from_data(data, (&device, dtype.into()))
        };
        let cells = |grid: &Grid, ids: &mut dyn Iterator<Item = usize>| {
            let token = |id| (0..grid.axes()).map(move |axis| grid.coordinate(id, axis) as f64);
            ids.flat_map(token).collect()
        };
        match (&self.rows, self.grid.filter(|_| axes > 1)) {
            (_, Some((grid, None))) => tensor(cells(grid, &mut (0..grid.tokens()))),
            (_, Some((grid, Some(ids)))) => tensor(cells(grid, &mut ids.iter().copied())),
            (Rows::Run(start), _) => tensor((*start..start + seq).map(|id| id as f64).collect()),
            (Rows::Ids(ids), _) => tensor(ids.iter().map(|id| *id as f64).collect()),
            (Rows::Times(times), _) => tensor(times.to_vec()),
            (Rows::Coordinates { values, .. }, _) => tensor(values.to_vec()),
            (Rows::Device(ids), _) => ids_on(&ids.ids, &device).cast(dtype).unsqueeze_dim(2),
        }
    }

    /// How many coordinates a token has: 1 on a line.
    pub fn axes(&self) -> usize {
        match (&self.rows, self.grid) {
            (Rows::Coordinates { axes, .. }, _) => *axes,
            (_, Some((grid, _))) => grid.axes(),
            (_, None) => 1,
        }
    }

    /// The positions of the tokens along one coordinate; `None` for positions on a line.
    pub fn along(&self, coordinate: usize) -> Option<Along<'a>> {
        let (batch, seq) = (self.batch, self.seq);
        Some(match (&self.rows, self.grid) {
            (Rows::Coordinates { values, axes }, _) => {
                let numbers = values.iter().skip(coordinate).step_by(*axes);
                let is_position = |number: &f64| {
                    (0.0..=MAX_POSITION as f64).contains(number) && libm::trunc(*number) == *number
                };
                Along::Tokens(match numbers.clone().all(is_position) {
                    true => Lookup::ids(numbers.map(|id| *id as usize).collect(), batch, seq),
                    false => Lookup::times(numbers.copied().collect(), batch, seq),
                })
            }
            (_, Some((grid, Some(ids)))) => {
                let along = ids.iter().map(|id| grid.coordinate(*id, coordinate));
                Along::Tokens(Lookup::ids(along.collect(), batch, seq))
            }
            (_, Some((grid, None))) => Along::Grid(grid),
            (_, None) => return None,
        })
    }

    /// As [`end_beyond`](Self::end_beyond), of the largest coordinate of a token where these are positions
    /// on axes.
    pub fn end_along_axes(&self, limit: usize) -> usize {
        let end = |cell: [usize; 3]| cell.into_iter().max().map_or(0, |p| p + 1);
        match self.grid {
            None => self.end_beyond(limit),
            Some((grid, Some(ids))) => {
                let ends = ids.iter().map(|id| end(grid.cell(*id)));
                ends.max().unwrap_or(0)
            }
            Some((grid, None)) => match (grid.tokens(), grid.cells()) {
                (0, _) => 0,
                (_, 0) => 1, // prefix tokens are at coordinate 0
                _ => grid.shape().into_iter().max().unwrap_or(0),
            },
        }
    }

    /// Refuses all but tokens on a line, in order from position 0 on, with padding before or after them: a
    /// convolution sees the tokens beside a token, and not their positions.
    pub fn check_on_line(&self, needs: &'static str) -> Result<(), PositionError> {
        let got = match (&self.rows, self.grid) {
            (_, Some((grid, _))) => axes::grid(grid.axes()).into(),
            (Rows::Run(0), None) => return Ok(()),
            (Rows::Device(ids), None) if ids.counts_tokens() => return Ok(()),
            (Rows::Run(_), None) => "positions from an offset on".into(),
            (Rows::Ids(_), None) => "position ids or starts".into(),
            (Rows::Times(_), None) => "times".into(),
            (Rows::Device(_), None) => "positions of packed rows".into(),
            (Rows::Coordinates { axes, .. }, None) => axes::coordinates(*axes),
        };
        let needs = needs.into();
        Err(PositionError::Grid { needs, got })
    }

    /// Which tokens are prefix tokens of their grid, `[1 or batch, seq, 1]`; `None` where the grid has
    /// no prefix.
    pub fn prefix(&self, device: &Device) -> Option<Tensor<3, Bool>> {
        let (grid, ids) = self.grid?;
        let prefix = grid.prefix();
        let is_prefix: Vec<bool> = match ids {
            _ if prefix == 0 => return None,
            Some(ids) => ids.iter().map(|id| *id < prefix).collect(),
            None => (0..self.seq).map(|token| token < prefix).collect(),
        };
        let mask = TensorData::new(is_prefix, [self.batch, self.seq, 1]);
        Some(Tensor::from_data(mask, &device.clone().without_autodiff()))
    }
}

/// The tokens of an input along one coordinate.
pub(crate) enum Along<'a> {
    /// All tokens of a grid, in order.
    Grid(&'a Grid),
    /// Positions of tokens.
    Tokens(Lookup<'a>),
}

/// One more than the largest time, rounded down to a whole number, and at least 0.
fn end_of_times(times: &[f64]) -> usize {
    let end = |time: &f64| libm::floor(*time).max(-1.0) + 1.0;
    times.iter().map(end).fold(0.0, f64::max) as usize
}

/// The largest distance from 0.
fn farthest(times: &[f64]) -> f64 {
    times.iter().fold(0.0, |far, time| time.abs().max(far))
}
