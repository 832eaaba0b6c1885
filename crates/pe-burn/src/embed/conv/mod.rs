//! Positions from convolutions: what is added to a token depends on the tokens beside it.

mod peg;
mod wav2vec2;

pub use peg::{PositionalEncodingGenerator, PositionalEncodingGeneratorConfig};
pub use wav2vec2::{Wav2Vec2PositionalConv, Wav2Vec2PositionalConvConfig};

use burn::module::Param;
use burn::tensor::Tensor;

use crate::error::{PositionError, check_width};
use crate::positions::{Lookup, Positions};
use crate::tensor::{cast, check_device, check_parameter, compute_dtype};

/// Returns the input in the type that sums are computed in, with zeros for padded tokens, and the lookup of its
/// positions. Checks that the weight has the given shape, which begins with `d_model`, and the bias `d_model` elements.
fn input<'a, const D: usize>(
    x: Tensor<3>,
    positions: &'a Positions,
    (weight, shape): (&Param<Tensor<D>>, [usize; D]),
    bias: &Param<Tensor<1>>,
) -> Result<(Tensor<3>, Lookup<'a>), PositionError> {
    let ([batch, seq, got], d_model) = (x.dims(), shape[0]);
    let device = &weight.lazy_device();
    check_width("d_model", d_model, got)?;
    check_device(&x, device)?;
    let lookup = positions.lookup(Some(batch), seq)?;
    check_parameter("weight", weight.lazy_shape().dims(), shape)?;
    check_parameter("bias", bias.lazy_shape().dims(), [d_model])?;
    let x = cast(x.clone(), compute_dtype(x.dtype().into()));
    let x = match lookup.padding(device) {
        Some(padding) if batch * seq > 0 => {
            let shape = x.dims();
            let padding = padding.unsqueeze_dim::<3>(2).expand(shape);
            x.mask_fill(padding, 0.0)
        }
        _ => x,
    };
    Ok((x, lookup))
}
