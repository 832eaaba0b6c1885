//! Confidence intervals that stay within the possible scores: for the mean of one scheme, and for the difference of two.
//!
//! How much runs can vary depends on their mean: not at all where every answer is right, most of all in the middle. The
//! interval holds every true mean μ that the mean x̄ of n runs is compatible with:
//!
//! ```text
//! (x̄ − μ)² ≤ t² · φ · V(μ) / n
//! ```
//!
//! V is the largest variance that runs with the mean μ can have: (μ − low)(high − μ) between two bounds. φ, the
//! dispersion, is the variance of the runs divided by V. This is Wilson's interval (1927) for a share, with the
//! dispersion of Wedderburn's quasi-likelihood (1974) and Student's t. Where there is one bound only, as for a loss, V is
//! the square of the distance from it, and the interval is computed on the logarithm of that distance.
//!
//! The interval of a difference d inverts its test: it holds 0 exactly where the test, which has one variance S² for
//! every difference, does not tell the two apart at 5 %. An end between 0 and d is that of Student's interval. Beyond 0
//! and beyond d the variance falls to 0 at ±w, the width between the bounds, which no difference can exceed:
//!
//! ```text
//! (d − δ)² ≤ t² · S² · (w² − δ²) / (w² − e²),   e = d beyond d, and e = 0 beyond 0
//! ```

use super::Interval;
use super::describe::{mean, seed_means, variance};
use super::student::quantile;

/// A variance below this share of the largest possible one is a rounding error.
const ROUNDING: f64 = 1e-15;

/// The scores that are possible.
#[derive(Clone, Copy, Debug, PartialEq)]
pub enum Bounds {
    /// From the first to the second, such as a share of right answers.
    Between(f64, f64),
    /// From this one on, such as a loss.
    From(f64),
    /// Up to this one, such as 1 minus a loss.
    UpTo(f64),
}

impl Bounds {
    /// A share of right answers.
    pub const SHARE: Self = Self::Between(0.0, 1.0);
    /// A loss, which has no bound above.
    pub const LOSS: Self = Self::From(0.0);

    /// The largest difference of two scores, if there is one.
    fn width(self) -> Option<f64> {
        match self {
            Self::Between(low, high) => Some(high - low),
            Self::From(_) | Self::UpTo(_) => None,
        }
    }

    /// The interval of a difference. `half` is half the width of Student's interval: t standard errors.
    pub(super) fn of_difference(self, difference: f64, half: f64) -> Interval {
        if difference < 0.0 {
            let mirrored = self.of_difference(-difference, half);
            return Interval {
                low: -mirrored.high,
                high: -mirrored.low,
            };
        }
        let (low, high) = (difference - half, difference + half);
        let Some(width) = self.width() else {
            return Interval { low, high };
        };
        // The two solutions of (d − δ)² = share · (w² − δ²).
        let ends = |share: f64| {
            let root = (share * (width.powi(2) * (1.0 + share) - difference.powi(2)))
                .max(0.0)
                .sqrt();
            [difference - root, difference + root].map(|end| end / (1.0 + share))
        };
        let room = width.powi(2) - difference.powi(2);
        Interval {
            low: match low < 0.0 {
                true => ends((half / width).powi(2))[0].max(-width),
                false => low,
            },
            // A difference at its bound, or beyond it by rounding, has no room above it.
            high: match room > 0.0 {
                true => ends(half.powi(2) / room)[1].min(width),
                false => width,
            },
        }
    }

    /// V of the formula above, at this mean.
    fn most(self, mean: f64) -> f64 {
        match self {
            Self::Between(low, high) => ((mean - low) * (high - mean)).max(0.0),
            Self::From(bound) | Self::UpTo(bound) => (mean - bound).powi(2),
        }
    }

    /// The true means μ that `mean` is compatible with: (mean − μ)² is at most `spread` times [`most`](Self::most) of μ;
    /// where there is one bound, this is said of logarithms of the distances from it.
    fn interval(self, mean: f64, spread: f64) -> Interval {
        match self {
            Self::Between(low, high) => {
                let width = high - low;
                let x = ((mean - low) / width).clamp(0.0, 1.0);
                let center = (x + spread / 2.0) / (1.0 + spread);
                let half = (spread * x * (1.0 - x) + spread * spread / 4.0).sqrt() / (1.0 + spread);
                // Rounding alone would take an end beyond a bound.
                Interval {
                    low: low + width * (center - half).max(0.0),
                    high: low + width * (center + half).min(1.0),
                }
            }
            Self::From(bound) => Interval {
                low: bound + (mean - bound) * (-spread.sqrt()).exp(),
                high: bound + (mean - bound) * spread.sqrt().exp(),
            },
            Self::UpTo(bound) => Interval {
                low: bound - (bound - mean) * spread.sqrt().exp(),
                high: bound - (bound - mean) * (-spread.sqrt()).exp(),
            },
        }
    }
}

