//! Kernels for graphics cards (wgpu, Vulkan, Metal, WebGPU, CUDA, ROCm), written once with CubeCL. Burn
//! takes a dozen launches for what one of these does.
//!
//! Burn's fusion of operations sees each as one custom operation and fuses around it.

mod rotation;

use alloc::vec; // the macro of Burn below names both
use alloc::vec::Vec;

use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Cube, DispatchDevice, backend_extension};
use burn::tensor::GradientCheckpointingStrategy::Disabled;
use burn::tensor::{DType, Tensor};
use burn_cubecl::CubeBackend;

use crate::backend::autodiff::{Operand, Operation, apply, apply_each};
use crate::layout::Layout;
use crate::rotate::turn::Turn;

/// Whether the kernels rotate this tensor: a type that is computed in `f32`, on a graphics card, without
/// gradient checkpointing, which would need to run the forward pass again.
pub(crate) fn supports(x: &Tensor<4>, rows: &Tensor<3>) -> bool {
    let device = x.device();
    matches!(x.dtype(), DType::F32 | DType::F16 | DType::BF16)
        && rows.dtype() == DType::F32
        && matches!(
            device.gradient_checkpointing_strategy(),
            None | Some(Disabled)
        )
        && matches!(device.inner().as_dispatch(), DispatchDevice::Cube(_))
}

/// What a graphics card computes in one launch each.
///
/// The shapes are those of [`crate::rotate::turn::rotate`]; `rows` are `f32`.
#[backend_extension(Cube, Fusion)]
pub trait Kernels: Backend {
    /// Rotates pairs of columns of `x`.
    #[fusion(dtype = x, shape = x)]
    fn pe_rotate(
        x: FloatTensor<Self>,
        rows: FloatTensor<Self>,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self>;

    /// Rotates queries and keys, which may differ in their number of heads, by the same rows.
    #[fusion(meta = |q, k, _rows, _layout, _turn| (q.clone(), k.clone()))]
    fn pe_rotate_both(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        rows: FloatTensor<Self>,
        layout: Layout,
        turn: Turn,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Rotates the first heads of a projection, `[batch, seq, heads, d_head]`.
    #[fusion(dtype = x, shape = x)]
    fn pe_rotate_heads(
        x: FloatTensor<Self>,
        rows: FloatTensor<Self>,
        heads: usize,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self>;
}

impl Kernels for CubeBackend {
    fn pe_rotate(
        x: FloatTensor<Self>,
        rows: FloatTensor<Self>,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self> {
        rotation::one(x, rows, layout, turn)
    }

    fn pe_rotate_both(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        rows: FloatTensor<Self>,
        layout: Layout,
        turn: Turn,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        rotation::both(q, k, rows, layout, turn)
    }

    fn pe_rotate_heads(
        x: FloatTensor<Self>,
        rows: FloatTensor<Self>,
        heads: usize,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self> {
        rotation::first_heads(x, rows, heads, layout, turn)
    }
}

/// Rotates the first columns of `x`, as many as `rows` has, and rounds once to the type of `x`.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d_head]`, not empty
/// - `rows`: `[1 or batch, seq, width]`, all sines before all cosines, `f32`
/// - output: as `x`
pub(crate) fn rotate(x: Tensor<4>, rows: Tensor<3>, layout: Layout, turn: Turn) -> Tensor<4> {
    let rows = primitive(rows);
    apply([Operand::of(x)], |[x]| {
        let y = Cube::pe_rotate(x, rows.clone(), layout, turn);
        (y, Rotation { rows, layout, turn })
    })
    .tensor()
}

/// [`rotate`] for queries and keys of one batch size, length and type.
pub(crate) fn rotate_both(
    q: Tensor<4>,
    k: Tensor<4>,
    rows: Tensor<3>,
    layout: Layout,
    turn: Turn,
) -> (Tensor<4>, Tensor<4>) {
    let rows = primitive(rows);
    let [q, k] = apply_each([Operand::of(q), Operand::of(k)], |[q, k]| {
        let (q, k) = Cube::pe_rotate_both(q, k, rows.clone(), layout, turn);
        let kept = Rotation { rows, layout, turn };
        [(q, kept.clone()), (k, kept)]
    });
    (q.tensor(), k.tensor())
}

/// [`rotate`] for the first `heads` heads of a projection, `[batch, seq, heads, d_head]`.
pub(crate) fn rotate_heads(
    x: Tensor<4>,
    rows: Tensor<3>,
    heads: usize,
    layout: Layout,
    turn: Turn,
) -> Tensor<4> {
    let rows = primitive(rows);
    apply([Operand::of(x)], |[x]| {
        let y = Cube::pe_rotate_heads(x, rows.clone(), heads, layout, turn);
        let rotation = Rotation { rows, layout, turn };
        (y, RotationOfHeads { rotation, heads })
    })
    .tensor()
}

fn primitive(rows: Tensor<3>) -> FloatTensor<Cube> {
    let rows = rows.without_autodiff().try_into_primitive::<Cube>();
    rows.expect("rows on the device of the input")
}

#[derive(Clone, Debug)]
struct Rotation {
    rows: FloatTensor<Cube>,
    layout: Layout,
    turn: Turn,
}

impl Operation<Cube, 1> for Rotation {
    fn backward(self, gradient: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        // The transpose of a rotation is its inverse.
        let turn = self.turn.inverse();
        [Cube::pe_rotate(gradient, self.rows, self.layout, turn)]
    }
}

#[derive(Clone, Debug)]
struct RotationOfHeads {
    rotation: Rotation,
    heads: usize,
}

impl Operation<Cube, 1> for RotationOfHeads {
    fn backward(self, gradient: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        let Rotation { rows, layout, turn } = self.rotation;
        let turn = turn.inverse();
        [Cube::pe_rotate_heads(
            gradient, rows, self.heads, layout, turn,
        )]
    }
}
