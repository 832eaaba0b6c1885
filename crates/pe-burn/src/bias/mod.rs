//! What is added to attention scores, computed from the distance between query and key or from their content; and what is
//! added to attention weights.

mod alibi;
pub(crate) mod augment;
mod content;
mod cope;
mod deberta;
mod distances;
mod erpe;
mod fire;
mod grid;
mod hidden;
mod inkling;
mod kerple;
mod shaw;
mod t5;
pub(crate) mod table;
mod transformer_xl;
mod tupe;

pub use alibi::{Alibi, AlibiConfig, AlibiShape};
pub use cope::{Cope, CopeConfig};
pub use deberta::{Deberta, DebertaConfig};
pub use erpe::{Erpe, ErpeConfig};
pub use fire::{Fire, FireConfig};
pub use grid::{
    BeitRelativeBias, BeitRelativeBiasConfig, DecomposedRelativeBias, DecomposedRelativeBiasConfig,
    LevitRelativeBias, LevitRelativeBiasConfig, Resampling, SwinRelativeBias,
    SwinRelativeBiasConfig, SwinV2RelativeBias, SwinV2RelativeBiasConfig, TableBias,
};
pub use hidden::HiddenBias;
pub use inkling::{Inkling, InklingConfig, RelativeLogits};
pub use kerple::{Kerple, KerpleConfig, KerpleShape};
pub use shaw::{Shaw, ShawConfig};
pub use t5::{T5RelativeBias, T5RelativeBiasConfig};
pub use transformer_xl::{TransformerXl, TransformerXlConfig};
pub use tupe::{Tupe, TupeConfig};

use alloc::format;

use burn::tensor::Tensor;

use crate::error::{PositionError, expect};
use crate::positions::{Positions, Tokens};
use crate::tensor::{cast, check_float};

/// Queries or keys that are given by their vectors, `[batch, heads, tokens, d_head]`, and their positions.
pub type Heads<'a> = (&'a Tensor<4>, &'a Positions);

/// A scheme that adds a bias to attention scores: relative positions, as in ALiBi and T5.
///
/// ```
/// use burn::tensor::module::attention;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{AlibiConfig, Bias, Positions, T5RelativeBiasConfig};
///
/// /// Attention of `[batch, heads, seq, d_head]` each, with any bias.
/// fn attend(bias: &dyn Bias, [q, k, v]: [Tensor<4>; 3]) -> Tensor<4> {
///     let (queries, keys) = (q.dims()[2], k.dims()[2]);
///     let positions = Positions::default();
///     let bias = bias.bias((&positions, queries), (&positions, keys));
///     attention(q, k, v, None, Some(bias), Default::default())
/// }
///
/// let device = Device::flex();
/// let qkv = [(); 3].map(|()| Tensor::random([2, 8, 100, 64], Distribution::Default, &device));
/// let y = attend(&AlibiConfig::new(8).init(&device), qkv.clone());
/// let z = attend(&T5RelativeBiasConfig::new(8).init(&device), qkv);
/// # assert_eq!((y.dims(), z.dims()), ([2, 8, 100, 64], [2, 8, 100, 64]));
/// ```
#[doc(alias = "relative position")]
#[doc(alias = "relative position bias")]
pub trait Bias {
    /// The bias of every query and key. Each side is given by its positions and its number of tokens.
    /// Make it once for all layers of a model.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`, in the type of the scheme's parameters, or in the
    ///   default float type of the device if it has none; to be added to the scores after they are
    ///   scaled
    ///
    /// # Errors
    ///
    /// [`PositionError::Shape`] when positions are for another number of tokens,
    /// [`Batch`](PositionError::Batch) when queries and keys are of batches of different sizes,
    /// [`NotWhole`](PositionError::NotWhole) for times where distances are the indices of rows,
    /// [`Grid`](PositionError::Grid) when the scheme needs positions on a grid, or on a line,
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`Number`](PositionError::Number) when ids are too far apart for the integers of the device, and
    /// [`TooLarge`](PositionError::TooLarge) when the bias does not fit into memory.
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError>;

    /// The panicking form of [`try_bias`](Self::try_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_bias`](Self::try_bias) returns an error, with its message.
    #[track_caller]
    fn bias(&self, queries: Tokens, keys: Tokens) -> Tensor<4> {
        expect(self.try_bias(queries, keys))
    }

    /// The bias with one number for each distance, for attention that can read it in this form: its size grows with the
    /// length of the sequence, that of [`try_bias`](Self::try_bias) with the square of it. `None` where positions are not
    /// consecutive on both sides, and for a scheme whose bias depends on more than the distance.
    ///
    /// # Shapes
    ///
    /// - output: `[1, heads, 1, queries + keys − 1]`, in the type of [`try_bias`](Self::try_bias): the bias of query `i` and
    ///   key `j` is in column `queries − 1 − i + j`
    ///
    /// ```
    /// use burn::tensor::Device;
    /// use pe_burn::{AlibiConfig, Bias, Positions};
    ///
    /// let alibi = AlibiConfig::new(8).init(&Device::flex());
    /// let tokens = (&Positions::default(), 100);
    /// let strip = alibi.distance_bias(tokens, tokens).expect("ALiBi is by distance");
    /// assert_eq!(strip.dims(), [1, 8, 1, 199]);
    /// ```
    ///
    /// # Errors
    ///
    /// Those of [`try_bias`](Self::try_bias).
    fn try_distance_bias(
        &self,
        _queries: Tokens,
        _keys: Tokens,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        Ok(None)
    }

    /// The panicking form of [`try_distance_bias`](Self::try_distance_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_distance_bias`](Self::try_distance_bias) returns an error, with its message.
    #[track_caller]
    fn distance_bias(&self, queries: Tokens, keys: Tokens) -> Option<Tensor<4>> {
        expect(self.try_distance_bias(queries, keys))
    }
}