/// The mean of the runs of one scheme, and two estimates of its variance.
struct Runs {
    mean: f64,
    count: usize,
    /// The variance of `mean` with its degrees of freedom, twice: from the mean over tasks at each seed, and from the
    /// variances of the tasks.
    own: [(f64, f64); 2],
}

impl Runs {
    /// The runs of one scheme, from `scores[task][seed]`. `None` for fewer than two seeds.
    fn of(scores: &[Vec<f64>]) -> Option<Self> {
        let means = seed_means(scores);
        let (n, tasks) = (means.len() as f64, scores.len() as f64);
        let of_tasks: Option<Vec<f64>> = scores.iter().map(|runs| variance(runs)).collect();
        let of_tasks: Vec<f64> = of_tasks?.iter().map(|of| of / n / tasks.powi(2)).collect();
        let sum: f64 = of_tasks.iter().sum();
        let squares: f64 = of_tasks.iter().map(|of| of * of).sum();
        // Satterthwaite's degrees of freedom, as for a difference.
        let df = if sum > 0.0 {
            (n - 1.0) * sum * sum / squares
        } else {
            n - 1.0
        };
        Some(Self {
            mean: mean(means.iter().copied())?,
            count: means.len(),
            own: [(variance(&means)? / n, n - 1.0), (sum, df)],
        })
    }
}

