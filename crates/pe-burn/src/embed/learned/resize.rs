//! Fitting a trained table to other lengths and other images.

use alloc::format;
use alloc::vec::Vec;

use burn::tensor::{Tensor, TensorData};

use super::LearnedPositionalEmbedding;
use crate::backend::memory::check_room;
use crate::error::{PositionError, check_size};
use crate::interpolate::{bicubic, image};
use crate::positions::{Grid, Positions};
use crate::spectrum::{DEFAULT_BASE, Spectrum};

/// Where the rows of a longer table come from.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum Extension {
    /// The table is repeated: row `p` is the old row `p mod max_len`. Longformer and BigBird made their
    /// tables from those of RoBERTa and BERT like this.
    Repeat,
    /// The table is stretched by linear interpolation; the first and the last row stay. The rows of
    /// old positions change too.
    Linear,
    /// After the old rows come those of the sinusoidal encoding (base 10 000, interleaved), scaled to
    /// the root mean square of the old ones.
    Sinusoidal,
}

impl LearnedPositionalEmbedding {
    /// A shorter table: the first `max_len` positions.
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_burn::embedding::Extension;
    /// use pe_burn::LearnedPositionalEmbeddingConfig;
    ///
    /// let pe = LearnedPositionalEmbeddingConfig::new(64, 512).init(&Device::flex());
    /// let shorter = pe.clone().crop(128)?;
    /// let longer = pe.extend(2048, Extension::Sinusoidal)?;
    /// assert_eq!((shorter.config().max_len, longer.config().max_len), (128, 2048));
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0, and when the table has fewer positions.
    pub fn crop(self, max_len: usize) -> Result<Self, PositionError> {
        let [old, d_model] = self.size();
        check_size("max_len", max_len)?;
        if max_len > old {
            let bound = format!("at most {old}, the number of positions of the table");
            return Err(PositionError::number("max_len", max_len, bound));
        }
        Ok(self.with_positions(|mut rows| {
            rows.truncate(max_len * d_model);
            rows
        }))
    }

    /// A longer table of `max_len` positions. Rows before position 0, where there is a padding row,
    /// stay.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] when the table has more positions, or none;
    /// [`Overflow`](PositionError::Overflow) or [`TooLarge`](PositionError::TooLarge) for more than
    /// there are positions, or than fit into memory.
    pub fn extend(self, max_len: usize, extension: Extension) -> Result<Self, PositionError> {
        let [old, d_model] = self.size();
        if max_len < old || old == 0 {
            let bound = format!(
                "at least {old}, the number of positions of the table, which must not be 0"
            );
            return Err(PositionError::number("max_len", max_len, bound));
        }
        Positions::from(self.offset()).lookup(None, max_len)?;
        check_room::<f64>(self.offset() + max_len, d_model)?;
        if max_len == old {
            return Ok(self);
        }
        let sinusoid: Vec<f64> = match extension {
            Extension::Sinusoidal => Spectrum::new(d_model, DEFAULT_BASE)?.rows(old..max_len)?,
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

    /// The table of an image, resized for images of another size: the rows of patches by bicubic
    /// interpolation, as vision transformers do, and the rows of prefix tokens as they are.
    ///
    /// The rows of patches are those that PyTorch's `interpolate(mode="bicubic", align_corners=False)`
    /// gives for the target as a size. (For the target as a ratio, PyTorch may round to one patch
    /// less.)
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_burn::{Grid, LearnedPositionalEmbeddingConfig};
    ///
    /// // A ViT's table: a class token and 14 × 14 patches.
    /// let pe = LearnedPositionalEmbeddingConfig::new(768, 1 + 14 * 14).init(&Device::flex());
    /// let (from, to) = (Grid::image(14, 14), Grid::image(16, 20));
    /// let pe = pe.resize(from.with_prefix(1), to.with_prefix(1))?;
    /// assert_eq!(pe.config().max_len, 1 + 16 * 20);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PositionError::Grid`] when one of the two is a video; [`PositionError::Number`] when the table
    /// does not have the tokens of `from`, when one of the two has no patches, and when their prefixes
    /// differ; [`TooLarge`](PositionError::TooLarge) when the patches do not fit into memory.
    pub fn resize(self, from: Grid, to: Grid) -> Result<Self, PositionError> {
        let [max_len, d_model] = self.size();
        for (grid, name) in [(from, "from"), (to, "to")] {
            if grid.frames().is_some() {
                return Err(PositionError::Grid {
                    needs: "a grid of height × width".into(),
                    got: "a grid of frames × height × width".into(),
                });
            }
            if grid.tokens() == grid.prefix() {
                let name = format!("the number of patches of `{name}`");
                return Err(PositionError::number(name, 0, "at least 1"));
            }
        }
        if from.tokens() != max_len {
            let bound = format!("{max_len}, the number of positions of the table");
            return Err(PositionError::number("from.tokens()", from.tokens(), bound));
        }
        if from.prefix() != to.prefix() {
            let bound = format!("from.prefix(), {}", from.prefix());
            return Err(PositionError::number("to.prefix()", to.prefix(), bound));
        }
        check_room::<f64>(self.offset().saturating_add(to.tokens()), d_model)?;
        if from == to {
            return Ok(self);
        }
        let [from_size, to_size] = [from, to].map(|grid| [grid.height(), grid.width()]);
        Ok(self.with_positions(|mut rows| {
            let patches = rows.split_off(from.prefix() * d_model);
            rows.extend(image(&patches, d_model, from_size, to_size, bicubic));
            rows
        }))
    }

    /// Changes the rows of positions; those before position 0 stay. It is computed in `f64` on the
    /// host, so that the result is the same on every device. (Burn's bicubic kernel on wgpu is off by
    /// 4e-3.)
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

/// `len` evenly spaced rows from the first to the last, by linear interpolation.
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
