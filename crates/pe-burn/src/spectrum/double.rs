//! Double-double arithmetic: a number held as the unevaluated sum of two `f64`, about 106 bits.
//!
//! A frequency in a single `f64` is off by half an ulp, and a position multiplies that error:
//! at position 2^24 the angle is already off by 2e-9, at 2^53 by more than a whole turn. Held in
//! two `f64` the angle stays good to the last bit of its sine at every position that an `f64` can
//! name. Only the few thousand anchor angles of a table go through here; see `rows.rs`.
//!
//! The building blocks are those of T. J. Dekker, *A floating-point technique for extending the
//! available precision*, Numerische Mathematik 18, 1971. No fused multiply-add is used, so that
//! every platform computes the same bits.

/// `hi + lo`, with `|lo|` at most half an ulp of `hi`.
#[derive(Clone, Copy, Debug, PartialEq)]
pub(crate) struct Double {
    pub hi: f64,
    pub lo: f64,
}

const LN_2: Double = Double {
    hi: core::f64::consts::LN_2,
    lo: 2.319_046_813_846_299_6e-17,
};

/// π/2 in three parts, each the rounding of what the ones before leave.
const HALF_PI: [f64; 3] = [
    core::f64::consts::FRAC_PI_2,
    6.123_233_995_736_766e-17,
    -1.497_384_904_859_169_8e-33,
];

#[inline(always)]
fn two_sum(a: f64, b: f64) -> Double {
    let hi = a + b;
    let part = hi - a;
    let lo = (a - (hi - part)) + (b - part);
    Double { hi, lo }
}

#[inline(always)]
fn two_product(a: f64, b: f64) -> Double {
    let hi = a * b;
    let (a_hi, a_lo) = split(a);
    let (b_hi, b_lo) = split(b);
    let lo = ((a_hi * b_hi - hi) + a_hi * b_lo + a_lo * b_hi) + a_lo * b_lo;
    Double { hi, lo }
}

/// The upper 26 bits and the rest, so that the products of halves are exact.
#[inline(always)]
fn split(a: f64) -> (f64, f64) {
    let scaled = 134_217_729.0 * a; // 2^27 + 1
    let hi = scaled - (scaled - a);
    (hi, a - hi)
}

impl Double {
    pub const ZERO: Self = Self { hi: 0.0, lo: 0.0 };
    pub const ONE: Self = Self { hi: 1.0, lo: 0.0 };

    pub const TAU: Self = Self {
        hi: 4.0 * HALF_PI[0],
        lo: 4.0 * HALF_PI[1],
    };

    #[inline(always)]
    pub fn add(self, other: Self) -> Self {
        let high = two_sum(self.hi, other.hi);
        let low = two_sum(self.lo, other.lo);
        let sum = two_sum(high.hi, high.lo + low.hi);
        two_sum(sum.hi, sum.lo + low.lo)
    }

    pub fn mul(self, other: Self) -> Self {
        let product = two_product(self.hi, other.hi);
        let cross = self.hi * other.lo + self.lo * other.hi;
        two_sum(product.hi, product.lo + cross)
    }

    /// The quotient of two numbers that are exact in `f64`.
    pub fn quotient(a: f64, b: f64) -> Self {
        Self { hi: a, lo: 0.0 }.div(b)
    }

    /// The product with a number that is exact in `f64`.
    pub fn times(self, factor: f64) -> Self {
        self.mul(Self {
            hi: factor,
            lo: 0.0,
        })
    }

    /// The quotient by a number that is exact in `f64`.
    pub fn div(self, by: f64) -> Self {
        let hi = self.hi / by;
        let product = two_product(hi, by);
        two_sum(hi, ((self.hi - product.hi) - product.lo + self.lo) / by)
    }

    pub fn neg(self) -> Self {
        Self {
            hi: -self.hi,
            lo: -self.lo,
        }
    }

    /// `e^self`, for `|self|` up to about 700.
    pub fn exp(self) -> Self {
        // e^(k ln 2 + r) = 2^k e^r with |r| <= 0.35, where 28 terms of the series leave 1e-43.
        let k = libm::rint(self.hi / LN_2.hi);
        let r = self.add(LN_2.mul(Self { hi: -k, lo: 0.0 }));
        let mut sum = Self::ONE;
        for n in (1..=28).rev() {
            // Horner: 1 + r/n (1 + r/(n+1) (...))
            sum = Self::ONE.add(r.mul(Self::quotient(1.0, f64::from(n))).mul(sum));
        }
        Self {
            hi: libm::ldexp(sum.hi, k as i32),
            lo: libm::ldexp(sum.lo, k as i32),
        }
    }

    /// The natural logarithm of a positive finite number.
    pub fn ln(x: f64) -> Self {
        // x = m 2^k keeps the products below away from the ends of the range of f64.
        let (m, k) = libm::frexp(x);
        // One Newton step on e^y = m doubles the 53 good bits of the estimate.
        let estimate = libm::log(m);
        let ratio = Self {
            hi: -estimate,
            lo: 0.0,
        }
        .exp()
        .mul(Self { hi: m, lo: 0.0 });
        let correction = ratio.add(Self::ONE.neg());
        Self {
            hi: estimate,
            lo: 0.0,
        }
        .add(correction)
        .add(LN_2.mul(Self {
            hi: f64::from(k),
            lo: 0.0,
        }))
    }

