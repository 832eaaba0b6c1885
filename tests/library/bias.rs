//! Biases on attention scores, on every backend in the build.

use burn::module::Param;
use burn::tensor::{Device, FloatDType, Int, Tensor};
use pe_burn::{
    AlibiConfig, AlibiShape, Bias, Embed, FireConfig, KerpleConfig, KerpleShape, Positional,
    PositionalConfig, PositionalScheme, Positions, ScoreBias, T5RelativeBiasConfig, Tokens,
};
use pe_tests::devices;

use crate::{
    assert_says, assert_within, distance, random, refusal, refused, scheme, types, values,
};

const BIASED: [&str; 4] = ["alibi", "t5", "kerple", "fire"];

fn bias(scheme: &PositionalScheme, queries: Tokens, keys: Tokens) -> Tensor<4> {
    scheme.bias(queries, keys).unwrap()
}

/// So that it can be added to the product of queries and keys, also in half precision.
#[test]
fn with_queries_a_bias_is_in_their_type_and_for_their_heads_and_batch() {
    for device in devices() {
        for name in BIASED {
            let scheme = scheme(name, [16, 4, 30], &device);
            let scheme = scheme.as_bias().unwrap();
            let at = Positions::default();
            for dtype in types(&device) {
                let q = random([2, 4, 5, 4], &device).cast(dtype);
                let added = scheme.score_bias((&q, &at), (&q, &at));
                assert_eq!(added.dtype(), dtype.into(), "{device:?} {name}");
                let scores = q.clone().matmul(q.transpose()) + added;
                assert_eq!(scores.dims(), [2, 4, 5, 5]);
            }
            refused! {
                |shapes| {
                    let [q, k] = shapes.map(|shape| random(shape, &device));
                    scheme.try_score_bias((&q, &at), (&k, &at))
                };
                [[2, 3, 5, 4], [2, 3, 5, 4]] =>
                    "the heads of the queries must be 4, those of the biases; got 3",
                [[2, 4, 5, 4], [3, 4, 5, 4]] => "… rows of keys …",
            }
        }
    }
}

/// Consecutive positions, ids and positions on a device are computed in different ways, with one result.
#[test]
fn every_kind_of_positions_means_the_same() {
    for device in devices() {
        for name in BIASED {
            let scheme = scheme(name, [16, 4, 30], &device);
            let whole = bias(
                &scheme,
                (&Positions::default(), 9),
                (&Positions::default(), 9),
            );
            assert_eq!(whole.dims(), [1, 4, 9, 9]);
            let part = |q: std::ops::Range<usize>, k: std::ops::Range<usize>| {
                whole.clone().slice([0..1, 0..4, q, k])
            };
            let segments = Tensor::<2, Int>::from_ints([[1, 1, 1, 1]], &device);
            let ids = |from: usize, to: usize| {
                Positions::from_id_rows(&[(from..to).collect::<Vec<_>>()]).unwrap()
            };
            for (queries, keys, expected) in [
                (
                    (Positions::from(8), 1),
                    (Positions::default(), 9),
                    part(8..9, 0..9),
                ),
                (
                    (Positions::from(3), 4),
                    (Positions::from(2), 6),
                    part(3..7, 2..8),
                ),
                ((ids(3, 7), 4), (ids(2, 8), 6), part(3..7, 2..8)),
                ((ids(3, 7), 4), (Positions::default(), 9), part(3..7, 0..9)),
                (
                    (Positions::from_segment_ids(segments.clone()), 4),
                    (ids(0, 9), 9),
                    part(0..4, 0..9),
                ),
            ] {
                let got = bias(&scheme, (&queries.0, queries.1), (&keys.0, keys.1));
                let apart = distance(got, expected);
                assert!(apart < 1e-6, "{device:?} {name}: {apart}");
            }
            // A start for each row.
            let starts = Positions::from_starts([0, 5]);
            let rows = bias(&scheme, (&starts, 2), (&Positions::default(), 9));
            let expected = Tensor::cat(vec![part(0..2, 0..9), part(5..7, 0..9)], 0);
            assert!(distance(rows, expected) < 1e-6, "{device:?} {name}");
            // The same at far positions, except for FIRE, which depends on the position of the query.
            if name != "fire" {
                let far = Positions::from(1 << 40);
                let far = bias(&scheme, (&far, 9), (&far, 9));
                assert!(distance(far, whole.clone()) < 1e-6, "{device:?} {name}");
            }
            let nothing = scheme.bias((&Positions::default(), 0), (&Positions::default(), 5));
            assert_eq!(nothing.unwrap().dims(), [1, 4, 0, 5]);
        }
    }
}

