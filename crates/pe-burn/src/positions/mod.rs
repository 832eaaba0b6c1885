//! The position of every token: one type that all schemes take.

pub(crate) mod axes;
mod coordinates;
mod grid;
mod lookup;
mod multimodal;
mod randomized;
mod read;

pub use axes::{Axes, Axis, AxisFrequencies, PairOrder};
pub use coordinates::{CoordinateJitter, Coordinates, Normalization};
pub use grid::Grid;
pub(crate) use lookup::{Along, Lookup, Rows, check_run};
pub use multimodal::Part;
pub use randomized::RandomizedPositions;

use alloc::sync::Arc;
use alloc::vec::Vec;
use core::sync::atomic::{AtomicUsize, Ordering};

use burn::tensor::{Bool, DType, Int, Tensor};

use crate::error::{PositionError, check_size};
use crate::tensor::counting_type;

/// The largest position: 2^52 − 1, up to which the angle of a position can be reduced exactly. On processors with words of 32 bits it is
/// 2^32 − 1,025.
pub const MAX_POSITION: usize = if usize::BITS > 52 {
    ((1_u64 << 52) - 1) as usize
} else {
    usize::MAX - 1_024 // room for sums with small numbers
};

/// Queries or keys that are given by their positions and their number of tokens.
pub type Tokens<'a> = (&'a Positions, usize);

/// The position of every token of a `[batch, seq]` input.
///
/// | made by | the tokens of a row are at | for |
/// |---|---|---|
/// | [`Positions::default()`] | `0, 1, 2, …` | a batch of whole sequences |
/// | [`Positions::from(start)`](#impl-From<usize>-for-Positions) | `start, start + 1, …` | decoding with a cache |
/// | [`from_starts`](Self::from_starts) | `starts[row], starts[row] + 1, …` | decoding when the rows of a batch differ in length |
/// | [`from_ids`](Self::from_ids), [`from_id_rows`](Self::from_id_rows) | the given ids | position ids of any kind |
/// | [`from_times`](Self::from_times), [`from_time_rows`](Self::from_time_rows) | the given real numbers | events, samples at uneven intervals |
/// | [`from_token_mask`](Self::from_token_mask), [`from_mask_pad`](Self::from_mask_pad) | the number of real tokens before them | left or right padding |
/// | [`from_segment_ids`](Self::from_segment_ids) | the distance from the start of their document | packed rows |
/// | [`Positions::from(grid)`](#impl-From<Grid>-for-Positions), [`from_grid_ids`](Self::from_grid_ids) | rows and columns of a [`Grid`] | images, video |
/// | [`from_coordinates`](Self::from_coordinates), [`from_coordinate_rows`](Self::from_coordinate_rows) | several real numbers | patches of scaled images, points in space, text among images |
/// | [`from_parts`](Self::from_parts) | those of text, images and video in one sequence | multimodal models |
///
/// Positions that are known on the host stay there, so that bounds are checked before anything is
/// computed. Masks and segment ids stay on their device: their positions are below `seq`, so they are
/// checked without reading them back.
///
/// ```
/// use burn::tensor::{Bool, Device, Tensor};
/// use pe_burn::Positions;
///
/// # let device = Device::flex();
/// // Two rows of four tokens; the second has two tokens of padding on the left.
/// let real = Tensor::<2, Bool>::from_data([[true, true, true, true], [false, false, true, true]], &device);
/// let positions = Positions::from_token_mask(real);
/// assert_eq!(positions.to_rows(4)?, [[0, 1, 2, 3], [0, 0, 0, 1]]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug)]
#[doc(alias = "position_ids")]
pub struct Positions {
    kind: Kind,
    padding: Option<Padding>,
}

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // there is one per batch; a box would cost a decoding step time
enum Kind {
    /// Every row starts at the same position.
    Run(usize),
    /// Every row starts at a position of its own.
    Starts(Vec<usize>),
    /// Position ids, row by row.
    Ids { ids: Vec<usize>, shape: [usize; 2] },
    /// Real numbers, row by row.
    Times { times: Vec<f64>, shape: [usize; 2] },
    /// Several real numbers for every token, `[batch, seq, axes]`.
    Coordinates { values: Vec<f64>, shape: [usize; 3] },
    /// All tokens of a grid, or those with the given ids, row by row.
    Grid {
        grid: Grid,
        ids: Option<(Vec<usize>, [usize; 2])>,
    },
    /// Position ids on a device.
    Device(DeviceIds),
}

