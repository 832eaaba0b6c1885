//! Proportional scaling of RoPE.

use alloc::string::String;

use serde::Serialize;

use super::kind::{Scaling, check_factor};
use crate::error::{PositionError, check_number};
use crate::rotate::scaling::fields::Fields;
use crate::spectrum::Spectrum;
use crate::spectrum::double::Double;

/// Proportional RoPE, as Gemma 4 has it: the fast frequencies of a head rotate, and the slow ones do not.
///
/// ```text
/// n    = ⌊partial_rotary_factor · d/2⌋,  d = rotary_dim
/// ω'_i = ω_i / factor   for i < n
/// ω'_i = 0              for all others
/// ```
///
/// Unlike with [`with_rotary_dim`](crate::RotaryPositionalEncodingConfig::with_rotary_dim), the
/// frequencies are those of the whole width, and in the layout
/// [`Halves`](crate::Layout::Halves) the partner of column `i` is column `i + d/2`.
///
/// By the code of transformers for [Gemma 4](https://huggingface.co/docs/transformers/model_doc/gemma4).
///
/// ```
/// use pe_burn::Spectrum;
/// use pe_burn::scaling::Proportional;
///
/// let plain = Spectrum::new(512, 1e6)?;
/// let scaled = plain.clone().scaled(&Proportional::new(0.25).into(), 1)?;
/// assert_eq!(scaled.frequencies()[..64], plain.frequencies()[..64]);
/// assert!(scaled.frequencies()[64..].iter().all(|omega| *omega == 0.0));
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Proportional {
    /// The share of the frequencies that rotate, from 0 to 1.
    pub partial_rotary_factor: f64,
    /// What these are divided by, above 0. Default: 1.
    pub factor: f64,
}

impl Proportional {
    /// For a share of the frequencies, from 0 to 1.
    pub fn new(partial_rotary_factor: f64) -> Self {
        Self {
            partial_rotary_factor,
            factor: 1.0,
        }
    }
}

impl Scaling for Proportional {
    fn fields() -> &'static [&'static str] {
        &["partial_rotary_factor", "factor"]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        let number = |name| fields.optional_number(name);
        Ok(Self {
            partial_rotary_factor: number("partial_rotary_factor")?.unwrap_or(1.0),
            factor: number("factor")?.unwrap_or(1.0),
        })
    }

    fn check(&self, _pairs: usize) -> Result<(), PositionError> {
        let share = self.partial_rotary_factor;
        let fits = (0.0..=1.0).contains(&share);
        check_number(fits, "partial_rotary_factor", share, "from 0 to 1")?;
        check_factor(self.factor)
    }

    fn apply(&self, spectrum: Spectrum, _seq: usize) -> Result<Spectrum, PositionError> {
        // As in the Python code: the share of d / 2, rounded down.
        let rotated = (self.partial_rotary_factor * spectrum.d_model() as f64 / 2.0) as usize;
        Ok(spectrum.map(|i, omega| match i < rotated {
            true => omega.div(self.factor),
            false => Double::ZERO,
        }))
    }

    fn stops_frequencies(&self) -> bool {
        true
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::rotate::scaling::RopeScaling;
    use crate::testing::refused;

    #[test]
    fn the_first_frequencies_are_divided_and_the_others_are_0() {
        let plain = Spectrum::new(16, 1e4).unwrap();
        for (share, rotated) in [(0.0, 0), (0.25, 2), (0.3, 2), (0.99, 7), (1.0, 8)] {
            let scaling = Proportional {
                partial_rotary_factor: share,
                factor: 2.0,
            };
            let scaled = plain.clone().scaled(&scaling.into(), 1).unwrap();
            let pairs = scaled.frequencies().into_iter().zip(plain.frequencies());
            for (i, (scaled, plain)) in pairs.enumerate() {
                let expected = if i < rotated { plain / 2.0 } else { 0.0 };
                assert_eq!(scaled, expected, "{share}, {i}");
            }
        }
    }

    #[test]
    fn all_fields_may_be_left_out() {
        let json = r#"{"rope_type": "proportional"}"#;
        let scaling: RopeScaling = serde_json::from_str(json).unwrap();
        assert_eq!(scaling, Proportional::new(1.0).into());
    }

    #[test]
    fn a_share_or_factor_out_of_bounds_is_refused() {
        let bad = |partial_rotary_factor, factor| Proportional {
            partial_rotary_factor,
            factor,
        };
        refused! {
            |bad| Spectrum::new(6, 1e4).unwrap().scaled(&bad.into(), 1);
            bad(1.5, 1.0) => "partial_rotary_factor must be from 0 to 1; got 1.5",
            bad(f64::NAN, 1.0) => "partial_rotary_factor must be from 0 to 1; got NaN",
            bad(0.5, 0.0) => "factor must be finite and above 0; got 0",
        }
    }
}
