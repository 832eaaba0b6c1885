//! CoPE: positions that count what a query looks at.

use alloc::vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::{Bool, DType, Device, Int, Tensor};

use super::content::{pick_each, score_bias};
use super::distances::Distances;
use super::table::small;
use super::{Heads, ScoreBias};
#[cfg(feature = "flex")]
use crate::backend::flex;
use crate::backend::memory::check_room;
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::positions::{Lookup, Rows};
use crate::tensor::{check_parameter, counting_type, dequantized, ids_on, indices_in, matrix};

config! {
    /// The configuration of a [`Cope`].
    pub struct CopeConfig {
        /// The width of a head, at least 1.
        d_head: usize,
    }

    /// The paper's 64 positions for heads of width `d_head`.
    new;

    /// The number of positions that have an embedding, the paper's `npos_max`, at least 1: all farther keys
    /// share the last. Default: 64.
    positions: usize = 64,
    with_positions;

    /// The initial embeddings. Default: N(0, 0.02).
    init: Initializer = small(),
    with_init;
}

impl CopeConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_head` or a number of positions of 0;
    /// [`TooLarge`](PositionError::TooLarge) when the embeddings do not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Cope, PositionError> {
        check_size("d_head", self.d_head)?;
        check_size("positions", self.positions)?;
        let (d_head, positions) = (self.d_head, self.positions);
        check_room::<f32>(positions, d_head)?;
        Ok(Cope {
            embeddings: matrix(&self.init, [d_head, positions], device),
            config: self.clone(),
        })
    }
}

module!(CopeConfig => Cope { d_head, positions });

/// CoPE, contextual position encoding: the position of a key is not its number of tokens from the query, but
/// how many of the tokens between them the query looks at. Golovneva et al., [*Contextual Position Encoding:
/// Learning to Count What's Important*](https://arxiv.org/abs/2405.18719), 2024, §4, with the scaled gates of
/// its code (appendix A):
///
/// ```text
/// gate(i, t)     = σ(q_i · k_t / √d_head)
/// position(i, j) = min(Σ gate(i, t) for t = j ..= i, positions − 1)
/// bias(i, j)     = q_i · e[position(i, j)]        between whole positions: interpolated
/// ```
///
/// At a whole position the gradient is that of the interpolation to the next one; the paper's code has none there.
///
/// All heads share the embeddings. It is made for causal attention: all keys to the right of the query are at position 0.
/// Of the positions that the hook is given, only the order is used: `t` runs over the keys from `j` on, as long as
/// positions increase from one key to the next and do not pass that of the query. A key whose position does not increase
/// starts another document of a packed row, or is padding; a key that is marked as padding has no gate. Made by
/// [`CopeConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::content::CopeConfig;
/// use pe_burn::{Positions, ScoreBias};
///
/// let device = Device::flex();
/// let cope = CopeConfig::new(64).init(&device);
/// let at = Positions::default();
/// let [q, k] = [(); 2].map(|()| Tensor::<4>::random([2, 8, 100, 64], Distribution::Default, &device));
/// let bias = cope.score_bias((&q, &at), (&k, &at)); // [batch, heads, queries, keys]
/// assert_eq!(bias.dims(), [2, 8, 100, 100]);
/// ```
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "CoPE")]
pub struct Cope {
    /// `[d_head, positions]`: the embeddings as columns, as `pos_emb` of the paper's code.
    pub embeddings: Param<Tensor<2>>,
    #[module(skip)]
    config: CopeConfig,
}

/// Which keys have no gate, since they come after a query or are padding, `[1 or batch, 1, queries, keys]`.
fn hidden(
    queries: &Lookup,
    keys: &Lookup,
    device: &Device,
) -> Result<Tensor<4, Bool>, PositionError> {
    let later = later(queries, keys, device)?;
    let Some(padding) = keys.padding(device) else {
        return Ok(later);
    };
    let ([of_later, ..], [of_padding, seq]) = (later.dims(), padding.dims());
    let shape = [of_later.max(of_padding), 1, queries.seq, seq];
    let padding = padding.reshape([of_padding, 1, 1, seq]);
    Ok(later.expand(shape).bool_or(padding.expand(shape)))
}

/// Which keys come after a query, `[1 or batch, 1, queries, keys]`.
fn later(
    queries: &Lookup,
    keys: &Lookup,
    device: &Device,
) -> Result<Tensor<4, Bool>, PositionError> {
    let distances = Distances::new(queries, keys, device)?;
    distances.check_line()?;
    Ok(match distances {
        Distances::Strip {
            first,
            queries,
            keys,
        } => {
            // Where all keys come before all queries, or after them, it does not matter how far.
            let (q, k) = (queries as f64, keys as f64);
            let before = (-(first + q - 1.0)).clamp(-q, k);
            let device = device.clone().without_autodiff();
            Tensor::<2, Bool>::tril_mask([queries, keys], before as i64, &device).unsqueeze()
        }
        Distances::Whole(distances) => distances.greater_scalar(0).unsqueeze_dim(1),
        Distances::Times(distances) | Distances::Space(distances) => {
            distances.greater_scalar(0.0).unsqueeze_dim(1)
        }
    })
}

