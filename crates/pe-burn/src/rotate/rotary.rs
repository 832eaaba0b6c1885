//! RoPE: rotary position embedding.

use alloc::format;
use alloc::vec;
use alloc::vec::Vec;

use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor};
use serde::{Deserialize, Serialize};

use super::packed;
use super::scaling::RopeScaling;
use super::turn::{by_columns, rotate, rotate_both, rotate_heads};
use super::{Rotate, apart_from_values, check_side};
use crate::backend::Addend;
use crate::error::{PositionError, module};
use crate::layout::{Layout, Turn, check_rotary_dim};
use crate::positions::axes::dealt;
use crate::positions::{Axes, Axis, AxisFrequencies, Lookup, PairOrder, Positions};
use crate::sizes::{ModelSizes, SchemeConfig};
use crate::spectrum::axis_rows::AxisRows;
use crate::spectrum::buffer::{RowBuffer, RowSource, default_max_len};
use crate::spectrum::{Spectrum, default_base};
use crate::tensor::{compute_dtype, indices, on_own_device};

/// The configuration of RoPE, a [`RotaryPositionalEncoding`].
///
/// As data (JSON, TOML) only `d_head` is required, and an unknown field is an error.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(deny_unknown_fields)]
pub struct RotaryPositionalEncodingConfig {
    /// The width of a head, at least 2.
    pub d_head: usize,
    /// The number of rows that the buffer starts with; it grows when it is used past them. Default:
    /// 5000.
    #[serde(default = "default_max_len")]
    pub max_len: usize,
    /// The wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
    #[serde(default = "default_base")]
    pub base: f64,
    /// Which columns make a pair. Default: interleaved.
    #[serde(default)]
    pub layout: Layout,
    /// The number of columns of a head that are rotated, which are the first ones: even, from 2 to
    /// `d_head`. Default: all of them, for which `d_head` must be even.
    #[serde(default)]
    pub rotary_dim: Option<usize>,
    /// The scaling of the frequencies for longer inputs. Default: none.
    #[serde(default)]
    pub scaling: Option<RopeScaling>,
    /// The axes that share the pairs. Default: none, positions are on a line.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub axes: Option<Axes>,
    /// The frequencies of the pairs in radians per position, in place of those of `base`; with axes that
    /// have frequencies of their own, those of each axis. Default: none.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub frequencies: Option<Vec<f64>>,
    /// Whether the angles of each axis are repeated as a whole, as in V-JEPA 2. Default: false.
    #[serde(default, skip_serializing_if = "core::ops::Not::not")]
    pub tiled_angles: bool,
}

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
            frequencies: None,
            tiled_angles: false,
        }
    }

    /// Sets the number of rows that the buffer starts with, at least 1.
    pub fn with_max_len(self, max_len: usize) -> Self {
        Self { max_len, ..self }
    }

    /// Sets the base of the wavelengths, finite and greater than 1.
    pub fn with_base(self, base: f64) -> Self {
        Self { base, ..self }
    }

    /// Sets which columns make a pair: [`Layout::Interleaved`] for `(0, 1), (2, 3), …`, as in the
    /// paper, GPT-J and Burn; [`Layout::Halves`] for `(0, d/2), (1, d/2 + 1), …`, as in GPT-NeoX,
    /// Llama and Qwen at Hugging Face. Weights for one do not work with the other:
    /// [`convert_heads`](crate::convert_heads) converts them.
    pub fn with_layout(self, layout: Layout) -> Self {
        Self { layout, ..self }
    }

    /// Sets the number of columns of a head that are rotated.
    pub fn with_rotary_dim(self, rotary_dim: usize) -> Self {
        let rotary_dim = Some(rotary_dim);
        Self { rotary_dim, ..self }
    }

    /// Sets the scaling of the frequencies for longer inputs.
    ///
    /// ```
    /// use pe_burn::RotaryPositionalEncodingConfig;
    /// use pe_burn::scaling::Yarn;
    ///
    /// // Four times the 32 768 tokens that the model was trained on.
    /// let config = RotaryPositionalEncodingConfig::new(128).with_scaling(Yarn::new(4.0, 32_768));
    /// # config.init(&burn::tensor::Device::flex());
    /// ```
    pub fn with_scaling(self, scaling: impl Into<RopeScaling>) -> Self {
        let scaling = Some(scaling.into());
        Self { scaling, ..self }
    }

    /// Sets the axes that share the pairs, for images, video and coordinates of any kind. Prefix tokens of
    /// a grid are not rotated (an attention factor scales them like all others).
    ///
    /// ```
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{Axes, Grid, Positions, Rotate, RotaryPositionalEncodingConfig};
    ///
    /// let device = Device::flex();
    /// let rope = RotaryPositionalEncodingConfig::new(64)
    ///     .with_axes(Axes::HEIGHT_WIDTH)
    ///     .init(&device);
    /// let positions = Positions::from(Grid::image(14, 16).with_prefix(1));
    /// let q = Tensor::<4>::random([2, 8, 1 + 14 * 16, 64], Distribution::Default, &device);
    /// let q = rope.rotate_queries(q, &positions);
    /// # assert_eq!(q.dims(), [2, 8, 225, 64]);
    /// ```
    pub fn with_axes(self, axes: Axes) -> Self {
        let axes = Some(axes);
        Self { axes, ..self }
    }

    /// Sets the frequencies of the pairs, in radians per position: a checkpoint's `inv_freq`, or those of
    /// a formula that is not here. There must be one for each pair, or with axes that have frequencies of
    /// their own for each pair of an axis. No base and no scaling applies to them.
    pub fn with_frequencies(self, frequencies: impl Into<Vec<f64>>) -> Self {
        let frequencies = Some(frequencies.into());
        Self {
            frequencies,
            ..self
        }
    }

    /// Repeats the angles of each axis as a whole, for the weights of V-JEPA 2 alone: column `c` of the `2n`
    /// columns of an axis turns by angle `c mod n`, so that the two columns of a pair turn by angles of
    /// different pairs. That is no rotation: it cannot be inverted, and products do not depend on the distance
    /// alone. Its authors' code does so, and their models are trained with it.
    pub fn with_tiled_angles(self, tiled_angles: bool) -> Self {
        Self {
            tiled_angles,
            ..self
        }
    }

    /// Builds the module and its buffer on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number of this configuration or its scaling that is out of
    /// bounds, [`Config`](PositionError::Config) for settings that do not go together, and
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) when `max_len` is
    /// more than there are positions, or the buffer does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<RotaryPositionalEncoding, PositionError> {
        let in_a_row = |axes: &Axes| *axes.order() == PairOrder::Row && axes.unturned() == 0;
        let tiles = self.layout == Layout::Interleaved && self.axes.as_ref().is_none_or(in_a_row);
        if self.tiled_angles && !tiles {
            return Err(PositionError::config(
                "tiled angles are for the interleaved layout, with the pairs of each axis in a row and no \
                 columns left unturned before them",
            ));
        }
        if self.splits_pairs() && self.layout != Layout::Halves {
            return Err(PositionError::config(
                "axes in the order of columns are for the layout of halves: the two columns of an interleaved \
                 pair are neighbours, and belong to one axis in the order of a row",
            ));
        }
        // The frequencies of inputs that are short enough not to change them.
        let line = self.spectrum(0)?;
        let axes = match &self.axes {
            Some(axes) => Some(RotaryAxes::new(self, axes, device)?),
            None => None,
        };
        let rows = match &axes {
            Some(of_axes) if of_axes.rows.first().spectrum() == &line => {
                of_axes.rows.first().clone()
            }
            _ => RowBuffer::new(line.into(), self.max_len, device)?,
        };
        let longer = match (&self.scaling, self.changes_beyond()) {
            (Some(scaling), Some(limit)) if !scaling.varies_with_length() => {
                // It grows when an input is longer.
                let spectrum = self.spectrum(limit.saturating_add(1))?;
                Some(RowBuffer::new(spectrum.into(), 1, device)?)
            }
            _ => None,
        };
        Ok(RotaryPositionalEncoding {
            rows,
            longer,
            axes,
            config: self.clone(),
        })
    }

    /// The frequencies for inputs whose largest position is `seq - 1`, all sines of a row before its
    /// cosines, with the attention factor as the amplitude. With axes that do not take positions on a line,
    /// those of the first axis: [`axis_spectra`](Self::axis_spectra) has all of them.
    ///
    /// # Errors
    ///
    /// Those of [`try_init`](Self::try_init), and [`PositionError::Number`] when dynamic scaling to
    /// such a length makes the base infinite.
    pub fn spectrum(&self, seq: usize) -> Result<Spectrum, PositionError> {
        let rotary_dim = self.rotary_dim()?;
        match &self.axes {
            None => self.of_columns(rotary_dim, self.base, seq),
            Some(axes) if axes.take_lines() => {
                axes.pairs(rotary_dim)?;
                let unturned = axes.unturned();
                let turned = self.of_columns(rotary_dim - unturned, self.base, seq)?;
                Ok(turned.behind_unturned(unturned / 2))
            }
            Some(_) => {
                let has_columns = |spectrum: &Spectrum| spectrum.d_model() > 0;
                let mut spectra = self.axis_spectra(seq)?.into_iter();
                let first = spectra.find(has_columns);
                Ok(first.expect("some axis has columns"))
            }
        }
    }

    /// The frequencies of every axis, in the order of the axes, as [`spectrum`](Self::spectrum) for inputs
    /// on a line. Columns that the axes leave unturned belong to the first one, with frequency 0. Without
    /// axes it is the one of the line. An axis without columns has a spectrum of width 0, which has no rows.
    ///
    /// # Errors
    ///
    /// Those of [`spectrum`](Self::spectrum).
    pub fn axis_spectra(&self, seq: usize) -> Result<Vec<Spectrum>, PositionError> {
        let rotary_dim = self.rotary_dim()?;
        let Some(axes) = &self.axes else {
            return Ok(vec![self.of_columns(rotary_dim, self.base, seq)?]);
        };
        let pairs = axes.pairs(rotary_dim)?;
        if self.changes_beyond().is_some() && !axes.take_lines() {
            return Err(PositionError::config(
                "dynamic and longrope scaling follow the length of a line, and a grid with axes has no \
                 single length",
            ));
        }
        let unturned = axes.unturned();
        let whole = |owners: fn(&Axes, &[usize]) -> Vec<usize>| {
            // Refuses a width that does not fit into memory, before there is a list of its pairs.
            let line = self.of_columns(rotary_dim - unturned, self.base, seq)?;
            let owners = owners(axes, &axes.angles(&pairs));
            let of_axis = |axis| {
                let mine = |angle: &usize| owners[*angle] == axis;
                // Column `c` of a head of halves turns by the frequency of pair `c mod pairs`.
                let pair = |angle| angle % (rotary_dim / 2);
                let mine = (0..owners.len()).filter(mine).map(pair);
                line.pick(&mine.collect::<Vec<usize>>())
            };
            Ok((0..pairs.len()).map(of_axis).collect())
        };
        let spectra: Vec<Spectrum> = match axes.frequencies() {
            AxisFrequencies::Own => {
                let base = |axis: &Axis| axis.base.unwrap_or(self.base);
                let each = axes.axes().iter().zip(&pairs);
                each.map(|(axis, pairs)| self.of_columns(2 * pairs, base(axis), seq))
                    .collect::<Result<_, _>>()?
            }
            AxisFrequencies::Line => whole(Axes::owners)?,
            AxisFrequencies::Dealt => whole(|_, pairs| dealt(pairs))?,
        };
        let scaled = spectra.into_iter().zip(axes.axes()).enumerate();
        scaled
            .map(|(i, (spectrum, axis))| {
                let spectrum = match axis.scale {
                    1.0 => spectrum,
                    scale => spectrum.sped_up(scale)?,
                };
                Ok(match i {
                    0 => spectrum.behind_unturned(unturned / 2),
                    _ => spectrum,
                })
            })
            .collect()
    }

    /// Whether the two columns of a pair may turn by different coordinates.
    fn splits_pairs(&self) -> bool {
        self.axes.as_ref().is_some_and(Axes::split_pairs)
    }

    /// The number of columns that are rotated, the unturned ones of the axes included.
    fn rotary_dim(&self) -> Result<usize, PositionError> {
        let rotary_dim = self.rotary_dim.unwrap_or(self.d_head);
        check_rotary_dim(rotary_dim, self.d_head)?;
        Ok(rotary_dim)
    }

    /// The frequencies of this many columns, scaled.
    fn of_columns(&self, columns: usize, base: f64, seq: usize) -> Result<Spectrum, PositionError> {
        let spectrum = match &self.frequencies {
            None => Spectrum::new(columns, base)?,
            Some(given) => {
                if self.scaling.is_some() {
                    return Err(PositionError::config(
                        "no scaling applies to given frequencies: scale the numbers instead",
                    ));
                }
                let has_base = |axes: &Axes| axes.axes().iter().any(|axis| axis.base.is_some());
                if self.axes.as_ref().is_some_and(has_base) {
                    return Err(PositionError::config(
                        "no base of an axis applies to given frequencies: leave it out",
                    ));
                }
                if 2 * given.len() != columns {
                    let bound = match self.axes.as_ref().map(Axes::frequencies) {
                        Some(AxisFrequencies::Own) => {
                            format!("{}, one for each pair of an axis", columns / 2)
                        }
                        _ => format!("{}, one for each pair", columns / 2),
                    };
                    let name = "the number of frequencies";
                    return Err(PositionError::number(name, given.len(), bound));
                }
                Spectrum::from_frequencies(given)?
            }
        };
        let spectrum = spectrum.with_layout(Layout::Halves);
        match &self.scaling {
            Some(scaling) => {
                let attention = scaling.attention_factor();
                Ok(spectrum.scaled(scaling, seq)?.with_amplitude(attention))
            }
            None => Ok(spectrum),
        }
    }

    /// The length from which on the frequencies depend on the length of the input.
    fn changes_beyond(&self) -> Option<usize> {
        self.scaling.as_ref().and_then(RopeScaling::changes_beyond)
    }
}

