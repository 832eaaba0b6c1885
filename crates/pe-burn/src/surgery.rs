//! Fitting a trained table to other lengths and other images.

use alloc::vec::Vec;

use burn::tensor::{Tensor, TensorData};

use crate::error::{PositionError, expect};
use crate::grid::Grid;
use crate::learned::LearnedPositionalEmbedding;
use crate::memory::check_room;
use crate::positions::Positions;
use crate::spectrum::{DEFAULT_BASE, Spectrum};

/// Where the rows of a longer table come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extension {
    /// The table again and again: row `p` is the old row `p mod max_len`. Longformer's and BigBird's
    /// tables were made from BERT's and RoBERTa's in this way.
    Repeat,
    /// The table stretched: every row between two old ones is on the line between them, and the
    /// first and the last stay. It changes the rows of old positions too.
    Linear,
    /// The old rows, and then those of the sinusoidal encoding, base 10 000, interleaved, as large
    /// (in root mean square) as the old ones.
    Sinusoidal,
}

impl LearnedPositionalEmbedding {
    /// The first `max_len` positions. Those that were there stay as they are.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_burn::{Extension, LearnedPositionalEmbeddingConfig};
    ///
    /// let pe = LearnedPositionalEmbeddingConfig::new(64, 512).init(&Device::flex());
    /// let shorter = pe.clone().crop(128);
    /// let longer = pe.extend(2048, Extension::Sinusoidal);
    /// assert_eq!((shorter.config().max_len, longer.config().max_len), (128, 2048));
    /// ```
    ///
    /// # Panics
    ///
    /// Where [`try_crop`](Self::try_crop) returns an error.
    pub fn crop(self, max_len: usize) -> Self {
        expect(self.try_crop(max_len))
    }

    /// As [`crop`](Self::crop).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroMaxLen`], and [`Length`](PositionError::Length) when there are fewer.
    pub fn try_crop(self, max_len: usize) -> Result<Self, PositionError> {
        let [old, d_model] = self.size();
        if max_len == 0 {
            return Err(PositionError::ZeroMaxLen);
        }
        if max_len > old {
            return Err(PositionError::Length {
                what: "cannot crop",
                max_len: old,
                to: max_len,
            });
        }
        Ok(self.with_positions(|mut rows| {
            rows.truncate(max_len * d_model);
            rows
        }))
    }

    /// A table of `max_len` positions, made from one of fewer. Rows before position 0, where there
    /// is a padding row, stay.
    ///
    /// # Panics
    ///
    /// Where [`try_extend`](Self::try_extend) returns an error.
    pub fn extend(self, max_len: usize, extension: Extension) -> Self {
        expect(self.try_extend(max_len, extension))
    }

    /// As [`extend`](Self::extend).
    ///
    /// # Errors
    ///
    /// [`PositionError::Length`] when there are more, or none to extend;
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) for more than
    /// there are positions or memory.
    pub fn try_extend(self, max_len: usize, extension: Extension) -> Result<Self, PositionError> {
        let [old, d_model] = self.size();
        if max_len < old || old == 0 {
            return Err(PositionError::Length {
                what: "cannot extend",
                max_len: old,
                to: max_len,
            });
        }
        Positions::from(self.offset()).check(None, max_len)?;
        check_room::<f64>(self.offset() + max_len, d_model)?;
        if max_len == old {
            return Ok(self);
        }
        let sinusoid: Vec<f64> = match extension {
            Extension::Sinusoidal => {
                Spectrum::try_new(d_model, DEFAULT_BASE)?.try_rows(old..max_len)?
            }
            Extension::Repeat | Extension::Linear => Vec::new(),
        };
        Ok(self.with_positions(|mut rows| match extension {
            Extension::Repeat => {
                let again = rows.clone();
                rows.extend(again.iter().cycle().take((max_len - old) * d_model));
                rows
            }
            Extension::Linear => stretched(&rows, d_model, max_len),
            Extension::Sinusoidal => {
                let factor = size(&rows) / size(&sinusoid);
                rows.extend(sinusoid.iter().map(|x| x * factor));
                rows
            }
        }))
    }

    /// A table of one image, resized to another: the rows of patches bicubically, as vision
    /// transformers do for other resolutions, those of tokens in front as they are.
    ///
    /// It is what `interpolate(mode="bicubic", align_corners=False)` of PyTorch makes of the patches
    /// (with the target as a size; as a ratio, which may round to one patch less, is a known trap).
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_burn::{Grid, LearnedPositionalEmbeddingConfig};
    ///
    /// // A ViT's table: a class token and 14 × 14 patches.
    /// let pe = LearnedPositionalEmbeddingConfig::new(768, 1 + 14 * 14).init(&Device::flex());
    /// let (from, to) = (Grid::image(14, 14), Grid::image(16, 20));
    /// let pe = pe.resize(from.with_prefix(1), to.with_prefix(1));
    /// assert_eq!(pe.config().max_len, 1 + 16 * 20);
    /// ```
    ///
    /// # Panics
    ///
    /// Where [`try_resize`](Self::try_resize) returns an error.
    pub fn resize(self, from: Grid, to: Grid) -> Self {
        expect(self.try_resize(from, to))
    }

    /// As [`resize`](Self::resize).
    ///
    /// # Errors
    ///
    /// [`PositionError::Resize`] when the table is not of the tokens of `from`, when one of the two
    /// is a video or has no patches, and when their tokens in front are not as many;
    /// [`TooLarge`](PositionError::TooLarge) for more patches than there is memory for.
    pub fn try_resize(self, from: Grid, to: Grid) -> Result<Self, PositionError> {
        let [max_len, d_model] = self.size();
        let images = from.frames().is_none() && to.frames().is_none();
        let patches = |grid: Grid| grid.tokens() > grid.prefix();
        let fits = from.tokens() == max_len && from.prefix() == to.prefix();
        if !(images && patches(from) && patches(to) && fits) {
            return Err(PositionError::Resize { max_len, from, to });
        }
        check_room::<f64>(self.offset().saturating_add(to.tokens()), d_model)?;
        if from == to {
            return Ok(self);
        }
        let [from_size, to_size] = [from, to].map(|grid| [grid.height(), grid.width()]);
        Ok(self.with_positions(|mut rows| {
            let patches = rows.split_off(from.prefix() * d_model);
            rows.extend(bicubic(&patches, d_model, from_size, to_size));
            rows
        }))
    }

    /// The same with other rows of positions; those before position 0 stay. Computed in `f64` on
    /// the host, so that it is the same on every device (Burn's own bicubic kernel on wgpu is off by
    /// 4e-3).
    fn with_positions(self, change: impl FnOnce(Vec<f64>) -> Vec<f64>) -> Self {
        let offset = self.offset();
        self.map_table(|table| {
            let (device, dtype) = (table.device(), table.dtype());
            let [_, d_model] = table.dims();
            let mut before: Vec<f64> = table.into_data().iter().collect();
            let rows = before.split_off(offset * d_model);
            before.extend(change(rows));
            let shape = [before.len() / d_model, d_model];
            Tensor::from_data(TensorData::new(before, shape), (&device, dtype))
        })
    }
}

