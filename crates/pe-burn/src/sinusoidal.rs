//! The fixed sinusoidal encoding.

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay, Param};
use burn::nn::{Dropout, DropoutConfig};
use burn::tensor::{Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use crate::buffer::{RowBuffer, RowSource, default_max_len};
use crate::display::on_one_line;
use crate::encoding::Encoding;
use crate::error::{PositionError, expect};
use crate::formula::Formula;
use crate::grid::{Axes, Grid};
use crate::index::mask_on;
use crate::input::{self, InputScale, check_dropout, check_finite, check_input, dequantized};
use crate::layout::Layout;
use crate::positions::Positions;
use crate::spectrum::{DEFAULT_BASE, Spectrum, default_base};

/// A scalar that the encoding is multiplied by before it is added.
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
    /// Their rows are computed for the call: `max_len` is the size of the cached buffer, no more.
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
    /// The number of rows in the cached buffer. Default: 5000.
    #[serde(default = "default_max_len")]
    pub max_len: usize,
    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    #[serde(default = "default_base")]
    pub base: f64,
    /// Whose formula, in place of a base: that of a library that weights come from, or other
    /// wavelengths. Default: the paper's.
    #[serde(default)]
    pub formula: Formula,
    /// Which column holds which sine and cosine. Default: as the formula has it, which for the
    /// paper's is interleaved.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub layout: Option<Layout>,
    /// The axes of a grid that share the columns. Default: none, positions are on a line.
    ///
    /// Each axis has an encoding of its own, of width 2⌈d_model/2a⌉ for `a` axes, and where these
    /// are more columns than `d_model` the last are left out; every axis must have one. A formula
    /// sees the columns of one axis.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<Axes>,
    /// The probability, in `[0, 1)`, of zeroing an entry of the sum in training. Default: 0.
    #[serde(default)]
    pub dropout: f64,
    /// What the input is multiplied by first. Default: nothing.
    #[serde(default)]
    pub input_scale: InputScale,
    /// What the encoding is multiplied by. Default: `Gain::Fixed(1.0)`.
    #[serde(default)]
    pub gain: Gain,
    /// Whether positions from `max_len` on are computed or refused. Default: computed.
    #[serde(default)]
    pub length_limit: LengthLimit,
}

impl Config for SinusoidalPositionalEncodingConfig {}

impl SinusoidalPositionalEncodingConfig {
    /// The paper's encoding for embeddings of width `d_model`; every option at its default.
    pub fn new(d_model: usize) -> Self {
        Self {
            d_model,
            max_len: default_max_len(),
            base: default_base(),
            formula: Formula::default(),
            layout: None,
            axes: None,
            dropout: 0.0,
            input_scale: InputScale::default(),
            gain: Gain::default(),
            length_limit: LengthLimit::default(),
        }
    }

    /// Sets the number of rows in the cached buffer, at least 1.
    pub fn with_max_len(self, max_len: usize) -> Self {
        Self { max_len, ..self }
    }

    /// Sets the base of the wavelengths, finite and greater than 1.
    pub fn with_base(self, base: f64) -> Self {
        Self { base, ..self }
    }

    /// Sets whose formula to follow, in place of a base.
    pub fn with_formula(self, formula: Formula) -> Self {
        Self { formula, ..self }
    }

    /// Sets which column holds which sine and cosine, whatever the formula has.
    pub fn with_layout(self, layout: Layout) -> Self {
        let layout = Some(layout);
        Self { layout, ..self }
    }

    /// Sets the axes of a grid that share the columns, for images and video: see
    /// [`forward_grid`](SinusoidalPositionalEncoding::forward_grid).
    pub fn with_axes(self, axes: Axes) -> Self {
        let axes = Some(axes);
        Self { axes, ..self }
    }

    /// Sets the dropout probability, in `[0, 1)`.
    pub fn with_dropout(self, dropout: f64) -> Self {
        Self { dropout, ..self }
    }

