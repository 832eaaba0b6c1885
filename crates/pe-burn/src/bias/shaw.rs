//! Relative positions of Shaw, Uszkoreit and Vaswani: a trained vector per clipped distance.

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Device, IndexingUpdateOp, Tensor};

use super::content::{check_scores, of_heads, score_bias, with_rows};
use super::distances::Distances;
use super::table::small;
use super::{Heads, ScoreBias};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_number, check_size};
use crate::positions::{Lookup, Positions};
use crate::tensor::{cast, check_device, check_parameter, compute_dtype, dequantized, matrix};

/// The largest `left` and `right`: the tables have a row for every distance up to them.
const MAX_CLIP: usize = 1 << 20;

/// What cannot take times, for the error.
const WHAT: &str = "Shaw's table of distances";

config! {
    /// The configuration of a [`Shaw`].
    pub struct ShawConfig {
        /// The width of a head, at least 1.
        d_head: usize,
    }

    /// The paper's clipping distance, 16, for heads of width `d_head`, with a table for keys alone.
    new;

    /// The largest distance to the left that has a vector of its own; all farther keys share it. Default: 16.
    left: usize = 16,
    with_left;

    /// The largest distance to the right that has a vector of its own. Default: 16.
    right: usize = 16,
    with_right;

    /// Whether there is a second table, for [`values`](Shaw::values). Default: false.
    values: bool = false,
    with_values;

    /// The initial vectors. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl ShawConfig {
    /// Sets the clipping distance to both sides, the paper's `k`.
    pub fn with_clip(self, clip: usize) -> Self {
        Self {
            left: clip,
            right: clip,
            ..self
        }
    }

    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_head` of 0, and for a clipping distance above 2^20;
    /// [`TooLarge`](PositionError::TooLarge) when a table does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Shaw, PositionError> {
        check_size("d_head", self.d_head)?;
        for (name, clip) in [("left", self.left), ("right", self.right)] {
            check_number(clip <= MAX_CLIP, name, clip, "at most 1048576")?;
        }
        let rows = self.left + self.right + 1;
        check_room::<f32>(rows, self.d_head)?;
        let table = || matrix(&self.init, [rows, self.d_head], device);
        Ok(Shaw {
            keys: table(),
            values: self.values.then(table),
            config: self.clone(),
        })
    }
}

module!(ShawConfig => Shaw { d_head, left, right, values });

/// Relative positions as vectors that are added to keys, and to values. Shaw, Uszkoreit and Vaswani,
/// [*Self-Attention with Relative Position Representations*](https://arxiv.org/abs/1803.02155), 2018, §3.2:
///
/// ```text
/// bias(i, j) = q_i · keys[clip(j − i)] / √d_head
/// output_i   = Σ_j weight(i, j) (v_j + values[clip(j − i)])
/// ```
///
/// `clip` takes a distance to `−left ..= right`. All heads share the tables, as in the paper. Adding the vectors to keys
/// and values would need a key and a value for every pair: instead, queries are multiplied with the table, and each pair
/// takes its product (§3.3).
///
/// With `left` 64 and `right` 8 it is the `relative_key` of Wav2Vec2-BERT. Made by [`ShawConfig`].
///
/// ```
/// use burn::tensor::activation::softmax;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::content::ShawConfig;
/// use pe_burn::{Positions, ScoreBias};
///
/// let device = Device::flex();
/// let shaw = ShawConfig::new(64).with_values(true).init(&device);
/// let positions = Positions::default();
/// let [q, k, v] = [(); 3].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
///
/// let bias = shaw.score_bias((&q, &positions), (&k, &positions)); // [batch, heads, queries, keys]
/// let weights = softmax(q.matmul(k.transpose()) / 8.0 + bias, 3);
/// let y = weights.clone().matmul(v) + shaw.values(weights, &positions, &positions)?;
/// assert_eq!(y.dims(), [2, 8, 100, 64]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "relative_key")]
pub struct Shaw {
    /// `[left + 1 + right, d_head]`: the vectors of the distances `−left ..= right`, key minus query;
    /// `distance_embedding.weight` of Wav2Vec2-BERT's checkpoints.
    pub keys: Param<Tensor<2>>,
    /// The table for values, if the configuration asks for one.
    pub values: Option<Param<Tensor<2>>>,
    #[module(skip)]
    config: ShawConfig,
}

impl Shaw {
    /// What the vectors of the distances add to the output of attention: `Σ_j weight(i, j)
    /// values[clip(j − i)]`.
    ///
    /// # Shapes
    ///
    /// - `weights`: `[batch, heads, queries, keys]`, the attention weights, after the softmax
    /// - output: `[batch, heads, queries, d_head]`, in the type of the weights; to be added to the product of
    ///   weights and values
    ///
    /// # Errors
    ///
    /// [`PositionError::Config`] when the module has no table for values; else those of
    /// [`try_score_bias`](ScoreBias::try_score_bias).
    pub fn values(
        &self,
        weights: Tensor<4>,
        queries: &Positions,
        keys: &Positions,
    ) -> Result<Tensor<4>, PositionError> {
        let Some(table) = &self.values else {
            return Err(PositionError::config(
                "this module has no table for values: set `values` in its configuration",
            ));
        };
        self.check("values", table)?;
        let device = self.keys.device();
        check_device(&weights, &device)?;
        let [batch, heads, q_seq, k_seq] = weights.dims();
        let queries = queries.lookup(Some(batch), q_seq)?;
        let keys = keys.lookup(Some(batch), k_seq)?;
        let own = weights.dtype();
        let shape = [batch, heads, q_seq, self.config.d_head];
        if batch * heads * q_seq * k_seq == 0 {
            return Ok(Tensor::zeros(shape, (&device, own)));
        }
        let dtype = compute_dtype(own.into());
        let table = dequantized(table.val()).cast(dtype);
        let rows = of_heads(self.rows(&queries, &keys)?, batch, heads);
        check_scores(&weights, table.dims()[0])?;
        // The weights of keys at the same distance count together.
        let none = Tensor::zeros(
            [batch, heads, q_seq, table.dims()[0]],
            (&device, dtype.into()),
        );
        let by_distance = none.scatter(3, rows, cast(weights, dtype), IndexingUpdateOp::Add);
        Ok(cast(by_distance.matmul(table.unsqueeze()), own.into()))
    }

    fn check(&self, name: &'static str, table: &Param<Tensor<2>>) -> Result<(), PositionError> {
        let rows = self.config.left + 1 + self.config.right;
        let expected = [rows, self.config.d_head];
        check_parameter(name, table.lazy_shape().dims(), expected)
    }

    /// The row of the tables for every pair, `[1 or batch, queries, keys]`.
    fn rows(
        &self,
        queries: &Lookup,
        keys: &Lookup,
    ) -> Result<Tensor<3, burn::tensor::Int>, PositionError> {
        let device = self.keys.device();
        let range = (-(self.config.left as i64), self.config.right as i64);
        Distances::new(queries, keys, &device)?.rows_within(range, WHAT, &device)
    }
}

impl ScoreBias for Shaw {
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError> {
        let sizes = (None, self.config.d_head);
        self.check("keys", &self.keys)?;
        let device = self.keys.device();
        score_bias(queries, keys, sizes, &device, |[(q, q_at), (_, k_at)]| {
            let table = dequantized(self.keys.val()).cast(q.dtype());
            // Multiplied, since Burn rounds the gradient of a quotient to `f32`.
            let table = table * (1.0 / libm::sqrt(self.config.d_head as f64));
            check_scores(&q, table.dims()[0])?;
            Ok(with_rows(
                (q, Some(table.unsqueeze())),
                None,
                0.0,
                self.rows(&q_at, &k_at)?,
            ))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::{refused, values};

    #[test]
    fn settings_out_of_bounds_are_refused() {
        refused! {
            ShawConfig::new(0) => "d_head must be at least 1; got 0",
            ShawConfig::new(4).with_right((1 << 20) + 1) =>
                "right must be at most 1048576; got 1048577",
        }
    }

    /// One head of width 1, where the bias is the product of two numbers.
    #[test]
    fn distances_are_clipped_to_both_sides() {
        let device = Device::flex();
        let mut shaw = ShawConfig::new(1).with_left(1).with_right(2).init(&device);
        shaw.keys = Param::from_tensor(Tensor::from_floats(
            [[10.0], [20.0], [30.0], [40.0]],
            &device,
        ));
        let q = Tensor::<4>::from_floats([[[[1.0], [2.0], [3.0]]]], &device);
        let k = Tensor::<4>::ones([1, 1, 5, 1], &device);
        let bias = shaw.score_bias((&q, &Positions::from(2)), (&k, &Positions::default()));
        // Distances −2 to 2, −3 to 1, −4 to 0.
        let expected = [
            [10.0, 10.0, 20.0, 30.0, 40.0],
            [20.0, 20.0, 20.0, 40.0, 60.0],
            [30.0, 30.0, 30.0, 30.0, 60.0],
        ];
        assert_eq!(values(bias), expected.concat());
    }

    #[test]
    fn values_need_their_table() {
        let device = Device::flex();
        let at = Positions::default();
        let weights = Tensor::ones([1, 1, 1, 1], &device);
        refused! {
            |config| config.init(&device).values(weights, &at, &at);
            ShawConfig::new(4) =>
                "this module has no table for values: set `values` in its configuration",
        }
    }
}
