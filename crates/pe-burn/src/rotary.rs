//! Rotary position embedding.

use alloc::vec::Vec;

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay};
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::buffer::{Factor, RowBuffer, RowSource, default_max_len};
use crate::display::on_one_line;
use crate::error::{PositionError, expect};
use crate::input::{self, check_heads};
use crate::positions::{Positions, row_numbers};
use crate::rotation::{Turn, rotate};
use crate::scaling::RopeScaling;
use crate::spectrum::{Layout, Spectrum, default_base};

/// The configuration of a [`RotaryPositionalEncoding`].
///
/// As data (JSON, TOML) only `d_head` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotaryPositionalEncodingConfig {
    /// The width of a head, at least 1.
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
    /// [`convert_heads`] converts them.
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
    /// [`PositionError::RotaryDim`], [`ZeroMaxLen`](PositionError::ZeroMaxLen),
    /// [`Base`](PositionError::Base), [`Scaling`](PositionError::Scaling),
    /// [`Factors`](PositionError::Factors), and [`Overflow`](PositionError::Overflow) or
    /// [`TooLarge`](PositionError::TooLarge) when `max_len` is more rows than there are positions
    /// or memory.
    pub fn try_init(&self, device: &Device) -> Result<RotaryPositionalEncoding, PositionError> {
        let attention = self
            .scaling
            .as_ref()
            .map_or(1.0, RopeScaling::attention_factor);
        // The buffer is that of inputs of a length that changes nothing.
        let spectrum = self.spectrum(0)?;
        let factor = Factor::Constant(attention);
        let source = RowSource { spectrum, factor };
        Ok(RotaryPositionalEncoding {
            rows: RowBuffer::new(source, self.max_len, device)?,
            config: self.clone(),
        })
    }

    /// The frequencies for inputs of `seq` tokens, the sines of a row before its cosines.
    fn spectrum(&self, seq: usize) -> Result<Spectrum, PositionError> {
        let rotary_dim = self.rotary_dim.unwrap_or(self.d_head);
        if rotary_dim == 0 || !rotary_dim.is_multiple_of(2) || rotary_dim > self.d_head {
            return Err(PositionError::RotaryDim {
                rotary_dim,
                d_head: self.d_head,
            });
        }
        let spectrum = Spectrum::try_new(rotary_dim, self.base)?.with_layout(Layout::Halves);
        match &self.scaling {
            Some(scaling) => spectrum.try_scaled(scaling, seq),
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
    /// Where [`try_apply`](Self::try_apply) returns an error for one of them.
    pub fn forward_at(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> (Tensor<4>, Tensor<4>) {
        (self.apply(q, positions), self.apply(k, positions))
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
    /// when it is elsewhere, [`DType`](PositionError::DType) when it is quantized,
    /// [`Shape`](PositionError::Shape) or [`Starts`](PositionError::Starts) when the positions are
    /// for another shape, and [`Overflow`](PositionError::Overflow) past
    /// [`MAX_POSITION`](crate::MAX_POSITION).
    pub fn try_apply(
        &self,
        x: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        self.turn(x, positions, Turn::Forth)
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
        self.turn(x, positions, Turn::Back)
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &RotaryPositionalEncodingConfig {
        &self.config
    }

    /// The frequencies for inputs whose largest position is `seq - 1`, for looking into them.
    ///
    /// # Panics
    ///
    /// When dynamic scaling to so long an input takes the base past all numbers.
    pub fn spectrum(&self, seq: usize) -> Spectrum {
        expect(self.config.spectrum(seq))
    }

    fn turn(
        &self,
        x: Tensor<4>,
        positions: &Positions,
        turn: Turn,
    ) -> Result<Tensor<4>, PositionError> {
        let device = self.rows.device();
        let seq = check_heads(&x, positions, self.config.d_head, &device)?;
        if x.shape().num_elements() == 0 {
            return Ok(x);
        }
        let dtype = input::sum_dtype(x.dtype().into());
        let rows = match self.longer_spectrum(positions, seq)? {
            None => self.rows.rows(positions, seq, dtype)?,
            Some(spectrum) => {
                let factor = self.rows.source().factor.clone();
                let source = RowSource { spectrum, factor };
                source.rows(positions, seq, dtype, &device.without_autodiff())?
            }
        };
        Ok(rotate(x, rows, self.config.layout, turn))
    }

    /// The spectrum of a call that is longer than what the model was trained on, where it differs.
    fn longer_spectrum(
        &self,
        positions: &Positions,
        seq: usize,
    ) -> Result<Option<Spectrum>, PositionError> {
        let Some(limit) = self
            .config
            .scaling
            .as_ref()
            .and_then(|s| s.changes_beyond())
        else {
            return Ok(None);
        };
        match positions.end_beyond(seq, limit) {
            end if end > limit => self.config.spectrum(end).map(Some),
            _ => Ok(None),
        }
    }
}

/// The weights of a projection to queries or keys, made for rotary pairs in one layout, reordered
/// for the other.
///
/// Apply it to the weight and the bias of both projections: then the scores, and with them the
/// model, are the same as before. It is a permutation of columns, so no number changes.
///
/// # Shapes
///
/// - `x`: `[.., heads · d_head]`: the weight `[d_model, heads · d_head]` of a
///   [`Linear`](burn::nn::Linear), its bias, or queries and keys themselves
/// - output: as `x`
///
/// # Panics
///
/// When the last axis is not a multiple of `heads`, or `rotary_dim`, which is the number of columns
/// that are rotated in each head, is odd or more than there are.
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{Layout, convert_heads};
///
/// // Two heads of four columns, as Llama's checkpoints at Meta have them, for Hugging Face's.
/// let bias = Tensor::<1>::from_floats([0., 1., 2., 3., 10., 11., 12., 13.], &Device::flex());
/// let halves = convert_heads(bias, 2, 4, Layout::Interleaved, Layout::Halves);
/// halves.into_data().assert_eq(&[0.0_f32, 2., 1., 3., 10., 12., 11., 13.].into(), true);
/// ```
pub fn convert_heads<const D: usize>(
    x: Tensor<D>,
    heads: usize,
    rotary_dim: usize,
    from: Layout,
    to: Layout,
) -> Tensor<D> {
    let dims = x.dims();
    let width = dims[D - 1];
    assert!(
        heads > 0 && width.is_multiple_of(heads),
        "the last axis has {width} columns, which {heads} heads cannot share"
    );
    let d_head = width / heads;
    assert!(
        rotary_dim.is_multiple_of(2) && rotary_dim <= d_head,
        "rotary_dim must be even and at most the width of a head, {d_head}; got {rotary_dim}"
    );
    if from == to || width == 0 {
        return x;
    }
    // Where each column of a head comes from.
    let source = |column: usize| match to {
        _ if column >= rotary_dim => column,
        Layout::Halves => 2 * (column % (rotary_dim / 2)) + column / (rotary_dim / 2),
        Layout::Interleaved => column / 2 + column % 2 * (rotary_dim / 2),
    };
    let columns = (0..width).map(|column| column / d_head * d_head + source(column % d_head));
    let columns: Vec<usize> = columns.collect();
    let device = x.device().without_autodiff();
    x.select(D - 1, row_numbers(&columns, &device))
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
            .optional()
    }
}
