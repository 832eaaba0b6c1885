//! Time2Vec, TUPE and eRPE against the formulas of their papers: `tests/peers/values`, written by `tests/peers/series.py`.

use std::collections::HashMap;

use burn::module::{Param, ParamId};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, DType, Device, FloatDType, Int, Tensor};
use pe_burn::content::TupeConfig;
use pe_burn::embedding::{Time2Vec, Time2VecConfig};
use pe_burn::weights::ErpeConfig;
use pe_burn::{Embed, Grid, Positions, ScoreBias, T5RelativeBiasConfig, WeightBias};
use pe_tests::devices;
use serde::Deserialize;

use crate::{assert_close, cases, distance, quantized, random, refused, types, values};

#[derive(Deserialize)]
struct Waves {
    config: Time2VecConfig,
    times: Vec<f64>,
    omega: Vec<f32>,
    phi: Vec<f32>,
    weights: Vec<f32>,
    rows: Vec<f64>,
    /// Of ω and φ.
    gradients: [Vec<f64>; 2],
}

#[test]
fn time2vec_as_in_its_paper() {
    let cases: Vec<Waves> = cases(include_str!("../peers/values/time2vec.json"));
    assert_eq!(cases.len(), 4);
    for case in cases {
        for device in devices() {
            let device = device.autodiff();
            let vector = |numbers: &[f32]| Tensor::<1>::from_data(numbers, &device);
            let mut t2v = case.config.init(&device);
            t2v.omega = Param::from_tensor(vector(&case.omega));
            t2v.phi = Param::from_tensor(vector(&case.phi));
            let shape = [1, case.times.len(), case.config.d_model];
            let at = Positions::from_time_rows(std::slice::from_ref(&case.times)).unwrap();
            let about = format!("{device:?} {:?}", case.config);
            let rows = t2v.encode(&at, shape[1]).unwrap();
            assert_eq!(rows.dims(), shape);
            assert_close(&values(rows), &case.rows, 1e-6, &about);

            // Added to every row of a batch, and the gradients of both rows together.
            let x = random([2, shape[1], shape[2]], &device);
            let y = t2v.embed(x.clone(), &at);
            for row in 0..2 {
                let added = (y.clone() - x.clone()).narrow(0, row, 1);
                assert_close(&values(added), &case.rows, 1e-6, &about);
            }
            let weights = vector(&case.weights).reshape(shape);
            let gradients = (y * weights).sum().backward();
            for (parameter, theirs) in [&t2v.omega, &t2v.phi].into_iter().zip(&case.gradients) {
                let ours = values(parameter.val().grad(&gradients).unwrap() / 2.0);
                assert_close(&ours, theirs, 2e-6, &about);
            }
        }
    }
}

/// However positions are given, a token at one of them has one vector.
#[test]
fn time2vec_at_any_positions() {
    for device in devices() {
        let t2v = Time2VecConfig::new(10, 40.0).init(&device);
        let x = random([2, 4, 10], &device);
        let of = |at: &Positions| t2v.embed(x.clone(), at);
        let ids = [[3, 4, 5, 6], [0, 1, 2, 3]];
        let expected = of(&Positions::from_id_rows(&ids).unwrap());
        let times = ids.map(|row| row.map(|id| id as f64));
        let tensor = Tensor::<2, Int>::from_ints(ids.map(|row| row.map(|id| id as i64)), &device);
        for at in [
            Positions::from_time_rows(&times).unwrap(),
            Positions::from_starts([3, 0]),
            Positions::from_ids(tensor).unwrap(),
        ] {
            assert!(distance(of(&at), expected.clone()) < 1e-6, "{at:?}");
        }
        let segments = Tensor::<2, Int>::from_ints([[7, 7, 8, 8]], &device);
        let packed = of(&Positions::from_segment_ids(segments));
        let restarted = of(&Positions::from_id_rows(&[[0, 1, 0, 1]]).unwrap());
        assert!(distance(packed, restarted) < 1e-6);
        // A grid counts its tokens.
        let (grid, line) = (of(&Grid::image(2, 2).into()), of(&Positions::default()));
        assert!(distance(grid, line) < 1e-6);

        for shape in [[0, 4, 10], [2, 0, 10]] {
            let y = t2v.forward(Tensor::zeros(shape, &device));
            assert_eq!(y.dims(), shape);
        }
        let points = Tensor::<3>::zeros([1, 4, 2], &device);
        refused! {
            |bad| t2v.try_embed(bad.0, &bad.1);
            (x.clone(), Positions::from_starts([1, 2, 3])) =>
                "there are 3 starts for a batch of 2 rows",
            (random([2, 4, 9], &device), Positions::default()) =>
                "the input has d_model 9, but this module was built for d_model 10",
            (x.clone(), Positions::from_coordinates(points).unwrap()) =>
                "… positions on a line …",
        }
    }
}

