//! What other libraries compute, and what the papers' formulas give: `tests/peers/values`, written by
//! `tests/peers/write.py`.

use burn::module::Param;
use burn::tensor::{Device, Tensor};
use pe_burn::scaling::{Llama3, Yarn};
use pe_burn::{
    AlibiConfig, Bias, FireConfig, KerpleConfig, KerpleShape, Layout, Positions, RopeScaling,
    RotaryPositionalEncodingConfig, Rotate, Spectrum, T5RelativeBiasConfig,
    XPosPositionalEncodingConfig,
};
use pe_models::HfConfig;
use pe_tests::devices;
use serde::Deserialize;
use serde_json::{Value, json};

use crate::{assert_close, assert_within, cases, in_both_types, numbers, tensor, values, wide};

/// Rows of equal length as a tensor `[1, 1, rows, width]`.
fn heads(rows: &[Vec<f32>], device: &Device) -> Tensor<4> {
    tensor(&rows.concat(), [1, 1, rows.len(), rows[0].len()], device)
}

fn param<const D: usize>(numbers: &[f32], shape: [usize; D], device: &Device) -> Param<Tensor<D>> {
    Param::from_tensor(tensor(numbers, shape, device))
}

#[derive(Deserialize)]
struct Scaled {
    name: String,
    rotary_dim: usize,
    base: f64,
    seq_len: Option<usize>,
    rope_scaling: Option<RopeScaling>,
    attention_factor: f64,
    inv_freq: Vec<f32>,
}

/// Every scaling of `rope_scaling` in a model's config, as transformers computes it in f32.
///
/// Its power, quotient and reciprocal round by 2^-24 each, and so does the base of a dynamic scaling:
/// 2.5e-7 in all. YaRN and Llama 3 blend a frequency with itself over `factor`: the weight is off by
/// 2^-24 too, of the larger of the two, which is up to `factor` times the sum.
#[test]
fn frequencies_of_transformers() {
    let cases: Vec<Scaled> = cases(include_str!("../peers/values/rope_scaling.json"));
    assert_eq!(cases.len(), 156);
    for case in cases {
        let plain = Spectrum::new(case.rotary_dim, case.base).unwrap();
        let (spectrum, attention) = match &case.rope_scaling {
            Some(scaling) => (
                plain.scaled(scaling, case.seq_len.unwrap_or(1)).unwrap(),
                scaling.attention_factor(),
            ),
            None => (plain, 1.0),
        };
        let about = format!(
            "{}, width {}, base {}, {:?} tokens",
            case.name, case.rotary_dim, case.base, case.seq_len
        );
        let bound = match case.rope_scaling {
            Some(
                RopeScaling::Yarn(Yarn { factor, .. }) | RopeScaling::Llama3(Llama3 { factor, .. }),
            ) => 2.5e-7 + 6e-8 * factor,
            _ => 2.5e-7,
        };
        let frequencies = spectrum.frequencies();
        assert_eq!(frequencies.len(), case.inv_freq.len(), "{about}");
        for (i, (ours, theirs)) in frequencies.iter().zip(case.inv_freq).enumerate() {
            let off = ours / f64::from(theirs) - 1.0;
            assert!(off.abs() <= bound, "{about}: frequency {i} is off by {off}");
        }
        let off = attention / case.attention_factor - 1.0;
        assert!(off.abs() <= 1e-15, "{about}: attention factor {attention}");
    }
}

#[derive(Deserialize)]
struct Buckets {
    buckets: usize,
    max_distance: usize,
    bidirectional: bool,
    first: i64,
    bucket: Vec<usize>,
}

