//! The distance between every query and every key.

use alloc::borrow::Cow;
use alloc::format;
use alloc::vec::Vec;

use burn::tensor::{DType, Device, FloatDType, Int, IntDType, Tensor, TensorData};

use crate::backend::memory::{check_room, check_shape_on};
use crate::error::PositionError;
use crate::positions::axes::coordinates;
use crate::positions::{Lookup, Rows, Tokens};
use crate::tensor::{counting_type, ids_on};

/// `key − query` for every pair.
pub(super) enum Distances {
    /// Queries and keys are at consecutive positions, so that all distances are in one strip: pair
    /// `(i, j)` has the distance `first + (queries − 1 − i) + j`.
    Strip {
        first: f64,
        queries: usize,
        keys: usize,
    },
    /// Whole distances, `[rows, queries, keys]`.
    Whole(Tensor<3, Int>),
    /// Real-valued distances, `[rows, queries, keys]`.
    Times(Tensor<3>),
    /// Euclidean distances of coordinates, `[rows, queries, keys]`: none is negative, since there is no left and right.
    Space(Tensor<3>),
}

/// Checks the positions of queries and keys, and computes a bias from them. Where there is no query or
/// no key, the result is empty and `compute` is not called.
pub(super) fn of_pairs(
    queries: Tokens,
    keys: Tokens,
    heads: usize,
    (device, dtype): (&Device, DType),
    compute: impl FnOnce(&Lookup, &Lookup) -> Result<Tensor<4>, PositionError>,
) -> Result<Tensor<4>, PositionError> {
    let (q, k) = (
        queries.0.lookup(None, queries.1)?,
        keys.0.lookup(None, keys.1)?,
    );
    let batch = match (q.batch, k.batch) {
        (1, batch) | (batch, 1) => batch,
        (queries, keys) if queries == keys => keys,
        (expected, got) => {
            return Err(PositionError::Batch {
                what: "rows of key positions",
                expected,
                got,
            });
        }
    };
    let shape = [batch, heads, q.seq, k.seq];
    if shape.contains(&0) {
        return Ok(Tensor::zeros(shape, (device, dtype)));
    }
    check_shape_on(device, shape)?;
    compute(&q, &k)
}

impl Distances {
    /// A bias that is computed from the distances, [`spread`](Self::spread) over the pairs: see [`of_pairs`].
    pub fn bias(
        queries: Tokens,
        keys: Tokens,
        heads: usize,
        (device, dtype): (&Device, DType),
        compute: impl FnOnce(&Self) -> Result<Tensor<4>, PositionError>,
    ) -> Result<Tensor<4>, PositionError> {
        of_pairs(queries, keys, heads, (device, dtype), |q, k| {
            let distances = Self::new(q, k, device)?;
            Ok(distances.spread(compute(&distances)?))
        })
    }

    /// What `compute` returns for a strip of distances, before it is spread over pairs; `None` where positions are not
    /// consecutive. See [`Bias::try_distance_bias`](super::Bias).
    pub fn strip(
        queries: Tokens,
        keys: Tokens,
        heads: usize,
        device: &Device,
        compute: impl FnOnce(&Self) -> Result<Tensor<4>, PositionError>,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        let (q, k) = (
            queries.0.lookup(None, queries.1)?,
            keys.0.lookup(None, keys.1)?,
        );
        match (&q.rows, &k.rows) {
            (Rows::Run(_), Rows::Run(_)) if q.seq > 0 && k.seq > 0 => {
                let distances = q.seq.saturating_add(k.seq - 1);
                // T5 computes a bucket for each distance in the memory of the host.
                check_room::<usize>(1, distances)?;
                check_shape_on(device, [heads, distances])?;
                compute(&Self::new(&q, &k, device)?).map(Some)
            }
            _ => Ok(None),
        }
    }

