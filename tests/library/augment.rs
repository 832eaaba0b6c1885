//! ALiBi as columns of queries and keys, on every backend.

use burn::tensor::module::attention;
use burn::tensor::ops::AttentionModuleOptions;
use burn::tensor::{Bool, Device, FloatDType, Tensor};
use pe_burn::{Alibi, AlibiConfig, Bias, Coordinates, Grid, Positions};
use pe_tests::devices;

use crate::{assert_says, distance, halves, random, refusal, values};

/// The scores of queries and keys, in `f32` on Flex.
pub fn scores(q: Tensor<4>, k: Tensor<4>) -> Tensor<4> {
    let [q, k] = [q, k].map(|x| x.to_device(&Device::flex()).cast(FloatDType::F32));
    let root = (q.dims()[3] as f64).sqrt();
    q.matmul(k.transpose()) / root
}

/// The largest difference of scores where a key is not behind its query.
fn apart(alibi: &Alibi, queries: (Tensor<4>, &Positions), keys: (Tensor<4>, &Positions)) -> f32 {
    let ((q, at_q), (k, at_k)) = (queries, keys);
    let flex = Device::flex();
    let sizes = (q.dims()[2], k.dims()[2]);
    let there = alibi.config().init(&flex);
    let bias = there.bias((at_q, sizes.0), (at_k, sizes.1));
    let expected = scores(q.clone(), k.clone()) + bias;
    let (q, k) = alibi.augment((q, at_q), (k, at_k)).unwrap();
    let found = scores(q, k);
    // The bias of keys to the right is below 0 in one form and above 0 in the other: left out.
    let of = |positions: &Positions, seq: usize| -> Vec<f64> {
        let one = AlibiConfig::new(1).init(&flex);
        let from_zero = one.bias((positions, seq), (&Positions::from(0), 1));
        from_zero.into_data().iter::<f32>().map(f64::from).collect()
    };
    let (at_q, at_k) = (of(at_q, sizes.0), of(at_k, sizes.1));
    let [batch, heads, queries, keys] = expected.dims();
    let (expected, found) = (values(expected), values(found));
    let mut most = 0.0_f32;
    for (i, (expected, found)) in expected.iter().zip(found).enumerate() {
        let (row, query, key) = (i / heads / queries / keys, i / keys % queries, i % keys);
        assert!(row < batch);
        let from = |at: &[f64], place: usize, seq: usize| -at[row * seq % at.len() + place];
        if from(&at_k, key, keys) <= from(&at_q, query, queries) {
            most = most.max((expected - found).abs());
        }
    }
    most
}

#[test]
fn products_have_the_bias() {
    for device in devices() {
        for (heads, kv_heads, d_head) in [(8, 8, 64), (12, 12, 40), (6, 1, 7), (1, 1, 1)] {
            let alibi = AlibiConfig::new(heads).init(&device);
            for (queries, keys, at_q, at_k) in [
                (1, 1, 0, 0),
                (33, 33, 0, 0),
                (1, 101, 100, 0),
                (20, 20, 1_000_000, 1_000_000),
                (300, 300, 5, 5),
            ] {
                let q = random([2, heads, queries, d_head], &device);
                // Every head of queries has a head of keys, or all have one.
                let k = random([2, kv_heads, keys, d_head], &device);
                let at = (Positions::from(at_q), Positions::from(at_k));
                let apart = apart(&alibi, (q, &at.0), (k, &at.1));
                // 2^-21 of slope times length, and the rounding of the products.
                let bound = 0.85 * 301.0 * 2f32.powi(-21) + 1e-5;
                assert!(
                    apart < bound,
                    "{device:?} {heads} {d_head} {queries}: {apart}"
                );
            }
        }
    }
}

#[test]
fn half_precision_keeps_the_bias() {
    for device in devices() {
        for (dtype, unit) in halves(&device) {
            let alibi = AlibiConfig::new(8).init(&device);
            // As far as a number of one column would be off by half a step or more.
            let q = random([1, 8, 50, 64], &device).cast(dtype);
            let k = random([1, 8, 5_000, 64], &device).cast(dtype);
            let (at_q, at_k) = (Positions::from(4_950), Positions::from(0));
            let apart = apart(&alibi, (q, &at_q), (k, &at_k));
            // The queries are rounded once more: their products change by that share of |q||k|/√d_head.
            let products = unit * 20.0;
            let bound = 0.5 * 5_000.0 * 2f32.powi(-20) + products;
            assert!(apart < bound, "{device:?} {dtype:?}: {apart}, {bound}");
        }
    }
}

