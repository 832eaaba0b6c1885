//! Kernels for graphics cards (wgpu, Vulkan, Metal, WebGPU, CUDA, ROCm), written once with CubeCL. Burn
//! takes a dozen launches for what one of these does.
//!
//! Burn's fusion of operations sees each as one custom operation and fuses around it.

mod angles;
mod element;
mod plan;
mod rotation;
mod windows;

use alloc::vec; // the macro of Burn below names both
use alloc::vec::Vec;

use burn::backend::fusion::custom::TensorSpec;
use burn::backend::tensor::FloatTensor;
use burn::backend::{Backend, Cube, DispatchDevice, backend_extension};
use burn::tensor::GradientCheckpointingStrategy::Disabled;
use burn::tensor::{DType, Device, Tensor};
use burn_cubecl::CubeBackend;

use self::angles::Angles;
use crate::backend::autodiff::{Operand, Operation, apply, apply_each};
use crate::backend::{Addend, check_rotation};
use crate::layout::{Layout, Turn};

/// Whether the kernels take this tensor: a type that is computed in `f32`, on a graphics card, without
/// gradient checkpointing, which would need to run the forward pass again.
pub(crate) fn supports<const D: usize>(x: &Tensor<D>) -> bool {
    let device = x.device();
    matches!(x.dtype(), DType::F32 | DType::F16 | DType::BF16)
        && matches!(
            device.gradient_checkpointing_strategy(),
            None | Some(Disabled)
        )
        && is_card(&device)
}

/// Whether this is a graphics card, and not CubeCL's runtime for processors: there Burn's operations run.
pub fn is_card(device: &Device) -> bool {
    card(device).is_some()
}

fn card(device: &Device) -> Option<cubecl::Device> {
    match device.clone().inner().as_dispatch() {
        DispatchDevice::Cube(cubecl::Device::Cpu(_)) => None,
        DispatchDevice::Cube(card) => Some(card.clone()),
        #[allow(unreachable_patterns)] // where the build has no other backend
        _ => None,
    }
}

/// The most bytes that a card has for one tensor.
pub(crate) fn largest_tensor(device: &Device) -> usize {
    let card = card(device).expect("a graphics card");
    let memory = card.client().properties().memory.clone();
    let most = memory.max_memory().unwrap_or(u64::MAX);
    usize::try_from(most.min(memory.max_page_size)).unwrap_or(usize::MAX)
}

/// Whether the kernels rotate this tensor by these rows.
pub(crate) fn rotates(x: &Tensor<4>, rows: &Addend) -> bool {
    rows.dtype() == DType::F32 && supports(x) && !rows.is_tracked()
}

