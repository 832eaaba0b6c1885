//! The fixed sinusoidal encoding.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::{Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::{Embed, InputScale, add, check_dropout, lookup};
use crate::backend::Addend;
use crate::display::one_line;
use crate::error::{PositionError, check_finite, check_width, init};
use crate::layout::Layout;
use crate::positions::{Axes, AxisFrequencies, Grid, Lookup, PairOrder, Positions};
use crate::sizes::{ModelSizes, SchemeConfig};
use crate::spectrum::axis_rows::AxisRows;
use crate::spectrum::buffer::{RowBuffer, default_max_len};
use crate::spectrum::{Formula, Spectrum};
use crate::tensor::{cast, check_dtype, compute_dtype, dequantized};

/// The factor of the encoding.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Gain {
    /// A constant.
    Fixed(f64),
    /// A parameter of shape `[1]` that training adjusts, with its initial value.
    Learned(f64),
}

impl Default for Gain {
    fn default() -> Self {
        Self::Fixed(1.0)
    }
}

/// What happens at positions from `max_len` on.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LengthLimit {
    /// They are encoded like all others: `max_len` is the size that the buffer starts with.
    #[default]
    None,
    /// [`PositionError::TooLong`].
    Error,
}

/// The configuration of a [`SinusoidalPositionalEncoding`].
///
/// As data (JSON, TOML) only `d_model` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct SinusoidalPositionalEncodingConfig {
    /// The width of the embeddings, at least 1. Odd is fine: the last cosine is left out.
    pub d_model: usize,
    /// The number of rows that the buffer starts with; it grows when it is used past them. Default:
    /// 5000.
    #[serde(default = "default_max_len")]
    pub max_len: usize,
    /// The formula of the frequencies: the paper's with any base, that of another library (to use
    /// weights that it trained), or a range of wavelengths. Default: the paper's, base 10 000.
    #[serde(default)]
    pub formula: Formula,
    /// Which column holds which sine and cosine. Default: that of the formula, interleaved for the
    /// paper's.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// The axes that share the columns, each with frequencies of its own and its columns in a row.
    /// Default: none, positions are on a line.
    ///
    /// The formula applies to the columns of one axis. Without widths, each of `a` axes has an encoding of
    /// width 2⌈d_model/2a⌉. Together these may be more columns than `d_model`. Then the last ones are left
    /// out; every axis must keep at least one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<Axes>,
    /// The probability, in `[0, 1)`, of zeroing an entry of the sum in training. Default: 0.
    #[serde(default)]
    pub dropout: f64,
    /// The factor of the input. Default: none.
    #[serde(default)]
    pub input_scale: InputScale,
    /// The factor of the encoding. Default: `Gain::Fixed(1.0)`.
    #[serde(default)]
    pub gain: Gain,
    /// Whether positions from `max_len` on are encoded or refused. Default: encoded.
    #[serde(default)]
    pub length_limit: LengthLimit,
}

impl SinusoidalPositionalEncodingConfig {
    /// The paper's encoding for embeddings of width `d_model`; every option at its default.
    pub fn new(d_model: usize) -> Self {
        Self {
            d_model,
            max_len: default_max_len(),
            formula: Formula::default(),
            layout: None,
            axes: None,
            dropout: 0.0,
            input_scale: InputScale::default(),
            gain: Gain::default(),
            length_limit: LengthLimit::default(),
        }
    }

    /// Sets the number of rows that the buffer starts with, at least 1.
    pub fn with_max_len(self, max_len: usize) -> Self {
        Self { max_len, ..self }
    }

    /// Sets the base of the wavelengths, finite and greater than 1.
    ///
    /// Short for `with_formula(Formula::Paper { base })`.
    pub fn with_base(self, base: f64) -> Self {
        self.with_formula(base)
    }

    /// Sets the formula of the frequencies; a number is the base of the paper's.
    pub fn with_formula(self, formula: impl Into<Formula>) -> Self {
        let formula = formula.into();
        Self { formula, ..self }
    }

    /// Sets which column holds which sine and cosine, in place of the layout of the formula.
    pub fn with_layout(self, layout: Layout) -> Self {
        let layout = Some(layout);
        Self { layout, ..self }
    }

    /// Sets the axes that share the columns, for images, video and coordinates of any kind: see
    /// [`forward_grid`](SinusoidalPositionalEncoding::forward_grid).
    pub fn with_axes(self, axes: Axes) -> Self {
        let axes = Some(axes);
        Self { axes, ..self }
    }

