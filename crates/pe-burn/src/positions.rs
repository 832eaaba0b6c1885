//! Which position every token has: the one contract that all encodings share.

use alloc::{borrow::Cow, vec, vec::Vec};

use burn::tensor::{Bool, DType, Device, Int, Tensor};

use crate::error::{PositionError, expect};
use crate::grid::{Axes, Grid};
use crate::index::counting_type;
use crate::memory::check_room;
use crate::spectrum::MAX_POSITION;

/// The position of every token of a `[batch, seq]` input.
///
/// | made by | the tokens of a row are at | for |
/// |---|---|---|
/// | [`Positions::default()`] | `0, 1, 2, …` | a batch of whole sequences |
/// | [`Positions::from(start)`](#impl-From<usize>-for-Positions) | `start, start + 1, …` | cached decoding |
/// | [`from_starts`](Self::from_starts) | `starts[row], starts[row] + 1, …` | cached decoding of rows of several lengths |
/// | [`from_ids`](Self::from_ids), [`from_id_rows`](Self::from_id_rows) | the ids given | anything else |
/// | [`from_times`](Self::from_times), [`from_time_rows`](Self::from_time_rows) | the times given, fractions and negative ones too | events, samples at uneven intervals |
/// | [`from_token_mask`](Self::from_token_mask), [`from_mask_pad`](Self::from_mask_pad) | the count of real tokens before them | left or right padding |
/// | [`from_segment_ids`](Self::from_segment_ids) | the distance from the start of their document | packed rows |
/// | [`Positions::from(grid)`](#impl-From<Grid>-for-Positions), [`from_grid_ids`](Self::from_grid_ids) | rows and columns of a [`Grid`], in reading order for encodings of a line | images, video |
///
/// What is known on the host stays there, so that a bound is checked before anything is computed;
/// masks and segment ids stay on their device, where positions follow from them without a
/// read-back, since none can reach `seq`.
///
/// ```
/// use burn::tensor::{Bool, Device, Tensor};
/// use pe_burn::Positions;
///
/// # let device = Device::flex();
/// // Two rows of four tokens; the second is padded on the left by two.
/// let real = Tensor::<2, Bool>::from_data([[true, true, true, true], [false, false, true, true]], &device);
/// let positions = Positions::from_token_mask(real);
/// assert_eq!(positions.to_rows(4), [[0, 1, 2, 3], [0, 0, 0, 1]]);
/// ```
#[derive(Clone, Debug)]
pub struct Positions(Kind);

#[derive(Clone, Debug)]
#[allow(clippy::large_enum_variant)] // one for a whole batch: a box would cost more than the bytes
enum Kind {
    /// Every row runs on from one start.
    Run(usize),
    /// Every row runs on from its own start.
    Runs(Vec<usize>),
    /// Explicit ids, row by row.
    Ids { ids: Vec<usize>, shape: [usize; 2] },
    /// Times: any real numbers, row by row.
    Times { times: Vec<f64>, shape: [usize; 2] },
    /// All tokens of a grid, or those of some ids, row by row.
    Grid {
        grid: Grid,
        ids: Option<(Vec<usize>, [usize; 2])>,
    },
    /// Ids on a device that are all below `seq`, and which of them stand for padding.
    Counted {
        ids: Tensor<2, Int>,
        padding: Option<Tensor<2, Bool>>,
    },
}

/// Tokens from which it is worth asking whether there is memory for them.
pub(crate) const MANY: usize = 1 << 24;

