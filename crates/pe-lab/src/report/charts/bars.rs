//! The scores of a task at the training lengths: a bar for each scheme, a marker for each seed.

use super::panel::{Figure, Rows, WIDTH, floor_key, of_floor, stem};
use super::series::{Series, bounds, rows, scale};
use crate::draw::{Axis, Chart, Stroke, Words, band, line};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::data::Data;
use crate::report::summary::{Group, TaskSummary};
use crate::report::words::fixed;
use crate::stats::Interval;

const ROW: i32 = 40;

/// The width of a number beside a bar.
const NUMBER: i32 = 40;

/// Where the number of a bar begins: at `left`, or behind the line of the floor if that would cross it.
fn beside_floor(left: i32, floor: Option<i32>) -> i32 {
    match floor.filter(|floor| (left - 4..left + NUMBER).contains(floor)) {
        Some(floor) => floor + 6,
        None => left,
    }
}

pub fn draw(data: &Data<'_>, task: &TaskSummary) -> Result<Option<Figure>, LabError> {
    // A task that is tested only beyond the training lengths has its bars there.
    let part = usize::from(task.lengths[0].is_empty());
    // One number per run, that of the tables: the mean over the sequences of all lengths.
    let mut all = rows(data, task, bounds(&task.measure), |measures| {
        let mean = measures.mean_of(|of| of.inside == (part == 0), |of| of.score.value());
        mean.map(|mean| (0, mean)).into_iter().collect()
    });
    if all.is_empty() {
        return Ok(None);
    }
    let mut failed = 0;
    for series in &mut all {
        failed += count_failed(series, task, Part::ALL[part]);
    }
    let counted = match failed {
        0 => "",
        _ => {
            " A training that failed counts as in the tables, with the floor or the lowest score; a scheme of which every training \
             failed has no bar."
        }
    };
    let floor = task.floors[part];
    let where_tested = match task.has_one_length() {
        true => "on held-out data",
        false => Part::ALL[part].in_words(task.resolutions),
    };
    let rows = Rows {
        width: WIDTH,
        row: ROW,
        x: scale(task, where_tested, &all, 0.12),
        y: Axis::rows(all.iter().map(|series| series.scheme.clone())),
    };
    let entries = floor.map(|_| floor_key(format!("floor: {}", task.floor_about)));
    rows.figure(
        stem("bars", &task.name),
        &format!("{}: {}{}", task.title, task.measure.name(), task.after_steps()),
        format!(
            "Bar and number: the mean over seeds. Markers: every seed. Line: the 95 % interval over seeds, \
             if there are two or more.{counted}"
        ),
        &Vec::from_iter(entries),
        |page, chart, rect, middles| {
            if let Some(floor) = floor {
                let ends = [(floor, 0.0), (floor, middles.len() as f64)];
                line(chart, &ends, of_floor())?;
            }
            let across = |value| rows.x.place(value, (rect.left, rect.left + rect.width));
            for (series, middle) in all.iter().zip(middles) {
                let Some((_, mean)) = series.mean.first() else {
                    continue;
                };
                let end = bar(chart, series, *mean, *middle)?;
                let left = beside_floor(across(end) + 8, floor.map(across));
                let up = rows.y.place(*middle, (rect.top + rect.height, rect.top));
                page.text((left, up), &fixed(*mean, 3), 12.0, Words::MIDDLE_LEFT)?;
            }
            Ok(())
        },
    )
    .map(Some)
}

/// Counts the failed trainings of a scheme into its bar, and returns their number.
fn count_failed(series: &mut Series, task: &TaskSummary, part: Part) -> usize {
    let group = task.scheme(&series.scheme).and_then(|of| of.part(part));
    let failed = |group: &Group| group.seeds.iter().filter(|seed| seed.failed).count();
    let Some(group) = group.filter(|group| failed(group) > 0) else {
        return 0;
    };
    let scores = || {
        group
            .seeds
            .iter()
            .map(|seed| (seed.normalized, seed.score.value()))
    };
    series.points = scores().map(|(_, score)| (0.0, score)).collect();
    series.mean = vec![(0.0, group.mean)];
    // A score is a linear function of the normalized one, of which the group has the interval.
    let by_normalized = |a: &(f64, f64), b: &(f64, f64)| a.0.total_cmp(&b.0);
    let ends = scores()
        .min_by(by_normalized)
        .zip(scores().max_by(by_normalized));
    let line = ends.filter(|(low, high)| low.0 < high.0);
    let interval = line.zip(group.interval).map(|((low, high), interval)| {
        let score = |of: f64| low.1 + (of - low.0) * (high.1 - low.1) / (high.0 - low.0);
        let (a, b) = (score(interval.low), score(interval.high));
        Interval {
            low: a.min(b),
            high: a.max(b),
        }
    });
    series.band = interval.map(|of| (0.0, of)).into_iter().collect();
    failed(group)
}

/// Draws a bar, its interval and its seeds, and returns where the last of them ends.
fn bar(chart: &mut Chart<'_>, series: &Series, mean: f64, middle: f64) -> Result<f64, LabError> {
    let colour = series.look.colour();
    let (low, high) = (middle - 0.3, middle + 0.3);
    let corners = vec![(0.0, low), (mean, low), (mean, high), (0.0, high)];
    band(chart, corners, (colour, 0.3))?;
    let mut end = mean;
    if let Some((_, interval)) = series.band.first() {
        let ends = [(interval.low, middle), (interval.high, middle)];
        line(chart, &ends, Stroke::solid(colour))?;
        end = end.max(interval.high);
    }
    let points = series.points.iter().map(|(_, y)| (*y, middle));
    let points: Vec<(f64, f64)> = points.collect();
    series.draw_markers(chart, &points, 4, 0.7)?;
    Ok(points.iter().map(|at| at.0).fold(end, f64::max))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::Summary;
    use crate::report::synthetic::Synthetic;

    /// The number beside a bar is that of the table, in which a failed training counts.
    #[test]
    fn a_failed_training_counts_in_its_bar() {
        let scores: [(&str, &[f64]); 2] = [("a", &[0.8, 0.8, 0.8]), ("b", &[0.6, 0.7, 0.65])];
        let study = Synthetic::of_scores("reverse", &scores);
        let study = study.fail("reverse", "a", 2, "diverged");
        let data = study.data();
        let summary = Summary::of(&data);
        let task = &summary.tasks[0];
        let mean = task.scheme("a").unwrap().part(Part::Inside).unwrap().mean;
        let figure = draw(&data, task).unwrap().unwrap();
        assert!(figure.svg.contains(&fixed(mean, 3)), "{mean}");
        assert!(figure.caption.contains("A training that failed counts"));
        let whole = Synthetic::of_scores("reverse", &scores);
        let whole = draw(&whole.data(), &Summary::of(&whole.data()).tasks[0]);
        let whole = whole.unwrap().unwrap();
        assert!(!whole.caption.contains("failed") && !whole.svg.contains(&fixed(mean, 3)));
    }

    #[test]
    fn the_floor_does_not_cross_a_number() {
        assert_eq!(beside_floor(100, None), 100);
        assert_eq!(beside_floor(100, Some(90)), 100);
        assert_eq!(beside_floor(100, Some(120)), 126);
        assert_eq!(beside_floor(100, Some(97)), 103);
        assert_eq!(beside_floor(100, Some(141)), 100);
    }
}
