//! Kernels for graphics cards, written once with CubeCL. A card is asked to start one where Burn starts
//! many, which is what a small model waits for.
//!
//! The products of matrices are Burn's.

mod adam;
mod layer_norm;
mod memory;
mod softmax;
mod threads;

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Cube, backend_extension};
use burn::optim::{AdamState, AdaptiveMomentumState};
use burn::tensor::{DType, FloatDType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use pe_burn::autodiff::{Operand, Operation, apply};

use crate::kernels::bias::Bias;
use crate::kernels::rates::Rates;
use crate::plain::{MASKED, Mask, join_heads, key_mask, split_heads};

/// What a graphics card computes in one launch each, or in two. All tensors are `f32`.
#[backend_extension(Cube, Fusion)]
pub trait Ops: Backend {
    /// Layer normalization of rows of `x`, and the moments of every row, `[rows, 2]`.
    #[fusion(meta = |x, _gamma, _beta, _epsilon| (x.clone(), moments_of(x)))]
    fn enc_layer_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// The gradient of `x`, and those of γ and β, `[row groups, 2, d_model]`, which are yet to be added.
    #[fusion(meta = |x, _gamma, _moments, _dy| (x.clone(), sums_of(x)))]
    fn enc_layer_norm_backward(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        dy: FloatTensor<Self>,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// `softmax(scores · scale + bias)`, where `biased`, with later keys masked, where `causal`.
    #[fusion(dtype = scores, shape = scores)]
    fn enc_softmax(
        scores: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        biased: bool,
        causal: bool,
        scale: f32,
    ) -> FloatTensor<Self>;

    /// The gradient of the scores times `factor`.
    #[fusion(dtype = dweights, shape = dweights)]
    fn enc_softmax_backward(
        weights: FloatTensor<Self>,
        dweights: FloatTensor<Self>,
        factor: f32,
    ) -> FloatTensor<Self>;

    /// Queries, keys and values, `[batch, heads, seq, d_head]` each, as `[batch, seq, 3 · d_model]`.
    #[fusion(meta = |q, _k, _v| joined(q))]
    fn enc_join(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        v: FloatTensor<Self>,
    ) -> FloatTensor<Self>;

    /// The new values of a parameter and of its moments.
    #[fusion(meta = |parameter, _gradient, first, second, _rates| {
        (parameter.clone(), first.clone(), second.clone())
    })]
    fn enc_adam(
        parameter: FloatTensor<Self>,
        gradient: FloatTensor<Self>,
        first: FloatTensor<Self>,
        second: FloatTensor<Self>,
        rates: Rates,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);
}

fn moments_of(x: &TensorSpec) -> TensorSpec {
    let rows = x.shape.num_elements() / x.shape[x.shape.num_dims() - 1];
    TensorSpec::new([rows, 2].into(), x.dtype)
}

fn sums_of(x: &TensorSpec) -> TensorSpec {
    let width = x.shape[x.shape.num_dims() - 1];
    let groups = layer_norm::row_groups(x.shape.num_elements() / width);
    TensorSpec::new([groups, 2, width].into(), x.dtype)
}

fn joined(q: &TensorSpec) -> TensorSpec {
    let [batch, heads, seq, d_head] = q.shape.dims();
    TensorSpec::new([batch, seq, 3 * heads * d_head].into(), q.dtype)
}

impl Ops for CubeBackend {
    fn enc_layer_norm(
        x: CubeTensor,
        gamma: CubeTensor,
        beta: CubeTensor,
        epsilon: f32,
    ) -> (CubeTensor, CubeTensor) {
        layer_norm::forward(x, gamma, beta, epsilon)
    }

    fn enc_layer_norm_backward(
        x: CubeTensor,
        gamma: CubeTensor,
        moments: CubeTensor,
        dy: CubeTensor,
    ) -> (CubeTensor, CubeTensor) {
        layer_norm::backward(x, gamma, moments, dy)
    }

    fn enc_softmax(
        scores: CubeTensor,
        bias: CubeTensor,
        biased: bool,
        causal: bool,
        scale: f32,
    ) -> CubeTensor {
        softmax::forward(scores, bias, biased, causal, scale)
    }

    fn enc_softmax_backward(weights: CubeTensor, dweights: CubeTensor, factor: f32) -> CubeTensor {
        softmax::backward(weights, dweights, factor)
    }

    fn enc_join(q: CubeTensor, k: CubeTensor, v: CubeTensor) -> CubeTensor {
        softmax::join(q, k, v)
    }

