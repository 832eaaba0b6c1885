//! The correction for many tests.

/// Holm's adjustment of the p values of one family of tests, in the order given.
///
/// With the p values sorted, `p₍₁₎ ≤ … ≤ p₍ₘ₎`, the i-th becomes
/// `max_{j ≤ i} min(1, (m − j + 1) · p₍ⱼ₎)`. If every adjusted p below α is called a difference, at most a
/// share α of studies calls a difference where there is none, however the tests depend on each other
/// (Holm 1979).
pub fn holm(p_values: &[f64]) -> Vec<f64> {
    let mut order: Vec<usize> = (0..p_values.len()).collect();
    order.sort_by(|a, b| p_values[*a].total_cmp(&p_values[*b]));
    let mut adjusted = vec![0.0; p_values.len()];
    let mut highest = 0.0f64;
    for (rank, index) in order.into_iter().enumerate() {
        let scaled = (p_values.len() - rank) as f64 * p_values[index];
        highest = highest.max(scaled.min(1.0));
        adjusted[index] = highest;
    }
    adjusted
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn holm_is_that_of_statsmodels() {
        // statsmodels.stats.multitest.multipletests(p, method='holm') of statsmodels 0.15.0, which
        // agrees with R's p.adjust(p, "holm").
        for (p_values, expected) in [
            (
                &[0.01, 0.02, 0.03, 0.04, 0.05][..],
                &[0.05, 0.08, 0.09, 0.09, 0.09][..],
            ),
            (&[0.01, 0.04, 0.03, 0.005], &[0.03, 0.06, 0.06, 0.02]),
            (&[0.5, 0.9, 0.6], &[1.0, 1.0, 1.0]),
            (&[0.03125; 3], &[0.09375; 3]),
            (&[0.2], &[0.2]),
            (&[], &[]),
        ] {
            let adjusted = holm(p_values);
            assert_eq!(adjusted.len(), expected.len());
            for (value, expected) in adjusted.iter().zip(expected) {
                assert!((value - expected).abs() < 1e-12, "{value}, {expected}");
            }
        }
    }
}
