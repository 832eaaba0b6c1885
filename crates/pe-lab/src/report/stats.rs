//! The statistics of a report: intervals over seeds, the interquartile mean, tests of pairs.
//!
//! Every function here depends on its arguments alone. Random draws come from fixed streams, so a report
//! that is made twice has the same numbers twice.

use serde::Serialize;

use crate::rng::{HostRng, RngExt, generator};

/// Bootstrap resamples for a number in a table.
pub const RESAMPLES: usize = 50_000;

/// Bootstrap resamples for a point of a curve. Curves have many points.
pub const CURVE_RESAMPLES: usize = 2_000;

/// Up to this many differences [`sign_flip`] counts every pattern of signs.
const EXACT_UP_TO: usize = 20;

/// The number of patterns drawn at random if there are too many to count.
const DRAWN_PATTERNS: usize = 100_000;

/// A 95 % interval.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Interval {
    /// The lower end: the 2.5th percentile.
    pub low: f64,
    /// The upper end: the 97.5th percentile.
    pub high: f64,
}

/// The arithmetic mean. `None` if there are no values.
pub fn mean(values: impl IntoIterator<Item = f64>) -> Option<f64> {
    let (mut sum, mut count) = (0.0, 0usize);
    for value in values {
        sum += value;
        count += 1;
    }
    (count > 0).then(|| sum / count as f64)
}

/// The value below which `percent` of a sorted list lies, interpolated between neighbours.
///
/// At rank `h = (n − 1) · percent / 100`, counted from 0: `x[⌊h⌋] + (h − ⌊h⌋) · (x[⌊h⌋+1] − x[⌊h⌋])`.
/// This is type 7 of Hyndman and Fan (1996), the default of NumPy and of R. `None` if the list is empty.
pub fn percentile(sorted: &[f64], percent: f64) -> Option<f64> {
    let rank = sorted.len().checked_sub(1)? as f64 * percent.clamp(0.0, 100.0) / 100.0;
    let below = sorted.get(rank.floor() as usize)?;
    let above = sorted.get(rank.ceil() as usize)?;
    Some(below + rank.fract() * (above - below))
}

/// The interquartile mean: the mean of the middle half.
///
/// A quarter of the values, rounded down, is cut from each end of the sorted list, and the rest is
/// averaged. One bad run moves it less than the mean, and it uses more of the values than the median.
/// Agarwal et al., "Deep RL at the edge of the statistical precipice", NeurIPS 2021, use it to aggregate
/// runs over tasks. `None` if there are no values.
pub fn interquartile_mean(values: &[f64]) -> Option<f64> {
    let mut values = values.to_vec();
    trimmed(&mut values)
}

fn trimmed(values: &mut [f64]) -> Option<f64> {
    let cut = values.len() / 4;
    if cut == 0 {
        return mean(values.iter().copied());
    }
    // A full sort is not needed, only to know which values are in the lowest and the highest quarter.
    let (_, _, rest) = values.select_nth_unstable_by(cut - 1, f64::total_cmp);
    let middle = rest.len() - cut;
    rest.select_nth_unstable_by(middle, f64::total_cmp);
    mean(rest[..middle].iter().copied())
}

/// The percentile bootstrap interval (95 %) of the mean of `values`.
///
/// There is one value per seed. The interval says how far the mean would move if the study were run
/// again with other seeds (Efron 1979). `None` for fewer than two values, which say nothing about that.
/// If the number of all resamples, `nⁿ`, is at most `resamples`, every resample is used once, and the
/// interval is exact. Otherwise `resamples` of them are drawn at random.
///
/// With few values such an interval is too narrow: it covers the true mean less often than in 95 % of
/// studies, because a resample only contains values that were seen.
pub fn mean_interval(values: &[f64], resamples: usize) -> Option<Interval> {
    if values.len() < 2 {
        return None;
    }
    let n = values.len();
    let all = (0..n).try_fold(1usize, |all, _| all.checked_mul(n));
    match all {
        Some(all) if all <= resamples => {
            // Every resample once: its indices are the digits of a number in base n, which counts up.
            let mut digits = vec![0; n];
            let mut means = Vec::with_capacity(all);
            for _ in 0..all {
                means.push(digits.iter().map(|i| values[*i]).sum::<f64>() / n as f64);
                for digit in &mut digits {
                    *digit = (*digit + 1) % n;
                    if *digit > 0 {
                        break;
                    }
                }
            }
            means.sort_unstable_by(f64::total_cmp);
            // The list of means is the whole distribution, so a percentile is one of its values and is not
            // interpolated.
            let share = |percent: f64| means[(all as f64 * percent / 100.0).ceil() as usize - 1];
            Some(Interval {
                low: share(2.5),
                high: share(97.5),
            })
        }
        _ => {
            let mut rng = stream(n);
            let draws = (0..resamples).map(|_| {
                let sum: f64 = (0..n).map(|_| values[rng.random_range(0..n)]).sum();
                sum / n as f64
            });
            interval(draws.collect())
        }
    }
}

