//! Numbers of rows and tokens as tensors.

use alloc::vec::Vec;

use burn::tensor::{Bool, DType, Device, Int, IntDType, Tensor};

/// Row numbers as an integer tensor.
///
/// # Shapes
///
/// - output: `[rows.len() / seq, seq]`
pub(crate) fn index_tensor(rows: &[usize], seq: usize, device: &Device) -> Tensor<2, Int> {
    row_numbers(rows, device).reshape([rows.len() / seq, seq])
}

/// Row numbers in an integer type that is long enough, which the default of a device may not be.
pub(crate) fn row_numbers(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let dtype = DType::from(counting_type(device));
    Tensor::from_data(rows.as_slice(), (device, dtype))
}

/// Numbers of tokens on a device, in a type that it has: Burn hands them over in that of the backend
/// they come from.
///
/// # Shapes
///
/// - output: as `ids`
pub(crate) fn ids_on(ids: &Tensor<2, Int>, device: &Device) -> Tensor<2, Int> {
    let device = device.clone().without_autodiff();
    if ids.device() == device {
        return ids.clone();
    }
    let dtype = DType::from(counting_type(&device));
    Tensor::from_data(ids.to_data(), (&device, dtype))
}

/// A mask on a device, as [`ids_on`]: backends keep masks in different types too.
///
/// # Shapes
///
/// - output: as `mask`
pub(crate) fn mask_on(mask: &Tensor<2, Bool>, device: &Device) -> Tensor<2, Bool> {
    let device = device.clone().without_autodiff();
    if mask.device() == device {
        return mask.clone();
    }
    ids_on(&mask.clone().int(), &device).equal_scalar(1)
}

/// An integer type to count tokens in, of those that the device has: LibTorch's has none but `i64`,
/// and WebGPU's `i32`. The default type of a device may be too short.
pub(crate) fn counting_type(device: &Device) -> IntDType {
    if device.supports_dtype(IntDType::I32) {
        IntDType::I32
    } else {
        IntDType::I64
    }
}