/// The sum is computed in f32, or f64, and rounded once; quantized parameters are near.
#[test]
fn time2vec_in_other_types() {
    let at = Positions::from_time_rows(&[[0.25, 1.5, 38.0]]).unwrap();
    for device in devices() {
        let t2v = Time2VecConfig::new(10, 40.0).init(&device);
        // Numbers that every type below holds exactly.
        let x = random([2, 3, 10], &Device::flex()).cast(FloatDType::BF16);
        let x = Tensor::<3>::from_data(x.cast(FloatDType::F32).into_data(), &device);
        let exact = values(t2v.embed(x.clone(), &at));
        for dtype in types(&device) {
            let ulp = match dtype {
                FloatDType::F16 => 1e-3,
                FloatDType::BF16 => 8e-3,
                _ => 1e-6,
            };
            let y = t2v.embed(x.clone().cast(dtype), &at);
            assert_eq!(y.dtype(), DType::from(dtype));
            for (y, exact) in values(y).iter().zip(&exact) {
                let off = (y - exact).abs();
                assert!(off <= ulp * exact.abs().max(1.0), "{dtype:?}: {y} {exact}");
            }
        }
    }
    let t2v = Time2VecConfig::new(64, 4.0).init(&Device::flex());
    let of = |t2v: &Time2Vec| t2v.encode(&Positions::default(), 4).unwrap();
    assert!(distance(of(&quantized(&t2v)), of(&t2v)) < 0.1);
}

#[derive(Deserialize)]
struct Untied {
    d_model: usize,
    heads: usize,
    max_len: usize,
    /// The position of the first query; keys begin at 0.
    start: usize,
    queries: usize,
    /// What has gradients, by name.
    leaves: HashMap<String, Vec<f32>>,
    weights: Vec<f32>,
    scores: Vec<f64>,
    gradients: HashMap<String, Vec<f64>>,
}

/// TUPE-A, TUPE-A of a few queries behind a cache, and TUPE-R: what the hook adds to q · k / √d_head makes the paper's scores.
#[test]
fn tupe_as_in_its_paper() {
    let cases: Vec<Untied> = cases(include_str!("../peers/values/tupe.json"));
    assert_eq!(cases.len(), 3);
    for case in &cases {
        for device in devices() {
            let device = device.autodiff();
            let leaves: HashMap<&str, Tensor<1>> = (case.leaves.iter())
                .map(|(name, values)| {
                    let leaf = Tensor::<1>::from_data(values.as_slice(), &device);
                    (name.as_str(), leaf.require_grad())
                })
                .collect();
            let param = |name: &str, shape: [usize; 2]| {
                Param::initialized(ParamId::new(), leaves[name].clone().reshape(shape))
            };
            let (heads, d_head) = (case.heads, case.d_model / case.heads);
            let mut config = TupeConfig::new(case.d_model, heads, case.max_len);
            if leaves.contains_key("relative") {
                config = config.with_relative(T5RelativeBiasConfig::new(heads));
            }
            let mut tupe = config.init(&device);
            tupe.positions.weight = param("table", [case.max_len, case.d_model]);
            tupe.query.weight = param("query", [case.d_model; 2]);
            tupe.key.weight = param("key", [case.d_model; 2]);
            if let Some(relative) = &mut tupe.relative {
                relative.weight = param("relative", [32, heads]);
            }
            let keys = case.start + case.queries;
            let side = |name: &str, seq| leaves[name].clone().reshape([1, heads, seq, d_head]);
            let (q, k) = (side("q", case.queries), side("k", keys));
            let (at, all) = (Positions::from(case.start), Positions::default());
            let bias = tupe.score_bias((&q, &at), (&k, &all));
            let scores = q.clone().matmul(k.clone().transpose()) / (d_head as f64).sqrt() + bias;
            let about = format!("{device:?} {config:?}");
            assert_close(&values(scores.clone()), &case.scores, 2e-6, &about);

            let weights = Tensor::<1>::from_data(case.weights.as_slice(), &device);
            let gradients = (scores * weights.reshape([1, heads, case.queries, keys])).sum();
            let gradients = gradients.backward();
            assert_eq!(leaves.len(), case.gradients.len());
            for (name, leaf) in &leaves {
                let ours = values(leaf.grad(&gradients).unwrap());
                assert_close(
                    &ours,
                    &case.gradients[*name],
                    5e-6,
                    &format!("{about}: {name}"),
                );
            }

            // The part of the positions is what is left of words that are 0.
            let of_positions = tupe
                .of_positions((&at, case.queries), (&all, keys))
                .unwrap();
            let none = tupe.score_bias((&q.zeros_like(), &at), (&k.zeros_like(), &all));
            assert!(distance(of_positions, none) < 1e-6, "{about}");
        }
    }
}

