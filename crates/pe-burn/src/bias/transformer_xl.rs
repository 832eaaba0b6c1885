//! Transformer-XL's relative positions, which are the Conformer's too.

use alloc::vec;
use alloc::vec::Vec;

use burn::module::{Initializer, Module, Param};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{Device, FloatDType, Tensor};

use super::content::{check_scores, score_bias, with_distances};
use super::table::small;
use super::{Heads, ScoreBias};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_number};
use crate::layout::{Layout, share_of_heads};
use crate::positions::{Lookup, Rows};
use crate::spectrum::buffer::{RowBuffer, RowSource};
use crate::spectrum::{DEFAULT_BASE, Spectrum};
use crate::tensor::{check_linear, check_parameter, dequantized, matrix};

config! {
    /// The configuration of a [`TransformerXl`].
    pub struct TransformerXlConfig {
        /// The width of the model and of the sinusoids: even, and a multiple of `heads`.
        d_model: usize,
        /// The number of heads, at least 1.
        heads: usize,
    }

    /// The paper's positions for a model of width `d_model`; every option at its default.
    new;

    /// The base of the wavelengths, finite and greater than 1. Default: 10 000.
    base: f64 = DEFAULT_BASE,
    with_base;

    /// Which column of the sinusoids holds which sine and cosine: halves in Transformer-XL, interleaved in
    /// Conformers. Default: halves.
    layout: Layout = Layout::Halves,
    with_layout;

    /// The number of distances that the buffer of sinusoids starts with, at least 1; it grows when it is
    /// used past them. Default: 512.
    max_len: usize = 512,
    with_max_len;

    /// The initial `u` and `v`. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl TransformerXlConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for an odd `d_model` or one that is not a multiple of `heads`, and for a
    /// `base` or `max_len` out of bounds; [`TooLarge`](PositionError::TooLarge) when the buffer or the
    /// projection does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<TransformerXl, PositionError> {
        let (d_model, heads) = (self.d_model, self.heads);
        let d_head = share_of_heads("d_model", d_model, heads)?;
        let bound = "even, since every sine has a cosine";
        check_number(d_model.is_multiple_of(2), "d_model", d_model, bound)?;
        check_room::<f32>(d_model, d_model)?;
        let spectrum = Spectrum::new(d_model, self.base)?.with_layout(self.layout);
        let vectors = || matrix(&self.init, [heads, d_head], device);
        Ok(TransformerXl {
            projection: LinearConfig::new(d_model, d_model)
                .with_bias(false)
                .init(device),
            u: vectors(),
            v: vectors(),
            rows: RowBuffer::new(RowSource::from(spectrum), self.max_len, device)?,
            config: self.clone(),
        })
    }
}

module!(TransformerXlConfig => TransformerXl { d_model, heads, base, layout, max_len });

/// Transformer-XL's relative positions: queries are multiplied with a projection of the sinusoids of the distance, and
/// two trained vectors per head stand in for the position of the query. Dai et al., [*Transformer-XL: Attentive
/// Language Models Beyond a Fixed-Length Context*](https://arxiv.org/abs/1901.02860), 2019, §3.3; the
/// Conformer has the same (Gulati et al., [*Conformer: Convolution-augmented Transformer for Speech
/// Recognition*](https://arxiv.org/abs/2005.08100), 2020, §2.1), with sines and cosines interleaved and with
/// keys to the right of the query:
///
/// ```text
/// score(i, j) = (q_i · k_j + q_i · r(i − j) + u · k_j + v · r(i − j)) / √d_head
/// r(distance) = W · sinusoids(distance)
/// ```
///
/// The first term is the attention's own, the others are what this hook adds. Made by
/// [`TransformerXlConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::content::TransformerXlConfig;
/// use pe_burn::{Layout, Positions, ScoreBias};
///
/// let device = Device::flex();
/// let conformer = TransformerXlConfig::new(512, 8).with_layout(Layout::Interleaved).init(&device);
/// let at = Positions::default();
/// let [q, k] = [(); 2].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
/// let bias = conformer.score_bias((&q, &at), (&k, &at)); // [batch, heads, queries, keys]
/// assert_eq!(bias.dims(), [2, 8, 100, 100]);
/// ```
///
/// Where positions are consecutive, queries are multiplied with one projected row per distance, and the products are
/// shifted into their places. For all other positions, real-valued ones included, the sine and cosine of a difference are
/// computed from those of both positions, which needs a row per query and one per key instead of one per pair.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "Conformer")]
#[doc(alias = "relative shift")]
pub struct TransformerXl {
    /// `W`, `d_model → d_model`, without a bias; `linear_pos` of Conformers at Hugging Face.
    pub projection: Linear,
    /// `[heads, d_head]`: multiplied with the keys; `pos_bias_u`.
    pub u: Param<Tensor<2>>,
    /// `[heads, d_head]`: multiplied with the projected distances; `pos_bias_v`.
    pub v: Param<Tensor<2>>,
    /// Sinusoids of the distances from 0 on.
    rows: RowBuffer,
    #[module(skip)]
    config: TransformerXlConfig,
}

