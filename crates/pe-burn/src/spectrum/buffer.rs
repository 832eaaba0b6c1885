//! Rows of a [`Spectrum`] as tensors: a buffer that grows with the positions it is asked for.

use alloc::boxed::Box;
use alloc::sync::Arc;
use alloc::vec;
use alloc::vec::Vec;

use burn::module::{
    Content, Devices, Module, ModuleDisplay, ModuleDisplayDefault, ModuleMapper, ModuleVisitor,
};
use burn::tensor::module::embedding;
use burn::tensor::{DType, Device, FloatDType, Tensor, TensorData};
use spin::RwLock;

use super::Spectrum;
use crate::backend::Addend;
use crate::backend::memory::check_room_on;
use crate::backend::rows::Entry;
use crate::error::{PositionError, check_size};
use crate::positions::{Lookup, Positions, Rows};
use crate::tensor::{compute_dtype, ids_on, indices_in};

/// The number of rows that a buffer starts with unless the configuration says otherwise.
pub(crate) const DEFAULT_MAX_LEN: usize = 5_000;

/// The size in bytes up to which a buffer grows by itself: 131 072 rows for heads of width 128.
const GROWS_UP_TO: usize = 64 << 20;

/// Where rows come from: a spectrum, and for xPos a growth of each pair.
#[derive(Clone, Debug)]
pub(crate) struct RowSource {
    pub spectrum: Spectrum,
    /// Multiplies pair `i` of position `p` by `e^(rates[i] · p)` before it is rounded.
    rates: Option<Vec<f64>>,
}

impl From<Spectrum> for RowSource {
    fn from(spectrum: Spectrum) -> Self {
        Self {
            spectrum,
            rates: None,
        }
    }
}

/// The rows of positions `0..max_len` on a device, and of more positions once they are needed.
///
/// A call past the end of the buffer grows it, by doubling, up to [`GROWS_UP_TO`]. All clones of a
/// module share the grown buffer. Rows past it, and rows of real-valued positions, are computed for
/// the call.
#[derive(Clone, Debug)]
pub(crate) struct RowBuffer {
    /// `[1, max_len, width]`, constant: Burn moves it with the module and does not save it.
    table: Tensor<3>,
    /// The number of rows of the table, kept here because reading it from the tensor takes too long for
    /// a decoding step.
    max_len: usize,
    /// A longer table that starts with the rows of `table`, in the same type and on the same device.
    grown: Arc<RwLock<Option<Grown>>>,
    source: Arc<RowSource>,
}

#[derive(Clone, Debug)]
struct Grown {
    table: Tensor<3>,
    len: usize,
}

impl RowBuffer {
    /// In `f64` where that is the default float type of the device, else in `f32`.
    pub fn new(source: RowSource, max_len: usize, device: &Device) -> Result<Self, PositionError> {
        check_size("max_len", max_len)?;
        Positions::default().lookup(None, max_len)?;
        let dtype = compute_dtype(device.settings().float_dtype);
        let device = device.clone().without_autodiff();
        let table = source.tensor(Source::Run(0, max_len), dtype, &device)?;
        Ok(Self {
            table: table.unsqueeze(),
            max_len,
            grown: Arc::default(),
            source: Arc::new(source),
        })
    }

    pub fn spectrum(&self) -> &Spectrum {
        &self.source.spectrum
    }

    pub fn device(&self) -> Device {
        self.table.device()
    }

    pub fn dtype(&self) -> FloatDType {
        self.table.dtype().into()
    }

    /// The rows of at least one token, in `f32` or `f64`.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, seq, width]`
    pub fn rows(&self, lookup: &Lookup, dtype: FloatDType) -> Result<Tensor<3>, PositionError> {
        self.addend(lookup, dtype).map(Addend::into_tensor)
    }

