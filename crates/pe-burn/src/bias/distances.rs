//! How far each key is from each query.

use alloc::vec::Vec;

use burn::tensor::{DType, Device, FloatDType, Int, IntDType, Tensor, TensorData};

use crate::error::PositionError;
use crate::index::{counting_type, ids_on};
use crate::memory::check_room;
use crate::positions::{MANY, Place, Positions};

/// The positions of so many tokens.
pub(crate) type Span<'a> = (&'a Positions, usize);

/// `key − query` for every pair.
pub(super) enum Distances {
    /// Queries and keys are runs of positions, so that every pair `(i, j)` has the distance
    /// `first + (queries − 1 − i) + j`: all there are, in a strip.
    Strip {
        first: f64,
        queries: usize,
        keys: usize,
    },
    /// Whole distances, `[rows, queries, keys]`.
    Whole(Tensor<3, Int>),
    /// Any distances, `[rows, queries, keys]`.
    Times(Tensor<3>),
}

impl Distances {
    /// A bias by distance, after the positions were checked; where there is no query or no key, an
    /// empty one of this type.
    pub fn bias(
        queries: Span,
        keys: Span,
        heads: usize,
        (device, dtype): (&Device, DType),
        of: impl FnOnce(Self) -> Result<Tensor<4>, PositionError>,
    ) -> Result<Tensor<4>, PositionError> {
        queries.0.check(None, queries.1)?;
        keys.0.check(None, keys.1)?;
        let rows = match (queries.0.rows(), keys.0.rows()) {
            (1, rows) | (rows, 1) => rows,
            (queries, keys) if queries == keys => keys,
            (queries, keys) => return Err(PositionError::Rows { queries, keys }),
        };
        let shape = [rows, heads, queries.1, keys.1];
        if shape.contains(&0) {
            return Ok(Tensor::zeros(shape, (device, dtype)));
        }
        let lines = rows.saturating_mul(heads).saturating_mul(queries.1);
        if lines.saturating_mul(keys.1) > MANY {
            check_room::<f32>(lines, keys.1)?;
        }
        of(Self::new(queries, keys, device)?)
    }

    /// The distances between at least one query and one key at checked positions.
    fn new(queries: Span, keys: Span, device: &Device) -> Result<Self, PositionError> {
        let device = device.clone().without_autodiff();
        let places = (queries.0.place(queries.1), keys.0.place(keys.1));
        if let (Place::Run(query), Place::Run(key)) = places {
            return Ok(Self::Strip {
                first: key as f64 - query as f64 - (queries.1 - 1) as f64,
                queries: queries.1,
                keys: keys.1,
            });
        }
        let (query_places, key_places) = places;
        let q = Line::of(query_places, queries.1);
        let k = Line::of(key_places, keys.1);
        Ok(match (q, k) {
            (Line::Whole(q), Line::Whole(k)) => {
                let origin = q.lowest().min(k.lowest());
                let span = q.highest(queries.1).max(k.highest(keys.1)) - origin;
                let dtype = type_for(span, &device)?;
                let [q, k] = [(q, queries.1), (k, keys.1)]
                    .map(|(ids, seq)| ids.tensor(origin, seq, dtype, &device));
                Self::Whole(k.unsqueeze_dim::<3>(1) - q.unsqueeze_dim::<3>(2))
            }
            (q, k) => Self::Times(times_apart(
                (&q.times(), queries.1),
                (&k.times(), keys.1),
                &device,
            )),
        })
    }

