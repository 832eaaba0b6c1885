//! Dynamic NTK scaling of RoPE.

use alloc::string::String;

use serde::Serialize;

use super::kind::{Scaling, check_factor, check_original};
use super::ntk::{check_exponent, grow_base};
use crate::error::PositionError;
use crate::rotate::scaling::fields::{Fields, ORIGINAL};
use crate::spectrum::Spectrum;

/// Dynamic NTK scaling of RoPE: as [`Ntk`](super::Ntk), by as much as the length of the input needs.
///
/// ```text
/// growth = factor · seq/original − (factor − 1),  1 for inputs up to the trained length
/// base'  = base · growth^(d/(d − 2)),  d = rotary_dim, at least 4
/// ```
///
/// Described in §3.3 of Peng et al., [*YaRN: Efficient Context Window Extension of Large Language
/// Models*](https://arxiv.org/abs/2309.00071), 2023.
///
/// ```
/// use pe_burn::Spectrum;
/// use pe_burn::scaling::{Dynamic, Ntk};
///
/// let plain = Spectrum::new(64, 10_000.0)?;
/// let dynamic = Dynamic::new(2.0, 4_096).into();
/// assert_eq!(plain.clone().scaled(&dynamic, 4_096)?, plain);
/// let twice = plain.clone().scaled(&dynamic, 8_192)?;
/// assert_eq!(twice, plain.scaled(&Ntk::new(3.0).into(), 8_192)?); // 2 · 8192/4096 − 1
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Dynamic {
    /// How strongly the base grows with the length, above 0.
    pub factor: f64,
    /// The length that the model was trained on, at least 2.
    pub original_max_position_embeddings: usize,
}

impl Dynamic {
    /// For a model that was trained on inputs of `original_max_position_embeddings` tokens.
    pub fn new(factor: f64, original_max_position_embeddings: usize) -> Self {
        Self {
            factor,
            original_max_position_embeddings,
        }
    }
}

impl Scaling for Dynamic {
    fn fields() -> &'static [&'static str] {
        &["factor", ORIGINAL]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        Ok(Self {
            factor: fields.number("factor")?,
            original_max_position_embeddings: fields.length(ORIGINAL)?,
        })
    }

    fn check(&self, pairs: usize) -> Result<(), PositionError> {
        check_factor(self.factor)?;
        check_original(self.original_max_position_embeddings)?;
        check_exponent(pairs)
    }

    fn apply(&self, spectrum: Spectrum, seq: usize) -> Result<Spectrum, PositionError> {
        let original = self.original_max_position_embeddings;
        let seq = seq.max(original) as f64;
        grow_base(
            spectrum,
            self.factor * seq / original as f64 - (self.factor - 1.0),
        )
    }

    fn changes_beyond(&self) -> Option<usize> {
        Some(self.original_max_position_embeddings)
    }

    fn varies_with_length(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::rotate::scaling::RopeScaling;
    use crate::rotate::scaling::{Linear, Ntk};
    use crate::testing::refused;

    #[test]
    fn the_base_grows_with_the_length_beyond_the_trained_one() {
        let plain = Spectrum::new(16, 1e4).unwrap();
        let dynamic = RopeScaling::from(Dynamic::new(2.0, 1000));
        assert_eq!(dynamic.changes_beyond(), Some(1000));
        assert!(dynamic.varies_with_length());
        for (seq, growth) in [(0, 1.0), (1000, 1.0), (1500, 2.0), (4000, 7.0)] {
            let scaled = plain.clone().scaled(&dynamic, seq).unwrap();
            let ntk = plain.clone().scaled(&Ntk::new(growth).into(), seq).unwrap();
            assert_eq!(scaled, ntk, "{seq}");
        }
    }

    #[test]
    fn a_scaling_before_stays_up_to_the_trained_length() {
        let plain = Spectrum::new(16, 1e4).unwrap();
        let linear = plain.scaled(&Linear::new(3.0).into(), 1).unwrap();
        let dynamic = RopeScaling::from(Dynamic::new(2.0, 1000));
        assert_eq!(linear.clone().scaled(&dynamic, 1000).unwrap(), linear);
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        refused! {
            |bad| Spectrum::new(bad.1, 1e4).unwrap().scaled(&bad.0.into(), bad.2);
            (Dynamic::new(2.0, 1), 8, 4) =>
                "original_max_position_embeddings must be at least 2; got 1",
            (Dynamic::new(0.0, 4), 8, 4) => "factor must be finite and above 0; got 0",
            (Dynamic::new(2.0, 4), 2, 4) => "… got 2",
            // The base is more than the largest f64.
            (Dynamic::new(1e300, 4), 8, 4_000_000) => "… got inf",
        }
    }
}
