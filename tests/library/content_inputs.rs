//! Schemes that look at queries and keys: what they take and refuse, types, layouts and quantized parameters.

use burn::module::Param;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use pe_burn::content::{ShawConfig, TransformerXl, TransformerXlConfig};
use pe_burn::{Layout, PositionalScheme, Positions, ScoreBias, convert_layout};
use pe_tests::devices;

use crate::{assert_says, distance, halves, quantized, random, refusal, refused, scheme, values};

const CONTENT: [&str; 5] = ["shaw", "transformer_xl", "deberta", "tupe", "cope"];

/// Every scheme that looks at queries and keys, for heads of width 4.
fn schemes(device: &Device) -> [PositionalScheme; 5] {
    CONTENT.map(|name| scheme(name, [8, 2, 64], device))
}

/// Sinusoids have values between whole distances, and an order is known of all numbers. A table has no rows
/// for them.
#[test]
fn times_are_taken_where_there_is_no_table_of_distances() {
    for device in devices() {
        let (q, k) = (random([2, 2, 5, 4], &device), random([2, 2, 5, 4], &device));
        let whole =
            Positions::from_times(Tensor::from_floats([[0.0, 1.0, 2.0, 3.0, 4.0]], &device));
        let (whole, between) = (
            whole.unwrap(),
            Positions::from_time_rows(&[[-0.5, 0.25, 2.0, 2.5, 9.0]]).unwrap(),
        );
        for scheme in schemes(&device) {
            let at =
                |positions: &Positions| scheme.try_score_bias((&q, positions), (&k, positions));
            match &scheme {
                PositionalScheme::Shaw(_) | PositionalScheme::Deberta(_) => {
                    let end = "… table of distances has one entry for each whole position, so it cannot take times";
                    assert_says(&refusal(at(&between)), end);
                }
                PositionalScheme::Tupe(_) => {
                    assert_says(&refusal(at(&between)), "a learned table has one entry …");
                }
                _ => {
                    let counted = at(&Positions::default()).unwrap().unwrap();
                    let apart = distance(counted.clone(), at(&whole).unwrap().unwrap());
                    assert!(apart < 2e-6, "{device:?} {scheme}: {apart}");
                    let moved = distance(counted, at(&between).unwrap().unwrap());
                    // CoPE takes nothing but the order.
                    assert_eq!(
                        moved > 1e-3,
                        matches!(scheme, PositionalScheme::TransformerXl(_)),
                        "{moved}"
                    );
                }
            }
        }
        let shaw = ShawConfig::new(4).with_values(true).init(&device);
        assert!(
            shaw.values(q.clone().matmul(k.transpose()), &whole, &whole)
                .is_err()
        );
    }
}

#[test]
fn no_query_or_no_key_gives_an_empty_result() {
    for device in devices() {
        for scheme in schemes(&device) {
            for [batch, queries, keys] in [[2, 0, 3], [2, 3, 0], [0, 2, 3], [0, 0, 0]] {
                let (q, k) = (
                    Tensor::zeros([batch, 2, queries, 4], &device),
                    Tensor::zeros([batch, 2, keys, 4], &device),
                );
                let at = Positions::from(7);
                let bias = scheme.score_bias((&q, &at), (&k, &at)).unwrap();
                assert_eq!(bias.dims(), [batch, 2, queries, keys], "{scheme}");
            }
        }
        let shaw = ShawConfig::new(4).with_values(true).init(&device);
        let at = Positions::default();
        for shape in [[2, 3, 0, 5], [0, 3, 2, 5], [2, 3, 2, 0]] {
            let output = shaw
                .values(Tensor::zeros(shape, &device), &at, &at)
                .unwrap();
            assert_eq!(output.dims(), [shape[0], 3, shape[2], 4]);
            assert!(values(output).iter().all(|y| *y == 0.0));
        }
    }
}

