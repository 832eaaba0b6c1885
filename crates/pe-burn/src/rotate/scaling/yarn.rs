//! YaRN scaling of RoPE.

use alloc::format;
use alloc::string::String;

use serde::Serialize;

use super::kind::{Scaling, check_factor, check_original};
use crate::error::{PositionError, check_positive};
use crate::rotate::scaling::fields::{Fields, ORIGINAL};
use crate::spectrum::Spectrum;

/// YaRN scaling of RoPE: low frequencies divided by `factor`, high ones left as they are, a ramp
/// between them, and queries and keys multiplied by an attention factor.
///
/// ```text
/// pair(turns) = d · ln(original/(2π turns)) / (2 ln base),  d = rotary_dim
/// slow_i = (i − pair(beta_fast)) / (pair(beta_slow) − pair(beta_fast)),  from 0 to 1
/// ω'_i = ω_i · (slow_i/factor + 1 − slow_i)
/// attention factor = 0.1 ln(factor) + 1
/// ```
///
/// `pair(turns)` is the index of the frequency that makes this number of turns in the trained length.
///
/// Peng et al., [*YaRN: Efficient Context Window Extension of Large Language
/// Models*](https://arxiv.org/abs/2309.00071), 2023, §3; `mscale` and `mscale_all_dim` are DeepSeek-V2's.
///
/// ```
/// use pe_burn::scaling::Yarn;
/// use pe_burn::{RopeScaling, Spectrum};
///
/// let yarn = RopeScaling::from(Yarn {
///     truncate: false,
///     ..Yarn::new(4.0, 32_768)
/// });
/// assert_eq!(yarn.attention_factor(), 0.1 * 4.0_f64.ln() + 1.0);
///
/// let plain = Spectrum::new(128, 1e6)?;
/// let scaled = plain.clone().scaled(&yarn, 131_072)?;
/// let ratio = |i| plain.frequencies()[i] / scaled.frequencies()[i];
/// assert_eq!([ratio(0), ratio(63)], [1.0, 4.0]);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Yarn {
    /// How many times as long as in training the inputs are, above 0.
    pub factor: f64,
    /// The length that the model was trained on, at least 2.
    pub original_max_position_embeddings: usize,
    /// Frequencies that make more turns than this in the trained length stay. Default: 32.
    pub beta_fast: f64,
    /// Frequencies that make fewer turns than this in the trained length are divided by `factor`.
    /// Default: 1. In very short trained lengths, where `pair(beta_slow)` is −1 or less (below 0 without `truncate`), nothing is
    /// scaled: so it is in the authors' code.
    pub beta_slow: f64,
    /// What queries and keys are multiplied by. Default: `0.1 ln(factor) + 1`, or what `mscale` and
    /// `mscale_all_dim` give; 1 for a factor of at most 1.
    pub attention_factor: Option<f64>,
    /// With `mscale_all_dim` it makes the attention factor
    /// `(0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim ln(factor) + 1)`. A 0 in one of them counts
    /// as not given. Default: none.
    pub mscale: Option<f64>,
    /// See `mscale`. DeepSeek's code multiplies the scores of attention by `(0.1 mscale_all_dim ln(factor) + 1)²` too,
    /// 1.8739 for a factor of 40 and an `mscale_all_dim` of 1, as in DeepSeek-V3. A rotation does not do this: the caller
    /// has to. Default: none.
    pub mscale_all_dim: Option<f64>,
    /// Whether the ends of the ramp are rounded to whole pairs. Default: true.
    pub truncate: bool,
}

impl Yarn {
    /// For a model that was trained on inputs of `original_max_position_embeddings` tokens, and inputs
    /// `factor` times as long.
    pub fn new(factor: f64, original_max_position_embeddings: usize) -> Self {
        Self {
            factor,
            original_max_position_embeddings,
            beta_fast: 32.0,
            beta_slow: 1.0,
            attention_factor: None,
            mscale: None,
            mscale_all_dim: None,
            truncate: true,
        }
    }
}

