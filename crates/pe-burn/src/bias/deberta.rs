//! DeBERTa's disentangled attention: queries against positions, and positions against keys.

use alloc::format;
use alloc::vec::Vec;
use core::ops::Range;

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};

use super::content::{check_scores, score_bias, with_rows};
use super::distances::Distances;
use super::table::small;
use super::{Heads, ScoreBias};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_number, check_size};
use crate::layout::share_of_heads;
use crate::positions::Lookup;
use crate::tensor::{check_device, check_linear, check_parameter, dequantized, indices, matrix};

/// The largest `max_distance`: every distance up to it has an entry in a list of rows.
const MAX_DISTANCE: usize = 1 << 20;

config! {
    /// The configuration of a [`Deberta`].
    pub struct DebertaConfig {
        /// The width of the model, a multiple of `heads`.
        d_model: usize,
        /// The number of heads, at least 1.
        heads: usize,
    }

    /// The positions of DeBERTa-v3 for a model of width `d_model`; every option at its default.
    new;

    /// The number of rows to each side: the first half holds a distance each, the second half ranges that
    /// grow evenly on a logarithmic scale up to `max_distance`. Even and at least 4, or none for a row per
    /// distance up to `max_distance`, as in the first DeBERTa. `position_buckets` of transformers' configs,
    /// where −1 means none. Default: 256.
    buckets: Option<usize> = Some(256),
    with_buckets;

    /// All distances from this one on share the last row of their direction; `max_relative_positions` of transformers'
    /// configs, where −1 stands for `max_position_embeddings`. Default: 512.
    max_distance: usize = 512,
    with_max_distance;

    /// Whether queries are multiplied with the positions of keys (`c2p`). Default: true.
    content_to_position: bool = true,
    with_content_to_position;

    /// Whether the positions of queries are multiplied with keys (`p2c`). Default: true.
    position_to_content: bool = true,
    with_position_to_content;

    /// The initial embeddings. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl DebertaConfig {
    /// Builds the module on `device`, with an embedding per row and projections of its own.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for `heads` that `d_model` is not a multiple of, and for `buckets` or a
    /// `max_distance` out of bounds; [`PositionError::Config`] when both terms are off;
    /// [`PositionError::TooLarge`] when the embeddings or a projection do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Deberta, PositionError> {
        self.check()?;
        let d_model = self.d_model;
        let projection = || LinearConfig::new(d_model, d_model).init(device);
        let rows = self.rows();
        check_room::<f32>(rows.max(d_model), d_model)?;
        Ok(Deberta {
            embeddings: matrix(&self.init, [rows, d_model], device),
            key: self.content_to_position.then(projection),
            query: self.position_to_content.then(projection),
            config: self.clone(),
        })
    }

    /// Refuses settings out of bounds, and returns `d_head`.
    fn check(&self) -> Result<usize, PositionError> {
        check_size("d_model", self.d_model)?;
        let d_head = share_of_heads("d_model", self.d_model, self.heads)?;
        let least = match self.buckets {
            Some(buckets) => {
                let fits = buckets >= 4 && buckets.is_multiple_of(2);
                check_number(fits, "buckets", buckets, "even and at least 4")?;
                buckets / 2 + 2
            }
            None => 1,
        };
        if self.max_distance < least || self.max_distance > MAX_DISTANCE {
            let bound = format!("at least {least} and at most {MAX_DISTANCE}");
            return Err(PositionError::number(
                "max_distance",
                self.max_distance,
                bound,
            ));
        }
        match self.terms() {
            0 => Err(PositionError::config(
                "one of content_to_position and position_to_content must be true",
            )),
            _ => Ok(d_head),
        }
    }

    /// The number of rows of the table of embeddings: twice `buckets`, or twice `max_distance`.
    pub fn rows(&self) -> usize {
        let side = self.buckets.unwrap_or(self.max_distance);
        side.saturating_mul(2)
    }

    /// The row of a distance, key minus query. The rows go from the farthest key to the right, over the query itself, to
    /// the farthest key to the left.
    pub fn row(&self, distance: i64) -> usize {
        let rows = i64::try_from(self.rows()).unwrap_or(i64::MAX);
        // DeBERTa counts from the key to the query.
        let row = self
            .bucket(distance.saturating_neg())
            .saturating_add(rows / 2);
        row.clamp(0, (rows - 1).max(0)) as usize
    }

    /// The signed bucket of a distance, before it is limited to the rows that there are.
    fn bucket(&self, distance: i64) -> i64 {
        let Some(buckets) = self.buckets else {
            return distance;
        };
        let exact = (buckets / 2) as i64;
        if distance.unsigned_abs() <= exact.unsigned_abs() {
            return distance;
        }
        // In f32, as DeBERTa's own code has it.
        let log = |distance: f64| libm::logf((distance / exact as f64) as f32);
        let part = log(distance.unsigned_abs() as f64) / log(self.max_distance as f64 - 1.0);
        let bucket = libm::ceilf(part * (exact - 1) as f32) as i64;
        bucket
            .saturating_add(exact)
            .saturating_mul(distance.signum())
    }

    /// What is added to scores, from position tables that are already projected. It is for models whose positions go
    /// through the query and key projections of each layer, biases included (`share_att_key`, as in DeBERTa-v2 and v3).
    ///
    /// # Shapes
    ///
    /// - `position_keys`: `[heads, rows, d_head]`, the embeddings after the projection for keys; none where
    ///   `content_to_position` is off
    /// - `position_queries`: the same after the projection for queries; none where `position_to_content` is
    ///   off
    /// - `queries`, `keys` and output: as for [`try_score_bias`](ScoreBias::try_score_bias)
    ///
    /// # Errors
    ///
    /// Those of [`try_score_bias`](ScoreBias::try_score_bias) and [`try_init`](Self::try_init), and
    /// [`PositionError::Config`] for a table of another shape, one too many, or one that is missing.
    ///
    /// ```
    /// use burn::nn::LinearConfig;
    /// use burn::tensor::{Device, Distribution, Tensor};
    /// use pe_burn::content::DebertaConfig;
    /// use pe_burn::Positions;
    ///
    /// let device = Device::flex();
    /// let config = DebertaConfig::new(64, 4);
    /// let embeddings = Tensor::<2>::random([512, 64], Distribution::Default, &device);
    /// let [query, key] = [(); 2].map(|()| LinearConfig::new(64, 64).init(&device)); // of the layer
    ///
    /// let table = |x: Tensor<2>| x.reshape([512, 4, 16]).swap_dims(0, 1); // [heads, rows, d_head]
    /// let position_keys = table(key.forward(embeddings.clone()));
    /// let position_queries = table(query.forward(embeddings));
    /// let [q, k] = [(); 2].map(|()| Tensor::<4>::random([2, 4, 10, 16], Distribution::Default, &device));
    /// let at = Positions::default();
    /// let bias = config.score_bias_with(
    ///     Some(position_keys),
    ///     Some(position_queries),
    ///     (&q, &at),
    ///     (&k, &at),
    /// )?;
    /// assert_eq!(bias.dims(), [2, 4, 10, 10]);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    pub fn score_bias_with(
        &self,
        position_keys: Option<Tensor<3>>,
        position_queries: Option<Tensor<3>>,
        queries: Heads,
        keys: Heads,
    ) -> Result<Tensor<4>, PositionError> {
        // DeBERTa divides the product of queries and keys by more than √d_head. This factor, below 0, is the difference.
        let content = self.factor() - 1.0;
        let device = queries.0.device();
        let d_head = self.check()?;
        let expected = [self.heads, self.rows(), d_head];
        for (name, table, used) in [
            ("position_keys", &position_keys, self.content_to_position),
            (
                "position_queries",
                &position_queries,
                self.position_to_content,
            ),
        ] {
            let shape = table.as_ref().map(Tensor::dims);
            if shape != used.then_some(expected) {
                let wanted = match used {
                    true => format!("must be {expected:?}, which are heads, rows and d_head"),
                    false => "must be none, for its term is off".into(),
                };
                let got = shape.map_or("none".into(), |shape| format!("{shape:?}"));
                return Err(PositionError::config(format!("{name} {wanted}; got {got}")));
            }
            if let Some(table) = table {
                check_device(table, &device)?;
            }
        }
        self.with_tables([queries, keys], &device, content, |used| {
            let part = |table: Tensor<3>| table.narrow(1, used.start, used.len());
            [position_keys, position_queries].map(|table| table.map(part))
        })
    }

    /// By what the scores of content are multiplied: they are divided by √(d_head (1 + terms)), not by √d_head.
    fn factor(&self) -> f64 {
        1.0 / libm::sqrt((1 + self.terms()) as f64)
    }

    /// The terms of positions, plus `content` times the scores of queries and keys. `tables` returns the used rows of the
    /// tables of key and query positions, `[heads, rows, d_head]`, on `device`. The settings must have been checked.
    fn with_tables(
        &self,
        [queries, keys]: [Heads; 2],
        device: &Device,
        content: f64,
        tables: impl FnOnce(Range<usize>) -> [Option<Tensor<3>>; 2],
    ) -> Result<Tensor<4>, PositionError> {
        let d_head = self.d_model / self.heads;
        let sizes = (Some(self.heads), d_head);
        score_bias(queries, keys, sizes, device, |[(q, q_at), (k, k_at)]| {
            let (used, rows) = self.rows_of(&q_at, &k_at, device)?;
            for (side, is_used) in [
                (&q, self.content_to_position),
                (&k, self.position_to_content),
            ] {
                check_scores(side, if is_used { used.len() } else { 0 })?;
            }
            let scale = 1.0 / libm::sqrt(d_head as f64);
            let scaled =
                |table: Tensor<3>| table.flip([1]).cast(q.dtype()) * (scale * self.factor());
            let [of_keys, of_queries] = tables(used).map(|table| table.map(scaled));
            Ok(with_rows(
                (q, of_keys),
                Some((k, of_queries)),
                content * scale,
                rows,
            ))
        })
    }

    /// The number of terms beside the product of queries and keys.
    fn terms(&self) -> usize {
        usize::from(self.content_to_position) + usize::from(self.position_to_content)
    }

    /// The range of rows that are used, and the row of every pair, `[1 or batch, queries, keys]`, counted back from the
    /// last row of the range, which is that of the lowest distance.
    fn rows_of(
        &self,
        queries: &Lookup,
        keys: &Lookup,
        device: &Device,
    ) -> Result<(Range<usize>, Tensor<3, Int>), PositionError> {
        let distances = Distances::new(queries, keys, device)?;
        let reach = self.reach();
        let range @ (first, last) = distances.part_of((-reach, reach));
        let what = "DeBERTa's table of distances";
        let index = distances.rows_within(range, what, device)?;
        let used = self.row(last)..self.row(first) + 1;
        let row_of: Vec<usize> = (first..=last)
            .map(|distance| used.end - 1 - self.row(distance))
            .collect();
        let row_of = indices(&row_of, &device.clone().without_autodiff());
        let shape = index.dims();
        let pairs = shape.iter().product::<usize>();
        let rows = row_of.select(0, index.reshape([pairs])).reshape(shape);
        Ok((used, rows))
    }

    /// A distance from which on the row does not change, in both directions.
    fn reach(&self) -> i64 {
        let last = self.rows() as i64 / 2;
        let from = self.max_distance as i64 - 1;
        // Found after one or a few steps: at `from` the logarithmic scale is just below the last row.
        (from..)
            .find(|distance| self.bucket(*distance) >= last)
            .unwrap_or(from)
    }
}