    fn enc_adam(
        parameter: CubeTensor,
        gradient: CubeTensor,
        first: CubeTensor,
        second: CubeTensor,
        rates: Rates,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        adam::step(parameter, gradient, first, second, rates)
    }
}

/// The tensor of a primitive, without autodiff.
fn tensor<const D: usize>(x: FloatTensor<Cube>) -> Tensor<D> {
    Tensor::from_primitive::<Cube>(x)
}

/// The primitive of a tensor without autodiff.
fn primitive<const D: usize>(x: Tensor<D>) -> FloatTensor<Cube> {
    let x = x.try_into_primitive::<Cube>();
    x.expect("a tensor on the device of the input")
}

/// As [`plain::layer_norm`](crate::plain::layer_norm): `x` is `[batch, seq, d_model]`, `gamma` and
/// `beta` are `[d_model]`.
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, epsilon: f64) -> Tensor<3> {
    let inputs = [Operand::of(x), Operand::of(gamma), Operand::of(beta)];
    apply(inputs, |[x, gamma, beta]: [FloatTensor<Cube>; 3]| {
        let (y, moments) = Cube::enc_layer_norm(x.clone(), gamma.clone(), beta, epsilon as f32);
        (y, LayerNorm { x, gamma, moments })
    })
    .tensor()
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct LayerNorm {
    x: FloatTensor<Cube>,
    gamma: FloatTensor<Cube>,
    moments: FloatTensor<Cube>,
}

impl Operation<Cube, 3> for LayerNorm {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 3] {
        let Self { x, gamma, moments } = self;
        let (dx, sums) = Cube::enc_layer_norm_backward(x, gamma, moments, dy);
        let mut sums = tensor::<3>(sums);
        let [groups, _, width] = sums.dims();
        if groups > 1 {
            sums = sums.sum_dim(0);
        }
        let of = |which| primitive(sums.clone().narrow(1, which, 1).reshape([width]));
        [dx, of(0), of(1)]
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
        let padding = key_mask(&padding.clone().without_autodiff());
        padding.float().cast(FloatDType::F32) * MASKED
    });
    let compute = |qkv: FloatTensor<Cube>, bias: Option<FloatTensor<Cube>>| {
        let parts = split_heads(tensor(qkv), heads);
        let [q, k, v] = parts.clone();
        let scale = 1.0 / (q.dims()[3] as f32).sqrt();
        // A score of a masked key is replaced in `plain`, and here lowered so far that its weight is 0 too.
        let bias = match (bias.map(tensor::<4>), padding) {
            (None, None) => None,
            (Some(bias), None) | (None, Some(bias)) => Some(bias),
            (Some(bias), Some(padding)) => Some(bias + padding),
        };
        let scores = primitive(q.clone().matmul(k.transpose()));
        let biased = bias.is_some();
        let bias = bias.map_or_else(|| primitive(q), primitive);
        let weights = Cube::enc_softmax(scores, bias, biased, mask.causal, scale);
        let y = join_heads(tensor::<4>(weights.clone()).matmul(v));
        let parts = parts.map(primitive);
        (primitive(y), Attention { parts, weights })
    };
    match Bias::<Cube>::new(bias) {
        Bias::None => apply([Operand::of(qkv)], |[qkv]| compute(qkv, None)),
        Bias::Constant(bias) => apply([Operand::of(qkv)], |[qkv]| compute(qkv, Some(bias))),
        Bias::Tracked(bias) => apply(
            [Operand::of(qkv), bias],
            |[qkv, bias]: [FloatTensor<Cube>; 2]| {
                let shared = tensor::<4>(bias.clone()).dims()[0] == 1;
                let (y, attention) = compute(qkv, Some(bias));
                (y, WithBias { attention, shared })
            },
        ),
    }
    .tensor()
}

/// As [`plain::cached_attention`](crate::plain::cached_attention), of tensors without autodiff whose shapes fit together. The bias
/// is of any float type.
pub fn cached_attention(
    q: Tensor<4>,
    [k, v]: [Tensor<4>; 2],
    bias: Option<Tensor<4>>,
) -> Tensor<4> {
    let scale = 1.0 / (q.dims()[3] as f32).sqrt();
    let scores = primitive(q.clone().matmul(k.transpose()));
    let biased = bias.is_some();
    let bias = bias.map_or(q, |bias| bias.cast(FloatDType::F32));
    let weights = Cube::enc_softmax(scores, primitive(bias), biased, true, scale);
    tensor::<4>(weights).matmul(v)
}

/// What the backward pass needs.
#[derive(Clone, Debug)]
struct Attention {
    /// Queries, keys and values, `[batch, heads, seq, d_head]`.
    parts: [FloatTensor<Cube>; 3],
    /// `[batch, heads, seq, seq]`
    weights: FloatTensor<Cube>,
}