impl SchemeConfig for RotaryPositionalEncodingConfig {
    fn for_model(sizes: ModelSizes) -> Result<Self, PositionError> {
        Ok(Self::new(sizes.d_head()?).with_max_len(sizes.max_len))
    }

    fn axes(&self) -> Option<Axes> {
        self.axes.clone().filter(|axes| !axes.take_lines())
    }
}

module!(RotaryPositionalEncodingConfig => RotaryPositionalEncoding {
    d_head, max_len, base, layout, rotary_dim, scaling, axes, frequencies, tiled_angles,
});

/// RoPE: rotates pairs of columns of queries and keys by angles that grow with the position, so that
/// their products depend on their distance only. Su et al., [*RoFormer: Enhanced Transformer with
/// Rotary Position Embedding*](https://arxiv.org/abs/2104.09864), 2021, §3.2.2 and §3.4.2:
///
/// ```text
/// ω_i = base^(−2i/rotary_dim)
/// (a, b)_i → (a cos ω_i p − b sin ω_i p,  a sin ω_i p + b cos ω_i p)
/// ⟨rotate(q, m), rotate(k, n)⟩ = f(q, k, m − n)
/// ```
///
/// Made by [`RotaryPositionalEncodingConfig`]. One module serves all layers of a model.
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{Layout, Positions, Rotate, RotaryPositionalEncodingConfig};
///
/// let device = Device::flex();
/// // As in Llama 3 at Hugging Face.
/// let rope = RotaryPositionalEncodingConfig::new(64)
///     .with_base(500_000.0)
///     .with_layout(Layout::Halves)
///     .init(&device);
///
/// let q = Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device);
/// let k = Tensor::<4>::random([2, 2, 100, 64], Distribution::Default, &device);
/// let (q, k) = rope.rotate(q, k, &Positions::default()); // [batch, heads, seq, d_head]
///
/// // Decoding: the next query and key are at position 100. The keys of the cache are rotated already.
/// let next = |heads| Tensor::<4>::random([2, heads, 1, 64], Distribution::Default, &device);
/// let (next_q, next_k) = rope.rotate(next(8), next(2), &Positions::from(100));
/// # assert_eq!((q.dims(), k.dims()), ([2, 8, 100, 64], [2, 2, 100, 64]));
/// # assert_eq!((next_q.dims(), next_k.dims()), ([2, 8, 1, 64], [2, 2, 1, 64]));
/// ```
///
/// - **Exact.** Sines and cosines are within 3.0e-8 of their true values at every position.
/// - **No length limit.** The buffer grows by doubling, up to 64 MiB (131 072 rows of width 128); rows
///   beyond are computed for the call. Results do not depend on earlier calls: with
///   [`RopeScaling::Dynamic`] and [`RopeScaling::Longrope`] the frequencies are those of the largest
///   position of the call. A cache of rotated keys that grows past the trained length therefore holds
///   keys of other frequencies; keep unrotated keys where that matters.
/// - **Any float type.** `f16` and `bf16` are rotated in `f32` and rounded once.
/// - **In place.** Pass tensors by value and do not keep clones. With the feature `flex` it is one
///   pass over memory on all threads there.
/// - **No parameters.** The buffer moves with the module and is not in the record.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "rope")]
#[doc(alias = "RoPE")]
#[doc(alias = "RotaryEmbedding")]
pub struct RotaryPositionalEncoding {
    /// The sines and cosines of a row, times the attention factor.
    rows: RowBuffer,
    /// The same for longer inputs than the model was trained on, where these have frequencies of their
    /// own (LongRoPE).
    longer: Option<RowBuffer>,
    axes: Option<RotaryAxes>,
    #[module(skip)]
    config: RotaryPositionalEncodingConfig,
}

