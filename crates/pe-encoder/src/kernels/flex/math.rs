//! Scalar functions that the compiler can vectorize, and sums in a fixed order.
//!
//! They use no fused multiply-add, which some processors do not have, so that they give the same bits on every processor.

use std::f32::consts::FRAC_1_SQRT_2;

use pe_burn::exp;

/// The number of partial sums that are taken side by side.
const LANES: usize = 16;

/// The Gaussian error linear unit x Φ(x) (Hendrycks and Gimpel 2016), and its slope Φ(x) + x φ(x).
///
/// Φ is computed as a polynomial times e^(-x²/2), with an error below 7.5e-8 (Abramowitz and Stegun,
/// 7.1.26, for the error function); φ uses the same exponential.
#[inline(always)]
pub fn gelu(x: f32) -> (f32, f32) {
    const ONE_BY_SQRT_2_PI: f32 = 0.398_942_3;
    let t = 1.0 / (1.0 + 0.327_591_1 * FRAC_1_SQRT_2 * x.abs());
    let p = 1.061_405_4;
    let p = p * t - 1.453_152;
    let p = p * t + 1.421_413_7;
    let p = p * t - 0.284_496_74;
    let p = p * t + 0.254_829_6;
    let density = exp(-0.5 * x * x);
    let beyond = 0.5 * p * t * density;
    let below = if x < 0.0 { beyond } else { 1.0 - beyond };
    (x * below, below + x * density * ONE_BY_SQRT_2_PI)
}

/// The sum of `term(i)` for `i < n`, added in the same order on every processor.
#[inline(always)]
pub fn sum(n: usize, term: impl Fn(usize) -> f32) -> f32 {
    let mut lanes = [0.0_f32; LANES];
    let whole = n / LANES * LANES;
    let mut start = 0;
    while start < whole {
        for (lane, total) in lanes.iter_mut().enumerate() {
            *total += term(start + lane);
        }
        start += LANES;
    }
    let mut total = 0.0;
    for lane in lanes {
        total += lane;
    }
    for i in whole..n {
        total += term(i);
    }
    total
}

/// The largest element of a row, or `f32::MIN` if no element is larger (an empty row, or all -∞).
#[inline(always)]
pub fn largest(row: &[f32]) -> f32 {
    let mut lanes = [f32::MIN; LANES];
    let (whole, rest) = row.as_chunks::<LANES>();
    let mut block = 0;
    while block < whole.len() {
        for lane in 0..LANES {
            let x = whole[block][lane];
            lanes[lane] = if x > lanes[lane] { x } else { lanes[lane] };
        }
        block += 1;
    }
    let mut largest = f32::MIN;
    for x in lanes {
        largest = if x > largest { x } else { largest };
    }
    for i in 0..rest.len() {
        largest = if rest[i] > largest { rest[i] } else { largest };
    }
    largest
}

#[cfg(test)]
mod tests {
    use super::*;

    /// The density φ(x) and the distribution function Φ(x) of the normal distribution, the latter by
    /// Simpson's rule.
    fn normal(x: f64) -> (f64, f64) {
        let density = |x: f64| (-0.5 * x * x).exp() / (2.0 * std::f64::consts::PI).sqrt();
        let (n, step) = (2_000, x / 2_000.0);
        let inside = (1..n).map(|i| density(i as f64 * step) * if i % 2 == 1 { 4.0 } else { 2.0 });
        let integral = (density(0.0) + inside.sum::<f64>() + density(x)) * step / 3.0;
        (density(x), 0.5 + integral)
    }

    #[test]
    fn gelu_and_its_slope_agree_with_numerical_integration() {
        for i in -400..=400 {
            let x = i as f32 / 40.0;
            let (density, below) = normal(f64::from(x));
            let (value, slope) = gelu(x);
            let wide = f64::from(x);
            let value_error = (f64::from(value) - wide * below).abs() / wide.abs().max(1.0);
            let slope_error = (f64::from(slope) - below - wide * density).abs();
            assert!(value_error < 1.5e-7, "gelu({x}): {value_error}");
            assert!(slope_error < 2.5e-7, "slope at {x}: {slope_error}");
        }
        // Far from 0 the GELU is 0 or x.
        assert_eq!((gelu(-50.0), gelu(50.0)), ((-0.0, 0.0), (50.0, 1.0)));
    }

    #[test]
    fn sum_and_largest_include_every_element() {
        for n in [1, 15, 16, 17, 40] {
            assert_eq!(sum(n, |i| i as f32), (n * (n - 1) / 2) as f32);
            for most in 0..n {
                let row: Vec<f32> = (0..n).map(|i| if i == most { 2.0 } else { -3.0 }).collect();
                assert_eq!(largest(&row), 2.0);
            }
        }
    }
}