/// Position ids on a device, all below `seq`: they count tokens.
#[derive(Clone, Debug)]
pub(crate) struct DeviceIds {
    pub ids: Tensor<2, Int>,
    /// What they were made from, for errors.
    source: &'static str,
    /// One more than the largest id; [`UNKNOWN`] until it is first needed. It is read back from the
    /// device once for all clones.
    end: Arc<AtomicUsize>,
}

const UNKNOWN: usize = usize::MAX;

/// The source of ids that count the real tokens of a row.
const MASK: &str = "padding mask";

/// Which tokens are padding, `[batch or 1, seq]`.
#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // as above
pub(crate) enum Padding {
    Host(Vec<bool>, [usize; 2]),
    Device(Tensor<2, Bool>),
}

impl Default for Positions {
    /// `0, 1, 2, …` in every row.
    fn default() -> Self {
        Self::from(0)
    }
}

impl From<usize> for Positions {
    /// `start, start + 1, …` in every row, as in decoding with a cache of `start` tokens.
    fn from(start: usize) -> Self {
        Self::new(Kind::Run(start))
    }
}

impl From<Grid> for Positions {
    /// All tokens of a grid, in every row of the batch. A scheme without axes counts them row by row.
    fn from(grid: Grid) -> Self {
        Self::new(Kind::Grid { grid, ids: None })
    }
}

impl Positions {
    fn new(kind: Kind) -> Self {
        let padding = None;
        Self { kind, padding }
    }

    /// `starts[row], starts[row] + 1, …`: one start per row of the batch, or a single one for all.
    pub fn from_starts(starts: impl Into<Vec<usize>>) -> Self {
        Self::new(Kind::Starts(starts.into()))
    }

