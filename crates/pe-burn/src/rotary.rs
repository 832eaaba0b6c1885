//! Rotary position embedding.

use alloc::vec::Vec;

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay};
use burn::tensor::{Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use crate::buffer::{RowBuffer, RowSource, default_max_len};
use crate::display::on_one_line;
use crate::error::{PositionError, expect};
use crate::grid::Axes;
use crate::input::{self, check_heads};
use crate::layout::Layout;
use crate::positions::Positions;
use crate::rotation::{Turn, rotate};
use crate::scaling::RopeScaling;
use crate::spectrum::{Spectrum, default_base};

/// The configuration of a [`RotaryPositionalEncoding`].
///
/// As data (JSON, TOML) only `d_head` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotaryPositionalEncodingConfig {
    /// The width of a head, at least 2.
    pub d_head: usize,
    /// The number of rows in the cached buffer; it limits nothing. Default: 5000.
    #[serde(default = "default_max_len")]
    pub max_len: usize,
    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    #[serde(default = "default_base")]
    pub base: f64,
    /// Which columns make a pair. Default: interleaved.
    #[serde(default)]
    pub layout: Layout,
    /// How many columns of a head are rotated, the first ones: even, from 2 to `d_head`. Default:
    /// all of them, which takes an even `d_head`.
    #[serde(default)]
    pub rotary_dim: Option<usize>,
    /// How the frequencies are changed for longer inputs. Default: not at all.
    #[serde(default)]
    pub scaling: Option<RopeScaling>,
    /// The axes of a grid that share the pairs evenly. Default: none, positions are on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<Axes>,
}

impl Config for RotaryPositionalEncodingConfig {}