    /// As [`rows`](Self::rows), not copied out of the buffer.
    #[inline]
    pub fn addend<'a>(
        &self,
        lookup: &'a Lookup,
        dtype: FloatDType,
    ) -> Result<Addend<'a>, PositionError> {
        if let Rows::Run(start) = lookup.rows
            && lookup.end() <= self.max_len
            && self.dtype() == dtype
        {
            // The case of every decoding step, for which each move of a tensor takes time.
            return Ok(Addend::Slice {
                table: self.table.clone().without_autodiff(),
                start,
                seq: lookup.seq,
            });
        }
        let Some(table) = self.table_for(lookup, dtype)? else {
            let device = self.table.device().without_autodiff();
            return self.source.rows(lookup, dtype, &device).map(Addend::Tensor);
        };
        // The device of a module may track gradients; a constant has none.
        let table = table.without_autodiff();
        let seq = lookup.seq;
        let rows = match &lookup.rows {
            Rows::Run(start) => Addend::Slice {
                table,
                start: *start,
                seq,
            },
            Rows::Ids(ids) => Addend::Gather {
                table,
                ids: ids[..].into(),
                seq,
            },
            Rows::Device(ids) => Addend::GatherOnDevice {
                ids: Box::new(ids_on(&ids.ids, &table.device())),
                table,
            },
            Rows::Times(_) | Rows::Coordinates { .. } => {
                unreachable!("no table has rows of real numbers")
            }
        };
        // The buffer may be in f64 where the sum is in f32.
        Ok(match self.dtype() == dtype {
            true => rows,
            false => Addend::Tensor(rows.into_tensor().cast(dtype)),
        })
    }

    /// A table with all rows that a lookup needs; `None` where they have to be computed for the call.
    #[inline]
    fn table_for(
        &self,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Result<Option<Tensor<3>>, PositionError> {
        let is_wide_enough = dtype == FloatDType::F32 || self.dtype() == dtype;
        let is_real = matches!(lookup.rows, Rows::Times(_) | Rows::Coordinates { .. });
        if !is_wide_enough || is_real {
            return Ok(None);
        }
        match lookup.end() {
            end if end <= self.max_len => Ok(Some(self.table.clone())),
            end => self.grown_table(end),
        }
    }

    /// The grown table, if it has `end` rows or may grow to `end` rows.
    #[cold]
    fn grown_table(&self, end: usize) -> Result<Option<Tensor<3>>, PositionError> {
        let long_enough = |grown: &Option<Grown>| {
            let grown = grown.as_ref().filter(|grown| grown.len >= end);
            grown.map(|grown| grown.table.clone())
        };
        if let Some(table) = long_enough(&self.grown.read()) {
            return Ok(Some(table));
        }
        let Some(len) = self.growth(end) else {
            return Ok(None);
        };
        // Computed before the lock is taken: it runs on rayon's threads, one of which may be waiting for
        // the lock. Two threads that grow at the same time both compute, and the longer table stays.
        let device = self.table.device().without_autodiff();
        let table = self
            .source
            .tensor(Source::Run(0, len), self.dtype(), &device)?;
        let table: Tensor<3> = table.unsqueeze();
        let mut grown = self.grown.write();
        if grown.as_ref().is_none_or(|grown| grown.len < len) {
            let table = table.clone();
            *grown = Some(Grown { table, len });
        }
        Ok(Some(table))
    }

    /// The number of rows to grow to for positions before `end`: `max_len` times a power of two, or
    /// as many as fit into [`GROWS_UP_TO`].
    fn growth(&self, end: usize) -> Option<usize> {
        let row = self.spectrum().d_model() * DType::from(self.dtype()).size();
        // With frequencies above 1, the largest position may come before the bound.
        let most = (GROWS_UP_TO / row).min(self.spectrum().max_position() + 1);
        if end > most {
            return None;
        }
        let doublings = end.div_ceil(self.max_len).next_power_of_two();
        Some(self.max_len.saturating_mul(doublings).min(most))
    }
}

/// A constant: no parameters, nothing in the record. It moves with the module.
impl Module for RowBuffer {
    fn visit<V: ModuleVisitor>(&self, _visitor: &mut V) {}

    fn map<M: ModuleMapper>(self, _mapper: &mut M) -> Self {
        self
    }

    /// The grown table stays behind, and grows again on the new device when it is needed there.
    fn to_device(self, device: &Device) -> Self {
        Self {
            table: self.table.to_device(device),
            grown: Arc::default(),
            ..self
        }
    }

    fn fork(self, device: &Device) -> Self {
        Module::to_device(self, device)
    }

    fn collect_devices(&self, devices: Devices) -> Devices {
        Module::collect_devices(&self.table, devices)
    }

    fn materialize(self) -> Self {
        self
    }

    fn valid(&self) -> Self {
        Self {
            table: Module::valid(&self.table),
            ..self.clone()
        }
    }

    fn train(self) -> Self {
        Self {
            table: Module::train(self.table),
            ..self
        }
    }
}

impl ModuleDisplayDefault for RowBuffer {
    fn content(&self, content: Content) -> Option<Content> {
        self.table.content(content)
    }
}

impl ModuleDisplay for RowBuffer {}

