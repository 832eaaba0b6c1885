//! Llama 3's scaling of RoPE.

use alloc::string::String;

use serde::Serialize;

use super::kind::{Scaling, check_factor, check_original};
use crate::error::{PositionError, check_positive};
use crate::rotate::scaling::fields::{Fields, ORIGINAL};
use crate::spectrum::Spectrum;

/// Llama 3's scaling of RoPE: low frequencies divided by `factor`, high ones left as they are, and a
/// smooth passage between them.
///
/// ```text
/// turns_i = original · ω_i / 2π
/// fast_i  = (turns_i − low_freq_factor) / (high_freq_factor − low_freq_factor),  from 0 to 1
/// ω'_i = ω_i · ((1 − fast_i)/factor + fast_i)
/// ```
///
/// *[The Llama 3 Herd of Models](https://arxiv.org/abs/2407.21783)*, 2024, by the code that came with
/// the 3.1 models.
///
/// ```
/// use pe_burn::Spectrum;
/// use pe_burn::scaling::Llama3;
///
/// let plain = Spectrum::new(128, 500_000.0)?;
/// let scaled = plain.clone().scaled(&Llama3::new(8.0, 1.0, 4.0, 8_192).into(), 100_000)?;
/// let ratio = |i| plain.frequencies()[i] / scaled.frequencies()[i];
/// assert_eq!([ratio(0), ratio(63)], [1.0, 8.0]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Llama3 {
    /// How many times as long as in training the inputs are, above 0.
    pub factor: f64,
    /// Frequencies that make fewer turns than this in the trained length are divided by `factor`;
    /// above 0.
    pub low_freq_factor: f64,
    /// Frequencies that make more turns than this in the trained length stay; above 0. Where it is not
    /// above `low_freq_factor`, no frequency lies between the two.
    pub high_freq_factor: f64,
    /// The length that the model was trained on, at least 2.
    pub original_max_position_embeddings: usize,
}

impl Llama3 {
    /// For a model that was trained on inputs of `original_max_position_embeddings` tokens, and inputs
    /// `factor` times as long. Llama 3.1 has the numbers 8, 1, 4 and 8192.
    pub fn new(
        factor: f64,
        low_freq_factor: f64,
        high_freq_factor: f64,
        original_max_position_embeddings: usize,
    ) -> Self {
        Self {
            factor,
            low_freq_factor,
            high_freq_factor,
            original_max_position_embeddings,
        }
    }
}

impl Scaling for Llama3 {
    fn fields() -> &'static [&'static str] {
        &["factor", "low_freq_factor", "high_freq_factor", ORIGINAL]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        Ok(Self {
            factor: fields.number("factor")?,
            low_freq_factor: fields.number("low_freq_factor")?,
            high_freq_factor: fields.number("high_freq_factor")?,
            original_max_position_embeddings: fields.length(ORIGINAL)?,
        })
    }

    fn check(&self, _pairs: usize) -> Result<(), PositionError> {
        check_factor(self.factor)?;
        check_original(self.original_max_position_embeddings)?;
        check_positive("low_freq_factor", self.low_freq_factor)?;
        check_positive("high_freq_factor", self.high_freq_factor)
    }

    fn apply(&self, spectrum: Spectrum, _seq: usize) -> Result<Spectrum, PositionError> {
        let (low, high) = (self.low_freq_factor, self.high_freq_factor);
        let original = self.original_max_position_embeddings as f64;
        Ok(spectrum.map(|_, omega| {
            let turns = original * omega.hi / core::f64::consts::TAU;
            if turns < low {
                omega.div(self.factor)
            } else if turns >= high {
                omega
            } else {
                let fast = (turns - low) / (high - low);
                omega.times((1.0 - fast) / self.factor + fast)
            }
        }))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::testing::refused;

    #[test]
    fn a_frequency_at_both_bounds_stays() {
        let plain = Spectrum::new(4, 1e4).unwrap();
        let turns = 8192.0 / core::f64::consts::TAU; // those of the first frequency
        let scaling = Llama3::new(8.0, turns, turns, 8192);
        let scaled = plain.clone().scaled(&scaling.into(), 1).unwrap();
        let [plain, scaled] = [plain, scaled].map(|spectrum| spectrum.frequencies());
        assert_eq!(scaled, [plain[0], plain[1] / 8.0]);
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        refused! {
            |bad| Spectrum::new(6, 1e4).unwrap().scaled(&bad.into(), 1);
            Llama3::new(8.0, 0.0, 4.0, 8192) =>
                "low_freq_factor must be above 0 and finite in f32; got 0",
            Llama3::new(8.0, 1.0, f64::INFINITY, 8192) =>
                "high_freq_factor must be above 0 and finite in f32; got inf",
            Llama3::new(f64::NAN, 1.0, 4.0, 8192) => "factor must be finite and above 0; got NaN",
            Llama3::new(8.0, 1.0, 4.0, 0) =>
                "original_max_position_embeddings must be at least 2; got 0",
        }
    }
}
