//! Compares a kernel with the plain operation: the output, and the gradient of every input.

use burn::module::Param;
use burn::nn::Linear;
use burn::tensor::{Bool, Device, Tensor};

use crate::plain::Activation;
use crate::plain::{self, Mask};
use crate::testing::{difference, gradients_of, padding_of_rows, random, values};

/// One token; fewer elements than a vector register; a whole block of rows; several blocks of rows.
const SHAPES: [[usize; 2]; 5] = [[1, 1], [2, 5], [5, 64], [9, 33], [40, 31]];

const D_MODEL: usize = 24;

/// γ, β and ε.
#[cfg(feature = "flex")]
type Norm = (Tensor<1>, Tensor<1>, f64);

/// Large beside the variance, so that another one would be noticed.
#[cfg(feature = "flex")]
const EPSILON: f64 = 0.1;

const HEADS: usize = 3;

/// An output and the gradients of its inputs.
type Parts = Vec<(&'static str, Vec<f32>)>;

/// The parts of `y`, with the gradient of each of the named tensors.
macro_rules! parts {
    ($y:expr, $($input:ident),+) => {{
        let y = $y;
        let gradients = gradients_of(y.clone());
        vec![
            ("output", values(y)),
            $((stringify!($input), values($input.grad(&gradients).unwrap()))),+
        ]
    }};
}

fn assert_close(case: &str, plain: Parts, kernel: Parts) {
    assert_eq!(plain.len(), kernel.len());
    for ((part, plain), (_, kernel)) in plain.into_iter().zip(kernel) {
        if plain.iter().all(|x| *x == 0.0) {
            assert_ne!(part, "output");
            assert_eq!(plain, kernel, "{case}: {part}");
        } else {
            let apart = difference(&plain, &kernel);
            assert!(apart < 5e-6, "{case}: {part} {apart} apart");
        }
    }
}

fn leaf<const D: usize>(x: &Tensor<D>) -> Tensor<D> {
    x.clone().require_grad()
}

fn layer(weight: Tensor<2>, bias: Tensor<1>) -> Linear {
    Linear {
        weight: Param::from_tensor(weight),
        bias: Some(Param::from_tensor(bias)),
    }
}

pub fn linear(device: &Device, kernel: impl Fn(Tensor<3>, Tensor<2>, Tensor<1>) -> Tensor<3>) {
    for [batch, seq] in SHAPES {
        let x = random([batch, seq, D_MODEL], device);
        let weight = random([D_MODEL, 37], device);
        let bias = random([37], device);
        let run = |of: &dyn Fn(Tensor<3>, Tensor<2>, Tensor<1>) -> Tensor<3>| {
            let (x, weight, bias) = (leaf(&x), leaf(&weight), leaf(&bias));
            parts!(of(x.clone(), weight.clone(), bias.clone()), x, weight, bias)
        };
        let plain = run(&|x, weight, bias| plain::linear(x, &layer(weight, bias)));
        assert_close(&format!("{batch} × {seq}"), plain, run(&kernel));
    }
}

#[cfg(feature = "flex")] // the others normalize before
pub fn normed_linear(
    device: &Device,
    kernel: impl Fn(Tensor<3>, Norm, Tensor<2>, Tensor<1>) -> Tensor<3>,
) {
    for [batch, seq] in SHAPES {
        let x = random([batch, seq, D_MODEL], device) * 0.5 + 0.3;
        let [gamma, beta] = [random([D_MODEL], device), random([D_MODEL], device)];
        let (weight, bias) = (random([D_MODEL, 37], device), random([37], device));
        let run = |of: &dyn Fn(Tensor<3>, Norm, Tensor<2>, Tensor<1>) -> Tensor<3>| {
            let (x, gamma, beta) = (leaf(&x), leaf(&gamma), leaf(&beta));
            let (weight, bias) = (leaf(&weight), leaf(&bias));
            let norm = (gamma.clone(), beta.clone(), EPSILON);
            let y = of(x.clone(), norm, weight.clone(), bias.clone());
            parts!(y, x, gamma, beta, weight, bias)
        };
        let plain = run(&|x, (gamma, beta, epsilon), weight, bias| {
            let x = plain::layer_norm(x, gamma, beta, epsilon);
            plain::linear(x, &layer(weight, bias))
        });
        assert_close(&format!("{batch} × {seq}"), plain, run(&kernel));
    }
}

pub fn layer_norm(
    device: &Device,
    kernel: impl Fn(Tensor<3>, Tensor<1>, Tensor<1>, f64) -> Tensor<3>,
) {
    for [batch, seq] in SHAPES {
        // An ε that is large beside the variance, so that another one would be noticed.
        for epsilon in [1e-5, 0.5] {
            let x = random([batch, seq, D_MODEL], device) * 0.5 + 0.3;
            let gamma = random([D_MODEL], device);
            let beta = random([D_MODEL], device);
            let run = |of: &dyn Fn(Tensor<3>, Tensor<1>, Tensor<1>, f64) -> Tensor<3>| {
                let (x, gamma, beta) = (leaf(&x), leaf(&gamma), leaf(&beta));
                let y = of(x.clone(), gamma.clone(), beta.clone(), epsilon);
                parts!(y, x, gamma, beta)
            };
            let plain = run(&plain::layer_norm);
            let case = format!("{batch} × {seq}, ε {epsilon}");
            assert_close(&case, plain, run(&kernel));
        }
    }
}

/// A linear layer: its weight and its bias.
#[cfg(feature = "flex")]
type Layer = (Tensor<2>, Tensor<1>);

/// The two layers of a feed-forward network. Its weights are of N(0, 1 / inputs): else the GELU is 0 or the identity almost
/// everywhere.
#[cfg(feature = "flex")]
fn two_layers(device: &Device) -> [Layer; 2] {
    const D_FF: usize = 40;
    let w1 = random([D_MODEL, D_FF], device) * 0.2;
    let w2 = random([D_FF, D_MODEL], device) * 0.16;
    [
        (w1, random([D_FF], device)),
        (w2, random([D_MODEL], device)),
    ]
}

#[cfg(feature = "flex")]
fn plain_feed_forward(x: Tensor<3>, (w1, b1): Layer, (w2, b2): Layer) -> Tensor<3> {
    plain::feed_forward(x, &layer(w1, b1), &layer(w2, b2), Activation::Gelu)
}

#[cfg(feature = "flex")] // LibTorch has no kernel for it
pub fn feed_forward(device: &Device, kernel: impl Fn(Tensor<3>, Layer, Layer) -> Tensor<3>) {
    for [batch, seq] in SHAPES {
        let x = random([batch, seq, D_MODEL], device);
        let [(w1, b1), (w2, b2)] = two_layers(device);
        let run = |of: &dyn Fn(Tensor<3>, Layer, Layer) -> Tensor<3>| {
            let x = leaf(&x);
            let (w1, b1, w2, b2) = (leaf(&w1), leaf(&b1), leaf(&w2), leaf(&b2));
            let inner = (w1.clone(), b1.clone());
            let y = of(x.clone(), inner, (w2.clone(), b2.clone()));
            parts!(y, x, w1, b1, w2, b2)
        };
        let plain = run(&plain_feed_forward);
        assert_close(&format!("{batch} × {seq}"), plain, run(&kernel));
    }
}

#[cfg(feature = "flex")] // the others normalize before
pub fn normed_feed_forward(
    device: &Device,
    kernel: impl Fn(Tensor<3>, Norm, Layer, Layer) -> Tensor<3>,
) {
    for [batch, seq] in SHAPES {
        let x = random([batch, seq, D_MODEL], device) * 0.5 + 0.3;
        let [gamma, beta] = [random([D_MODEL], device), random([D_MODEL], device)];
        let [(w1, b1), (w2, b2)] = two_layers(device);
        let run = |of: &dyn Fn(Tensor<3>, Norm, Layer, Layer) -> Tensor<3>| {
            let (x, gamma, beta) = (leaf(&x), leaf(&gamma), leaf(&beta));
            let (w1, b1, w2, b2) = (leaf(&w1), leaf(&b1), leaf(&w2), leaf(&b2));
            let norm = (gamma.clone(), beta.clone(), EPSILON);
            let inner = (w1.clone(), b1.clone());
            let y = of(x.clone(), norm, inner, (w2.clone(), b2.clone()));
            parts!(y, x, gamma, beta, w1, b1, w2, b2)
        };
        let plain = run(&|x, (gamma, beta, epsilon), inner, outer| {
            plain_feed_forward(plain::layer_norm(x, gamma, beta, epsilon), inner, outer)
        });
        assert_close(&format!("{batch} × {seq}"), plain, run(&kernel));
    }
}

/// Short sequences; and long ones, which the kernels compute in blocks of 64 queries.
const ATTENTION_SHAPES: [[usize; 2]; 8] = [
    [1, 1],
    [2, 5],
    [5, 64],
    [9, 33],
    [40, 31],
    [3, 129],
    [2, 192],
    [1, 257],
];

/// All batches that attention is compared on: padded and not, causal and not.
fn attention_cases(
    device: &Device,
) -> impl Iterator<Item = ([usize; 2], Option<Tensor<2, Bool>>, bool)> {
    let device = device.clone();
    ATTENTION_SHAPES.into_iter().flat_map(move |shape| {
        let device = device.clone();
        [(false, false), (true, false), (false, true), (true, true)].map(move |(padded, causal)| {
            let padding = padded.then(|| padding_of_rows(shape, &device));
            (shape, padding, causal)
        })
    })
}

/// A kernel of attention: queries, keys and values in one, the mask, a bias, and the number of heads.
type Attention = dyn Fn(Tensor<3>, Mask<'_>, Option<Tensor<4>>, usize) -> Tensor<3>;

/// Compares a kernel on queries, keys and values of a shape, with biases of a batch of its own or without.
fn compare_attention(
    case: &str,
    [batch, seq]: [usize; 2],
    mask: Mask<'_>,
    biases: Option<usize>,
    device: &Device,
    kernel: &Attention,
) {
    let qkv = random([batch, seq, 3 * D_MODEL], device);
    let bias = biases.map(|biases| random([biases, HEADS, seq, seq], device) * 3.0);
    let run = |of: &Attention| {
        let (qkv, bias) = (leaf(&qkv), bias.as_ref().map(leaf));
        let y = of(qkv.clone(), mask, bias.clone(), HEADS);
        match bias {
            Some(bias) => parts!(y, qkv, bias),
            None => parts!(y, qkv),
        }
    };
    let (padded, causal) = (mask.padding.is_some(), mask.causal);
    let case = format!("{batch} × {seq}, {case}padded {padded}, causal {causal}");
    assert_close(&case, run(&plain::attention), run(kernel));
}

/// A kernel that takes windows, with them.
#[cfg(feature = "flex")] // the other kernels take a bias in their place
pub fn local_attention(device: &Device, kernel: &Attention) {
    for window in [1, 2, 31, 64, 100, 500].map(Some) {
        for (shape, _, causal) in attention_cases(device) {
            let mask = Mask {
                padding: None,
                causal,
                window,
            };
            let case = format!("window {window:?}, ");
            compare_attention(&case, shape, mask, Some(1), device, kernel);
        }
    }
}

/// Without a bias, with one for all sequences, and with one for each.
pub fn attention(device: &Device, kernel: &Attention) {
    for (shape, padding, causal) in attention_cases(device) {
        for biases in [None, Some(1), Some(shape[0])] {
            let mask = Mask {
                padding: padding.as_ref(),
                causal,
                window: None,
            };
            let case = format!("biases {biases:?}, ");
            compare_attention(&case, shape, mask, biases, device, kernel);
        }
    }
}