/// The root mean square.
fn size(numbers: &[f64]) -> f64 {
    libm::sqrt(numbers.iter().map(|x| x * x).sum::<f64>() / numbers.len() as f64)
}

/// The rows at `len` evenly spaced places from the first to the last, on the lines between them.
fn stretched(rows: &[f64], d_model: usize, len: usize) -> Vec<f64> {
    let last = rows.len() / d_model - 1;
    let row = |i: usize| &rows[i * d_model..][..d_model];
    // The place of new row p is p · last / (len − 1): its whole part and the rest are exact.
    let steps = (len - 1).max(1) as u128;
    (0..len)
        .flat_map(|p| {
            let place = p as u128 * last as u128;
            let (below, rest) = ((place / steps) as usize, place % steps);
            let share = rest as f64 / steps as f64;
            let lines = row(below).iter().zip(row((below + 1).min(last)));
            lines.map(move |(a, b)| a + (b - a) * share)
        })
        .collect()
}

/// Rows of an image, `[height][width][d_model]`, as those of an image of another size: Keys, *Cubic
/// Convolution Interpolation for Digital Image Processing*, 1981, eq. 4 with a = −0.75 as PyTorch and
/// OpenCV have it, the centres of pixels half a pixel from their edges, and the edge repeated beyond.
fn bicubic(rows: &[f64], d_model: usize, from: [usize; 2], to: [usize; 2]) -> Vec<f64> {
    let across = taps(from[1], to[1]);
    let down = taps(from[0], to[0]);
    // Along each row of the image, and then along its columns.
    let wide = (0..from[0]).flat_map(|y| across.iter().map(move |taps| (y, taps)));
    let wide: Vec<f64> = wide
        .flat_map(|(y, taps)| {
            let cell = move |x: usize| &rows[(y * from[1] + x) * d_model..][..d_model];
            (0..d_model).map(move |i| taps.iter().map(|(x, weight)| weight * cell(*x)[i]).sum())
        })
        .collect();
    let row = to[1] * d_model;
    let wide = &wide;
    down.iter()
        .flat_map(|taps| {
            (0..row).map(move |i| {
                taps.iter()
                    .map(|(y, weight)| weight * wide[y * row + i])
                    .sum()
            })
        })
        .collect()
}

/// For every new place along an axis the four old ones that it is made of, and their weights.
fn taps(from: usize, to: usize) -> Vec<[(usize, f64); 4]> {
    const A: f64 = -0.75;
    let weight = |distance: f64| match distance.abs() {
        x if x <= 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
        x => ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A,
    };
    let ratio = from as f64 / to as f64;
    (0..to)
        .map(|place| {
            let centre = (place as f64 + 0.5) * ratio - 0.5;
            let whole = libm::floor(centre);
            [-1.0, 0.0, 1.0, 2.0].map(|step| {
                let tap = (whole + step).clamp(0.0, (from - 1) as f64);
                (tap as usize, weight(centre - whole - step))
            })
        })
        .collect()
}
