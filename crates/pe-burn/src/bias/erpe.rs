//! eRPE: a learned number per head and distance, added to the weights of attention after the softmax.

use alloc::format;

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, Tensor};

use super::WeightBias;
use super::distances::{Distances, of_pairs};
use super::table::gather;
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_number, check_size};
use crate::positions::{Lookup, Tokens};
use crate::tensor::{check_parameter, dequantized, matrix};

/// The largest `max_len`: the table has a row for every distance up to it, on both sides.
const MAX_LEN: usize = 1 << 20;

config! {
    /// The configuration of an [`Erpe`].
    pub struct ErpeConfig {
        /// The number of heads, at least 1.
        heads: usize,
        /// The length of the longest sequence, at least 1 and at most 2^20. It is a hard limit: the table ends at a distance of
        /// `max_len − 1`.
        max_len: usize,
    }

    /// The paper's encoding for series of up to `max_len` tokens.
    new;

    /// The initial numbers. Default: 0, as in the authors' code.
    init: Initializer = super::table::zeros(),
    with_init;
}

impl ErpeConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads and a `max_len` out of bounds; [`TooLarge`](PositionError::TooLarge) for a table
    /// that does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Erpe, PositionError> {
        check_size("heads", self.heads)?;
        let fits = (1..=MAX_LEN).contains(&self.max_len);
        let bound = "at least 1 and at most 1048576";
        check_number(fits, "max_len", self.max_len, bound)?;
        let shape = [self.rows(), self.heads];
        check_room::<f32>(shape[0], shape[1])?;
        let table = matrix(&self.init, shape, device);
        let config = self.clone();
        Ok(Erpe { table, config })
    }

    /// The number of distances from −(max_len − 1) to max_len − 1.
    fn rows(&self) -> usize {
        2 * self.max_len - 1
    }
}

module!(ErpeConfig => Erpe { heads, max_len });

/// eRPE, efficient relative position encoding: a trained number for each head and distance that is added to the weights of
/// attention, after the softmax. Foumani et al., [*Improving Position Encoding of Transformers for Multivariate Time Series
/// Classification*](https://arxiv.org/abs/2305.16642), 2023, §4.2, eq. 14; ConvTran has it beside
/// [tAPE](crate::Formula::Tape):
///
/// ```text
/// output_i = Σ_j (weight(i, j) + w_(i − j)) v_j        weight: the softmax of the scores
/// ```
///
/// The number is added after the softmax, so it is not normalized over the keys and may be negative: the weights of a
/// query no longer sum to 1. Made by [`ErpeConfig`].
///
/// ```
/// use burn::tensor::module::attention;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::weights::ErpeConfig;
/// use pe_burn::{Positions, WeightBias};
///
/// let device = Device::flex();
/// let erpe = ErpeConfig::new(8, 100).init(&device);
/// let [q, k, v] = [(); 3].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
///
/// let at = Positions::default();
/// let bias = erpe.weight_bias((&at, 100), (&at, 100)); // [1, heads, queries, keys]
/// let y = attention(q, k, v.clone(), None, None, Default::default()) + bias.matmul(v);
/// assert_eq!(y.dims(), [2, 8, 100, 64]);
/// ```
///
/// - **Distances** are whole, and less than `max_len`: others are refused.
/// - **The rest of ConvTran's attention**, scores that are divided by √d_model and a layer normalization of its output, is no
///   part of this encoding.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "eRPE")]
#[doc(alias = "ConvTran")]
pub struct Erpe {
    /// `[2 max_len − 1, heads]`: `w` of the distances `−(max_len − 1) ..= max_len − 1`, query minus key;
    /// `relative_bias_table` of the authors' code.
    pub table: Param<Tensor<2>>,
    #[module(skip)]
    config: ErpeConfig,
}

