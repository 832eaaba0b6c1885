//! The operations on LibTorch that Burn would record step by step: normalization and attention (the
//! other two are single operations there already), and a step of Adam on the processor, which is a
//! loop of our own.
//!
//! What is kept is kept as Burn's own tensor, so that Burn sees that its memory is shared.

#![allow(deprecated)] // Burn discourages LibTorch; this project still offers it.

use std::mem::MaybeUninit;

use burn::backend::LibTorch;
use burn::backend::libtorch::TchTensor;
use burn::optim::{AdamState, AdaptiveMomentumState};
use burn::tensor::{Bool, Tensor};
use multiversion::multiversion;
use tch::Kind;

use super::EPSILON;
use crate::adam::Adam;
use pe_burn::graph::{Operand, Operation, apply};

/// The dimensions that a row of `[batch, seq, width]` is one of.
const ROWS: &[i64] = &[0, 1];

/// As [`super::layer_norm`].
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>) -> Tensor<3> {
    let inputs = [Operand::of(x), Operand::of(gamma), Operand::of(beta)];
    apply(inputs, |[x, gamma, beta]: [TchTensor; 3]| {
        let width = gamma.tensor.size();
        let affine = (Some(&gamma.tensor), Some(&beta.tensor));
        let (y, mean, scale) = x
            .tensor
            .native_layer_norm(&width[..], affine.0, affine.1, EPSILON);
        let (mean, scale) = (TchTensor::new(mean), TchTensor::new(scale));
        let kept = LayerNorm {
            x,
            gamma,
            mean,
            scale,
        };
        (TchTensor::new(y), kept)
    })
    .tensor()
}

