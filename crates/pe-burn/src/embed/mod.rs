//! Encodings that are added to token embeddings.

mod conv;
mod learned;
mod sinusoidal;
mod time2vec;

pub use conv::{
    PositionalEncodingGenerator, PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConv,
    Wav2Vec2PositionalConvConfig,
};
pub use learned::{
    Extension, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig, TableInit,
};
pub use sinusoidal::{
    Gain, LengthLimit, SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig,
};
pub use time2vec::{Time2Vec, Time2VecConfig};

use burn::nn::Dropout;
use burn::tensor::{Device, Tensor};
use serde::{Deserialize, Serialize};

use crate::backend::Addend;
use crate::error::{PositionError, check_finite, check_number, check_width, expect};
use crate::positions::{Lookup, Positions};
use crate::tensor::{cast, check_device};

/// A scheme that adds positions to token embeddings. A model calls it once, before its first layer. For a scheme that may
/// or may not be of this kind, call [`Positional::as_embed`](crate::Positional::as_embed).
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{Embed, LearnedPositionalEmbeddingConfig, Positions};
/// use pe_burn::SinusoidalPositionalEncodingConfig;
///
/// /// Works with every scheme that embeds, also with one of your own.
/// fn next_token(scheme: &dyn Embed, token: Tensor<3>, seen: usize) -> Tensor<3> {
///     scheme.embed(token, &Positions::from(seen))
/// }
///
/// let device = Device::flex();
/// let schemes: [Box<dyn Embed>; 2] = [
///     Box::new(SinusoidalPositionalEncodingConfig::new(64).init(&device)),
///     Box::new(LearnedPositionalEmbeddingConfig::new(64, 512).init(&device)),
/// ];
/// for scheme in &schemes {
///     let y = next_token(scheme.as_ref(), Tensor::zeros([2, 1, 64], &device), 100);
///     assert_eq!(y.dims(), [2, 1, 64]);
/// }
/// ```
pub trait Embed {
    /// Adds the encodings of `positions` to `x`.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`, any float type; `batch` and `seq` may be 0
    /// - output: as `x`
    ///
    /// # Errors
    ///
    /// [`PositionError::Width`] when `x` has another `d_model` than the module,
    /// [`Device`](PositionError::Device) when it is on another device,
    /// [`Quantized`](PositionError::Quantized) when it is quantized,
    /// [`Shape`](PositionError::Shape) or [`Batch`](PositionError::Batch) when the positions are for
    /// another shape, [`Overflow`](PositionError::Overflow) past
    /// [`MAX_POSITION`](crate::MAX_POSITION), [`TooLong`](PositionError::TooLong) past the last row of
    /// a scheme that has a last one, [`NotWhole`](PositionError::NotWhole) for times where positions
    /// are the indices of rows, [`Grid`](PositionError::Grid) when the scheme needs positions on a
    /// grid, and [`TooLarge`](PositionError::TooLarge) when the rows of the positions do not fit into
    /// memory.
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError>;

    /// The panicking form of [`try_embed`](Self::try_embed).
    ///
    /// # Panics
    ///
    /// Where [`try_embed`](Self::try_embed) returns an error, with its message.
    #[track_caller]
    fn embed(&self, x: Tensor<3>, positions: &Positions) -> Tensor<3> {
        expect(self.try_embed(x, positions))
    }
}

/// What token embeddings are multiplied by before the encoding is added.
#[derive(Clone, Copy, Debug, Default, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum InputScale {
    /// Nothing: the encoding is added to the embeddings as they are.
    #[default]
    None,
    /// √d_model, as in the original paper (§3.4). Embeddings that start small would otherwise be
    /// much smaller than the encoding, whose norm is √(d_model/2).
    SqrtDModel,
    /// Any other factor that is finite in `f32`.
    Factor(f64),
}

impl InputScale {
    /// The factor for a model width; `None` where there is nothing to multiply.
    fn factor(self, d_model: usize) -> Option<f64> {
        match self {
            Self::None => None,
            Self::SqrtDModel => Some(libm::sqrt(d_model as f64)),
            Self::Factor(factor) => Some(factor),
        }
    }

    fn check(self) -> Result<(), PositionError> {
        match self {
            Self::Factor(factor) => check_finite("input_scale", factor),
            Self::None | Self::SqrtDModel => Ok(()),
        }
    }
}

fn check_dropout(dropout: f64) -> Result<(), PositionError> {
    let fits = (0.0..1.0).contains(&dropout);
    check_number(fits, "dropout", dropout, "a probability in [0, 1)")
}

/// The lookup of positions for an input of a module, and the batch size.
#[inline]
fn lookup<'a>(
    x: &Tensor<3>,
    positions: &'a Positions,
    d_model: usize,
    device: &Device,
) -> Result<(Lookup<'a>, usize), PositionError> {
    let [batch, seq, got] = x.dims();
    check_width("d_model", d_model, got)?;
    check_device(x, device)?;
    Ok((positions.lookup(Some(batch), seq)?, batch))
}

/// `dropout(scale · x + encoding)`, computed in the type of the encoding and rounded once to that of
/// `x`. The backends add in place where the memory of `x` is not shared.
///
/// `len` is the number of elements of `x`. The caller passes it, because reading the shape again costs
/// time in a decoding step.
fn add(
    x: Tensor<3>,
    encoding: Addend,
    scale: Option<f64>,
    dropout: &Dropout,
    len: usize,
) -> Tensor<3> {
    let (dtype, sum_dtype) = (x.dtype(), encoding.dtype());
    if dtype == sum_dtype && dropout.prob == 0.0 {
        return scaled_sum(x, encoding, scale, len); // moving a tensor costs a decoding step time
    }
    let sum = scaled_sum(cast(x, sum_dtype.into()), encoding, scale, len);
    let sum = if dropout.prob > 0.0 {
        dropout.forward(sum)
    } else {
        sum
    };
    cast(sum, dtype.into())
}

/// `scale · x + encoding`, of the same type.
#[inline] // keeps a decoding step fast
#[cfg_attr(not(feature = "flex"), allow(unused_variables))]
fn scaled_sum(x: Tensor<3>, encoding: Addend, scale: Option<f64>, len: usize) -> Tensor<3> {
    #[cfg(feature = "flex")]
    if crate::backend::flex::adds(&x, &encoding, len) {
        return crate::backend::flex::add(x, encoding, scale);
    }
    let x = match scale {
        Some(factor) => x.mul_scalar(factor),
        None => x,
    };
    x.add(encoding.into_tensor())
}
