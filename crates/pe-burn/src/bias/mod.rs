//! Biases that are added to attention scores, by the distance between query and key.

mod alibi;
mod cache;
mod distances;
mod fire;
mod grid;
mod kerple;
mod t5;

pub use alibi::{Alibi, AlibiConfig, AlibiShape};
pub use cache::BiasCache;
pub use fire::{Fire, FireConfig};
pub use grid::{
    BeitRelativeBias, BeitRelativeBiasConfig, LevitRelativeBias, LevitRelativeBiasConfig,
    Resampling, SwinRelativeBias, SwinRelativeBiasConfig, SwinV2RelativeBias,
    SwinV2RelativeBiasConfig,
};
pub use kerple::{Kerple, KerpleConfig, KerpleShape};
pub use t5::{T5RelativeBias, T5RelativeBiasConfig};

use burn::tensor::Tensor;

use crate::error::{PositionError, expect};
use crate::positions::Positions;

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
    /// [`Overflow`](PositionError::Overflow) past [`MAX_POSITION`](crate::MAX_POSITION),
    /// [`Number`](PositionError::Number) when ids are too far apart for the integers of the device, and
    /// [`TooLarge`](PositionError::TooLarge) when the bias does not fit into memory.
    fn try_bias(
        &self,
        queries: (&Positions, usize),
        keys: (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError>;

    /// The panicking form of [`try_bias`](Self::try_bias).
    ///
    /// # Panics
    ///
    /// Where [`try_bias`](Self::try_bias) returns an error, with its message.
    #[track_caller]
    fn bias(&self, queries: (&Positions, usize), keys: (&Positions, usize)) -> Tensor<4> {
        expect(self.try_bias(queries, keys))
    }
}