#[derive(Clone, Debug)]
struct LayerNorm {
    x: TchTensor,
    gamma: TchTensor,
    /// Of every row, `[batch, seq, 1]`.
    mean: TchTensor,
    /// One by the standard deviation of every row.
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
        // The parts of the gradient along ones and along x, which a normalization takes away.
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

/// As [`super::attention`].
pub fn attention(
    qkv: Tensor<3>,
    padding: Option<&Tensor<2, Bool>>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    let padding = padding.map(|padding| {
        let padding = padding.clone().without_autodiff();
        let found = "a mask on the device of the tensor that it masks";
        padding
            .try_into_primitive::<LibTorch>()
            .expect(found)
            .tensor
    });
    let forward = |qkv: TchTensor, bias: Option<&tch::Tensor>| {
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
        let weights = scores.softmax(-1, Kind::Float);
        let y = weights.matmul(&v).transpose(1, 2).flatten(2, 3);
        let weights = TchTensor::new(weights);
        (TchTensor::new(y), Attention { qkv, weights })
    };
    match bias {
        None => apply([Operand::of(qkv)], |[qkv]: [TchTensor; 1]| {
            forward(qkv, None)
        }),
        Some(bias) => {
            let shared = bias.dims()[0] == 1;
            let inputs = [Operand::of(qkv), Operand::of(bias)];
            apply(inputs, |[qkv, bias]: [TchTensor; 2]| {
                let (y, attention) = forward(qkv, Some(&bias.tensor));
                (y, Biased { attention, shared })
            })
        }
    }
    .tensor()
}

/// Queries, keys and values, each `[batch, heads, seq, d_head]`, where they lie.
fn parts(qkv: &tch::Tensor, heads: i64) -> [tch::Tensor; 3] {
    let parts = qkv.unflatten(2, [3, heads, -1]).permute([2, 0, 3, 1, 4]);
    [0, 1, 2].map(|which| parts.get(which))
}

#[derive(Clone, Debug)]
struct Attention {
    qkv: TchTensor,
    /// `[batch, heads, seq, seq]`
    weights: TchTensor,
}

impl Attention {
    /// The gradients with respect to `qkv` and to the scores.
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
        // [batch, seq, 3, heads, d_head], as the projection wrote them.
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

/// Attention with a bias that has a gradient too.
#[derive(Clone, Debug)]
struct Biased {
    attention: Attention,
    /// Whether the bias is one for all sequences.
    shared: bool,
}

impl Operation<LibTorch, 2> for Biased {
    fn backward(self, gradient: TchTensor) -> [TchTensor; 2] {
        let [dqkv, dscores] = self.attention.gradients(gradient);
        let dbias = match self.shared {
            true => dscores.sum_dim_intlist(&[0_i64][..], true, Kind::Float),
            false => dscores,
        };
        [dqkv, dbias].map(TchTensor::new)
    }
}

/// A step of [`Adam`], for [numbers of the processor](super::on_libtorchs_processor).
pub fn adam<const D: usize>(
    adam: &Adam,
    rate: f64,
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    state: Option<AdamState<D>>,
) -> (Tensor<D>, Option<AdamState<D>>) {
    let inner = |x: Tensor<D>| {
        let x = x.try_into_primitive::<LibTorch>();
        x.expect("as the parameter").tensor.contiguous()
    };
    let (parameter, gradient) = (inner(parameter), inner(gradient));
    let (time, [first, second]) = match state {
        Some(AdamState { momentum }) => {
            let moments = [momentum.moment_1, momentum.moment_2];
            (momentum.time + 1, moments.map(inner))
        }
        None => (1, [(); 2].map(|()| parameter.zeros_like())),
    };
    let new = [(); 3].map(|()| parameter.empty_like());
    // SAFETY: these have just been made, and nobody else knows of them.
    let to = new.each_ref().map(|x| unsafe { memory(x) });
    let before = [&parameter, &gradient, &first, &second].map(numbers);
    adam_step(to, before, &Rates::new(adam, rate, time, before[1]));
    let [parameter, moment_1, moment_2] =
        new.map(|x| Tensor::from_primitive::<LibTorch>(TchTensor::new(x)));
    let momentum = AdaptiveMomentumState::new(time, moment_1, moment_2);
    (parameter, Some(AdamState::new(momentum)))
}

/// What the numbers of a parameter have in common in a step.
struct Rates {
    /// What the gradient is scaled by.
    clip: f32,
    keep: [f32; 2],
    add: [f32; 2],
    /// What the mean gradient is multiplied by, and what is added to the root of the mean square.
    correction: f32,
    epsilon: f32,
    rate: f32,
}

impl Rates {
    fn new(adam: &Adam, rate: f64, time: usize, gradient: &[f32]) -> Self {
        let time = time as i32;
        let clip = adam.clip_norm.map_or(1.0, |most| {
            let factor = most / (squares(gradient).sqrt() as f32 + f32::MIN_POSITIVE);
            // Not `min`, which is 1 where the norm is not a number.
            if factor > 1.0 { 1.0 } else { factor }
        });
        let root = (1.0 - adam.beta_2.powi(time)).sqrt();
        Self {
            clip,
            keep: [adam.beta_1, adam.beta_2],
            add: [1.0 - adam.beta_1, 1.0 - adam.beta_2],
            correction: root / (1.0 - adam.beta_1.powi(time)),
            epsilon: adam.epsilon * root,
            rate: rate as f32,
        }
    }
}

/// Eight sums, so that they need not wait for each other.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn squares(numbers: &[f32]) -> f64 {
    let (blocks, rest) = numbers.as_chunks::<8>();
    let mut sums = [0.0_f64; 8];
    for block in blocks {
        for i in 0..8 {
            sums[i] += f64::from(block[i]) * f64::from(block[i]);
        }
    }
    let rest = rest.iter().map(|x| f64::from(*x) * f64::from(*x));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}

/// New values of a parameter and of its two moments, from the old ones and the gradient.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
fn adam_step(to: [&mut [MaybeUninit<f32>]; 3], from: [&[f32]; 4], rates: &Rates) {
    let len = from[0].len();
    let ([parameter, gradient, first, second], [to, to_first, to_second]) = (
        from.map(|numbers| &numbers[..len]),
        to.map(|numbers| &mut numbers[..len]),
    );
    let Rates {
        clip,
        keep,
        add,
        correction,
        epsilon,
        rate,
    } = *rates;
    for i in 0..len {
        let gradient = gradient[i] * clip;
        let mean = first[i] * keep[0] + gradient * add[0];
        let square = second[i] * keep[1] + gradient * gradient * add[1];
        let step = mean * correction / (square.sqrt() + epsilon);
        to[i].write(parameter[i] - step * rate);
        to_first[i].write(mean);
        to_second[i].write(square);
    }
}

/// The numbers of a contiguous tensor of the processor.
fn numbers(x: &tch::Tensor) -> &[f32] {
    assert!(is_plain(x));
    match x.numel() {
        0 => &[],
        // SAFETY: LibTorch holds so many numbers there, as long as the tensor lives.
        len => unsafe { std::slice::from_raw_parts(x.data_ptr().cast(), len) },
    }
}

/// The memory of a contiguous tensor of the processor, to write for the first time.
///
/// # Safety
///
/// Nobody else has the memory of this tensor.
#[allow(clippy::mut_from_ref)] // a tensor of LibTorch is a pointer
unsafe fn memory(x: &tch::Tensor) -> &mut [MaybeUninit<f32>] {
    assert!(is_plain(x));
    match x.numel() {
        0 => &mut [],
        // SAFETY: so the caller has promised, and LibTorch holds so many numbers there.
        len => unsafe { std::slice::from_raw_parts_mut(x.data_ptr().cast(), len) },
    }
}

/// Whether its numbers lie one after the other in the memory of the processor.
fn is_plain(x: &tch::Tensor) -> bool {
    x.is_contiguous() && x.kind() == Kind::Float && x.device() == tch::Device::Cpu
}
