//! T5's relative position bias.

use alloc::format;
use alloc::vec::Vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::module::embedding;
use burn::tensor::{Device, Int, Tensor};

use super::Bias;
use super::distances::Distances;
use super::table::{gather, small};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::positions::Tokens;
use crate::tensor::{check_parameter, dequantized, indices, matrix, on_own_device};

/// The largest `max_distance`: the module keeps a bucket for every distance up to it.
const MAX_DISTANCE: usize = 1 << 20;

config! {
    /// The configuration of a [`T5RelativeBias`].
    pub struct T5RelativeBiasConfig {
        /// The number of heads, at least 1.
        heads: usize,
    }

    /// The biases of T5's encoder for a number of heads; every option at its default.
    new;

    /// The number of buckets for distances; a multiple of 4 if `bidirectional`, else even. Default: 32.
    buckets: usize = 32,
    with_buckets;

    /// All distances from this one on share the last bucket of their direction. It must be more than
    /// the number of buckets that hold a single distance. Default: 128.
    max_distance: usize = 128,
    with_max_distance;

    /// Whether keys to the right have buckets of their own, as in T5's encoder. In its decoder, where
    /// they are masked, they share that of distance 0. Default: true.
    bidirectional: bool = true,
    with_bidirectional;

    /// The initial biases. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl T5RelativeBiasConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads, and for a `buckets` or `max_distance` that is out of
    /// bounds; [`TooLarge`](PositionError::TooLarge) for a table that does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<T5RelativeBias, PositionError> {
        check_size("heads", self.heads)?;
        let shares = if self.bidirectional { 4 } else { 2 };
        if self.buckets == 0 || !self.buckets.is_multiple_of(shares) {
            let bound = format!("a multiple of {shares}, and not 0");
            return Err(PositionError::number("buckets", self.buckets, bound));
        }
        let exact = self.buckets / shares;
        if self.max_distance <= exact || self.max_distance > MAX_DISTANCE {
            let bound = format!(
                "more than {exact}, for {} buckets, and at most {MAX_DISTANCE}",
                self.buckets
            );
            return Err(PositionError::number(
                "max_distance",
                self.max_distance,
                bound,
            ));
        }
        check_room::<f32>(self.buckets, self.heads)?;
        let reach = self.max_distance as i64;
        let buckets: Vec<usize> = (-reach..=reach).map(|d| self.bucket(d)).collect();
        let constant = device.clone().without_autodiff();
        Ok(T5RelativeBias {
            weight: matrix(&self.init, [self.buckets, self.heads], device),
            bucket_of: indices(&buckets, &constant),
            config: self.clone(),
        })
    }

    /// The bucket of a distance, key minus query. Half of the buckets of a direction hold one distance
    /// each, from 0 on; the others hold ranges that grow evenly on a logarithmic scale up to
    /// `max_distance`.
    pub fn bucket(&self, distance: i64) -> usize {
        let (buckets, first) = match self.bidirectional {
            true if distance > 0 => (self.buckets / 2, self.buckets / 2),
            true => (self.buckets / 2, 0),
            false => (self.buckets, 0),
        };
        let steps = match self.bidirectional {
            true => distance.unsigned_abs(),
            false => distance.min(0).unsigned_abs(),
        };
        let exact = buckets / 2;
        if steps < exact as u64 {
            return first + steps as usize;
        }
        // In f32, as T5's own code has it.
        let ratio = libm::logf(steps as f32 / exact as f32)
            / libm::log(self.max_distance as f64 / exact as f64) as f32;
        let further = (ratio * (buckets - exact) as f32) as usize;
        first + exact.saturating_add(further).min(buckets.saturating_sub(1))
    }
}

module!(T5RelativeBiasConfig => T5RelativeBias { heads, buckets, max_distance, bidirectional });

/// T5's relative position bias: a trained bias per head and range of distances. Raffel et al., [*Exploring the Limits of
/// Transfer Learning with a Unified Text-to-Text
/// Transformer*](https://arxiv.org/abs/1910.10683), 2020, §2.1.
///
/// ```text
/// bias(head, i, j) = weight[bucket(j − i)][head]
/// ```
///
/// Made by [`T5RelativeBiasConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{Bias, Positions, T5RelativeBiasConfig};
///
/// let t5 = T5RelativeBiasConfig::new(8).init(&Device::flex());
/// let positions = Positions::default();
/// let bias = t5.bias((&positions, 100), (&positions, 100)); // [1, heads, queries, keys]
/// assert_eq!(bias.dims(), [1, 8, 100, 100]);
/// ```
///
/// T5 itself does not scale its scores by 1/√d_head, and shares one such module between all layers.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct T5RelativeBias {
    /// `[buckets, heads]`, as `relative_attention_bias.weight` of T5's checkpoints.
    pub weight: Param<Tensor<2>>,
    /// The buckets of the distances `-max_distance..=max_distance`.
    bucket_of: Tensor<1, Int>,
    #[module(skip)]
    config: T5RelativeBiasConfig,
}

impl T5RelativeBias {
    fn check(&self) -> Result<(), PositionError> {
        let expected = [self.config.buckets, self.config.heads];
        check_parameter("weight", self.weight.lazy_shape().dims(), expected)
    }

    /// The bias of each distance of a strip, otherwise of every pair.
    fn of_distances(&self, distances: &Distances) -> Result<Tensor<4>, PositionError> {
        let weight = dequantized(self.weight.val());
        let device = weight.device();
        let Distances::Strip {
            first,
            queries,
            keys,
        } = distances
        else {
            let reach = self.config.max_distance as i64;
            let index = distances.rows_within((-reach, reach), "T5's bias", &device)?;
            let by_distance = weight.select(0, on_own_device(&self.bucket_of));
            return Ok(gather(by_distance, index));
        };
        let len = queries + keys - 1;
        let buckets: Vec<usize> = (0..len as i64)
            .map(|i| self.config.bucket(*first as i64 + i))
            .collect();
        let buckets = indices(&buckets, &device.clone().without_autodiff());
        let strip = embedding(weight, buckets.unsqueeze());
        let shape = [1, self.config.heads, 1, len];
        Ok(strip.swap_dims(1, 2).reshape(shape))
    }
}

impl Bias for T5RelativeBias {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        self.check()?;
        let heads = self.config.heads;
        let weight = dequantized(self.weight.val());
        let (device, own) = (weight.device(), weight.dtype());
        Distances::bias(queries, keys, heads, (&device, own), |distances| {
            self.of_distances(distances)
        })
    }

    fn try_distance_bias(
        &self,
        queries: Tokens,
        keys: Tokens,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        self.check()?;
        let (heads, device) = (self.config.heads, self.weight.device());
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
    fn settings_out_of_bounds_are_refused() {
        let config = T5RelativeBiasConfig::new(4);
        refused! {
            T5RelativeBiasConfig::new(0) => "heads must be at least 1; got 0",
            config.clone().with_buckets(30) => "buckets must be a multiple of 4, and not 0; got 30",
            config.clone().with_buckets(0) => "buckets must be a multiple of 4, and not 0; got 0",
            config.with_max_distance(8) =>
                "max_distance must be more than 8, for 32 buckets, and at most 1048576; got 8",
        }
    }

    /// A configuration that cannot be built still has the buckets that its formula gives.
    #[test]
    fn a_bucket_is_in_bounds_for_every_configuration() {
        let t5 = T5RelativeBiasConfig::new(8).with_max_distance(8);
        assert_eq!(t5.bucket(100), 31);
        assert!(t5.try_init(&Device::flex()).is_err());
    }
}
