//! Two schemes compared, and the interval of one.

use serde::Serialize;

use super::Interval;
use super::describe::{mean, variance};
use super::student::{quantile, two_sided};

/// A standard error below this is rounding: no run varies. Scores lie between about −1 and 1.
const ROUNDING: f64 = 1e-9;

/// An estimate with its standard error and its degrees of freedom.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Estimate {
    /// The estimate.
    pub value: f64,
    /// Its standard error.
    pub error: f64,
    /// The degrees of freedom of the error (Satterthwaite 1946).
    pub df: f64,
}

impl Estimate {
    /// A sum of independent parts, each with its variance and the degrees of freedom of that:
    /// `df = V² / Σ vᵢ² / dfᵢ` for `V = Σ vᵢ`.
    fn new(value: f64, parts: impl Iterator<Item = (f64, f64)> + Clone) -> Self {
        let variance: f64 = parts.clone().map(|part| part.0).sum();
        let squares: f64 = parts.map(|(variance, df)| variance * variance / df).sum();
        Self {
            value,
            error: variance.sqrt(),
            df: variance * variance / squares,
        }
    }

    fn varies(&self) -> bool {
        self.error > ROUNDING
    }

    /// The two-sided p of "it is zero".
    fn p(&self) -> f64 {
        two_sided(self.value / self.error, self.df)
    }

    /// The p of "it is at least `margin` away from zero": the larger p of two one-sided tests (Schuirmann
    /// 1987).
    fn p_level(&self, margin: f64) -> f64 {
        let t = (margin - self.value.abs()) / self.error;
        let tail = two_sided(t, self.df) / 2.0;
        if t > 0.0 { tail } else { 1.0 - tail }
    }

    fn interval(&self) -> Interval {
        let half = quantile(0.05, self.df) * self.error;
        Interval {
            low: self.value - half,
            high: self.value + half,
        }
    }
}

/// What the runs of two schemes say about the difference of their means over tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The mean over tasks and seeds of the one minus that of the other.
    pub value: f64,
    /// The number of seeds of each.
    pub seeds: [usize; 2],
    /// Welch's estimate from the means over tasks at each seed. `None` with fewer than two seeds.
    pub by_seed: Option<Estimate>,
    /// The stratified estimate over task × seed. `None` with fewer than two seeds.
    pub by_task: Option<Estimate>,
}

/// Compares two schemes. `a` and `b` hold the scores of every task, one per seed: `a[task][seed]`. They have
/// the same tasks, and every task of a scheme has the same seeds.
///
/// With `s` the mean over tasks at a seed, the first estimate is Welch's (1947) on `s`. The second adds the
/// variances of every task, `V = Σ_t (S²_ta / n_a + S²_tb / n_b) / T²`. The first is right if tasks depend
/// on each other at a seed; the second has more degrees of freedom. Both have Satterthwaite's.
///
/// # Panics
///
/// When the two do not have the same number of tasks.
pub fn compare(a: &[Vec<f64>], b: &[Vec<f64>]) -> Difference {
    assert_eq!(
        a.len(),
        b.len(),
        "the schemes are compared on the same tasks"
    );
    let (of_a, of_b) = (seed_means(a), seed_means(b));
    let value =
        mean(of_a.iter().copied()).unwrap_or(0.0) - mean(of_b.iter().copied()).unwrap_or(0.0);
    let seeds = [of_a.len(), of_b.len()];
    let estimate =
        |parts: Option<Vec<(f64, f64)>>| parts.map(|parts| Estimate::new(value, parts.into_iter()));
    let by_seed = [&of_a, &of_b].iter().map(|s| part(s, 1)).collect();
    let by_task = a.iter().chain(b).map(|runs| part(runs, a.len())).collect();
    Difference {
        value,
        seeds,
        by_seed: estimate(by_seed),
        by_task: estimate(by_task),
    }
}

/// The variance of the mean of some runs, as a part of the mean over `tasks`, and its degrees of freedom.
fn part(runs: &[f64], tasks: usize) -> Option<(f64, f64)> {
    let n = runs.len() as f64;
    Some((variance(runs)? / n / (tasks * tasks) as f64, n - 1.0))
}

/// The mean over tasks at each seed.
fn seed_means(scores: &[Vec<f64>]) -> Vec<f64> {
    let seeds = scores.iter().map(Vec::len).min().unwrap_or(0);
    let at = |seed: usize| mean(scores.iter().map(|task| task[seed]));
    (0..seeds).filter_map(at).collect()
}

impl Difference {
    fn estimates(&self) -> Option<[Estimate; 2]> {
        Some([self.by_seed?, self.by_task?])
    }