/// The four ways in which an encoding looks positions up.
pub(crate) enum Place<'a> {
    /// One run for every row, from this start.
    Run(usize),
    /// Ids on the host, row by row.
    Host(Cow<'a, [usize]>),
    /// Times on the host, row by row: they cannot be looked up, only computed.
    Times(&'a [f64]),
    /// Ids on a device, all below `seq`, and which of them stand for padding.
    Device(&'a Tensor<2, Int>, Option<&'a Tensor<2, Bool>>),
}

impl Default for Positions {
    /// `0, 1, 2, …` for every row.
    fn default() -> Self {
        Self::from(0)
    }
}

impl From<usize> for Positions {
    /// `start, start + 1, …` for every row, as in decoding with a cache of `start` tokens.
    fn from(start: usize) -> Self {
        Self(Kind::Run(start))
    }
}

impl From<Grid> for Positions {
    /// Every token of a grid, the same in every row of the batch.
    fn from(grid: Grid) -> Self {
        Self(Kind::Grid { grid, ids: None })
    }
}

impl Positions {
    /// `starts[row], starts[row] + 1, …`: one start per row of the batch, or a single one for all.
    pub fn from_starts(starts: impl Into<Vec<usize>>) -> Self {
        Self(Kind::Runs(starts.into()))
    }

    /// Explicit positions, in any order, repeated or with gaps.
    ///
    /// This reads the ids back to the host once, to know the largest. Make them once for all layers
    /// of a model; where they are known on the host use [`from_id_rows`](Self::from_id_rows).
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, seq]`, or `[1, seq]` for the same positions in every row
    ///
    /// # Panics
    ///
    /// Where [`try_from_ids`](Self::try_from_ids) returns an error.
    pub fn from_ids(ids: Tensor<2, Int>) -> Self {
        expect(Self::try_from_ids(ids))
    }

    /// As [`from_ids`](Self::from_ids).
    ///
    /// # Errors
    ///
    /// [`PositionError::IdOutOfRange`] for a negative id or one past [`MAX_POSITION`].
    pub fn try_from_ids(ids: Tensor<2, Int>) -> Result<Self, PositionError> {
        let (ids, shape) = ids_of(ids, MAX_POSITION)?;
        Ok(Self(Kind::Ids { ids, shape }))
    }

    /// Some tokens of a grid, in any order: the patches that a masked autoencoder keeps. Ids count
    /// the tokens of the grid, those in front first.
    ///
    /// This reads the ids back to the host once, as [`from_ids`](Self::from_ids) does.
    ///
    /// # Shapes
    ///
    /// - `ids`: `[batch, seq]`, or `[1, seq]` for the same tokens in every row
    ///
    /// # Panics
    ///
    /// Where [`try_from_grid_ids`](Self::try_from_grid_ids) returns an error.
    pub fn from_grid_ids(grid: Grid, ids: Tensor<2, Int>) -> Self {
        expect(Self::try_from_grid_ids(grid, ids))
    }

    /// As [`from_grid_ids`](Self::from_grid_ids).
    ///
    /// # Errors
    ///
    /// [`PositionError::IdOutOfRange`] for an id that the grid does not have;
    /// [`PositionError::EmptyGrid`] when it has no tokens.
    pub fn try_from_grid_ids(grid: Grid, ids: Tensor<2, Int>) -> Result<Self, PositionError> {
        let last = grid.tokens().checked_sub(1);
        let last = last.ok_or(PositionError::EmptyGrid)?.min(MAX_POSITION);
        let ids = Some(ids_of(ids, last)?);
        Ok(Self(Kind::Grid { grid, ids }))
    }

    /// Explicit positions from the host, one list per row.
    ///
    /// # Panics
    ///
    /// Where [`try_from_id_rows`](Self::try_from_id_rows) returns an error.
    pub fn from_id_rows<R: AsRef<[usize]>>(rows: &[R]) -> Self {
        expect(Self::try_from_id_rows(rows))
    }

    /// As [`from_id_rows`](Self::from_id_rows).
    ///
    /// # Errors
    ///
    /// [`PositionError::Ragged`] when the rows differ in length;
    /// [`PositionError::IdOutOfRange`] for an id past [`MAX_POSITION`].
    pub fn try_from_id_rows<R: AsRef<[usize]>>(rows: &[R]) -> Result<Self, PositionError> {
        let (ids, shape) = flat(rows)?;
        let ids = checked_ids(ids.into_iter().map(|id| id as u64), shape, MAX_POSITION)?;
        Ok(Self(Kind::Ids { ids, shape }))
    }

    /// Positions that are real numbers: times, or places between tokens. Fractions and negative
    /// numbers are fine wherever a position is a number in a formula (sinusoidal, rotary, ALiBi,
    /// KERPLE, FIRE); where it is the number of a row (learned, T5) they are refused.
    ///
    /// This reads the times back to the host once, as [`from_ids`](Self::from_ids) does.
    ///
    /// # Shapes
    ///
    /// - `times`: `[batch, seq]`, or `[1, seq]` for the same times in every row
    ///
    /// # Panics
    ///
    /// Where [`try_from_times`](Self::try_from_times) returns an error.
    pub fn from_times(times: Tensor<2>) -> Self {
        expect(Self::try_from_times(times))
    }

    /// As [`from_times`](Self::from_times).
    ///
    /// # Errors
    ///
    /// [`PositionError::TimeOutOfRange`] for a time that is not a number or further than
    /// [`MAX_POSITION`] from 0.
    pub fn try_from_times(times: Tensor<2>) -> Result<Self, PositionError> {
        let shape = times.dims();
        checked_times(times.into_data().iter::<f64>().collect(), shape)
    }

    /// As [`from_times`](Self::from_times), from the host: one list per row.
    ///
    /// # Panics
    ///
    /// Where [`try_from_time_rows`](Self::try_from_time_rows) returns an error.
    pub fn from_time_rows<R: AsRef<[f64]>>(rows: &[R]) -> Self {
        expect(Self::try_from_time_rows(rows))
    }

    /// As [`from_time_rows`](Self::from_time_rows).
    ///
    /// # Errors
    ///
    /// [`PositionError::Ragged`] when the rows differ in length, and
    /// [`PositionError::TimeOutOfRange`] as in [`try_from_times`](Self::try_from_times).
    pub fn try_from_time_rows<R: AsRef<[f64]>>(rows: &[R]) -> Result<Self, PositionError> {
        let (times, shape) = flat(rows)?;
        checked_times(times, shape)
    }

    /// Positions that count real tokens only, so that a padded row encodes as the same row
    /// unpadded. A padded token is at position 0: attention has to mask it out in any case.
    ///
    /// `true` means a real token, as in Hugging Face's `attention_mask`. For Burn's `mask_pad`,
    /// which is the other way round, there is [`from_mask_pad`](Self::from_mask_pad).
    ///
    /// # Shapes
    ///
    /// - `real`: `[batch, seq]`, or `[1, seq]` for the same mask in every row
    pub fn from_token_mask(real: Tensor<2, Bool>) -> Self {
        let real = real.without_autodiff();
        let counts = real.clone().cast(counting_type(&real.device()));
        let empty = has_no_tokens(&real);
        let padding = real.bool_not();
        let ids = if empty {
            counts
        } else {
            // The cumulative sum counts the token itself as well.
            (counts.cumsum(1) - 1).mask_fill(padding.clone(), 0)
        };
        Self(Kind::Counted {
            ids,
            padding: Some(padding),
        })
    }

    /// As [`from_token_mask`](Self::from_token_mask), from Burn's own padding mask, as its
    /// transformer takes it: `true` means padding.
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
        if has_no_tokens(&segments) {
            return Self(Kind::Counted {
                ids: segments,
                padding: None,
            });
        }
        let device = segments.device();
        let dtype = DType::from(counting_type(&device));
        let places = Tensor::<1, Int>::arange(0..seq as i64, (&device, dtype))
            .unsqueeze::<2>()
            .expand([batch, seq]);
        // The place of each document's first token, carried along the row by the running maximum.
        // What comes before the first does not matter: its place is 0 either way.
        let before = segments.clone().roll_dim(1, 1);
        let same = segments.equal(before);
        let starts = places.clone().mask_fill(same, 0).cummax(1);
        Self(Kind::Counted {
            ids: places - starts,
            padding: None,
        })
    }

    /// The positions of a `[_, seq]` input as lists: one per row, or a single one when every row has
    /// the same. It reads back from the device what was made from a mask or segment ids.
    ///
    /// # Panics
    ///
    /// Where [`try_to_rows`](Self::try_to_rows) returns an error.
    pub fn to_rows(&self, seq: usize) -> Vec<Vec<usize>> {
        expect(self.try_to_rows(seq))
    }

    /// As [`to_rows`](Self::to_rows).
    ///
    /// # Errors
    ///
    /// [`PositionError::Shape`] when these positions are not for `seq` tokens,
    /// [`PositionError::Overflow`] when they run past [`MAX_POSITION`],
    /// [`PositionError::NotWhole`] when they are times, and
    /// [`PositionError::TooLarge`] for more than there is memory for.
    pub fn try_to_rows(&self, seq: usize) -> Result<Vec<Vec<usize>>, PositionError> {
        self.check(None, seq)?;
        self.check_whole("a list of whole positions")?;
        check_room::<usize>(self.rows(), seq)?;
        Ok(match &self.0 {
            Kind::Run(start) => vec![(*start..start + seq).collect()],
            Kind::Runs(starts) => starts.iter().map(|&s| (s..s + seq).collect()).collect(),
            _ if seq == 0 => vec![Vec::new(); self.rows()],
            Kind::Grid { ids: None, .. } => vec![(0..seq).collect()],
            Kind::Ids { ids, .. }
            | Kind::Grid {
                ids: Some((ids, _)),
                ..
            } => ids.chunks_exact(seq).map(<[usize]>::to_vec).collect(),
            Kind::Times { .. } => unreachable!("times were refused"),
            Kind::Counted { ids, .. } => {
                read(ids).chunks_exact(seq).map(<[usize]>::to_vec).collect()
            }
        })
    }

    /// Which tokens stand for padding, where these positions know.
    pub(crate) fn padding(&self) -> Option<&Tensor<2, Bool>> {
        match &self.0 {
            Kind::Counted { padding, .. } => padding.as_ref(),
            _ => None,
        }
    }

    /// How many rows these positions are for; 1 stands for any number.
    pub(crate) fn rows(&self) -> usize {
        match &self.0 {
            Kind::Run(_) | Kind::Grid { ids: None, .. } => 1,
            Kind::Runs(starts) => starts.len(),
            Kind::Ids { shape, .. }
            | Kind::Times { shape, .. }
            | Kind::Grid {
                ids: Some((_, shape)),
                ..
            } => shape[0],
            Kind::Counted { ids, .. } => ids.dims()[0],
        }
    }

    /// Checks that these are positions for `seq` tokens in each of `batch` rows, where one row
    /// stands for any number, and that none is past [`MAX_POSITION`].
    pub(crate) fn check(&self, batch: Option<usize>, seq: usize) -> Result<(), PositionError> {
        let rows = self.rows();
        let wrong_rows = batch.filter(|&batch| rows != 1 && rows != batch);
        let shape = match &self.0 {
            Kind::Run(_) => None,
            Kind::Runs(_) => match wrong_rows {
                Some(expected) => {
                    return Err(PositionError::Starts {
                        expected,
                        got: rows,
                    });
                }
                // Each has its own list of positions.
                None if seq > MANY => {
                    check_room::<usize>(rows, seq)?;
                    None
                }
                None => None,
            },
            Kind::Ids { shape, .. } => Some(("tensor of position ids", *shape)),
            Kind::Times { shape, .. } => Some(("tensor of times", *shape)),
            Kind::Grid { grid, ids: None } => {
                Some(("grid", [batch.unwrap_or(rows), grid.tokens()]))
            }
            Kind::Grid {
                ids: Some((_, shape)),
                ..
            } => Some(("tensor of ids on a grid", *shape)),
            Kind::Counted { ids, padding } => Some(match padding {
                Some(_) => ("padding mask", ids.dims()),
                None => ("tensor of segment ids", ids.dims()),
            }),
        };
        if let Some((what, got)) = shape
            && (got[1] != seq || wrong_rows.is_some())
        {
            return Err(PositionError::Shape {
                what,
                expected: [batch.unwrap_or(rows), seq],
                got,
            });
        }
        match self.last_start() {
            Some(start) if seq > 0 && start.saturating_add(seq) > MAX_POSITION + 1 => {
                Err(PositionError::Overflow {
                    start,
                    seq,
                    max: MAX_POSITION,
                })
            }
            _ => Ok(()),
        }
    }

    /// The grid of these axes that these are positions on, and the ids of its tokens, row by row, if
    /// not all of them in order are meant.
    pub(crate) fn on_grid(&self, axes: Axes) -> Result<(&Grid, Option<&[usize]>), PositionError> {
        let (needs, got) = match &self.0 {
            Kind::Grid { grid, ids } if axes.are_of(grid) => {
                return Ok((grid, ids.as_ref().map(|(ids, _)| &ids[..])));
            }
            Kind::Grid { grid, .. } => (axes.kind(), grid.kind()),
            _ => (axes.kind(), "a line"),
        };
        Err(PositionError::NoGrid { needs, got })
    }

    /// One more than the farthest that one of the tokens is along one of the axes.
    pub(crate) fn grid_end(&self, axes: Axes) -> Result<usize, PositionError> {
        let (grid, ids) = self.on_grid(axes)?;
        let farthest = |places: [usize; 3]| places.into_iter().max().map_or(0, |p| p + 1);
        Ok(match ids {
            Some(ids) => ids.iter().map(|id| farthest(grid.place(*id))).max(),
            None => grid.tokens().checked_sub(1).map(|_| match grid.cells() {
                0 => 1, // tokens in front have the row of position 0
                _ => grid.shape().into_iter().max().unwrap_or(0),
            }),
        }
        .unwrap_or(0))
    }

    /// Which of `seq` tokens are in front of their grid, `[1 or batch, seq, 1]`; nothing where none
    /// can be.
    pub(crate) fn in_front(&self, seq: usize, device: &Device) -> Option<Tensor<3, Bool>> {
        let Kind::Grid { grid, ids } = &self.0 else {
            return None;
        };
        let prefix = grid.prefix();
        let in_front: Vec<bool> = match ids {
            _ if prefix == 0 => return None,
            Some((ids, _)) => ids.iter().map(|id| *id < prefix).collect(),
            None => (0..seq).map(|token| token < prefix).collect(),
        };
        let mask = burn::tensor::TensorData::new(in_front, [self.rows(), seq, 1]);
        Some(Tensor::from_data(mask, &device.clone().without_autodiff()))
    }

    /// Refuses times where a position is the number of something.
    pub(crate) fn check_whole(&self, what: &'static str) -> Result<(), PositionError> {
        match &self.0 {
            Kind::Times { .. } => Err(PositionError::NotWhole { what }),
            _ => Ok(()),
        }
    }

    /// Whether these are known to be the same positions, without reading any back.
    pub(crate) fn known_same(&self, other: &Self) -> bool {
        match (&self.0, &other.0) {
            (Kind::Run(a), Kind::Run(b)) => a == b,
            (Kind::Runs(a), Kind::Runs(b)) => a == b,
            (Kind::Ids { ids: a, shape: m }, Kind::Ids { ids: b, shape: n }) => (m, a) == (n, b),
            (Kind::Times { times: a, shape: m }, Kind::Times { times: b, shape: n }) => {
                (m, a) == (n, b)
            }
            (Kind::Grid { grid: a, ids: i }, Kind::Grid { grid: b, ids: j }) => (a, i) == (b, j),
            _ => false,
        }
    }

    /// One more than the largest position of `seq` tokens, or a bound on it where the positions
    /// are on a device. For positions that [`check`](Self::check) has passed.
    pub(crate) fn end(&self, seq: usize) -> usize {
        match &self.0 {
            Kind::Grid { grid, ids: None } => grid.tokens(),
            Kind::Ids { ids, .. }
            | Kind::Grid {
                ids: Some((ids, _)),
                ..
            } => ids.iter().max().map_or(0, |max| max + 1),
            Kind::Times { times, .. } => times
                .iter()
                .map(|time| libm::floor(*time).max(-1.0) + 1.0)
                .fold(0.0, f64::max) as usize,
            Kind::Counted { .. } => seq,
            Kind::Run(_) | Kind::Runs(_) if seq == 0 => 0,
            Kind::Run(_) | Kind::Runs(_) => self.last_start().map_or(0, |start| start + seq),
        }
    }

    /// The position of `seq` tokens that is farthest from 0 where that is past `limit`, else this
    /// or a bound on it.
    pub(crate) fn farthest_beyond(&self, seq: usize, limit: usize) -> f64 {
        match &self.0 {
            Kind::Times { times, .. } => times.iter().fold(0.0, |far, time| time.abs().max(far)),
            _ => self.end_beyond(seq, limit).saturating_sub(1) as f64,
        }
    }

    /// Positions that are known to be some, row by row.
    pub(crate) fn of_rows(ids: Vec<usize>, shape: [usize; 2]) -> Self {
        Self(Kind::Ids { ids, shape })
    }

    /// One more than the largest position of `seq` tokens where that is past `limit`, else this or
    /// a bound on it: positions on a device are read back only when their bound is past the limit.
    pub(crate) fn end_beyond(&self, seq: usize, limit: usize) -> usize {
        let end = self.end(seq);
        match &self.0 {
            Kind::Counted { ids, .. } if end > limit => {
                read(ids).iter().max().map_or(0, |max| max + 1)
            }
            _ => end,
        }
    }

    /// Refuses positions from `limit` on.
    pub(crate) fn check_limit(&self, seq: usize, limit: usize) -> Result<(), PositionError> {
        match self.end_beyond(seq, limit) {
            end if end > limit => Err(PositionError::TooLong {
                position: end - 1,
                max_len: limit,
            }),
            _ => Ok(()),
        }
    }

    /// Where an encoding finds these positions for `seq` tokens, which [`check`](Self::check) has
    /// passed.
    pub(crate) fn place(&self, seq: usize) -> Place<'_> {
        match &self.0 {
            Kind::Run(start) => Place::Run(*start),
            Kind::Runs(starts) => Place::Host(
                starts
                    .iter()
                    .flat_map(|&start| start..start + seq)
                    .collect(),
            ),
            Kind::Grid { ids: None, .. } => Place::Run(0),
            Kind::Ids { ids, .. }
            | Kind::Grid {
                ids: Some((ids, _)),
                ..
            } => Place::Host(Cow::Borrowed(ids)),
            Kind::Times { times, .. } => Place::Times(times),
            Kind::Counted { ids, padding } => Place::Device(ids, padding.as_ref()),
        }
    }

    fn last_start(&self) -> Option<usize> {
        match &self.0 {
            Kind::Run(start) => Some(*start),
            Kind::Runs(starts) => starts.iter().max().copied(),
            Kind::Ids { .. } | Kind::Times { .. } | Kind::Grid { .. } | Kind::Counted { .. } => {
                None
            }
        }
    }
}

fn has_no_tokens<K: burn::tensor::kind::Basic>(tensor: &Tensor<2, K>) -> bool {
    tensor.dims().contains(&0)
}

/// The ids of a tensor that this file made: none is negative.
fn read(ids: &Tensor<2, Int>) -> Vec<usize> {
    ids.to_data().iter::<i64>().map(|id| id as usize).collect()
}

/// The numbers of rows of one length, and the shape.
fn flat<T: Copy, R: AsRef<[T]>>(rows: &[R]) -> Result<(Vec<T>, [usize; 2]), PositionError> {
    let seq = rows.first().map_or(0, |row| row.as_ref().len());
    let mut all = Vec::with_capacity(rows.len() * seq);
    for (i, row) in rows.iter().map(AsRef::as_ref).enumerate() {
        if row.len() != seq {
            return Err(PositionError::Ragged {
                row: i,
                expected: seq,
                got: row.len(),
            });
        }
        all.extend_from_slice(row);
    }
    Ok((all, [rows.len(), seq]))
}

/// Times as positions, where each of them is one.
fn checked_times(times: Vec<f64>, shape: [usize; 2]) -> Result<Positions, PositionError> {
    let bound = MAX_POSITION as f64;
    match times
        .iter()
        .position(|time| !(-bound..=bound).contains(time))
    {
        Some(i) => Err(PositionError::TimeOutOfRange {
            time: times[i],
            row: i / shape[1],
            token: i % shape[1],
            max: MAX_POSITION,
        }),
        None => Ok(Positions(Kind::Times { times, shape })),
    }
}

/// The ids of a tensor, where each is at most `max`.
fn ids_of(ids: Tensor<2, Int>, max: usize) -> Result<(Vec<usize>, [usize; 2]), PositionError> {
    let shape = ids.dims();
    let data = ids.into_data();
    let ids = match data.dtype() {
        // The one type with values that an i64 cannot hold.
        DType::U64 => checked_ids(data.iter::<u64>(), shape, max)?,
        _ => checked_ids(data.iter::<i64>(), shape, max)?,
    };
    Ok((ids, shape))
}

/// Ids as positions, where each of them is at most `max`.
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
