//! A bias that is kept while nothing changes.

use burn::tensor::Tensor;

use crate::bias::{AlibiConfig, Span};
use crate::error::{PositionError, expect};
use crate::positions::Positions;
use crate::scheme::PositionalScheme;

/// The last bias that a scheme gave, for the next call with the same positions.
///
/// A model's `forward` takes `&self` and keeps nothing; what is to be kept from call to call lies
/// with the caller, as a cache of keys and values does. Kept are biases that follow from positions
/// known on the host alone, which are ALiBi's; those with parameters are made anew each time, since
/// training may have changed them.
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{BiasCache, PositionalConfig, Positions};
///
/// let config = PositionalConfig::by_name("alibi", 64, 8, 512).unwrap();
/// let scheme = config.init(&Device::flex());
/// let (mut cache, positions) = (BiasCache::default(), Positions::default());
/// for _batch in 0..10 {
///     // Made once.
///     let bias = cache.bias(&scheme, (&positions, 100), (&positions, 100)).unwrap();
///     assert_eq!(bias.dims(), [1, 8, 100, 100]);
/// }
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
    /// [`PositionalScheme::bias`], from the last call where that was the same.
    ///
    /// # Shapes
    ///
    /// - output: `[1 or batch, heads, queries, keys]`
    ///
    /// # Panics
    ///
    /// Where [`try_bias`](Self::try_bias) returns an error.
    pub fn bias(
        &mut self,
        scheme: &PositionalScheme,
        queries: Span,
        keys: Span,
    ) -> Option<Tensor<4>> {
        expect(self.try_bias(scheme, queries, keys))
    }

    /// As [`bias`](Self::bias).
    ///
    /// # Errors
    ///
    /// Those of [`PositionalScheme::try_bias`].
    pub fn try_bias(
        &mut self,
        scheme: &PositionalScheme,
        queries: Span,
        keys: Span,
    ) -> Result<Option<Tensor<4>>, PositionError> {
        let PositionalScheme::Alibi(alibi) = scheme else {
            return scheme.try_bias(queries, keys);
        };
        let same = |kept: &Kept| {
            kept.config == *alibi.config()
                && kept.bias.device() == alibi.device()
                && (kept.queries.1, kept.keys.1) == (queries.1, keys.1)
                && kept.queries.0.known_same(queries.0)
                && kept.keys.0.known_same(keys.0)
        };
        if let Some(kept) = self.0.as_ref().filter(|kept| same(kept)) {
            return Ok(Some(kept.bias.clone()));
        }
        let bias = alibi.try_bias(queries, keys)?;
        self.0 = Some(Kept {
            config: alibi.config().clone(),
            queries: (queries.0.clone(), queries.1),
            keys: (keys.0.clone(), keys.1),
            bias: bias.clone(),
        });
        Ok(Some(bias))
    }
}
