//! Schemes that look at queries and keys, against the code of other libraries: `tests/peers/values`, written
//! by `tests/peers/content.py`.

use std::collections::HashMap;

use burn::module::{Param, ParamId};
use burn::tensor::activation::softmax;
use burn::tensor::{Bool, DType, Device, FloatDType, Gradients, Tensor, TensorData};
use pe_burn::content::{CopeConfig, DebertaConfig, ShawConfig, TransformerXlConfig};
use pe_burn::{Heads, Positions, ScoreBias};
use pe_tests::{devices, is_card};
use serde::Deserialize;

use crate::{assert_within, cases, wide};

/// An attention, and what a peer makes of it.
#[derive(Deserialize)]
struct Case {
    config: serde_json::Value,
    /// A row of tokens each.
    hidden: Vec<Vec<f32>>,
    /// Weight, `[inputs, outputs]`, and bias.
    query: [Vec<f32>; 2],
    key: [Vec<f32>; 2],
    /// Of the scheme, by name.
    parameters: HashMap<String, Vec<f32>>,
    /// The number of first tokens that are keys only.
    memory: usize,
    /// Which tokens are not padding.
    real: Vec<Vec<bool>>,
    /// The queries whose weights are there.
    rows: Vec<usize>,
    weights: Vec<f64>,
    gradients: HashMap<String, Vec<f64>>,
}

/// What a scheme adds to the scores, with the trained tensors of a case.
type Scheme<'a> = dyn Fn(&Leaves, &[usize; 2], Heads, Heads) -> Tensor<4> + 'a;

/// The tensors of a case whose gradients are known, and the projections of queries and keys.
struct Leaves<'a> {
    device: &'a Device,
    dtype: DType,
    tensors: HashMap<&'a str, Tensor<1>>,
}

impl<'a> Leaves<'a> {
    fn new(case: &'a Case, device: &'a Device, dtype: FloatDType) -> Self {
        let dtype = DType::from(dtype);
        let leaf = |values: &[f32]| Tensor::<1>::from_data(values, (device, dtype)).require_grad();
        let parameters = case.parameters.iter();
        let mut tensors: HashMap<&str, Tensor<1>> = parameters
            .map(|(name, values)| (name.as_str(), leaf(values)))
            .collect();
        tensors.insert("hidden", leaf(&case.hidden.concat()));
        Self {
            device,
            dtype,
            tensors,
        }
    }

    /// A leaf in a shape.
    fn get<const D: usize>(&self, name: &str, shape: [usize; D]) -> Tensor<D> {
        self.tensors[name].clone().reshape(shape)
    }

    /// A leaf as a parameter of a module.
    fn param<const D: usize>(&self, name: &str, shape: [usize; D]) -> Param<Tensor<D>> {
        Param::initialized(ParamId::new(), self.get(name, shape)) // `from_tensor` takes leaves only
    }

    /// `x W + b` by a head, `[batch, heads, seq, d_head]`.
    fn project(&self, x: Tensor<3>, [weight, bias]: &[Vec<f32>; 2], heads: usize) -> Tensor<4> {
        let constant = |values: &[f32]| Tensor::<1>::from_data(values, (self.device, self.dtype));
        let [batch, seq, width] = x.dims();
        let weight = constant(weight).reshape([1, width, width]);
        let y = x.matmul(weight) + constant(bias).reshape([1, 1, width]);
        y.reshape([batch, seq, heads, width / heads])
            .swap_dims(1, 2)
    }
}