    /// Sets what the input is multiplied by before the encoding is added.
    pub fn with_input_scale(self, input_scale: InputScale) -> Self {
        Self {
            input_scale,
            ..self
        }
    }

    /// Sets what the encoding is multiplied by.
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

    /// Builds the module and its buffer on `device`.
    ///
    /// The buffer is of type `f64` where that is the default float type of the device, else `f32`.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> SinusoidalPositionalEncoding {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroDModel`], [`ZeroMaxLen`](PositionError::ZeroMaxLen),
    /// [`Base`](PositionError::Base), [`Wavelengths`](PositionError::Wavelengths),
    /// [`Number`](PositionError::Number) (of the formula),
    /// [`BaseAndFormula`](PositionError::BaseAndFormula),
    /// [`AxisShare`](PositionError::AxisShare), [`Dropout`](PositionError::Dropout),
    /// [`NotFinite`](PositionError::NotFinite) (the gain or the input scale), and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) when
    /// `max_len` is more rows than there are positions or memory.
    pub fn try_init(&self, device: &Device) -> Result<SinusoidalPositionalEncoding, PositionError> {
        let width = self.width()?;
        let spectrum = match self.formula {
            Formula::Paper {} => Spectrum::try_new(width, self.base)?,
            _ if self.base != DEFAULT_BASE => {
                return Err(PositionError::BaseAndFormula { base: self.base });
            }
            formula => Spectrum::try_of(formula, width)?,
        };
        let layout = self.layout.unwrap_or(spectrum.layout());
        let spectrum = spectrum.with_layout(layout);
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
        let amplitude = fixed * spectrum.amplitude();
        check_finite("gain", amplitude)?;
        let source = RowSource::from(spectrum.with_amplitude(amplitude));
        Ok(SinusoidalPositionalEncoding {
            rows: RowBuffer::new(source, self.max_len, device)?,
            gain: learned,
            dropout: DropoutConfig::new(self.dropout).init(),
            config: self.clone(),
        })
    }

    /// The width of the encoding, or of that of one axis.
    fn width(&self) -> Result<usize, PositionError> {
        let columns = self.d_model;
        let Some(axes) = self.axes.map(|axes| axes.order().len()) else {
            return Ok(columns);
        };
        let width = columns.div_ceil(2 * axes) * 2;
        match columns > (axes - 1) * width {
            true => Ok(width),
            false if columns == 0 => Err(PositionError::ZeroDModel),
            false => Err(PositionError::AxisShare {
                columns,
                axes,
                rule: "of 2⌈d_model/2a⌉ for each of a axes, none are left for the last one",
            }),
        }
    }
}

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
/// use pe_burn::{Positions, SinusoidalPositionalEncodingConfig};
///
/// let device = Device::flex();
/// let pe = SinusoidalPositionalEncodingConfig::new(512).with_dropout(0.1).init(&device);
///
/// let embeddings = Tensor::<3>::random([8, 128, 512], Distribution::Default, &device);
/// let x = pe.forward(embeddings); // [8, 128, 512]
///
/// // Decoding with a cache of 128 tokens: the next token is at position 128.
/// let token = Tensor::<3>::random([8, 1, 512], Distribution::Default, &device);
/// let y = pe.forward_at(token, &Positions::from(128));
/// # assert_eq!((x.dims(), y.dims()), ([8, 128, 512], [8, 1, 512]));
/// ```
///
/// - **Exact.** An entry is within 3.0e-8 of the true value at every position (`f64`: 1e-15 below
///   2^20). Tables computed in `f32`, as most are, are off by 4e-4 at position 5 000.
/// - **No limit.** Rows from `max_len` on are computed for the call, unless the configuration says
///   [`LengthLimit::Error`].
/// - **No parameters** (one with [`Gain::Learned`]). The table is a buffer: it moves with the
///   module, is never trained, and is not in the record; it is there again after a load, because
///   `init` makes it.
/// - **Any float type.** The sum is computed in `f32` (`f64` for `f64` inputs) and rounded once to
///   the type of the input, `f16` and `bf16` included. The buffer serves `f64` inputs where `f64`
///   is the default type of the device; elsewhere their rows are computed for the call.
/// - **In place.** Pass `x` by value and do not keep a clone of it: the backends then add into its
///   memory instead of allocating as much again.
///
/// - A learned gain, as any parameter, cannot meet another gradient checkpointing strategy than its
///   own: build the model on the checkpointing device, and do not send it through
///   `valid().train()`, which restores the default strategy. Without one, any mix of autodiff
///   contexts works.
///
/// To concatenate position and content instead of adding them, take the encoding alone:
///
/// ```
/// # use burn::tensor::{Device, Distribution, Tensor};
/// # use pe_burn::{Positions, SinusoidalPositionalEncodingConfig};
/// # let device = Device::flex();
/// let pe = SinusoidalPositionalEncodingConfig::new(64).init(&device);
/// let x = Tensor::<3>::random([8, 20, 512], Distribution::Default, &device);
/// let encoding = pe.encode(&Positions::default(), 20); // [1, 20, 64]
/// let both = Tensor::cat(vec![x, encoding.expand([8, 20, 64])], 2);
/// assert_eq!(both.dims(), [8, 20, 576]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct SinusoidalPositionalEncoding {
    /// Width `d_model`, a fixed gain included.
    rows: RowBuffer,
    /// The learned gain, `[1]`.
    gain: Option<Param<Tensor<1>>>,
    dropout: Dropout,
    #[module(skip)]
    config: SinusoidalPositionalEncodingConfig,
}

