//! ALiBi: attention with linear biases.

use alloc::vec::Vec;

use burn::module::Module;
use burn::tensor::{DType, Device, FloatDType, Tensor};
use serde::{Deserialize, Serialize};

use super::augment::{augment, check_sides};
use super::distances::Distances;
use super::{Bias, check_heads};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::positions::{Positions, Tokens};
use crate::tensor::cast;

/// The distance that ALiBi counts for keys to the right of a query.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AlibiShape {
    /// `|j − i|`, as for keys to the left. It is the paper's, made for causal attention, which masks
    /// keys to the right. An encoder cannot tell left from right with it.
    #[default]
    Symmetric,
    /// `j − i + ½`, half a step more than to the left, so that an encoder can tell left from right.
    HalfStep,
}

config! {
    /// The configuration of an [`Alibi`].
    #[derive(Eq)]
    pub struct AlibiConfig {
        /// The number of heads, at least 1.
        heads: usize,
    }

    /// The paper's biases for a number of heads.
    new;

    /// The distance that counts for keys to the right. Default: the same as to the left.
    shape: AlibiShape = AlibiShape::default(),
    with_shape;
}

impl AlibiConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads, and [`TooLarge`](PositionError::TooLarge) for more than fit into
    /// memory.
    pub fn try_init(&self, device: &Device) -> Result<Alibi, PositionError> {
        check_size("heads", self.heads)?;
        check_room::<f64>(1, self.heads)?;
        let slopes: Vec<f32> = self.slopes().iter().map(|slope| *slope as f32).collect();
        let device = device.clone().without_autodiff();
        Ok(Alibi {
            slopes: Tensor::from_data(slopes.as_slice(), (&device, DType::F32)),
            config: self.clone(),
        })
    }

    /// The slope of every head. For a number `n` of heads that is a power of two, they are `2^(−8i/n)`, `i` from 1 to
    /// `n`; otherwise the slopes for the next lower power of two, followed by every second slope for the next higher one,
    /// as in the paper's code.
    pub fn slopes(&self) -> Vec<f64> {
        let of = |n: usize| (1..=n).map(move |i| libm::exp2(-8.0 * i as f64 / n as f64));
        let below = match self.heads {
            0 => return Vec::new(),
            heads => 1 << heads.ilog2(),
        };
        let rest = of(2 * below).step_by(2).take(self.heads - below);
        of(below).chain(rest).collect()
    }
}

module!(AlibiConfig => Alibi { heads, shape });

/// ALiBi: lowers attention scores in proportion to the distance between query and key. Press et al., [*Train Short,
/// Test Long: Attention with Linear Biases Enables Input Length
/// Extrapolation*](https://arxiv.org/abs/2108.12409), 2021, §3:
///
/// ```text
/// bias(head, i, j) = −slope(head) · |j − i|
/// ```
///
/// Made by [`AlibiConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{AlibiConfig, Bias, Positions};
///
/// let alibi = AlibiConfig::new(8).init(&Device::flex());
/// let positions = Positions::default();
/// let bias = alibi.bias((&positions, 100), (&positions, 100)); // [1, heads, queries, keys]
/// assert_eq!(bias.dims(), [1, 8, 100, 100]);
///
/// // Decoding: one query at position 100, the keys of the cache and its own.
/// let bias = alibi.bias((&Positions::from(100), 1), (&positions, 101));
/// assert_eq!(bias.dims(), [1, 8, 1, 101]);
/// ```
///
/// Pass the bias to [`burn::tensor::module::attention`] as `attn_bias`. It has no parameters and depends
/// on positions only: make it once for all layers, and keep it where positions do not change from call to
/// call.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "ALiBi")]
#[doc(alias = "linear bias")]
pub struct Alibi {
    /// `[heads]`
    slopes: Tensor<1>,
    #[module(skip)]
    config: AlibiConfig,
}