#[test]
fn every_kind_of_positions_is_taken() {
    for device in devices() {
        let alibi = AlibiConfig::new(4).init(&device);
        let mask = [
            [false, false, true, true, true],
            [true, true, true, true, true],
        ];
        let mask = Tensor::<2, Bool>::from_data(mask, &device);
        for positions in [
            Positions::from_starts([3, 900]),
            Positions::from_id_rows(&[[0, 1, 2, 0, 1], [5, 6, 7, 8, 90]]).unwrap(),
            Positions::from_time_rows(&[[0.0, 0.5, 2.25, 9.0, 9.5], [1.0, 2.0, 3.0, 4.0, 7.5]])
                .unwrap(),
            Positions::from_token_mask(mask),
        ] {
            let (q, k) = (random([2, 4, 5, 8], &device), random([2, 4, 5, 8], &device));
            assert!(
                apart(&alibi, (q, &positions), (k, &positions)) < 1e-4,
                "{device:?}"
            );
        }
    }
}

/// What counts in `f16` is how far positions are apart, on either side of 0.
#[test]
fn positions_before_0_are_as_near_as_after_it() {
    let device = Device::flex();
    let alibi = AlibiConfig::new(4).init(&device);
    let x = random([1, 4, 2, 8], &device).cast(FloatDType::F16);
    let columns = |start: f64| {
        let at = Positions::from_time_rows(&[[start, start + 1.0]]).unwrap();
        let (q, k) = alibi.augment((x.clone(), &at), (x.clone(), &at)).unwrap();
        [q, k].map(values)
    };
    assert_eq!(columns(-2e7), columns(0.0));
    assert_eq!(columns(2e7), columns(0.0));
}

/// As its documentation uses it.
#[test]
fn causal_attention_without_a_bias_has_it() {
    let device = Device::flex();
    let alibi = AlibiConfig::new(4).init(&device);
    let [q, k, v] = [(); 3].map(|()| random([2, 4, 70, 16], &device));
    let positions = Positions::default();
    let causal = AttentionModuleOptions {
        is_causal: true,
        ..Default::default()
    };
    let bias = alibi.bias((&positions, 70), (&positions, 70));
    let expected = attention(q.clone(), k.clone(), v.clone(), None, Some(bias), causal);
    let (q, k) = alibi.augment((q, &positions), (k, &positions)).unwrap();
    let found = attention(q, k, v, None, None, causal);
    assert!(distance(found, expected) < 1e-5);
}

#[test]
fn what_has_no_columns_is_refused() {
    let device = Device::flex();
    let alibi = AlibiConfig::new(4).init(&device);
    let x = |heads, width| Tensor::<4>::zeros([1, heads, 3, width], &device);
    let at = Positions::default();
    let said =
        |q: Tensor<4>, k: Tensor<4>, at_k: &Positions| refusal(alibi.augment((q, &at), (k, at_k)));
    let half = || x(4, 8).cast(FloatDType::F16);
    let far = Positions::from(40_000_000);
    for (error, words) in [
        (said(x(3, 8), x(4, 8), &at), ["3", "4"]),
        (said(x(4, 8), x(4, 9), &at), ["9", "8"]),
        (said(x(4, 8), half(), &at), ["float type", ""]),
        (said(half(), half(), &far), ["40000002", "f16"]),
    ] {
        assert!(words.iter().all(|words| error.contains(words)), "{error}");
    }
    let near = Positions::from(30_000_000);
    assert!(alibi.augment((half(), &at), (half(), &near)).is_ok());
    let coordinates = Positions::from(Coordinates::of_grid(Grid::image(1, 3)).unwrap());
    assert_says(&said(x(4, 8), x(4, 8), &coordinates), "… line …");
    for (queries, keys) in [(0, 3), (3, 0), (0, 0)] {
        let side = |seq| Tensor::<4>::zeros([2, 4, seq, 8], &device);
        let (q, k) = alibi
            .augment((side(queries), &at), (side(keys), &at))
            .unwrap();
        assert_eq!(
            (q.dims(), k.dims()),
            ([2, 4, queries, 16], [2, 4, keys, 16])
        );
    }
}
