//! Score against the time of a training step.

use super::panel::{figure, panel};
use crate::draw::colour::REFERENCE;
use crate::draw::{Axis, Key, Look, Stroke, line, markers};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::costs::{CostSummary, Front};
use crate::report::figure::Figure;

const HEIGHT: i32 = 300;

/// A chart for each part that has a front.
pub fn draw(
    costs: &CostSummary,
    schemes: &[String],
    resolutions: bool,
) -> Result<Vec<Figure>, LabError> {
    let charts = costs
        .fronts
        .iter()
        .map(|front| chart(costs, front, schemes, front.part.in_words(resolutions)));
    charts.collect()
}

fn chart(
    costs: &CostSummary,
    front: &Front,
    schemes: &[String],
    place: &str,
) -> Result<Figure, LabError> {
    let most = front.points.iter().map(|point| point.step_ms);
    let most = most.fold(0.0, f64::max);
    let scores = front.points.iter().map(|point| point.score);
    let (low, high) = scores.fold((0.0_f64, 1.0_f64), |(low, high), score| {
        (low.min(score), high.max(score))
    });
    let x = Axis::round("milliseconds per training step", 0.0..most * 1.05, 7);
    let y = Axis::round("mean normalized score", low - 0.03..high + 0.05, 6);
    let mut legend: Vec<(Key, String)> = Vec::new();
    for point in &front.points {
        let look = Look::of(&point.scheme, schemes);
        let stroke = Stroke::solid(look.colour());
        legend.push((Key::Line(stroke, Some(look.marker())), point.scheme.clone()));
    }
    let dashed = Key::Line(Stroke::dashed(REFERENCE), None);
    legend.push((dashed, "dashed: nothing scores higher for less".into()));
    let name = match front.part {
        Part::Inside => "cost-inside",
        Part::Beyond => "cost-beyond",
    };
    // The front is a staircase: between two schemes on it, more time buys nothing yet.
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
        name.into(),
        format!("Score against cost {place}"),
        format!(
            "Each scheme's mean score {place} against the time of a training step of {} sequences on `{}` at the \
             first length of the table. Times that differ by less than 5 % count as equal.",
            costs.batch_size, costs.task
        ),
        HEIGHT,
        &legend,
        |page, top| {
            let mut chart = panel(page, (top, HEIGHT), x, &y, None)?;
            line(&mut chart, &stairs, Stroke::dashed(REFERENCE))?;
            for point in &front.points {
                let look = Look::of(&point.scheme, schemes);
                let at = [(point.step_ms, point.score)];
                markers(&mut chart, &at, (look.marker(), 6), (look.colour(), 1.0))?;
            }
            Ok(())
        },
    )
}