/// The percentile bootstrap interval (95 %) of the interquartile mean of several strata.
///
/// A stratum holds the scores of one task, one per seed. Seeds are drawn within each task, and then the
/// runs of all tasks are pooled, as Agarwal et al. (2021) do. `None` unless some task has two seeds.
pub fn interquartile_mean_interval(strata: &[Vec<f64>], resamples: usize) -> Option<Interval> {
    let longest = strata.iter().map(Vec::len).max()?;
    if longest < 2 {
        return None;
    }
    let mut rng = stream(longest);
    let mut pool = Vec::new();
    let draws = (0..resamples).filter_map(|_| {
        pool.clear();
        for values in strata {
            pool.extend((0..values.len()).map(|_| values[rng.random_range(0..values.len())]));
        }
        trimmed(&mut pool)
    });
    interval(draws.collect())
}

fn stream(size: usize) -> HostRng {
    generator("bootstrap", 0, size as u64)
}

fn interval(mut draws: Vec<f64>) -> Option<Interval> {
    draws.sort_unstable_by(f64::total_cmp);
    Some(Interval {
        low: percentile(&draws, 2.5)?,
        high: percentile(&draws, 97.5)?,
    })
}

/// The two-sided p value of the paired sign-flip test, one difference per pair.
///
/// If the two sides of a pair were equally good, each difference could as well have the other sign. p is
/// the share of the `2ⁿ` patterns of signs whose sum is at least as far from zero as the observed sum
/// (Fisher, *The Design of Experiments*, 1935, § 21). The test assumes no distribution of the
/// differences. With more than 20 differences, m = 100,000 patterns are drawn at random; if b of them are
/// as extreme, `p = (b + 1) / (m + 1)`, which is never zero (Phipson and Smyth 2010).
///
/// `None` if there are no differences.
pub fn sign_flip(differences: &[f64]) -> Option<f64> {
    let (first, rest) = differences.split_first()?;
    let scale: f64 = differences.iter().map(|d| d.abs()).sum();
    // Sums that are equal in exact arithmetic may differ by rounding.
    let bound = differences.iter().sum::<f64>().abs() - scale * 1e-12;
    if differences.len() <= EXACT_UP_TO {
        // A pattern and its mirror image are equally far from zero, so the first sign can be fixed.
        let extreme = count_extreme(*first, rest, bound);
        return Some(extreme as f64 / 2f64.powi(rest.len() as i32));
    }
    let mut rng = generator("sign-flip", 0, differences.len() as u64);
    let extreme = (0..DRAWN_PATTERNS).filter(|_| {
        let sum: f64 = differences
            .iter()
            .map(|d| if rng.random::<bool>() { *d } else { -*d })
            .sum();
        sum.abs() >= bound
    });
    Some((extreme.count() + 1) as f64 / (DRAWN_PATTERNS + 1) as f64)
}

fn count_extreme(sum: f64, rest: &[f64], bound: f64) -> u64 {
    match rest.split_first() {
        None => u64::from(sum.abs() >= bound),
        Some((next, rest)) => {
            count_extreme(sum + next, rest, bound) + count_extreme(sum - next, rest, bound)
        }
    }
}