/// A scheme of positions alone takes the shapes from queries and keys, and refuses positions of other batches.
#[test]
fn every_bias_is_one_that_is_given_the_content() {
    for device in devices() {
        let schemes: [Box<dyn Bias>; 2] = [
            Box::new(AlibiConfig::new(4).init(&device)),
            Box::new(T5RelativeBiasConfig::new(4).init(&device)),
        ];
        for scheme in &schemes {
            let (q, k) = (
                Tensor::ones([2, 4, 3, 8], &device),
                Tensor::ones([2, 4, 7, 8], &device),
            );
            let (queries, keys) = (Positions::from_starts([4, 2]), Positions::default());
            let bias = scheme.score_bias((&q, &queries), (&k, &keys));
            assert_eq!(values(bias), values(scheme.bias((&queries, 3), (&keys, 7))));
            let three = Positions::from_starts([1, 2, 3]);
            let refused = scheme.try_score_bias((&q, &three), (&k, &keys));
            assert_says(
                &refusal(refused),
                "there are 3 starts for a batch of 2 rows",
            );
        }
    }
}

#[test]
fn alibi_by_hand() {
    for device in devices() {
        let positions = Positions::default();
        let bias = |shape| {
            let alibi = AlibiConfig::new(8).with_shape(shape).init(&device);
            values(alibi.bias((&positions, 3), (&positions, 3)).narrow(1, 0, 1))
        };
        let symmetric = [0., -0.5, -1., -0.5, 0., -0.5, -1., -0.5, 0.];
        assert_eq!(bias(AlibiShape::Symmetric), symmetric);
        let half_step = [0., -0.75, -1.25, -0.5, 0., -0.75, -1., -0.5, 0.];
        assert_eq!(bias(AlibiShape::HalfStep), half_step);
    }
}

/// Every parameter gets a finite gradient, with a distance of 0 among the pairs.
#[test]
fn gradients_reach_every_parameter() {
    for device in devices() {
        let device = device.autodiff();
        let positions = Positions::default();
        let ids = Positions::from_id_rows(&[[0, 4, 4, 2]]).unwrap();
        for positions in [&positions, &ids] {
            let span = (positions, 4);
            let weights =
                Tensor::<4>::random([1, 4, 4, 4], burn::tensor::Distribution::Default, &device);
            let run = |bias: Tensor<4>| (bias * weights.clone()).sum().backward();
            let check = |gradient: Option<Vec<f32>>, what: &str| {
                let gradient = gradient.unwrap_or_default();
                assert!(
                    gradient.iter().all(|g| g.is_finite()),
                    "{what}: {gradient:?}"
                );
                assert!(gradient.iter().any(|g| *g != 0.0), "{what}: {gradient:?}");
            };
            let t5 = T5RelativeBiasConfig::new(4).init(&device);
            let of = run(t5.bias(span, span));
            check(t5.weight.val().grad(&of).map(values), "t5");
            for shape in [KerpleShape::Logarithmic, KerpleShape::Power] {
                let kerple = KerpleConfig::new(4).with_shape(shape).init(&device);
                let of = run(kerple.bias(span, span));
                check(kerple.r1.val().grad(&of).map(values), "r1");
                check(kerple.r2.val().grad(&of).map(values), "r2");
            }
            // Positions past the threshold, and before it.
            let fire = FireConfig::new(4).with_threshold(1.5).init(&device);
            let of = run(fire.bias(span, span));
            check(fire.c.val().grad(&of).map(values), "c");
            check(fire.threshold.val().grad(&of).map(values), "threshold");
            check(fire.inner.weight.val().grad(&of).map(values), "inner");
            check(fire.outer.weight.val().grad(&of).map(values), "outer");
        }
    }
}