impl Scaling for Yarn {
    fn fields() -> &'static [&'static str] {
        &[
            "factor",
            ORIGINAL,
            "beta_fast",
            "beta_slow",
            "attention_factor",
            "mscale",
            "mscale_all_dim",
            "truncate",
        ]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        let usual = Self::new(fields.number("factor")?, fields.length(ORIGINAL)?);
        // The code of transformers takes a 0 for a number that is not given, and `null` for false.
        let turns = |name, usual| {
            let turns = fields.optional_number(name)?;
            Ok::<f64, String>(turns.filter(|turns| *turns != 0.0).unwrap_or(usual))
        };
        Ok(Self {
            beta_fast: turns("beta_fast", usual.beta_fast)?,
            beta_slow: turns("beta_slow", usual.beta_slow)?,
            attention_factor: fields.optional_number("attention_factor")?,
            mscale: fields.optional_number("mscale")?,
            mscale_all_dim: fields.optional_number("mscale_all_dim")?,
            truncate: match fields.is_null("truncate") {
                true => false,
                false => fields.flag("truncate")?.unwrap_or(usual.truncate),
            },
            ..usual
        })
    }

    fn check(&self, _pairs: usize) -> Result<(), PositionError> {
        check_factor(self.factor)?;
        check_original(self.original_max_position_embeddings)?;
        check_positive("beta_fast", self.beta_fast)?;
        check_positive("beta_slow", self.beta_slow)?;
        if self.beta_fast < self.beta_slow {
            let bound = format!("at least beta_slow, {}", self.beta_slow);
            return Err(PositionError::number("beta_fast", self.beta_fast, bound));
        }
        check_positive("attention_factor", self.attention_factor())
    }

    fn apply(&self, spectrum: Spectrum, _seq: usize) -> Result<Spectrum, PositionError> {
        let (width, base) = (spectrum.d_model() as f64, spectrum.base());
        let original = self.original_max_position_embeddings as f64;
        let pair = |turns: f64| {
            let wavelength = original / (turns * core::f64::consts::TAU);
            width * libm::log(wavelength) / (2.0 * libm::log(base))
        };
        let (mut low, mut high) = (pair(self.beta_fast), pair(self.beta_slow));
        if self.truncate {
            (low, high) = (libm::floor(low), libm::ceil(high));
        }
        let (low, mut high) = (low.max(0.0), high.min(width - 1.0));
        if low == high {
            high += 0.001; // as the authors' code avoids the division by 0
        }
        Ok(spectrum.map(|i, omega| {
            let slow = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
            omega.times(slow / self.factor + (1.0 - slow))
        }))
    }

    fn attention_factor(&self) -> f64 {
        let of = |scale: f64| match self.factor {
            factor if factor <= 1.0 => 1.0,
            factor => 0.1 * scale * libm::log(factor) + 1.0,
        };
        match (self.attention_factor, self.mscale, self.mscale_all_dim) {
            (Some(given), _, _) => given,
            (None, Some(mscale), Some(all)) if mscale != 0.0 && all != 0.0 => of(mscale) / of(all),
            _ => of(1.0),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::rotate::scaling::RopeScaling;
    use crate::testing::refused;

    #[test]
    fn a_given_attention_factor_comes_first_and_an_mscale_of_0_counts_as_not_given() {
        let of = |yarn: Yarn| RopeScaling::from(yarn).attention_factor();
        let none = Yarn {
            mscale: Some(0.0),
            mscale_all_dim: Some(1.0),
            ..Yarn::new(40.0, 4096)
        };
        assert_eq!(of(none.clone()), 0.1 * libm::log(40.0) + 1.0);
        let given = Yarn {
            attention_factor: Some(1.5),
            mscale: Some(0.707),
            ..none
        };
        assert_eq!(of(given), 1.5);
    }

    #[test]
    fn a_file_may_leave_out_all_but_two_fields() {
        let read = |json| serde_json::from_str::<RopeScaling>(json).unwrap();
        let json =
            r#"{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096}"#;
        assert_eq!(read(json), Yarn::new(4.0, 4096).into());
        let json = r#"{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 4096,
            "beta_fast": 16, "beta_slow": 2, "attention_factor": 1.25, "mscale": 1,
            "mscale_all_dim": 0.5, "truncate": false}"#;
        let yarn = Yarn {
            factor: 4.0,
            original_max_position_embeddings: 4096,
            beta_fast: 16.0,
            beta_slow: 2.0,
            attention_factor: Some(1.25),
            mscale: Some(1.0),
            mscale_all_dim: Some(0.5),
            truncate: false,
        };
        assert_eq!(read(json), yarn.into());
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        let yarn = Yarn::new(4.0, 4096);
        refused! {
            |bad| Spectrum::new(6, 1e4).unwrap().scaled(&bad.into(), 1);
            Yarn::new(0.0, 4096) => "factor must be finite and above 0; got 0",
            Yarn::new(4.0, 1) => "original_max_position_embeddings must be at least 2; got 1",
            Yarn { beta_fast: f64::NAN, ..yarn.clone() } =>
                "beta_fast must be above 0 and finite in f32; got NaN",
            Yarn { beta_slow: 0.0, ..yarn.clone() } =>
                "beta_slow must be above 0 and finite in f32; got 0",
            Yarn { beta_fast: 0.5, ..yarn.clone() } => "beta_fast must be at least beta_slow, 1; got 0.5",
            Yarn { attention_factor: Some(0.0), ..yarn } =>
                "attention_factor must be above 0 and finite in f32; got 0",
        }
    }
}