#[derive(Deserialize)]
struct AfterSoftmax {
    heads: usize,
    max_len: usize,
    causal: bool,
    table: Vec<f32>,
    qkv: [Vec<f32>; 3],
    weights: Vec<f32>,
    output: Vec<f64>,
    /// Of the table and the values.
    gradients: [Vec<f64>; 2],
}

/// At positions of every kind.
#[test]
fn erpe_as_in_its_paper() {
    let cases: Vec<AfterSoftmax> = cases(include_str!("../peers/values/erpe.json"));
    assert_eq!(cases.len(), 3);
    for case in &cases {
        for device in devices() {
            let device = device.autodiff();
            let vector = |numbers: &[f32]| Tensor::<1>::from_data(numbers, &device);
            let config = ErpeConfig::new(case.heads, case.max_len);
            let mut erpe = config.init(&device);
            let shape = [2 * case.max_len - 1, case.heads];
            erpe.table = Param::from_tensor(vector(&case.table).reshape(shape));
            let d_head = if case.heads == 3 { 2 } else { 4 };
            let seq = case.output.len() / case.heads / d_head;
            let heads = |numbers: &[f32]| vector(numbers).reshape([1, case.heads, seq, d_head]);
            let far: Vec<usize> = (1000..1000 + seq).collect();
            let times: Vec<usize> = (0..seq).collect();
            let segments = Tensor::<2, Int>::zeros([1, seq], &device);
            for at in [
                Positions::default(),
                Positions::from(1 << 40),
                Positions::from_id_rows(&[times]).unwrap(),
                Positions::from_id_rows(&[far]).unwrap(),
                Positions::from_segment_ids(segments),
            ] {
                let about = format!("{device:?} {config:?} {at:?}");
                let [q, k, v] = case.qkv.each_ref().map(|part| heads(part));
                let v = v.require_grad();
                let later = match case.causal {
                    true => Tensor::<2, Bool>::tril_mask([seq, seq], 0, &device),
                    false => Tensor::<2>::zeros([seq, seq], &device).bool(),
                };
                let later = later
                    .reshape([1, 1, seq, seq])
                    .expand([1, case.heads, seq, seq]);
                let scores = q.matmul(k.transpose()) / (d_head as f64).sqrt();
                let bias = erpe.weight_bias((&at, seq), (&at, seq));
                let weights = softmax(scores.mask_fill(later.clone(), -1e9), 3);
                let y = (weights + bias.mask_fill(later, 0.0)).matmul(v.clone());
                assert_close(&values(y.clone()), &case.output, 2e-6, &about);
                let gradients = (y * heads(&case.weights)).sum().backward();
                let ours = [
                    values(erpe.table.val().grad(&gradients).unwrap()),
                    values(v.grad(&gradients).unwrap()),
                ];
                for (ours, theirs) in ours.iter().zip(&case.gradients) {
                    assert_close(ours, theirs, 3e-6, &about);
                }
            }
        }
    }
}