impl TransformerXl {
    /// `(q + v) · r(i − j) + u · k_j` for queries and keys at consecutive positions.
    ///
    /// # Shapes
    ///
    /// - `q`: `[batch, heads, queries, d_head]`, with `v` added
    /// - `weight`: `[1, d_model, d_model]`, and `u`: `[heads, 1, d_head]`, both multiplied by the scale
    /// - output: `[batch, heads, queries, keys]`
    fn of_runs(
        &self,
        [q, k]: [Tensor<4>; 2],
        [weight, u]: [Tensor<3>; 2],
        [query, key]: [usize; 2],
    ) -> Result<Tensor<4>, PositionError> {
        let [queries, keys] = [&q, &k].map(|side| side.dims()[2]);
        // The distances key − query of the strip, from the last query and the first key on.
        let first = key as i64 - (query + queries - 1) as i64;
        let last = (key + keys - 1) as i64 - query as i64;
        check_scores(&q, queries.saturating_add(keys - 1))?;
        // One product for all heads.
        let rows = self
            .sinusoids(first, last, q.dtype().into())?
            .matmul(weight);
        let [heads, _, d_head] = u.dims();
        let rows = rows.reshape([queries + keys - 1, heads, d_head]);
        Ok(with_distances((q, rows.swap_dims(0, 1)), (k, u)))
    }

    /// The sinusoids of query − key for the distances `first..=last` of key − query, `[1, distances,
    /// d_model]`.
    fn sinusoids(
        &self,
        first: i64,
        last: i64,
        dtype: FloatDType,
    ) -> Result<Tensor<3>, PositionError> {
        let mut parts = Vec::new();
        let rows = |from: i64, to: i64| {
            let run = Lookup::run(from as usize, (to - from + 1) as usize);
            self.rows.rows(&run, dtype)
        };
        if first < 0 {
            // Keys to the left of the query: the nearest one is last.
            let nearest = (-last).max(1);
            parts.push(rows(nearest, -first)?.flip([1]));
        }
        if last >= 0 {
            // sin(−a) = −sin(a)
            let row = rows(first.max(0), last)?;
            let [_, _, width] = row.dims();
            let mut signs = vec![1.0_f32; width];
            for pair in 0..width / 2 {
                signs[self.config.layout.columns(pair, width).0] = -1.0;
            }
            let device = row.device().without_autodiff();
            let signs = Tensor::<1>::from_data(signs.as_slice(), (&device, row.dtype()));
            parts.push(row * signs.reshape([1, 1, width]));
        }
        Ok(Tensor::cat(parts, 1))
    }

    /// As [`of_runs`](Self::of_runs), for any positions. With the sines `s` and cosines `c` of both sides,
    ///
    /// ```text
    /// sin(i − j) = s_i c_j − c_i s_j        cos(i − j) = c_i c_j + s_i s_j
    /// ```
    ///
    /// so that `a sin(i − j) + b cos(i − j) = (a s_i + b c_i) c_j + (b s_i − a c_i) s_j`. The weight is `[heads, d_model, d_head]`.
    fn of_any(
        &self,
        q: Tensor<4>,
        weight: Tensor<3>,
        queries: &Lookup,
        keys: &Lookup,
    ) -> Result<Tensor<4>, PositionError> {
        let dtype = q.dtype().into();
        let coefficients = q.matmul(weight.transpose().unsqueeze());
        let [a, b] = self.sines_and_cosines(coefficients);
        let place = |lookup| -> Result<[Tensor<4>; 2], PositionError> {
            let rows = self.rows.rows(lookup, dtype)?;
            Ok(self.sines_and_cosines(rows.unsqueeze_dim(1)))
        };
        let ([s, c], [key_s, key_c]) = (place(queries)?, place(keys)?);
        let of_cosines = a.clone() * s.clone() + b.clone() * c.clone();
        let of_sines = b * s - a * c;
        let query_rows = Tensor::cat(vec![of_sines, of_cosines], 3);
        let key_rows = Tensor::cat(vec![key_s, key_c], 3);
        Ok(query_rows.matmul(key_rows.transpose()))
    }

    /// The columns of a row that belong to sines, and those that belong to cosines.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, heads, seq, d_model]`
    /// - output: `[batch, heads, seq, d_model / 2]` each
    fn sines_and_cosines(&self, x: Tensor<4>) -> [Tensor<4>; 2] {
        let [batch, heads, seq, width] = x.dims();
        let pairs = width / 2;
        let (shape, axis) = match self.config.layout {
            Layout::Halves => ([batch, heads, seq, 2, pairs], 3),
            Layout::Interleaved => ([batch, heads, seq, pairs, 2], 4),
        };
        let x = x.reshape(shape);
        [0, 1].map(|i| x.clone().narrow(axis, i, 1).squeeze_dim(axis))
    }
}