/// A scheme that adds to attention scores what may depend on the queries and keys themselves, and not only on
/// their distance: relative positions as in Shaw et al. 2018, Transformer-XL and DeBERTa.
///
/// Every [`Bias`] is a `ScoreBias` too, which uses only the shapes and positions of queries and keys. A layer that calls
/// this hook therefore works with both. What a `ScoreBias` adds differs from layer to layer, so it is computed in each
/// layer; a [`Bias`] alone is computed once for all of them.
///
/// ```
/// use burn::tensor::activation::softmax;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::{AlibiConfig, Positions, ScoreBias};
///
/// /// Attention of `[batch, heads, seq, d_head]` each, with any scheme that adds to the scores.
/// fn attend(scheme: &dyn ScoreBias, [q, k, v]: [Tensor<4>; 3], positions: &Positions) -> Tensor<4> {
///     let scale = (q.dims()[3] as f64).sqrt();
///     let bias = scheme.score_bias((&q, positions), (&k, positions));
///     softmax(q.matmul(k.transpose()) / scale + bias, 3).matmul(v)
/// }
///
/// let device = Device::flex();
/// let qkv = [(); 3].map(|()| Tensor::random([2, 8, 100, 64], Distribution::Default, &device));
/// let y = attend(&AlibiConfig::new(8).init(&device), qkv, &Positions::default());
/// # assert_eq!(y.dims(), [2, 8, 100, 64]);
/// ```
#[doc(alias = "relative position")]
#[doc(alias = "disentangled attention")]
pub trait ScoreBias {
    /// What is added to the score of every query and key. Each side is given by its vectors, as they go
    /// into the product of attention, and by its positions.
    ///
    /// # Shapes
    ///
    /// - queries: `[batch, heads, queries, d_head]`, not scaled, any float type
    /// - keys: `[batch, heads, keys, d_head]`, likewise; where several heads of queries share one of keys,
    ///   repeat it
    /// - output: `[1 or batch, heads, queries, keys]` in the type of the queries, to be added to `q · k / √d_head`, that
    ///   is to scores that are scaled already; a scheme that scales differently includes the difference in what it adds
    ///
    /// # Errors
    ///
    /// Those of [`Bias::try_bias`]; [`PositionError::Shape`] and [`Batch`](PositionError::Batch) also when
    /// the positions of a side are for another batch than its vectors, and when the two sides have different batches;
    /// [`Number`](PositionError::Number) or [`Width`](PositionError::Width) for other heads than the module's;
    /// [`Quantized`](PositionError::Quantized) when one is quantized. A scheme that computes with queries
    /// and keys returns [`Width`](PositionError::Width) for another `d_head` too,
    /// [`Device`](PositionError::Device) when one is on another device, and [`TooLong`](PositionError::TooLong) past the last row
    /// of a table of positions (TUPE).
    fn try_score_bias(&self, queries: Heads, keys: Heads) -> Result<Tensor<4>, PositionError>;

    /// The panicking form of [`try_score_bias`](Self::try_score_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_score_bias`](Self::try_score_bias) returns an error, with its message.
    #[track_caller]
    fn score_bias(&self, queries: Heads, keys: Heads) -> Tensor<4> {
        expect(self.try_score_bias(queries, keys))
    }

