//! Score against the time of a training step.

use super::panel::{Figure, WIDTH, figure, floor_key, of_floor, panel};
use crate::draw::{Axis, Key, Look, Stroke, line, markers};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::costs::{CostSummary, Front};
use crate::report::summary::Summary;
use crate::report::words::counted;

const HEIGHT: i32 = 300;

/// A chart for each part that has a front, where costs were measured.
pub fn draw(summary: &Summary) -> Result<Vec<Figure>, LabError> {
    let costs = summary.costs.iter();
    let fronts = costs.flat_map(|costs| costs.fronts.iter().map(move |front| (costs, front)));
    fronts
        .map(|(costs, front)| chart(costs, front, summary))
        .collect()
}

fn chart(costs: &CostSummary, front: &Front, summary: &Summary) -> Result<Figure, LabError> {
    let place = front.part.in_words(summary.resolutions());
    let most = front.points.iter().map(|point| point.step_ms);
    let most = most.fold(0.0, f64::max);
    let scores = front.points.iter().map(|point| point.score);
    let (low, high) = scores.fold((0.0_f64, 1.0_f64), |(low, high), score| {
        (low.min(score), high.max(score))
    });
    let x = Axis::round("milliseconds per training step", 0.0..most * 1.05, 7);
    let y = Axis::round("mean normalized score", low - 0.03..high + 0.05, 6);
    let look = |scheme: &str| Look::of(scheme, summary.origin.schemes());
    let entry = |scheme: &String| {
        let look = look(scheme);
        let stroke = Stroke::solid(look.colour());
        (Key::Line(stroke, Some(look.marker())), scheme.clone())
    };
    let entries = front.points.iter().map(|point| entry(&point.scheme));
    let mut legend: Vec<(Key, String)> = entries.collect();
    legend.push(floor_key("dashed: nothing scores higher for less"));
    let name = match front.part {
        Part::Inside => "cost-inside",
        Part::Beyond => "cost-beyond",
    };
    // The front is a staircase: between two schemes on the front, more time does not yet buy a higher score.
    let on_front = front.points.iter().filter(|point| point.on_front);
    let mut stairs: Vec<(f64, f64)> = Vec::new();
    for point in on_front {
        if let Some((_, before)) = stairs.last().copied() {
            stairs.push((point.step_ms, before));
        }
        stairs.push((point.step_ms, point.score));
    }
    if let Some((_, last)) = stairs.last().copied() {
        stairs.push((x.to, last));
    }
    figure(
        (WIDTH, HEIGHT),
        name.into(),
        &format!("Score against cost {place}"),
        format!(
            "Each scheme's mean score {place} against the time of a training step of {} on `{}` at the \
             first length of the table. Times that differ by less than 5 % count as equal.",
            counted(costs.batch_size, "sequence"),
            costs.task
        ),
        &legend,
        |page, top| {
            let mut chart = panel(page, (top, HEIGHT), x, &y, None)?;
            line(&mut chart, &stairs, of_floor())?;
            for point in &front.points {
                let look = look(&point.scheme);
                let at = [(point.step_ms, point.score)];
                markers(&mut chart, &at, (look.marker(), 6), (look.colour(), 1.0))?;
            }
            Ok(())
        },
    )
}
