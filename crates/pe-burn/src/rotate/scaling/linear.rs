//! Linear scaling of RoPE: positional interpolation.

use alloc::string::String;

use serde::Serialize;

use super::kind::{Scaling, check_factor};
use crate::error::PositionError;
use crate::rotate::scaling::fields::Fields;
use crate::spectrum::Spectrum;

/// Linear scaling of RoPE, or positional interpolation: every frequency divided by `factor`, which
/// squeezes the positions into the range that the model was trained on.
///
/// ```text
/// ω'_i = ω_i / factor
/// ```
///
/// Chen et al., [*Extending Context Window of Large Language Models via Positional
/// Interpolation*](https://arxiv.org/abs/2306.15595), 2023.
///
/// ```
/// use pe_burn::Spectrum;
/// use pe_burn::scaling::Linear;
///
/// let plain = Spectrum::new(64, 10_000.0)?;
/// let scaled = plain.clone().scaled(&Linear::new(4.0).into(), 8_192)?;
/// assert_eq!(scaled.frequencies()[0], plain.frequencies()[0] / 4.0);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[doc(alias = "positional interpolation")]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Linear {
    /// How many times as long as in training the inputs are, above 0.
    pub factor: f64,
}

impl Linear {
    /// For inputs `factor` times as long as in training.
    pub fn new(factor: f64) -> Self {
        Self { factor }
    }
}

impl Scaling for Linear {
    fn fields() -> &'static [&'static str] {
        &["factor"]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        Ok(Self {
            factor: fields.number("factor")?,
        })
    }

    fn check(&self, _pairs: usize) -> Result<(), PositionError> {
        check_factor(self.factor)
    }

    fn apply(&self, spectrum: Spectrum, _seq: usize) -> Result<Spectrum, PositionError> {
        Ok(spectrum.map(|_, omega| omega.div(self.factor)))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::refused;

    #[test]
    fn every_frequency_is_divided() {
        let plain = Spectrum::new(10, 500.0).unwrap();
        for seq in [1, 100_000] {
            let scaled = plain.clone().scaled(&Linear::new(3.0).into(), seq).unwrap();
            for (scaled, plain) in scaled.doubles().iter().zip(plain.doubles()) {
                assert_eq!(*scaled, plain.div(3.0));
            }
        }
    }

    #[test]
    fn a_factor_that_is_no_ratio_of_lengths_is_refused() {
        refused! {
            |factor| Spectrum::new(8, 1e4).unwrap().scaled(&Linear::new(factor).into(), 1);
            0.0 => "factor must be finite and above 0; got 0",
            -2.0 => "factor must be finite and above 0; got -2",
            f64::INFINITY => "factor must be finite and above 0; got inf",
            f64::NAN => "factor must be finite and above 0; got NaN",
        }
    }
}
