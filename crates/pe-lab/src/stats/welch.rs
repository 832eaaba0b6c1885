//! Two schemes compared.

use serde::Serialize;

use super::Interval;
use super::bounded::Bounds;
use super::describe::{mean, seed_means, variance};
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

    /// Half of the 95 % interval of Student's t.
    fn half(&self) -> f64 {
        quantile(0.05, self.df) * self.error
    }
}

/// Fewer seeds than this prove nothing. Where a run either solves its task or fails, the two runs of a scheme may agree
/// by chance: in at least one comparison of four those of both schemes do, whatever the truth is.
pub const FEWEST_SEEDS: usize = 3;

/// What the runs of two schemes say about the difference of their means over tasks.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct Difference {
    /// The mean over tasks and seeds of the first scheme minus that of the second.
    pub value: f64,
    /// The number of seeds of each.
    pub seeds: [usize; 2],
    /// Welch's estimate from the means over tasks at each seed; the stratified one over task × seed; and both again
    /// with the variances that all schemes share. `None` with fewer than [`FEWEST_SEEDS`] of either.
    pub estimates: Option<[Estimate; 4]>,
}

/// Variances over seeds that are pooled over schemes, each with its degrees of freedom. The variance is `None`
/// where no scheme has two seeds.
#[derive(Clone, Debug, PartialEq)]
pub struct Pooled {
    /// The variance of the mean over tasks of each seed.
    by_seed: Option<(f64, f64)>,
    /// The variance on every task.
    by_task: Option<Vec<(f64, f64)>>,
}

impl Pooled {
    /// The pooled variances of all schemes of a question, from `scores[task][seed]` of each.
    pub fn of(schemes: &[Vec<Vec<f64>>]) -> Self {
        let means: Vec<Vec<f64>> = schemes.iter().map(|scores| seed_means(scores)).collect();
        let tasks = schemes.first().map_or(0, Vec::len);
        let task = |task: usize| pool(schemes.iter().map(|scores| &scores[task][..]));
        Self {
            by_seed: pool(means.iter().map(|means| &means[..])),
            by_task: (0..tasks).map(task).collect(),
        }
    }
}

/// The variance that several samples share, `Σ (n − 1) S² / Σ (n − 1)`, and its degrees of freedom.
fn pool<'a>(samples: impl Iterator<Item = &'a [f64]>) -> Option<(f64, f64)> {
    let parts = samples.filter_map(|runs| Some((variance(runs)?, runs.len() as f64 - 1.0)));
    let (squares, df) = parts.fold((0.0, 0.0), |sum, (variance, df)| {
        (sum.0 + df * variance, sum.1 + df)
    });
    (df > 0.0).then(|| (squares / df, df))
}

/// Compares two schemes. `a` and `b` hold the scores of every task, one per seed: `a[task][seed]`. They have the same
/// tasks, and every task of a scheme has the same seeds. `pooled` has the variances of all schemes of the question.
///
/// With `s` the mean over tasks at a seed, the first estimate is Welch's (1947) on `s`. The second adds the
/// variances of every task, `V = Σ_t (S²_ta / n_a + S²_tb / n_b) / T²`. The first is right if tasks depend
/// on each other at a seed; the second has more degrees of freedom. Two more take each variance from all schemes:
/// a few runs of two schemes may be alike by chance where those of the others are not. All have Satterthwaite's
/// degrees of freedom.
///
/// # Panics
///
/// When the two, or the schemes of `pooled`, do not have the same number of tasks.
pub fn compare(a: &[Vec<f64>], b: &[Vec<f64>], pooled: &Pooled) -> Difference {
    let tasks = pooled.by_task.as_ref().map_or(a.len(), Vec::len);
    assert!(
        a.len() == b.len() && a.len() == tasks,
        "the schemes are compared on the same tasks"
    );
    let (of_a, of_b) = (seed_means(a), seed_means(b));
    let value =
        mean(of_a.iter().copied()).unwrap_or(0.0) - mean(of_b.iter().copied()).unwrap_or(0.0);
    let seeds = [of_a.len(), of_b.len()];
    let estimate = |parts: Vec<(f64, f64)>| Estimate::new(value, parts.into_iter());
    let shared = |of: &(f64, f64), tasks: usize| {
        let runs: f64 = seeds.iter().map(|n| 1.0 / *n as f64).sum();
        (of.0 * runs / (tasks * tasks) as f64, of.1)
    };
    let estimates = || {
        let by_seed: Option<_> = [&of_a, &of_b].iter().map(|s| part(s, 1)).collect();
        let by_task: Option<_> = a.iter().chain(b).map(|runs| part(runs, tasks)).collect();
        let of_all = pooled.by_task.as_ref()?.iter();
        Some([
            estimate(by_seed?),
            estimate(by_task?),
            estimate(vec![shared(pooled.by_seed.as_ref()?, 1)]),
            estimate(of_all.map(|of| shared(of, tasks)).collect()),
        ])
    };
    let enough = seeds.iter().all(|n| *n >= FEWEST_SEEDS);
    Difference {
        value,
        seeds,
        estimates: enough.then(estimates).flatten(),
    }
}