    /// The distances between at least one query and one key.
    pub fn new(queries: &Lookup, keys: &Lookup, device: &Device) -> Result<Self, PositionError> {
        let device = device.clone().without_autodiff();
        if let (Rows::Run(query), Rows::Run(key)) = (&queries.rows, &keys.rows) {
            return Ok(Self::Strip {
                first: *key as f64 - *query as f64 - (queries.seq - 1) as f64,
                queries: queries.seq,
                keys: keys.seq,
            });
        }
        if let (Some(q), Some(k)) = (Ids::of(queries), Ids::of(keys)) {
            let origin = q.lowest().min(k.lowest());
            let span = queries.end().max(keys.end()).saturating_sub(1) - origin;
            let dtype = type_for(span, &device)?;
            let q = q.tensor(origin, queries.seq, dtype, &device);
            let k = k.tensor(origin, keys.seq, dtype, &device);
            return Ok(Self::Whole(
                k.unsqueeze_dim::<3>(1) - q.unsqueeze_dim::<3>(2),
            ));
        }
        match (space(queries), space(keys)) {
            (None, None) => Ok(Self::Times(times_apart(queries, keys, &device))),
            (Some(q), Some(k)) if q.1 == k.1 => {
                let apart = places_apart(q, k, (queries.seq, keys.seq), &device);
                Ok(Self::Space(apart))
            }
            (q, k) => {
                let kind = |side: Option<(&[f64], usize)>| {
                    side.map_or("positions on a line".into(), |(_, axes)| coordinates(axes))
                };
                let (needs, got) = (kind(q), kind(k));
                Err(PositionError::Grid { needs, got })
            }
        }
    }

    /// Refuses distances without a direction.
    pub fn check_line(&self) -> Result<(), PositionError> {
        match self {
            Self::Space(_) => Err(Self::not_on_a_line()),
            _ => Ok(()),
        }
    }

    fn not_on_a_line() -> PositionError {
        PositionError::Grid {
            needs: "positions on a line".into(),
            got: "coordinates of several axes".into(),
        }
    }

    /// As real numbers, in `f32` whatever the type of the parameters: shorter types would lose large
    /// distances.
    ///
    /// # Shapes
    ///
    /// - output: `[rows, 1, queries, keys]`, or for a strip `[1, 1, 1, queries + keys − 1]`, which
    ///   [`spread`](Self::spread) makes whole
    pub fn real(&self, device: &Device) -> Tensor<4> {
        let device = device.clone().without_autodiff();
        match self {
            Self::Strip {
                first,
                queries,
                keys,
            } => {
                let strip: Vec<f32> = (0..queries + keys - 1)
                    .map(|i| (first + i as f64) as f32)
                    .collect();
                Tensor::<1>::from_data(strip.as_slice(), (&device, DType::F32))
                    .reshape([1, 1, 1, -1])
            }
            Self::Whole(distances) => distances.clone().cast(FloatDType::F32).unsqueeze_dim(1),
            Self::Times(distances) | Self::Space(distances) => distances.clone().unsqueeze_dim(1),
        }
    }

    /// Values by distance, spread over all pairs.
    ///
    /// # Shapes
    ///
    /// - `values`: `[rows, heads, queries, keys]`, or `[1, heads, 1, queries + keys − 1]`
    /// - output: `[rows, heads, queries, keys]`
    ///
    /// # Panics
    ///
    /// When the values of a strip are not one for each of its distances.
    pub fn spread(&self, values: Tensor<4>) -> Tensor<4> {
        let Self::Strip { queries, keys, .. } = *self else {
            return values;
        };
        let (shape @ [_, heads, ..], strip) = (values.dims(), queries + keys - 1);
        assert_eq!(shape, [1, heads, 1, strip], "a value for each distance");
        if queries == 1 {
            return values;
        }
        #[cfg(feature = "cube")]
        if crate::backend::cube::supports(&values) {
            return crate::backend::cube::windows(values, queries, keys);
        }
        #[cfg(feature = "flex")]
        if crate::backend::flex::supports(&values) {
            return crate::backend::flex::windows(values, queries, keys);
        }
        if !values.device().is_autodiff() {
            // One window of the strip per query, the last query first.
            let windows: Tensor<5> = values.unfold(3, keys, 1);
            return windows.squeeze_dim::<4>(2).flip([2]);
        }
        // The backward pass of Burn's `unfold` takes one step per query.
        shifted(values.repeat_dim(2, queries))
    }

