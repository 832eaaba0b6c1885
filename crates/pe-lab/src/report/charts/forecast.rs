//! A forecast over time: what the schemes predicted, and what came.

use chrono::{Datelike, NaiveDate};

use super::panel::{Figure, Panel, stem};
use super::series::{legend, series};
use crate::draw::colour::BLACK;
use crate::draw::{Axis, Key, Stroke};
use crate::error::LabError;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::stats::Bounds;
use crate::task::{Forecast, Measure};

const HEIGHT: i32 = 330;
/// The most numbers that are drawn, the last of the test. With more the lines would hide each other.
const MOST: usize = 60;
/// The most labels of the axis of time.
const LABELS: usize = 6;

pub fn draw(data: &Data<'_>, task: &TaskSummary) -> Result<Option<Figure>, LabError> {
    let Some(forecast) = &task.forecast else {
        return Ok(None);
    };
    let first = forecast.at.len().saturating_sub(MOST);
    // A number is drawn at its place in the test.
    let mut all = series(data, task, Bounds::LOSS, |measures| {
        let said = measures.predicted.iter().copied().enumerate();
        said.skip(first).collect()
    });
    if all.is_empty() {
        return Ok(None);
    }
    let at = |place: f64| forecast.at[place as usize];
    for series in &mut all {
        let means = series.mean.iter_mut();
        means.for_each(|point| point.0 = at(point.0));
        series.band.clear();
    }
    let actual = forecast.at.iter().zip(&forecast.actual).skip(first);
    let actual: Vec<(f64, f64)> = actual.map(|(at, actual)| (*at, *actual)).collect();
    let drawn = all.iter().flat_map(|series| &series.mean).chain(&actual);
    let (low, high) = drawn.fold((f64::INFINITY, f64::NEG_INFINITY), |ends, point| {
        (ends.0.min(point.1), ends.1.max(point.1))
    });
    let margin = (high - low).max(f64::MIN_POSITIVE) * 0.05;
    let black = Stroke::solid(BLACK);
    let mut entries = vec![(Key::Line(black, None), "actual".to_string())];
    entries.extend(legend(&all));
    let caption = format!(
        "The last {} numbers of the test, each predicted from the {} rows before it; the mean of the predictions over seeds. \
         Markers show a part of the points.",
        actual.len(),
        task.train_lengths
            .as_ref()
            .map_or(0, |lengths| *lengths.end())
    );
    // The name of the column that is forecast.
    let name = match &task.measure {
        Measure::Error { unit } => unit.clone(),
        measure => measure.name(),
    };
    let panel = Panel {
        x: axis_of_time(forecast, first),
        y: Axis::round(&name, low - margin..high + margin, 7),
        height: HEIGHT,
        trained: None,
        behind: vec![(actual, black)],
        series: &all,
        markers: Some(8),
    };
    Panel::figure(
        &[panel],
        stem("forecast", &task.name),
        &format!("{}: predicted and actual over time", task.title),
        caption,
        &entries,
    )
    .map(Some)
}

/// The axis of the times from that with the index `first` on.
fn axis_of_time(forecast: &Forecast, first: usize) -> Axis {
    let times = &forecast.at[first..];
    let (Some(from), Some(to)) = (times.first(), times.last()) else {
        return Axis::bare(0.0, 1.0);
    };
    let to = to.max(from + f64::MIN_POSITIVE);
    if !forecast.dates {
        return Axis::round(&forecast.time, *from..to, LABELS);
    }
    // None at the ends, where a label would leave the picture.
    let step = (to - from) / LABELS as f64;
    let ticks = (0..LABELS).map(|nth| from + step * (nth as f64 + 0.5));
    Axis {
        name: forecast.time.clone(),
        from: *from,
        to,
        ticks: ticks.map(|day| (day, date(day, step))).collect(),
    }
}

/// A date, given in days since 1970-01-01, as exact as labels that are `step` days apart need it.
fn date(day: f64, step: f64) -> String {
    let Some(date) = NaiveDate::from_epoch_days(day.floor() as i32) else {
        return format!("day {day:.0}");
    };
    let (year, month, of_month) = (date.year(), date.month(), date.day());
    let minutes = ((day - day.floor()) * 1_440.0).round() as u32;
    let clock = format!("{:02}:{:02}", minutes / 60, minutes % 60);
    match step {
        days if days >= 400.0 => year.to_string(),
        days if days >= 28.0 => format!("{year}-{month:02}"),
        days if days >= 1.0 => format!("{year}-{month:02}-{of_month:02}"),
        _ => format!("{month:02}-{of_month:02} {clock}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::Says;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn dates_are_as_exact_as_their_distance() {
        let day = 19_858.0; // 2024-05-15
        assert_eq!(date(day, 500.0), "2024");
        assert_eq!(date(day, 31.0), "2024-05");
        assert_eq!(date(day, 7.0), "2024-05-15");
        assert_eq!(date(day + 0.5, 0.25), "05-15 12:00");
        assert_eq!(date(-1.0, 7.0), "1969-12-31");
    }

    #[test]
    fn the_last_predictions_stand_beside_what_came() {
        let study = Synthetic::each(&["mine"], &["none", "rotary"], 2, |_, _, _| [(10, 0.5)]);
        let study = study.change(|_, seed, measures| {
            measures.predicted = (0..100).map(|n| f64::from(n) + seed as f64 - 1.5).collect();
        });
        let mut data = study.data();
        let without = draw(&data, &data.tasks[0]).unwrap();
        assert!(without.is_none(), "no forecast");
        data.tasks[0].measure = Measure::Error { unit: "ppm".into() };
        data.tasks[0].forecast = Some(Forecast {
            time: "month".into(),
            at: (0..100).map(|n| f64::from(n) * 31.0).collect(),
            dates: true,
            actual: (0..100).map(f64::from).collect(),
            last: vec![0.0; 100],
        });
        let drawn = draw(&data, &data.tasks[0]).unwrap().unwrap();
        drawn
            .svg
            .says("aria-label=\"mine: predicted and actual over time\"");
        assert!(drawn.caption.starts_with("The last 60 numbers of the test"));
        for said in ["actual", "none", "rotary", "month", "ppm", "1973-10"] {
            assert!(drawn.svg.lines().any(|line| line == said), "{said}");
        }
        // The means over seeds are what came, so the three lines lie on each other.
        let lines = drawn.svg.lines().filter(|of| of.starts_with("<polyline"));
        let points = lines.filter_map(|line| line.split("points=\"").nth(1)?.split('"').next());
        let long = points.filter(|points| points.split(' ').count() >= 60);
        let [a, b, c] = long.collect::<Vec<_>>()[..] else {
            panic!("three lines")
        };
        assert!(a == b && b == c);
    }
}
