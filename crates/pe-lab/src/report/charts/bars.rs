//! The scores of a task at the training lengths: a bar for each scheme, a marker for each seed.

use super::panel::{Figure, Rows, WIDTH, floor_key, of_floor, stem};
use super::series::{Series, bounds, rows, scale};
use crate::draw::{Axis, Chart, Stroke, Words, band, line};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::report::words::fixed;

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
    let all = rows(data, task, bounds(&task.measure), |measures| {
        let mean = measures.mean_of(|of| of.inside == (part == 0), |of| of.score.value());
        mean.map(|mean| (0, mean)).into_iter().collect()
    });
    if all.is_empty() {
        return Ok(None);
    }
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
        "Bar and number: the mean over seeds. Markers: every seed. Line: the 95 % interval over seeds, \
         if there are two or more."
            .into(),
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

    #[test]
    fn the_floor_does_not_cross_a_number() {
        assert_eq!(beside_floor(100, None), 100);
        assert_eq!(beside_floor(100, Some(90)), 100);
        assert_eq!(beside_floor(100, Some(120)), 126);
        assert_eq!(beside_floor(100, Some(97)), 103);
        assert_eq!(beside_floor(100, Some(141)), 100);
    }
}
