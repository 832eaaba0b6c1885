//! Rows of a [`Spectrum`] as tensors: a buffer of the first ones, the others computed for the call.

use alloc::{vec, vec::Vec};

use burn::module::Module;
use burn::tensor::module::embedding;
use burn::tensor::{Device, FloatDType, Int, Tensor, TensorData};

use crate::error::PositionError;
use crate::input;
use crate::positions::{Place, Positions, index_tensor};
use crate::spectrum::Spectrum;
use crate::table::Entry;

/// What rows are made of.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    pub spectrum: Spectrum,
    pub factor: Factor,
}

/// What the rows of a spectrum are multiplied by, before they are rounded.
#[derive(Clone, Debug)]
pub(crate) enum Factor {
    /// Every entry by one number.
    Constant(f64),
    /// The pair `i` of position `p` by `e^(rates[i] · p)`.
    Exponential(Vec<f64>),
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
        let (max_len, width) = (self.max_len, self.source.spectrum.d_model());
        let device = || self.table.device().without_autodiff();
        let place = positions.place(seq);
        // Rows of the buffer serve when they reach far enough and are not of a shorter type.
        let buffered = positions.end(seq) <= max_len
            && !matches!(place, Place::Times(_))
            && (dtype == FloatDType::F32 || self.dtype() == dtype);
        if !buffered {
            return self.source.rows(positions, seq, dtype, &device());
        }
        // A device may hold the buffer in an autodiff context of its own: a constant needs none.
        let buffer = self.table.clone().without_autodiff();
        let flat = |buffer: Tensor<3>| buffer.reshape([max_len, width]);
        let rows = match place {
            Place::Run(start) => buffer.slice([0..1, start..start + seq]),
            Place::Host(ids) => embedding(flat(buffer), index_tensor(&ids, seq, &device())),
            Place::Device(ids, _) => pick(flat(buffer), ids),
            Place::Times(_) => unreachable!("times are never looked up"),
        };
        // The buffer may be in f64 where the sum is in f32.
        Ok(input::cast(rows, dtype))
    }
}

impl RowSource {
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

    /// The rows times the factor, as a tensor `[rows, width]` of type `f32` or `f64`.
    fn tensor(
        &self,
        rows: Rows,
        dtype: FloatDType,
        device: &Device,
    ) -> Result<Tensor<2>, PositionError> {
        let width = self.spectrum.d_model();
        let shape = |len: usize| vec![len / width, width];
        let data = if dtype == FloatDType::F32 && matches!(self.factor, Factor::Constant(1.0)) {
            let rows: Vec<f32> = rows.of(&self.spectrum)?;
            let shape = shape(rows.len());
            TensorData::new(rows, shape)
        } else {
            // The product is rounded once as well, when it becomes f32.
            let mut entries: Vec<f64> = rows.of(&self.spectrum)?;
            match &self.factor {
                Factor::Constant(factor) => entries.iter_mut().for_each(|x| *x *= factor),
                Factor::Exponential(rates) => {
                    for (i, row) in entries.chunks_exact_mut(width).enumerate() {
                        let position = rows.position(i);
                        let (sines, cosines) = row.split_at_mut(width / 2);
                        let pairs = sines.iter_mut().zip(cosines);
                        for ((sin, cos), rate) in pairs.zip(rates) {
                            let by = libm::exp(rate * position);
                            (*sin, *cos) = (*sin * by, *cos * by);
                        }
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
    let ids = ids.clone().to_device(&rows.device());
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