module!(DebertaConfig => Deberta {
    d_model, heads, buckets, max_distance, content_to_position, position_to_content,
});

/// DeBERTa's disentangled attention: a score is the sum of three products, of content with content, of a
/// query with the relative position of the key, and of the relative position of the query with a key. He et
/// al., [*DeBERTa: Decoding-enhanced BERT with Disentangled Attention*](https://arxiv.org/abs/2006.03654), 2020,
/// §3.1, with the buckets of DeBERTa-v2:
///
/// ```text
/// score(i, j) = (q_i · k_j + q_i · (W_k e_δ) + k_j · (W_q e_δ)) / √(3 d_head),    δ = row(j − i)
/// ```
///
/// The product of content with content is divided by √(3 d_head) as well, or by √(2 d_head) with one term of positions.
/// This hook is for attention that divides it by √d_head, as usual: what the hook adds includes the difference.
///
/// This module has embeddings and projections of its own. In DeBERTa-v2 and v3 the embeddings of positions go through the
/// query and key projections of each layer: pass the projected tables to
/// [`score_bias_with`](DebertaConfig::score_bias_with), which needs no module. Made by [`DebertaConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::content::DebertaConfig;
/// use pe_burn::{Positions, ScoreBias};
///
/// let device = Device::flex();
/// let deberta = DebertaConfig::new(512, 8).init(&device);
/// let at = Positions::default();
/// let [q, k] = [(); 2].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
/// let bias = deberta.score_bias((&q, &at), (&k, &at)); // [batch, heads, queries, keys]
/// assert_eq!(bias.dims(), [2, 8, 100, 100]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "disentangled attention")]
pub struct Deberta {
    /// `[rows, d_model]`: an embedding for each range of distances; `rel_embeddings.weight` of DeBERTa's
    /// checkpoints, after the layer normalization where the model has one (`norm_rel_ebd`).
    pub embeddings: Param<Tensor<2>>,
    /// `pos_key_proj`, if `content_to_position` is on.
    pub key: Option<Linear>,
    /// `pos_query_proj`, if `position_to_content` is on.
    pub query: Option<Linear>,
    #[module(skip)]
    config: DebertaConfig,
}