impl WeightBias for Erpe {
    fn try_weight_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let heads = self.config.heads;
        let shape = self.table.lazy_shape().dims();
        check_parameter("table", shape, [self.config.rows(), heads])?;
        // `Distances` are key minus query, the rows of the table query minus key.
        let table = dequantized(self.table.val()).flip([0]);
        let (device, own) = (table.device(), table.dtype());
        of_pairs(queries, keys, heads, (&device, own), |q, k| {
            let distances = Distances::new(q, k, &device)?;
            self.check_reach(&distances, q, k)?;
            let reach = self.config.max_len as i64 - 1;
            let Distances::Strip {
                first,
                queries,
                keys,
            } = distances
            else {
                let rows = distances.rows_within((-reach, reach), "eRPE's table", &device)?;
                return Ok(gather(table, rows));
            };
            let (from, len) = ((first as i64 + reach) as usize, queries + keys - 1);
            let strip = table.slice([from..from + len, 0..heads]).transpose();
            Ok(distances.spread(strip.reshape([1, heads, 1, len])))
        })
    }
}

impl Erpe {
    /// Refuses distances that the table does not have. Where they are on a device, they are read back unless all
    /// positions are below `max_len`.
    fn check_reach(
        &self,
        distances: &Distances,
        queries: &Lookup,
        keys: &Lookup,
    ) -> Result<(), PositionError> {
        let max_len = self.config.max_len;
        let farthest = match distances {
            Distances::Strip {
                first,
                queries,
                keys,
            } => first.abs().max((first + (queries + keys - 2) as f64).abs()) as usize,
            Distances::Whole(apart) if queries.end().max(keys.end()) > max_len => {
                apart.clone().abs().max().into_scalar::<i64>() as usize
            }
            _ => 0,
        };
        if farthest < max_len {
            return Ok(());
        }
        let bound = format!("at most {}, for a max_len of {max_len}", max_len - 1);
        let name = "the distance of a query and a key";
        Err(PositionError::number(name, farthest, bound))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Positions;
    use crate::testing::{refused, values};

    #[test]
    fn settings_out_of_bounds_are_refused() {
        refused! {
            ErpeConfig::new(0, 4) => "heads must be at least 1; got 0",
            ErpeConfig::new(2, 0) => "max_len must be at least 1 and at most 1048576; got 0",
            ErpeConfig::new(2, MAX_LEN + 1) =>
                "max_len must be at least 1 and at most 1048576; got 1048577",
        }
    }

    /// One head, whose numbers are those of their distance, query minus key.
    #[test]
    fn each_pair_gets_the_number_of_its_distance() {
        let device = Device::flex();
        let mut erpe = ErpeConfig::new(1, 4).init(&device);
        assert_eq!(values(erpe.table.val()), [0.0; 7]);
        let table = [[-3.0], [-2.0], [-1.0], [0.0], [1.0], [2.0], [3.0]];
        erpe.table = Param::from_tensor(Tensor::from_floats(table, &device));
        let expected = [
            [2.0, 1.0, 0.0, -1.0].as_slice(),
            [3.0, 2.0, 1.0, 0.0].as_slice(),
        ]
        .concat();
        let far = 1 << 40;
        for (queries, keys) in [
            (Positions::from(2), Positions::default()),
            (Positions::from(far + 2), Positions::from(far)),
            (
                Positions::from_id_rows(&[[far + 2, far + 3]]).unwrap(),
                Positions::from(far),
            ),
        ] {
            let bias = erpe.weight_bias((&queries, 2), (&keys, 4));
            assert_eq!(bias.dims(), [1, 1, 2, 4]);
            assert_eq!(values(bias), expected);
        }
    }

    #[test]
    fn distances_that_the_table_does_not_have_are_refused() {
        let erpe = ErpeConfig::new(2, 4).init(&Device::flex());
        let (first, far) = (Positions::default(), Positions::from(3));
        let ids = Positions::from_id_rows(&[[3, 4]]).unwrap();
        let times = Positions::from_time_rows(&[[0.0, 0.5]]).unwrap();
        let too_far =
            "the distance of a query and a key must be at most 3, for a max_len of 4; got 4";
        refused! {
            |pair| erpe.try_weight_bias((pair.0, 2), (pair.1, 2));
            (&far, &first) => too_far,
            (&first, &far) => too_far,
            (&ids, &first) => too_far,
            (&first, &ids) => too_far,
            (&times, &first) =>
                "eRPE's table has one entry for each whole position, so it cannot take times",
        }
    }
}
