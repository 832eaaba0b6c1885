//! NTK-aware scaling of RoPE.

use alloc::string::String;

use serde::Serialize;

use super::kind::Scaling;
use crate::error::{PositionError, check_number};
use crate::rotate::scaling::fields::Fields;
use crate::spectrum::Spectrum;

/// NTK-aware scaling of RoPE: a larger base. The lowest frequency is divided by `factor`, the highest
/// stays, and those between are divided by a power of `factor`.
///
/// ```text
/// base' = base · factor^(d/(d − 2)),  d = rotary_dim, at least 4
/// ```
///
/// Described in §3.1 of Peng et al., [*YaRN: Efficient Context Window Extension of Large Language
/// Models*](https://arxiv.org/abs/2309.00071), 2023.
///
/// ```
/// use pe_burn::Spectrum;
/// use pe_burn::scaling::Ntk;
///
/// let plain = Spectrum::new(64, 10_000.0)?;
/// let scaled = plain.clone().scaled(&Ntk::new(4.0).into(), 8_192)?;
/// let ratio = |i| plain.frequencies()[i] / scaled.frequencies()[i];
/// assert_eq!(ratio(0), 1.0);
/// assert!((ratio(31) - 4.0_f64).abs() < 1e-12);
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize)]
pub struct Ntk {
    /// How many times as long as in training the inputs are, at least 1.
    pub factor: f64,
}

impl Ntk {
    /// For inputs `factor` times as long as in training.
    pub fn new(factor: f64) -> Self {
        Self { factor }
    }
}

impl Scaling for Ntk {
    fn fields() -> &'static [&'static str] {
        &["factor"]
    }

    fn read(fields: &Fields) -> Result<Self, String> {
        Ok(Self {
            factor: fields.number("factor")?,
        })
    }

    fn check(&self, pairs: usize) -> Result<(), PositionError> {
        let fits = self.factor.is_finite() && self.factor >= 1.0;
        check_number(fits, "factor", self.factor, "a finite number of at least 1")?;
        check_exponent(pairs)
    }

    fn apply(&self, spectrum: Spectrum, _seq: usize) -> Result<Spectrum, PositionError> {
        grow_base(spectrum, self.factor)
    }
}

/// Refuses a width of 2, for which there is no exponent d/(d − 2).
pub(super) fn check_exponent(pairs: usize) -> Result<(), PositionError> {
    let bound = "at least 4, since the exponent d/(d - 2) has to exist";
    check_number(pairs >= 2, "the rotated width", 2 * pairs, bound)
}

/// The spectrum with its base multiplied by `growth^(d/(d − 2))`, for a `growth` of at least 1.
///
/// [`Spectrum::base`] stays the base before any scaling, so an earlier scaling cannot be seen from it.
/// Frequencies that are not those of the base are multiplied by the ratio of the new to the old power
/// of the base.
pub(super) fn grow_base(spectrum: Spectrum, growth: f64) -> Result<Spectrum, PositionError> {
    let (d_model, base) = (spectrum.d_model(), spectrum.base());
    let width = d_model as f64;
    let base_ratio = libm::pow(growth, width / (width - 2.0));
    let (old, new) = (
        Spectrum::new(d_model, base)?,
        Spectrum::new(d_model, base * base_ratio)?,
    );
    if spectrum.doubles() == old.doubles() {
        return Ok(spectrum.map(|i, _| new.doubles()[i]));
    }
    if base_ratio == 1.0 {
        return Ok(spectrum);
    }
    // (base · ratio)^(−2i/d) / base^(−2i/d) = ratio^(−2i/d), which are the frequencies of that base.
    let ratios = Spectrum::new(d_model, base_ratio)?;
    Ok(spectrum.map(|i, omega| omega.mul(ratios.doubles()[i])))
}

#[cfg(test)]
mod tests {
    use super::*;

    use crate::rotate::scaling::Linear;
    use crate::spectrum::Formula;
    use crate::testing::refused;

    fn ntk(spectrum: Spectrum, factor: f64) -> Spectrum {
        spectrum.scaled(&Ntk::new(factor).into(), 1).unwrap()
    }

    /// Of a spectrum that was not scaled before.
    #[test]
    fn the_frequencies_are_those_of_the_larger_base_to_the_bit() {
        for factor in [1.0, 1.5, 8.0] {
            let base = 1e4 * libm::pow(factor, 64.0 / 62.0);
            let expected = Spectrum::new(64, base).unwrap();
            let scaled = ntk(Spectrum::new(64, 1e4).unwrap(), factor);
            assert_eq!(scaled.doubles(), expected.doubles());
            assert_eq!(scaled.base(), 1e4);
        }
    }

    #[test]
    fn ntk_twice_is_ntk_by_the_product() {
        let plain = || Spectrum::new(64, 1e4).unwrap();
        let twice = ntk(ntk(plain(), 2.0), 3.0).frequencies();
        let once = ntk(plain(), 6.0).frequencies();
        for (twice, once) in twice.iter().zip(once) {
            assert!((twice / once - 1.0).abs() < 1e-15, "{twice} {once}");
        }
        // A factor of 1 changes nothing, also of what was scaled before.
        let linear = plain().scaled(&Linear::new(4.0).into(), 1).unwrap();
        assert_eq!(ntk(linear.clone(), 1.0), linear);
    }

    /// Their frequencies are not the powers of their base, so they are multiplied by the ratio.
    #[test]
    fn other_formulas_are_scaled_by_the_same_ratios() {
        let plain = Spectrum::new(16, Formula::DIFFUSERS).unwrap();
        let scaled = ntk(plain.clone(), 4.0);
        let ratio = libm::pow(4.0, 16.0 / 14.0);
        let pairs = plain.frequencies().into_iter().zip(scaled.frequencies());
        for (i, (plain, scaled)) in pairs.enumerate() {
            let expected = plain * libm::pow(ratio, -(i as f64) / 8.0);
            assert!((scaled / expected - 1.0).abs() < 1e-14);
        }
    }

    #[test]
    fn numbers_that_scale_nothing_are_refused() {
        refused! {
            |bad| Spectrum::new(bad.0, 1e4).unwrap().scaled(&Ntk::new(bad.1).into(), 1);
            (2, 2.0) =>
                "the rotated width must be at least 4, since the exponent d/(d - 2) has to exist; got 2",
            (8, 0.5) => "factor must be a finite number of at least 1; got 0.5",
            (8, 1e300) => "… decrease; got inf",
        }
    }
}
