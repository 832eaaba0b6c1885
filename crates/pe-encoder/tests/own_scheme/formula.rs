//! Attention with any scheme by its formula, in `f64`, one query and one key at a time.

use burn::module::{Module, ModuleVisitor, Param};
use burn::tensor::Tensor;
use pe_encoder::Attention;

/// What a scheme does, by its formula.
pub trait Formula {
    /// A query or a key at a position, as it goes into the product.
    fn turned(&self, x: &[f64], _position: usize, _is_key: bool) -> Vec<f64> {
        x.to_vec()
    }

    /// What is added to the score of a query and a key.
    fn added(&self, _pair: &Pair<'_>) -> f64 {
        0.0
    }

    /// What is added to the weight of a query and a key, after the softmax.
    fn added_to_weight(&self, _pair: &Pair<'_>) -> f64 {
        0.0
    }
}

/// A query and a key of one head in one row.
pub struct Pair<'a> {
    pub head: usize,
    /// The tokens in the row.
    pub tokens: [usize; 2],
    pub positions: [usize; 2],
    /// As it goes into the product.
    pub q: &'a [f64],
    /// The input of the layer at every token of the row.
    pub inputs: &'a [&'a [f64]],
}

/// The weights and the input of an attention.
pub struct Case {
    /// The weight and the bias of both projections.
    weights: Vec<Vec<f64>>,
    x: Vec<f64>,
    seq: usize,
    d_model: usize,
    causal: bool,
}

impl Case {
    pub fn of(attention: &Attention, x: &Tensor<3>, causal: bool) -> Self {
        struct Found(Vec<Vec<f64>>);
        impl ModuleVisitor for Found {
            fn visit_float<const D: usize>(&mut self, param: &Param<Tensor<D>>) {
                self.0.push(param.val().into_data().iter().collect());
            }
        }
        let mut found = Found(Vec::new());
        attention.visit(&mut found);
        assert_eq!(found.0.len(), 4, "the parameters of two projections");
        let [_, seq, d_model] = x.dims();
        Self {
            weights: found.0,
            x: x.to_data().iter().collect(),
            seq,
            d_model,
            causal,
        }
    }

    /// The output, for the positions of the tokens of each row.
    pub fn output(&self, scheme: &dyn Formula, positions: &[&[usize]]) -> Vec<f64> {
        let rows = self.x.chunks(self.seq * self.d_model).zip(positions);
        rows.flat_map(|(row, positions)| self.row(scheme, row, positions))
            .collect()
    }

    fn row(&self, scheme: &dyn Formula, row: &[f64], positions: &[usize]) -> Vec<f64> {
        let d_model = self.d_model;
        let d_head = d_model / crate::HEADS;
        let inputs: Vec<&[f64]> = row.chunks(d_model).collect();
        let qkv: Vec<Vec<f64>> = inputs.iter().map(|x| self.projected(x, 0)).collect();
        let part = |token: usize, which: usize, head: usize| {
            &qkv[token][which * d_model + head * d_head..][..d_head]
        };
        let turned = |token: usize, which: usize, head: usize| {
            scheme.turned(part(token, which, head), positions[token], which == 1)
        };
        let joined = |query: usize| -> Vec<f64> {
            let head = |head: usize| {
                let q = turned(query, 0, head);
                let keys = if self.causal { query + 1 } else { self.seq };
                let pair = |key: usize| Pair {
                    head,
                    tokens: [query, key],
                    positions: [positions[query], positions[key]],
                    q: &q,
                    inputs: &inputs,
                };
                let score = |key: usize| {
                    let product = dot(&q, &turned(key, 1, head)) / (d_head as f64).sqrt();
                    product + scheme.added(&pair(key))
                };
                let scores: Vec<f64> = (0..keys).map(score).collect();
                let largest = scores.iter().copied().fold(f64::MIN, f64::max);
                let weights: Vec<f64> = scores.iter().map(|s| (s - largest).exp()).collect();
                let sum: f64 = weights.iter().sum();
                let weights = weights.iter().enumerate();
                let weights: Vec<f64> = weights
                    .map(|(key, weight)| weight / sum + scheme.added_to_weight(&pair(key)))
                    .collect();
                (0..d_head).map(move |column| {
                    let of_key = |(key, weight): (usize, &f64)| weight * part(key, 2, head)[column];
                    weights.iter().enumerate().map(of_key).sum::<f64>()
                })
            };
            (0..crate::HEADS).flat_map(head).collect()
        };
        let outputs = (0..self.seq).flat_map(|query| self.projected(&joined(query), 2));
        outputs.collect()
    }

    /// `x W + b` of the projection whose weight is the `nth` parameter.
    fn projected(&self, x: &[f64], nth: usize) -> Vec<f64> {
        let (weight, bias) = (&self.weights[nth], &self.weights[nth + 1]);
        let column = |column: usize| {
            let of_weight = weight.iter().skip(column).step_by(bias.len());
            bias[column] + x.iter().zip(of_weight).map(|(x, w)| x * w).sum::<f64>()
        };
        (0..bias.len()).map(column).collect()
    }
}

fn dot(a: &[f64], b: &[f64]) -> f64 {
    assert_eq!(a.len(), b.len());
    a.iter().zip(b).map(|(a, b)| a * b).sum()
}
