//! Layer normalization on graphics cards, and the sum of a residual connection together with the normalization after it:
//! one launch forward, and backward one launch and the addition of the sums that it writes.

use std::sync::{Arc, Mutex, PoisonError};

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Cube, backend_extension};
use burn::tensor::Tensor;
use burn_cubecl::CubeBackend;
use burn_cubecl::tensor::CubeTensor;
use pe_burn::autodiff::{Operand, Operation, apply};

use super::layer_norm::{self, Extra};
use super::linear::sum_of_rows;
use super::{primitive, tensor};

/// What a graphics card computes in one launch each. All tensors are `f32`.
#[backend_extension(Cube, Fusion)]
pub trait NormOps: Backend {
    /// Layer normalization of rows of `x`, and the moments of every row, `[rows, 2]`.
    #[fusion(meta = |x, _gamma, _beta, _epsilon| (x.clone(), moments_of(x)))]
    fn enc_layer_norm(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// See [`layer_norm::forward_of_sum`].
    #[fusion(meta = |x, _part, _bias, _gamma, _beta, _epsilon| (x.clone(), x.clone(), moments_of(x)))]
    fn enc_layer_norm_of_sum(
        x: FloatTensor<Self>,
        part: FloatTensor<Self>,
        bias: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        beta: FloatTensor<Self>,
        epsilon: f32,
    ) -> (FloatTensor<Self>, FloatTensor<Self>, FloatTensor<Self>);

    /// See [`layer_norm::backward`].
    #[fusion(meta = |x, _gamma, _moments, _dy, _addend, extra| (x.clone(), sums_of(x, *extra)))]
    fn enc_layer_norm_backward(
        x: FloatTensor<Self>,
        gamma: FloatTensor<Self>,
        moments: FloatTensor<Self>,
        dy: FloatTensor<Self>,
        addend: FloatTensor<Self>,
        extra: Extra,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);
}

fn moments_of(x: &TensorSpec) -> TensorSpec {
    let rows = x.shape.num_elements() / x.shape[x.shape.num_dims() - 1];
    TensorSpec::new([rows, 2].into(), x.dtype)
}

fn sums_of(x: &TensorSpec, extra: Extra) -> TensorSpec {
    let width = x.shape[x.shape.num_dims() - 1];
    let groups = layer_norm::row_groups(x.shape.num_elements() / width);
    TensorSpec::new([groups, extra.sums(), width].into(), x.dtype)
}

impl NormOps for CubeBackend {
    fn enc_layer_norm(
        x: CubeTensor,
        gamma: CubeTensor,
        beta: CubeTensor,
        epsilon: f32,
    ) -> (CubeTensor, CubeTensor) {
        layer_norm::forward(x, gamma, beta, epsilon)
    }

    fn enc_layer_norm_of_sum(
        x: CubeTensor,
        part: CubeTensor,
        bias: CubeTensor,
        gamma: CubeTensor,
        beta: CubeTensor,
        epsilon: f32,
    ) -> (CubeTensor, CubeTensor, CubeTensor) {
        layer_norm::forward_of_sum([x, part, bias], [gamma, beta], epsilon)
    }

