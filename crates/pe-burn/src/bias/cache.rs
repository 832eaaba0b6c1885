//! A bias that is kept from call to call.

use burn::tensor::Tensor;

use super::{Alibi, AlibiConfig, Bias};
use crate::error::PositionError;
use crate::positions::Positions;

/// The last bias of an [`Alibi`], for the next call with the same positions.
///
/// A model's `forward` takes `&self` and keeps nothing, so the cache belongs to the caller, like a cache
/// of keys and values. Only a bias without parameters, which is ALiBi's, can be kept: training changes the
/// others.
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{AlibiConfig, BiasCache, Positions};
///
/// let alibi = AlibiConfig::new(8).init(&Device::flex());
/// let (mut cache, positions) = (BiasCache::default(), Positions::default());
/// for _batch in 0..10 {
///     // Computed once.
///     let bias = cache.bias(&alibi, (&positions, 100), (&positions, 100))?;
///     assert_eq!(bias.dims(), [1, 8, 100, 100]);
/// }
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, Default)]
pub struct BiasCache(Option<Kept>);

#[derive(Clone, Debug)]
struct Kept {
    config: AlibiConfig,
    queries: (Positions, usize),
    keys: (Positions, usize),
    bias: Tensor<4>,
}

impl BiasCache {
    /// [`Alibi`]'s bias, from the last call where the configuration, the device and the positions are
    /// the same.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`
    ///
    /// # Errors
    ///
    /// Those of [`try_bias`](Bias::try_bias).
    pub fn bias(
        &mut self,
        alibi: &Alibi,
        queries: (&Positions, usize),
        keys: (&Positions, usize),
    ) -> Result<Tensor<4>, PositionError> {
        let same = |kept: &Kept| {
            kept.config == *alibi.config()
                && kept.bias.device() == alibi.device()
                && (kept.queries.1, kept.keys.1) == (queries.1, keys.1)
                && kept.queries.0.known_same(queries.0)
                && kept.keys.0.known_same(keys.0)
        };
        if let Some(kept) = self.0.as_ref().filter(|kept| same(kept)) {
            return Ok(kept.bias.clone());
        }
        let bias = alibi.try_bias(queries, keys)?;
        self.0 = Some(Kept {
            config: alibi.config().clone(),
            queries: (queries.0.clone(), queries.1),
            keys: (keys.0.clone(), keys.1),
            bias: bias.clone(),
        });
        Ok(bias)
    }
}