impl RotaryPositionalEncoding {
    /// Undoes the rotation by `positions`. With an attention factor, the result is the original times the
    /// square of that factor.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, heads, seq, d_head]`, any float type
    /// - output: as `x`
    ///
    /// # Errors
    ///
    /// Those of [`try_rotate_sides`](Rotate::try_rotate_sides), and [`PositionError::Config`] with
    /// [tiled angles](RotaryPositionalEncodingConfig::with_tiled_angles) or axes in the order of
    /// [columns](crate::axes::PairOrder::Columns).
    pub fn invert(&self, x: Tensor<4>, positions: &Positions) -> Result<Tensor<4>, PositionError> {
        if self.config.tiled_angles {
            return Err(PositionError::config(
                "tiled angles are no rotation and have no inverse",
            ));
        }
        if self.config.splits_pairs() {
            return Err(PositionError::config(
                "with axes in the order of columns the columns of a pair turn by different angles: that is no \
                 rotation and has no inverse",
            ));
        }
        let side = self.side(&x)?;
        let lookup = self.lookup(&side, positions)?;
        let rows = self.rows(&side, &lookup, self.length(&lookup))?;
        Ok(self.turn(x, rows, Turn::Inverse))
    }

    /// Checks the width and the device of queries or keys.
    #[inline]
    fn side(&self, x: &Tensor<4>) -> Result<Side, PositionError> {
        let dims = check_side(x, self.config.d_head, &self.rows.device())?;
        let dtype = x.dtype();
        Ok(Side { dims, dtype })
    }

