//! xPos: rotary position embedding with a decay.

use burn::config::Config;
use burn::module::{Content, DisplaySettings, Module, ModuleDisplay};
use burn::tensor::{DType, Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::buffer::{RowBuffer, RowSource, default_max_len};
use crate::display::on_one_line;
use crate::error::{PositionError, expect};
use crate::input::{self, check_heads};
use crate::layout::Layout;
use crate::positions::Positions;
use crate::rotation::{Turn, rotate};
use crate::spectrum::{Spectrum, default_base};

/// γ of §3.2 of the paper: how strongly the slowest pairs decay beside the fastest.
const GAMMA: f64 = 0.4;

/// The exponent up to which e^x and e^−x, and sums of some of them, are numbers: in `f32` and the types
/// of its range, and in `f16`.
const MAX_EXPONENT: f64 = 80.0;
const MAX_EXPONENT_F16: f64 = 9.0;

/// The configuration of an [`XPosPositionalEncoding`].
///
/// As data (JSON, TOML) only `d_head` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct XPosPositionalEncodingConfig {
    /// The width of a head, even and at least 2.
    pub d_head: usize,
    /// The number of rows in the cached buffers; it limits nothing. Default: 5000.
    #[serde(default = "default_max_len")]
    pub max_len: usize,
    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    #[serde(default = "default_base")]
    pub base: f64,
    /// Which columns make a pair. Default: interleaved.
    #[serde(default)]
    pub layout: Layout,
    /// Positions in which the fastest pairs decay to γ/(1 + γ) = 0.29; above 0. Default: 512.
    #[serde(default = "default_scale_base")]
    pub scale_base: f64,
}

fn default_scale_base() -> f64 {
    512.0
}

impl Config for XPosPositionalEncodingConfig {}

impl XPosPositionalEncodingConfig {
    /// The paper's encoding for heads of width `d_head`; every option at its default.
    pub fn new(d_head: usize) -> Self {
        Self {
            d_head,
            max_len: default_max_len(),
            base: default_base(),
            layout: Layout::default(),
            scale_base: default_scale_base(),
        }
    }

    /// Sets the number of rows in the cached buffers, at least 1.
    pub fn with_max_len(self, max_len: usize) -> Self {
        Self { max_len, ..self }
    }

    /// Sets the base of the wavelengths, finite and greater than 1.
    pub fn with_base(self, base: f64) -> Self {
        Self { base, ..self }
    }

    /// Sets which columns make a pair.
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Sets the positions in which the fastest pairs decay to 0.29.
    pub fn with_scale_base(self, scale_base: f64) -> Self {
        Self { scale_base, ..self }
    }

    /// Builds the module and its buffers on `device`.
    ///
    /// # Panics
    ///
    /// Where [`try_init`](Self::try_init) returns an error.
    pub fn init(&self, device: &Device) -> XPosPositionalEncoding {
        expect(self.try_init(device))
    }

    /// As [`init`](Self::init).
    ///
    /// # Errors
    ///
    /// [`PositionError::RotaryDim`] for an odd width, [`ZeroMaxLen`](PositionError::ZeroMaxLen),
    /// [`Base`](PositionError::Base), [`ScaleBase`](PositionError::ScaleBase), and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) for more rows
    /// than there are positions or memory.
    pub fn try_init(&self, device: &Device) -> Result<XPosPositionalEncoding, PositionError> {
        let Self { d_head, base, .. } = *self;
        if d_head == 0 || !d_head.is_multiple_of(2) {
            return Err(PositionError::RotaryDim {
                rotary_dim: d_head,
                d_head,
            });
        }
        if !(self.scale_base > 0.0 && self.scale_base.is_finite()) {
            return Err(PositionError::ScaleBase {
                scale_base: self.scale_base,
            });
        }
        // A buffer need not go where no position can.
        let max_len = self
            .max_len
            .min((self.reach(MAX_EXPONENT) as usize).saturating_add(1));
        let spectrum = Spectrum::try_new(d_head, base)?.with_layout(Layout::Halves);
        let rows = |sign: f64| {
            let rates = self.logarithms().map(|log| sign * log / self.scale_base);
            let rows = RowSource::from(spectrum.clone()).growing(rates.collect());
            RowBuffer::new(rows, max_len, device)
        };
        Ok(XPosPositionalEncoding {
            of_queries: rows(1.0)?,
            of_keys: rows(-1.0)?,
            config: self.clone(),
        })
    }

    /// ln ζ_i of every pair, the smallest first.
    fn logarithms(&self) -> impl Iterator<Item = f64> {
        let pairs = self.d_head / 2;
        (0..pairs).map(move |i| libm::log((i as f64 / pairs as f64 + GAMMA) / (1.0 + GAMMA)))
    }

    /// The distance from 0 at which an exponent gets too large.
    fn reach(&self, exponent: f64) -> f64 {
        let steepest = self.logarithms().next().unwrap_or(0.0).abs();
        exponent * self.scale_base / steepest
    }

    /// Refuses positions at which a factor is no longer a number in a type.
    fn check_reach(
        &self,
        positions: &Positions,
        seq: usize,
        dtype: DType,
    ) -> Result<(), PositionError> {
        let max = self.reach(match dtype {
            DType::F16 => MAX_EXPONENT_F16,
            _ => MAX_EXPONENT,
        });
        let position = positions.farthest_beyond(seq, (max as usize).saturating_add(1));
        if position > max {
            return Err(PositionError::XPosTooFar {
                position,
                max: max as usize,
                scale_base: self.scale_base,
                dtype,
            });
        }
        Ok(())
    }
}

