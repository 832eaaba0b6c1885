//! The fixed sinusoidal encoding.

mod config;

use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::{Device, FloatDType, Tensor};

pub use config::{Gain, LengthLimit, SinusoidalPositionalEncodingConfig};

use super::{Embed, add, check_dropout, lookup};
use crate::backend::Addend;
use crate::config::init;
use crate::config::one_line;
use crate::error::{PositionError, check_finite, check_width};
use crate::positions::{Axes, Grid, Lookup, Positions};
use crate::spectrum::Spectrum;
use crate::spectrum::axis_rows::AxisRows;
use crate::spectrum::buffer::RowBuffer;
use crate::tensor::{cast, check_dtype, check_parameter, compute_dtype, dequantized};

impl SinusoidalPositionalEncodingConfig {
    /// Builds the module and its buffer on `device`. The buffer is of type `f64` where that is the
    /// default float type of the device, else `f32`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number of this configuration that is out of bounds, and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) when `max_len` is
    /// more than there are positions, or the buffer does not fit into memory; [`Config`](PositionError::Config) for axes that do not go
    /// with the width or with the formula.
    pub fn try_init(&self, device: &Device) -> Result<SinusoidalPositionalEncoding, PositionError> {
        check_dropout(self.dropout)?;
        self.input_scale.check()?;
        let (Gain::Fixed(gain) | Gain::Learned(gain)) = self.gain;
        check_finite("gain", gain)?;
        let (fixed, learned) = match self.gain {
            Gain::Fixed(gain) => (gain, None),
            Gain::Learned(gain) => {
                let gain = Tensor::full([1], gain, device);
                (1.0, Some(Param::from_tensor(gain)))
            }
        };
        let (rows, axes) = match &self.axes {
            None => {
                let spectrum = self.spectrum(self.d_model, self.formula, fixed)?;
                (RowBuffer::new(spectrum.into(), self.max_len, device)?, None)
            }
            Some(axes) => {
                let spectra = self.axis_spectra(axes, fixed)?;
                let axes = AxisRows::new(axes, spectra, self.max_len, device)?;
                (axes.first().clone(), Some(axes))
            }
        };
        Ok(SinusoidalPositionalEncoding {
            rows,
            axes,
            gain: learned,
            dropout: DropoutConfig::new(self.dropout).init(),
            config: self.clone(),
        })
    }
}

init!(SinusoidalPositionalEncodingConfig => SinusoidalPositionalEncoding);

/// Adds the fixed sinusoidal encoding of §3.5 of [*Attention Is All You
/// Need*](https://arxiv.org/abs/1706.03762) (Vaswani et al., 2017) to token embeddings:
///
/// ```text
/// PE(p, 2i) = sin(p / base^(2i/d_model))      PE(p, 2i+1) = cos(p / base^(2i/d_model))
/// forward(x) = dropout(scale · x + gain · PE)
/// ```
///
/// Made by [`SinusoidalPositionalEncodingConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{Embed, Positions, SinusoidalPositionalEncodingConfig};
///
/// let device = Device::flex();
/// let pe = SinusoidalPositionalEncodingConfig::new(512).with_dropout(0.1).init(&device);
///
/// let embeddings = Tensor::<3>::random([8, 128, 512], Distribution::Default, &device);
/// let x = pe.forward(embeddings); // [8, 128, 512]
///
/// // Decoding with a cache of 128 tokens: the next token is at position 128.
/// let token = Tensor::<3>::random([8, 1, 512], Distribution::Default, &device);
/// let y = pe.embed(token, &Positions::from(128));
/// # assert_eq!((x.dims(), y.dims()), ([8, 128, 512], [8, 1, 512]));
/// ```
///
/// - **Exact.** An element is within 3.0e-8 of the true value at every position (`f64`: 1e-15 below
///   2^20). Tables computed in `f32`, as most are, are off by 4e-4 at position 5 000.
/// - **No length limit**, unless the configuration says [`LengthLimit::Error`]. The buffer grows by
///   doubling, up to 64 MiB; rows beyond are computed for the call.
/// - **No parameters** (one with [`Gain::Learned`]). The buffer moves with the module, is not trained,
///   and is not in the record: `init` makes it again before a record is loaded.
/// - **Any float type.** The sum is computed in `f32` (`f64` for `f64` inputs) and rounded once to
///   the type of the input, `f16` and `bf16` included. For `f64` inputs on a device whose default is
///   `f32`, rows are computed for the call.
/// - **In place.** Pass `x` by value and do not keep a clone of it: the backends then add into its
///   memory.
/// - **Gradient checkpointing.** A learned gain, as any parameter, cannot be mixed with another
///   checkpointing strategy than its own: build the model on the checkpointing device, and do not call
///   `valid().train()`, which restores the default strategy. Without a learned gain any mix works.
///
/// To concatenate positions and embeddings instead of adding them, take the encoding alone:
///
/// ```
/// # use burn::tensor::{Device, Distribution, Tensor};
/// # use pe_burn::{Positions, SinusoidalPositionalEncodingConfig};
/// # let device = Device::flex();
/// let pe = SinusoidalPositionalEncodingConfig::new(64).init(&device);
/// let x = Tensor::<3>::random([8, 20, 512], Distribution::Default, &device);
/// let encoding = pe.encode(&Positions::default(), 20)?; // [1, 20, 64]
/// let both = Tensor::cat(vec![x, encoding.expand([8, 20, 64])], 2);
/// assert_eq!(both.dims(), [8, 20, 576]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct SinusoidalPositionalEncoding {
    /// Rows of width `d_model`, or with axes those of the first axis. They include a fixed gain.
    rows: RowBuffer,
    axes: Option<AxisRows>,
    /// The learned gain, `[1]`.
    gain: Option<Param<Tensor<1>>>,
    dropout: Dropout,
    #[module(skip)]
    config: SinusoidalPositionalEncodingConfig,
}