    #[inline]
    fn lookup<'a>(
        &self,
        side: &Side,
        positions: &'a Positions,
    ) -> Result<Lookup<'a>, PositionError> {
        let [batch, _, seq, _] = side.dims;
        let lookup = positions.lookup(Some(batch), seq)?;
        lookup.check_axes(self.config.axes.as_ref())?;
        Ok(lookup)
    }

    /// The length of the input, where the frequencies depend on it; else 0.
    fn length(&self, lookup: &Lookup) -> usize {
        let limit = self.config.changes_beyond();
        limit.map_or(0, |limit| match self.axes {
            None => lookup.end_beyond(limit),
            Some(_) => lookup.end_along_axes(limit),
        })
    }

    /// The rows for an input, `[1 or batch, seq, rotary_dim]`, with the frequencies of a length; `None`
    /// where the input is empty.
    fn rows<'a>(
        &self,
        side: &Side,
        lookup: &'a Lookup,
        length: usize,
    ) -> Result<Option<Addend<'a>>, PositionError> {
        if side.is_empty() {
            return Ok(None);
        }
        let dtype = compute_dtype(side.dtype.into());
        let is_longer = |limit: usize| length > limit;
        if self.config.changes_beyond().is_some_and(is_longer) {
            let rows = self.longer_rows(lookup, length, dtype)?;
            return Ok(Some(rows.into()));
        }
        if let Some(axes) = &self.axes
            && let Some(rows) = axes.rows(lookup, dtype)?
        {
            return Ok(Some(rows.into()));
        }
        self.rows.addend(lookup, dtype).map(Some)
    }

    /// The rows of an input that is longer than what the model was trained on.
    #[cold]
    fn longer_rows(
        &self,
        lookup: &Lookup,
        length: usize,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        if let Some(axes) = &self.axes {
            let spectra = self.config.axis_spectra(length)?;
            if let Some(rows) = axes.rows_of(spectra, lookup, dtype)? {
                return Ok(rows);
            }
        }
        match &self.longer {
            Some(longer) => longer.rows(lookup, dtype),
            None => {
                let device = self.rows.device().without_autodiff();
                let source = RowSource::from(self.config.spectrum(length)?);
                source.rows(lookup, dtype, &device)
            }
        }
    }

    fn turn(&self, x: Tensor<4>, rows: Option<Addend>, turn: Turn) -> Tensor<4> {
        let layout = self.config.layout;
        match rows {
            Some(rows) if self.config.tiled_angles => {
                by_columns(x, rows.into_tensor(), &self.columns_of_tiles(), layout)
            }
            Some(rows) if self.config.splits_pairs() => {
                let angles = rows.dims()[2] / 2;
                let pairs = self.rows.spectrum().d_model() / 2;
                match angles == pairs {
                    true => rotate(x, rows, layout, turn), // tokens on a line
                    false => {
                        let columns: Vec<usize> = (0..angles).collect();
                        by_columns(x, rows.into_tensor(), &columns, layout)
                    }
                }
            }
            Some(rows) => rotate(x, rows, layout, turn),
            None => x,
        }
    }

    /// Turns queries and keys by the same rows.
    #[inline]
    fn turn_both(&self, q: Tensor<4>, k: Tensor<4>, rows: Addend) -> (Tensor<4>, Tensor<4>) {
        if self.config.tiled_angles || self.config.splits_pairs() {
            let k = self.turn(k, Some(rows.clone()), Turn::Forward);
            return (self.turn(q, Some(rows), Turn::Forward), k);
        }
        rotate_both(q, k, rows, self.config.layout, Turn::Forward)
    }

    /// For each rotated column the pair whose angle it turns by, where angles are tiled.
    #[cold]
    fn columns_of_tiles(&self) -> Vec<usize> {
        let spectra = self.axes.as_ref().map(|axes| axes.rows.pairs());
        let pairs = spectra.unwrap_or_else(|| vec![self.rows.spectrum().d_model() / 2]);
        let mut columns = Vec::new();
        let mut first = 0;
        for pairs in pairs {
            columns.extend((0..2 * pairs).map(|column| first + column % pairs));
            first += pairs;
        }
        columns
    }
}