    /// Position ids, in any order, repeated or with gaps.
    ///
    /// This reads the ids back to the host once, to check them. Make the positions once for all layers
    /// of a model; where the ids are known on the host, use [`from_id_rows`](Self::from_id_rows).
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, seq]`, or `[1, seq]` for the same positions in every row
    ///
    /// # Errors
    ///
    /// [`PositionError::IdOutOfRange`] for a negative id or one past [`MAX_POSITION`].
    pub fn from_ids(ids: Tensor<2, Int>) -> Result<Self, PositionError> {
        let (ids, shape) = read_ids(ids, MAX_POSITION)?;
        Ok(Self::new(Kind::Ids { ids, shape }))
    }

    /// Position ids from the host, one list per row.
    ///
    /// # Errors
    ///
    /// [`PositionError::Ragged`] when the rows differ in length;
    /// [`PositionError::IdOutOfRange`] for an id past [`MAX_POSITION`].
    pub fn from_id_rows<R: AsRef<[usize]>>(rows: &[R]) -> Result<Self, PositionError> {
        let (ids, shape) = flatten(rows)?;
        let ids = checked_ids(ids.into_iter().map(|id| id as u64), shape, MAX_POSITION)?;
        Ok(Self::new(Kind::Ids { ids, shape }))
    }

    /// Some tokens of a grid, in any order: for example the patches that a masked autoencoder keeps.
    /// Ids count the tokens of the grid, prefix tokens first.
    ///
    /// This reads the ids back to the host once, as [`from_ids`](Self::from_ids) does.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, seq]`, or `[1, seq]` for the same tokens in every row
    ///
    /// # Errors
    ///
    /// [`PositionError::IdOutOfRange`] for an id that the grid does not have;
    /// [`PositionError::Number`] when the grid has no tokens.
    pub fn from_grid_ids(grid: Grid, ids: Tensor<2, Int>) -> Result<Self, PositionError> {
        let Some(last) = grid.tokens().checked_sub(1) else {
            return Err(PositionError::number("grid.tokens()", 0, "at least 1"));
        };
        let ids = Some(read_ids(ids, last.min(MAX_POSITION))?);
        Ok(Self::new(Kind::Grid { grid, ids }))
    }

    /// Positions that are real numbers: times, or places between tokens. Fractions and negative
    /// numbers are fine wherever a position enters a formula (sinusoidal, Time2Vec, RoPE, xPos, ALiBi, KERPLE,
    /// FIRE, Transformer-XL) or an order (CoPE); where it is the index of a row (learned, T5, Shaw,
    /// DeBERTa, TUPE, eRPE, Inkling) they are refused.
    ///
    /// This reads the times back to the host once, as [`from_ids`](Self::from_ids) does.
    ///
    /// # Shapes
    ///
    /// - `times`: `[batch, seq]`, or `[1, seq]` for the same times in every row
    ///
    /// # Errors
    ///
    /// [`PositionError::TimeOutOfRange`] for a time that is not a number or farther than
    /// [`MAX_POSITION`] from 0.
    pub fn from_times(times: Tensor<2>) -> Result<Self, PositionError> {
        let shape = times.dims();
        Self::checked_times(times.into_data().iter().collect(), shape)
    }

    /// Positions that are real numbers, from the host, one list per row: see
    /// [`from_times`](Self::from_times).
    ///
    /// # Errors
    ///
    /// [`PositionError::Ragged`] when the rows differ in length;
    /// [`PositionError::TimeOutOfRange`] as for [`from_times`](Self::from_times).
    pub fn from_time_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self, PositionError> {
        let (times, shape) = flatten(rows)?;
        Self::checked_times(times, shape)
    }

    fn checked_times(times: Vec<f64>, shape: [usize; 2]) -> Result<Self, PositionError> {
        check_times(&times, shape[1], None)?;
        Ok(Self::new(Kind::Times { times, shape }))
    }

    /// Positions with several coordinates each, for encodings with [`Axes`]; whole numbers or fractions,
    /// negative ones too. Biases of distances (ALiBi without half steps, KERPLE) take them as well: their
    /// distance is then the Euclidean one. From the host see
    /// [`from_coordinate_rows`](Self::from_coordinate_rows).
    ///
    /// This reads the coordinates back to the host once, as [`from_ids`](Self::from_ids) does.
    ///
    /// # Shapes
    ///
    /// - `coordinates`: `[batch, seq, axes]`, or `[1, seq, axes]` for the same in every row
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 axes, and [`TimeOutOfRange`](PositionError::TimeOutOfRange) for a
    /// coordinate that is not a number or farther than [`MAX_POSITION`] from 0.
    pub fn from_coordinates(coordinates: Tensor<3>) -> Result<Self, PositionError> {
        let shape = coordinates.dims();
        check_size("the number of axes", shape[2])?;
        let values: Vec<f64> = coordinates.into_data().iter().collect();
        check_times(&values, shape[1], Some(shape[2]))?;
        Ok(Self::new(Kind::Coordinates { values, shape }))
    }

    /// Positions with several coordinates each, from the host: one item per row of the batch, or a single
    /// one for all rows.
    ///
    /// # Errors
    ///
    /// [`PositionError::Ragged`] when the rows differ in their number of tokens;
    /// [`PositionError::Grid`] when they differ in their number of axes.
    pub fn from_coordinate_rows(rows: &[Coordinates]) -> Result<Self, PositionError> {
        let (seq, axes) = rows
            .first()
            .map_or((0, 1), |row| (row.tokens(), row.axes()));
        for row in rows {
            row.check_axes(axes)?;
        }
        check_even(rows.iter().map(Coordinates::tokens))?;
        let values = rows.iter().flat_map(Coordinates::values).copied();
        Ok(Self::of_coordinates(
            values.collect(),
            [rows.len(), seq, axes],
        ))
    }

    /// Coordinates that are known to be in range.
    fn of_coordinates(values: Vec<f64>, shape: [usize; 3]) -> Self {
        Self::new(Kind::Coordinates { values, shape })
    }

    /// Positions that count real tokens only, so that a padded row encodes as the same row without
    /// padding, whichever side the padding is on. Padded tokens are at position 0 and marked as
    /// padding, see [`with_mask_pad`](Self::with_mask_pad).
    ///
    /// # Shapes
    ///
    /// - `real`: `[batch, seq]`, true for a real token; or `[1, seq]` for the same mask in every row
    pub fn from_token_mask(real: Tensor<2, Bool>) -> Self {
        let real = real.without_autodiff();
        let counts = real.clone().cast(counting_type(&real.device()));
        let is_empty = is_empty(&real);
        let padding = real.bool_not();
        let ids = if is_empty {
            counts
        } else {
            // The cumulative sum counts the token itself as well.
            (counts.cumsum(1) - 1).mask_fill(padding.clone(), 0)
        };
        Self {
            kind: Kind::Device(DeviceIds::new(ids, MASK)),
            padding: Some(Padding::Device(padding)),
        }
    }

    /// As [`from_token_mask`](Self::from_token_mask), from the padding mask that Burn's transformer
    /// takes, in which true means padding.
    ///
    /// # Shapes
    ///
    /// - `mask_pad`: `[batch, seq]`, or `[1, seq]` for the same mask in every row
    pub fn from_mask_pad(mask_pad: Tensor<2, Bool>) -> Self {
        Self::from_token_mask(mask_pad.bool_not())
    }

    /// Positions of packed rows: they restart at 0 wherever the segment id differs from that of
    /// the token before, so that every document encodes as it would alone.
    ///
    /// # Shapes
    ///
    /// - `segments`: `[batch, seq]`, any integers; or `[1, seq]` for the same in every row
    pub fn from_segment_ids(segments: Tensor<2, Int>) -> Self {
        let segments = segments.without_autodiff();
        let [batch, seq] = segments.dims();
        let positions = if is_empty(&segments) {
            segments
        } else {
            let device = segments.device();
            let dtype = DType::from(counting_type(&device));
            let index = Tensor::<1, Int>::arange(0..seq as i64, (&device, dtype))
                .unsqueeze::<2>()
                .expand([batch, seq]);
            // The index of each document's first token, carried along the row by the running maximum.
            // The token before the first does not matter: index 0 starts a document either way.
            let before = segments.clone().roll_dim(1, 1);
            let same = segments.equal(before);
            let starts = index.clone().mask_fill(same, 0).cummax(1);
            index - starts
        };
        let ids = DeviceIds::new(positions, "tensor of segment ids");
        Self::new(Kind::Device(ids))
    }

    /// These positions, with some tokens marked as padding. The positions
    /// themselves do not change. The marks matter to five encodings alone: a learned table with a padding row, fairseq's formula,
    /// which encodes padding as zeros, the convolutions of wav2vec 2.0 and of CPVT, which leave padding out, and CoPE, which does
    /// not count keys that are padding. Attention needs a mask of its own. Positions from a mask, and randomized ones, are marked already;
    /// these marks take the place of theirs.
    ///
    /// # Shapes
    ///
    /// - `mask_pad`: `[batch, seq]`, true for padding, as in Burn's transformer; or `[1, seq]`
    pub fn with_mask_pad(self, mask_pad: Tensor<2, Bool>) -> Self {
        let padding = Some(Padding::Device(mask_pad.without_autodiff()));
        Self { padding, ..self }
    }

    /// Ids that are known to be in range, with the padding that they have.
    pub(crate) fn from_checked_ids(
        ids: Vec<usize>,
        shape: [usize; 2],
        padding: Option<Vec<bool>>,
    ) -> Self {
        Self {
            kind: Kind::Ids { ids, shape },
            padding: padding.map(|padding| Padding::Host(padding, shape)),
        }
    }
}