    /// As real numbers, in `f32` whatever the parameters are in: shorter types would lose far ones.
    ///
    /// # Shapes
    ///
    /// - output: `[rows, 1, queries, keys]`, or for a strip `[1, 1, 1, queries + keys − 1]`, which
    ///   [`spread`](Self::spread) makes whole
    pub fn numbers(&self, device: &Device) -> Tensor<4> {
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
            Self::Times(distances) => distances.clone().unsqueeze_dim(1),
        }
    }

    /// Values of the distances, as every pair has them.
    ///
    /// # Shapes
    ///
    /// - `values`: `[rows, heads, queries, keys]`, or `[1, heads, 1, queries + keys − 1]`
    /// - output: `[rows, heads, queries, keys]`
    pub fn spread(&self, values: Tensor<4>) -> Tensor<4> {
        let Self::Strip { queries, keys, .. } = *self else {
            return values;
        };
        if queries == 1 {
            return values;
        }
        #[cfg(feature = "flex")]
        if crate::flex::runs(&values) {
            return crate::flex::windows(values, queries, keys);
        }
        if !values.device().is_autodiff() {
            // A window on the strip for each query, the last query first.
            let windows: Tensor<5> = values.unfold(3, keys, 1);
            return windows.squeeze_dim::<4>(2).flip([2]);
        }
        // Burn's derivative of that takes a step for each query. So: the strip once for each query,
        // one after the other, read from `queries − 1` on in rows that are one shorter: each row then
        // starts one number earlier in its strip.
        let [_, heads, _, strip] = values.dims();
        let end = queries * strip - 1;
        values
            .repeat_dim(2, queries)
            .reshape([1, heads, queries * strip])
            .slice([0..1, 0..heads, queries - 1..end])
            .reshape([1, heads, queries, strip - 1])
            .slice([0..1, 0..heads, 0..queries, 0..keys])
    }
}

