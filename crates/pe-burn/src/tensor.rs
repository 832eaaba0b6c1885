//! Data types of tensors: which type to count tokens in, which to sum in, and conversions.

use alloc::format;
use alloc::vec::Vec;

use burn::module::{Initializer, Module, Param, ParamId};
use burn::nn::Linear;
use burn::tensor::{Bool, DType, Device, FloatDType, Int, IntDType, Tensor, TensorData};

use crate::error::PositionError;

/// Indices of rows as an integer tensor.
///
/// # Shapes
///
/// - output: `[rows.len()]`
pub(crate) fn indices(rows: &[usize], device: &Device) -> Tensor<1, Int> {
    indices_in(rows, [rows.len()], device)
}

/// [`indices`] in a shape of as many elements.
pub(crate) fn indices_in<const D: usize>(
    rows: &[usize],
    shape: [usize; D],
    device: &Device,
) -> Tensor<D, Int> {
    let rows: Vec<i64> = rows.iter().map(|&row| row as i64).collect();
    let dtype = DType::from(counting_type(device));
    Tensor::from_data(TensorData::new(rows, shape), (device, dtype))
}

/// Position ids on another device, in an integer type that it supports.
///
/// Burn keeps the integer type when it moves a tensor, and the target may not have that type.
pub(crate) fn ids_on(ids: &Tensor<2, Int>, device: &Device) -> Tensor<2, Int> {
    let device = device.clone().without_autodiff();
    if ids.device() == device {
        return ids.clone();
    }
    let dtype = DType::from(counting_type(&device));
    Tensor::from_data(ids.to_data(), (&device, dtype))
}

/// Indices of a module in an integer type that its device supports: the module may come from a device with another type.
pub(crate) fn on_own_device(indices: &Tensor<1, Int>) -> Tensor<1, Int> {
    let device = indices.device();
    if device.supports_dtype(indices.dtype()) {
        return indices.clone();
    }
    let dtype = DType::from(counting_type(&device));
    Tensor::from_data(indices.to_data(), (&device, dtype))
}

/// A mask on another device. It moves as integers, since backends store booleans differently.
pub(crate) fn mask_on(mask: &Tensor<2, Bool>, device: &Device) -> Tensor<2, Bool> {
    let device = device.clone().without_autodiff();
    if mask.device() == device {
        return mask.clone();
    }
    ids_on(&mask.clone().int(), &device).equal_scalar(1)
}

/// The integer type in which tokens are counted on a device.
///
/// LibTorch has `i64` alone, WebGPU `i32` alone, and the default integer type of a device may be
/// too short.
pub(crate) fn counting_type(device: &Device) -> IntDType {
    if device.supports_dtype(IntDType::I32) {
        IntDType::I32
    } else {
        IntDType::I64
    }
}

/// The type in which sums and rotations of an input of type `dtype` are computed: `f64` for `f64`,
/// else `f32`.
pub(crate) fn compute_dtype(dtype: FloatDType) -> FloatDType {
    match dtype {
        FloatDType::F64 => FloatDType::F64,
        FloatDType::F32 | FloatDType::Flex32 | FloatDType::F16 | FloatDType::BF16 => {
            FloatDType::F32
        }
    }
}

/// The tensor in another type; the same tensor where it has that type already.
///
/// Burn's own `cast` checks that too, but the call alone makes a decoding step measurably slower.
#[inline(always)]
pub(crate) fn cast<const D: usize>(x: Tensor<D>, dtype: FloatDType) -> Tensor<D> {
    if x.dtype() == dtype.into() {
        x
    } else {
        x.cast(dtype)
    }
}

/// The values of a parameter that may have been quantized.
pub(crate) fn dequantized<const D: usize>(parameter: Tensor<D>) -> Tensor<D> {
    match parameter.dtype() {
        DType::QFloat(_) => parameter.dequantize(),
        _ => parameter,
    }
}

/// A parameter with its values limited to a range. Its gradient passes through unchanged, so that a value that has left the
/// range, or starts at an end of it, can come back.
pub(crate) fn within<const D: usize>(parameter: Tensor<D>, (min, max): (f64, f64)) -> Tensor<D> {
    let inside = parameter.clone().clamp(min, max).detach();
    inside + (parameter.clone() - parameter.detach())
}

/// Refuses a parameter that was given another shape than that of its module.
pub(crate) fn check_parameter<const D: usize>(
    name: &'static str,
    got: [usize; D],
    expected: [usize; D],
) -> Result<(), PositionError> {
    match got == expected {
        true => Ok(()),
        false => Err(PositionError::config(format!(
            "the parameter {name} has the shape {got:?}, and this module needs {expected:?}"
        ))),
    }
}

/// Refuses a layer whose weight or bias was given another shape.
pub(crate) fn check_linear(
    name: &'static str,
    layer: &Linear,
    expected: [usize; 2],
) -> Result<(), PositionError> {
    if let Some(bias) = &layer.bias {
        check_parameter(name, bias.lazy_shape().dims(), [expected[1]])?;
    }
    check_parameter(name, layer.weight.lazy_shape().dims(), expected)
}

/// Parameters of this shape, as the initializer says. Rows count as inputs and columns as outputs.
pub(crate) fn matrix(init: &Initializer, shape: [usize; 2], device: &Device) -> Param<Tensor<2>> {
    init.init_with(shape, Some(shape[0]), Some(shape[1]), device)
}

/// A changed table as a new parameter, trained if the old one is. An adapter that was trained beside the
/// table (LoRA) is merged into it.
pub(crate) fn changed<const D: usize>(
    parameter: Param<Tensor<D>>,
    change: impl FnOnce(Tensor<D>) -> Tensor<D>,
) -> Param<Tensor<D>> {
    let (_, table, state) = parameter.materialize().consume();
    let trained = table.is_require_grad();
    let mut table = change(dequantized(table).detach()).detach();
    if trained {
        table = table.require_grad();
    }
    Param::from_mapped_value(ParamId::new(), table, state)
}

/// Refuses an input on another device than the module, and a quantized one.
pub(crate) fn check_device<const D: usize>(
    x: &Tensor<D>,
    module: &Device,
) -> Result<(), PositionError> {
    let input = x.device();
    if input != *module {
        return Err(PositionError::Device {
            input: format!("{input:?}"),
            module: format!("{module:?}"),
        });
    }
    check_float(x)
}

/// Refuses a quantized input.
pub(crate) fn check_float<const D: usize>(x: &Tensor<D>) -> Result<(), PositionError> {
    match x.dtype().is_float() {
        true => Ok(()),
        false => Err(PositionError::Quantized),
    }
}

/// Refuses a type that the device cannot compute in.
pub(crate) fn check_dtype(dtype: FloatDType, device: &Device) -> Result<(), PositionError> {
    match device.supports_dtype(dtype) {
        true => Ok(()),
        false => Err(PositionError::DType {
            dtype: dtype.into(),
            device: format!("{device:?}"),
        }),
    }
}