impl Alibi {
    /// Returns queries and keys with extra columns, whose products add the bias to the scores, so that **causal**
    /// attention has it without a bias argument. Fast attention kernels take no bias: Burn's kernel on graphics cards,
    /// for one, runs only without.
    ///
    /// ```text
    /// −slope · (i − j) = (−slope · i) · 1 + slope · j
    /// ```
    ///
    /// Keys after a query would get a bias above 0, so they must be masked. Pass the result to attention as it is,
    /// without a scale of your own: attention divides by the root of the new width, and the queries are already scaled so
    /// that their products with keys come out as before. Values keep their width. The columns count from the lowest
    /// position of the call, so put keys into a cache without these columns.
    ///
    /// # Shapes
    ///
    /// - queries: `[batch, heads, queries, d_head]`; keys: `[batch, kv_heads, keys, d_head]`, in the float type
    ///   of the queries
    /// - output: as queries and keys, with the smallest width that is a multiple of 16 and at least `d_head + 2`
    ///   (`d_head + 5` in `f16`, `d_head + 9` in `bf16`, where a number takes several columns)
    ///
    /// ```
    /// use burn::tensor::module::attention;
    /// use burn::tensor::ops::AttentionModuleOptions;
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::{AlibiConfig, Positions};
    ///
    /// let device = Device::flex();
    /// let alibi = AlibiConfig::new(8).init(&device);
    /// let [q, k, v] =
    ///     [(); 3].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
    ///
    /// let positions = Positions::default();
    /// let (q, k) = alibi.augment((q, &positions), (k, &positions)).unwrap();
    /// assert_eq!(q.dims(), [2, 8, 100, 80]);
    /// let causal = AttentionModuleOptions { is_causal: true, ..Default::default() };
    /// let y = attention(q, k, v, None, None, causal);
    /// assert_eq!(y.dims(), [2, 8, 100, 64]);
    /// ```
    ///
    /// Scores differ from those with a bias by at most 2^-21 times slope times length. In half precision the queries are
    /// rounded once more.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] when the queries have another number of heads than the module, or, in `f16`,
    /// when positions are further apart than 134 million divided by the root of the width (15 million at 80);
    /// [`Width`](PositionError::Width) when the keys have another `d_head`,
    /// [`Config`](PositionError::Config) when they have another float type, and
    /// [`Grid`](PositionError::Grid) for coordinates; [`Device`](PositionError::Device),
    /// [`Shape`](PositionError::Shape), [`Batch`](PositionError::Batch) and
    /// [`Overflow`](PositionError::Overflow) as for other schemes.
    pub fn augment(
        &self,
        queries: (Tensor<4>, &Positions),
        keys: (Tensor<4>, &Positions),
    ) -> Result<(Tensor<4>, Tensor<4>), PositionError> {
        let ((q, at_q), (k, at_k)) = (queries, keys);
        let ([batch_q, heads, seq_q, _], [batch_k, _, seq_k, _]) = (q.dims(), k.dims());
        check_heads(heads, self.config.heads)?;
        check_sides(&q, &k, &self.slopes.device())?;
        let of_q = at_q.lookup(Some(batch_q), seq_q)?;
        let of_k = at_k.lookup(Some(batch_k), seq_k)?;
        augment((q, &of_q), (k, &of_k), self.slopes.clone())
    }
}

impl Alibi {
    /// The bias of each distance.
    fn of_distances(&self, distances: &Distances) -> Result<Tensor<4>, PositionError> {
        let device = self.slopes.device();
        let slopes = self.slopes.clone().without_autodiff();
        let numbers = distances.real(&device);
        let steps = match self.config.shape {
            AlibiShape::Symmetric => numbers.abs(),
            AlibiShape::HalfStep => {
                distances.check_line()?;
                let right = numbers.clone().greater_scalar(0.0).cast(FloatDType::F32);
                numbers.abs() + right * 0.5
            }
        };
        let bias = steps * -slopes.reshape([1, self.config.heads, 1, 1]);
        Ok(cast(bias, device.settings().float_dtype))
    }
}

impl Bias for Alibi {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let device = self.slopes.device();
        let own = device.settings().float_dtype;
        let heads = self.config.heads;
        Distances::bias(queries, keys, heads, (&device, own.into()), |distances| {
            self.of_distances(distances)
        })
    }

    fn try_distance_bias(
        &self,
        queries: Tokens,
        keys: Tokens,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        let (heads, device) = (self.config.heads, self.slopes.device());
        Distances::strip(queries, keys, heads, &device, |distances| {
            self.of_distances(distances)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::refused;

    #[test]
    fn no_heads_are_refused() {
        refused! { AlibiConfig::new(0) => "heads must be at least 1; got 0", }
    }
}