    /// As [`try_score_bias`](Self::try_score_bias), for attention that can multiply its products of queries and keys by a
    /// factor before the bias is added. A scheme that scales these products differently, as DeBERTa and TUPE do, then
    /// need not compute them itself. Returns the factor, and what is added:
    ///
    /// ```text
    /// factor · q · k / √d_head + added = q · k / √d_head + score_bias
    /// ```
    ///
    /// Other schemes have the factor 1.
    ///
    /// # Errors
    ///
    /// Those of [`try_score_bias`](Self::try_score_bias).
    fn try_scaled_score_bias(
        &self,
        queries: Heads,
        keys: Heads,
    ) -> Result<(f64, Tensor<4>), PositionError> {
        Ok((1.0, self.try_score_bias(queries, keys)?))
    }

    /// The panicking form of [`try_scaled_score_bias`](Self::try_scaled_score_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_scaled_score_bias`](Self::try_scaled_score_bias) returns an error, with its message.
    #[track_caller]
    fn scaled_score_bias(&self, queries: Heads, keys: Heads) -> (f64, Tensor<4>) {
        expect(self.try_scaled_score_bias(queries, keys))
    }
}

/// A scheme that adds to attention weights, after the softmax, as [eRPE](crate::weights::Erpe) does:
///
/// ```text
/// output_i = Σ_j (softmax_j(score(i, j)) + weight_bias(i, j)) v_j
/// ```
///
/// The sum and the softmax go over the keys that a query attends to. The weight bias depends on positions alone, so it is
/// computed once for all layers.
///
/// ```
/// use burn::tensor::module::attention;
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::weights::ErpeConfig;
/// use pe_burn::{Positions, WeightBias};
///
/// /// Causal attention of `[batch, heads, seq, d_head]` each. Any attention will do: what is added is a product of its own.
/// fn attend(scheme: &dyn WeightBias, [q, k, v]: [Tensor<4>; 3]) -> Tensor<4> {
///     let [batch, heads, seq, _] = q.dims();
///     let future = Tensor::<2>::ones([seq, seq], &q.device()).triu(1).bool();
///     let at = Positions::default();
///     let added = scheme.weight_bias((&at, seq), (&at, seq));
///     let added = added.mask_fill(future.clone().expand([1, heads, seq, seq]), 0.0);
///     let mask = future.expand([batch, heads, seq, seq]);
///     attention(q, k, v.clone(), Some(mask), None, Default::default()) + added.matmul(v)
/// }
///
/// let device = Device::flex();
/// let qkv = [(); 3].map(|()| Tensor::random([2, 8, 100, 64], Distribution::Default, &device));
/// let y = attend(&ErpeConfig::new(8, 100).init(&device), qkv);
/// # assert_eq!(y.dims(), [2, 8, 100, 64]);
/// ```
pub trait WeightBias {
    /// What is added to the weight of every query and key. Each side is given by its positions and its number of tokens.
    /// The caller replaces it by 0 where a query does not attend to a key.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`, in the type of the scheme's parameters
    ///
    /// # Errors
    ///
    /// Those of [`Bias::try_bias`], and [`Number`](PositionError::Number) for a distance past the end of the table (eRPE).
    fn try_weight_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError>;

    /// The panicking form of [`try_weight_bias`](Self::try_weight_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_weight_bias`](Self::try_weight_bias) returns an error, with its message.
    #[track_caller]
    fn weight_bias(&self, queries: Tokens, keys: Tokens) -> Tensor<4> {
        expect(self.try_weight_bias(queries, keys))
    }
}

/// The bias of positions alone, in the float type of the queries.
impl<B: Bias + ?Sized> ScoreBias for B {
    fn try_score_bias(
        &self,
        (q, of_queries): Heads,
        (k, of_keys): Heads,
    ) -> Result<Tensor<4>, PositionError> {
        let [batch, heads, queries, _] = q.dims();
        let [key_batch, _, keys, _] = k.dims();
        check_float(q)?;
        check_float(k)?;
        of_queries.lookup(Some(batch), queries)?;
        of_keys.lookup(Some(key_batch), keys)?;
        check_batches(batch, key_batch)?;
        let bias = self.try_bias((of_queries, queries), (of_keys, keys))?;
        check_heads(heads, bias.dims()[1])?;
        Ok(cast(bias, q.dtype().into()))
    }
}

/// Refuses queries with another number of heads than a bias.
fn check_heads(of_queries: usize, of_bias: usize) -> Result<(), PositionError> {
    match of_queries == of_bias {
        true => Ok(()),
        false => Err(PositionError::number(
            "the heads of the queries",
            of_queries,
            format!("{of_bias}, those of the biases"),
        )),
    }
}

/// Refuses keys of another batch than that of the queries.
fn check_batches(of_queries: usize, of_keys: usize) -> Result<(), PositionError> {
    match of_queries == of_keys {
        true => Ok(()),
        false => Err(PositionError::Batch {
            what: "rows of keys",
            expected: of_queries,
            got: of_keys,
        }),
    }
}