/// The operations that graphics cards have kernels for, each with at most one launch.
///
/// The shapes of rotations are those of [`crate::rotate::turn`]; the angles are [`Angles`].
#[backend_extension(Cube, Fusion)]
pub trait Kernels: Backend {
    /// Rotates pairs of columns of `x`.
    #[fusion(dtype = x, shape = x)]
    fn pe_rotate(
        x: FloatTensor<Self>,
        #[extension_type] angles: Angles<Self>,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self>;

    /// Rotates queries and keys, which may differ in their number of heads, by the same rows.
    #[fusion(meta = |q, k, _angles, _layout, _turn| (q.clone(), k.clone()))]
    fn pe_rotate_both(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        #[extension_type] angles: Angles<Self>,
        layout: Layout,
        turn: Turn,
    ) -> (FloatTensor<Self>, FloatTensor<Self>);

    /// Rotates the first heads of a projection, `[batch, seq, heads, d_head]`.
    #[fusion(dtype = x, shape = x)]
    fn pe_rotate_heads(
        x: FloatTensor<Self>,
        #[extension_type] angles: Angles<Self>,
        heads: usize,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self>;

    /// `x` itself, without a launch. Fused kernels end before a custom operation and begin after it, so `x` is in memory.
    #[fusion(dtype = x, shape = x)]
    fn pe_stored(x: FloatTensor<Self>) -> FloatTensor<Self>;

    /// Spreads a bias by distance, `[1, heads, 1, queries + keys − 1]`, over all pairs of queries and keys.
    #[fusion(meta = |strip, queries, keys| spread_spec(strip, *queries, *keys))]
    fn pe_spread(strip: FloatTensor<Self>, queries: usize, keys: usize) -> FloatTensor<Self>;

    /// The gradient of the bias by distance, from the gradient of all pairs.
    #[fusion(meta = strip_spec)]
    fn pe_gather(gradient: FloatTensor<Self>) -> FloatTensor<Self>;
}

fn spread_spec(strip: &TensorSpec, queries: usize, keys: usize) -> TensorSpec {
    let [_, heads, _, _] = strip.shape.dims();
    TensorSpec::new([1, heads, queries, keys].into(), strip.dtype)
}

fn strip_spec(gradient: &TensorSpec) -> TensorSpec {
    let [_, heads, queries, keys] = gradient.shape.dims();
    TensorSpec::new([1, heads, 1, queries + keys - 1].into(), gradient.dtype)
}

impl Kernels for CubeBackend {
    fn pe_rotate(
        x: FloatTensor<Self>,
        angles: Angles<Self>,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self> {
        rotation::one(x, angles, layout, turn)
    }

    fn pe_rotate_both(
        q: FloatTensor<Self>,
        k: FloatTensor<Self>,
        angles: Angles<Self>,
        layout: Layout,
        turn: Turn,
    ) -> (FloatTensor<Self>, FloatTensor<Self>) {
        rotation::both(q, k, angles, layout, turn)
    }

    fn pe_rotate_heads(
        x: FloatTensor<Self>,
        angles: Angles<Self>,
        heads: usize,
        layout: Layout,
        turn: Turn,
    ) -> FloatTensor<Self> {
        rotation::first_heads(x, angles, heads, layout, turn)
    }

    fn pe_stored(x: FloatTensor<Self>) -> FloatTensor<Self> {
        x
    }

    fn pe_spread(strip: FloatTensor<Self>, queries: usize, keys: usize) -> FloatTensor<Self> {
        windows::spread(strip, queries, keys)
    }

    fn pe_gather(gradient: FloatTensor<Self>) -> FloatTensor<Self> {
        windows::gather(gradient)
    }
}

/// Rotates the first columns of `x`, as many as `rows` has, and rounds once to the type of `x`.
///
/// # Shapes
///
/// - `x`: `[batch, heads, seq, d_head]`, not empty
/// - `rows`: `[1 or batch, seq, width]`, all sines before all cosines, `f32`
/// - output: as `x`
///
/// # Panics
///
/// When these are not the shapes.
pub(crate) fn rotate(x: Tensor<4>, rows: Addend, layout: Layout, turn: Turn) -> Tensor<4> {
    check_rotation(x.dims(), x.dims()[1], rows.dims());
    let angles = Angles::new(rows);
    apply([Operand::of(x)], |[x]| {
        let y = Cube::pe_rotate(x, angles.clone(), layout, turn);
        (
            y,
            Rotation {
                angles,
                layout,
                turn,
            },
        )
    })
    .tensor()
}

/// [`rotate`] for queries and keys of one batch size, length and type.
pub(crate) fn rotate_both(
    q: Tensor<4>,
    k: Tensor<4>,
    rows: Addend,
    layout: Layout,
    turn: Turn,
) -> (Tensor<4>, Tensor<4>) {
    for x in [&q, &k] {
        check_rotation(x.dims(), x.dims()[1], rows.dims());
    }
    let angles = Angles::new(rows);
    let [q, k] = apply_each([Operand::of(q), Operand::of(k)], |[q, k]| {
        let (q, k) = Cube::pe_rotate_both(q, k, angles.clone(), layout, turn);
        let kept = Rotation {
            angles,
            layout,
            turn,
        };
        [(q, kept.clone()), (k, kept)]
    });
    (q.tensor(), k.tensor())
}

/// [`rotate`] for the first `heads` heads of a projection, `[batch, seq, heads, d_head]`.
pub(crate) fn rotate_heads(
    x: Tensor<4>,
    rows: Addend,
    heads: usize,
    layout: Layout,
    turn: Turn,
) -> Tensor<4> {
    let [batch, seq, all, d_head] = x.dims();
    check_rotation([batch, all, seq, d_head], heads, rows.dims());
    let angles = Angles::new(rows);
    apply([Operand::of(x)], |[x]| {
        let y = Cube::pe_rotate_heads(x, angles.clone(), heads, layout, turn);
        let rotation = Rotation {
            angles,
            layout,
            turn,
        };
        (y, RotationOfHeads { rotation, heads })
    })
    .tensor()
}

/// `x`, rounded to its type. In a kernel that Burn fuses, a number that was cast to half precision and back is not rounded on
/// Vulkan; one that is read from memory is.
pub(crate) fn stored(x: Tensor<4>) -> Tensor<4> {
    apply([Operand::of(x)], |[x]| (Cube::pe_stored(x), Stored)).tensor()
}

#[derive(Clone, Copy, Debug)]
struct Stored;

impl Operation<Cube, 1> for Stored {
    fn backward(self, gradient: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        [gradient]
    }
}

/// A bias of distances, spread over all pairs: row `i` of a head is `strip[queries − 1 − i ..]`, `keys`
/// elements long.
///
/// # Shapes
///
/// - `strip`: `[1, heads, 1, queries + keys − 1]`
/// - output: `[1, heads, queries, keys]`
pub(crate) fn windows(strip: Tensor<4>, queries: usize, keys: usize) -> Tensor<4> {
    apply([Operand::of(strip)], |[strip]| {
        (Cube::pe_spread(strip, queries, keys), Windows)
    })
    .tensor()
}

#[derive(Clone, Copy, Debug)]
struct Windows;

impl Operation<Cube, 1> for Windows {
    fn backward(self, gradient: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        [Cube::pe_gather(gradient)]
    }
}

#[derive(Clone, Debug)]
struct Rotation {
    angles: Angles<Cube>,
    layout: Layout,
    turn: Turn,
}

impl Operation<Cube, 1> for Rotation {
    fn backward(self, gradient: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        // The transpose of a rotation is its inverse.
        let turn = self.turn.inverse();
        [Cube::pe_rotate(gradient, self.angles, self.layout, turn)]
    }
}

#[derive(Clone, Debug)]
struct RotationOfHeads {
    rotation: Rotation,
    heads: usize,
}

impl Operation<Cube, 1> for RotationOfHeads {
    fn backward(self, gradient: FloatTensor<Cube>) -> [FloatTensor<Cube>; 1] {
        let Rotation {
            angles,
            layout,
            turn,
        } = self.rotation;
        let turn = turn.inverse();
        [Cube::pe_rotate_heads(
            gradient, angles, self.heads, layout, turn,
        )]
    }
}
