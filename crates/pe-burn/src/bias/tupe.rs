//! TUPE: words are multiplied with words and positions with positions, each with their own projections.

use alloc::format;

use burn::module::{Initializer, Module};
use burn::nn::{Linear, LinearConfig};
use burn::tensor::{DType, Device, Tensor};

use super::content::score_bias;
use super::distances::of_pairs;
use super::t5::{T5RelativeBias, T5RelativeBiasConfig};
use super::{Bias, Heads, ScoreBias};
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::embed::{LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig};
use crate::error::{PositionError, check_width};
use crate::layout::share_of_heads;
use crate::positions::Tokens;
use crate::tensor::check_linear;

config! {
    /// The configuration of a [`Tupe`].
    pub struct TupeConfig {
        /// The width of the model, a multiple of `heads`.
        d_model: usize,
        /// The number of heads, at least 1.
        heads: usize,
        /// The number of positions, at least 1. It is a hard limit: there is no vector past it.
        max_len: usize,
    }

    /// TUPE-A, with absolute positions alone; every option at its default.
    new;

    /// For TUPE-R: the bias by distance that is added, with the same number of heads. Default: none, which is TUPE-A.
    relative: Option<T5RelativeBiasConfig> = None,
    /// Sets the bias of distances that is added, as in TUPE-R. The paper's is T5's,
    /// [`T5RelativeBiasConfig::new`].
    with_relative: T5RelativeBiasConfig;

    /// The initial vectors of the positions. Default: N(0, 1), the size that the layer normalization of the authors' code
    /// gives to them.
    init: Initializer = Initializer::Normal { mean: 0.0, std: 1.0 },
    with_init;
}

impl TupeConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for `heads` that `d_model` is not a multiple of, a `max_len` of 0, and what
    /// [`T5RelativeBiasConfig::try_init`] refuses; [`PositionError::Config`] when the bias of distances has another number of
    /// heads; [`PositionError::TooLarge`] when the vectors or a projection do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Tupe, PositionError> {
        let d_model = self.d_model;
        share_of_heads("d_model", d_model, self.heads)?;
        let table = LearnedPositionalEmbeddingConfig::new(d_model, self.max_len)
            .with_init(self.init.clone())
            .try_init(device)?;
        check_room::<f32>(d_model, d_model)?;
        if let Some(relative) = &self.relative
            && relative.heads != self.heads
        {
            let (ours, theirs) = (self.heads, relative.heads);
            return Err(PositionError::config(format!(
                "heads is {ours}, and the heads of `relative` are {theirs}: they must be as many"
            )));
        }
        let relative = self.relative.as_ref();
        let linear = LinearConfig::new(d_model, d_model).with_bias(false);
        Ok(Tupe {
            positions: table,
            query: linear.init(device),
            key: linear.init(device),
            relative: relative.map(|t5| t5.try_init(device)).transpose()?,
            config: self.clone(),
        })
    }

    fn d_head(&self) -> usize {
        self.d_model / self.heads
    }
}

module!(TupeConfig => Tupe { d_model, heads, max_len });

/// TUPE, untied positional encoding: a score is the sum of a product of words and a product of positions, which have
/// projections of their own. Ke et al., [*Rethinking Positional Encoding in Language
/// Pre-training*](https://arxiv.org/abs/2006.15595), 2021, §3.1, eq. 7 (TUPE-A), and eq. 8 (TUPE-R):
///
/// ```text
/// score(i, j) = (q_i · k_j + (p_i U_Q) · (p_j U_K)) / √(2 d_head)  [ + b_(j − i) ]
/// ```
///
/// for each head, where `p` are trained vectors of the positions and `b` is [T5's bias](T5RelativeBias). Words are never
/// multiplied with positions. Made by [`TupeConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::content::TupeConfig;
/// use pe_burn::{Positions, ScoreBias, T5RelativeBiasConfig};
///
/// let device = Device::flex();
/// let tupe_r = TupeConfig::new(64, 4, 512).with_relative(T5RelativeBiasConfig::new(4)).init(&device);
/// let [q, k] = [(); 2].map(|()| Tensor::<4>::random([2, 4, 10, 16], Distribution::Default, &device));
/// let at = Positions::default();
/// let bias = tupe_r.score_bias((&q, &at), (&k, &at)); // [batch, heads, queries, keys]
/// assert_eq!(bias.dims(), [2, 4, 10, 10]);
///
/// // For a model that scales its own products by 1/√(2 d_head): the same for all layers.
/// let of_positions = tupe_r.of_positions((&at, 10), (&at, 10))?; // [1, heads, queries, keys]
/// assert_eq!(of_positions.dims(), [1, 4, 10, 10]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// - **Scale.** TUPE divides the product of words by √(2 d_head), but this hook is for attention that divides it by
///   √d_head, as usual. What the hook adds includes the difference, as that of [`Deberta`](crate::content::Deberta) does,
///   and so it depends on queries and keys. [`of_positions`](Self::of_positions) is the part that does not.
/// - **All layers** share the vectors and the projections (§3.1). The hook computes them in each layer.
/// - **`[CLS]`** is not untied (§3.2): the paper puts learned numbers in the place of all products of positions with that
///   token. Only the model knows which token that is, and a model without one, such as one for series, has none to untie.
/// - **Weights.** Projections have no bias, as in the paper. In the authors' code the vectors go through a layer normalization,
///   and the projections have biases: put the normalized vectors and such projections into the fields to compute the same.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "untied positional encoding")]
pub struct Tupe {
    /// `p`, a vector of width `d_model` for each position.
    pub positions: LearnedPositionalEmbedding,
    /// `U_Q` of all heads, `d_model` → `d_model`.
    pub query: Linear,
    /// `U_K` of all heads, likewise.
    pub key: Linear,
    /// `b`, for TUPE-R.
    pub relative: Option<T5RelativeBias>,
    #[module(skip)]
    config: TupeConfig,
}

