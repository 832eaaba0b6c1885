//! LongRoPE scaling of RoPE.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::Serialize;

use super::kind::{Scaling, check_factor, check_original};
use crate::error::{PositionError, check_positive};
use crate::rotate::scaling::fields::{Fields, ORIGINAL};
use crate::spectrum::Spectrum;

/// LongRoPE scaling of RoPE: every frequency divided by a factor of its own that a search found, with
/// one list of factors up to the trained length and another beyond.
///
/// ```text
/// ω'_i = ω_i / short_factor_i   for inputs up to the trained length
/// ω'_i = ω_i / long_factor_i    for longer ones
/// attention factor = √(1 + ln(factor)/ln(original))
/// ```
///
/// Ding et al., [*LongRoPE*](https://arxiv.org/abs/2402.13753), 2024, as Phi-3 uses it.
///
/// ```
/// use pe_burn::Spectrum;
/// use pe_burn::scaling::Longrope;
///
/// let longrope = Longrope::new(vec![1.0; 4], vec![1.0, 2.0, 4.0, 8.0], 4_096, 32.0).into();
/// let plain = Spectrum::new(8, 10_000.0)?; // 4 frequencies
/// assert_eq!(plain.clone().scaled(&longrope, 4_096)?, plain);
/// let long = plain.clone().scaled(&longrope, 4_097)?;
/// assert_eq!(long.frequencies()[3], plain.frequencies()[3] / 8.0);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[doc(alias = "su")]
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Longrope {
    /// For inputs up to the trained length, one per frequency, each above 0.
    pub short_factor: Vec<f64>,
    /// For longer inputs, one per frequency, each above 0.
    pub long_factor: Vec<f64>,
    /// The length that the model was trained on, at least 2.
    pub original_max_position_embeddings: usize,
    /// How many times as long as in training the inputs are, above 0: gives the attention factor,
    /// unless that is given itself. Hugging Face's is the model's `max_position_embeddings` divided by
    /// the trained length.
    pub factor: Option<f64>,
    /// What queries and keys are multiplied by. Default: `√(1 + ln(factor)/ln(original))`, and 1
    /// for a factor of at most 1.
    pub attention_factor: Option<f64>,
}

impl Longrope {
    /// For a model that was trained on inputs of `original_max_position_embeddings` tokens, and inputs
    /// `factor` times as long. Each list has a factor for each frequency.
    pub fn new(
        short_factor: Vec<f64>,
        long_factor: Vec<f64>,
        original_max_position_embeddings: usize,
        factor: f64,
    ) -> Self {
        Self {
            short_factor,
            long_factor,
            original_max_position_embeddings,
            factor: Some(factor),
            attention_factor: None,
        }
    }
}

impl Scaling for Longrope {
    fn fields() -> &'static [&'static str] {
        &[
            "short_factor",
            "long_factor",
            ORIGINAL,
            "factor",
            "attention_factor",
        ]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        Ok(Self {
            short_factor: fields.numbers("short_factor")?,
            long_factor: fields.numbers("long_factor")?,
            original_max_position_embeddings: fields.length(ORIGINAL)?,
            factor: fields.optional_number("factor")?,
            attention_factor: fields.optional_number("attention_factor")?,
        })
    }

    fn check(&self, pairs: usize) -> Result<(), PositionError> {
        match (self.factor, self.attention_factor) {
            (Some(factor), _) => check_factor(factor)?,
            (None, Some(_)) => {}
            (None, None) => {
                return Err(PositionError::config(
                    "longrope needs a factor, which is max_position_embeddings / \
                     original_max_position_embeddings, or an attention_factor",
                ));
            }
        }
        check_original(self.original_max_position_embeddings)?;
        check_factors("short_factor", &self.short_factor, pairs)?;
        check_factors("long_factor", &self.long_factor, pairs)?;
        check_positive("attention_factor", self.attention_factor())
    }

    fn apply(&self, spectrum: Spectrum, seq: usize) -> Result<Spectrum, PositionError> {
        let factors = match seq > self.original_max_position_embeddings {
            true => &self.long_factor,
            false => &self.short_factor,
        };
        Ok(spectrum.map(|i, omega| omega.div(factors[i])))
    }

    fn attention_factor(&self) -> f64 {
        match (self.attention_factor, self.factor) {
            (Some(given), _) => given,
            (None, Some(factor)) if factor > 1.0 => {
                let original = self.original_max_position_embeddings as f64;
                libm::sqrt(1.0 + libm::log(factor) / libm::log(original))
            }
            _ => 1.0,
        }
    }

    fn changes_beyond(&self) -> Option<usize> {
        Some(self.original_max_position_embeddings)
    }
}

