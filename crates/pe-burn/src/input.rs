//! What the encodings share when they meet an input: which type to sum in, and the sum.

use alloc::format;

use burn::nn::Dropout;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use crate::encoding::Encoding;
use crate::error::PositionError;
use crate::positions::Positions;

/// What the token embeddings are multiplied by before the encoding is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputScale {
    /// Nothing: the embeddings are added as they are.
    #[default]
    None,
    /// √d_model, as in the original paper (§3.4): embeddings that start small would otherwise be
    /// drowned by an encoding of norm √(d_model/2).
    SqrtDModel,
    /// Any other factor that is finite in `f32`.
    Factor(f64),
}

impl InputScale {
    /// The factor for a model width, or `None` where there is nothing to multiply.
    pub(crate) fn factor(self, d_model: usize) -> Option<f64> {
        match self {
            Self::None => None,
            Self::SqrtDModel => Some(libm::sqrt(d_model as f64)),
            Self::Factor(factor) => Some(factor),
        }
    }

    pub(crate) fn check(self) -> Result<(), PositionError> {
        match self {
            Self::Factor(factor) => check_finite("input_scale", factor),
            Self::None | Self::SqrtDModel => Ok(()),
        }
    }
}

pub(crate) fn check_finite(name: &'static str, value: f64) -> Result<(), PositionError> {
    if (value as f32).is_finite() {
        Ok(())
    } else {
        Err(PositionError::NotFinite { name, value })
    }
}

pub(crate) fn check_dropout(dropout: f64) -> Result<(), PositionError> {
    if (0.0..1.0).contains(&dropout) {
        Ok(())
    } else {
        Err(PositionError::Dropout { dropout })
    }
}

/// Checks an input `[batch, seq, d_model]` and its positions against a module; `[batch, seq]`.
pub(crate) fn check_input(
    x: &Tensor<3>,
    positions: &Positions,
    d_model: usize,
    device: &Device,
) -> Result<[usize; 2], PositionError> {
    let [batch, seq, got] = x.dims();
    if got != d_model {
        return Err(PositionError::DModel {
            expected: d_model,
            got,
        });
    }
    check_place(x, device)?;
    positions.check(Some(batch), seq)?;
    Ok([batch, seq])
}

/// Checks queries or keys `[batch, heads, seq, d_head]` and their positions against a module; `seq`.
pub(crate) fn check_heads(
    x: &Tensor<4>,
    positions: &Positions,
    d_head: usize,
    device: &Device,
) -> Result<usize, PositionError> {
    let [batch, _, seq, got] = x.dims();
    if got != d_head {
        return Err(PositionError::DHead {
            expected: d_head,
            got,
        });
    }
    check_place(x, device)?;
    positions.check(Some(batch), seq)?;
    Ok(seq)
}

/// Refuses an input that is elsewhere than the module, or that nothing can be computed in.
fn check_place<const D: usize>(x: &Tensor<D>, device: &Device) -> Result<(), PositionError> {
    let input = x.device();
    if input != *device {
        return Err(PositionError::Device {
            input: format!("{input:?}"),
            module: format!("{device:?}"),
        });
    }
    check_dtype(x)
}

/// Refuses a quantized input: there is no sum to round.
pub(crate) fn check_dtype<const D: usize>(x: &Tensor<D>) -> Result<(), PositionError> {
    match x.dtype().is_float() {
        true => Ok(()),
        false => Err(PositionError::Quantized),
    }
}

pub(crate) fn unsupported(dtype: DType, device: &Device) -> PositionError {
    PositionError::DType {
        dtype,
        device: format!("{device:?}"),
    }
}

/// The type that a sum with an input of type `dtype` is computed in: `f64` for `f64`, else `f32`.
pub(crate) fn sum_dtype(dtype: FloatDType) -> FloatDType {
    match dtype {
        FloatDType::F64 => FloatDType::F64,
        FloatDType::F32 | FloatDType::Flex32 | FloatDType::F16 | FloatDType::BF16 => {
            FloatDType::F32
        }
    }
}

/// `dropout(x · scale + encoding)`, in the type of the encoding, rounded once to that of `x`.
///
/// There are so many `numbers` in `x`: asking it takes longer than a decoding step should.
///
/// `x` is taken by value: where nobody else holds it, the backends add in place.
pub(crate) fn add(
    x: Tensor<3>,
    encoding: Encoding,
    scale: Option<f64>,
    dropout: &Dropout,
    numbers: usize,
) -> Tensor<3> {
    let (dtype, sum_dtype) = (x.dtype(), encoding.dtype());
    let sum = plain_sum(cast(x, sum_dtype.into()), encoding, scale, numbers);
    let sum = if dropout.prob > 0.0 {
        dropout.forward(sum)
    } else {
        sum
    };
    cast(sum, dtype.into())
}

/// `x · scale + encoding`, of one type.
#[inline] // a decoding step feels the call
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
fn plain_sum(x: Tensor<3>, encoding: Encoding, scale: Option<f64>, numbers: usize) -> Tensor<3> {
    #[cfg(feature = "flex")]
    if crate::flex::adds(&x, &encoding, numbers) {
        return crate::flex::add(x, encoding, scale);
    }
    let x = match scale {
        Some(factor) => x.mul_scalar(factor),
        None => x,
    };
    x.add(encoding.tensor())
}

/// A parameter that may have been quantized, in numbers to compute with.
pub(crate) fn dequantized<const D: usize>(parameter: Tensor<D>) -> Tensor<D> {
    match parameter.dtype() {
        DType::QFloat(_) => parameter.dequantize(),
        _ => parameter,
    }
}

/// The tensor in a type. Burn's cast to the type that is there already does nothing, but a decoding
/// step feels the call, and the way of a tensor into it and out again.
#[inline(always)]
pub(crate) fn cast<const D: usize>(x: Tensor<D>, dtype: FloatDType) -> Tensor<D> {
    if x.dtype() == dtype.into() {
        x
    } else {
        x.cast(dtype)
    }
}
