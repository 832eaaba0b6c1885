//! Whether other test rows would say the same.
//!
//! All seeds of a study are tested on the same held-out rows of a person's data. The spread over seeds says
//! what other seeds would change, and nothing about other rows.

use std::collections::HashMap;

use serde::Serialize;

use super::Interval;
use super::bounded::Bounds;
use super::describe::{mean, variance};
use super::judge::EQUAL;
use super::student::quantile;
use super::welch::{FEWEST_SEEDS, welch_df};
use crate::rng::{RngExt, generator};

/// Bootstrap resamples.
const RESAMPLES: usize = 2_000;

/// The score of every test row at every seed: `scores[seed][row]`.
pub type RowScores = Vec<Vec<f64>>;

/// What the rows say about the difference of two schemes.
#[derive(Clone, Copy, Debug, PartialEq, Serialize)]
pub struct OtherRows {
    /// The mean over rows and seeds of the first scheme minus that of the second.
    pub difference: f64,
    /// The share of such intervals that may miss the true difference.
    pub error: f64,
    /// Its interval over seeds and rows. `None` with fewer than [`FEWEST_SEEDS`] seeds, or two units of rows, and if it
    /// would have no width.
    pub interval: Option<Interval>,
    /// The number of units of rows on which the first scheme scores higher, and of those on which the second does.
    pub rows: [usize; 2],
    /// The number of units.
    pub units: usize,
}

impl OtherRows {
    /// Whether the whole interval over seeds and rows is above zero.
    pub fn established(&self) -> bool {
        self.interval.is_some_and(|interval| interval.low > 0.0)
    }
}

/// Compares two schemes on the same rows, whose scores lie between `bounds`. `units` has the number of each row's unit:
/// rows that are equal, or of one group, are not independent evidence, so they are drawn together.
///
/// The interval is `d ± t · S · √(n / (n − 1))`, and bounded as that of a [`Difference`](super::Difference). S is the
/// standard deviation of `d` over 2,000 resamples in which the units of rows, the seeds of `a` and the seeds of `b` are
/// drawn anew, each independently: the bootstrap of crossed factors of Owen (2007), which errs on the side of wide. t has the degrees of freedom of Welch's
/// test on the seeds, and `n / (n − 1)`, with the smaller number of seeds, makes up for resamples that vary
/// less than seeds do. `error` is the share of such intervals that may miss the truth.
///
/// Where all resamples have the same difference, as that of two schemes without an error, there is no interval.
///
/// `rows` counts the units on which the mean over seeds of one scheme is above that of the other. The counts are
/// described and not tested: the same few trained models decide all rows, so the rows are not independent.
pub fn other_rows(
    [a, b]: [&RowScores; 2],
    units: &[usize],
    error: f64,
    bounds: Bounds,
) -> OtherRows {
    let count = a.iter().chain(b).map(Vec::len).min().unwrap_or(0);
    let units = rows_of(&units[..count.min(units.len())]);
    let of_row =
        |runs: &RowScores, row: usize| mean(runs.iter().map(|run| run[row])).unwrap_or(0.0);
    let difference = |row: usize| of_row(a, row) - of_row(b, row);
    let of_units: Vec<f64> = (units.iter())
        .map(|rows| rows.iter().map(|row| difference(*row)).sum())
        .collect();
    let above = of_units.iter().filter(|d| **d > EQUAL).count();
    let below = of_units.iter().filter(|d| **d < -EQUAL).count();
    let difference = of_units.iter().sum::<f64>() / count.max(1) as f64;
    OtherRows {
        difference,
        error,
        interval: half_width(a, b, &units, error)
            .map(|half| bounds.of_difference(difference, half)),
        rows: [above, below],
        units: units.len(),
    }
}

/// The rows of every unit, in the order in which units first occur.
fn rows_of(units: &[usize]) -> Vec<Vec<usize>> {
    let mut places: HashMap<usize, usize> = HashMap::new();
    let mut rows: Vec<Vec<usize>> = Vec::new();
    for (row, unit) in units.iter().enumerate() {
        let place = *places.entry(*unit).or_insert(rows.len());
        if place == rows.len() {
            rows.push(Vec::new());
        }
        rows[place].push(row);
    }
    rows
}