impl RotaryPositionalEncodingConfig {
    /// The paper's rotation for heads of width `d_head`; every option at its default.
    pub fn new(d_head: usize) -> Self {
        Self {
            d_head,
            max_len: default_max_len(),
            base: default_base(),
            layout: Layout::default(),
            rotary_dim: None,
            scaling: None,
            axes: None,
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

    /// Sets which columns make a pair: [`Layout::Interleaved`] for `(0, 1), (2, 3), …`, as in the
    /// paper, GPT-J and Burn; [`Layout::Halves`] for `(0, d/2), (1, d/2 + 1), …`, as in GPT-NeoX,
    /// Llama and Qwen at Hugging Face. Weights for one are useless with the other:
    /// [`convert_heads`](crate::convert_heads) converts them.
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Sets how many columns of a head are rotated.
    pub fn with_rotary_dim(self, rotary_dim: Option<usize>) -> Self {
        Self { rotary_dim, ..self }
    }

    /// Sets how the frequencies are changed for longer inputs.
    pub fn with_scaling(self, scaling: Option<RopeScaling>) -> Self {
        Self { scaling, ..self }
    }

    /// Sets the axes of a grid that share the pairs, for images and video. Each has as many pairs
    /// and turns them by its own coordinate, at the frequencies of a head of that width; tokens in
    /// front of the grid are not turned (an attention factor scales them as all others).
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Axes, Grid, Positions, RotaryPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let rope = RotaryPositionalEncodingConfig::new(64)
    ///     .with_axes(Axes::HeightWidth)
    ///     .init(&device);
    /// let positions = Positions::from(Grid::image(14, 16).with_prefix(1));
    /// let q = Tensor::<4>::random([2, 8, 1 + 14 * 16, 64], Distribution::Default, &device);
    /// let q = rope.apply(q, &positions);
    /// # assert_eq!(q.dims(), [2, 8, 225, 64]);
    /// ```
    pub fn with_axes(self, axes: Axes) -> Self {
        let axes = Some(axes);
        Self { axes, ..self }
    }

    /// Builds the module and its buffer on `device`.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> RotaryPositionalEncoding {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// [`PositionError::RotaryDim`], [`AxisShare`](PositionError::AxisShare),
    /// [`GridScaling`](PositionError::GridScaling), [`ZeroMaxLen`](PositionError::ZeroMaxLen),
    /// [`Base`](PositionError::Base), [`Number`](PositionError::Number),
    /// [`Factors`](PositionError::Factors), [`LongropeFactor`](PositionError::LongropeFactor), and
    /// [`Overflow`](PositionError::Overflow) or
    /// [`TooLarge`](PositionError::TooLarge) when `max_len` is more rows than there are positions
    /// or memory.
    pub fn try_init(&self, device: &Device) -> Result<RotaryPositionalEncoding, PositionError> {
        // The buffer is that of inputs of a length that changes nothing.
        let source = RowSource::from(self.spectrum(0)?);
        Ok(RotaryPositionalEncoding {
            rows: RowBuffer::new(source, self.max_len, device)?,
            config: self.clone(),
        })
    }

    /// The length from which on the frequencies follow that of the input, where they do.
    fn changes_beyond(&self) -> Option<usize> {
        self.scaling.as_ref().and_then(RopeScaling::changes_beyond)
    }

    /// The frequencies for inputs of `seq` tokens, the sines of a row before its cosines, and as
    /// amplitude the attention factor.
    fn spectrum(&self, seq: usize) -> Result<Spectrum, PositionError> {
        let rotary_dim = self.rotary_dim.unwrap_or(self.d_head);
        if rotary_dim == 0 || !rotary_dim.is_multiple_of(2) || rotary_dim > self.d_head {
            return Err(PositionError::RotaryDim {
                rotary_dim,
                d_head: self.d_head,
            });
        }
        let axes = self.axes.map_or(1, |axes| axes.order().len());
        if !rotary_dim.is_multiple_of(2 * axes) {
            return Err(PositionError::AxisShare {
                columns: rotary_dim,
                axes,
                rule: "each axis turns as many pairs, so it must be a multiple of twice their number",
            });
        }
        if self.axes.is_some() && self.changes_beyond().is_some() {
            return Err(PositionError::GridScaling);
        }
        let spectrum = Spectrum::try_new(rotary_dim / axes, self.base)?.with_layout(Layout::Halves);
        match &self.scaling {
            Some(scaling) => {
                let attention = scaling.attention_factor();
                Ok(spectrum.try_scaled(scaling, seq)?.with_amplitude(attention))
            }
            None => Ok(spectrum),
        }
    }
}

/// Turns pairs of columns of queries and keys by angles that grow with the position, so that their
/// products depend on the distance between them and not on where they stand: Su et al., [*RoFormer:
/// Enhanced Transformer with Rotary Position Embedding*](https://arxiv.org/abs/2104.09864), 2021,
/// §3.2.2 and §3.4.2:
///
/// ```text
/// ω_i = base^(−2i/rotary_dim)
/// (a, b)_i → (a cos ω_i p − b sin ω_i p,  a sin ω_i p + b cos ω_i p)
/// ⟨rotate(q, m), rotate(k, n)⟩ = f(q, k, m − n)
/// ```
///
/// Made by [`RotaryPositionalEncodingConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{Positions, RotaryPositionalEncodingConfig};
///
/// let device = Device::flex();
/// let rope = RotaryPositionalEncodingConfig::new(64).init(&device);
///
/// let q = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let k = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let (q, k) = rope.forward(q, k); // [batch, heads, seq, d_head]
///
/// // Decoding: the next query and key are at position 100. Keys of the cache were rotated before.
/// let next = Tensor::<4>::random([2, 8, 1, 64], Distribution::Default, &device);
/// let next = rope.apply(next, &Positions::from(100));
/// # assert_eq!((q.dims(), k.dims(), next.dims()), ([2, 8, 100, 64], [2, 8, 100, 64], [2, 8, 1, 64]));
/// ```
///
/// - **Exact.** Sines and cosines are those of
///   [`SinusoidalPositionalEncoding`](crate::SinusoidalPositionalEncoding): within 3.0e-8 at every
///   position.
/// - **Any length.** Rows from `max_len` on are computed for the call. Nothing is kept between
///   calls: with [`RopeScaling::Dynamic`] and [`RopeScaling::Longrope`] the frequencies are those of
///   the largest position of the call, so a cache of rotated keys that grows past the trained
///   length holds keys of other frequencies; rotate anew from unrotated keys where that matters.
/// - **Any float type.** `f16` and `bf16` are rotated in `f32` and rounded once.
/// - **In place.** Pass tensors by value and do not keep clones. With the feature `flex` it is one
///   pass over memory on all threads there.
/// - **No parameters.** The buffer moves with the module and is not in the record.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct RotaryPositionalEncoding {
    /// The sines and cosines of a row, the attention factor included.
    rows: RowBuffer,
    #[module(skip)]
    config: RotaryPositionalEncodingConfig,
}

impl RotaryPositionalEncoding {
    /// Queries and keys rotated by positions 0, 1, 2, …
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, heads, seq, d_head]`, any float type; the numbers of heads may differ
    /// - output: as `q` and `k`
    ///
    /// # Panics
    ///
    /// Where [`try_apply`](Self::try_apply) returns an error for one of them.
    pub fn forward(&self, q: Tensor<4>, k: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        self.forward_at(q, k, &Positions::default())
    }

    /// Queries and keys rotated by `positions`.
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, heads, seq, d_head]`, any float type; the numbers of heads may differ
    /// - output: as `q` and `k`
    ///
    /// # Panics
    ///
    /// Where [`try_forward_at`](Self::try_forward_at) returns an error.
    pub fn forward_at(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_forward_at(q, k, positions))
    }

    /// As [`forward_at`](Self::forward_at).
    ///
    /// # Errors
    ///
    /// As [`try_apply`](Self::try_apply), for one of them.
    pub fn try_forward_at(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        self.try_forward_apart((q, positions), (k, positions))
    }

    /// Queries and keys at positions of their own: keys of another sequence, or of a cache that is not
    /// rotated yet. Where the frequencies depend on the length, they are those of the largest position
    /// of both.
    ///
    /// # Shapes
    ///
    /// - `q`: `[batch, heads, queries, d_head]`; `k`: `[batch, heads, keys, d_head]`; any float type
    /// - output: as `q` and `k`
    ///
    /// # Panics
    ///
    /// Where [`try_forward_apart`](Self::try_forward_apart) returns an error.
    pub fn forward_apart(
        &self,
        queries: (Tensor<4>, &Positions),
        keys: (Tensor<4>, &Positions),
    ) -> (Tensor<4>, Tensor<4>) {
        expect(self.try_forward_apart(queries, keys))
    }

    /// As [`forward_apart`](Self::forward_apart).
    ///
    /// # Errors
    ///
    /// As [`try_apply`](Self::try_apply), for one of them.
    pub fn try_forward_apart(
        &self,
        (q, at_q): (Tensor<4>, &Positions),
        (k, at_k): (Tensor<4>, &Positions),
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        let [of_q, of_k] = [self.needed(&q, at_q)?, self.needed(&k, at_k)?];
        // Keys mostly are as many as queries, and where they are.
        let alike = core::ptr::eq(at_q, at_k) && of_q == of_k;
        let end_of_q = self.end(at_q, of_q);
        let end = match alike {
            true => end_of_q,
            false => end_of_q.max(self.end(at_k, of_k)),
        };
        let rows = self.rows(at_q, of_q, end)?;
        let rows_of_k = match alike {
            true => rows.clone(),
            false => self.rows(at_k, of_k, end)?,
        };
        let turned = |x, rows| self.turn(x, rows, Turn::Forth);
        Ok((turned(q, rows), turned(k, rows_of_k)))
    }

    /// Queries or keys rotated by `positions`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, heads, seq, d_head]`, any float type; any of the first three may be 0
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_apply`](Self::try_apply) returns an error.
    pub fn apply(&self, x: Tensor<4>, positions: &Positions) -> Tensor<4> {
        expect(self.try_apply(x, positions))
    }

    /// As [`apply`](Self::apply).
    ///
    /// # Errors
    ///
    /// [`PositionError::DHead`] when `x` is of another width, [`Device`](PositionError::Device)
    /// when it is elsewhere, [`Quantized`](PositionError::Quantized) when it is,
    /// [`Shape`](PositionError::Shape) or [`Starts`](PositionError::Starts) when the positions are
    /// for another shape, [`NoGrid`](PositionError::NoGrid) when the configuration has axes and the
    /// positions are not on a grid of these, and [`Overflow`](PositionError::Overflow) past
    /// [`MAX_POSITION`](crate::MAX_POSITION).
    pub fn try_apply(
        &self,
        x: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        let rows = self.own_rows(&x, positions)?;
        Ok(self.turn(x, rows, Turn::Forth))
    }

    /// The opposite of [`apply`](Self::apply): takes the rotation by `positions` off again. (With
    /// an attention factor the result is longer by its square.)
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, heads, seq, d_head]`, any float type
    /// - output: as `x`
    ///
    /// # Panics
    ///
    /// Where [`try_invert`](Self::try_invert) returns an error.
    pub fn invert(&self, x: Tensor<4>, positions: &Positions) -> Tensor<4> {
        expect(self.try_invert(x, positions))
    }

    /// As [`invert`](Self::invert).
    ///
    /// # Errors
    ///
    /// As [`try_apply`](Self::try_apply).
    pub fn try_invert(
        &self,
        x: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        let rows = self.own_rows(&x, positions)?;
        Ok(self.turn(x, rows, Turn::Back))
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &RotaryPositionalEncodingConfig {
        &self.config
    }

    /// The frequencies for inputs whose largest position is `seq - 1`, for looking into them.
    ///
    /// # Panics
    ///
    /// Where [`try_spectrum`](Self::try_spectrum) returns an error.
    pub fn spectrum(&self, seq: usize) -> Spectrum {
        expect(self.try_spectrum(seq))
    }

    /// As [`spectrum`](Self::spectrum).
    ///
    /// # Errors
    ///
    /// [`PositionError::Base`] when dynamic scaling to so long an input takes the base past all
    /// numbers.
    pub fn try_spectrum(&self, seq: usize) -> Result<Spectrum, PositionError> {
        self.config.spectrum(seq)
    }

    /// How many rows a checked input takes and of which type, if it has numbers.
    fn needed(
        &self,
        x: &Tensor<4>,
        positions: &Positions,
    ) -> Result<Option<(usize, FloatDType)>, PositionError> {
        let seq = check_heads(x, positions, self.config.d_head, &self.rows.device())?;
        if let Some(axes) = self.config.axes {
            positions.on_grid(axes)?;
        }
        let dtype = input::sum_dtype(x.dtype().into());
        Ok((x.shape().num_elements() > 0).then_some((seq, dtype)))
    }

    /// The rows of an input alone.
    fn own_rows(
        &self,
        x: &Tensor<4>,
        positions: &Positions,
    ) -> Result<Option<Tensor<3>>, PositionError> {
        let needed = self.needed(x, positions)?;
        self.rows(positions, needed, self.end(positions, needed))
    }

    /// Rows of the frequencies for inputs that end there.
    fn rows(
        &self,
        positions: &Positions,
        needed: Option<(usize, FloatDType)>,
        end: usize,
    ) -> Result<Option<Tensor<3>>, PositionError> {
        let Some((seq, dtype)) = needed else {
            return Ok(None);
        };
        let rows = match (self.longer_spectrum(end)?, self.config.axes) {
            (Some(spectrum), _) => {
                let device = self.rows.device().without_autodiff();
                RowSource::from(spectrum).rows(positions, seq, dtype, &device)?
            }
            (None, None) => self.rows.rows(positions, seq, dtype)?,
            (None, Some(axes)) => {
                // The sines of all axes before the cosines of all.
                let rows = self.rows.grid_rows(axes, positions, seq, dtype)?;
                let halves = rows.into_iter().map(|rows| rows.chunk(2, 2));
                let halves: Vec<Vec<Tensor<3>>> = halves.collect();
                let of = |half: usize| halves.iter().map(move |rows| rows[half].clone());
                Tensor::cat(of(0).chain(of(1)).collect(), 2)
            }
        };
        Ok(Some(rows))
    }

    fn turn(&self, x: Tensor<4>, rows: Option<Tensor<3>>, turn: Turn) -> Tensor<4> {
        match rows {
            Some(rows) => rotate(x, rows, self.config.layout, turn),
            None => x,
        }
    }

    /// The end of these positions, where it matters; 0 where nothing depends on it.
    fn end(&self, positions: &Positions, needed: Option<(usize, FloatDType)>) -> usize {
        match (self.config.changes_beyond(), needed) {
            (Some(limit), Some((seq, _))) => positions.end_beyond(seq, limit),
            _ => 0,
        }
    }

    /// The spectrum of a call that is longer than what the model was trained on, where it differs.
    fn longer_spectrum(&self, end: usize) -> Result<Option<Spectrum>, PositionError> {
        match self.config.changes_beyond() {
            Some(limit) if end > limit => self.config.spectrum(end).map(Some),
            _ => Ok(None),
        }
    }
}

impl ModuleDisplay for RotaryPositionalEncoding {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        on_one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("d_head", &self.config.d_head)
            .add("max_len", &self.config.max_len)
            .add("base", &self.config.base)
            .add_debug_attribute("layout", &self.config.layout)
            .add_debug_attribute("rotary_dim", &self.config.rotary_dim)
            .add_debug_attribute("scaling", &self.config.scaling)
            .add_debug_attribute("axes", &self.config.axes)
            .optional()
    }
}
