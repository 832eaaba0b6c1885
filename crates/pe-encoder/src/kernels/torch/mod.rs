//! Kernels on LibTorch: normalization and attention, each as one recorded operation made of
//! LibTorch's own functions, and the step of Adam. (A linear layer and a GELU are single operations
//! in Burn already.)
//!
//! Tensors are saved for the backward pass as Burn's `TchTensor`, which counts who shares the memory:
//! Burn then does not overwrite it in place.

#![allow(deprecated)] // Burn discourages LibTorch; this project still offers it.

pub mod adam;

use burn::backend::LibTorch;
use burn::backend::libtorch::TchTensor;
use burn::tensor::Tensor;
use pe_burn::autodiff::{Operand, Operation, apply};
use tch::Kind;

use crate::kernels::bias::Bias;
use crate::plain::Mask;

/// The dimensions of `[batch, seq, width]` that a sum over rows goes over.
const ROWS: &[i64] = &[0, 1];

/// As [`plain::layer_norm`](crate::plain::layer_norm): `x` is `[batch, seq, d_model]`, `gamma` and
/// `beta` are `[d_model]`.
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let inputs = [Operand::of(x), Operand::of(gamma), Operand::of(beta)];
    apply(inputs, |[x, gamma, beta]: [TchTensor; 3]| {
        let width = gamma.tensor.size();
        let affine = (Some(&gamma.tensor), Some(&beta.tensor));
        let (y, mean, scale) = x
            .tensor
            .native_layer_norm(&width[..], affine.0, affine.1, epsilon);
        let (mean, scale) = (TchTensor::new(mean), TchTensor::new(scale));
        let saved = LayerNorm {
            x,
            gamma,
            mean,
            scale,
        };
        (TchTensor::new(y), saved)
    })
    .tensor()
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct LayerNorm {
    x: TchTensor,
    gamma: TchTensor,
    /// The mean of every row, `[batch, seq, 1]`.
    mean: TchTensor,
    /// The inverse of the standard deviation of every row, `[batch, seq, 1]`.
    scale: TchTensor,
}

impl Operation<LibTorch, 3> for LayerNorm {
    fn backward(self, gradient: TchTensor) -> [TchTensor; 3] {
        let (gamma, dy) = (&self.gamma.tensor, &gradient.tensor);
        let width = gamma.size()[0] as f64;
        let mut unit = (&self.x.tensor - &self.mean.tensor) * &self.scale.tensor;
        let dy_unit = dy * &unit;
        let dgamma = dy_unit.sum_dim_intlist(ROWS, false, Kind::Float);
        let dbeta = dy.sum_dim_intlist(ROWS, false, Kind::Float);
        // The output does not change when `x` is shifted or scaled, so the gradient has no part
        // along ones or along `x`.
        let along_ones = (dy.matmul(gamma) / width).unsqueeze(-1);
        let along_x = (dy_unit.matmul(gamma) / width).unsqueeze(-1);
        let mut dx = dy * gamma;
        dx -= along_ones;
        unit *= along_x;
        dx -= unit;
        dx *= &self.scale.tensor;
        [dx, dgamma, dbeta].map(TchTensor::new)
    }
}

/// As [`plain::attention`](crate::plain::attention).
pub fn attention(
    qkv: Tensor<3>,
    mask: Mask<'_>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    let padding = mask.padding.map(|padding| {
        let padding = padding.clone().without_autodiff();
        let padding = padding.try_into_primitive::<LibTorch>();
        let padding = padding.expect("a mask on the device of the tensor that it masks");
        padding.tensor
    });
    let [_, seq, _] = qkv.dims();
    let compute = |qkv: TchTensor, bias: Option<&tch::Tensor>| {
        let [q, k, v] = parts(&qkv.tensor, heads as i64);
        let d_head = q.size()[3] as f64;
        let mut scores = (q / d_head.sqrt()).matmul(&k.transpose(-1, -2));
        if let Some(bias) = bias {
            scores += bias;
        }
        if let Some(padding) = padding {
            let padding = padding.unsqueeze(1).unsqueeze(1);
            scores = scores.masked_fill_(&padding, f64::from(f32::MIN));
        }
        if mask.causal {
            let later = tch::Tensor::ones([seq as i64; 2], (Kind::Bool, scores.device()));
            scores = scores.masked_fill_(&later.triu(1), f64::from(f32::MIN));
        }
        let weights = scores.softmax(-1, Kind::Float);
        let y = weights.matmul(&v).transpose(1, 2).flatten(2, 3);
        let weights = TchTensor::new(weights);
        (TchTensor::new(y), Attention { qkv, weights })
    };
    match Bias::<LibTorch>::new(bias) {
        Bias::None => apply([Operand::of(qkv)], |[qkv]: [TchTensor; 1]| {
            compute(qkv, None)
        }),
        Bias::Constant(bias) => apply([Operand::of(qkv)], |[qkv]: [TchTensor; 1]| {
            compute(qkv, Some(&bias.tensor))
        }),
        Bias::Tracked(bias) => {
            let inputs = [Operand::of(qkv), bias];
            apply(inputs, |[qkv, bias]: [TchTensor; 2]| {
                let shared = bias.tensor.size()[0] == 1;
                let (y, attention) = compute(qkv, Some(&bias.tensor));
                (y, WithBias { attention, shared })
            })
        }
    }
    .tensor()
}