    /// The two-sided p of "the schemes are equally good": the larger of the two tests' p.
    ///
    /// If no run varies between seeds, there is no variance to compare the difference with. Then p is that
    /// of a permutation test, `2 / C(n_a + n_b, n_a)`: if the schemes were equally good, every division of
    /// the runs among them would be as likely, and two of them are as extreme as this one. Equal means have
    /// p = 1. `None` with fewer than two seeds.
    pub fn p(&self) -> Option<f64> {
        let estimates = self.estimates()?;
        let p = |estimate: &Estimate| match (estimate.varies(), self.value.abs() > ROUNDING) {
            (true, _) => estimate.p(),
            (false, true) => self.smallest_p(),
            (false, false) => 1.0,
        };
        Some(estimates.iter().map(p).fold(0.0, f64::max))
    }

    /// `2 / C(n_a + n_b, n_a)`.
    fn smallest_p(&self) -> f64 {
        let [a, b] = self.seeds;
        let ways: f64 = (1..=a).map(|i| (b + i) as f64 / i as f64).product();
        (2.0 / ways).min(1.0)
    }

    /// The p of "the schemes differ by `margin` or more": the larger of the two tests'. Below α the two are
    /// level. `None` with fewer than two seeds, and if no run varies: then nothing is known about how far
    /// other runs would lie from these.
    pub fn p_level(&self, margin: f64) -> Option<f64> {
        let estimates = self.estimates()?;
        let varies = estimates.iter().all(Estimate::varies);
        let p = estimates.iter().map(|estimate| estimate.p_level(margin));
        varies.then(|| p.fold(0.0, f64::max))
    }

    /// The 95 % interval of the difference: the wider of the two tests'. `None` with fewer than two seeds,
    /// and if no run varies.
    pub fn interval(&self) -> Option<Interval> {
        wider(&self.estimates()?)
    }

    /// Whether no run varies between seeds and the means are equal.
    pub fn is_same(&self) -> bool {
        let still = |estimates: [Estimate; 2]| !estimates.iter().any(Estimate::varies);
        self.value.abs() <= ROUNDING && self.estimates().is_some_and(still)
    }

    /// The degrees of freedom of the test with the larger p. `None` as for [`interval`](Self::interval).
    pub fn df(&self) -> Option<f64> {
        let estimates = self.estimates()?;
        let varying = estimates.iter().filter(|estimate| estimate.varies());
        varying
            .max_by(|a, b| a.p().total_cmp(&b.p()))
            .map(|of| of.df)
    }

    /// The other scheme minus this one.
    pub fn reversed(self) -> Self {
        let reversed = |estimate: Option<Estimate>| {
            estimate.map(|estimate| Estimate {
                value: -estimate.value,
                ..estimate
            })
        };
        Self {
            value: -self.value,
            seeds: [self.seeds[1], self.seeds[0]],
            by_seed: reversed(self.by_seed),
            by_task: reversed(self.by_task),
        }
    }
}

/// The wider interval of those that vary.
fn wider(estimates: &[Estimate]) -> Option<Interval> {
    let varying = estimates.iter().filter(|estimate| estimate.varies());
    let intervals = varying.map(Estimate::interval);
    intervals.max_by(|a, b| (a.high - a.low).total_cmp(&(b.high - b.low)))
}

/// Student's 95 % interval of the mean of `values`, one per seed: `x̄ ± t(n − 1) · S / √n`.
///
/// `None` for fewer than two values. Values that do not vary have an interval without width.
pub fn mean_interval(values: &[f64]) -> Option<Interval> {
    let (value, part) = (mean(values.iter().copied())?, part(values, 1)?);
    let estimate = Estimate::new(value, std::iter::once(part));
    Some(match estimate.varies() {
        true => estimate.interval(),
        false => Interval {
            low: value,
            high: value,
        },
    })
}

/// The 95 % interval of a scheme's mean over tasks, from `scores[task][seed]`: the wider of Student's on the
/// means of seeds and of the stratified one, as for a [`Difference`].
///
/// `None` for fewer than two seeds. Scores that do not vary have an interval without width.
pub fn overall_interval(scores: &[Vec<f64>]) -> Option<Interval> {
    let means = seed_means(scores);
    let value = mean(means.iter().copied())?;
    let by_task: Option<Vec<_>> = scores.iter().map(|runs| part(runs, scores.len())).collect();
    let by_task = Estimate::new(value, by_task?.into_iter());
    let by_seed = Estimate::new(value, std::iter::once(part(&means, 1)?));
    let still = Interval {
        low: value,
        high: value,
    };
    Some(wider(&[by_seed, by_task]).unwrap_or(still))
}
