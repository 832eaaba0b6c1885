//! RoPE: rotary position embedding.

mod config;

use alloc::vec;
use alloc::vec::Vec;

use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Int, Tensor};

pub use config::RotaryPositionalEncodingConfig;

use super::packed;
use super::turn::{by_columns, rotate, rotate_both, rotate_heads};
use super::{Rotate, ToTurn, Turned, apart_from_values, check_side, each_side};
use crate::backend::Addend;
use crate::config::module;
use crate::error::PositionError;
use crate::layout::{Layout, Turn};
use crate::positions::{Axes, Lookup, PairOrder, Positions};
use crate::spectrum::Spectrum;
use crate::spectrum::axis_rows::AxisRows;
use crate::spectrum::buffer::{RowBuffer, RowSource};
use crate::tensor::{compute_dtype, indices, on_own_device};

impl RotaryPositionalEncodingConfig {
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
        if self.opposite && self.tiled_angles {
            return Err(PositionError::config(
                "with tiled angles nothing turns the other way: no model does so",
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
}

module!(RotaryPositionalEncodingConfig => RotaryPositionalEncoding {
    d_head, max_len, base, layout, rotary_dim, scaling, axes, frequencies, tiled_angles, opposite,
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
/// - **Exact.** Sines and cosines are within 3.0e-8 of their true values at every position, before the attention factor of YaRN
///   or LongRoPE.
/// - **No length limit.** The buffer grows by doubling, up to 64 MiB (131 072 rows of width 128); rows
///   beyond are computed for the call. Results do not depend on earlier calls: with
///   [`RopeScaling::Dynamic`](crate::RopeScaling::Dynamic) and
///   [`RopeScaling::Longrope`](crate::RopeScaling::Longrope) the frequencies are those of the largest
///   position of the call. A cache of rotated keys that grows past the trained length therefore holds
///   keys of other frequencies; keep unrotated keys where that matters.
/// - **Any float type.** `f16` and `bf16` are rotated in `f32` and rounded once.
/// - **In place.** Pass tensors by value and do not keep clones. On Flex, with the feature `flex`, the rotation is one
///   pass over memory on all threads.
/// - **No parameters.** The buffer moves with the module and is not in the record.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "rope")]
#[doc(alias = "RoPE")]
#[doc(alias = "RotaryEmbedding")]
pub struct RotaryPositionalEncoding {
    /// The sines and cosines of a row, times the attention factor.
    rows: RowBuffer,
    /// The rows for longer inputs than the model was trained on, where these have frequencies of their
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
    /// [tiled angles](RotaryPositionalEncodingConfig::with_tiled_angles).
    pub fn invert(&self, x: Tensor<4>, positions: &Positions) -> Result<Tensor<4>, PositionError> {
        if self.config.tiled_angles {
            return Err(PositionError::config(
                "tiled angles are no rotation and have no inverse",
            ));
        }
        let side = self.side(&x)?;
        let lookup = self.lookup(&side, positions)?;
        let rows = self.rows(&side, &lookup, self.length(&lookup))?;
        Ok(self.turn(x, rows, self.config.direction().inverse()))
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
            Some(rows) => rotate(x, rows, layout, turn),
            None => x,
        }
    }

    /// Turns queries and keys by the same rows.
    #[inline]
    fn turn_both(&self, q: Tensor<4>, k: Tensor<4>, rows: Addend) -> (Tensor<4>, Tensor<4>) {
        let direction = self.config.direction();
        if self.config.tiled_angles {
            let k = self.turn(k, Some(rows.clone()), direction);
            return (self.turn(q, Some(rows), direction), k);
        }
        rotate_both(q, k, rows, self.config.layout, direction)
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

/// Shape and type of queries or keys, read once: in a decoding step reading them takes an eighth as long as the rotation.
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
    fn try_rotate_sides(&self, queries: ToTurn, keys: ToTurn) -> Result<Turned, PositionError> {
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
                        let direction = self.config.direction();
                        let q = self.turn(q, rows_of_q, direction);
                        [Some(q), Some(self.turn(k, rows_of_k, direction))]
                    }
                }
            }
            (queries, keys) => each_side(queries, keys, |x, positions| {
                let side = self.side(&x)?;
                let lookup = self.lookup(&side, positions)?;
                let rows = self.rows(&side, &lookup, self.length(&lookup))?;
                Ok(self.turn(x, rows, self.config.direction()))
            })?,
        })
    }

    fn try_rotate_packed(
        &self,
        qkv: Tensor<3>,
        heads: [usize; 2],
        positions: &Positions,
    ) -> Result<Tensor<3>, PositionError> {
        if self.config.tiled_angles {
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
                let (layout, direction) = (self.config.layout, self.config.direction());
                rotate_heads(x, rows, 0..heads + kv_heads, layout, direction)
            }
            None => x,
        }))
    }
}

#[cfg(test)]
mod tests;
