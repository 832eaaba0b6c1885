//! Student's t distribution: its two tails and its quantiles.

use std::f64::consts::PI;

/// The probability that Student's t with `df` degrees of freedom is at least as far from zero as `t`.
///
/// It is `I_x(df / 2, 1 / 2)` at `x = df / (df + t²)`, the regularized incomplete beta function
/// (Abramowitz and Stegun 26.5.27 and 26.7.1). `df` is above 0 and need not be whole.
pub fn two_sided(t: f64, df: f64) -> f64 {
    if t.is_infinite() {
        return 0.0;
    }
    // Written without the cancellation of 1 − x for small t.
    let square = t * t;
    beta(df / 2.0, 0.5, df / (df + square), square / (df + square))
}

/// The value that Student's t exceeds in size with the probability `p`: `two_sided(quantile(p, df), df) = p`.
///
/// `p` is above 0 and at most 1.
pub fn quantile(p: f64, df: f64) -> f64 {
    // The tail falls with t, so the value is first enclosed and then found by Newton's steps, or by halves
    // where a step leaves the enclosure.
    let (mut low, mut high) = (0.0, 2.0);
    while two_sided(high, df) > p {
        low = high;
        high *= 2.0;
    }
    let height = (ln_gamma((df + 1.0) / 2.0) - ln_gamma(df / 2.0)).exp() / (df * PI).sqrt();
    let mut t = (low + high) / 2.0;
    for _ in 0..100 {
        let excess = two_sided(t, df) - p;
        if excess > 0.0 {
            low = t;
        } else {
            high = t;
        }
        let density = 2.0 * height * (1.0 + t * t / df).powf(-(df + 1.0) / 2.0);
        let step = t + excess / density;
        let next = if step > low && step < high {
            step
        } else {
            (low + high) / 2.0
        };
        let moved = (next - t).abs();
        t = next;
        if moved <= 1e-14 * t {
            break;
        }
    }
    t
}

/// The regularized incomplete beta function `I_x(a, b)`, with `y = 1 − x`.
fn beta(a: f64, b: f64, x: f64, y: f64) -> f64 {
    if x <= 0.0 {
        return 0.0;
    }
    if y <= 0.0 {
        return 1.0;
    }
    let front = (ln_gamma(a + b) - ln_gamma(a) - ln_gamma(b) + a * x.ln() + b * y.ln()).exp();
    // The fraction converges fast below the mean; above it the other tail is computed.
    match x < (a + 1.0) / (a + b + 2.0) {
        true => front * fraction(a, b, x) / a,
        false => 1.0 - front * fraction(b, a, y) / b,
    }
}

/// The continued fraction of the incomplete beta function (Abramowitz and Stegun 26.5.8), by Lentz's method.
fn fraction(a: f64, b: f64, x: f64) -> f64 {
    const TINY: f64 = 1e-300;
    let away_from_zero = |value: f64| if value.abs() < TINY { TINY } else { value };
    let mut numerator = 1.0;
    let mut denominator = 1.0 / away_from_zero(1.0 - (a + b) * x / (a + 1.0));
    let mut value = denominator;
    for m in 1..1000 {
        let m = f64::from(m);
        let even = m * (b - m) * x / ((a + 2.0 * m - 1.0) * (a + 2.0 * m));
        let odd = -(a + m) * (a + b + m) * x / ((a + 2.0 * m) * (a + 2.0 * m + 1.0));
        let mut change = 1.0;
        for term in [even, odd] {
            denominator = 1.0 / away_from_zero(1.0 + term * denominator);
            numerator = away_from_zero(1.0 + term / numerator);
            change = denominator * numerator;
            value *= change;
        }
        if (change - 1.0).abs() < 1e-15 {
            break;
        }
    }
    value
}

/// The logarithm of the gamma function for `x > 0`: Stirling's series, after `Γ(x + 1) = x Γ(x)` has made
/// its argument large (Abramowitz and Stegun 6.1.41).
fn ln_gamma(x: f64) -> f64 {
    let (mut x, mut product) = (x, 1.0);
    while x < 10.0 {
        product *= x;
        x += 1.0;
    }
    let r = 1.0 / (x * x);
    let series = (1.0 / 12.0
        + r * (-1.0 / 360.0
            + r * (1.0 / 1260.0
                + r * (-1.0 / 1680.0 + r * (1.0 / 1188.0 - r * 691.0 / 360_360.0)))))
        / x;
    (x - 0.5) * x.ln() - x + 0.5 * (2.0 * PI).ln() + series - f64::ln(product)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_quantile_is_where_the_tails_are_p() {
        for df in [0.7, 1.0, 2.3, 4.0, 11.0, 200.0] {
            for p in [1.0, 0.9, 0.3, 0.05, 0.0125, 1e-4, 1e-9] {
                let t = quantile(p, df);
                assert!(
                    (two_sided(t, df) - p).abs() <= 1e-12 * p.max(1e-3),
                    "{p}, {df}: {t}"
                );
            }
        }
        assert_eq!(two_sided(0.0, 3.5), 1.0);
        assert_eq!(two_sided(f64::INFINITY, 3.5), 0.0);
    }
}