    /// Sets the dropout probability, in `[0, 1)`.
    pub fn with_dropout(self, dropout: f64) -> Self {
        Self { dropout, ..self }
    }

    /// Sets the factor of the input.
    pub fn with_input_scale(self, input_scale: InputScale) -> Self {
        Self {
            input_scale,
            ..self
        }
    }

    /// Sets the factor of the encoding.
    pub fn with_gain(self, gain: Gain) -> Self {
        Self { gain, ..self }
    }

    /// Sets what happens at positions from `max_len` on.
    pub fn with_length_limit(self, length_limit: LengthLimit) -> Self {
        Self {
            length_limit,
            ..self
        }
    }

    /// Builds the module and its buffer on `device`. The buffer is of type `f64` where that is the
    /// default float type of the device, else `f32`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number of this configuration that is out of bounds, and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) when `max_len` is
    /// more than there are positions, or the buffer does not fit into memory.
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

    /// The frequencies of this many columns, with a gain.
    fn spectrum(
        &self,
        columns: usize,
        formula: Formula,
        gain: f64,
    ) -> Result<Spectrum, PositionError> {
        let spectrum = Spectrum::new(columns, formula)?;
        let layout = self.layout.unwrap_or(spectrum.layout());
        let amplitude = gain * spectrum.amplitude();
        check_finite("gain", amplitude)?;
        Ok(spectrum.with_layout(layout).with_amplitude(amplitude))
    }

    /// The frequencies of every axis.
    fn axis_spectra(&self, axes: &Axes, gain: f64) -> Result<Vec<Spectrum>, PositionError> {
        axes.check()?;
        let plain = *axes.order() == PairOrder::Row && axes.unturned() == 0;
        if !plain || axes.frequencies() != AxisFrequencies::Own {
            return Err(PositionError::config(
                "the axes of a sinusoid have their columns in a row, frequencies of their own, and no \
                 columns left unturned",
            ));
        }
        let widths = match axes.axes().iter().any(|axis| axis.columns.is_some()) {
            true => axes
                .pairs(self.d_model)?
                .iter()
                .map(|pairs| 2 * pairs)
                .collect(),
            false => vec![self.even_width(axes.count())?; axes.count()],
        };
        let each = axes.axes().iter().zip(widths);
        each.map(|(axis, width)| {
            let formula = axis.base.map_or(self.formula, Formula::from);
            let spectrum = self.spectrum(width, formula, gain)?;
            match axis.scale {
                1.0 => Ok(spectrum),
                scale => spectrum.sped_up(scale),
            }
        })
        .collect()
    }

    /// The width of the encoding of each axis, where all have the same.
    fn even_width(&self, axes: usize) -> Result<usize, PositionError> {
        let columns = self.d_model;
        let width = columns.div_ceil(2 * axes) * 2;
        match columns == 0 || columns > (axes - 1) * width {
            true => Ok(width),
            false => {
                let bound = format!(
                    "larger: with 2⌈d_model/2a⌉ columns for each of {axes} axes, none are left for the last"
                );
                Err(PositionError::number("d_model", columns, bound))
            }
        }
    }
}

impl SchemeConfig for SinusoidalPositionalEncodingConfig {
    fn for_model(sizes: ModelSizes) -> Result<Self, PositionError> {
        Ok(Self::new(sizes.d_model).with_max_len(sizes.max_len))
    }

    fn axes(&self) -> Option<Axes> {
        self.axes.clone()
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
    /// Rows of width `d_model`, or those of the first axis; a fixed gain included.
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
            true => Ok(self.padded_and_gained(encoding.into_tensor(), lookup, dtype)),
        }
    }

    /// The encoding with zeros for padded tokens, where the formula has them, times the learned gain.
    #[cold] // or it slows down a decoding step, which needs neither
    fn padded_and_gained(
        &self,
        mut encoding: Tensor<3>,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Addend<'static> {
        if self.config.formula.pads_with_zeros()
            && let Some(padding) = lookup.padding(&encoding.device())
        {
            let shape = [lookup.padded_batch(), lookup.seq, self.config.d_model];
            let padding = padding.unsqueeze_dim::<3>(2).expand(shape);
            encoding = encoding.expand(shape).mask_fill(padding, 0.0);
        }
        if let Some(gain) = &self.gain {
            encoding = encoding.mul(dequantized(gain.val()).cast(dtype).reshape([1, 1, 1]));
        }
        Addend::Tensor(encoding)
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