impl SinusoidalPositionalEncoding {
    /// Adds the encodings of positions 0, 1, 2, … to `x`. For other positions see
    /// [`embed`](Embed::embed).
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_embed`](Embed::try_embed) returns an error.
    #[track_caller]
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        self.embed(x, &Positions::default())
    }

    /// Adds the encodings of a whole grid to `x`, for a configuration with
    /// [axes](SinusoidalPositionalEncodingConfig::with_axes).
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Axes, Embed, Grid, Positions, SinusoidalPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let config = SinusoidalPositionalEncodingConfig::new(64).with_axes(Axes::HEIGHT_WIDTH);
    /// let pe = config.init(&device);
    ///
    /// let patches = Tensor::<4>::random([2, 14, 16, 64], Distribution::Default, &device);
    /// let x = pe.forward_grid(patches)?; // [batch, height, width, d_model]
    ///
    /// // Flattened, after a class token, which is encoded as zeros:
    /// let tokens = Tensor::<3>::random([2, 1 + 14 * 16, 64], Distribution::Default, &device);
    /// let grid = Grid::image(14, 16).with_prefix(1);
    /// let y = pe.embed(tokens, &Positions::from(grid));
    /// # assert_eq!((x.dims(), y.dims()), ([2, 14, 16, 64], [2, 225, 64]));
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, height, width, d_model]`, or `[batch, frames, height, width, d_model]`, any
    ///   float type
    /// - output: as `x`
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] when `x` does not have the axes of the configuration, and those of
    /// [`try_embed`](Embed::try_embed).
    pub fn forward_grid<const D: usize>(&self, x: Tensor<D>) -> Result<Tensor<D>, PositionError> {
        let shape = x.dims();
        let grid = match (&self.config.axes, &shape[..]) {
            (Some(axes), [_, height, width, _]) if axes.count() == 2 => {
                Grid::image(*height, *width)
            }
            (Some(axes), [_, frames, height, width, _]) if axes.count() == 3 => {
                Grid::video(*frames, *height, *width)
            }
            (axes, _) => {
                return Err(PositionError::Grid {
                    needs: axes.as_ref().map_or(
                        "positions on a line, since its configuration has no axes".into(),
                        Axes::needs,
                    ),
                    got: "an input with other axes".into(),
                });
            }
        };
        let width = shape[D - 1];
        check_width("d_model", self.config.d_model, width)?;
        if shape.contains(&0) {
            return Ok(x); // Burn's reshape takes a 0 for the size that was there before
        }
        let flat = x.reshape([shape[0], grid.tokens(), width]);
        let sum = self.try_embed(flat, &Positions::from(grid))?;
        Ok(sum.reshape(shape))
    }

    /// The encodings of `positions` alone, the gain included, in the type of the buffer.
    ///
    /// # Shapes
    ///
    /// - output: `[1, seq, d_model]` where all rows of a batch have the same positions, else
    ///   `[batch, seq, d_model]`
    ///
    /// # Errors
    ///
    /// Those of [`try_embed`](Embed::try_embed) about positions, and
    /// [`TooLarge`](PositionError::TooLarge) when rows past the buffer do not fit into memory.
    pub fn encode(&self, positions: &Positions, seq: usize) -> Result<Tensor<3>, PositionError> {
        self.encode_as(positions, seq, self.rows.dtype())
    }

    /// As [`encode`](Self::encode), in another float type: `f64` is computed as such, shorter types are
    /// rounded from `f32`.
    ///
    /// # Errors
    ///
    /// As [`encode`](Self::encode), and [`PositionError::DType`] when the device cannot compute in
    /// `dtype`.
    pub fn encode_as(
        &self,
        positions: &Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        let device = self.rows.device();
        check_dtype(dtype, &device)?;
        let lookup = positions.lookup(None, seq)?;
        self.check_reach(&lookup)?;
        let shape = [lookup.batch, seq, self.config.d_model];
        if shape.contains(&0) {
            let options = (&device.without_autodiff(), dtype.into());
            return Ok(Tensor::empty(shape, options));
        }
        let encoding = self.encoding(&lookup, compute_dtype(dtype))?;
        Ok(cast(encoding.into_tensor(), dtype))
    }

    /// The frequencies of this encoding, with its fixed gain as the amplitude. With axes, those of the first axis.
    pub fn spectrum(&self) -> &Spectrum {
        self.rows.spectrum()
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &SinusoidalPositionalEncodingConfig {
        &self.config
    }

    /// Refuses positions that are not on the grid, or past a length limit.
    #[inline(always)]
    fn check_reach(&self, lookup: &Lookup) -> Result<(), PositionError> {
        lookup.check_axes(self.config.axes.as_ref())?;
        let max_len = self.config.max_len;
        match (self.config.length_limit, &self.axes) {
            (LengthLimit::None, _) => Ok(()),
            (LengthLimit::Error, None) => lookup.check_limit(max_len),
            (LengthLimit::Error, Some(_)) => {
                Lookup::run(0, lookup.end_along_axes(max_len)).check_limit(max_len)
            }
        }
    }

    /// The encoding of at least one token, in `f32` or `f64`.
    #[inline(always)] // keeps a decoding step fast
    fn encoding<'a>(
        &self,
        lookup: &'a Lookup,
        dtype: FloatDType,
    ) -> Result<Addend<'a>, PositionError> {
        let encoding = match &self.axes {
            None => self.rows.addend(lookup, dtype)?,
            Some(axes) => Addend::Tensor(self.of_axes(axes, lookup, dtype)?),
        };
        let zeros_for_padding = self.config.formula.pads_with_zeros();
        match zeros_for_padding || self.gain.is_some() {
            false => Ok(encoding),
            true => self.padded_and_gained(encoding.into_tensor(), lookup, dtype),
        }
    }

    /// The encoding, with zeros for padded tokens where the formula asks for them, times the learned gain.
    #[cold] // or it slows down a decoding step, which needs neither
    fn padded_and_gained(
        &self,
        mut encoding: Tensor<3>,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Result<Addend<'static>, PositionError> {
        if self.config.formula.pads_with_zeros()
            && let Some(padding) = lookup.padding(&encoding.device())
        {
            let shape = [lookup.padded_batch(), lookup.seq, self.config.d_model];
            let padding = padding.unsqueeze_dim::<3>(2).expand(shape);
            encoding = encoding.expand(shape).mask_fill(padding, 0.0);
        }
        if let Some(gain) = &self.gain {
            check_parameter("gain", gain.lazy_shape().dims(), [1])?;
            encoding = encoding.mul(dequantized(gain.val()).cast(dtype).reshape([1, 1, 1]));
        }
        Ok(Addend::Tensor(encoding))
    }

    /// The encodings of all axes side by side; zeros for prefix tokens.
    #[cold] // or it slows down a decoding step, which has no grid
    fn of_axes(
        &self,
        axes: &AxisRows,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        let rows = axes.rows(lookup, dtype)?;
        let rows = rows.expect("positions on a line were refused");
        let columns = Tensor::cat(rows, 2).narrow(2, 0, self.config.d_model);
        Ok(match lookup.prefix(&columns.device()) {
            Some(prefix) => columns.mask_fill(prefix, 0.0),
            None => columns,
        })
    }
}

impl Embed for SinusoidalPositionalEncoding {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let d_model = self.config.d_model;
        let (lookup, batch) = lookup(&x, positions, d_model, &self.rows.device())?;
        self.check_reach(&lookup)?;
        let seq = lookup.seq;
        if batch * seq == 0 {
            return Ok(x);
        }
        let encoding = self.encoding(&lookup, compute_dtype(x.dtype().into()))?;
        let scale = self.config.input_scale.factor(d_model);
        Ok(add(
            x,
            encoding,
            scale,
            &self.dropout,
            batch * seq * d_model,
        ))
    }
}

impl ModuleDisplay for SinusoidalPositionalEncoding {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("d_model", &self.config.d_model)
            .add("max_len", &self.config.max_len)
            .add_debug_attribute("formula", &self.config.formula)
            .add_debug_attribute("layout", &self.spectrum().layout())
            .add_debug_attribute("axes", &self.config.axes)
            .add("dropout", &self.config.dropout)
            .add_debug_attribute("input_scale", &self.config.input_scale)
            .add_debug_attribute("gain", &self.config.gain)
            .add_debug_attribute("length_limit", &self.config.length_limit)
            .optional()
    }
}

#[cfg(test)]
mod tests;
