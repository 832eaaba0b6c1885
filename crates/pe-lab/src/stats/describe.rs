//! Means, variances, the interquartile mean.

/// The arithmetic mean. `None` if there are no values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

/// The variance of a sample, `Σ(x − x̄)² / (n − 1)`. `None` for fewer than two values.
pub fn variance(values: &[f64]) -> Option<f64> {
    let center = mean(values.iter().copied())?;
    let squares: f64 = values.iter().map(|value| (value - center).powi(2)).sum();
    (values.len() > 1).then(|| squares / (values.len() - 1) as f64)
}

/// The mean over tasks at each seed, of `scores[task][seed]`.
pub fn seed_means(scores: &[Vec<f64>]) -> Vec<f64> {
    let seeds = scores.iter().map(Vec::len).min().unwrap_or(0);
    let at = |seed: usize| mean(scores.iter().map(|task| task[seed]));
    (0..seeds).filter_map(at).collect()
}

/// The interquartile mean: the mean of the middle half.
///
/// A quarter of the values, rounded down, is cut from each end of the sorted list, and the rest is
/// averaged. It hides what happens in fewer than a quarter of the runs, so it stands beside the mean and
/// decides nothing. Agarwal et al., "Deep RL at the edge of the statistical precipice", NeurIPS 2021, use
/// it to aggregate runs over tasks. `None` if there are no values.
pub fn interquartile_mean(values: &[f64]) -> Option<f64> {
    let mut sorted = values.to_vec();
    sorted.sort_by(f64::total_cmp);
    let cut = sorted.len() / 4;
    mean(sorted[cut..sorted.len() - cut].iter().copied())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_interquartile_mean_is_that_of_scipy() {
        // scipy.stats.trim_mean(x, 0.25) of SciPy 1.17.1.
        for (values, expected) in [
            (&[1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0, 8.0][..], 4.5),
            (&[1.0, 2.0, 3.0, 4.0, 100.0], 3.0),
            (&[0.1, 0.9, 0.4], 0.466_666_666_666_666_6),
            (&[5.0], 5.0),
            (&[3.1, 0.2, 5.5, 1.7, 4.4, 2.9, 8.0], 3.52),
            (&[9.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 1.0, 50.0], 1.0),
        ] {
            let found = interquartile_mean(values).unwrap();
            assert!((found - expected).abs() < 1e-12, "{found}, {expected}");
        }
        assert_eq!(interquartile_mean(&[]), None);
    }
}