impl Attention {
    /// The gradients of `qkv` and of the scores, the second times `factor`.
    fn gradients(self, dy: FloatTensor<Cube>, factor: f32) -> (FloatTensor<Cube>, Tensor<4>) {
        let [q, k, v] = self.parts.map(tensor::<4>);
        let weights = tensor::<4>(self.weights.clone());
        let [batch, heads, seq, d_head] = q.dims();
        let dy = tensor::<3>(dy)
            .reshape([batch, seq, heads, d_head])
            .swap_dims(1, 2);
        let dv = weights.transpose().matmul(dy.clone());
        let dweights = primitive(dy.matmul(v.transpose()));
        let dscores = tensor::<4>(Cube::enc_softmax_backward(self.weights, dweights, factor));
        let scale = 1.0 / (d_head as f32).sqrt() / factor;
        let scaled = |x: Tensor<4>| if scale == 1.0 { x } else { x * scale };
        let dq = scaled(dscores.clone().matmul(k));
        let dk = scaled(dscores.clone().transpose().matmul(q));
        let [dq, dk, dv] = [dq, dk, dv].map(primitive);
        (Cube::enc_join(dq, dk, dv), dscores)
    }
}

impl Operation<Cube, 1> for Attention {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        let d_head = tensor::<4>(self.parts[0].clone()).dims()[3];
        let scale = 1.0 / (d_head as f32).sqrt();
        [self.gradients(dy, scale).0]
    }
}

/// What the backward pass needs when the bias gets a gradient too.
#[derive(Clone, Debug)]
struct WithBias {
    attention: Attention,
    /// Whether all sequences have the same bias, whose gradient is then the sum over the sequences.
    shared: bool,
}

impl Operation<Cube, 2> for WithBias {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 2] {
        let (dqkv, dbias) = self.attention.gradients(dy, 1.0);
        let dbias = match self.shared {
            true => dbias.sum_dim(0),
            false => dbias,
        };
        [dqkv, primitive(dbias)]
    }
}

/// Whether the parameter is one that [`step`] can take: `f32` on a graphics card.
pub fn takes<const D: usize>(parameter: &Tensor<D>) -> bool {
    let device = parameter.device();
    parameter.dtype() == DType::F32 && !device.is_autodiff() && pe_burn::is_card(&device)
}

/// A step of Adam for a parameter: its new values, and the new state.
pub fn step<const D: usize>(
    rates: Rates,
    parameter: Tensor<D>,
    gradient: Tensor<D>,
    state: Option<AdamState<D>>,
) -> (Tensor<D>, Option<AdamState<D>>) {
    let (time, first, second) = match state {
        Some(AdamState { momentum }) => (momentum.time + 1, momentum.moment_1, momentum.moment_2),
        None => (1, parameter.zeros_like(), parameter.zeros_like()),
    };
    let [parameter, gradient, first, second] = [parameter, gradient, first, second].map(primitive);
    let (parameter, first, second) = Cube::enc_adam(parameter, gradient, first, second, rates);
    let momentum = AdaptiveMomentumState::new(time, tensor(first), tensor(second));
    (tensor(parameter), Some(AdamState::new(momentum)))
}

#[cfg(test)]
mod tests {
    use super::*;

    use burn::optim::Optimizer;
    use burn::tensor::{Device, DeviceKind, Distribution};

    use crate::kernels::compare;
    use crate::testing::{difference, random, values};
    use crate::{Adam, Kernels};

    /// The graphics cards of this build, or those that `PE_TEST_DEVICES` names.
    fn cards() -> Vec<Device> {
        let only = std::env::var("PE_TEST_DEVICES").ok();
        let named = |name: &str| {
            only.iter()
                .all(|only| only.split(',').any(|one| one == name))
        };
        let mut cards = Vec::new();
        #[cfg(feature = "wgpu")]
        if named("wgpu") {
            cards.push(Device::wgpu(DeviceKind::DefaultDevice));
        }
        #[cfg(feature = "vulkan")]
        if named("vulkan") {
            cards.push(Device::vulkan(DeviceKind::DefaultDevice));
        }
        #[cfg(feature = "cuda")]
        if named("cuda") {
            cards.push(Device::cuda(0));
        }
        assert!(
            !cards.is_empty(),
            "{only:?} names no graphics card of this build"
        );
        cards
    }

    #[test]
    fn cards_normalize_layers_as_burns_operations_do() {
        for card in cards() {
            compare::layer_norm(&card.autodiff(), layer_norm);
        }
    }

