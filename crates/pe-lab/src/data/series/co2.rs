//! `co2`: a real series with a trend and a season.

use std::sync::{Arc, LazyLock};

use super::super::reading::Reading;
use super::{Form, Series};
use crate::task::{Task, embedded};

const FILE: &[u8] = include_bytes!("../../../data/co2.csv.gz");

static CO2: LazyLock<Arc<Series>> = LazyLock::new(|| {
    let text = embedded(FILE);
    let reading = Reading {
        target: Some("average".into()),
        time: Some("month".into()),
        ..Reading::default()
    };
    let read = super::read(&text, &reading, Form::Table(None), "co2.csv");
    let (series, _) = read.expect("the embedded series is a series");
    Arc::new(series.named(
        "co2",
        "real data: the next month's mean of carbon dioxide in the air",
        "NOAA Global Monitoring Laboratory and Scripps Institution of Oceanography, Mauna Loa, 1958 to 2026, \
         public domain",
    ))
});

/// The monthly means of carbon dioxide in the air at Mauna Loa in ppm, March 1958 to June 2026: 820 rows, one number
/// each, whose times are the months. It is the task that `--data co2.csv --target average --time month` makes.
///
/// Source: X. Lan, NOAA Global Monitoring Laboratory (gml.noaa.gov/ccgg/trends), and R. Keeling, Scripps Institution
/// of Oceanography; a work of the U.S. government, in the public domain. `data/README.md` has the copy.
///
/// The first 656 months are trained on, in windows of 16 to 32; of the last 164 the last 100 are predicted, each from
/// the 16, 32, 48 and 64 months before it. How a window is read is told at `Series`. The score is the mean absolute
/// error in ppm, and the floor that of the naive forecast, the last month again: 1.16 ppm.
///
/// What is known: the series is a season on a trend. Adding to the last month the change between the same two months a
/// year before has an error of 0.38 ppm, a skill of 0.67; with the mean of that change over the two years before, 0.33
/// ppm and 0.71. Both look back by a fixed distance, so they need positions. Repeating the month of a year before, 2.55
/// ppm, is worse than the floor, because of the trend. In a pilot (seed 101, 1,000 steps for sinusoidal positions and
/// 2,000 for the others, after which the loss no longer fell) the skill at 16, 32, 48 and 64 months was 0.33, −0.08,
/// −0.90 and −1.50 without positions, 0.68, 0.65, 0.12 and −0.49 with a learned table, 0.65, 0.60, −0.13 and −0.09 with
/// sinusoidal, 0.67, 0.65, 0.57 and 0.05 with rotary, and 0.65, 0.68, 0.67 and 0.64 with ALiBi.
pub fn co2() -> Arc<dyn Task> {
    CO2.clone()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::task::{Measure, TestRows};

    const CSV: &str = include_str!("../../../data/co2.csv");

    fn numbers() -> Vec<f64> {
        let rows = CSV.lines().skip(1);
        rows.map(|row| row.split_once(',').unwrap().1.parse().unwrap())
            .collect()
    }

    #[test]
    fn it_is_the_file_beside_it_with_its_months_as_times() {
        let text = embedded(FILE);
        assert!(text == CSV, "co2.csv.gz holds co2.csv");
        let task = co2();
        assert_eq!((task.name(), task.vector_width()), ("co2", Some(1)));
        assert_eq!(task.test_lengths(), [16, 32, 48, 64]);
        assert_eq!(task.train_lengths(), 16..=32);
        assert_eq!(
            task.measure(),
            Measure::Error {
                unit: "average".into()
            }
        );
        assert!(task.has_times() && task.test_rows() == TestRows::Neighbours);
        assert_ne!(task.train_batch(1, 5, 8), task.train_batch(2, 5, 8));
        let first = &task.test_set(16)[0];
        // Steps are months of 28 to 31 days, of which the middle one has 31.
        let times = first.times.as_ref().unwrap();
        assert_eq!((times.len(), times[0]), (16, 0.0));
        let steps = times.windows(2).map(|pair| (pair[1] - pair[0]) * 31.0);
        for step in steps {
            assert!(
                [28.0, 29.0, 30.0, 31.0]
                    .iter()
                    .any(|days: &f64| (days - step).abs() < 1e-9)
            );
        }
    }

    /// The figures of [`co2`], from the file itself.
    #[test]
    fn the_floor_is_the_naive_forecast_and_the_season_beats_it() {
        let task = co2();
        let x = numbers();
        assert_eq!(x.len(), 820);
        let rows = 720..820;
        let error = |forecast: &dyn Fn(usize) -> f64| {
            let errors = rows.clone().map(|row| (forecast(row) - x[row]).abs());
            errors.sum::<f64>() / rows.len() as f64
        };
        let naive = error(&|row| x[row - 1]);
        for length in task.test_lengths() {
            assert!((task.floor(length) - naive).abs() < 1e-9, "{length}");
            assert_eq!(task.test_set(length).len(), 100);
        }
        let change = |row: usize, years: usize| x[row - 12 * years] - x[row - 12 * years - 1];
        let year = error(&|row| x[row - 1] + change(row, 1));
        let years = error(&|row| x[row - 1] + (change(row, 1) + change(row, 2)) / 2.0);
        let before = error(&|row| x[row - 12]);
        for (value, told) in [(naive, 1.16), (year, 0.38), (years, 0.33), (before, 2.55)] {
            assert!((value - told).abs() < 0.005, "{value} {told}");
        }
        assert!((1.0 - year / naive - 0.67).abs() < 0.005);
        assert!((1.0 - years / naive - 0.71).abs() < 0.005);
    }
}
