//! FIRE: functional interpolation for relative positions.

use burn::module::{Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::relu;
use burn::tensor::{Device, FloatDType, Tensor};

use super::Bias;
use super::distances::{Distances, of_pairs};
use crate::backend::memory::{check_room, check_room_on};
use crate::config::{config, module};
use crate::error::{PositionError, check_positive, check_size};
use crate::positions::Tokens;
use crate::tensor::{cast, check_linear, check_parameter, compute_dtype, dequantized};

/// Avoids 0/0 where both logarithms are 0.
const EPSILON: f64 = 1e-6;

config! {
    /// The configuration of a [`Fire`].
    pub struct FireConfig {
        /// The number of heads, at least 1.
        heads: usize,
    }

    /// The paper's function for a number of heads; every option at its default.
    new;

    /// The hidden width of the network that maps a distance to a bias per head, at least 1. Default: 32.
    hidden: usize = 32,
    with_hidden;

    /// The initial value of `c`, above 0. Default: 0.1.
    c: f64 = 0.1,
    with_c;

    /// The initial value of `L`, above 0. For queries before position `L`, distances are normalized by
    /// `L` and not by the position of the query. Default: 512.
    threshold: f64 = 512.0,
    with_threshold;
}

impl FireConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] when one of the numbers is not above 0, and
    /// [`TooLarge`](PositionError::TooLarge) when the network does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Fire, PositionError> {
        check_size("heads", self.heads)?;
        check_size("hidden", self.hidden)?;
        check_positive("c", self.c)?;
        check_positive("threshold", self.threshold)?;
        check_room::<f32>(self.hidden, self.heads)?;
        let scalar = |value: f64| Param::from_tensor(Tensor::full([1], value, device));
        Ok(Fire {
            inner: LinearConfig::new(1, self.hidden).init(device),
            outer: LinearConfig::new(self.hidden, self.heads).init(device),
            c: scalar(self.c),
            threshold: scalar(1.0),
            config: self.clone(),
        })
    }
}

module!(FireConfig => Fire { heads, hidden, c, threshold });

/// FIRE: a small network maps the distance, on a logarithmic scale and normalized by the position of the
/// query, to a bias. Li et al., [*Functional Interpolation for Relative Positions Improves Long
/// Context Transformers*](https://arxiv.org/abs/2310.04418), 2023, §3:
///
/// ```text
/// ψ(x) = ln(|c x| + 1)
/// bias(·, i, j) = f(ψ(i − j) / ψ(max(i, L)))        f: 1 → hidden → heads, with a ReLU
/// ```
///
/// The input of `f` is thus between 0 and 1 however long the sequence is. Besides the network, `c` and
/// `L` are trained. It is made for causal attention; for keys to the right of the query the absolute
/// distance counts, and the quotient can pass 1. Made by [`FireConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{FireConfig, Bias, Positions};
///
/// let fire = FireConfig::new(8).init(&Device::flex());
/// let positions = Positions::default();
/// let bias = fire.bias((&positions, 100), (&positions, 100)); // [1, heads, queries, keys]
/// assert_eq!(bias.dims(), [1, 8, 100, 100]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct Fire {
    /// `1 → hidden`
    pub inner: Linear,
    /// `hidden → heads`
    pub outer: Linear,
    /// `[1]`: the scale of distances before the logarithm.
    pub c: Param<Tensor<1>>,
    /// `[1]`: `L` as a multiple of its initial value.
    pub threshold: Param<Tensor<1>>,
    #[module(skip)]
    config: FireConfig,
}

impl Bias for Fire {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let c = dequantized(self.c.val());
        check_parameter("c", c.dims(), [1])?;
        check_parameter("threshold", self.threshold.val().dims(), [1])?;
        let FireConfig { heads, hidden, .. } = self.config;
        check_linear("inner", &self.inner, [1, hidden])?;
        check_linear("outer", &self.outer, [hidden, heads])?;
        let device = c.device();
        let own: FloatDType = c.dtype().into();
        of_pairs(
            queries,
            keys,
            heads,
            (&device, own.into()),
            |queries, keys| {
                let distances = Distances::new(queries, keys, &device)?;
                distances.check_line()?;
                let wide = compute_dtype(own);
                let c = cast(c, wide).reshape([1, 1, 1, 1]);
                let threshold = cast(dequantized(self.threshold.val()), wide);
                let threshold = (threshold * self.config.threshold).abs();
                let threshold = threshold.reshape([1, 1, 1, 1]);

                // For all pairs, since the position of the query counts as well as the distance.
                let steps = distances.spread(cast(distances.real(&device), wide));
                let pairs = steps.dims().iter().product();
                check_room_on::<f32>(&device, pairs, self.config.hidden)?;
                let place = queries.numbers(1, wide, &device);
                let [rows, queries, _] = place.dims();
                let place = place.reshape([rows, 1, queries, 1]);
                let nearer = place.clone().lower(threshold.clone().expand(place.dims()));
                let reach = place
                    .clone()
                    .mask_where(nearer, threshold.expand(place.dims()));

                let part =
                    (steps * c.clone()).abs().log1p() / ((reach * c).abs().log1p() + EPSILON);
                let part: Tensor<4> = cast(part, own);
                let part = part.swap_dims(1, 2).swap_dims(2, 3);
                Ok(self
                    .outer
                    .forward(relu(self.inner.forward(part)))
                    .permute([0, 3, 1, 2]))
            },
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::refused;

    #[test]
    fn numbers_that_are_not_above_0_are_refused() {
        refused! {
            FireConfig::new(4).with_c(0.0) => "c must be above 0 and finite in f32; got 0",
            FireConfig::new(4).with_threshold(-1.0) =>
                "threshold must be above 0 and finite in f32; got -1",
            FireConfig::new(4).with_hidden(0) => "hidden must be at least 1; got 0",
        }
    }
}
