//! Rows of a [`Spectrum`] as tensors: a buffer of the first ones, the others computed for the call.

use alloc::{vec, vec::Vec};

use burn::module::Module;
use burn::tensor::module::embedding;
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

use crate::encoding::Encoding;
use crate::error::PositionError;
use crate::grid::Axes;
use crate::index::{ids_on, index_tensor};
use crate::input;
use crate::memory::check_room;
use crate::positions::{MANY, Place, Positions};
use crate::spectrum::Spectrum;
use crate::table::Entry;

/// What rows are made of.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    pub spectrum: Spectrum,
    /// Multiplies the pair `i` of position `p` by `e^(rates[i] · p)`, before it is rounded.
    rates: Option<Vec<f64>>,
}

impl From<Spectrum> for RowSource {
    fn from(spectrum: Spectrum) -> Self {
        let rates = None;
        Self { spectrum, rates }
    }
}

/// The rows of positions `0..max_len` on a device, and the source of all others.
#[derive(Module, Debug)]
pub(crate) struct RowBuffer {
    /// `[1, max_len, width]`
    table: Tensor<3>,
    /// That of the table: asking a tensor takes longer than a decoding step should.
    max_len: usize,
    #[module(skip)]
    source: RowSource,
}

/// The rows of a buffer that no configuration says otherwise for.
pub(crate) fn default_max_len() -> usize {
    5_000
}

impl RowBuffer {
    /// In `f64` where that is the default float type of the device, else in `f32`.
    pub fn new(source: RowSource, max_len: usize, device: &Device) -> Result<Self, PositionError> {
        if max_len == 0 {
            return Err(PositionError::ZeroMaxLen);
        }
        Positions::default().check(None, max_len)?;
        let dtype = input::sum_dtype(device.settings().float_dtype);
        let device = device.clone().without_autodiff();
        let table = source.tensor(Rows::Run(0, max_len), dtype, &device)?;
        Ok(Self {
            table: table.unsqueeze(),
            max_len,
            source,
        })
    }

    pub fn source(&self) -> &RowSource {
        &self.source
    }

    pub fn device(&self) -> Device {
        self.table.device()
    }

    pub fn dtype(&self) -> FloatDType {
        self.table.dtype().into()
    }

    /// The rows of at least one token at checked positions, in `f32` or `f64`.
    ///
    /// # Shapes
    ///
    /// - output: `[1, seq, width]` where every row of a batch has the same positions, else
    ///   `[batch, seq, width]`
    pub fn rows(
        &self,
        positions: &Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        self.encoding(positions, seq, dtype).map(Encoding::tensor)
    }

    /// As [`rows`](Self::rows), where they lie if they are in this buffer.
    #[inline]
    pub fn encoding<'a>(
        &self,
        positions: &'a Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Encoding<'a>, PositionError> {
        let (max_len, width) = (self.max_len, self.source.spectrum.d_model());
        let place = positions.place(seq);
        // Rows of the buffer serve when they reach far enough and are not of a shorter type.
        let buffered = positions.end(seq) <= max_len
            && !matches!(place, Place::Times(_))
            && (dtype == FloatDType::F32 || self.dtype() == dtype);
        if !buffered {
            let device = self.table.device().without_autodiff();
            let rows = self.source.rows(positions, seq, dtype, &device);
            return rows.map(Encoding::Whole);
        }
        // A device may hold the buffer in an autodiff context of its own: a constant needs none.
        let table = self.table.clone().without_autodiff();
        let rows = match place {
            Place::Run(start) => Encoding::Run { table, start, seq },
            Place::Host(ids) => Encoding::Picked { table, ids, seq },
            Place::Device(ids, _) => Encoding::Whole(pick(table.reshape([max_len, width]), ids)),
            Place::Times(_) => unreachable!("times are never looked up"),
        };
        // The buffer may be in f64 where the sum is in f32.
        Ok(match self.dtype() == dtype {
            true => rows,
            false => Encoding::Whole(rows.tensor().cast(dtype)),
        })
    }
}

