//! An exponential function that the compiler can vectorize.

use core::f32::consts::LOG2_E;
use core::f64::consts::LN_2;

/// Below it `e^x` is nearly subnormal.
const LOWEST: f32 = -87.0;

/// [`exp_from`] with the smallest `lowest` that it allows.
#[inline(always)]
pub fn exp(x: f32) -> f32 {
    exp_from(LOWEST, x)
}

/// `e^x` with a relative error below 1.2e-7, for `x` up to 88. It is 0 for `x` below `lowest`, which is at least -87.
///
/// Cody and Waite's range reduction `x = n ln 2 + r` with |r| ≤ ln 2 / 2, the Taylor polynomial of
/// degree 7 for `e^r`, and `2^n` made from its exponent bits. Without fused multiply-add, which some processors do not have, so
/// that it gives the same bits on every processor.
#[inline(always)]
pub fn exp_from(lowest: f32, x: f32) -> f32 {
    // Adding 1.5 · 2^23 rounds to an integer, which is then in the low bits of the sum.
    const ROUND: f32 = 12_582_912.0;
    const LN_2_HIGH: f32 = 0.693_359_4;
    const LN_2_LOW: f32 = (LN_2 - LN_2_HIGH as f64) as f32;
    let shifted = x * LOG2_E + ROUND;
    let n = shifted - ROUND;
    let r = x - n * LN_2_HIGH - n * LN_2_LOW;
    let p = 1.0 / 5_040.0;
    let p = p * r + 1.0 / 720.0;
    let p = p * r + 1.0 / 120.0;
    let p = p * r + 1.0 / 24.0;
    let p = p * r + 1.0 / 6.0;
    let p = p * r + 0.5;
    let p = p * r * r + r + 1.0;
    let power = f32::from_bits((shifted.to_bits() << 23).wrapping_add(127 << 23));
    if x < lowest { 0.0 } else { p * power }
}

/// `σ(x) = 1 / (1 + e^−x) = e^x / (1 + e^x)`, by e^−|x|, so that nothing overflows.
#[inline(always)]
pub(crate) fn sigmoid(x: f32) -> f32 {
    let small = exp(-x.abs());
    let large = 1.0 / (1.0 + small);
    if x < 0.0 { small * large } else { large }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn exp_has_the_stated_relative_error() {
        for i in -87_000..=88_000 {
            let x = i as f32 / 1_000.0;
            let exact = libm::exp(f64::from(x));
            let error = (f64::from(exp(x)) - exact).abs() / exact;
            assert!(error < 1.2e-7, "e^{x}: {error}");
        }
        assert_eq!(exp(0.0), 1.0);
        assert_eq!([exp(-88.0), exp(-1e9), exp(f32::NEG_INFINITY)], [0.0; 3]);
        assert!(exp(f32::NAN).is_nan());
        assert_eq!(exp_from(-50.0, -50.0), exp(-50.0));
        assert_eq!(
            [exp_from(-50.0, -50.01), exp_from(-50.0, f32::NEG_INFINITY)],
            [0.0; 2]
        );
    }
}