/// The 95 % interval of the mean over tasks of every scheme, from `scores[task][seed]` of each: the widest of three. Two are of
/// the scheme's own runs, by seed and by task, as for a [`Difference`](super::Difference). The third has the dispersion that all schemes
/// share: a few runs may be alike by chance where those of other schemes are not.
///
/// `None` for a scheme with fewer than two seeds, if no run of any scheme varies, and for a mean that is at a bound where the range
/// has only one.
pub fn intervals<S: AsRef<[Vec<f64>]>>(schemes: &[S], bounds: Bounds) -> Vec<Option<Interval>> {
    let runs = schemes.iter().map(|scores| Runs::of(scores.as_ref()));
    let runs: Vec<Option<Runs>> = runs.collect();
    // A ratio of sums: a scheme whose runs are all at a bound says nothing of the dispersion, and does not change it.
    let (mut varied, mut most, mut df) = (0.0, 0.0, 0.0);
    for runs in runs.iter().flatten() {
        let (variance, own) = runs.own[0];
        varied += own * variance * runs.count as f64;
        most += own * bounds.most(runs.mean);
        df += own;
    }
    let shared = if most > 0.0 { varied / most } else { 0.0 };
    let widest = |runs: &Runs| {
        let most = bounds.most(runs.mean);
        let own = runs.own.iter().filter(|_| most > 0.0);
        let own = own.map(|(variance, df)| (variance / most, *df));
        let all = own.chain([(shared / runs.count as f64, df)]);
        let varying = all.filter(|(spread, _)| *spread > ROUNDING);
        let each = varying
            .map(|(spread, df)| bounds.interval(runs.mean, quantile(0.05, df).powi(2) * spread));
        // At its bound a mean has no spread, and an interval without width would claim that it is exact.
        each.max_by(|a, b| (a.high - a.low).total_cmp(&(b.high - b.low)))
            .filter(|of| of.low < of.high)
    };
    runs.iter()
        .map(|runs| runs.as_ref().and_then(widest))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn one(runs: &[f64], bounds: Bounds) -> Option<Interval> {
        intervals(&[[runs.to_vec()]], bounds).remove(0)
    }

    #[test]
    fn no_interval_leaves_what_is_possible() {
        for runs in [
            vec![1.0, 0.6],
            vec![1.0, 1.0, 0.1],
            vec![0.0, 0.0, 1.0],
            vec![0.999, 1.0, 1.0, 0.5, 0.2],
        ] {
            let of = one(&runs, Bounds::SHARE).unwrap();
            let is_share = of.low >= 0.0 && of.high <= 1.0;
            assert!(is_share && of.low < of.high, "{of:?}");
            let losses: Vec<f64> = runs.iter().map(|run| 0.1 + 3.0 * run).collect();
            let of = one(&losses, Bounds::LOSS).unwrap();
            assert!(of.low > 0.0 && of.high.is_finite(), "{of:?}");
            let skill: Vec<f64> = losses.iter().map(|loss| 1.0 - loss).collect();
            let of = one(&skill, Bounds::UpTo(1.0)).unwrap();
            assert!(of.high < 1.0 && of.low.is_finite(), "{of:?}");
        }
    }

    #[test]
    fn a_mean_at_a_bound_has_an_interval_where_there_is_another_bound() {
        let runs = [[vec![1.0; 3]], [vec![0.9, 0.95, 0.97]]];
        assert_eq!(intervals(&runs, Bounds::UpTo(1.0))[0], None);
        let of = intervals(&runs, Bounds::SHARE)[0].unwrap();
        assert!(of.low < of.high && of.high == 1.0, "{of:?}");
    }

    #[test]
    fn no_interval_of_a_difference_leaves_what_is_possible_and_it_holds_0_where_the_test_does() {
        let bounds = Bounds::Between(-0.25, 1.0);
        for difference in [0.0, 1e-9, 0.02, 0.3, 0.93, 1.2, 1.25] {
            for half in [1e-6, 0.01, 0.1, 0.299, 0.301, 0.94, 3.0, 1e6] {
                let of = bounds.of_difference(difference, half);
                let is_possible = of.low >= -1.25 && of.high <= 1.25;
                assert!(
                    is_possible && of.low <= difference && difference <= of.high,
                    "{of:?}"
                );
                assert_eq!(
                    of.low < 0.0,
                    half > difference,
                    "{difference} {half} {of:?}"
                );
                let mirrored = bounds.of_difference(-difference, half);
                let apart = (mirrored.low + of.high).abs() + (mirrored.high + of.low).abs();
                assert!(apart < 1e-12, "{of:?} {mirrored:?}");
                // A loss has no bound on one side, so neither has a difference.
                let of = Bounds::UpTo(1.0).of_difference(difference, half);
                assert_eq!((of.low, of.high), (difference - half, difference + half));
            }
        }
        // Far from the bounds it equals Student's interval, up to terms of higher order.
        let of = bounds.of_difference(0.05, 0.02);
        assert!(
            (of.low - 0.03).abs() < 1e-12 && (of.high - 0.07).abs() < 1e-4,
            "{of:?}"
        );
        // The ends solve the equation above.
        let of = bounds.of_difference(0.3, 0.5);
        let share = |end: f64, e: f64| 0.25 * (1.5625 - end * end) / (1.5625 - e * e);
        let is_end = |end: f64, e: f64| ((0.3 - end).powi(2) - share(end, e)).abs() < 1e-12;
        assert!(is_end(of.low, 0.0) && is_end(of.high, 0.3), "{of:?}");
    }

    #[test]
    fn runs_that_are_alike_have_the_dispersion_of_the_others() {
        let solved = vec![vec![0.98, 0.97, 0.99]];
        let mixed = vec![vec![0.98, 0.05, 0.97]];
        let alone = one(&solved[0], Bounds::SHARE).unwrap();
        assert!(alone.low > 0.9);
        let all = intervals(&[&solved, &mixed, &mixed, &mixed], Bounds::SHARE);
        let of = all[0].unwrap();
        assert!(of.low < 0.6 && of.high < 1.0, "{of:?}");
        // Runs that are all at the bound have an interval too, if the runs of other schemes vary; alone they have none.
        let right = vec![vec![1.0; 3]];
        assert_eq!(one(&right[0], Bounds::SHARE), None);
        let of = intervals(&[&right, &mixed, &mixed], Bounds::SHARE)[0].unwrap();
        assert!(of.low < 0.7 && of.high == 1.0, "{of:?}");
    }

    #[test]
    fn one_seed_has_no_interval() {
        assert_eq!(one(&[0.4], Bounds::SHARE), None);
        assert_eq!(one(&[], Bounds::SHARE), None);
        assert!(intervals::<[Vec<f64>; 1]>(&[], Bounds::SHARE).is_empty());
    }

    #[test]
    fn steady_seeds_of_tasks_that_vary_have_the_spread_of_the_tasks() {
        // The mean over both tasks is 0.5 at every seed.
        let tasks = [vec![0.2, 0.5, 0.8], vec![0.8, 0.5, 0.2]];
        let of = intervals(&[&tasks], Bounds::SHARE)[0].unwrap();
        assert!(of.low < 0.35 && of.high > 0.65, "{of:?}");
    }
}