#[test]
fn bad_input_is_refused_with_its_value_and_bound() {
    let device = Device::flex();
    let by_name = PositionalConfig::by_name("rotary", 64, 3, 10);
    let words = "d_model must be a multiple of the number of heads, 3; got 64";
    assert_says(&refusal(by_name), words);
    for name in BIASED {
        let scheme = scheme(name, [16, 4, 30], &device);
        let ids = Positions::from_id_rows(&[[1, 2, 3]]).unwrap();
        let words = "the tensor of position ids has shape [1, 3], but the input needs [1, 2]";
        assert_says(&refusal(scheme.try_bias((&ids, 2), (&ids, 3))), words);
        let (two, three) = (
            Positions::from_starts([1, 2]),
            Positions::from_starts([1, 2, 3]),
        );
        assert!(scheme.try_bias((&two, 2), (&three, 2)).is_err());
    }
}

/// Distances that f16 cannot hold do not make the bias of a half-precision model wrong.
#[test]
fn half_precision_keeps_distances() {
    let f16 = FloatDType::F16;
    for device in devices() {
        if !device.supports_dtype(f16) {
            continue;
        }
        let mut kerple = KerpleConfig::new(1)
            .with_shape(KerpleShape::Power)
            .init(&device);
        let short =
            |value: f32| Param::from_tensor(Tensor::from_floats([value], &device).cast(f16));
        (kerple.r1, kerple.r2) = (short(0.01), short(2.0));
        let far = Positions::from_id_rows(&[[0, 300, 2_000]]).unwrap();
        let bias = kerple.bias((&Positions::default(), 1), (&far, 3));
        assert_eq!(bias.dtype(), burn::tensor::DType::F16);
        for (got, expected) in values(bias).iter().zip([0.0, -900.0, -40_000.0]) {
            assert!(
                (got - expected).abs() <= expected.abs() * 2e-3,
                "{got} {expected}"
            );
        }
    }
}

#[test]
fn randomized_positions_of_an_empty_batch_fit_an_empty_batch() {
    use rand_chacha::{ChaCha8Rng, rand_core::SeedableRng};
    let mut rng = ChaCha8Rng::seed_from_u64(1);
    let positions = pe_burn::RandomizedPositions::new(2_048)
        .unwrap()
        .draw(&[], 4, &mut rng)
        .unwrap();
    let device = Device::flex();
    let none = PositionalConfig::None {}.init(&device);
    let x = Tensor::<3>::zeros([0, 4, 8], &device);
    assert_eq!(none.embed(x, &positions).dims(), [0, 4, 8]);
}

/// The positions are counted on the device of the mask.
#[test]
fn fire_with_a_mask_on_another_device() {
    let devices = devices();
    let at = |device: &Device| {
        let mask = Tensor::from_data([[false, true, true], [true, true, false]], device);
        Positions::from_token_mask(mask)
    };
    for here in &devices {
        let fire = FireConfig::new(2).init(here);
        let bias = |at: Positions| values(fire.bias((&at, 3), (&at, 3)));
        for there in &devices {
            assert_eq!(bias(at(there)), bias(at(here)), "{there:?} to {here:?}");
        }
    }
}

/// The gradient of a value by distance is the sum over the pairs that have the distance.
#[test]
fn gradients_of_distances_are_those_of_flex() {
    let flex = Device::flex();
    for device in devices() {
        for (queries, keys) in [(1, 1), (3, 7), (7, 3), (40, 41)] {
            let t5 = T5RelativeBiasConfig::new(3).init(&flex);
            let random = burn::tensor::Distribution::Default;
            let slopes = Tensor::<4>::random([1, 3, queries, keys], random, &flex).to_data();
            let run = |device: &Device| {
                let device = device.clone().autodiff();
                let table = Tensor::<2>::from_data(t5.weight.val().to_data(), &device);
                let mut here = T5RelativeBiasConfig::new(3).init(&device);
                here.weight = Param::from_tensor(table);
                let at = (Positions::from(20), Positions::from(5));
                let bias = here.bias((&at.0, queries), (&at.1, keys));
                let slopes = Tensor::<4>::from_data(slopes.clone(), &device);
                // Burn starts from a one for every element.
                let gradients = (bias.clone() * slopes).backward();
                let gradient = here.weight.val().grad(&gradients).unwrap();
                (values(bias), values(gradient))
            };
            let (here, there) = (run(&device), run(&flex));
            assert_eq!(here.0, there.0, "{device:?} {queries} × {keys}");
            let about = format!("{device:?} {queries} × {keys}");
            assert_within(&here.1, &there.1, 1e-3, &about);
        }
    }
}
