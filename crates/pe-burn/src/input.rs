//! What the encodings share when they meet an input: which type to sum in, and the sum.

use alloc::borrow::Cow;
use alloc::format;

use burn::nn::Dropout;
use burn::tensor::module::embedding;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use crate::error::PositionError;
use crate::index::index_tensor;
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

/// Refuses a table of more bytes than any memory holds.
pub(crate) fn check_size(rows: usize, d_model: usize) -> Result<(), PositionError> {
    let bytes = rows.checked_mul(d_model).and_then(|n| n.checked_mul(8));
    match bytes {
        Some(bytes) if bytes <= isize::MAX as usize => Ok(()),
        _ => Err(PositionError::TooLarge { rows, d_model }),
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
    if x.dtype().is_float() {
        Ok(())
    } else {
        Err(unsupported(x.dtype(), &x.device()))
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

/// What is added, `[1 or batch, seq, d_model]`: a tensor, or rows of a constant table
/// `[1, rows, d_model]` where they lie, for a kernel to read them there.
pub(crate) enum Encoding<'a> {
    Whole(Tensor<3>),
    /// `seq` rows from one on.
    Run {
        table: Tensor<3>,
        start: usize,
        seq: usize,
    },
    /// The rows of `seq` ids for all sequences, or for each, one after the other.
    Picked {
        table: Tensor<3>,
        ids: Cow<'a, [usize]>,
        seq: usize,
    },
}

impl Encoding<'_> {
    #[inline] // a decoding step feels the call
    pub fn tensor(self) -> Tensor<3> {
        match self {
            Self::Whole(encoding) => encoding,
            Self::Run { table, start, seq } => table.slice([0..1, start..start + seq]),
            Self::Picked { table, ids, seq } => {
                let ids = index_tensor(&ids, seq, &table.device());
                embedding(table.squeeze_dim(0), ids)
            }
        }
    }

    fn dtype(&self) -> DType {
        match self {
            Self::Whole(table) | Self::Run { table, .. } | Self::Picked { table, .. } => {
                table.dtype()
            }
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
    let encoding = match encoding {
        Encoding::Run { table, start, .. } if crate::flex::runs(&x) => {
            return crate::flex::add_run(x, table, start, scale);
        }
        Encoding::Picked { table, ids, .. } if crate::flex::runs(&x) => {
            return crate::flex::add_picked(x, table, &ids, scale);
        }
        Encoding::Whole(encoding) if numbers > crate::flex::MANY && kernel_takes(&x, &encoding) => {
            return crate::flex::add(x, encoding, scale);
        }
        other => other,
    };
    let x = match scale {
        Some(factor) => x.mul_scalar(factor),
        None => x,
    };
    x.add(encoding.tensor())
}

/// Whether both are tensors for a kernel.
#[cfg(feature = "flex")]
#[inline(never)] // a decoding step does not come here
fn kernel_takes(x: &Tensor<3>, encoding: &Tensor<3>) -> bool {
    crate::flex::runs(x) && crate::flex::runs(encoding)
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