/// Rotates queries and keys as [`RotaryPositionalEncoding`](crate::RotaryPositionalEncoding) does,
/// and lets their products decay with the distance: Sun et al., [*A Length-Extrapolatable
/// Transformer*](https://arxiv.org/abs/2212.10554), 2022, §3.2:
///
/// ```text
/// ζ_i = (2i/d_head + γ) / (1 + γ), γ = 0.4
/// query pair i at p:  rotated, times ζ_i^(p/scale_base)
/// key pair i at p:    rotated, times ζ_i^(−p/scale_base)
/// ```
///
/// so that a query at `m` sees pair `i` of a key at `n` with the factor ζ_i^((m − n)/scale_base). It
/// is made for causal attention, where `m ≥ n`: towards the future the factors grow. Made by
/// [`XPosPositionalEncodingConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::XPosPositionalEncodingConfig;
///
/// let device = Device::flex();
/// let xpos = XPosPositionalEncodingConfig::new(64).init(&device);
/// let q = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let k = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let (q, k) = xpos.forward(q, k); // [batch, heads, seq, d_head]
/// # assert_eq!((q.dims(), k.dims()), ([2, 8, 100, 64], [2, 8, 100, 64]));
/// ```
///
/// The factors belong to positions and not to distances, so they leave the range of a float type at
/// some position: 32 695 with the default `scale_base`, for `f16` 3 678, and in proportion to it. Past it is
/// [`PositionError::XPosTooFar`].
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct XPosPositionalEncoding {
    of_queries: RowBuffer,
    of_keys: RowBuffer,
    #[module(skip)]
    config: XPosPositionalEncodingConfig,
}

impl XPosPositionalEncoding {
    /// Queries and keys at positions 0, 1, 2, …
    ///
    /// # Shapes
    ///
    /// - `q`, `k`: `[batch, heads, seq, d_head]`, any float type; the numbers of heads may differ
    /// - output: as `q` and `k`
    ///
    /// # Panics
    ///
    /// Where [`try_forward_at`](Self::try_forward_at) returns an error.
    pub fn forward(&self, q: Tensor<4>, k: Tensor<4>) -> (Tensor<4>, Tensor<4>) {
        self.forward_at(q, k, &Positions::default())
    }

    /// Queries and keys at `positions`.
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
    /// [`PositionError::XPosTooFar`], and those of
    /// [`RotaryPositionalEncoding::try_apply`](crate::RotaryPositionalEncoding::try_apply).
    pub fn try_forward_at(
        &self,
        q: Tensor<4>,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        Ok((
            self.turn(q, positions, &self.of_queries)?,
            self.turn(k, positions, &self.of_keys)?,
        ))
    }

    /// Queries alone, for keys that are at other positions than they: those of another sequence, or
    /// of a cache that is not turned yet.
    ///
    /// # Shapes
    ///
    /// - `q`: `[batch, heads, seq, d_head]`, any float type
    /// - output: as `q`
    ///
    /// # Panics
    ///
    /// Where [`try_apply_queries`](Self::try_apply_queries) returns an error.
    pub fn apply_queries(&self, q: Tensor<4>, positions: &Positions) -> Tensor<4> {
        expect(self.try_apply_queries(q, positions))
    }

    /// As [`apply_queries`](Self::apply_queries).
    ///
    /// # Errors
    ///
    /// As [`try_forward_at`](Self::try_forward_at).
    pub fn try_apply_queries(
        &self,
        q: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        self.turn(q, positions, &self.of_queries)
    }

    /// Keys alone: see [`apply_queries`](Self::apply_queries).
    ///
    /// # Shapes
    ///
    /// - `k`: `[batch, heads, seq, d_head]`, any float type
    /// - output: as `k`
    ///
    /// # Panics
    ///
    /// Where [`try_apply_keys`](Self::try_apply_keys) returns an error.
    pub fn apply_keys(&self, k: Tensor<4>, positions: &Positions) -> Tensor<4> {
        expect(self.try_apply_keys(k, positions))
    }

    /// As [`apply_keys`](Self::apply_keys).
    ///
    /// # Errors
    ///
    /// As [`try_forward_at`](Self::try_forward_at).
    pub fn try_apply_keys(
        &self,
        k: Tensor<4>,
        positions: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        self.turn(k, positions, &self.of_keys)
    }

    /// The configuration that this module was made from.
    pub fn config(&self) -> &XPosPositionalEncodingConfig {
        &self.config
    }

    fn turn(
        &self,
        x: Tensor<4>,
        positions: &Positions,
        rows: &RowBuffer,
    ) -> Result<Tensor<4>, PositionError> {
        let seq = check_heads(&x, positions, self.config.d_head, &rows.device())?;
        if x.shape().num_elements() == 0 {
            return Ok(x);
        }
        self.config.check_reach(positions, seq, x.dtype())?;
        let dtype = input::sum_dtype(x.dtype().into());
        let rows = rows.rows(positions, seq, dtype)?;
        Ok(rotate(x, rows, self.config.layout, Turn::Forth))
    }
}

impl ModuleDisplay for XPosPositionalEncoding {
    fn custom_settings(&self) -> Option<DisplaySettings> {
        on_one_line()
    }

    fn custom_content(&self, content: Content) -> Option<Content> {
        content
            .add("d_head", &self.config.d_head)
            .add("max_len", &self.config.max_len)
            .add("base", &self.config.base)
            .add_debug_attribute("layout", &self.config.layout)
            .add("scale_base", &self.config.scale_base)
            .optional()
    }
}