    /// More rows than one workgroup adds up, and more columns than it has threads.
    #[test]
    fn cards_normalize_many_wide_rows() {
        for card in cards() {
            let device = card.autodiff();
            let x = random([3, 200, 700], &device);
            let (gamma, beta) = (random([700], &device), random([700], &device));
            let weights = Tensor::<3>::random(x.dims(), Distribution::Default, &device);
            let run = |of: &dyn Fn(Tensor<3>, Tensor<1>, Tensor<1>) -> Tensor<3>| {
                let leaves = (x.clone().require_grad(), gamma.clone().require_grad());
                let beta = beta.clone().require_grad();
                let y = of(leaves.0.clone(), leaves.1.clone(), beta.clone());
                // Weights above 0, so that no sum of a column cancels.
                let gradients = (y.clone() * weights.clone()).sum().backward();
                let of_x = values(leaves.0.grad(&gradients).unwrap());
                let of_gamma = values(leaves.1.grad(&gradients).unwrap());
                [
                    values(y),
                    of_x,
                    of_gamma,
                    values(beta.grad(&gradients).unwrap()),
                ]
            };
            let kernel = run(&|x, gamma, beta| layer_norm(x, gamma, beta, 1e-5));
            let burns =
                run(&|x, gamma, beta| burn::tensor::module::layer_norm(x, gamma, Some(beta), 1e-5));
            for (one, other) in burns.into_iter().zip(kernel) {
                let apart = difference(&one, &other);
                assert!(apart < 2e-6, "{apart}");
            }
        }
    }

    #[test]
    fn cards_attend_as_burns_operations_do() {
        for card in cards() {
            compare::attention(&card.autodiff(), attention);
        }
    }

    /// One token and several after others, without a bias and with one for all sequences or for each.
    #[test]
    fn cards_attend_to_a_cache_as_burns_operations_do() {
        for card in cards() {
            for [queries, keys] in [[1, 1], [1, 40], [5, 70], [30, 300]] {
                let of = |rows| random([2, 3, rows, 8], &card);
                let (q, cache) = (of(queries), [of(keys), of(keys)]);
                let bias = |biases| random([biases, 3, queries, keys], &card);
                for bias in [None, Some(bias(1)), Some(bias(2))] {
                    let burns = crate::plain::cached_attention(
                        q.clone(),
                        cache.clone(),
                        bias.clone(),
                        None,
                    );
                    let kernel = cached_attention(q.clone(), cache.clone(), bias);
                    let apart = difference(&values(burns), &values(kernel));
                    assert!(apart < 2e-6, "{queries} of {keys}: {apart}");
                }
            }
        }
    }

    #[test]
    fn cards_attend_with_a_bias_as_burns_operations_do() {
        for card in cards() {
            compare::attention_with_bias(&card.autodiff(), attention);
        }
    }

    /// Small parameters, and large ones, whose norm has a launch of its own; clipped and not.
    #[test]
    fn cards_step_as_burns_adam_does() {
        for card in cards() {
            for elements in [1, 300, 70_000] {
                for clip_norm in [None, Some(0.5), Some(1e6)] {
                    let adam = |kernels| Adam {
                        beta_1: 0.9,
                        beta_2: 0.98,
                        epsilon: 1e-8,
                        clip_norm,
                        weight_decay: 0.0,
                        kernels,
                    };
                    let start = random([elements], &card);
                    let gradients: Vec<Tensor<1>> =
                        (0..4).map(|_| random([elements], &card)).collect();
                    let run = |kernels| {
                        let (mut parameter, mut state) = (start.clone(), None);
                        for gradient in gradients.clone() {
                            let step = adam(kernels).step(1e-2, parameter, gradient, state);
                            (parameter, state) = step;
                        }
                        values(parameter)
                    };
                    let (burns, kernel) = (run(Kernels::Off), run(Kernels::Auto));
                    let apart = difference(&burns, &kernel);
                    assert!(apart < 2e-6, "{elements}, {clip_norm:?}: {apart}");
                }
            }
        }
    }

    #[test]
    fn cards_hide_no_nan_of_a_gradient() {
        for card in cards() {
            let adam = Adam {
                beta_1: 0.9,
                beta_2: 0.98,
                epsilon: 1e-8,
                clip_norm: Some(1.0),
                weight_decay: 0.0,
                kernels: Kernels::Auto,
            };
            let gradient = Tensor::<1>::from_data([1.0, f32::NAN, 2.0], &card);
            let (parameter, _) = adam.step(1e-2, random([3], &card), gradient, None);
            assert!(values(parameter).iter().all(|x| x.is_nan()));
        }
    }
}