/// For each key the first key after it that starts another document, or the number of keys, `[1 or batch,
/// keys]`; `None` where all keys are one document.
fn ends(keys: &Lookup, device: &Device) -> Option<Tensor<2, Int>> {
    let device = device.clone().without_autodiff();
    let seq = keys.seq;
    let of_rows = |increases: &dyn Fn(usize, usize) -> bool, rows: usize| {
        let mut ends = vec![seq; rows * seq];
        for row in 0..rows {
            for key in (row * seq..(row + 1) * seq - 1).rev() {
                ends[key] = match increases(key, key + 1) {
                    true => ends[key + 1],
                    false => key + 1 - row * seq,
                };
            }
        }
        let several = ends.iter().any(|end| *end < seq);
        several.then(|| indices_in(&ends, [rows, seq], &device))
    };
    match &keys.rows {
        Rows::Run(_) | Rows::Coordinates { .. } => None, // the latter were refused
        Rows::Ids(ids) => of_rows(&|a, b| ids[a] < ids[b], ids.len() / seq),
        Rows::Times(times) => of_rows(&|a, b| times[a] < times[b], times.len() / seq),
        Rows::Device(_) if seq == 1 => None,
        Rows::Device(ids) => {
            let ids = ids_on(&ids.ids, &device);
            let [rows, _] = ids.dims();
            let dtype = DType::from(counting_type(&device));
            let (before, after) = (
                ids.clone().slice([0..rows, 0..seq - 1]),
                ids.slice([0..rows, 1..seq]),
            );
            let index = Tensor::<1, Int>::arange(1..seq as i64, (&device, dtype));
            let index = index.unsqueeze::<2>().expand([rows, seq - 1]);
            let starts = index.mask_fill(after.greater(before), seq as i64);
            let last = Tensor::full([rows, 1], seq as i64, (&device, dtype));
            let nearest = Tensor::cat(vec![starts, last], 1).flip([1]).cummin(1);
            Some(nearest.flip([1]))
        }
    }
}

/// For each key, the sum of the gates from it to its end (`ends`, `[1 or batch, keys]`, exclusive). Sums of 2, 4, 8, …
/// keys are each made from two sums of half as many, so no gate of another document ever enters a sum. A difference of
/// cumulative sums over the whole row would carry the rounding error of the sum over all documents.
fn sums_to_ends(gates: Tensor<4>, ends: Tensor<2, Int>) -> Tensor<4> {
    let [rows, keys] = ends.dims();
    let index = Tensor::<1, Int>::arange(0..keys as i64, (&ends.device(), ends.dtype()));
    let left = (ends - index.unsqueeze()).reshape([rows, 1, 1, keys]);
    let mut sums = gates;
    let mut summed = 1;
    while summed < keys {
        let (here, there) = (keys - summed, summed);
        let outside = left
            .clone()
            .narrow(3, 0, here)
            .lower_equal_scalar(summed as i64);
        let further = sums.clone().narrow(3, there, here).mask_fill(outside, 0.0);
        let last = sums.clone().narrow(3, here, summed);
        sums = Tensor::cat(vec![sums.narrow(3, 0, here) + further, last], 3);
        summed *= 2;
    }
    sums
}

/// The products of queries with `embeddings`, `[d_head, positions]`, at the positions of the keys. The position of a key
/// is the sum of the gates from it to its end, at most `last`; the gates are computed from the scores, multiplied by
/// `scale`.
fn contextual(
    [q, k]: [Tensor<4>; 2],
    embeddings: Tensor<2>,
    (scale, last): (f64, usize),
    hidden: Tensor<4, Bool>,
    ends: Option<Tensor<2, Int>>,
) -> Tensor<4> {
    let device = q.device();
    let scores = q.clone().matmul(k.transpose());
    let products = q.matmul(embeddings.unsqueeze());
    // σ(x) = (1 + tanh(x/2)) / 2; Burn's sigmoid computes in f32 on some backends, also in f64.
    let gates = (scores * (0.5 * scale)).tanh() * 0.5 + 0.5;
    let gates = gates.mask_fill(hidden, 0.0);
    // The sum over a key and all after it.
    let position = match ends {
        None => gates.flip([3]).cumsum(3).flip([3]),
        Some(ends) => sums_to_ends(gates, ends),
    };
    let position = position.clamp(0.0, last as f64);
    let below = position.clone().detach().floor();
    // Not the position rounded up: at a whole position the slope would be 0, and the gates would get no gradient.
    let above = (below.clone() + 1.0).clamp_max(last as f64);
    let part = position - below.clone();
    let counting = counting_type(&device);
    let at = |whole: Tensor<4>| pick_each(products.clone(), whole.int().cast(counting));
    let (below, above) = (at(below), at(above));
    below.clone() + (above - below) * part
}

impl ScoreBias for Cope {
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError> {
        let (d_head, positions) = (self.config.d_head, self.config.positions);
        let shape = self.embeddings.lazy_shape().dims();
        check_parameter("embeddings", shape, [d_head, positions])?;
        let sizes = (None, d_head);
        let device = self.embeddings.device();
        score_bias(queries, keys, sizes, &device, |[(q, q_at), (k, k_at)]| {
            // No position is larger than the number of keys, and interpolation needs the position after it.
            let used = positions.min(k.dims()[2] + 2);
            let embeddings = dequantized(self.embeddings.val())
                .narrow(1, 0, used)
                .cast(q.dtype());
            let numbers = (1.0 / libm::sqrt(d_head as f64), positions - 1);
            let hidden = hidden(&q_at, &k_at, &device)?;
            let ends = ends(&k_at, &device);
            #[cfg(feature = "flex")]
            if flex::supports(&q) && flex::supports(&k) && flex::supports(&embeddings) {
                return Ok(flex::contextual([q, k], embeddings, numbers, hidden, ends));
            }
            Ok(contextual([q, k], embeddings, numbers, hidden, ends))
        })
    }
}

#[cfg(test)]
mod tests;