#[test]
fn bad_input_is_refused_with_its_value_and_bound() {
    let device = Device::flex();
    let at = Positions::default();
    let zeros = |shape| Tensor::<4>::zeros(shape, &device);
    let good = zeros([2, 2, 3, 4]);
    for scheme in schemes(&device) {
        let heads = match scheme {
            PositionalScheme::Shaw(_) | PositionalScheme::Cope(_) => {
                "the number of heads of the keys must be that of the queries, 2: repeat keys that heads share; got 1"
            }
            _ => "the input has heads 1, but this module was built for heads 2",
        };
        refused! {
            |bad| scheme.try_score_bias((&bad.0, &bad.2), (&bad.1, &bad.2));
            (zeros([2, 2, 3, 5]), good.clone(), at.clone()) =>
                "the input has d_head 5, but this module was built for d_head 4",
            (good.clone(), zeros([2, 2, 3, 3]), at.clone()) =>
                "the input has d_head 3, but this module was built for d_head 4",
            (good.clone(), zeros([1, 2, 3, 4]), at.clone()) =>
                "there are 1 rows of keys for a batch of 2 rows",
            (good.clone(), zeros([2, 1, 3, 4]), at.clone()) => heads,
        }
        refused! {
            |at| scheme.try_score_bias((&good, &at), (&good, &at));
            Positions::from_starts([1, 2, 3]) => "there are 3 starts for a batch of 2 rows",
            Positions::from_id_rows(&[[1, 2]]).unwrap() =>
                "the tensor of position ids has shape [1, 2], but the input needs [2, 3]",
            Positions::from(pe_burn::MAX_POSITION - 1) => "… past the largest position …",
        }
        for other in devices().into_iter().skip(1) {
            let there = Tensor::zeros([2, 2, 3, 4], &other);
            let result = scheme.try_score_bias((&there, &at), (&there, &at));
            assert_says(&refusal(result), "… move one with to_device");
        }
    }
}

/// In f16 and bf16 the products are summed in f32, and rounded once.
#[test]
fn half_precision_in_and_out() {
    for device in devices() {
        for (dtype, unit) in halves(&device) {
            // The same numbers in both types.
            let short = |shape| random(shape, &device).cast(dtype);
            let (q, k) = (short([2, 2, 6, 4]), short([2, 2, 9, 4]));
            let (query, key) = (Positions::from(3), Positions::default());
            for scheme in schemes(&device) {
                let bias = scheme.score_bias((&q, &query), (&k, &key)).unwrap();
                assert_eq!(bias.dtype(), DType::from(dtype), "{scheme}");
                let [wide_q, wide_k] = [&q, &k].map(|x| x.clone().cast(FloatDType::F32));
                let wide = scheme
                    .score_bias((&wide_q, &query), (&wide_k, &key))
                    .unwrap();
                for (short, wide) in values(bias).iter().zip(values(wide)) {
                    let off = (short - wide).abs();
                    assert!(
                        off <= 2.0 * unit * wide.abs() + 1e-6,
                        "{scheme}: {short} {wide}"
                    );
                }
            }
        }
    }
}

/// The layout only says which row of the projection belongs to which sine.
#[test]
fn layouts_of_transformer_xl_are_permutations_of_the_projection() {
    for device in devices() {
        let config = TransformerXlConfig::new(12, 3);
        let halves = config.init(&device);
        let mut interleaved = config.with_layout(Layout::Interleaved).init(&device);
        (interleaved.u, interleaved.v) = (halves.u.clone(), halves.v.clone());
        let columns = halves.projection.weight.val().transpose();
        let columns = convert_layout(columns, Layout::Halves, Layout::Interleaved);
        interleaved.projection.weight = Param::from_tensor(columns.transpose());
        let (q, k) = (random([2, 3, 4, 4], &device), random([2, 3, 7, 4], &device));
        for query in [Positions::from(3), Positions::from_starts([5, 900])] {
            let of = |xl: &TransformerXl| xl.score_bias((&q, &query), (&k, &Positions::default()));
            let apart = distance(of(&halves), of(&interleaved));
            assert!(apart < 2e-6, "{device:?}: {apart}");
        }
    }
}

/// Within the error of quantized values.
#[test]
fn quantized_parameters_give_nearly_the_same() {
    let device = Device::flex();
    let (q, k) = (
        random([2, 2, 5, 32], &device),
        random([2, 2, 5, 32], &device),
    );
    for name in CONTENT {
        let scheme = scheme(name, [64, 2, 64], &device);
        let packed = quantized(&scheme);
        for at in [Positions::from(2), Positions::from_starts([2, 9])] {
            let of = |scheme: &PositionalScheme| scheme.score_bias((&q, &at), (&k, &at)).unwrap();
            let apart = distance(of(&packed), of(&scheme));
            assert!(apart < 0.05, "{name}: {apart}");
        }
    }
}
