//! The types of elements that kernels take.

use burn::tensor::DType;
use cubecl::ir::{ElemType, FloatKind};

/// The type of a tensor's elements, as CubeCL names it.
pub fn element(dtype: DType) -> ElemType {
    ElemType::Float(match dtype {
        DType::F16 => FloatKind::F16,
        DType::BF16 => FloatKind::BF16,
        DType::F32 => FloatKind::F32,
        other => unreachable!("the kernels do not take {other:?}"),
    })
}