/// The smallest p that [`sign_flip`] can give for `n` differences: `2^(1 − n)`.
pub fn smallest_p(n: usize) -> f64 {
    match n {
        0 => 1.0,
        n if n <= EXACT_UP_TO => 0.5f64.powi(n as i32 - 1),
        _ => 1.0 / (DRAWN_PATTERNS + 1) as f64,
    }
}

/// Holm's adjustment of the p values of one family of tests, in the order given.
///
/// With the p values sorted, `p₍₁₎ ≤ … ≤ p₍ₘ₎`, the i-th becomes
/// `max_{j ≤ i} min(1, (m − j + 1) · p₍ⱼ₎)`. If every adjusted p below 0.05 is called a difference, at
/// most 5 % of studies call a difference where there is none (Holm 1979).
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

    #[track_caller]
    fn close(value: f64, expected: f64, within: f64) {
        assert!(
            (value - expected).abs() <= within,
            "{value} is not {expected} ± {within}"
        );
    }

    #[test]
    fn percentiles_are_those_of_numpy() {
        // numpy.percentile(x, …) of NumPy 2.4.6.
        let mut x = [3.1, 0.2, 5.5, 1.7, 4.4, 2.9, 8.0];
        x.sort_by(f64::total_cmp);
        for (percent, expected) in [
            (0.0, 0.2),
            (2.5, 0.425),
            (25.0, 2.3),
            (50.0, 3.1),
            (90.0, 6.5),
            (97.5, 7.625),
            (100.0, 8.0),
        ] {
            close(percentile(&x, percent).unwrap(), expected, 1e-12);
        }
        assert_eq!(percentile(&[], 50.0), None);
        assert_eq!(percentile(&[4.0], 97.5), Some(4.0));
    }

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
            close(interquartile_mean(values).unwrap(), expected, 1e-12);
        }
        assert_eq!(interquartile_mean(&[]), None);
    }

    #[test]
    fn intervals_are_those_of_scipy() {
        // scipy.stats.bootstrap(…, numpy.mean, method='percentile', n_resamples=10**6), and for the
        // first also NumPy's percentiles of the means of itertools.product(x, repeat=5).
        let five = mean_interval(&[0.91, 0.85, 0.99, 0.78, 0.95], RESAMPLES).unwrap();
        close(five.low, 0.828, 1e-9);
        close(five.high, 0.958, 1e-9);
        let eight = [0.61, 0.72, 0.55, 0.93, 0.88, 0.47, 0.70, 0.81];
        let interval = mean_interval(&eight, RESAMPLES).unwrap();
        close(interval.low, 0.605, 0.003);
        close(interval.high, 0.811_25, 0.003);
        assert_eq!(mean_interval(&eight, RESAMPLES), Some(interval), "fixed");
        let few = mean_interval(&eight, CURVE_RESAMPLES).unwrap();
        close(few.low, 0.605, 0.01);
    }

    #[test]
    fn one_seed_has_no_interval_and_equal_seeds_have_one_without_width() {
        assert_eq!(mean_interval(&[], 100), None);
        assert_eq!(mean_interval(&[0.7], 100), None);
        let equal = mean_interval(&[0.5; 4], 100).unwrap();
        assert_eq!((equal.low, equal.high), (0.5, 0.5));
        // Two values: a resample is one of them twice in half the cases.
        let two = mean_interval(&[0.2, 0.4], 10_000).unwrap();
        assert_eq!((two.low, two.high), (0.2, 0.4));
        // Drawn or counted, nearly the same.
        let few = [0.1, 0.5, 0.6, 0.9, 0.4];
        let counted = mean_interval(&few, 3125).unwrap();
        let drawn = mean_interval(&few, 3124).unwrap();
        assert_ne!(counted, drawn);
        close(counted.low, drawn.low, 0.02);
        close(counted.high, drawn.high, 0.02);
    }

    #[test]
    fn the_interval_of_the_interquartile_mean_draws_within_each_task() {
        // numpy: 400,000 draws of four seeds within each row, trim_mean(…, 0.25) of the pooled 12.
        let tasks = [
            vec![0.9, 0.95, 0.99, 0.85],
            vec![0.1, 0.2, 0.3, 0.15],
            vec![0.5, 0.55, 0.45, 0.6],
        ];
        close(
            interquartile_mean(&tasks.concat()).unwrap(),
            0.541_666_666_7,
            1e-9,
        );
        let interval = interquartile_mean_interval(&tasks, RESAMPLES).unwrap();
        close(interval.low, 0.5, 1e-9);
        close(interval.high, 0.583_333_333, 1e-6);
        // Seeds that agree leave no doubt, however far the tasks lie apart.
        let certain = [vec![0.1, 0.1], vec![0.9, 0.9]];
        let interval = interquartile_mean_interval(&certain, 100).unwrap();
        assert_eq!((interval.low, interval.high), (0.5, 0.5));
        assert_eq!(
            interquartile_mean_interval(&[vec![0.1], vec![0.9]], 100),
            None
        );
        assert_eq!(interquartile_mean_interval(&[], 100), None);
    }

    #[test]
    fn fishers_maize() {
        // Fisher 1935, § 21: Darwin's 15 pairs of plants, in eighths of an inch. 863 of the 32,768
        // patterns of signs have a sum of at least the observed 314.
        let darwin = [
            49.0, -67.0, 8.0, 16.0, 6.0, 23.0, 28.0, 41.0, 14.0, 29.0, 56.0, 24.0, 75.0, 60.0,
            -48.0,
        ];
        assert_eq!(sign_flip(&darwin), Some(2.0 * 863.0 / 32_768.0));
    }

    #[test]
    fn the_sign_flip_test_is_that_of_scipy() {
        // scipy.stats.permutation_test((d,), mean, permutation_type='samples', n_resamples=inf).
        for (differences, expected) in [
            (&[0.1, 0.2, 0.3, 0.4, 0.5][..], 0.0625),
            (&[0.1, -0.2, 0.3, 0.4, 0.5, 0.25], 0.09375),
            (&[1.0, 1.0, -1.0, 2.0], 0.5),
            (&[0.0, 1.0, 1.0, 2.0], 0.25),
            (&[0.0, 0.0, 0.0], 1.0),
            // Hollander and Wolfe 1973, p. 29: depression before and after.
            (
                &[0.952, -0.147, 1.022, 0.43, 0.62, 0.59, 0.49, -0.08, 0.01],
                0.027_343_75,
            ),
        ] {
            assert_eq!(sign_flip(differences), Some(expected), "{differences:?}");
            let mirrored: Vec<f64> = differences.iter().map(|d| -d).collect();
            assert_eq!(sign_flip(&mirrored), Some(expected));
        }
        assert_eq!(sign_flip(&[]), None);
        assert_eq!(sign_flip(&[0.3]), Some(1.0));
    }

    #[test]
    fn beyond_twenty_pairs_patterns_are_drawn() {
        // Eight of 24 differences of 1 are negative. The sum of 24 signs is at least 8 in size
        // with probability 2 Σ_{k ≥ 16} C(24, k) / 2^24.
        let differences: Vec<f64> = (0..24).map(|i| if i < 8 { -1.0 } else { 1.0 }).collect();
        let mut binomial = 1.0;
        let mut tail = 0.0;
        for k in 0..=24u32 {
            if k >= 16 {
                tail += binomial;
            }
            binomial *= f64::from(24 - k) / f64::from(k + 1);
        }
        let expected = 2.0 * tail / 2f64.powi(24);
        close(sign_flip(&differences).unwrap(), expected, 0.005);
        assert_eq!(sign_flip(&[1.0; 30]), Some(smallest_p(30)));
    }

    #[test]
    fn five_seeds_never_reach_five_percent_and_six_do() {
        assert_eq!(smallest_p(5), 0.0625);
        assert_eq!(smallest_p(6), 0.03125);
        assert_eq!((smallest_p(1), smallest_p(0)), (1.0, 1.0));
        for n in 1..=10 {
            let all_agree: Vec<f64> = (1..=n).map(|d| d as f64).collect();
            assert_eq!(sign_flip(&all_agree), Some(smallest_p(n)));
        }
    }

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
                close(*value, *expected, 1e-12);
            }
        }
    }
}