/// What is asked of queries or keys once: in a decoding step asking takes as long as an eighth of the rotation.
struct Side {
    dims: [usize; 4],
    dtype: DType,
}

impl Side {
    fn is_empty(&self) -> bool {
        self.dims.contains(&0)
    }
}

/// The rows of axes, and the columns that they go to.
#[derive(Module, Debug)]
struct RotaryAxes {
    rows: AxisRows,
    /// For every column of a row, all sines before all cosines, its column among those of the axes side by
    /// side.
    columns: Tensor<1, Int>,
}

impl RotaryAxes {
    fn new(
        config: &RotaryPositionalEncodingConfig,
        axes: &Axes,
        device: &Device,
    ) -> Result<Self, PositionError> {
        let spectra = config.axis_spectra(0)?;
        let mut pairs = axes.pairs(config.rotary_dim()?)?;
        pairs = axes.angles(&pairs);
        let unturned = axes.unturned() / 2;
        let mut owners = vec![0; unturned];
        owners.extend(axes.owners(&pairs));
        pairs[0] += unturned;
        // The first column of every axis, whose sines come before its cosines.
        let starts: Vec<usize> = pairs
            .iter()
            .scan(0, |next, pairs| {
                Some(core::mem::replace(next, *next + 2 * pairs))
            })
            .collect();
        let mut taken = vec![0; pairs.len()];
        let sines: Vec<usize> = owners
            .iter()
            .map(|axis| {
                taken[*axis] += 1;
                starts[*axis] + taken[*axis] - 1
            })
            .collect();
        let cosines = sines
            .iter()
            .zip(&owners)
            .map(|(sin, axis)| sin + pairs[*axis]);
        let columns: Vec<usize> = sines.iter().copied().chain(cosines).collect();
        Ok(Self {
            rows: AxisRows::new(axes, spectra, config.max_len, device)?,
            columns: indices(&columns, &device.clone().without_autodiff()),
        })
    }

