//! Kernels for Burn's CPU backend Flex: one pass over memory, on all threads, in place where the input
//! is not shared, and recorded as one operation in the autodiff graph.

// Indices, because iterator adapters are not inlined into functions that `multiversion` compiles for
// other instruction sets.
#![allow(clippy::needless_range_loop)]

mod contextual;
pub mod matrix;
mod pairs;
mod polar;
mod products;
mod rotation;
mod sum;
mod turning;
mod units;
mod windows;

pub(crate) use contextual::contextual;
pub(crate) use polar::polar;
pub(crate) use products::products;
pub(crate) use rotation::{rotate, rotate_both, rotate_heads};
pub(crate) use sum::{add, adds};
pub(crate) use windows::windows;

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use burn::backend::DispatchDevice;
use burn::backend::flex::FlexTensor;
use burn::tensor::GradientCheckpointingStrategy::Disabled;
use burn::tensor::{DType, Shape, Tensor, TensorData};

use crate::backend::{Addend, memory};

/// The number of elements that a thread takes at a time.
const CHUNK: usize = 1 << 15;

/// The number of elements from which several threads are faster than one: waking a thread takes as
/// long as adding 100 000 elements.
const PARALLEL_FROM: usize = 1 << 18;

/// Whether the kernels take this tensor: `f32` on Flex, without gradient checkpointing, which would
/// need to run the forward pass again.
pub(crate) fn supports<const D: usize>(x: &Tensor<D>) -> bool {
    let device = x.device();
    x.dtype() == DType::F32
        && matches!(
            device.gradient_checkpointing_strategy(),
            None | Some(Disabled)
        )
        && matches!(device.inner().as_dispatch(), DispatchDevice::Flex(_))
}

/// Whether the kernels rotate this tensor by these rows.
pub(crate) fn rotates(x: &Tensor<4>, rows: &Addend) -> bool {
    supports(x) && !rows.is_tracked()
}

/// A new tensor, whose memory is not zeroed before `write` fills it.
///
/// With zeroing, the sum of a shared input of 8 × 128 × 64 takes 1.35 times as long as Burn's own, and
/// 1.0 times without. From 32 × 512 × 512 on there is no difference.
///
/// # Safety
///
/// `write` must write every element.
unsafe fn filled_by(
    shape: impl Into<Shape>,
    write: impl FnOnce(&mut [MaybeUninit<f32>]),
) -> FlexTensor {
    let shape = shape.into();
    let len = shape.num_elements();
    let mut out = Vec::with_capacity(len);
    let memory = &mut out.spare_capacity_mut()[..len];
    memory::use_large_pages(memory);
    write(memory);
    // SAFETY: the caller promises that `write` has written all `len` elements.
    unsafe { out.set_len(len) };
    tensor(out, shape)
}

fn tensor(values: Vec<f32>, shape: impl Into<Shape>) -> FlexTensor {
    FlexTensor::from_data(TensorData::new(values, shape))
}