    /// `(sin, cos)` of `n · self` for a number `n >= 0`, `0 < self` and a product below 2^52: each
    /// within 0.6 ulp of the larger of the two for a product below 2^32, and within 1e-13 beyond.
    ///
    /// Straight-line arithmetic, so that a loop over frequencies compiles to vector instructions.
    #[inline(always)]
    pub fn sin_cos_of_multiple(self, n: f64) -> (f64, f64) {
        let product = two_product(self.hi, n);
        let angle = two_sum(product.hi, product.lo + self.lo * n);

        // Subtract the nearest multiple k of π/2. Adding 2^52 leaves k in the low bits, the last
        // two of which say in which quadrant the angle lies. The first difference is exact.
        const SHIFT: f64 = 4_503_599_627_370_496.0;
        let shifted = angle.hi * core::f64::consts::FRAC_2_PI + SHIFT;
        let k = shifted - SHIFT;
        let first = two_product(k, HALF_PI[0]);
        let second = two_product(k, HALF_PI[1]);
        let rest = two_sum(angle.hi - first.hi, -first.lo)
            .add(two_sum(angle.lo, -second.hi))
            .add(two_sum(-second.lo, -k * HALF_PI[2]));

        let (sin, cos) = sin_cos_near_zero(rest);
        let quadrant = shifted.to_bits();
        let swap = 0_u64.wrapping_sub(quadrant & 1);
        let (s, c) = (sin.to_bits(), cos.to_bits());
        let sin = ((s & !swap) | (c & swap)) ^ ((quadrant & 2) << 62);
        let cos = ((c & !swap) | (s & swap)) ^ ((quadrant.wrapping_add(1) & 2) << 62);
        (f64::from_bits(sin), f64::from_bits(cos))
    }
}

/// The Taylor series of sine and cosine: for |x| up to π/4 what is left out is below 2e-18, and
/// up to 1.51, where the far end of the range of positions leads, below 3e-14.
#[inline(always)]
fn sin_cos_near_zero(x: Double) -> (f64, f64) {
    const fn reciprocal_factorial(n: u32) -> f64 {
        let (mut product, mut k) = (1.0, 2);
        while k <= n {
            product *= k as f64;
            k += 1;
        }
        1.0 / product
    }
    macro_rules! series {
        ($z:expr; $($n:expr),*) => {{
            let mut sum = 0.0;
            $( sum = sum * $z + const { reciprocal_factorial($n) }; )*
            sum
        }};
    }
    let z = x.hi * x.hi;
    // The signs of both series alternate: that is the series in −z.
    let sin_tail = -z * x.hi * series!(-z; 17, 15, 13, 11, 9, 7, 5, 3);
    let cos_tail = z * z * series!(-z; 18, 16, 14, 12, 10, 8, 6, 4);

    let sin = x.hi + (sin_tail + x.lo * (1.0 - 0.5 * z));
    // 1 − z/2 in two parts, so that the second holds the rounding error of the first.
    let half = 0.5 * z;
    let head = 1.0 - half;
    let cos = head + (((1.0 - head) - half) + (cos_tail - x.hi * x.lo));
    (sin, cos)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Reference values from mpmath at 60 digits, each split into its two leading `f64`.
    #[test]
    fn exp_and_ln_hold_a_hundred_bits() {
        let ln_10000 = Double::ln(10_000.0);
        assert_eq!(ln_10000.hi, 9.210_340_371_976_184);
        assert!((ln_10000.lo - LN_10000_LO).abs() < 1e-30, "{}", ln_10000.lo);

        // 10000^(-2/512), the ratio between neighbouring frequencies of the paper's model.
        let ratio = ln_10000.mul(Double::quotient(-2.0, 512.0)).exp();
        assert_eq!(ratio.hi, RATIO.hi);
        assert!((ratio.lo - RATIO.lo).abs() < 1e-31, "{}", ratio.lo);
    }

    const LN_10000_LO: f64 = -8.683_024_893_528_997e-16;
    const RATIO: Double = Double {
        hi: 0.964_661_619_911_199_3,
        lo: -3.918_574_121_819_632e-17,
    };

    #[test]
    fn ln_covers_the_whole_range() {
        for x in [1.0 + f64::EPSILON, 2.0, 1e8, 1e300, f64::MAX] {
            let ln = Double::ln(x);
            assert!((ln.hi - libm::log(x)).abs() <= libm::log(x) * 3e-16, "{x}");
        }
    }

    #[test]
    fn sine_of_a_far_multiple() {
        // sin and cos of 2^52 - 1 radians, from mpmath.
        let (sin, cos) = Double::ONE.sin_cos_of_multiple(4_503_599_627_370_495.0);
        assert!(
            (sin - FAR.0).abs() < 2e-15 && (cos - FAR.1).abs() < 2e-15,
            "{sin} {cos}"
        );
        assert_eq!(Double::ONE.sin_cos_of_multiple(0.0), (0.0, 1.0));
    }

    #[test]
    fn sines_are_within_an_ulp() {
        for n in 0..100_000 {
            let n = f64::from(n * 7);
            let (sin, cos) = Double::ONE.sin_cos_of_multiple(n);
            let (exact_sin, exact_cos) = libm::sincos(n);
            for (got, exact) in [(sin, exact_sin), (cos, exact_cos)] {
                assert!((got - exact).abs() <= 1.2e-16, "{n}: {got} {exact}");
            }
        }
    }

    const FAR: (f64, f64) = (0.8809051277549935, 0.4732928859543091);
}