impl RowSource {
    /// These rows with pair `i` multiplied by `e^(rates[i] · p)` at position `p`.
    pub fn growing(self, rates: Vec<f64>) -> Self {
        let rates = Some(rates);
        Self { rates, ..self }
    }

    /// As [`RowBuffer::rows`], without a buffer.
    pub fn rows(
        &self,
        lookup: &Lookup,
        dtype: FloatDType,
        device: &Device,
    ) -> Result<Tensor<3>, PositionError> {
        let tensor = |rows: Source| self.tensor(rows, dtype, device);
        let (batch, seq) = (lookup.batch, lookup.seq);
        Ok(match &lookup.rows {
            Rows::Run(start) => tensor(Source::Run(*start, start + seq))?.unsqueeze(),
            Rows::Ids(ids) => {
                let mut distinct = ids.to_vec();
                distinct.sort_unstable();
                distinct.dedup();
                let index = |id: &usize| distinct.partition_point(|other| other < id);
                let positions: Vec<usize> = ids.iter().map(index).collect();
                let positions = indices_in(&positions, [batch, seq], device);
                embedding(tensor(Source::Ids(&distinct))?, positions)
            }
            Rows::Times(times) => {
                // Patches of an image share the coordinates of their row; each is computed once.
                let mut distinct = times.to_vec();
                distinct.sort_unstable_by(f64::total_cmp);
                distinct.dedup_by(|a, b| a.to_bits() == b.to_bits());
                let rows = tensor(Source::Times(&distinct)).map_err(|error| match error {
                    // The index among all tokens, not among the distinct numbers.
                    PositionError::TimeOutOfRange { time, max, .. } => {
                        let is_it = |other: &f64| other.to_bits() == time.to_bits();
                        let i = times.iter().position(is_it).unwrap_or(0);
                        PositionError::TimeOutOfRange {
                            time,
                            axis: None,
                            row: i / seq,
                            token: i % seq,
                            max,
                        }
                    }
                    error => error,
                })?;
                let index =
                    |time: &f64| distinct.partition_point(|other| other.total_cmp(time).is_lt());
                let places: Vec<usize> = times.iter().map(index).collect();
                embedding(rows, indices_in(&places, [batch, seq], device))
            }
            Rows::Coordinates { axes, .. } => return Err(Lookup::not_on_a_line(*axes)),
            Rows::Device(ids) => {
                let rows = tensor(Source::Run(0, seq))?;
                let ids = ids_on(&ids.ids, &rows.device());
                embedding(rows, ids)
            }
        })
    }

    /// Rows as a tensor `[rows, width]` of type `f32` or `f64`. The processor computes them for every device, so that they have the
    /// same bits on each: sines of graphics cards are coarse, and many cards have no `f64`.
    fn tensor(
        &self,
        rows: Source,
        dtype: FloatDType,
        device: &Device,
    ) -> Result<Tensor<2>, PositionError> {
        let (len, width) = (rows.len(), self.spectrum.d_model());
        check_room_on::<f32>(device, len, width)?;
        let data = if dtype == FloatDType::F32 && self.rates.is_none() {
            let rows: Vec<f32> = rows.of(&self.spectrum)?;
            TensorData::new(rows, vec![len, width])
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
            TensorData::new(entries, vec![len, width])
        };
        Ok(Tensor::from_data(data, (device, dtype.into())))
    }
}

/// Rows to compute.
#[derive(Clone, Copy)]
enum Source<'a> {
    /// From one position to another, which is not included.
    Run(usize, usize),
    Ids(&'a [usize]),
    Times(&'a [f64]),
}

impl Source<'_> {
    fn of<T: Entry>(self, spectrum: &Spectrum) -> Result<Vec<T>, PositionError> {
        match self {
            Self::Run(start, end) => spectrum.rows(start..end),
            Self::Ids(positions) => spectrum.rows_at(positions),
            Self::Times(times) => spectrum.rows_at_times(times),
        }
    }

    /// The number of rows.
    fn len(self) -> usize {
        match self {
            Self::Run(start, end) => end - start,
            Self::Ids(positions) => positions.len(),
            Self::Times(times) => times.len(),
        }
    }

    /// The position of row `i`.
    fn position(self, i: usize) -> f64 {
        match self {
            Self::Run(start, _) => (start + i) as f64,
            Self::Ids(positions) => positions[i] as f64,
            Self::Times(times) => times[i],
        }
    }
}

#[cfg(test)]
mod tests;
