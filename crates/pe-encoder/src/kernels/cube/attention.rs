//! Attention on graphics cards: by one kernel where a head fits into a workgroup, else by Burn's products of matrices and a
//! kernel for the softmax.

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Cube, DispatchDevice, backend_extension};
use burn::tensor::{Device, FloatDType, Tensor};
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use pe_burn::autodiff::{Operand, Operation, apply};

use super::heads::{self, Form};
use super::{primitive, softmax, tensor};
use crate::kernels::bias::Bias;
use crate::plain::{LOWERED, Mask, join_heads, key_mask, split_heads};

/// What a graphics card computes in one launch each. All tensors are `f32`.
#[backend_extension(Cube, Fusion)]
pub trait AttentionOps: Backend {
    /// See [`heads::forward`].
    #[fusion(meta = |qkv, _bias, form| outputs_of(qkv, *form))]
    fn enc_heads(
        qkv: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        form: Form,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// See [`heads::backward`].
    #[fusion(meta = |qkv, _bias, _moments, _dy, form, of_bias| gradients_of(qkv, *form, *of_bias))]
    fn enc_heads_backward(
        qkv: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        dy: FloatTensor<Self>,
        form: Form,
        of_bias: bool,
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
}

fn outputs_of(qkv: &TensorSpec, form: Form) -> (TensorSpec, TensorSpec) {
    let [batch, seq, width] = qkv.shape.dims();
    let spec = |shape| TensorSpec::new(shape, qkv.dtype);
    let moments = [batch, form.heads, seq, 2].into();
    (spec([batch, seq, width / 3].into()), spec(moments))
}

fn gradients_of(qkv: &TensorSpec, form: Form, of_bias: bool) -> (TensorSpec, TensorSpec) {
    let [batch, seq, _] = qkv.shape.dims();
    let of_scores = match of_bias {
        true => [batch, form.heads, seq, seq].into(),
        false => [1].into(),
    };
    (qkv.clone(), TensorSpec::new(of_scores, qkv.dtype))
}

fn joined(q: &TensorSpec) -> TensorSpec {
    let [batch, heads, seq, d_head] = q.shape.dims();
    TensorSpec::new([batch, seq, 3 * heads * d_head].into(), q.dtype)
}

impl AttentionOps for CubeBackend {
    fn enc_heads(qkv: CubeTensor, bias: CubeTensor, form: Form) -> (CubeTensor, CubeTensor) {
        heads::forward(qkv, bias, form)
    }

    fn enc_heads_backward(
        qkv: CubeTensor,
        bias: CubeTensor,
        moments: CubeTensor,
        dy: CubeTensor,
        form: Form,
        of_bias: bool,
    ) -> (CubeTensor, CubeTensor) {
        heads::backward([qkv, bias, moments, dy], form, of_bias)
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
}

/// The bytes of memory that the threads of a workgroup share.
fn memory_of_workgroups(device: &Device) -> usize {
    match device.clone().inner().as_dispatch() {
        DispatchDevice::Cube(card) => {
            let client = card.client();
            client.properties().hardware.max_shared_memory_size
        }
        #[allow(unreachable_patterns)] // where the build has no other backend
        _ => 0,
    }
}

/// As [`plain::attention`](crate::plain::attention).
pub fn attention(
    qkv: Tensor<3>,
    mask: Mask<'_>,
    bias: Option<Tensor<4>>,
    heads: usize,
) -> Tensor<3> {
    let [_, seq, width] = qkv.dims();
    let memory = memory_of_workgroups(&qkv.device());
    let whole = heads::fit(seq, width / 3 / heads, memory);
    let padding = mask.padding.map(|padding| {
        let padding = key_mask(&padding.clone().without_autodiff());
        padding.float().cast(FloatDType::F32) * LOWERED
    });
    let compute = |qkv: FloatTensor<Cube>, bias: Option<FloatTensor<Cube>>| {
        // `plain` replaces the score of a masked key. Here the score is lowered so far that its weight is 0 too.
        let bias = match (bias.map(tensor::<4>), padding) {
            (None, None) => None,
            (Some(bias), None) | (None, Some(bias)) => Some(bias),
            (Some(bias), Some(padding)) => Some(bias + padding),
        };
        let bias = bias.map(primitive);
        match whole {
            true => of_heads(qkv, bias, heads, mask.causal),
            false => by_products(qkv, bias, heads, mask.causal),
        }
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

/// By a workgroup for each head.
fn of_heads(
    qkv: FloatTensor<Cube>,
    bias: Option<FloatTensor<Cube>>,
    heads: usize,
    causal: bool,
) -> (FloatTensor<Cube>, Attention) {
    let [_, _, width] = tensor::<3>(qkv.clone()).dims();
    let form = Form {
        heads,
        d_head: width / 3 / heads,
        biased: bias.is_some(),
        causal,
    };
    let bias = bias.unwrap_or_else(|| qkv.clone());
    let (y, moments) = Cube::enc_heads(qkv.clone(), bias.clone(), form);
    let inputs = [qkv, bias, moments];
    (y, Attention::OfHeads { inputs, form })
}

/// By Burn's products.
fn by_products(
    qkv: FloatTensor<Cube>,
    bias: Option<FloatTensor<Cube>>,
    heads: usize,
    causal: bool,
) -> (FloatTensor<Cube>, Attention) {
    let parts = split_heads(tensor(qkv), heads);
    let [q, k, v] = parts.clone();
    let scale = 1.0 / (q.dims()[3] as f32).sqrt();
    let scores = primitive(q.clone().matmul(k.transpose()));
    let biased = bias.is_some();
    let bias = bias.unwrap_or_else(|| primitive(q));
    let weights = Cube::enc_softmax(scores, bias, biased, causal, scale);
    let y = join_heads(tensor::<4>(weights.clone()).matmul(v));
    let parts = parts.map(primitive);
    (primitive(y), Attention::ByProducts { parts, weights })
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
enum Attention {
    OfHeads {
        /// The projection, the bias or another tensor in its place, and the moments of every query.
        inputs: [FloatTensor<Cube>; 3],
        form: Form,
    },
    ByProducts {
        /// Queries, keys and values, `[batch, heads, seq, d_head]`.
        parts: [FloatTensor<Cube>; 3],
        /// `[batch, heads, seq, seq]`
        weights: FloatTensor<Cube>,
    },
}

impl Attention {
    /// The gradients of `qkv` and, where `of_bias`, of the scores.
    fn gradients(self, dy: FloatTensor<Cube>, of_bias: bool) -> [FloatTensor<Cube>; 2] {
        match self {
            Self::OfHeads { inputs, form } => {
                let [qkv, bias, moments] = inputs;
                Cube::enc_heads_backward(qkv, bias, moments, dy, form, of_bias).into()
            }
            Self::ByProducts { parts, weights } => {
                let parts = parts.map(tensor::<4>);
                gradients_by_products(parts, weights, tensor(dy), of_bias)
            }
        }
    }
}

/// The gradients of `qkv` and of the scores. The second one is used only if `of_bias`.
fn gradients_by_products(
    [q, k, v]: [Tensor<4>; 3],
    weights: FloatTensor<Cube>,
    dy: Tensor<3>,
    of_bias: bool,
) -> [FloatTensor<Cube>; 2] {
    let [batch, heads, seq, d_head] = q.dims();
    let dy = dy.reshape([batch, seq, heads, d_head]).swap_dims(1, 2);
    let dv = tensor::<4>(weights.clone()).transpose().matmul(dy.clone());
    let dweights = primitive(dy.matmul(v.transpose()));
    // If `of_bias`, the gradient of the scores is also that of the bias: then the products with it are scaled in its
    // place.
    let scale = 1.0 / (d_head as f32).sqrt();
    let factor = if of_bias { 1.0 } else { scale };
    let dscores = tensor::<4>(Cube::enc_softmax_backward(weights, dweights, factor));
    let scaled = |x: Tensor<4>| if of_bias { x * scale } else { x };
    let dq = scaled(dscores.clone().matmul(k));
    let dk = scaled(dscores.clone().transpose().matmul(q));
    let [dq, dk, dv] = [dq, dk, dv].map(primitive);
    [Cube::enc_join(dq, dk, dv), primitive(dscores)]
}

impl Operation<Cube, 1> for Attention {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        let [dqkv, _] = self.gradients(dy, false);
        [dqkv]
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
        let [dqkv, dscores] = self.attention.gradients(dy, true);
        let dbias = match self.shared {
            true => primitive(tensor::<4>(dscores).sum_dim(0)),
            false => dscores,
        };
        [dqkv, dbias]
    }
}
