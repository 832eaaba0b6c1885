//! Frequencies as whole numbers, for kernels that compute angles without floating point.

use alloc::vec::Vec;

use super::Spectrum;
use super::double::Double;

/// 1/2π.
const PER_RADIAN: Double = Double {
    hi: 0.159_154_943_091_895_35,
    lo: -9.839_338_337_591_243e-18,
};

impl Spectrum {
    /// How far each frequency turns from one position to the next: the fraction of a turn in units of 2^−128, as four words
    /// with the highest first. Whole turns are left out, so a product with a position, modulo 2^128, is the angle of that position.
    pub(crate) fn turns(&self) -> Vec<u32> {
        let words = |omega: &Double| {
            let turns = fraction(omega.mul(PER_RADIAN));
            [96, 64, 32, 0].map(|bits| (turns >> bits) as u32)
        };
        self.doubles().iter().flat_map(words).collect()
    }
}

/// The fraction of a number that is not negative, in units of 2^−128.
fn fraction(number: Double) -> u128 {
    // A product with a power of two is exact, and so is the fraction of a number.
    let of = |part: f64| libm::ldexp(part - libm::floor(part), 128) as u128;
    match number.lo < 0.0 {
        false => of(number.hi).wrapping_add(of(number.lo)),
        true => of(number.hi).wrapping_sub(of(-number.lo)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_product_with_a_position_is_the_angle() {
        for base in [1.5, 100.0, 1e4, 5e5] {
            let spectrum = Spectrum::new(16, base).unwrap();
            let turns = spectrum.turns();
            for position in [0, 1, 3, 1_000, 1 << 24, (1 << 33) + 7, (1 << 52) - 1] {
                let rows: Vec<f64> = spectrum.rows(position..position + 1).unwrap();
                for (words, row) in turns.chunks(4).zip(rows.chunks(2)) {
                    let words = words.iter().map(|word| u128::from(*word));
                    let step = words.fold(0, |all, word| all << 32 | word);
                    let angle = step.wrapping_mul(position as u128) as f64;
                    let angle = libm::ldexp(angle, -128);
                    let (sin, cos) = libm::sincos(angle * core::f64::consts::TAU);
                    for (got, exact) in [sin, cos].iter().zip(row) {
                        let error = (got - exact).abs();
                        assert!(error < 1e-12, "{base} {position}: {got} {exact}");
                    }
                }
            }
        }
    }

    #[test]
    fn whole_turns_are_left_out() {
        // Above one turn from position to position, and no turn at all.
        let spectrum = Spectrum::from_frequencies(&[7.0, 0.5]).unwrap();
        let first = f64::from(spectrum.turns()[0]) / 4_294_967_296.0;
        assert!((first - (7.0 / core::f64::consts::TAU).fract()).abs() < 1e-9);
        assert_eq!(fraction(Double::ZERO), 0);
        assert_eq!(fraction(Double { hi: 3.0, lo: 0.0 }), 0);
        let below = Double {
            hi: 1.0,
            lo: -libm::ldexp(1.0, -100),
        };
        assert_eq!(fraction(below), 0_u128.wrapping_sub(1 << 28));
    }
}