    /// The part of a range of distances that occurs, so that table columns for other distances need not be computed; the
    /// whole range where that could only be read from tensors. Distances beyond an end of the range count as that end.
    pub fn part_of(&self, (first, last): (i64, i64)) -> (i64, i64) {
        match self {
            Self::Strip {
                first: lowest,
                queries,
                keys,
            } => {
                let highest = lowest + (queries + keys - 2) as f64;
                let inside = |distance: f64| distance.clamp(first as f64, last as f64) as i64;
                (inside(*lowest), inside(highest))
            }
            Self::Whole(_) | Self::Times(_) | Self::Space(_) => (first, last),
        }
    }

    /// The row of every pair in a table that has a row for each distance of a range. Distances outside of the range use
    /// the first or the last row.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, queries, keys]`
    ///
    /// # Errors
    ///
    /// [`PositionError::NotWhole`] for times, where `what` names the table, and [`PositionError::Grid`] for
    /// coordinates.
    pub fn rows_within(
        &self,
        (first, last): (i64, i64),
        what: &'static str,
        device: &Device,
    ) -> Result<Tensor<3, Int>, PositionError> {
        let whole = match self {
            Self::Strip {
                first: start,
                queries,
                keys,
            } => {
                let device = device.clone().without_autodiff();
                let dtype = DType::from(counting_type(&device));
                let (q, k) = (*queries as i64, *keys as i64);
                // The distance of the first pair. Where it is so far that all pairs are outside of the
                // range, it does not matter how far.
                let between = (start + (q - 1) as f64).clamp((first - k) as f64, (last + q) as f64);
                let range = |len| Tensor::<1, Int>::arange(0..len, (&device, dtype));
                let keys = (range(k) + between as i64).reshape([1, 1, k]);
                keys - range(q).reshape([1, q, 1])
            }
            Self::Whole(distances) => distances.clone(),
            Self::Times(_) => return Err(PositionError::NotWhole { what }),
            Self::Space(_) => return Err(Self::not_on_a_line()),
        };
        Ok(whole.clamp(first, last) - first)
    }
}

/// The relative shift of Transformer-XL (appendix B): moves every row of `values` to the left, so that the number of each
/// pair is in the column of its key. All rows are read as one sequence from `queries − 1` on, and cut into rows that are
/// one element shorter than the strip, so that each row starts one element earlier than the one before.
///
/// # Shapes
///
/// - `values`: `[batch, heads, queries, queries + keys − 1]`, a strip for each query
/// - output: `[batch, heads, queries, keys]`
pub(super) fn shifted(values: Tensor<4>) -> Tensor<4> {
    let [batch, heads, queries, strip] = values.dims();
    let keys = strip + 1 - queries;
    if queries == 1 {
        return values;
    }
    values
        .reshape([batch, heads, queries * strip])
        .slice([0..batch, 0..heads, queries - 1..queries * strip - 1])
        .reshape([batch, heads, queries, strip - 1])
        .slice([0..batch, 0..heads, 0..queries, 0..keys])
}