/// Queries, keys and values, `[batch, heads, seq, d_head]` each, as views of `qkv`.
fn parts(qkv: &tch::Tensor, heads: i64) -> [tch::Tensor; 3] {
    let parts = qkv.unflatten(2, [3, heads, -1]).permute([2, 0, 3, 1, 4]);
    [0, 1, 2].map(|which| parts.get(which))
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Attention {
    qkv: TchTensor,
    /// `[batch, heads, seq, seq]`
    weights: TchTensor,
}

impl Attention {
    /// The gradients of `qkv` and of the scores.
    fn gradients(self, gradient: TchTensor) -> [tch::Tensor; 2] {
        let weights = &self.weights.tensor;
        let heads = weights.size()[1];
        let [q, k, v] = parts(&self.qkv.tensor, heads);
        let scale = 1.0 / (q.size()[3] as f64).sqrt();
        let dy = gradient.tensor.unflatten(2, [heads, -1]).transpose(1, 2);
        let dv = weights.transpose(-1, -2).matmul(&dy);
        let dweights = dy.matmul(&v.transpose(-1, -2));
        let dscores =
            tch::Tensor::internal_softmax_backward_data(&dweights, weights, -1, Kind::Float);
        let dq = dscores.matmul(&k) * scale;
        let dk = dscores.transpose(-1, -2).matmul(&q) * scale;
        // [batch, seq, 3, heads, d_head], as in `qkv`.
        let dqkv = tch::Tensor::stack(&[dq, dk, dv].map(|part| part.transpose(1, 2)), 2);
        [dqkv.flatten(2, 4), dscores]
    }
}

impl Operation<LibTorch, 1> for Attention {
    fn backward(self, gradient: TchTensor) -> [TchTensor; 1] {
        let [dqkv, _] = self.gradients(gradient);
        [TchTensor::new(dqkv)]
    }
}

/// What the backward pass needs when the bias gets a gradient too.
#[derive(Clone, Debug)]
struct WithBias {
    attention: Attention,
    /// Whether all sequences have the same bias, whose gradient is then the sum over the sequences.
    shared: bool,
}

impl Operation<LibTorch, 2> for WithBias {
    fn backward(self, gradient: TchTensor) -> [TchTensor; 2] {
        let [dqkv, dscores] = self.attention.gradients(gradient);
        let dbias = match self.shared {
            true => dscores.sum_dim_intlist(&[0_i64][..], true, Kind::Float),
            false => dscores,
        };
        [dqkv, dbias].map(TchTensor::new)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::kernels::compare;
    use crate::testing::{gradients_of, random, values};
    use burn::tensor::Device;

    #[test]
    fn layer_norm_is_that_of_burns_operations_on_libtorch() {
        compare::layer_norm(&Device::libtorch().autodiff(), layer_norm);
    }

    #[test]
    fn attention_is_that_of_burns_operations_on_libtorch() {
        compare::attention(&Device::libtorch().autodiff(), &attention);
    }

    #[test]
    fn a_constant_bias_gives_the_same_gradient_of_qkv_on_libtorch() {
        let device = Device::libtorch().autodiff();
        let (qkv, bias) = (random([2, 9, 72], &device), random([1, 3, 9, 9], &device));
        let gradient = |bias: Tensor<4>| {
            let qkv = qkv.clone().require_grad();
            let gradients = gradients_of(attention(qkv.clone(), Mask::default(), Some(bias), 3));
            values(qkv.grad(&gradients).unwrap())
        };
        let tracked = gradient(bias.clone().require_grad());
        assert_eq!(tracked, gradient(bias.clone()));
        assert_eq!(tracked, gradient(bias.without_autodiff()));
    }
}