impl ScoreBias for TransformerXl {
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError> {
        let TransformerXlConfig { d_model, heads, .. } = self.config;
        let d_head = d_model / heads;
        let sizes = (Some(heads), d_head);
        let device = self.u.device();
        check_parameter("u", self.u.val().dims(), [heads, d_head])?;
        check_parameter("v", self.v.val().dims(), [heads, d_head])?;
        check_linear("projection", &self.projection, [d_model, d_model])?;
        if self.projection.bias.is_some() {
            let reason =
                "the projection of relative positions has a bias, and Transformer-XL's has none";
            return Err(PositionError::Config {
                reason: reason.into(),
            });
        }
        score_bias(queries, keys, sizes, &device, |[(q, q_at), (k, k_at)]| {
            let scale = 1.0 / libm::sqrt(d_head as f64);
            let vector = |vector: &Param<Tensor<2>>| {
                let vector = dequantized(vector.val()).cast(q.dtype());
                vector.reshape([heads, 1, d_head])
            };
            let (u, v) = (vector(&self.u) * scale, vector(&self.v));
            let weight = dequantized(self.projection.weight.val()).cast(q.dtype()) * scale;
            let seen = q.clone() + v.unsqueeze();
            if let (Rows::Run(query), Rows::Run(key)) = (&q_at.rows, &k_at.rows) {
                return self.of_runs([seen, k], [weight.unsqueeze(), u], [*query, *key]);
            }
            let weight = weight.reshape([d_model, heads, d_head]).swap_dims(0, 1);
            let of_keys = u.unsqueeze::<4>().matmul(k.transpose());
            Ok(self.of_any(seen, weight, &q_at, &k_at)? + of_keys)
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Positions;
    use crate::testing::{distance, random, refusal, refused, values};

    #[test]
    fn settings_out_of_bounds_are_refused() {
        let config = || TransformerXlConfig::new(8, 2);
        refused! {
            TransformerXlConfig::new(9, 3) =>
                "d_model must be even, since every sine has a cosine; got 9",
            TransformerXlConfig::new(8, 0) => "heads must be at least 1; got 0",
            config().with_max_len(0) => "max_len must be at least 1; got 0",
        }
        assert!(config().with_base(1.0).try_init(&Device::flex()).is_err());
    }

    #[test]
    fn a_projection_with_a_bias_is_refused() {
        let device = Device::flex();
        let mut xl = TransformerXlConfig::new(8, 2).init(&device);
        xl.projection = LinearConfig::new(8, 8).init(&device);
        let [q, k] = [(); 2].map(|()| Tensor::zeros([1, 2, 3, 4], &device));
        let at = Positions::default();
        let words =
            "the projection of relative positions has a bias, and Transformer-XL's has none";
        assert_eq!(refusal(xl.try_score_bias((&q, &at), (&k, &at))), words);
    }

    /// The rows of a strip are those of the exact spectrum, to the left and to the right of the query, on one
    /// side only, and past the buffer.
    #[test]
    fn sinusoids_of_negative_distances_have_opposite_sines() {
        for layout in [Layout::Halves, Layout::Interleaved] {
            let spectrum = Spectrum::new(6, 1e4).unwrap().with_layout(layout);
            let xl = TransformerXlConfig::new(6, 1)
                .with_layout(layout)
                .with_max_len(4)
                .init(&Device::flex());
            for (first, last) in [
                (-9, 12),
                (-3, -1),
                (2, 5),
                (0, 0),
                (-1, 0),
                (-70_000, -69_998),
            ] {
                let times: Vec<f64> = (first..=last).map(|distance| -distance as f64).collect();
                let expected: Vec<f32> = spectrum.rows_at_times(&times).unwrap();
                let rows = values(xl.sinusoids(first, last, FloatDType::F32).unwrap());
                for (row, expected) in rows.iter().zip(&expected) {
                    assert!((row - expected).abs() <= 6.0e-8, "{first} to {last}");
                }
                assert_eq!(rows.len(), expected.len());
            }
        }
    }

    /// Both ways of computing agree.
    #[test]
    fn runs_and_ids_give_the_same() {
        let device = Device::flex();
        for layout in [Layout::Halves, Layout::Interleaved] {
            let xl = TransformerXlConfig::new(12, 3)
                .with_layout(layout)
                .init(&device);
            for (query, queries, key, keys) in [
                (0, 7, 0, 7),
                (6, 1, 0, 7),
                (1_000_000, 5, 999_990, 9),
                (0, 3, 50, 8),
                (5, 4, 0, 1),
            ] {
                let [q, k] = [queries, keys].map(|seq| random([2, 3, seq, 4], &device));
                let ids = |start: usize, len: usize| {
                    let row: Vec<usize> = (start..start + len).collect();
                    Positions::from_id_rows(&[row]).unwrap()
                };
                let runs = (Positions::from(query), Positions::from(key));
                let runs = xl.score_bias((&q, &runs.0), (&k, &runs.1));
                let ids = (ids(query, queries), ids(key, keys));
                let ids = xl.score_bias((&q, &ids.0), (&k, &ids.1));
                let apart = distance(runs, ids);
                assert!(apart < 2e-6, "{layout:?} from {query} and {key}: {apart}");
            }
        }
    }
}
