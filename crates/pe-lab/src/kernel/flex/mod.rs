//! The operations on flex: kernels on slices.
//!
//! | file | |
//! |---|---|
//! | `math` | exponential, GELU, sums in a fixed order |
//! | `products` | matrix products on parts of slices, rows for every thread |
//! | `linear`, `feed_forward`, `layer_norm`, `attention` | an operation and its gradients |
//!
//! Sums over rows come out the same for every number of threads, and so does a trained model.

// Iterator adapters are not inlined into functions that are compiled for other instructions.
#![allow(clippy::needless_range_loop)]

mod attention;
mod feed_forward;
mod layer_norm;
mod linear;
mod math;
mod products;

use burn::backend::Flex;
use burn::backend::flex::FlexTensor;
use burn::tensor::{Bool, Tensor, TensorData};

use super::EPSILON;
use pe_burn::graph::{Operand, Operation, apply};

/// As [`super::linear`].
pub fn linear(x: Tensor<3>, weight: Tensor<2>, bias: Tensor<1>) -> Tensor<3> {
    let [batch, seq, _] = x.dims();
    let [_, outputs] = weight.dims();
    let inputs = [Operand::of(x), Operand::of(weight), Operand::of(bias)];
    apply(inputs, |inputs| {
        let [x, weight, bias] = inputs.map(dense);
        let y = linear::forward(numbers(&x), numbers(&weight), numbers(&bias));
        (filled(y, [batch, seq, outputs]), Linear { x, weight, bias })
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct Linear {
    x: FlexTensor,
    weight: FlexTensor,
    bias: FlexTensor,
}

impl Operation<Flex, 3> for Linear {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 3] {
        let Self { x, weight, bias } = self;
        let gradient = dense(gradient);
        let outputs = numbers(&bias).len();
        let of = linear::backward(numbers(&x), numbers(&weight), outputs, numbers(&gradient));
        [
            filled_like(of.x, &x),
            filled_like(of.weight, &weight),
            filled_like(of.bias, &bias),
        ]
    }
}

/// As [`super::layer_norm`].
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>) -> Tensor<3> {
    let inputs = [Operand::of(x), Operand::of(gamma), Operand::of(beta)];
    apply(inputs, |inputs| {
        let [x, gamma, beta] = inputs.map(dense);
        let y = layer_norm::forward(numbers(&x), numbers(&gamma), numbers(&beta), EPSILON as f32);
        (filled_like(y, &x), LayerNorm { x, gamma })
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct LayerNorm {
    x: FlexTensor,
    gamma: FlexTensor,
}

impl Operation<Flex, 3> for LayerNorm {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 3] {
        let Self { x, gamma } = self;
        let gradient = dense(gradient);
        let epsilon = EPSILON as f32;
        let of = layer_norm::backward(numbers(&x), numbers(&gamma), epsilon, numbers(&gradient));
        [
            filled_like(of.x, &x),
            filled_like(of.gamma, &gamma),
            filled_like(of.beta, &gamma),
        ]
    }
}

/// As [`super::feed_forward`], with the weights in its order.
pub fn feed_forward(
    x: Tensor<3>,
    (w1, b1): (Tensor<2>, Tensor<1>),
    (w2, b2): (Tensor<2>, Tensor<1>),
) -> Tensor<3> {
    let inputs = [
        Operand::of(x),
        Operand::of(w1),
        Operand::of(b1),
        Operand::of(w2),
        Operand::of(b2),
    ];
    apply(inputs, |inputs| {
        let [x, w1, b1, w2, b2] = inputs.map(dense);
        let weights = [w1, b1, w2, b2];
        let (y, h) = feed_forward::forward(numbers(&x), slices(&weights));
        (filled_like(y, &x), FeedForward { x, weights, h })
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct FeedForward {
    x: FlexTensor,
    weights: [FlexTensor; 4],
    h: Vec<f32>,
}

fn slices([w1, b1, w2, b2]: &[FlexTensor; 4]) -> feed_forward::Weights<'_> {
    feed_forward::Weights {
        w1: numbers(w1),
        b1: numbers(b1),
        w2: numbers(w2),
        b2: numbers(b2),
    }
}

impl Operation<Flex, 5> for FeedForward {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 5] {
        let Self { x, weights, h } = self;
        let gradient = dense(gradient);
        let of = feed_forward::backward(numbers(&x), slices(&weights), &h, numbers(&gradient));
        let [w1, b1, w2, b2] = &weights;
        [
            filled_like(of.x, &x),
            filled_like(of.w1, w1),
            filled_like(of.b1, b1),
            filled_like(of.w2, w2),
            filled_like(of.b2, b2),
        ]
    }
}

/// As [`super::attention`].
pub fn attention(
    qkv: Tensor<3>,
    padding: Option<&Tensor<2, Bool>>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    let [batch, seq, width] = qkv.dims();
    // The kernel writes whole heads, and they have to be all there is.
    assert!(
        width.is_multiple_of(3 * heads),
        "{heads} heads share {width} columns"
    );
    let sizes = attention::Sizes {
        seq,
        d_model: width / 3,
        heads,
    };
    let padding = padding.map(|padding| {
        let found = "a mask on the device of the tensor that it masks";
        let padding = padding.clone().without_autodiff();
        dense(padding.try_into_primitive::<Flex>().expect(found))
    });
    let forward = |qkv: FlexTensor, bias: Option<&FlexTensor>| {
        let padding = padding.as_ref().map(|all| &all.bytes()[..batch * seq]);
        let (y, weights) = attention::forward(numbers(&qkv), padding, bias.map(numbers), sizes);
        let kept = Attention {
            qkv,
            weights,
            sizes,
        };
        (filled(y, [batch, seq, sizes.d_model]), kept)
    };
    match bias {
        None => apply([Operand::of(qkv)], |inputs| {
            let [qkv] = inputs.map(dense);
            forward(qkv, None)
        }),
        Some(bias) => {
            let [biases, ..] = bias.dims();
            assert_eq!(bias.dims(), [biases, heads, seq, seq], "a bias of scores");
            assert!(biases == 1 || biases == batch, "{biases} biases of {batch}");
            apply([Operand::of(qkv), Operand::of(bias)], |inputs| {
                let [qkv, bias] = inputs.map(dense);
                let (y, attention) = forward(qkv, Some(&bias));
                (y, Biased { attention, bias })
            })
        }
    }
    .tensor()
}

#[derive(Clone, Debug)]
struct Attention {
    qkv: FlexTensor,
    weights: Vec<f32>,
    sizes: attention::Sizes,
}

impl Operation<Flex, 1> for Attention {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 1] {
        let Self {
            qkv,
            weights,
            sizes,
        } = self;
        let gradient = dense(gradient);
        let dqkv = attention::backward(numbers(&qkv), &weights, sizes, numbers(&gradient));
        [filled_like(dqkv, &qkv)]
    }
}

/// Attention with a bias that has a gradient too.
#[derive(Clone, Debug)]
struct Biased {
    attention: Attention,
    bias: FlexTensor,
}

impl Operation<Flex, 2> for Biased {
    fn backward(self, gradient: FlexTensor) -> [FlexTensor; 2] {
        let Attention {
            qkv,
            weights,
            sizes,
        } = self.attention;
        let gradient = dense(gradient);
        let shared = numbers(&self.bias).len() < weights.len();
        let (dqkv, dbias) = attention::backward_with_bias(
            numbers(&qkv),
            &weights,
            sizes,
            numbers(&gradient),
            shared,
        );
        [filled_like(dqkv, &qkv), filled_like(dbias, &self.bias)]
    }
}

/// The tensor with its numbers one after the other from the start of its memory.
fn dense(x: FlexTensor) -> FlexTensor {
    match x.is_contiguous() && x.layout().start_offset() == 0 {
        true => x,
        false => x.to_contiguous(),
    }
}

/// The numbers of a dense tensor.
fn numbers(x: &FlexTensor) -> &[f32] {
    &x.storage()[..x.layout().num_elements()]
}

fn filled<const D: usize>(values: Vec<f32>, shape: [usize; D]) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}

fn filled_like(values: Vec<f32>, like: &FlexTensor) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, like.layout().shape().clone()))
}
