//! FoX against its paper's formula, as a bias and as columns: `tests/peers/values/fox.json`.

use std::collections::BTreeMap;

use burn::module::Param;
use burn::tensor::activation::softmax;
use burn::tensor::{Device, FloatDType, Tensor};
use pe_burn::gates::{Fox, FoxConfig, augment};
use pe_burn::{ForgetGate, Positional, Positions};
use pe_tests::devices;
use serde::Deserialize;

use crate::augment::scores;
use crate::{assert_close, cases, halves, in_both_types, numbers, random, values, wide};

#[derive(Deserialize)]
struct Case {
    config: FoxConfig,
    start: usize,
    leaves: BTreeMap<String, Vec<f64>>,
    weights: Vec<f64>,
    output: Vec<f64>,
    gradients: BTreeMap<String, Vec<f64>>,
}

/// How the gates come into the scores.
#[derive(Clone, Copy, Debug)]
enum Way {
    Bias,
    Columns,
}

impl Case {
    /// Output and gradients in a type.
    fn run(&self, device: &Device, dtype: FloatDType, way: Way) -> Vec<(String, Vec<f64>)> {
        let FoxConfig { d_model, heads, .. } = self.config;
        let (d_head, tokens) = (d_model / heads, self.leaves["x"].len() / d_model);
        let leaf = |name: &str| numbers(&self.leaves[name], device, dtype);
        let shape = [1, heads, tokens, d_head];
        let [q, k, v] = ["q", "k", "v"].map(|name| leaf(name).reshape(shape).require_grad());
        let x = leaf("x").reshape([1, tokens, d_model]).require_grad();
        let mut fox: Fox = self.config.init(device);
        let gates = &mut fox.layers[1];
        gates.weight = Param::from_tensor(leaf("weight").reshape([d_model, heads]));
        gates.bias = Some(Param::from_tensor(leaf("bias")));

        let at = Positions::from(self.start);
        let (turned_q, turned_k) = match fox.as_rotate() {
            Some(rotary) => rotary.rotate(q.clone(), k.clone(), &at),
            None => (q.clone(), k.clone()),
        };
        let sums = fox.log_gates(1, x.clone()).cumsum(2);
        // Times a number: Burn's gradient of a division by one is computed in `f32`.
        let scores = match way {
            Way::Bias => {
                let sums = sums.unsqueeze_dim::<4>(3);
                let bias = sums.clone() - sums.swap_dims(2, 3);
                turned_q.matmul(turned_k.transpose()) * (d_head as f64).sqrt().recip() + bias
            }
            Way::Columns => {
                let (wide_q, wide_k) = augment(turned_q, turned_k, sums).unwrap();
                let scale = (wide_q.dims()[3] as f64).sqrt().recip();
                wide_q.matmul(wide_k.transpose()) * scale
            }
        };
        let later = Tensor::<2>::ones([tokens, tokens], &device.clone().without_autodiff());
        let later = later.triu(1).bool().unsqueeze::<4>();
        let scores = scores.mask_fill(later.expand([1, heads, tokens, tokens]), -1e9);
        let output = softmax(scores, 3).matmul(v.clone());
        let weights = numbers(&self.weights, device, dtype).reshape(shape);
        let of = (output.clone() * weights).sum().backward();
        let gates = &fox.layers[1];
        let bias = gates.bias.as_ref().unwrap().val();
        vec![
            ("output".into(), wide(output)),
            ("q".into(), wide(q.grad(&of).unwrap())),
            ("k".into(), wide(k.grad(&of).unwrap())),
            ("v".into(), wide(v.grad(&of).unwrap())),
            ("x".into(), wide(x.grad(&of).unwrap())),
            ("weight".into(), wide(gates.weight.val().grad(&of).unwrap())),
            ("bias".into(), wide(bias.grad(&of).unwrap())),
        ]
    }
}

#[test]
fn fox_as_in_its_paper() {
    let cases: Vec<Case> = cases(include_str!("../peers/values/fox.json"));
    assert_eq!(cases.len(), 4);
    for (device, dtype, bound) in in_both_types(1e-5) {
        for case in &cases {
            for way in [Way::Bias, Way::Columns] {
                for (name, ours) in case.run(&device, dtype, way) {
                    let theirs = match name.as_str() {
                        "output" => &case.output,
                        name => match case.gradients.get(name) {
                            Some(theirs) => theirs,
                            None => continue,
                        },
                    };
                    let about = format!("{device:?} {dtype:?} {way:?} {name}");
                    assert_close(&ours, theirs, bound, &about);
                }
            }
        }
    }
}

/// A query among the keys of a cache, in types of half a word, with sums that one column could not hold.
#[test]
fn columns_of_half_precision_keep_the_gates() {
    for device in devices() {
        for (dtype, unit) in halves(&device) {
            let q = random([1, 2, 3, 64], &device).cast(dtype);
            let k = random([1, 2, 2_000, 64], &device).cast(dtype);
            let sums = random([1, 2, 2_000], &device).abs().neg().cumsum(2);
            let flex = Device::flex();
            let there = sums.clone().to_device(&flex).unsqueeze_dim::<4>(3);
            let bias = there.clone().narrow(2, 1_997, 3) - there.swap_dims(2, 3);
            let expected = values(scores(q.clone(), k.clone()) + bias);
            let (q, k) = augment(q, k, sums).unwrap();
            let found = values(scores(q, k));
            // 2^-21 of the largest sum, about 1 600, and the queries that are rounded once more.
            let bound = 1_600.0 * 2f32.powi(-20) + unit * 20.0;
            for (at, (expected, found)) in expected.iter().zip(&found).enumerate() {
                let apart = (expected - found).abs();
                assert!(apart < bound, "{device:?} {dtype:?} {at}: {apart}");
            }
        }
    }
}