impl DeviceIds {
    fn new(ids: Tensor<2, Int>, source: &'static str) -> Self {
        let end = Arc::new(AtomicUsize::new(UNKNOWN));
        Self { ids, source, end }
    }

    /// Whether the ids count the real tokens of each row.
    pub fn counts_tokens(&self) -> bool {
        self.source == MASK
    }

    /// The ids on the host.
    pub fn read(&self) -> Vec<usize> {
        let ids = self.ids.to_data();
        ids.iter::<i64>().map(|id| id as usize).collect()
    }

    /// One more than the largest id. The first call reads the ids back from the device.
    fn end(&self) -> usize {
        match self.end.load(Ordering::Relaxed) {
            UNKNOWN => {
                let end = self.read().into_iter().max().map_or(0, |max| max + 1);
                self.end.store(end, Ordering::Relaxed);
                end
            }
            end => end,
        }
    }
}

/// Refuses a real number that is no position: NaN, and those too far from 0. `axes` is the number of axes of coordinates,
/// and `None` for times.
fn check_times(times: &[f64], seq: usize, axes: Option<usize>) -> Result<(), PositionError> {
    let each = axes.unwrap_or(1);
    let bound = MAX_POSITION as f64;
    let is_outside = |time: &f64| !(-bound..=bound).contains(time);
    match times.iter().position(is_outside) {
        Some(i) => Err(PositionError::TimeOutOfRange {
            time: times[i],
            axis: axes.map(|axes| i % axes),
            row: i / each / seq,
            token: i / each % seq,
            max: MAX_POSITION,
        }),
        None => Ok(()),
    }
}