/// Refuses a list that has not one factor above 0 for each of `pairs` frequencies.
fn check_factors(list: &str, factors: &[f64], pairs: usize) -> Result<(), PositionError> {
    if factors.len() != pairs {
        let name = format!("the number of entries of {list}");
        let bound = format!("{pairs}, one per frequency");
        return Err(PositionError::number(name, factors.len(), bound));
    }
    let bad = |factor: &&f64| !(factor.is_finite() && **factor > 0.0);
    match factors.iter().find(bad) {
        Some(factor) => {
            let name = format!("every entry of {list}");
            Err(PositionError::number(name, *factor, "above 0 and finite"))
        }
        None => Ok(()),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;

    use crate::rotate::scaling::RopeScaling;
    use crate::testing::refused;

    fn longrope() -> Longrope {
        Longrope::new(vec![1.0, 2.0, 3.0], vec![4.0, 5.0, 6.0], 16, 4.0)
    }

    /// A module has rows for both, and no others.
    #[test]
    fn the_long_factors_are_the_same_at_every_length_beyond_the_trained_one() {
        let scaling = RopeScaling::from(longrope());
        assert_eq!(scaling.changes_beyond(), Some(16));
        assert!(!scaling.varies_with_length());
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        refused! {
            |bad| Spectrum::new(6, 1e4).unwrap().scaled(&bad.into(), 1);
            Longrope { short_factor: vec![1.0; 2], ..longrope() } =>
                "the number of entries of short_factor must be 3, one per frequency; got 2",
            Longrope { long_factor: vec![1.0, 0.0, 1.0], ..longrope() } =>
                "every entry of long_factor must be above 0 and finite; got 0",
            Longrope { factor: Some(-0.5), ..longrope() } =>
                "factor must be finite and above 0; got -0.5",
            Longrope { factor: None, ..longrope() } =>
                "longrope needs a factor, which is max_position_embeddings / \
                 original_max_position_embeddings, or an attention_factor",
            Longrope { original_max_position_embeddings: 1, ..longrope() } =>
                "original_max_position_embeddings must be at least 2; got 1",
            Longrope { attention_factor: Some(f64::NAN), ..longrope() } =>
                "attention_factor must be above 0 and finite in f32; got NaN",
            // Divided by so small a factor, a frequency is infinite.
            Longrope { short_factor: vec![1e-310; 3], ..longrope() } =>
                "a scaled frequency must be finite and above 0, …",
        }
    }

    #[test]
    fn an_attention_factor_may_stand_in_for_the_factor() {
        let json = r#"{"rope_type": "longrope", "short_factor": [1, 1.5], "long_factor": [2, 3],
            "original_max_position_embeddings": 16, "attention_factor": 1.25}"#;
        let scaling: RopeScaling = serde_json::from_str(json).unwrap();
        let expected = Longrope {
            factor: None,
            attention_factor: Some(1.25),
            ..Longrope::new(vec![1.0, 1.5], vec![2.0, 3.0], 16, 1.0)
        };
        assert_eq!(scaling, expected.into());
        assert!(Spectrum::new(4, 1e4).unwrap().scaled(&scaling, 1).is_ok());
    }
}
