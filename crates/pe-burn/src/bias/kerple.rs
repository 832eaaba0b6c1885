//! KERPLE: biases from conditionally positive definite kernels.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::Bias;
use super::distances::Distances;
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::positions::Tokens;
use crate::tensor::{cast, check_parameter, compute_dtype, dequantized, within};

/// Parameters below this value are used as this value: those of the paper are positive.
const LEAST: f64 = 0.01;
/// The largest value of a parameter.
const MOST: f64 = f32::MAX as f64;

/// The kernel of a [`Kerple`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum KerpleShape {
    /// −r₁ ln(1 + r₂ |j − i|), the better one in the paper.
    #[default]
    Logarithmic,
    /// −r₁ |j − i|^r₂, r₂ at most 2.
    Power,
}

config! {
    /// The configuration of a [`Kerple`].
    #[derive(Eq)]
    pub struct KerpleConfig {
        /// The number of heads, at least 1.
        heads: usize,
    }

    /// The logarithmic kernel for a number of heads.
    new;

    /// The kernel. Default: logarithmic.
    shape: KerpleShape = KerpleShape::default(),
    with_shape;
}

impl KerpleConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads, and [`TooLarge`](PositionError::TooLarge) for more than fit into
    /// memory.
    pub fn try_init(&self, device: &Device) -> Result<Kerple, PositionError> {
        check_size("heads", self.heads)?;
        check_room::<f32>(1, self.heads)?;
        // The initial ranges of the authors' code.
        let (r1, r2) = match self.shape {
            KerpleShape::Logarithmic => (2.0, 1.0),
            KerpleShape::Power => (1.0, 2.0),
        };
        let uniform = |max| {
            let values = Initializer::Uniform { min: 0.0, max };
            values.init([self.heads], device)
        };
        Ok(Kerple {
            r1: uniform(r1),
            r2: uniform(r2),
            config: self.clone(),
        })
    }
}

module!(KerpleConfig => Kerple { heads, shape });

/// KERPLE: lowers attention scores by a trained function of the distance. Chi et al., [*KERPLE: Kernelized Relative
/// Positional Embedding for Length Extrapolation*](https://arxiv.org/abs/2205.09921), 2022, §4:
///
/// ```text
/// logarithmic:  bias(head, i, j) = −r₁ ln(1 + r₂ |j − i|)
/// power:        bias(head, i, j) = −r₁ |j − i|^r₂
/// ```
///
/// with two parameters per head, which are used as 0.01 where training takes them below that. Made by
/// [`KerpleConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{KerpleConfig, Bias, Positions};
///
/// let kerple = KerpleConfig::new(8).init(&Device::flex());
/// let positions = Positions::default();
/// let bias = kerple.bias((&positions, 100), (&positions, 100)); // [1, heads, queries, keys]
/// assert_eq!(bias.dims(), [1, 8, 100, 100]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct Kerple {
    /// `[heads]`: the strength of the decay.
    pub r1: Param<Tensor<1>>,
    /// `[heads]`: the scale of the distances, or their exponent.
    pub r2: Param<Tensor<1>>,
    #[module(skip)]
    config: KerpleConfig,
}

impl Kerple {
    /// The bias of each distance.
    fn of_distances(&self, distances: &Distances) -> Result<Tensor<4>, PositionError> {
        let (heads, shape) = (self.config.heads, self.config.shape);
        let (r1, r2) = (dequantized(self.r1.val()), dequantized(self.r2.val()));
        check_parameter("r1", r1.dims(), [heads])?;
        check_parameter("r2", r2.dims(), [heads])?;
        let device = r1.device();
        let most = match shape {
            KerpleShape::Logarithmic => MOST,
            KerpleShape::Power => 2.0,
        };
        let own: FloatDType = r1.dtype().into();
        let wide = compute_dtype(own);
        let r1 = within(cast(r1, wide), (LEAST, MOST)).reshape([1, heads, 1, 1]);
        let r2 = within(cast(r2, wide), (LEAST, most)).reshape([1, heads, 1, 1]);
        let steps = cast(distances.real(&device), wide).abs();
        let fall = match shape {
            KerpleShape::Logarithmic => (steps * r2).log1p(),
            KerpleShape::Power => {
                // Distance 0 is left out, since ln 0 would make the gradient infinite.
                let here = steps.clone().equal_scalar(0.0);
                let power = (steps.mask_fill(here.clone(), 1.0).log() * r2).exp();
                let [_, _, queries, keys] = power.dims();
                let here = here.expand([power.dims()[0], heads, queries, keys]);
                power.mask_fill(here, 0.0)
            }
        };
        Ok(cast(-(fall * r1), own))
    }
}

impl Bias for Kerple {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let r1 = dequantized(self.r1.val());
        let (device, own) = (r1.device(), r1.dtype());
        let heads = self.config.heads;
        Distances::bias(queries, keys, heads, (&device, own), |distances| {
            self.of_distances(distances)
        })
    }

    fn try_distance_bias(
        &self,
        queries: Tokens,
        keys: Tokens,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        let (heads, device) = (self.config.heads, self.r1.device());
        Distances::strip(queries, keys, heads, &device, |distances| {
            self.of_distances(distances)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Positions;
    use crate::testing::values;

    /// Training may take a parameter out of its range. It still has a gradient, so it can return.
    #[test]
    fn a_parameter_out_of_its_range_counts_as_the_end_of_the_range() {
        let device = Device::flex().autodiff();
        let mut kerple = KerpleConfig::new(1)
            .with_shape(KerpleShape::Power)
            .init(&device);
        kerple.r1 = Param::from_tensor(Tensor::from_floats([-3.0], &device));
        kerple.r2 = Param::from_tensor(Tensor::from_floats([5.0], &device));
        let positions = Positions::default();
        let bias = kerple.bias((&positions, 1), (&positions, 4));
        for (got, expected) in values(bias.clone()).iter().zip([0.0, -0.01, -0.04, -0.09]) {
            assert!((got - expected).abs() < 1e-6, "{got} {expected}");
        }
        let gradients = bias.sum().backward();
        assert!(values(kerple.r1.val().grad(&gradients).unwrap())[0] < 0.0);
    }
}