fn half_width(a: &RowScores, b: &RowScores, units: &[Vec<usize>], error: f64) -> Option<f64> {
    let fewest = a.len().min(b.len());
    if fewest < FEWEST_SEEDS || units.len() < 2 {
        return None;
    }
    // The sum of every unit in every run.
    let sums = |runs: &RowScores| -> RowScores {
        let of_run = |run: &Vec<f64>| {
            let of_unit = |rows: &Vec<usize>| rows.iter().map(|row| run[*row]).sum();
            units.iter().map(of_unit).collect()
        };
        runs.iter().map(of_run).collect()
    };
    let (sums_of_a, sums_of_b) = (sums(a), sums(b));
    let stream = (a.len() * 1_000 + b.len()) as u64;
    let mut rng = generator("bootstrap", units.len() as u64, stream);
    let mut weights = vec![0.0; units.len()];
    let draws: Vec<f64> = (0..RESAMPLES)
        .map(|_| {
            weights.fill(0.0);
            let mut rows = 0;
            for _ in 0..units.len() {
                let unit = rng.random_range(0..units.len());
                weights[unit] += 1.0;
                rows += units[unit].len();
            }
            let mut of = |runs: &RowScores| {
                // Every unit counts as often as it was drawn.
                let total = |run: usize| -> f64 {
                    let units = runs[run].iter().zip(&weights);
                    units.map(|(score, weight)| score * weight).sum()
                };
                // About a third of the runs is not drawn in a resample, and is not summed.
                let mut totals = vec![None; runs.len()];
                let drawn = (0..runs.len()).map(|_| {
                    let run = rng.random_range(0..runs.len());
                    *totals[run].get_or_insert_with(|| total(run))
                });
                drawn.sum::<f64>() / (runs.len() * rows) as f64
            };
            let of_a = of(&sums_of_a);
            of_a - of(&sums_of_b)
        })
        .collect();
    let of_runs = |runs: &RowScores| -> Vec<f64> {
        let means = runs.iter().filter_map(|run| mean(run.iter().copied()));
        means.collect()
    };
    let df = welch_df(&of_runs(a), &of_runs(b)).unwrap_or((a.len() + b.len() - 2) as f64);
    let fewest = fewest as f64;
    let half = quantile(error, df) * (variance(&draws)? * fewest / (fewest - 1.0)).sqrt();
    Some(half).filter(|half| *half > EQUAL)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Rows that are all different.
    fn apart(a: &RowScores, b: &RowScores, error: f64) -> OtherRows {
        let rows: Vec<usize> = (0..a.first().map_or(0, Vec::len)).collect();
        other_rows([a, b], &rows, error, Bounds::UpTo(1.0))
    }

    #[test]
    fn seeds_that_disagree_widen_the_interval() {
        let rows = |level: usize| -> Vec<f64> {
            let right = |row: usize| f64::from(row % 10 < level);
            (0..200).map(right).collect()
        };
        let width = |a: &[usize]| {
            let a: RowScores = a.iter().map(|level| rows(*level)).collect();
            let interval = apart(&a, &vec![rows(5); 4], 0.05).interval.unwrap();
            interval.high - interval.low
        };
        assert!(width(&[6, 6, 7, 7]) < width(&[3, 5, 8, 10]) / 2.0);
    }

    #[test]
    fn other_rows_speak_for_the_first_alone_and_at_the_error_that_is_asked_for() {
        let runs = |level: usize| -> RowScores {
            let run = |seed: usize| (0..200).map(move |row| f64::from((row + seed) % 10 < level));
            (0..5).map(|seed| run(seed).collect()).collect()
        };
        let (high, low) = (runs(8), runs(2));
        assert!(apart(&high, &low, 0.05).established());
        assert!(!apart(&low, &high, 0.05).established());
        let width = |error| {
            let interval = apart(&high, &low, error).interval.unwrap();
            interval.high - interval.low
        };
        assert!(width(0.0125) > 1.1 * width(0.05));
    }

    #[test]
    fn rows_that_stand_together_are_one_row() {
        // Of 400 rows ten are different, with 40 copies each: the first scheme is better on three, the second on none.
        let copies = |row: usize| row / 40;
        let run = |level: usize| {
            let right = |row: usize| f64::from(copies(row) % 10 < level);
            (0..400).map(right).collect()
        };
        let (a, b): (RowScores, RowScores) = (vec![run(9); 5], vec![run(6); 5]);
        let units: Vec<usize> = (0..400).map(copies).collect();
        let together = other_rows([&a, &b], &units, 0.05, Bounds::SHARE);
        assert_eq!((together.rows, together.units), ([3, 0], 10));
        let apart = apart(&a, &b, 0.05);
        assert_eq!((apart.rows, apart.units), ([120, 0], 400));
        // As copies are no evidence, ten rows and their copies have the interval of ten rows.
        let ten = |level| (0..10).map(|row| f64::from(row < level)).collect();
        let units: Vec<usize> = (0..10).collect();
        let alone = other_rows(
            [&vec![ten(9); 5], &vec![ten(6); 5]],
            &units,
            0.05,
            Bounds::SHARE,
        );
        let width = |of: OtherRows| of.interval.map(|of| of.high - of.low).unwrap();
        assert!((width(together) - width(alone)).abs() < 1e-9);
        assert!(width(together) > 5.0 * width(apart));
        assert!(apart.established() && !together.established());
    }

    #[test]
    fn schemes_without_an_error_have_no_interval() {
        let right = vec![vec![1.0; 12]; 3];
        assert_eq!(apart(&right, &right, 0.05).interval, None);
    }

    #[test]
    fn fewer_than_three_seeds_have_no_interval() {
        let runs = |seeds: usize| -> RowScores {
            (0..seeds)
                .map(|seed| vec![1.0, 0.0, (seed % 2) as f64])
                .collect()
        };
        assert_eq!(apart(&runs(5), &runs(2), 0.05).interval, None);
        assert!(apart(&runs(3), &runs(3), 0.05).interval.is_some());
        let compared = apart(&vec![vec![1.0, 1.0]], &vec![vec![0.0, 1.0]], 0.05);
        assert_eq!((compared.interval, compared.rows), (None, [1, 0]));
        assert_eq!(apart(&Vec::new(), &Vec::new(), 0.05).rows, [0, 0]);
    }
}
