//! The scores of a task at the training lengths: a bar for each scheme, a marker for each seed.

use super::panel::{AXIS, LEFT, RIGHT, WIDTH, draw_floor, figure, floor_key, stem};
use super::scale::{bounds, scale};
use super::series::{Series, series};
use crate::draw::{Axis, Chart, Lines, Rect, Side, Stroke, Words, band, line};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::data::{Data, TaskFacts};
use crate::report::figure::Figure;
use crate::report::number::fixed;
use crate::run::Measures;

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

/// One number per run, that of the tables: the mean over the sequences of all lengths.
fn mean(measures: &Measures, inside: bool) -> Vec<(usize, f64)> {
    let scores = measures.scores.iter();
    let scores = scores.filter(|score| score.inside == inside);
    let samples: usize = scores.clone().map(|of| of.samples).sum();
    let sum: f64 = scores.map(|of| of.score.value() * of.samples as f64).sum();
    match samples {
        0 => Vec::new(),
        _ => vec![(0, sum / samples as f64)],
    }
}

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    // A task that is tested only beyond the training lengths has its bars there.
    let part = usize::from(task.lengths[0].is_empty());
    let all = series(data, task, bounds(&task.measure), |of| mean(of, part == 0));
    if all.is_empty() {
        return Ok(None);
    }
    let floor = task.floors[part];
    let rows = all.len() as i32;
    let y = Axis::rows(all.iter().map(|series| series.scheme.clone()));
    let where_tested = match task.has_one_length() {
        true => "on held-out data",
        false => Part::ALL[part].in_words(task.resolutions),
    };
    let x = scale(task, where_tested, &all, 0.12);
    let entries = floor.map(|_| floor_key(format!("floor: {}", task.floor_about)));
    let entries: Vec<_> = entries.into_iter().collect();
    figure(
        stem("bars", &task.name),
        format!("{}: {}{}", task.title, task.measure.name(), task.after_steps()),
        "Bar and number: the mean over seeds. Markers: every seed. Line: the 95 % interval over seeds, \
         if there are two or more."
            .into(),
        rows * ROW + AXIS,
        &entries,
        |page, top| {
            let left = LEFT + y.margin();
            let rect = Rect {
                left,
                top,
                width: WIDTH - RIGHT - left,
                height: rows * ROW,
            };
            let mut chart = page.chart(rect, &x, (&y, Side::Left), Lines::Vertical)?;
            if let Some(floor) = floor {
                draw_floor(&mut chart, &[(floor, 0.0), (floor, f64::from(rows))])?;
            }
            let across = |value| x.place(value, (rect.left, rect.left + rect.width));
            for (series, (middle, _)) in all.iter().zip(&y.ticks) {
                let Some((_, mean)) = series.mean.first() else {
                    continue;
                };
                let end = bar(&mut chart, series, *mean, *middle)?;
                let left = beside_floor(across(end) + 8, floor.map(across));
                let up = y.place(*middle, (rect.top + rect.height, rect.top));
                page.text((left, up), &fixed(*mean, 3), 12.0, Words::middle_left())?;
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
