//! What distances are, and what is refused.

use super::*;

use alloc::vec;
use alloc::vec::Vec;

use burn::tensor::{Bool, Distribution};

use crate::Positions;
use crate::content::{DebertaConfig, InklingConfig};
use crate::testing;
use crate::{HiddenBias, ScoreBias};

fn values(distances: Distances, device: &Device) -> (Vec<f32>, [usize; 4]) {
    let whole = distances.spread(distances.real(device));
    let dims = whole.dims();
    (whole.into_data().iter().collect(), dims)
}

fn of(queries: Tokens, keys: Tokens, device: &Device) -> Distances {
    let queries = queries.0.lookup(None, queries.1).unwrap();
    let keys = keys.0.lookup(None, keys.1).unwrap();
    Distances::new(&queries, &keys, device).unwrap()
}

/// A run of positions as ids.
fn ids(start: usize, len: usize) -> Positions {
    let row: Vec<usize> = (start..start + len).collect();
    Positions::from_id_rows(&[row]).unwrap()
}

/// A strip, integers and times agree, for one and several queries and keys.
#[test]
fn runs_ids_and_times_give_the_same_distances() {
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
        let times = |start: usize, len: usize| {
            let row: Vec<f64> = (start..start + len).map(|place| place as f64).collect();
            Positions::from_time_rows(&[row]).unwrap()
        };
        for (queries, keys) in [
            (runs.0.clone(), runs.1.clone()),
            (ids(query, q), ids(key, k)),
            (ids(query, q), runs.1.clone()),
            (times(query, q), times(key, k)),
            (runs.0, times(key, k)),
        ] {
            let distances = of((&queries, q), (&keys, k), &device);
            let expected = (expected.clone(), [1, 1, q, k]);
            assert_eq!(values(distances, &device), expected);
        }
    }
}

/// For consecutive positions only the columns of distances that occur are computed, for ids all of them.
#[test]
fn tables_are_read_alike_in_part_and_whole() {
    let device = Device::flex();
    let deberta = |buckets, max_distance| {
        let config = DebertaConfig::new(6, 2).with_buckets(buckets);
        config.with_max_distance(max_distance).init(&device)
    };
    let deberta = [deberta(None, 3), deberta(Some(4), 140)];
    let inkling = [1, 2, 5].map(|extent| {
        let config = InklingConfig::new(6, 2, 1).with_extent(extent);
        config.init(&device)
    });
    // Equal up to the last bits, since products of other sizes are summed in another order.
    let alike = |part: &[f32], whole: &[f32]| {
        assert_eq!(part.len(), whole.len());
        let mut pairs = part.iter().zip(whole);
        assert!(
            pairs.all(|(part, whole)| (part - whole).abs() < 1e-6),
            "{part:?}\n{whole:?}"
        );
    };
    for (q, k, query, key) in [
        (1, 1, 0, 0),
        (4, 4, 0, 0),
        (1, 9, 8, 0),
        (9, 2, 3, 9),
        (2, 3, 9, 0),
        (2, 3, 0, 9),
        (3, 2, 1 << 40, 0),
        (3, 2, 0, 1 << 40),
        (3, 200, 150, 0),
    ] {
        let random = |seq| Tensor::<4>::random([1, 2, seq, 3], Distribution::Default, &device);
        let (queries, keys) = (random(q), random(k));
        let x = Tensor::<3>::random([1, q, 6], Distribution::Default, &device);
        let runs = (Positions::from(query), Positions::from(key));
        let whole = (ids(query, q), ids(key, k));
        let distances = of((&whole.0, q), (&whole.1, k), &device);
        assert!(matches!(distances, Distances::Whole(_)));
        let both = [runs, whole];
        for deberta in &deberta {
            let [part, whole] = both.each_ref().map(|(query, key)| {
                testing::values(deberta.score_bias((&queries, query), (&keys, key)))
            });
            alike(&part, &whole);
        }
        for inkling in &inkling {
            let [part, whole] = both
                .each_ref()
                .map(|(query, key)| testing::values(inkling.hidden_bias(0, (&x, query), (key, k))));
            alike(&part, &whole);
        }
    }
}

#[test]
fn positions_on_a_device_and_on_the_host_mix() {
    let device = Device::flex();
    // Two rows on the device, the second with left padding, against one row for all.
    let real = Tensor::<2, Bool>::from_data([[true, true], [false, true]], &device);
    let counted = Positions::from_token_mask(real);
    let keys = Positions::from(2);
    let distances = of((&counted, 2), (&keys, 2), &device);
    let expected = vec![2., 3., 1., 2., 2., 3., 2., 3.];
    assert_eq!(values(distances, &device), (expected, [2, 1, 2, 2]));

    let times = Positions::from_time_rows(&[[-0.5], [0.25]]).unwrap();
    let distances = of((&times, 1), (&counted, 2), &device);
    let expected = vec![0.5, 1.5, -0.25, -0.25];
    assert_eq!(values(distances, &device), (expected, [2, 1, 1, 2]));
}

#[test]
fn different_batch_sizes_are_refused_and_empty_input_gives_an_empty_bias() {
    let device = Device::flex();
    let (two, three) = (
        Positions::from_starts([1, 2]),
        Positions::from_starts([1, 2, 3]),
    );
    let none = |_: &Distances| unreachable!("no pair");
    let error =
        Distances::bias((&two, 1), (&three, 1), 4, (&device, DType::F32), none).unwrap_err();
    assert_eq!(
        alloc::string::ToString::to_string(&error),
        "there are 3 rows of key positions for a batch of 2 rows"
    );
    let empty = Distances::bias((&two, 0), (&two, 3), 4, (&device, DType::F16), none).unwrap();
    assert_eq!(empty.dims(), [2, 4, 0, 3]);
}