impl SinusoidalPositionalEncoding {
    /// Adds the encodings of positions 0, 1, 2, … to `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_forward`](Self::try_forward) returns an error.
    pub fn forward(&self, x: Tensor<3>) -> Tensor<3> {
        expect(self.try_forward(x))
    }

    /// As [`forward`](Self::forward).
    ///
    /// # Errors
    ///
    /// As [`try_forward_at`](Self::try_forward_at).
    pub fn try_forward(&self, x: Tensor<3>) -> Result<Tensor<3>, PositionError> {
        self.try_forward_at(x, &Positions::default())
    }

    /// Adds the encodings of `positions` to `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_forward_at`](Self::try_forward_at) returns an error.
    pub fn forward_at(&self, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        expect(self.try_forward_at(x, positions))
    }

    /// As [`forward_at`](Self::forward_at).
    ///
    /// # Errors
    ///
    /// [`PositionError::DModel`] when `x` is of another width, [`Device`](PositionError::Device)
    /// when it is elsewhere, [`Quantized`](PositionError::Quantized) when it is,
    /// [`Shape`](PositionError::Shape) or [`Starts`](PositionError::Starts) when the positions are
    /// for another shape, [`NoGrid`](PositionError::NoGrid) when the configuration has axes and the
    /// positions are not on a grid of these,
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION), and
    /// [`TooLong`](PositionError::TooLong) past `max_len` under [`LengthLimit::Error`].
    pub fn try_forward_at(
        &self,
        x: Tensor<3>,
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        let d_model = self.config.d_model;
        let [batch, seq] = check_input(&x, positions, d_model, &self.rows.device())?;
        self.check_place(positions, seq)?;
        if batch * seq == 0 {
            return Ok(x);
        }
        let dtype = input::sum_dtype(x.dtype().into());
        let encoding = self.encoding(positions, seq, dtype)?;
        let scale = self.config.input_scale.factor(d_model);
        let numbers = batch * seq * d_model;
        Ok(input::add(x, encoding, scale, &self.dropout, numbers))
    }

    /// Adds the encodings of a whole grid to `x`, for a configuration with
    /// [`axes`](SinusoidalPositionalEncodingConfig::axes).
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Axes, Grid, Positions, SinusoidalPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let config = SinusoidalPositionalEncodingConfig::new(64).with_axes(Axes::HeightWidth);
    /// let pe = config.init(&device);
    ///
    /// let patches = Tensor::<4>::random([2, 14, 16, 64], Distribution::Default, &device);
    /// let x = pe.forward_grid(patches); // [batch, height, width, d_model]
    ///
    /// // Flattened, behind a class token, which gets zeros:
    /// let tokens = Tensor::<3>::random([2, 1 + 14 * 16, 64], Distribution::Default, &device);
    /// let grid = Grid::image(14, 16).with_prefix(1);
    /// let y = pe.forward_at(tokens, &Positions::from(grid));
    /// # assert_eq!((x.dims(), y.dims()), ([2, 14, 16, 64], [2, 225, 64]));
    /// ```
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, height, width, d_model]`, or `[batch, frames, height, width, d_model]`, any
    ///   float type
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_forward_grid`](Self::try_forward_grid) returns an error.
    pub fn forward_grid<const D: usize>(&self, x: Tensor<D>) -> Tensor<D> {
        expect(self.try_forward_grid(x))
    }

    /// As [`forward_grid`](Self::forward_grid).
    ///
    /// # Errors
    ///
    /// [`PositionError::NoAxes`] when the configuration has none,
    /// [`GridInput`](PositionError::GridInput) when `x` has others, and those of
    /// [`try_forward_at`](Self::try_forward_at).
    pub fn try_forward_grid<const D: usize>(
        &self,
        x: Tensor<D>,
    ) -> Result<Tensor<D>, PositionError> {
        let shape = x.dims();
        let grid = match (self.config.axes, &shape[..]) {
            (Some(axes), [_, height, width, _]) if axes.order().len() == 2 => {
                Grid::image(*height, *width)
            }
            (Some(axes), [_, frames, height, width, _]) if axes.order().len() == 3 => {
                Grid::video(*frames, *height, *width)
            }
            (Some(axes), _) => {
                return Err(PositionError::GridInput {
                    axes: axes.kind(),
                    expected: 2 + axes.order().len(),
                    got: D,
                });
            }
            (None, _) => return Err(PositionError::NoAxes),
        };
        let (expected, got) = (self.config.d_model, shape[D - 1]);
        if got != expected {
            return Err(PositionError::DModel { expected, got });
        }
        if shape.contains(&0) {
            return Ok(x); // Burn's reshape takes a 0 for the size that was there
        }
        let flat = x.reshape([shape[0], grid.tokens(), got]);
        let sum = self.try_forward_at(flat, &Positions::from(grid))?;
        Ok(sum.reshape(shape))
    }

    /// The encodings of `positions` alone, the gain included, in the type of the buffer.
    ///
    /// # Shapes
    ///
    /// - output: `[1, seq, d_model]` where every row of a batch has the same positions, else
    ///   `[batch, seq, d_model]`
    ///
    /// # Panics
    ///
    /// Where [`try_encode`](Self::try_encode) returns an error.
    pub fn encode(&self, positions: &Positions, seq: usize) -> Tensor<3> {
        expect(self.try_encode(positions, seq))
    }

    /// As [`encode`](Self::encode).
    ///
    /// # Errors
    ///
    /// [`PositionError::Shape`] when the positions are not for `seq` tokens,
    /// [`NoGrid`](PositionError::NoGrid), [`Overflow`](PositionError::Overflow) and
    /// [`TooLong`](PositionError::TooLong) as in [`try_forward_at`](Self::try_forward_at), and [`TooLarge`](PositionError::TooLarge) when
    /// there is no memory for so many rows past the buffer.
    pub fn try_encode(
        &self,
        positions: &Positions,
        seq: usize,
    ) -> Result<Tensor<3>, PositionError> {
        self.try_encode_as(positions, seq, self.rows.dtype())
    }

    /// As [`encode`](Self::encode), in another float type: `f64` entries are computed as such, the
    /// shorter types are rounded from `f32`.
    ///
    /// # Panics
    ///
    /// Where [`try_encode_as`](Self::try_encode_as) returns an error.
    pub fn encode_as(&self, positions: &Positions, seq: usize, dtype: FloatDType) -> Tensor<3> {
        expect(self.try_encode_as(positions, seq, dtype))
    }

    /// As [`encode_as`](Self::encode_as).
    ///
    /// # Errors
    ///
    /// As [`try_encode`](Self::try_encode), and [`PositionError::DType`] when the device cannot
    /// compute in `dtype`.
    pub fn try_encode_as(
        &self,
        positions: &Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        let device = self.rows.device();
        if !device.supports_dtype(dtype) {
            return Err(input::unsupported(dtype.into(), &device));
        }
        positions.check(None, seq)?;
        self.check_place(positions, seq)?;
        let shape = [positions.rows(), seq, self.config.d_model];
        if shape.contains(&0) {
            let options = (&device.without_autodiff(), dtype.into());
            return Ok(Tensor::empty(shape, options));
        }
        let encoding = self.encoding(positions, seq, input::sum_dtype(dtype))?;
        Ok(encoding.tensor().cast(dtype))
    }

    /// The frequencies of this encoding, for looking into it, and as amplitude its fixed gain.
    pub fn spectrum(&self) -> &Spectrum {
        &self.rows.source().spectrum
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &SinusoidalPositionalEncodingConfig {
        &self.config
    }

    #[inline(always)]
    fn check_place(&self, positions: &Positions, seq: usize) -> Result<(), PositionError> {
        if let Some(axes) = self.config.axes {
            positions.on_grid(axes)?;
        }
        match self.config.length_limit {
            LengthLimit::None => Ok(()),
            LengthLimit::Error => match self.config.axes {
                Some(axes) => {
                    let longest = positions.grid_end(axes)?;
                    Positions::default().check_limit(longest, self.config.max_len)
                }
                None => positions.check_limit(seq, self.config.max_len),
            },
        }
    }

    /// The encoding of at least one token at checked positions, in `f32` or `f64`.
    #[inline(always)] // a decoding step feels the call
    fn encoding<'a>(
        &self,
        positions: &'a Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Encoding<'a>, PositionError> {
        let encoding = match self.config.axes {
            None => self.rows.encoding(positions, seq, dtype)?,
            Some(axes) => Encoding::Whole(self.of_grid(axes, positions, seq, dtype)?),
        };
        let padding = match self.config.formula.pads_with_zeros() {
            true => positions.padding(),
            false => None,
        };
        if padding.is_none() && self.gain.is_none() {
            return Ok(encoding);
        }
        let mut encoding = encoding.tensor();
        if let Some(padding) = padding {
            let padding = mask_on(padding, &encoding.device());
            encoding = encoding.mask_fill(padding.unsqueeze_dim::<3>(2), 0.0);
        }
        if let Some(gain) = &self.gain {
            encoding = encoding.mul(dequantized(gain.val()).cast(dtype).reshape([1, 1, 1]));
        }
        Ok(Encoding::Whole(encoding))
    }

    /// The encodings of the axes side by side; zeros for tokens in front of the grid.
    #[cold] // a decoding step has none, and feels what is inlined into it
    fn of_grid(
        &self,
        axes: Axes,
        positions: &Positions,
        seq: usize,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        let rows = self.rows.grid_rows(axes, positions, seq, dtype)?;
        let columns = Tensor::cat(rows, 2).narrow(2, 0, self.config.d_model);
        Ok(match positions.in_front(seq, &columns.device()) {
            Some(in_front) => columns.mask_fill(in_front, 0.0),
            None => columns,
        })
    }
}

impl ModuleDisplay for SinusoidalPositionalEncoding {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        on_one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("d_model", &self.config.d_model)
            .add("max_len", &self.config.max_len)
            .add("base", &self.config.base)
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
