//! Kernels of our own on the backend Flex: one pass over memory, on all threads, in place where nobody
//! else holds the input, and recorded as one operation.

// Iterator adapters are not inlined into functions that are compiled for other instructions.
#![allow(clippy::needless_range_loop)]

mod rotation;
mod sum;
mod windows;

pub(crate) use rotation::rotate;
pub(crate) use sum::{add, adds};
pub(crate) use windows::windows;

use alloc::vec::Vec;
use core::mem::MaybeUninit;

use burn::backend::DispatchDevice;
use burn::backend::flex::FlexTensor;
use burn::tensor::GradientCheckpointingStrategy::Disabled;
use burn::tensor::{DType, Shape, Tensor, TensorData};

use crate::memory;

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 15;

/// Numbers from which a second thread pays: waking it takes as long as adding to 100 000.
const MANY: usize = 1 << 18;

/// Whether the input is one for the kernels: 32-bit numbers on Flex, and derivatives, if any, that
/// are not found by running the way forth again.
pub(crate) fn runs<const D: usize>(x: &Tensor<D>) -> bool {
    let device = x.device();
    x.dtype() == DType::F32
        && matches!(
            device.gradient_checkpointing_strategy(),
            None | Some(Disabled)
        )
        && matches!(device.inner().as_dispatch(), DispatchDevice::Flex(_))
}

/// A tensor in fresh memory.
///
/// # Safety
///
/// `write` writes every number.
unsafe fn fresh(
    shape: impl Into<Shape>,
    write: impl FnOnce(&mut [MaybeUninit<f32>]),
) -> FlexTensor {
    let shape = shape.into();
    let len = shape.num_elements();
    let mut out = Vec::with_capacity(len);
    let memory = &mut out.spare_capacity_mut()[..len];
    memory::prepare(memory);
    write(memory);
    // SAFETY: so the caller has promised.
    unsafe { out.set_len(len) };
    FlexTensor::from_data(TensorData::new(out, shape))
}
