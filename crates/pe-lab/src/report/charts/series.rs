//! What a chart draws of one scheme, and the axis of its scores.

use std::collections::{BTreeMap, BTreeSet};

use crate::draw::{Axis, Chart, Key, Look, band, markers};
use crate::error::LabError;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::run::Measures;
use crate::stats::{Bounds, Interval, intervals, mean};
use crate::task::Measure;

/// With more schemes than this no bands are drawn behind lines: they would hide each other and the lines.
const MOST_BANDS: usize = 6;

pub struct Series {
    pub scheme: String,
    pub look: Look,
    /// The points of every seed.
    pub points: Vec<(f64, f64)>,
    /// The means over seeds.
    pub mean: Vec<(f64, f64)>,
    /// The intervals over seeds, if there are two seeds or more.
    pub band: Vec<(f64, Interval)>,
}

/// The series of every scheme that has results on a task. `curve` gives the points of one run, whose values lie within
/// `bounds`.
pub fn series(
    data: &Data<'_>,
    task: &TaskSummary,
    bounds: Bounds,
    curve: impl Fn(&Measures) -> Vec<(usize, f64)>,
) -> Vec<Series> {
    few_bands(rows(data, task, bounds, curve))
}

/// [`series`] for rows below each other, whose intervals do not hide each other.
pub fn rows(
    data: &Data<'_>,
    task: &TaskSummary,
    bounds: Bounds,
    curve: impl Fn(&Measures) -> Vec<(usize, f64)>,
) -> Vec<Series> {
    let schemes = data.origin.schemes().iter();
    let own: Vec<(String, String)> = schemes.map(|of| (of.clone(), of.clone())).collect();
    measured(data, task, bounds, &own, |_, _, measures| curve(measures))
}

/// Leaves out the bands of many schemes.
fn few_bands(mut all: Vec<Series>) -> Vec<Series> {
    if all.len() > MOST_BANDS {
        all.iter_mut().for_each(|series| series.band.clear());
    }
    all
}

/// [`series`] for lines that are not only the schemes: each line has a name of its own, and the scheme whose runs it
/// shows. `curve` gets both. A name that begins with that of its scheme, as `rotary + yarn`, is drawn as the rest,
/// `+ yarn`, which looks the same for every scheme.
pub fn lines(
    data: &Data<'_>,
    task: &TaskSummary,
    bounds: Bounds,
    of: &[(String, String)],
    curve: impl Fn(&str, &str, &Measures) -> Vec<(usize, f64)>,
) -> Vec<Series> {
    few_bands(measured(data, task, bounds, of, curve))
}

/// What [`lines`] and [`rows`] draw.
fn measured(
    data: &Data<'_>,
    task: &TaskSummary,
    bounds: Bounds,
    of: &[(String, String)],
    curve: impl Fn(&str, &str, &Measures) -> Vec<(usize, f64)>,
) -> Vec<Series> {
    let drawn_as = |(name, scheme): &(String, String)| match name.strip_prefix(scheme.as_str()) {
        Some(rest) if !rest.is_empty() => rest.trim().to_string(),
        _ => name.clone(),
    };
    let schemes = data.origin.schemes().iter().cloned();
    let others = of.iter().filter(|(name, scheme)| name != scheme);
    let names: Vec<String> = schemes.chain(others.map(drawn_as)).collect();
    // The values of every line at every place, one for each seed.
    let all: Vec<BTreeMap<usize, Vec<f64>>> = of
        .iter()
        .map(|(name, scheme)| {
            let mut at: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
            for (x, y) in data
                .measured(&task.name, scheme)
                .flat_map(|(_, measures)| curve(name, scheme, measures))
                .filter(|(_, y)| y.is_finite())
            {
                at.entry(x).or_default().push(y);
            }
            at
        })
        .collect();
    let mut bands = bands(&all, bounds).into_iter();
    let all = of.iter().zip(&all).map(|(line, at)| {
        let each = at
            .iter()
            .flat_map(|(x, all)| all.iter().map(|y| (*x as f64, *y)));
        let means = at
            .iter()
            .filter_map(|(x, all)| Some((*x as f64, mean(all.iter().copied())?)));
        Series {
            scheme: drawn_as(line),
            look: Look::of(&drawn_as(line), &names),
            points: each.collect(),
            mean: means.collect(),
            band: bands.next().unwrap_or_default(),
        }
    });
    let mut all: Vec<Series> = all.filter(|series| !series.mean.is_empty()).collect();
    if let Bounds::UpTo(_) = bounds {
        crop_below_runs(&mut all);
    }
    all
}

/// Ends intervals at the lowest run: those of scores without a lower bound may reach far below.
fn crop_below_runs(all: &mut [Series]) {
    let lowest = lowest(all);
    for (_, interval) in all.iter_mut().flat_map(|series| &mut series.band) {
        interval.low = interval.low.max(lowest);
        interval.high = interval.high.max(lowest);
    }
}

/// The lowest score of a run, or 0 if that is lower.
fn lowest(all: &[Series]) -> f64 {
    let points = all.iter().flat_map(|series| &series.points);
    points.map(|at| at.1).fold(0.0, f64::min)
}