/// Whole positions, row by row.
enum Ids<'a> {
    Host(Cow<'a, [usize]>),
    Device(&'a Tensor<2, Int>),
}

impl<'a> Ids<'a> {
    /// The positions of a lookup; `None` for times and coordinates.
    fn of(lookup: &'a Lookup) -> Option<Self> {
        Some(match &lookup.rows {
            Rows::Run(start) => {
                Self::Host((*start..start + lookup.seq).collect::<Vec<usize>>().into())
            }
            Rows::Ids(ids) => Self::Host(Cow::Borrowed(ids)),
            Rows::Device(ids) => Self::Device(&ids.ids),
            Rows::Times(_) | Rows::Coordinates { .. } => return None,
        })
    }

    /// The lowest position; 0 for positions on a device.
    fn lowest(&self) -> usize {
        match self {
            Self::Host(ids) => ids.iter().min().copied().unwrap_or(0),
            Self::Device(_) => 0,
        }
    }

    /// The positions minus `origin`, `[rows, seq]`.
    fn tensor(
        &self,
        origin: usize,
        seq: usize,
        dtype: IntDType,
        device: &Device,
    ) -> Tensor<2, Int> {
        match self {
            Self::Host(ids) => {
                let rows = ids.len() / seq;
                let ids: Vec<i64> = ids.iter().map(|id| (id - origin) as i64).collect();
                Tensor::from_data(TensorData::new(ids, [rows, seq]), (device, dtype.into()))
            }
            Self::Device(ids) => {
                let ids = ids_on(ids, device).cast(dtype);
                ids.sub_scalar(origin as i64)
            }
        }
    }
}

/// The positions of a lookup as real numbers on the host, row by row.
fn times(lookup: &Lookup) -> Vec<f64> {
    match &lookup.rows {
        Rows::Run(start) => (*start..start + lookup.seq).map(|id| id as f64).collect(),
        Rows::Ids(ids) => ids.iter().map(|id| *id as f64).collect(),
        Rows::Times(times) => times.to_vec(),
        Rows::Device(ids) => ids.read().into_iter().map(|id| id as f64).collect(),
        Rows::Coordinates { .. } => unreachable!("coordinates have no place on a line"),
    }
}

/// The positions of a lookup as real numbers on the host, row by row.
///
/// # Errors
///
/// [`PositionError::Grid`] for coordinates.
pub(super) fn on_a_line(lookup: &Lookup) -> Result<Vec<f64>, PositionError> {
    match space(lookup) {
        None => Ok(times(lookup)),
        Some(_) => Err(Distances::not_on_a_line()),
    }
}

/// The coordinates of a lookup and the number of axes; `None` for positions on a line.
fn space<'a>(lookup: &Lookup<'a>) -> Option<(&'a [f64], usize)> {
    match lookup.rows {
        Rows::Coordinates { values, axes } => Some((values, axes)),
        _ => None,
    }
}

/// An integer type for distances up to `span`.
fn type_for(span: usize, device: &Device) -> Result<IntDType, PositionError> {
    match counting_type(device) {
        IntDType::I32 if span <= i32::MAX as usize => Ok(IntDType::I32),
        _ if device.supports_dtype(IntDType::I64) => Ok(IntDType::I64),
        _ => {
            let bound = format!("at most {}, the largest integer of the device", i32::MAX);
            Err(PositionError::number(
                "the distance of positions",
                span,
                bound,
            ))
        }
    }
}

/// The differences of real-valued positions, rounded once: `[rows, queries, keys]`.
fn times_apart(queries: &Lookup, keys: &Lookup, device: &Device) -> Tensor<3> {
    let (q, k) = (times(queries), times(keys));
    pairs(
        (&q, &k, 1),
        (queries.seq, keys.seq),
        device,
        |query, key| key[0] - query[0],
    )
}

/// The Euclidean distances of coordinates, rounded once: `[rows, queries, keys]`.
fn places_apart(
    (queries, axes): (&[f64], usize),
    (keys, _): (&[f64], usize),
    seq: (usize, usize),
    device: &Device,
) -> Tensor<3> {
    pairs((queries, keys, axes), seq, device, |query, key| {
        let squares = query.iter().zip(key).map(|(q, k)| (k - q) * (k - q));
        libm::sqrt(squares.sum())
    })
}

/// A number for every query and key of a row.
fn pairs(
    (queries, keys, axes): (&[f64], &[f64], usize),
    (q, k): (usize, usize),
    device: &Device,
    number: impl Fn(&[f64], &[f64]) -> f64,
) -> Tensor<3> {
    let rows = (queries.len() / q).max(keys.len() / k) / axes;
    let row = |all: &'_ [f64], row: usize, seq: usize| row * seq * axes % all.len();
    let mut distances = Vec::with_capacity(rows * q * k);
    for i in 0..rows {
        let keys = &keys[row(keys, i, k)..][..k * axes];
        for query in queries[row(queries, i, q)..][..q * axes].chunks_exact(axes) {
            distances.extend(keys.chunks_exact(axes).map(|key| number(query, key) as f32));
        }
    }
    Tensor::from_data(
        TensorData::new(distances, [rows, q, k]),
        (device, DType::F32),
    )
}

#[cfg(test)]
mod tests;
