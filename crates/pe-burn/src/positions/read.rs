//! The positions of tokens as numbers, for a scheme of one's own.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use burn::tensor::{Tensor, TensorCreationOptions};

use super::{Lookup, Positions, Rows};
use crate::backend::memory::check_room;
use crate::error::PositionError;
use crate::tensor::check_dtype;

impl Positions {
    /// The positions of an input with `seq` tokens per row as a tensor: whole positions, or times. It has one row where all
    /// rows of a batch share their positions, so that it broadcasts over them.
    /// Numbers are rounded once, to the float type of the options: whole positions are exact up to 2^24 in `f32`, to
    /// 2,048 in `f16` (where those past 65,504 are infinite) and to 256 in `bf16`. On a grid, tokens are numbered in
    /// order, its prefix included. The tensor has no gradient, and can be combined with tensors that have one.
    ///
    /// ```
    /// use burn::tensor::{DType, Device, FloatDType, Tensor};
    /// use pe_burn::{Embed, PositionError, Positions};
    ///
    /// /// Adds a ramp that rises by a hundredth with every position.
    /// struct Ramp;
    ///
    /// impl Embed for Ramp {
    ///     fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
    ///         let [_, seq, _] = x.dims(); // [batch, seq, d_model]
    ///         let at = positions.to_tensor(seq, (&x.device(), DType::F32))? / 100.0;
    ///         Ok(x.clone() + at.unsqueeze_dim(2).cast(FloatDType::from(x.dtype())))
    ///     }
    /// }
    ///
    /// let x = Tensor::<3>::zeros([2, 2, 1], &Device::flex());
    /// let y = Ramp.embed(x, &Positions::from_starts([0, 50]));
    /// assert_eq!(y.into_data().try_to_vec::<f32>().unwrap(), [0.0, 0.01, 0.5, 0.51]);
    /// ```
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, seq]`
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] for coordinates, [`Config`](PositionError::Config) for a type that is no float type, and those of
    /// [`to_rows`](Self::to_rows) but `NotWhole`.
    pub fn to_tensor(
        &self,
        seq: usize,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Tensor<2>, PositionError> {
        let lookup = self.lookup(None, seq)?;
        lookup.check_axes(None)?;
        Ok(numbers(&lookup, 1, options.into())?.reshape([lookup.batch, seq]))
    }

    /// The coordinates of an input with `seq` tokens per row as a tensor: height and width (or frame, height and width)
    /// on a grid, and 0 for its prefix; all numbers of each token for coordinates; a single number for positions on a
    /// line.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_burn::{Grid, Positions};
    ///
    /// let image = Positions::from(Grid::image(2, 2));
    /// let places = image.to_coordinates(4, &Device::flex()).unwrap(); // [1, 4, 2]
    /// assert_eq!(places.into_data().try_to_vec::<f32>().unwrap(), [0., 0., 0., 1., 1., 0., 1., 1.]);
    /// ```
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, seq, axes]`
    ///
    /// # Errors
    ///
    /// Those of [`to_tensor`](Self::to_tensor) but `Grid`.
    pub fn to_coordinates(
        &self,
        seq: usize,
        options: impl Into<TensorCreationOptions>,
    ) -> Result<Tensor<3>, PositionError> {
        let lookup = self.lookup(None, seq)?;
        numbers(&lookup, lookup.axes(), options.into())
    }

    /// The positions of an input with `seq` tokens per row as lists: one per row, or a single one
    /// where all rows share it. It reads positions from a mask or from segment ids back from their
    /// device.
    ///
    /// # Errors
    ///
    /// [`PositionError::Shape`] when these positions are not for `seq` tokens,
    /// [`PositionError::Overflow`] when they run past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`PositionError::NotWhole`] when they are times, [`Grid`](PositionError::Grid) when they are
    /// coordinates, and
    /// [`PositionError::TooLarge`] when they do not fit into memory.
    pub fn to_rows(&self, seq: usize) -> Result<Vec<Vec<usize>>, PositionError> {
        let lookup = self.lookup(None, seq)?;
        lookup.check_whole("a list of positions")?;
        check_room::<usize>(lookup.batch, seq)?;
        if seq == 0 {
            return Ok(vec![Vec::new(); lookup.batch]);
        }
        let rows = |ids: &[usize]| ids.chunks_exact(seq).map(<[usize]>::to_vec).collect();
        Ok(match lookup.rows {
            Rows::Run(start) => vec![(start..start + seq).collect()],
            Rows::Ids(ids) => rows(&ids),
            Rows::Device(ids) => rows(&ids.read()),
            Rows::Times(_) | Rows::Coordinates { .. } => unreachable!("refused above"),
        })
    }
}

/// `[1 or batch, seq, axes]`.
fn numbers(
    lookup: &Lookup,
    axes: usize,
    options: TensorCreationOptions,
) -> Result<Tensor<3>, PositionError> {
    let device = options.device;
    let dtype = match options.dtype {
        None => device.settings().float_dtype,
        Some(dtype) if dtype.is_float() => dtype.into(),
        Some(dtype) => {
            let reason = format!("positions are given in a float type; got {dtype:?}");
            return Err(PositionError::config(reason));
        }
    };
    check_dtype(dtype, &device)?;
    let shape = [lookup.batch, lookup.seq, axes];
    if shape.contains(&0) {
        return Ok(Tensor::empty(shape, (&device, dtype.into())));
    }
    check_room::<f64>(lookup.batch, lookup.seq.saturating_mul(axes))?;
    Ok(lookup.numbers(axes, dtype, &device))
}