impl Deberta {
    /// As [`DebertaConfig::with_tables`], with the tables of this module. Only the rows that are used are projected.
    fn with_own_tables(&self, sides: [Heads; 2], content: f64) -> Result<Tensor<4>, PositionError> {
        let embeddings = dequantized(self.embeddings.val());
        let DebertaConfig { d_model, heads, .. } = self.config;
        let rows = self.config.rows();
        check_parameter("embeddings", embeddings.dims(), [rows, d_model])?;
        let terms = [
            ("key", &self.key, self.config.content_to_position),
            ("query", &self.query, self.config.position_to_content),
        ];
        for (name, projection, is_used) in terms {
            let wanted = match (projection, is_used) {
                (Some(projection), true) => {
                    check_linear(name, projection, [d_model, d_model])?;
                    continue;
                }
                (None, false) => continue,
                (Some(_), false) => "none, for its term is off",
                (None, true) => "a projection, for its term is on",
            };
            return Err(PositionError::config(format!("{name} must be {wanted}")));
        }
        let device = embeddings.device();
        self.config.with_tables(sides, &device, content, |used| {
            let embeddings = embeddings.narrow(0, used.start, used.len());
            terms.map(|(_, projection, _)| {
                let projected = projection.as_ref()?.forward(embeddings.clone());
                let by_head = projected.reshape([used.len(), heads, d_model / heads]);
                Some(by_head.swap_dims(0, 1))
            })
        })
    }
}

impl ScoreBias for Deberta {
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError> {
        self.with_own_tables([queries, keys], self.config.factor() - 1.0)
    }

    fn try_scaled_score_bias(
        &self,
        queries: Heads,
        keys: Heads,
    ) -> Result<(f64, Tensor<4>), PositionError> {
        let added = self.with_own_tables([queries, keys], 0.0)?;
        Ok((self.config.factor(), added))
    }
}

#[cfg(test)]
mod tests;