/// The intervals of every line. Intervals at one place share the dispersion of the runs of all lines there.
fn bands(all: &[BTreeMap<usize, Vec<f64>>], bounds: Bounds) -> Vec<Vec<(f64, Interval)>> {
    let mut bands = vec![Vec::new(); all.len()];
    let places: BTreeSet<usize> = all.iter().flat_map(|at| at.keys().copied()).collect();
    for x in places {
        let values = |at: &BTreeMap<usize, Vec<f64>>| [at.get(&x).cloned().unwrap_or_default()];
        let values: Vec<[Vec<f64>; 1]> = all.iter().map(values).collect();
        for (band, interval) in bands.iter_mut().zip(intervals(&values, bounds)) {
            band.extend(interval.map(|interval| (x as f64, interval)));
        }
    }
    bands
}

/// The legend of a chart: an entry for each scheme.
pub fn legend(all: &[Series]) -> Vec<(Key, String)> {
    let entry = |series: &Series| {
        let look = series.look;
        let key = Key::Line(look.stroke(), Some(look.marker()));
        (key, series.scheme.clone())
    };
    all.iter().map(entry).collect()
}

/// The values that a score can have.
pub fn bounds(measure: &Measure) -> Bounds {
    match measure {
        Measure::Accuracy | Measure::ExactMatch => Bounds::SHARE,
        Measure::Given => Bounds::UpTo(1.0),
        Measure::Bits { .. } | Measure::Error { .. } => Bounds::LOSS,
    }
}

/// An axis from 0, or the lowest score, to the largest score and a share `beyond` of it: to 1 for an accuracy, and to the largest
/// value or floor that is drawn for a loss. `tested` says in words where the scores are from.
pub fn scale(task: &TaskSummary, tested: &str, all: &[Series], beyond: f64) -> Axis {
    let most = match &task.measure {
        Measure::Accuracy | Measure::ExactMatch | Measure::Given => 1.0,
        _ => {
            let drawn = all.iter().flat_map(|series| {
                let points = series.points.iter().map(|at| at.1);
                points.chain(series.band.iter().map(|at| at.1.high))
            });
            drawn
                .chain(task.floors.into_iter().flatten())
                .fold(0.0, f64::max)
        }
    };
    let name = match (&task.measure, tested) {
        (measure, "") => measure.axis(),
        (Measure::Accuracy, _) => format!("accuracy {tested} (share correct)"),
        (Measure::ExactMatch, _) => format!("exact match {tested} (share of answers)"),
        (Measure::Given, _) => format!("score {tested} (higher is better)"),
        (measure, _) => format!("{} {tested} (lower is better)", measure.name()),
    };
    Axis::round(&name, lowest(all)..most * (1.0 + beyond), 6)
}

impl Series {
    /// Leaves out what an axis that ends here does not show.
    pub fn crop(&mut self, end: f64) {
        for (_, interval) in &mut self.band {
            interval.low = interval.low.min(end);
            interval.high = interval.high.min(end);
        }
    }

    /// Draws the band of the intervals.
    pub fn draw_band(&self, chart: &mut Chart<'_>) -> Result<(), LabError> {
        let low = self.band.iter().map(|(x, interval)| (*x, interval.low));
        let high = self
            .band
            .iter()
            .rev()
            .map(|(x, interval)| (*x, interval.high));
        match self.band.len() {
            0 | 1 => Ok(()),
            _ => band(chart, low.chain(high).collect(), (self.look.colour(), 0.14)),
        }
    }

    /// Draws a marker of a radius in pixels on each of some points.
    pub fn draw_markers<'p>(
        &self,
        chart: &mut Chart<'_>,
        points: impl IntoIterator<Item = &'p (f64, f64)>,
        radius: i32,
        opacity: f64,
    ) -> Result<(), LabError> {
        let (marker, colour) = (self.look.marker(), self.look.colour());
        markers(chart, points, (marker, radius), (colour, opacity))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn a_series_has_means_bands_and_every_point() {
        let study = Synthetic::new(&["mine"], &["a", "b", "c"], 2)
            .score("mine", "a", 1, &[(10, 0.5), (40, 0.3)])
            .score("mine", "a", 2, &[(10, 0.7)])
            .score("mine", "b", 1, &[(10, 0.9)])
            .fail("mine", "c", 1, "diverged");
        let data = study.data();
        let all = series(&data, &data.tasks[0], Bounds::SHARE, |measures| {
            let scores = measures.scores.iter();
            scores.map(|s| (s.length, s.score.value())).collect()
        });
        assert_eq!(all.len(), 2, "a scheme without results is not drawn");
        assert_eq!(all[0].points, [(10.0, 0.5), (10.0, 0.7), (40.0, 0.3)]);
        assert_eq!(all[0].mean, [(10.0, 0.6), (40.0, 0.3)]);
        assert_eq!(all[0].band.len(), 1, "one seed has no interval");
        // Student's interval of 0.5 and 0.7 reaches from −0.67 to 1.87, and a share does not.
        let interval = all[0].band[0].1;
        assert!(0.0 < interval.low && interval.low < 0.1, "{interval:?}");
        assert!(0.9 < interval.high && interval.high < 1.0, "{interval:?}");
        assert!(all[1].band.is_empty());
    }
}