/// The function `bucket`, and the module on runs and on ids, which it computes differently.
#[test]
fn buckets_of_t5() {
    let cases: Vec<Buckets> = cases(include_str!("../peers/values/t5_buckets.json"));
    for case in &cases {
        let config = T5RelativeBiasConfig::new(1)
            .with_buckets(case.buckets)
            .with_max_distance(case.max_distance)
            .with_bidirectional(case.bidirectional);
        for (distance, bucket) in (case.first..).zip(&case.bucket) {
            assert_eq!(config.bucket(distance), *bucket, "distance {distance}");
        }
        let expected: Vec<f32> = case.bucket.iter().map(|bucket| *bucket as f32).collect();
        for device in devices() {
            let mut t5 = config.init(&device);
            // The bias of a bucket is its number.
            let numbers: Vec<f32> = (0..case.buckets).map(|bucket| bucket as f32).collect();
            t5.weight = param(&numbers, [case.buckets, 1], &device);
            let query = case.first.unsigned_abs() as usize;
            let keys = expected.len();
            let ids: Vec<usize> = (0..keys).collect();
            for (query, keys) in [
                (Positions::from(query), Positions::default()),
                (
                    Positions::from_id_rows(&[[query]]).unwrap(),
                    Positions::from_id_rows(&[ids]).unwrap(),
                ),
            ] {
                let bias = t5.bias((&query, 1), (&keys, expected.len()));
                assert_eq!(values(bias), expected, "{device:?}");
            }
        }
    }
}

#[derive(Deserialize)]
struct Slopes {
    heads: usize,
    slopes: Vec<f64>,
}

#[test]
fn slopes_of_alibi() {
    let cases: Vec<Slopes> = cases(include_str!("../peers/values/alibi_slopes.json"));
    for case in cases {
        let ours = AlibiConfig::new(case.heads).slopes();
        assert_eq!(ours.len(), case.heads);
        let about = format!("{} heads", case.heads);
        assert_within(&ours, &case.slopes, 1e-7, &about);
        for device in devices() {
            let alibi = AlibiConfig::new(case.heads).init(&device);
            let bias = alibi.bias((&Positions::from(5), 1), (&Positions::from(2), 1));
            let theirs: Vec<f64> = case.slopes.iter().map(|slope| -3.0 * slope).collect();
            assert_within(&values(bias), &theirs, 3e-7, &format!("{device:?} {about}"));
        }
    }
}

#[derive(Deserialize)]
struct Rotated {
    layout: Layout,
    head_dim: usize,
    rotary_dim: usize,
    base: f64,
    rope_scaling: Option<RopeScaling>,
    positions: Vec<usize>,
    x: Vec<Vec<f32>>,
    rotated: Vec<Vec<f32>>,
}

#[test]
fn vectors_of_transformers() {
    let cases: Vec<Rotated> = cases(include_str!("../peers/values/rotary.json"));
    for case in &cases {
        for device in devices() {
            let mut rope = RotaryPositionalEncodingConfig::new(case.head_dim)
                .with_rotary_dim(case.rotary_dim)
                .with_base(case.base)
                .with_layout(case.layout)
                .with_max_len(64); // the far positions are past the rows that the buffer starts with
            rope.scaling = case.rope_scaling.clone();
            let rope = rope.init(&device);
            let positions = Positions::from_id_rows(&[&case.positions]).unwrap();
            let y = values(rope.rotate_queries(heads(&case.x, &device), &positions));
            let (layout, rotated, of) = (case.layout, case.rotary_dim, case.head_dim);
            let about = format!("{device:?} {layout:?} {rotated} of {of}");
            assert_within(&y, &case.rotated.concat(), 1e-6, &about);
        }
    }
}

#[derive(Deserialize)]
struct Decayed {
    head_dim: usize,
    base: f64,
    scale_base: f64,
    positions: Vec<usize>,
    q: Vec<Vec<f32>>,
    k: Vec<Vec<f32>>,
    scores: Vec<Vec<f64>>,
}