    fn enc_layer_norm_backward(
        x: CubeTensor,
        gamma: CubeTensor,
        moments: CubeTensor,
        dy: CubeTensor,
        addend: CubeTensor,
        extra: Extra,
    ) -> (CubeTensor, CubeTensor) {
        layer_norm::backward([x, gamma, moments, dy, addend], extra)
    }
}

/// What the backward passes of a normalization and of its residual connection pass to each other, so that their gradients
/// are added without a launch for it.
///
/// A normalization reads a sum, and the next part reads its output. So the backward passes always run in this order: the
/// residual connection around the normalization, the normalization, the sum that it reads.
#[derive(Debug, Default)]
struct Passed {
    /// The gradient that reaches the sum through the residual connection, around the normalization.
    around: Option<FloatTensor<Cube>>,
    /// The sums of the columns of the gradient of what is normalized: the gradient of a bias that is part of it.
    columns: Option<FloatTensor<Cube>>,
}

type Shared = Arc<Mutex<Passed>>;

/// Calls `of` with what is passed on.
fn passed<T>(shared: &Shared, of: impl FnOnce(&mut Passed) -> T) -> T {
    of(&mut shared.lock().unwrap_or_else(PoisonError::into_inner))
}

/// A sum that is normalized, and what the backward pass of its normalization passes on.
pub struct Stream {
    pub x: Tensor<3>,
    shared: Shared,
}

/// γ, β and ε.
pub type Norm = (Tensor<1>, Tensor<1>, f32);

/// As [`plain::layer_norm`](crate::plain::layer_norm): `x` is `[batch, seq, d_model]`, `gamma` and
/// `beta` are `[d_model]`.
pub fn layer_norm(x: Tensor<3>, gamma: Tensor<1>, beta: Tensor<1>, epsilon: f64) -> Tensor<3> {
    open(x, (gamma, beta, epsilon as f32)).1
}

/// A stream of sums that begins with `x`, and its normalization.
pub fn open(x: Tensor<3>, (gamma, beta, epsilon): Norm) -> (Stream, Tensor<3>) {
    let shared = Shared::default();
    let normed = normalized(&x, [gamma, beta], (false, shared.clone()), |inputs| {
        let [x, gamma, beta] = inputs.clone();
        Cube::enc_layer_norm(x, gamma, beta, epsilon)
    });
    (Stream { x, shared }, normed)
}

/// The stream after `part` and its bias are added, and its normalization.
///
/// `part` is computed from the normalization before: else the stream before would get no gradient.
pub fn add(
    stream: Stream,
    part: Tensor<3>,
    bias: Tensor<1>,
    (gamma, beta, epsilon): Norm,
) -> (Stream, Tensor<3>) {
    let shared = Shared::default();
    let x = primitive(stream.x.without_autodiff());
    let norm = [&gamma, &beta].map(|x| primitive(x.clone().without_autodiff()));
    let mut written = None;
    let inputs = [Operand::of(part), Operand::of(bias)];
    let sum: Tensor<3> = apply(inputs, |[part, bias]: [FloatTensor<Cube>; 2]| {
        let [gamma, beta] = norm;
        let (sum, y, moments) = Cube::enc_layer_norm_of_sum(x, part, bias, gamma, beta, epsilon);
        written = Some((y, moments));
        let sides = [stream.shared, shared.clone()];
        (sum, Sum { sides })
    })
    .tensor();
    let normed = normalized(&sum, [gamma, beta], (true, shared.clone()), |_| {
        written.expect("written above")
    });
    (Stream { x: sum, shared }, normed)
}

/// Records a normalization of `x`. `compute` returns the output and the moments from x, γ and β. `summed` says whether x
/// is a sum.
fn normalized(
    x: &Tensor<3>,
    [gamma, beta]: [Tensor<1>; 2],
    (summed, shared): (bool, Shared),
    compute: impl FnOnce(&[FloatTensor<Cube>; 3]) -> (FloatTensor<Cube>, FloatTensor<Cube>),
) -> Tensor<3> {
    let inputs = [
        Operand::of(x.clone()),
        Operand::of(gamma),
        Operand::of(beta),
    ];
    apply(inputs, |inputs: [FloatTensor<Cube>; 3]| {
        let (y, moments) = compute(&inputs);
        let [x, gamma, _beta] = inputs;
        let inputs = [x, gamma, moments];
        (
            y,
            LayerNorm {
                inputs,
                summed,
                shared,
            },
        )
    })
    .tensor()
}

/// What the backward pass of a sum needs: what the normalizations before and after it pass on.
#[derive(Clone, Debug)]
struct Sum {
    sides: [Shared; 2],
}

impl Operation<Cube, 2> for Sum {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 2] {
        let [before, after] = self.sides;
        passed(&before, |of| of.around = Some(dy.clone()));
        let columns = passed(&after, |of| of.columns.take());
        let columns = columns.expect("the normalization of a sum is differentiated before it");
        [dy, columns]
    }
}

/// What the backward pass of a normalization needs.
#[derive(Clone, Debug)]
struct LayerNorm {
    /// x, γ and the moments of x.
    inputs: [FloatTensor<Cube>; 3],
    /// Whether x is a sum, whose bias needs the sums of columns.
    summed: bool,
    shared: Shared,
}

impl Operation<Cube, 3> for LayerNorm {
    fn backward(self, dy: FloatTensor<Cube>) -> [FloatTensor<Cube>; 3] {
        let [x, gamma, moments] = self.inputs;
        let around = passed(&self.shared, |of| of.around.take());
        let extra = Extra {
            added: around.is_some(),
            summed: self.summed,
        };
        let addend = around.unwrap_or_else(|| dy.clone());
        let (dx, sums) = Cube::enc_layer_norm_backward(x, gamma, moments, dy, addend, extra);
        let mut sums = tensor::<3>(sums);
        let [groups, each, width] = sums.dims();
        if groups > 1 {
            let of_groups = sums.reshape([1, groups, each * width]);
            sums = sum_of_rows(of_groups).reshape([1, each, width]);
        }
        let of = |which| primitive(sums.clone().narrow(1, which, 1).reshape([width]));
        if self.summed {
            passed(&self.shared, |passed| passed.columns = Some(of(2)));
        }
        [dx, of(0), of(1)]
    }
}