/// The positions of one side.
enum Line<'a> {
    Whole(Ids<'a>),
    Times(&'a [f64]),
}

/// Whole positions, row by row.
enum Ids<'a> {
    Host(alloc::borrow::Cow<'a, [usize]>),
    Device(&'a Tensor<2, Int>),
}

impl<'a> Line<'a> {
    fn of(place: Place<'a>, seq: usize) -> Self {
        match place {
            Place::Run(start) => {
                let ids: Vec<usize> = (start..start + seq).collect();
                Self::Whole(Ids::Host(ids.into()))
            }
            Place::Host(ids) => Self::Whole(Ids::Host(ids)),
            Place::Device(ids, _) => Self::Whole(Ids::Device(ids)),
            Place::Times(times) => Self::Times(times),
        }
    }

    /// As times on the host.
    fn times(self) -> Vec<f64> {
        match self {
            Self::Times(times) => times.to_vec(),
            Self::Whole(Ids::Host(ids)) => ids.iter().map(|id| *id as f64).collect(),
            Self::Whole(Ids::Device(ids)) => ids.to_data().iter::<f64>().collect(),
        }
    }
}

impl Ids<'_> {
    fn lowest(&self) -> usize {
        match self {
            Self::Host(ids) => ids.iter().min().copied().unwrap_or(0),
            Self::Device(_) => 0,
        }
    }

    /// A bound on the positions of `seq` tokens.
    fn highest(&self, seq: usize) -> usize {
        match self {
            Self::Host(ids) => ids.iter().max().copied().unwrap_or(0),
            Self::Device(_) => seq,
        }
    }

    /// The positions from `origin`, `[rows, seq]`.
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

/// Positions as real numbers, `[rows, seq]`.
pub(super) fn places((positions, seq): Span, device: &Device) -> Tensor<2> {
    let device = device.clone().without_autodiff();
    let line = Line::of(positions.place(seq), seq);
    if let Line::Whole(Ids::Device(ids)) = line {
        return ids_on(ids, &device).cast(FloatDType::F32);
    }
    let places: Vec<f32> = line.times().iter().map(|place| *place as f32).collect();
    let rows = places.len() / seq;
    Tensor::from_data(TensorData::new(places, [rows, seq]), (&device, DType::F32))
}

/// An integer type for distances up to `span`.
fn type_for(span: usize, device: &Device) -> Result<IntDType, PositionError> {
    match counting_type(device) {
        IntDType::I32 if span <= i32::MAX as usize => Ok(IntDType::I32),
        _ if device.supports_dtype(IntDType::I64) => Ok(IntDType::I64),
        _ => Err(PositionError::Span {
            span,
            max: i32::MAX as usize,
        }),
    }
}

/// The differences of times, rounded once: `[rows, queries, keys]`.
fn times_apart(
    (queries, q): (&[f64], usize),
    (keys, k): (&[f64], usize),
    device: &Device,
) -> Tensor<3> {
    let rows = (queries.len() / q).max(keys.len() / k);
    let mut distances = Vec::with_capacity(rows * q * k);
    for row in 0..rows {
        let keys = &keys[row * k % keys.len()..][..k];
        for query in &queries[row * q % queries.len()..][..q] {
            distances.extend(keys.iter().map(|key| (key - query) as f32));
        }
    }
    Tensor::from_data(
        TensorData::new(distances, [rows, q, k]),
        (device, DType::F32),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;
    use alloc::vec::Vec;

    use burn::tensor::Bool;

    fn values(distances: Distances, device: &Device) -> (Vec<f32>, [usize; 4]) {
        let whole = distances.spread(distances.numbers(device));
        let dims = whole.dims();
        (whole.into_data().iter().collect(), dims)
    }

    /// A strip, integers and times say the same, at the sizes where a strip is cut differently.
    #[test]
    fn every_way_gives_the_same_distances() {
        let device = Device::flex();
        for (q, k, query, key) in [
            (1, 1, 0, 0),
            (1, 5, 4, 0),
            (5, 1, 0, 3),
            (2, 2, 7, 7),
            (3, 8, 5, 0),
            (8, 3, 0, 9),
            (4, 4, (1 << 40) + 1, 1 << 40),
        ] {
            let expected: Vec<f32> = (0..q)
                .flat_map(|i| (0..k).map(move |j| ((key + j) as f64 - (query + i) as f64) as f32))
                .collect();
            let runs = (Positions::from(query), Positions::from(key));
            let ids = |start: usize, len: usize| {
                let row: Vec<usize> = (start..start + len).collect();
                Positions::from_id_rows(&[row])
            };
            let times = |start: usize, len: usize| {
                let row: Vec<f64> = (start..start + len).map(|place| place as f64).collect();
                Positions::from_time_rows(&[row])
            };
            for (queries, keys) in [
                (runs.0.clone(), runs.1.clone()),
                (ids(query, q), ids(key, k)),
                (ids(query, q), runs.1.clone()),
                (times(query, q), times(key, k)),
                (runs.0, times(key, k)),
            ] {
                let distances = Distances::new((&queries, q), (&keys, k), &device).unwrap();
                let expected = (expected.clone(), [1, 1, q, k]);
                assert_eq!(values(distances, &device), expected);
            }
        }
    }

    #[test]
    fn rows_and_devices_mix() {
        let device = Device::flex();
        // Two rows on the device, of which the second is padded at the left, against one for all.
        let real = Tensor::<2, Bool>::from_data([[true, true], [false, true]], &device);
        let counted = Positions::from_token_mask(real);
        let keys = Positions::from(2);
        let distances = Distances::new((&counted, 2), (&keys, 2), &device).unwrap();
        let expected = vec![2., 3., 1., 2., 2., 3., 2., 3.];
        assert_eq!(values(distances, &device), (expected, [2, 1, 2, 2]));

        let times = Positions::from_time_rows(&[[-0.5], [0.25]]);
        let distances = Distances::new((&times, 1), (&counted, 2), &device).unwrap();
        let expected = vec![0.5, 1.5, -0.25, -0.25];
        assert_eq!(values(distances, &device), (expected, [2, 1, 1, 2]));
    }

    #[test]
    fn batches_of_different_sizes_are_refused_and_nothing_is_nothing() {
        let device = Device::flex();
        let (two, three) = (
            Positions::from_starts([1, 2]),
            Positions::from_starts([1, 2, 3]),
        );
        let none = |_: Distances| unreachable!("no pair");
        let error =
            Distances::bias((&two, 1), (&three, 1), 4, (&device, DType::F32), none).unwrap_err();
        assert_eq!(
            alloc::string::ToString::to_string(&error),
            "the queries have positions for 2 rows and the keys for 3"
        );
        let empty = Distances::bias((&two, 0), (&two, 3), 4, (&device, DType::F16), none).unwrap();
        assert_eq!(empty.dims(), [2, 4, 0, 3]);
    }
}
