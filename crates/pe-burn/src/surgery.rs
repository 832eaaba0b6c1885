//! Fitting a trained table to other lengths and other images.

use alloc::{vec, vec::Vec};

use burn::tensor::module::interpolate;
use burn::tensor::ops::{InterpolateMode, InterpolateOptions};
use burn::tensor::{Tensor, TensorData};

use crate::error::{PositionError, expect};
use crate::grid::Grid;
use crate::index::row_numbers;
use crate::input;
use crate::learned::LearnedPositionalEmbedding;
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
        let [old, _] = self.size();
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
        Ok(self.with_positions(|rows| rows.slice(0..max_len)))
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
        input::check_memory(self.offset() + max_len, d_model)?;
        if max_len == old {
            return Ok(self);
        }
        match extension {
            Extension::Repeat => Ok(self.with_positions(|rows| {
                let numbers: Vec<usize> = (0..max_len).map(|p| p % old).collect();
                let device = rows.device().without_autodiff();
                rows.select(0, row_numbers(&numbers, &device))
            })),
            Extension::Linear => Ok(self.with_positions(|rows| stretched(rows, max_len))),
            Extension::Sinusoidal => {
                let spectrum = Spectrum::try_new(d_model, DEFAULT_BASE)?;
                let new: Vec<f64> = spectrum.try_rows(old..max_len)?;
                Ok(self.with_positions(|rows| {
                    // In a type in which no square is too large or too small.
                    let numbers = input::cast(rows.clone(), input::sum_dtype(rows.dtype().into()));
                    let size = numbers.square().mean().sqrt().into_scalar::<f64>();
                    let size_of_new = new.iter().map(|x| x * x).sum::<f64>() / new.len() as f64;
                    let factor = size / libm::sqrt(size_of_new);
                    let new: Vec<f64> = new.iter().map(|x| x * factor).collect();
                    let new = TensorData::new(new, [max_len - old, d_model]);
                    let new = Tensor::from_data(new, (&rows.device(), rows.dtype()));
                    Tensor::cat(vec![rows, new], 0)
                }))
            }
        }
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
        input::check_memory(self.offset().saturating_add(to.tokens()), d_model)?;
        if from == to {
            return Ok(self);
        }
        let [from_size, to_size] = [from, to].map(|grid| [grid.height(), grid.width()]);
        Ok(self.with_positions(|rows| {
            let patches = rows.clone().slice(from.prefix()..max_len);
            let image = patches
                .reshape([1, from_size[0], from_size[1], d_model])
                .permute([0, 3, 1, 2]);
            let options = InterpolateOptions::new(InterpolateMode::Bicubic)
                .with_align_corners(false)
                .with_output_size(to_size);
            let patches = interpolate(image, options)
                .permute([0, 2, 3, 1])
                .reshape([to_size[0] * to_size[1], d_model]);
            match from.prefix() {
                0 => patches,
                prefix => Tensor::cat(vec![rows.slice(0..prefix), patches], 0),
            }
        }))
    }

    /// The same with other rows of positions; those before position 0 stay.
    fn with_positions(self, change: impl FnOnce(Tensor<2>) -> Tensor<2>) -> Self {
        let offset = self.offset();
        self.map_table(|table| {
            let rows = change(table.clone().slice(offset..table.dims()[0]));
            match offset {
                0 => rows,
                _ => Tensor::cat(vec![table.slice(0..offset), rows], 0),
            }
        })
    }
}

/// The rows at `len` evenly spaced places from the first to the last, on the lines between them.
fn stretched(rows: Tensor<2>, len: usize) -> Tensor<2> {
    let old = rows.dims()[0];
    let device = rows.device();
    // The place of new row p is p (old − 1) / (len − 1): its whole part and the rest are exact.
    let (steps, places) = ((len - 1).max(1) as u128, (old - 1) as u128);
    let below: Vec<usize> = (0..len)
        .map(|p| (p as u128 * places / steps) as usize)
        .collect();
    let above: Vec<usize> = below.iter().map(|row| (row + 1).min(old - 1)).collect();
    let share = |p: usize| (p as u128 * places % steps) as f64 / steps as f64;
    let shares: Vec<f64> = (0..len).map(share).collect();
    let shares = Tensor::<2>::from_data(TensorData::new(shares, [len, 1]), (&device, rows.dtype()));
    let [below, above] = [below, above].map(|numbers| {
        let numbers = row_numbers(&numbers, &device);
        rows.clone().select(0, numbers)
    });
    below.clone() + (above - below) * shares
}