fn is_empty<K: burn::tensor::kind::Basic>(tensor: &Tensor<2, K>) -> bool {
    tensor.dims().contains(&0)
}

/// The elements of rows of equal length, and the shape.
fn flatten<T: Copy, R: AsRef<[T]>>(rows: &[R]) -> Result<(Vec<T>, [usize; 2]), PositionError> {
    let seq = rows.first().map_or(0, |row| row.as_ref().len());
    check_even(rows.iter().map(|row| row.as_ref().len()))?;
    let mut all = Vec::with_capacity(rows.len() * seq);
    for row in rows {
        all.extend_from_slice(row.as_ref());
    }
    Ok((all, [rows.len(), seq]))
}

/// Refuses rows that are not as long as the first.
fn check_even(mut lengths: impl Iterator<Item = usize>) -> Result<(), PositionError> {
    let Some(expected) = lengths.next() else {
        return Ok(());
    };
    match lengths.zip(1..).find(|(len, _)| *len != expected) {
        Some((got, row)) => Err(PositionError::Ragged { row, expected, got }),
        None => Ok(()),
    }
}

/// The ids of a tensor, each of which must be at most `max`.
fn read_ids(ids: Tensor<2, Int>, max: usize) -> Result<(Vec<usize>, [usize; 2]), PositionError> {
    let shape = ids.dims();
    let data = ids.into_data();
    let ids = match data.dtype() {
        // The one type with values that an i64 cannot hold.
        DType::U64 => checked_ids(data.iter::<u64>(), shape, max)?,
        _ => checked_ids(data.iter::<i64>(), shape, max)?,
    };
    Ok((ids, shape))
}

/// The ids as positions, each of which must be at most `max`.
fn checked_ids<T>(
    ids: impl Iterator<Item = T>,
    shape: [usize; 2],
    max: usize,
) -> Result<Vec<usize>, PositionError>
where
    T: Copy + Into<i128> + TryInto<usize>,
{
    ids.enumerate()
        .map(|(i, id)| match id.try_into() {
            Ok(position) if position <= max => Ok(position),
            _ => Err(PositionError::IdOutOfRange {
                id: id.into(),
                row: i / shape[1],
                token: i % shape[1],
                max,
            }),
        })
        .collect()
}

#[cfg(test)]
mod tests;
