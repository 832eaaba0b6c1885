//! The scores of a task at the training lengths: a bar for each scheme, a marker for each seed.

use super::panel::{AXIS, LEFT, RIGHT, WIDTH, draw_floor, figure, floor_key, stem};
use super::scale::{most, scale};
use super::series::series;
use crate::draw::{Axis, Lines, Rect, Side, Stroke, Words, band, line};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};
use crate::report::figure::Figure;
use crate::report::number::fixed;
use crate::stats::mean;

const ROW: i32 = 40;

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    // One number per run: the mean over the lengths. A task that is tested only beyond the training lengths
    // has its bars there.
    let part = usize::from(task.lengths[0].is_empty());
    let all = series(data, task, most(&task.measure), |measures| {
        let scores = measures
            .scores
            .iter()
            .filter(|score| score.inside == (part == 0));
        let mean = mean(scores.map(|of| of.score.value()));
        mean.map(|value| (0, value)).into_iter().collect()
    });
    if all.is_empty() {
        return Ok(None);
    }
    let floor = task.floors[part];
    let rows = all.len() as i32;
    let middle = |nth: usize| f64::from(rows) - nth as f64 - 0.5;
    let names = all.iter().enumerate();
    let y = Axis {
        name: "positional scheme".into(),
        from: 0.0,
        to: f64::from(rows),
        ticks: names
            .map(|(nth, series)| (middle(nth), series.scheme.clone()))
            .collect(),
    };
    let where_tested = match (part, task.has_one_length()) {
        (_, true) => "on held-out data",
        (0, _) => "at the training lengths",
        _ => "beyond the training lengths",
    };
    let x = scale(task, where_tested, &all, 0.12);
    let entries = [floor_key(format!("floor: {}", task.floor_about))];
    figure(
        stem("bars", &task.name),
        format!("{}: {} after {}", task.name, task.measure.name(), task.steps_in_words()),
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
            for (nth, series) in all.iter().enumerate() {
                let Some((_, mean)) = series.mean.first() else {
                    continue;
                };
                let (middle, colour) = (middle(nth), series.look.colour());
                let (low, high) = (middle - 0.3, middle + 0.3);
                let bar = vec![(0.0, low), (*mean, low), (*mean, high), (0.0, high)];
                band(&mut chart, bar, (colour, 0.3))?;
                let mut end = *mean;
                if let Some((_, interval)) = series.band.first() {
                    let ends = [(interval.low, middle), (interval.high, middle)];
                    line(&mut chart, &ends, Stroke::solid(colour))?;
                    end = end.max(interval.high);
                }
                let points = series.points.iter().map(|(_, y)| (*y, middle));
                let points: Vec<(f64, f64)> = points.collect();
                series.draw_markers(&mut chart, &points, 4, 0.7)?;
                let end = points.iter().map(|at| at.0).fold(end, f64::max);
                let number = (
                    x.place(end, (rect.left, rect.left + rect.width)) + 8,
                    y.place(middle, (rect.top + rect.height, rect.top)),
                );
                page.text(number, &fixed(*mean, 3), 12.0, Words::middle_left())?;
            }
            if let Some(floor) = floor {
                draw_floor(&mut chart, &[(floor, 0.0), (floor, f64::from(rows))])?;
            }
            Ok(())
        },
    )
    .map(Some)
}