/// Scores, which do not depend on where the decay is centred.
#[test]
fn scores_of_xpos() {
    let cases: Vec<Decayed> = cases(include_str!("../peers/values/xpos.json"));
    for case in &cases {
        for device in devices() {
            let xpos = XPosPositionalEncodingConfig::new(case.head_dim)
                .with_base(case.base)
                .with_scale_base(case.scale_base)
                .with_max_len(64)
                .init(&device);
            let positions = Positions::from_id_rows(&[&case.positions]).unwrap();
            let (q, k) = (heads(&case.q, &device), heads(&case.k, &device));
            let (q, k) = xpos.rotate(q, k, &positions);
            let (q, k) = (values(q), values(k));
            for (q, scores) in q.chunks(case.head_dim).zip(&case.scores) {
                for (k, theirs) in k.chunks(case.head_dim).zip(scores) {
                    let products = q.iter().zip(k).map(|(q, k)| f64::from(*q) * f64::from(*k));
                    let (ours, size) =
                        products.fold((0.0, 0.0), |(sum, size), x| (sum + x, size + f64::abs(x)));
                    let off = (ours - theirs).abs();
                    assert!(off <= 1e-6 * size.max(1.0), "{device:?}: {ours} {theirs}");
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Part {
    config: XPosPositionalEncodingConfig,
    start: usize,
    q: Vec<f64>,
    k: Vec<f64>,
    scores: Vec<f64>,
    /// Of a weighted sum of the scores, for the queries and the keys.
    weights: Vec<f64>,
    gradients: [Vec<f64>; 2],
}

/// xPos on a part of a head, as in Toto 2, whose code counts positions from the middle of the input.
#[test]
fn xpos_of_toto_2() {
    let cases: Vec<Part> = cases(include_str!("../peers/values/toto.json"));
    assert_eq!(cases.len(), 3);
    for (device, dtype, bound) in in_both_types(4e-6) {
        for case in &cases {
            let d_head = case.config.d_head;
            let tokens = case.q.len() / d_head;
            let numbers = |of: &[f64], width: usize| {
                numbers(of, &device, dtype).reshape([1, 1, tokens, width])
            };
            let (q, k) = (numbers(&case.q, d_head), numbers(&case.k, d_head));
            let (q, k) = (q.require_grad(), k.require_grad());
            let xpos = case.config.clone().init(&device);
            let at = Positions::from(case.start);
            let (turned_q, turned_k) = xpos.rotate(q.clone(), k.clone(), &at);
            let scores = turned_q.matmul(turned_k.transpose());
            let of = (scores.clone() * numbers(&case.weights, tokens))
                .sum()
                .backward();
            let [of_q, of_k] = &case.gradients;
            for (ours, theirs) in [
                (scores, &case.scores),
                (q.grad(&of).unwrap(), of_q),
                (k.grad(&of).unwrap(), of_k),
            ] {
                let about = format!("{device:?} {dtype:?}");
                assert_close(&wide(ours), theirs, bound, &about);
            }
        }
    }
}

#[derive(Deserialize)]
struct Kernel {
    shape: KerpleShape,
    r1: Vec<f32>,
    r2: Vec<f32>,
    distances: Vec<usize>,
    bias: Vec<Vec<f64>>,
}

/// A power comes out of an exponential, whose relative error is the absolute one of its argument:
/// at the far end 27 times 2^-24.
#[test]
fn kernels_of_kerple() {
    let device = Device::flex();
    let cases: Vec<Kernel> = cases(include_str!("../peers/values/kerple.json"));
    for case in &cases {
        let heads = case.r1.len();
        let config = KerpleConfig::new(heads).with_shape(case.shape);
        let mut kerple = config.init(&device);
        kerple.r1 = param(&case.r1, [heads], &device);
        kerple.r2 = param(&case.r2, [heads], &device);
        let exponent = |r2: f32, distance: usize| match case.shape {
            KerpleShape::Logarithmic => 0.0,
            KerpleShape::Power => f64::from(r2) * (distance.max(1) as f64).ln(),
        };
        for (i, distance) in case.distances.iter().enumerate() {
            let at = Positions::from(*distance);
            // Behind the query and before it.
            for (query, key) in [(&at, &Positions::default()), (&Positions::default(), &at)] {
                let bias = values(kerple.bias((query, 1), (key, 1)));
                for (head, ours) in bias.iter().enumerate() {
                    let theirs = case.bias[head][i];
                    let off = (f64::from(*ours) - theirs).abs();
                    let bound = 1e-6 * (1.0 + 0.1 * exponent(case.r2[head], *distance));
                    assert!(
                        off <= bound * theirs.abs().max(1.0),
                        "{:?} head {head}, distance {distance}: {ours} {theirs}",
                        case.shape
                    );
                }
            }
        }
    }
}

#[derive(Deserialize)]
struct Interpolated {
    c: f64,
    threshold: f64,
    hidden_weight: Vec<f32>,
    hidden_bias: Vec<f32>,
    output_weight: Vec<Vec<f32>>,
    output_bias: Vec<f32>,
    pairs: Vec<(usize, usize)>,
    bias: Vec<Vec<f64>>,
}

#[test]
fn function_of_fire() {
    let device = Device::flex();
    let cases: Vec<Interpolated> = cases(include_str!("../peers/values/fire.json"));
    for case in &cases {
        let (heads, hidden) = (case.output_bias.len(), case.hidden_bias.len());
        let mut fire = FireConfig::new(heads)
            .with_hidden(hidden)
            .with_c(case.c)
            .with_threshold(case.threshold)
            .init(&device);
        fire.inner.weight = param(&case.hidden_weight, [1, hidden], &device);
        fire.inner.bias = Some(param(&case.hidden_bias, [hidden], &device));
        let output = tensor(&case.output_weight.concat(), [heads, hidden], &device);
        fire.outer.weight = Param::from_tensor(output.transpose());
        fire.outer.bias = Some(param(&case.output_bias, [heads], &device));
        for ((query, key), expected) in case.pairs.iter().zip(&case.bias) {
            let (query, key) = (Positions::from(*query), Positions::from(*key));
            let bias = values(fire.bias((&query, 1), (&key, 1)));
            assert_within(&bias, expected, 1e-6, &format!("{query:?} {key:?}"));
        }
    }
}

#[derive(Deserialize)]
struct OfModel {
    config: Value,
    positions: Vec<usize>,
    x: Vec<Vec<f32>>,
    rotated: Vec<Vec<f32>>,
}

/// The same as version 5 of transformers writes it.
fn newer(mut config: Value) -> Value {
    let file = config.as_object_mut().unwrap();
    let mut parameters = match file.remove("rope_scaling") {
        Some(Value::Object(scaling)) => scaling,
        _ => json!({"rope_type": "default"}).as_object().unwrap().clone(),
    };
    for name in ["rope_theta", "partial_rotary_factor"] {
        if let Some(value) = file.remove(name) {
            parameters.insert(name.into(), value);
        }
    }
    file.insert("rope_parameters".into(), parameters.into());
    config
}

/// The rotations of 28 kinds of models from their own files, and from files that say nothing but the
/// sizes: against their code in f64.
#[test]
fn rotations_of_models() {
    let cases: Vec<OfModel> = cases(include_str!("../peers/values/models.json"));
    assert_eq!(cases.len(), 64);
    let device = Device::flex();
    for case in cases {
        for mut config in [case.config.clone(), newer(case.config.clone())] {
            if config.get("num_hidden_layers").is_none() {
                config["num_hidden_layers"] = 4.into();
            }
            let model: HfConfig = serde_json::from_value(config.clone()).unwrap();
            // In two of them some layers do not rotate, but the first one does.
            let rope = model.layers().unwrap().remove(0).rotary.unwrap();
            let rope = rope.with_max_len(200).init(&device);
            // Those that depend on the length take that of all positions together.
            let at = Positions::from_id_rows(std::slice::from_ref(&case.positions)).unwrap();
            let rotated = values(rope.rotate_queries(heads(&case.x, &device), &at));
            let (x, expected) = (case.x.concat(), case.rotated.concat());
            let largest = x.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            let bound = 3e-7 * f64::from(largest);
            assert_within(&rotated, &expected, bound, &config.to_string());
        }
    }
}