/// The variance of the mean of some runs, as a part of the mean over `tasks`, and its degrees of freedom.
fn part(runs: &[f64], tasks: usize) -> Option<(f64, f64)> {
    let n = runs.len() as f64;
    Some((variance(runs)? / n / (tasks * tasks) as f64, n - 1.0))
}

/// The degrees of freedom of Welch's test on two samples. `None` if one has fewer than two values, or if neither
/// varies.
pub(super) fn welch_df(a: &[f64], b: &[f64]) -> Option<f64> {
    let parts = [part(a, 1)?, part(b, 1)?];
    let estimate = Estimate::new(0.0, parts.into_iter());
    estimate.varies().then_some(estimate.df)
}

impl Difference {
    /// The two-sided p of "the schemes are equally good": the largest of the four tests' p.
    ///
    /// If no run varies between seeds, there is no variance to compare the difference with. Then p is that of a
    /// permutation test, `2 / C(n_a + n_b, n_a)`: if the schemes were equally good, every division of the runs among them
    /// would be equally likely, and two of these divisions are as extreme as the observed one. Equal means have p = 1.
    /// `None` with fewer than [`FEWEST_SEEDS`].
    pub fn p(&self) -> Option<f64> {
        let of_each = self.estimates?.map(|estimate| self.p_of(&estimate));
        Some(of_each.into_iter().fold(0.0, f64::max))
    }

    fn p_of(&self, estimate: &Estimate) -> f64 {
        match (estimate.varies(), self.value.abs() > ROUNDING) {
            (true, _) => estimate.p(),
            (false, true) => self.smallest_p(),
            (false, false) => 1.0,
        }
    }

    /// The larger p of the two tests that take the runs of these two schemes alone.
    pub(super) fn own_p(&self) -> Option<f64> {
        let own = self.estimates?.into_iter().take(2);
        Some(own.map(|of| self.p_of(&of)).fold(0.0, f64::max))
    }

    /// The same of "the schemes differ by `margin` or more". `None` if one of the two tests sees no run vary.
    pub(super) fn own_p_level(&self, margin: f64) -> Option<f64> {
        let own = &self.estimates.as_ref()?[..2];
        let p = own.iter().map(|of| of.p_level(margin)).fold(0.0, f64::max);
        own.iter().all(Estimate::varies).then_some(p)
    }

    /// `2 / C(n_a + n_b, n_a)`.
    fn smallest_p(&self) -> f64 {
        let [a, b] = self.seeds;
        let ways: f64 = (1..=a).map(|i| (b + i) as f64 / i as f64).product();
        (2.0 / ways).min(1.0)
    }

    /// The p of "the schemes differ by `margin` or more": the largest of the four tests'. Below α the two are level.
    /// `None` with fewer than [`FEWEST_SEEDS`], and if one of the tests sees no run vary: then nothing is known about how
    /// far other runs would lie from these.
    pub fn p_level(&self, margin: f64) -> Option<f64> {
        let estimates = self.estimates?;
        let varies = estimates.iter().all(Estimate::varies);
        let p = estimates.iter().map(|estimate| estimate.p_level(margin));
        varies.then(|| p.fold(0.0, f64::max))
    }

    /// The 95 % interval of the difference of scores between these bounds: the widest of the four tests'. `None` with fewer than
    /// [`FEWEST_SEEDS`], and if one of the tests sees no run vary.
    pub fn interval(&self, bounds: Bounds) -> Option<Interval> {
        let estimates = self.estimates?;
        let varies = estimates.iter().all(Estimate::varies);
        let halves = estimates.iter().map(Estimate::half);
        let widest = halves.max_by(f64::total_cmp).filter(|_| varies)?;
        Some(bounds.of_difference(self.value, widest))
    }

    /// Whether a run of one of the two varies between seeds.
    pub(super) fn own_varies(&self) -> bool {
        let own = |estimates: [Estimate; 4]| estimates[..2].iter().any(Estimate::varies);
        self.estimates.is_some_and(own)
    }

    /// The other scheme minus this one.
    pub fn reversed(self) -> Self {
        let reversed = |estimate: Estimate| Estimate {
            value: -estimate.value,
            ..estimate
        };
        Self {
            value: -self.value,
            seeds: [self.seeds[1], self.seeds[0]],
            estimates: self.estimates.map(|all| all.map(reversed)),
        }
    }
}