impl RowBuffer {
    /// As [`rows`](Self::rows), of positions on a grid: each of its axes has the rows of this
    /// buffer. Tokens in front of the grid have the row of position 0.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, seq, width]` for each axis, in the order of the columns
    pub fn grid_rows(
        &self,
        axes: Axes,
        positions: &Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Vec<Tensor<3>>, PositionError> {
        let (grid, ids) = positions.on_grid(axes)?;
        if seq > MANY {
            check_room::<f64>(seq, axes.order().len() * self.source.spectrum.d_model())?;
        }
        let (prefix, width) = (grid.prefix(), self.source.spectrum.d_model());
        let of_axis = |&axis: &usize| match ids {
            Some(ids) => {
                let places = ids.iter().map(|id| grid.place(*id)[axis]).collect();
                let places = Positions::of_rows(places, [positions.rows(), seq]);
                self.rows(&places, seq, dtype)
            }
            None => {
                let [frames, height, across] = grid.shape();
                let places = grid.shape()[axis];
                let mut shape = [1, 1, 1, width];
                shape[axis] = places;
                // A grid without cells has no rows, but its tokens in front have one.
                let rows = self.rows(&Positions::default(), places.max(1), dtype)?;
                let in_front = |rows: Tensor<3>| rows.narrow(1, 0, 1).expand([1, prefix, width]);
                let cells = |rows: Tensor<3>| {
                    rows.reshape(shape)
                        .expand([frames, height, across, width])
                        .reshape([1, seq - prefix, width])
                };
                Ok(match prefix {
                    0 => cells(rows),
                    _ if seq == prefix => in_front(rows),
                    _ => Tensor::cat(vec![in_front(rows.clone()), cells(rows)], 1),
                })
            }
        };
        axes.order().iter().map(of_axis).collect()
    }
}

impl RowSource {
    /// The same with every pair growing by a rate of its own.
    pub fn growing(self, rates: Vec<f64>) -> Self {
        let rates = Some(rates);
        Self { rates, ..self }
    }

    /// As [`RowBuffer::rows`], without a buffer.
    pub fn rows(
        &self,
        positions: &Positions,
        seq: usize,
        dtype: FloatDType,
        device: &Device,
    ) -> Result<Tensor<3>, PositionError> {
        let tensor = |rows: Rows| self.tensor(rows, dtype, device);
        Ok(match positions.place(seq) {
            Place::Run(start) => tensor(Rows::Run(start, start + seq))?.unsqueeze(),
            Place::Host(ids) => {
                let mut distinct = ids.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                let index = |id: &usize| distinct.partition_point(|other| other < id);
                let indices: Vec<usize> = ids.iter().map(index).collect();
                let indices = index_tensor(&indices, seq, device);
                embedding(tensor(Rows::At(&distinct))?, indices)
            }
            Place::Times(times) => {
                let [rows, width] = [times.len() / seq, self.spectrum.d_model()];
                tensor(Rows::AtTimes(times))?.reshape([rows, seq, width])
            }
            Place::Device(ids, _) => pick(tensor(Rows::Run(0, seq))?, ids),
        })
    }

    /// The rows as a tensor `[rows, width]` of type `f32` or `f64`.
    fn tensor(
        &self,
        rows: Rows,
        dtype: FloatDType,
        device: &Device,
    ) -> Result<Tensor<2>, PositionError> {
        let width = self.spectrum.d_model();
        let shape = |len: usize| vec![len / width, width];
        let data = if dtype == FloatDType::F32 && self.rates.is_none() {
            let rows: Vec<f32> = rows.of(&self.spectrum)?;
            let shape = shape(rows.len());
            TensorData::new(rows, shape)
        } else {
            let mut entries: Vec<f64> = rows.of(&self.spectrum)?;
            if let Some(rates) = &self.rates {
                for (i, row) in entries.chunks_exact_mut(width).enumerate() {
                    let position = rows.position(i);
                    let (sines, cosines) = row.split_at_mut(width / 2);
                    for ((sin, cos), rate) in sines.iter_mut().zip(cosines).zip(rates) {
                        let by = libm::exp(rate * position);
                        (*sin, *cos) = (*sin * by, *cos * by);
                    }
                }
            }
            let shape = shape(entries.len());
            TensorData::new(entries, shape)
        };
        Ok(Tensor::from_data(data, (device, dtype.into())))
    }
}

/// The rows of ids on a device.
fn pick(rows: Tensor<2>, ids: &Tensor<2, Int>) -> Tensor<3> {
    let ids = ids_on(ids, &rows.device());
    embedding(rows, ids)
}

/// Rows to compute.
#[derive(Clone, Copy)]
enum Rows<'a> {
    Run(usize, usize),
    At(&'a [usize]),
    AtTimes(&'a [f64]),
}

impl Rows<'_> {
    fn of<T: Entry>(self, spectrum: &Spectrum) -> Result<Vec<T>, PositionError> {
        match self {
            Self::Run(start, end) => spectrum.try_rows(start..end),
            Self::At(positions) => spectrum.try_rows_at(positions),
            Self::AtTimes(times) => spectrum.try_rows_at_times(times),
        }
    }

    /// The position of a row.
    fn position(self, i: usize) -> f64 {
        match self {
            Self::Run(start, _) => (start + i) as f64,
            Self::At(positions) => positions[i] as f64,
            Self::AtTimes(times) => times[i],
        }
    }
}
