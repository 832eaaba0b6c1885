//! Rows of the axes that share the columns of an encoding.

use alloc::vec;
use alloc::vec::Vec;

use burn::module::Module;
use burn::tensor::{Device, FloatDType, Tensor};

use super::Spectrum;
use super::buffer::{RowBuffer, RowSource};
use crate::backend::memory::check_room;
use crate::error::PositionError;
use crate::positions::{Along, Axes, Grid, Lookup};

/// A buffer for every axis that has columns. Axes with the same spectrum share one.
#[derive(Module, Debug)]
pub(crate) struct AxisRows {
    buffers: Vec<RowBuffer>,
    /// The coordinate of each axis.
    #[module(skip)]
    coordinates: Vec<usize>,
}

impl AxisRows {
    /// The buffers of spectra, in the order of the axes.
    pub fn new(
        axes: &Axes,
        spectra: Vec<Spectrum>,
        max_len: usize,
        device: &Device,
    ) -> Result<Self, PositionError> {
        let mut buffers: Vec<RowBuffer> = Vec::with_capacity(spectra.len());
        let mut coordinates = Vec::with_capacity(spectra.len());
        for (spectrum, axis) in spectra.into_iter().zip(axes.axes()) {
            if spectrum.d_model() == 0 {
                continue;
            }
            let same = buffers.iter().find(|buffer| *buffer.spectrum() == spectrum);
            let buffer = match same {
                Some(buffer) => buffer.clone(),
                None => RowBuffer::new(spectrum.into(), max_len, device)?,
            };
            buffers.push(buffer);
            coordinates.push(axis.coordinate);
        }
        Ok(Self {
            buffers,
            coordinates,
        })
    }

    /// The buffer of the first axis.
    pub fn first(&self) -> &RowBuffer {
        &self.buffers[0]
    }

    /// The number of pairs of every axis.
    pub fn pairs(&self) -> Vec<usize> {
        let pairs = |buffer: &RowBuffer| buffer.spectrum().d_model() / 2;
        self.buffers.iter().map(pairs).collect()
    }

    /// The rows of every axis, in `f32` or `f64`; `None` for positions on a line. Prefix tokens of a grid
    /// have the row of position 0.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, seq, columns]` for each axis, in the order of the columns
    pub fn rows(
        &self,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Result<Option<Vec<Tensor<3>>>, PositionError> {
        let width = |buffer: &RowBuffer| buffer.spectrum().d_model();
        check_room::<f64>(lookup.seq, self.buffers.iter().map(width).sum())?;
        self.each(lookup, |axis, lookup| {
            self.buffers[axis].rows(lookup, dtype)
        })
    }

    /// As [`rows`](Self::rows), with other spectra than those of the buffers.
    pub fn rows_of(
        &self,
        spectra: Vec<Spectrum>,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Result<Option<Vec<Tensor<3>>>, PositionError> {
        let device = self.first().device().without_autodiff();
        let has_columns = |spectrum: &Spectrum| spectrum.d_model() > 0;
        let sources = spectra.into_iter().filter(has_columns);
        let sources: Vec<RowSource> = sources.map(RowSource::from).collect();
        self.each(lookup, |axis, lookup| {
            sources[axis].rows(lookup, dtype, &device)
        })
    }

    /// The rows of every axis; `None` for positions on a line. `rows` computes those of one axis, as for positions on a
    /// line.
    fn each(
        &self,
        lookup: &Lookup,
        rows: impl Fn(usize, &Lookup) -> Result<Tensor<3>, PositionError>,
    ) -> Result<Option<Vec<Tensor<3>>>, PositionError> {
        let axes = self.coordinates.iter().enumerate();
        axes.map(|(axis, coordinate)| {
            along(lookup, *coordinate, |lookup| rows(axis, lookup)).transpose()
        })
        .collect::<Option<Result<_, _>>>()
        .transpose()
    }
}

/// The rows along one coordinate; `None` for positions on a line. `rows` computes them as for positions on a line.
fn along(
    lookup: &Lookup,
    coordinate: usize,
    rows: impl Fn(&Lookup) -> Result<Tensor<3>, PositionError>,
) -> Result<Option<Tensor<3>>, PositionError> {
    Ok(match lookup.along(coordinate) {
        None => None,
        Some(Along::Tokens(tokens)) => {
            Some(rows(&tokens).map_err(|error| error.along(coordinate))?)
        }
        Some(Along::Grid(grid)) => {
            // One row for each place along this axis. At least one: prefix tokens need the row of position 0.
            let len = grid.lengths()[coordinate].max(1);
            let line = rows(&Lookup::run(0, len))?;
            Some(over_grid(line, grid, coordinate))
        }
    })
}

/// The rows of all tokens of a grid from the rows along one of its axes, `[1, length, columns]`.
fn over_grid(rows: Tensor<3>, grid: &Grid, axis: usize) -> Tensor<3> {
    let ([_, len, width], prefix) = (rows.dims(), grid.prefix());
    let [frames, height, across] = grid.shape();
    let mut shape = [1, 1, 1, width];
    shape[3 - grid.axes() + axis] = len;
    let of_prefix = |rows: Tensor<3>| rows.narrow(1, 0, 1).expand([1, prefix, width]);
    let of_cells = |rows: Tensor<3>| {
        rows.reshape(shape)
            .expand([frames, height, across, width])
            .reshape([1, grid.cells(), width])
    };
    match (prefix, grid.cells()) {
        (0, _) => of_cells(rows),
        (_, 0) => of_prefix(rows),
        _ => Tensor::cat(vec![of_prefix(rows.clone()), of_cells(rows)], 1),
    }
}