/// Where the tokens of a case are: a name, and the positions of the queries that are taken and of the keys.
type Places = (&'static str, Positions, Positions);

impl Case {
    fn seq(&self) -> usize {
        self.real[0].len()
    }

    /// Every way to say where the tokens are. The peers count tokens, so that padding has positions as well.
    fn places(&self, device: &Device) -> Vec<Places> {
        let seq = self.seq();
        let ids = |from: usize| -> Positions {
            let row: Vec<usize> = (from..from + seq).collect();
            Positions::from_id_rows(&[row]).unwrap()
        };
        let rows = |from: usize| -> Positions {
            let row: Vec<usize> = self
                .rows
                .iter()
                .map(|row| from + self.memory + row)
                .collect();
            Positions::from_id_rows(&[row]).unwrap()
        };
        let far = 1 << 40;
        let mut places = vec![
            ("ids", rows(0), ids(0)),
            ("far ids", rows(far), Positions::from(far)),
        ];
        let consecutive = self.rows.windows(2).all(|pair| pair[1] == pair[0] + 1);
        if consecutive {
            let (first, batch) = (self.memory + self.rows[0], self.real.len());
            let starts = |start: usize| Positions::from_starts(vec![start; batch]);
            let far_first = Positions::from(far + first);
            places.push(("runs", Positions::from(first), Positions::default()));
            places.push(("far runs", far_first, Positions::from(far)));
            places.push(("starts", starts(far + first), starts(far)));
        }
        if self.rows.len() == seq {
            let mask: Vec<bool> = self.real.concat();
            let mask = TensorData::new(mask, [self.real.len(), seq]);
            let mask = Tensor::<2, Bool>::from_data(mask, &device.clone().without_autodiff());
            let counted = Positions::from_token_mask(mask);
            places.push(("mask", counted.clone(), counted));
        }
        places
    }

    /// The attention with a scheme, on a device, for all positions: its weights and all gradients.
    fn check(
        &self,
        heads: usize,
        causal: bool,
        scheme: &Scheme,
        device: &Device,
        dtype: FloatDType,
        bound: f64,
    ) {
        let (batch, seq) = (self.real.len(), self.seq());
        let width = self.hidden[0].len() / seq;
        for (place, at_q, at_k) in self.places(device) {
            let about = format!("{device:?} {dtype:?} {place}: {}", self.config);
            let leaves = Leaves::new(self, device, dtype);
            let hidden = leaves.get("hidden", [batch, seq, width]);
            let taken: Vec<i64> = self
                .rows
                .iter()
                .map(|row| (self.memory + row) as i64)
                .collect();
            let taken = Tensor::<1, burn::tensor::Int>::from_data(taken.as_slice(), device);
            let q = leaves.project(hidden.clone().select(1, taken), &self.query, heads);
            let k = leaves.project(hidden, &self.key, heads);
            let bias = scheme(&leaves, &[batch, seq], (&q, &at_q), (&k, &at_k));
            let d_head = (width / heads) as f64;
            let shape = [batch, heads, self.rows.len(), seq];
            assert_eq!(
                (bias.dims(), bias.dtype()),
                (shape, leaves.dtype),
                "{about}"
            );
            let scores = q.matmul(k.transpose()) / d_head.sqrt() + bias;
            let weights = softmax(
                scores.mask_fill(self.hidden_pairs(causal, device), -1e30),
                3,
            );

            let counts =
                Tensor::<1>::from_data(self.counts(heads).as_slice(), (device, leaves.dtype));
            let gradients = (weights.clone() * counts.reshape(shape)).sum().backward();
            self.compare(&about, heads, weights, bound);
            self.compare_gradients(&about, &leaves, &gradients, bound);
        }
    }

    /// Keys that are padding, or after the query if the attention is causal.
    fn hidden_pairs(&self, causal: bool, device: &Device) -> Tensor<4, Bool> {
        let mut hidden = vec![];
        for real in &self.real {
            for row in &self.rows {
                let keys = real.iter().enumerate();
                hidden.extend(keys.map(|(key, real)| !real || (causal && key > self.memory + row)));
            }
        }
        let shape = [self.real.len(), 1, self.rows.len(), self.seq()];
        Tensor::from_data(TensorData::new(hidden, shape), device)
    }

    /// Whether the query of each line of weights is a token.
    fn lines(&self, heads: usize) -> Vec<bool> {
        let rows = self.real.iter().flat_map(|real| {
            let of_head = self.rows.iter().map(|row| real[self.memory + row]);
            std::iter::repeat_n(of_head.collect::<Vec<bool>>(), heads)
        });
        rows.flatten().collect()
    }

    /// What each weight counts in the sum whose gradients are known.
    fn counts(&self, heads: usize) -> Vec<f64> {
        let seq = self.seq();
        let lines = self.lines(heads).into_iter().enumerate();
        let counts = lines.flat_map(|(line, real)| {
            (0..seq).map(move |key| match real {
                true => (0.7 * (line * seq + key) as f64).sin(),
                false => 0.0,
            })
        });
        counts.collect()
    }

    fn compare(&self, about: &str, heads: usize, weights: Tensor<4>, bound: f64) {
        let weights = wide(weights);
        assert_eq!(weights.len(), self.weights.len(), "{about}");
        let lines = weights
            .chunks(self.seq())
            .zip(self.weights.chunks(self.seq()));
        for (line, ((ours, theirs), real)) in lines.zip(self.lines(heads)).enumerate() {
            if real {
                assert_within(ours, theirs, bound, &format!("{about}, line {line}"));
            }
        }
    }

    /// Within four times `bound`, in parts of the largest gradient: some are sums of such that cancel.
    fn compare_gradients(&self, about: &str, leaves: &Leaves, gradients: &Gradients, bound: f64) {
        let all = self.gradients.values().flatten();
        let largest = all.fold(0.0_f64, |most, g| most.max(g.abs()));
        for (name, theirs) in &self.gradients {
            let ours = leaves.tensors[name.as_str()].grad(gradients);
            let ours = wide(ours.unwrap_or_else(|| panic!("{about}: no gradient of {name}")));
            let about = format!("{about}: the gradient of {name}");
            assert_within(&ours, theirs, 4.0 * bound * largest, &about);
        }
    }
}

/// Every case on every device, in f32 and where the device has it in f64, in which `exact` is the bound.
/// `run` gives the number of heads of a case and what its scheme adds.
fn check(
    json: &str,
    count: usize,
    exact: f64,
    causal: bool,
    run: impl Fn(&Case) -> (usize, Box<Scheme<'_>>),
) {
    let cases: Vec<Case> = cases(json);
    assert_eq!(cases.len(), count);
    for device in devices() {
        let device = device.autodiff();
        for case in &cases {
            let (heads, scheme) = run(case);
            let wide = device.supports_dtype(FloatDType::F64);
            // A graphics card's exponential may be off by 3 + 2|x| units in the last place.
            let bound = if wide { 2e-6 } else { 1e-5 };
            case.check(heads, causal, &scheme, &device, FloatDType::F32, bound);
            // On Vulkan the exponential of an f64 has the precision of f32; other cards are left out with it.
            if wide && !is_card(&device) {
                case.check(heads, causal, &scheme, &device, FloatDType::F64, exact);
            }
        }
    }
}

/// transformers divides by a root in f32.
#[test]
fn attention_of_deberta() {
    let json = include_str!("../peers/values/deberta.json");
    check(json, 5, 1e-7, false, |case| {
        let config: DebertaConfig = serde_json::from_value(case.config.clone()).unwrap();
        let (rows, d_model, heads) = (config.rows(), config.d_model, config.heads);
        let shares = !case.parameters.contains_key("query.weight")
            && !case.parameters.contains_key("key.weight");
        let scheme = move |leaves: &Leaves, _: &[usize; 2], queries: Heads, keys: Heads| {
            if shares {
                // The tables go through the projections of queries and keys.
                let embeddings = leaves.get("embeddings", [1, rows, d_model]);
                let table = |projection| {
                    let table = leaves.project(embeddings.clone(), projection, heads);
                    table.squeeze_dim::<3>(0)
                };
                let position_keys = config.content_to_position.then(|| table(&case.key));
                let position_queries = config.position_to_content.then(|| table(&case.query));
                return config
                    .score_bias_with(position_keys, position_queries, queries, keys)
                    .unwrap();
            }
            let mut deberta = config.init(leaves.device);
            deberta.embeddings = leaves.param("embeddings", [rows, d_model]);
            for (name, layer) in [("key", &mut deberta.key), ("query", &mut deberta.query)] {
                if let Some(layer) = layer {
                    layer.weight = leaves.param(&format!("{name}.weight"), [d_model, d_model]);
                    layer.bias = Some(leaves.param(&format!("{name}.bias"), [d_model]));
                }
            }
            deberta.score_bias(queries, keys)
        };
        (heads, Box::new(scheme))
    });
}

#[test]
fn attention_of_transformer_xl_and_conformers() {
    let json = include_str!("../peers/values/transformer_xl.json");
    check(json, 5, 1e-8, false, |case| {
        let config: TransformerXlConfig = serde_json::from_value(case.config.clone()).unwrap();
        let (d_model, heads) = (config.d_model, config.heads);
        let scheme = move |leaves: &Leaves, _: &[usize; 2], queries: Heads, keys: Heads| {
            // The buffer grows.
            let mut xl = config.clone().with_max_len(4).init(leaves.device);
            xl.projection.weight = leaves.param("projection.weight", [d_model, d_model]);
            xl.u = leaves.param("u", [heads, d_model / heads]);
            xl.v = leaves.param("v", [heads, d_model / heads]);
            xl.score_bias(queries, keys)
        };
        (heads, Box::new(scheme))
    });
}

#[test]
fn attention_of_shaw() {
    let json = include_str!("../peers/values/shaw.json");
    check(json, 3, 1e-8, false, |case| {
        let config: ShawConfig = serde_json::from_value(case.config.clone()).unwrap();
        let scheme = move |leaves: &Leaves, _: &[usize; 2], queries: Heads, keys: Heads| {
            let mut shaw = config.init(leaves.device);
            let rows = config.left + 1 + config.right;
            shaw.keys = leaves.param("keys", [rows, config.d_head]);
            shaw.score_bias(queries, keys)
        };
        (3, Box::new(scheme))
    });
}

#[test]
fn attention_of_cope() {
    let json = include_str!("../peers/values/cope.json");
    check(json, 4, 1e-8, true, |case| {
        let config: CopeConfig = serde_json::from_value(case.config.clone()).unwrap();
        let scheme =
            move |leaves: &Leaves, &[batch, seq]: &[usize; 2], queries: Heads, keys: Heads| {
                let mut cope = config.init(leaves.device);
                cope.embeddings = leaves.param("embeddings", [config.d_head, config.positions]);
                // Padding has no gate, whatever its position is.
                let padding: Vec<bool> = case.real.concat().iter().map(|real| !real).collect();
                let padding = TensorData::new(padding, [batch, seq]);
                let padding = Tensor::from_data(padding, &leaves.device.clone().without_autodiff());
                let marked = keys.1.clone().with_mask_pad(padding);
                cope.score_bias(queries, (keys.0, &marked))
            };
        (2, Box::new(scheme))
    });
}

#[derive(Deserialize)]
struct Rows {
    buckets: Option<usize>,
    max_distance: usize,
    first: i64,
    rows: Vec<usize>,
}

#[test]
fn rows_of_deberta() {
    let cases: Vec<Rows> = cases(include_str!("../peers/values/deberta_rows.json"));
    assert_eq!(cases.len(), 5);
    for case in cases {
        let config = DebertaConfig::new(8, 2)
            .with_buckets(case.buckets)
            .with_max_distance(case.max_distance);
        for (distance, row) in (case.first..).zip(case.rows) {
            assert_eq!(config.row(distance), row, "{config:?}: {distance}");
        }
    }
}

#[derive(Deserialize)]
struct OfValues {
    left: usize,
    right: usize,
    queries: usize,
    keys: usize,
    table: Vec<f32>,
    weights: Vec<f32>,
    output: Vec<f64>,
    gradients: HashMap<String, Vec<f64>>,
}

/// What the table for values adds, by the paper's formula, with the gradients of weights and table.
#[test]
fn values_of_shaw() {
    let cases: Vec<OfValues> = cases(include_str!("../peers/values/shaw_values.json"));
    assert_eq!(cases.len(), 3);
    for device in devices() {
        let device = device.autodiff();
        for case in &cases {
            let (q, k) = (case.queries, case.keys);
            let ids = |from: usize, to: usize| {
                Positions::from_id_rows(&[(from..to).collect::<Vec<_>>()]).unwrap()
            };
            for (queries, keys) in [
                (Positions::from(k - q), Positions::default()),
                (ids(k - q, k), ids(0, k)),
                (
                    Positions::from_starts([k - q, 7 + k - q]),
                    Positions::from_starts([0, 7]),
                ),
            ] {
                let leaf = |values: &[f32]| Tensor::<1>::from_data(values, &device).require_grad();
                let (weights, table) = (leaf(&case.weights), leaf(&case.table));
                let config = ShawConfig::new(5)
                    .with_left(case.left)
                    .with_right(case.right);
                let mut shaw = config.with_values(true).init(&device);
                let rows = case.left + 1 + case.right;
                let rows = table.clone().reshape([rows, 5]);
                shaw.values = Some(Param::initialized(ParamId::new(), rows));
                let output = shaw
                    .values(weights.clone().reshape([2, 2, q, k]), &queries, &keys)
                    .unwrap();
                assert_eq!(output.dims(), [2, 2, q, 5]);
                let len = case.output.len();
                let counts: Vec<f64> = (0..len).map(|n| (0.7 * n as f64).sin()).collect();
                let counts = Tensor::<1>::from_data(counts.as_slice(), (&device, DType::F32));
                let gradients = (output.clone().reshape([len]) * counts).sum().backward();
                for (name, ours, theirs) in [
                    ("output", output.reshape([len]), &case.output),
                    (
                        "weights",
                        weights.grad(&gradients).unwrap(),
                        &case.gradients["weights"],
                    ),
                    (
                        "table",
                        table.grad(&gradients).unwrap(),
                        &case.gradients["table"],
                    ),
                ] {
                    assert_within(&wide(ours), theirs, 5e-6, &format!("{device:?} {name}"));
                }
            }
        }
    }
}