impl Tupe {
    /// What the positions alone add to scores, where the product of words is divided by √(2 d_head):
    /// `(p_i U_Q) · (p_j U_K) / √(2 d_head)`, and `b` for TUPE-R. It is the same for all layers.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`, in the type of the vectors
    ///
    /// # Errors
    ///
    /// Those of [`Bias::try_bias`], among them [`NotWhole`](PositionError::NotWhole) for times, and
    /// [`TooLong`](PositionError::TooLong) for a position from `max_len` on.
    pub fn of_positions(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let TupeConfig { d_model, heads, .. } = self.config;
        let [_, width] = self.positions.weight.lazy_shape().dims();
        check_width("d_model", d_model, width)?;
        check_linear("query", &self.query, [d_model, d_model])?;
        check_linear("key", &self.key, [d_model, d_model])?;
        let device = self.positions.weight.lazy_device();
        // Also where there is no query or no key, so that the positions of the other side are checked.
        let vectors = [queries, keys].map(|(at, seq)| self.positions.encode(at, seq));
        let [p_q, p_k] = vectors;
        let (p_q, p_k) = (p_q?, p_k?);
        let dtype: DType = p_q.dtype();
        of_pairs(queries, keys, heads, (&device, dtype), |_, _| {
            let by_head = |p: Tensor<3>, projection: &Linear| {
                let [rows, seq, _] = p.dims();
                let p = projection.forward(p);
                p.reshape([rows, seq, heads, self.config.d_head()])
                    .swap_dims(1, 2)
            };
            // Multiplied, since Burn rounds the gradient of a quotient to `f32`.
            let scale = 1.0 / libm::sqrt(2.0 * self.config.d_head() as f64);
            let (p_q, p_k) = (by_head(p_q, &self.query) * scale, by_head(p_k, &self.key));
            let products = p_q.matmul(p_k.transpose());
            Ok(match &self.relative {
                Some(relative) => products + relative.try_bias(queries, keys)?.cast(dtype),
                None => products,
            })
        })
    }

    /// Checks queries and keys, and calls `add` with them and what their positions add, in the type that sums are computed in.
    fn with_positions(
        &self,
        queries: Heads,
        keys: Heads,
        add: impl FnOnce(Tensor<4>, Tensor<4>, Tensor<4>) -> Tensor<4>,
    ) -> Result<Tensor<4>, PositionError> {
        let sizes = (Some(self.config.heads), self.config.d_head());
        let device = self.positions.weight.lazy_device();
        let spans = [queries, keys].map(|(side, at)| (at, side.dims()[2]));
        score_bias(queries, keys, sizes, &device, |[(q, _), (k, _)]| {
            let of_positions = self.of_positions(spans[0], spans[1])?.cast(q.dtype());
            Ok(add(q, k, of_positions))
        })
    }
}

/// By what the scores of words are multiplied: they are divided by √(2 d_head), not by √d_head.
const FACTOR: f64 = core::f64::consts::FRAC_1_SQRT_2;

impl ScoreBias for Tupe {
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError> {
        let of_words = (FACTOR - 1.0) / libm::sqrt(self.config.d_head() as f64);
        self.with_positions(queries, keys, |q, k, of_positions| {
            q.matmul(k.transpose()) * of_words + of_positions
        })
    }

    fn try_scaled_score_bias(
        &self,
        queries: Heads,
        keys: Heads,
    ) -> Result<(f64, Tensor<4>), PositionError> {
        let of_positions = self.with_positions(queries, keys, |_, _, of_positions| of_positions)?;
        Ok((FACTOR, of_positions))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::Positions;
    use crate::testing::refused;

    #[test]
    fn settings_out_of_bounds_are_refused() {
        let with_heads = |heads| T5RelativeBiasConfig::new(heads);
        refused! {
            TupeConfig::new(9, 2, 4) =>
                "d_model must be a multiple of the number of heads, 2; got 9",
            TupeConfig::new(8, 2, 0) => "max_len must be at least 1; got 0",
            TupeConfig::new(8, 2, 4).with_relative(with_heads(4)) =>
                "heads is 2, and the heads of `relative` are 4: they must be as many",
            TupeConfig::new(8, 2, 4).with_relative(with_heads(2).with_buckets(3)) =>
                "buckets must be a multiple of 4, and not 0; got 3",
        }
    }

    #[test]
    fn positions_without_a_vector_are_refused() {
        let device = Device::flex();
        let tupe = TupeConfig::new(8, 2, 5).init(&device);
        let x = Tensor::<4>::ones([1, 2, 3, 4], &device);
        let (first, past) = (Positions::default(), Positions::from(3));
        let times = Positions::from_time_rows(&[[0.0, 0.5, 1.0]]).unwrap();
        refused! {
            |pair| tupe.try_score_bias((&x, pair.0), (&x, pair.1));
            (&past, &first) =>
                "position 5 is past the end: this module has positions 0 to 4 (max_len 5)",
            (&first, &past) =>
                "position 5 is past the end: this module has positions 0 to 4 (max_len 5)",
            (&times, &first) =>
                "a learned table has one entry for each whole position, so it cannot take times",
        }
    }
}
