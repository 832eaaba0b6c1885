//! Kernels of our own on the backend Flex: one pass over memory, on all threads, in place where nobody
//! else holds the input, and recorded as one operation.

// Iterator adapters are not inlined into functions that are compiled for other instructions.
#![allow(clippy::needless_range_loop)]

mod rotation;
mod sum;
mod windows;

pub(crate) use rotation::rotate;
pub(crate) use sum::add;
pub(crate) use windows::windows;

use burn::backend::DispatchDevice;
use burn::tensor::GradientCheckpointingStrategy::Disabled;
use burn::tensor::{DType, Tensor};

/// Numbers that a thread takes at a time.
const PIECE: usize = 1 << 15;

/// Numbers from which a second thread pays: waking it takes as long as adding to 100 000.
pub(crate) const MANY: usize = 1 << 18;

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
