//! The types of elements that kernels take.

use burn::tensor::DType;
use cubecl::ir::{ElemType, FloatKind, IntKind};

/// The type of a tensor's elements, as CubeCL names it.
pub fn element(dtype: DType) -> ElemType {
    ElemType::Float(match dtype {
        DType::F16 => FloatKind::F16,
        DType::BF16 => FloatKind::BF16,
        DType::F32 => FloatKind::F32,
        other => unreachable!("the kernels do not take {other:?}"),
    })
}

/// The element type of ids on a card, which are of a type of [`counting_type`](crate::tensor::counting_type).
pub fn element_of_ids(dtype: DType) -> ElemType {
    ElemType::Int(match dtype {
        DType::I32 => IntKind::I32,
        DType::I64 => IntKind::I64,
        other => unreachable!("ids are not {other:?}"),
    })
}