    /// The sines of all pairs before their cosines; `None` for positions on a line.
    #[cold] // or it slows down a decoding step, which has no grid
    fn rows(&self, lookup: &Lookup, dtype: FloatDType) -> Result<Option<Tensor<3>>, PositionError> {
        let rows = self.rows.rows(lookup, dtype)?;
        Ok(rows.map(|rows| self.in_order(rows)))
    }

    /// As [`rows`](Self::rows), with other spectra.
    fn rows_of(
        &self,
        spectra: Vec<Spectrum>,
        lookup: &Lookup,
        dtype: FloatDType,
    ) -> Result<Option<Tensor<3>>, PositionError> {
        let rows = self.rows.rows_of(spectra, lookup, dtype)?;
        Ok(rows.map(|rows| self.in_order(rows)))
    }

    fn in_order(&self, rows: Vec<Tensor<3>>) -> Tensor<3> {
        let side_by_side = Tensor::cat(rows, 2);
        side_by_side.select(2, on_own_device(&self.columns).without_autodiff())
    }
}

impl Rotate for RotaryPositionalEncoding {
    #[inline]
    fn try_rotate_sides(
        &self,
        queries: Option<(Tensor<4>, &Positions)>,
        keys: Option<(Tensor<4>, &Positions)>,
    ) -> Result<[Option<Tensor<4>>; 2], PositionError> {
        Ok(match (queries, keys) {
            (Some((q, at_q)), Some((k, at_k))) => {
                let side_q = self.side(&q)?;
                let of_q = self.lookup(&side_q, at_q)?;
                let side_k = self.side(&k)?;
                // Keys are mostly at the positions of the queries: then one lookup serves both.
                let [batch, _, seq, _] = side_q.dims;
                let same =
                    core::ptr::eq(at_q, at_k) && [batch, seq] == [side_k.dims[0], side_k.dims[2]];
                let of_k = match same {
                    true => None,
                    false => Some(self.lookup(&side_k, at_k)?),
                };
                let length = self.length(&of_q);
                let length = of_k
                    .as_ref()
                    .map_or(length, |of_k| length.max(self.length(of_k)));
                let rows_of_q = self.rows(&side_q, &of_q, length)?;
                let alike = side_q.dtype == side_k.dtype && !side_k.is_empty();
                match (&of_k, rows_of_q) {
                    (None, Some(rows)) if alike => {
                        let (q, k) = self.turn_both(q, k, rows);
                        [Some(q), Some(k)]
                    }
                    (of_k, rows_of_q) => {
                        let of_k = of_k.as_ref().unwrap_or(&of_q);
                        let rows_of_k = self.rows(&side_k, of_k, length)?;
                        let q = self.turn(q, rows_of_q, Turn::Forward);
                        [Some(q), Some(self.turn(k, rows_of_k, Turn::Forward))]
                    }
                }
            }
            (queries, keys) => {
                let alone = |side: Option<(Tensor<4>, &Positions)>| {
                    side.map(|(x, positions)| {
                        let side = self.side(&x)?;
                        let lookup = self.lookup(&side, positions)?;
                        let rows = self.rows(&side, &lookup, self.length(&lookup))?;
                        Ok(self.turn(x, rows, Turn::Forward))
                    })
                    .transpose()
                };
                [alone(queries)?, alone(keys)?]
            }
        })
    }

    fn try_rotate_packed(
        &self,
        qkv: Tensor<3>,
        heads: [usize; 2],
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        if self.config.tiled_angles || self.config.splits_pairs() {
            return apart_from_values(self, qkv, heads, positions);
        }
        let x = packed::by_heads(qkv, heads)?.swap_dims(1, 2);
        let side = self.side(&x)?;
        let lookup = self.lookup(&side, positions)?;
        let rows = self.rows(&side, &lookup, self.length(&lookup))?;
        let x = x.swap_dims(1, 2);
        let [heads, kv_heads] = heads;
        Ok(packed::side_by_side(match rows {
            Some(rows) => {
                let layout = self.config.layout;
                rotate_heads(x, rows, heads + kv_heads, layout, Turn::Forward)
            }
            None => x,
        }))
    }
}

#[cfg(test)]
mod tests;
