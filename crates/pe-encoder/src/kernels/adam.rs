//! A step of Adam on the CPU: what each element takes, and the norm that clips a gradient.

use multiversion::multiversion;

use super::rates::Rates;

impl Rates {
    /// The factor that clips a gradient with this sum of squares to a norm of at most [`most`](Self::most), if there is a bound.
    pub fn clip(&self, squares: impl FnOnce() -> f64) -> f32 {
        self.most.map_or(1.0, |most| {
            let factor = most / (squares().sqrt() as f32 + f32::MIN_POSITIVE);
            // Not `factor.min(1.0)`, which is 1 for NaN: a NaN in the gradient must not be hidden.
            if factor > 1.0 { 1.0 } else { factor }
        })
    }

    /// The new values of an element and of its two moments, from those before and from its gradient after clipping. The operations
    /// and their order are those of Burn's Adam.
    #[inline(always)]
    pub fn step(&self, element: f32, gradient: f32, moments: [f32; 2]) -> [f32; 3] {
        let [keep_mean, keep_square] = self.keep;
        let mean = moments[0] * keep_mean + gradient * (1.0 - keep_mean);
        let square = moments[1] * keep_square + gradient * gradient * (1.0 - keep_square);
        let step = mean * self.correction / (square.sqrt() + self.epsilon);
        [element - step * self.rate, mean, square]
    }
}

/// The sum of squares, as eight partial sums that the processor can add at the same time.
#[multiversion(targets("x86_64+avx512f+avx512dq+avx512bw+avx512vl", "x86_64+avx2"))]
pub fn squares(values: &[f32]) -> f64 {
    let (blocks, rest) = values.as_chunks::<8>();
    let mut sums = [0.0_f64; 8];
    for block in blocks {
        for i in 0..8 {
            sums[i] += f64::from(block[i]) * f64::from(block[i]);
        }
    }
    let rest = rest.iter().map(|x| f64::from(*x) * f64::from(*x));
    sums.iter().sum::<f64>() + rest.sum::<f64>()
}
