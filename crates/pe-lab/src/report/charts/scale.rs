//! The axis of a task's scores.

use super::series::Series;
use crate::draw::Axis;
use crate::report::summary::TaskSummary;
use crate::stats::Bounds;
use crate::task::Measure;

/// The values that a score can have.
pub fn bounds(measure: &Measure) -> Bounds {
    match measure {
        Measure::Accuracy | Measure::ExactMatch | Measure::Given => Bounds::SHARE,
        Measure::Bits { .. } | Measure::Error { .. } => Bounds::LOSS,
    }
}

/// An axis from 0 to the largest score and a share `beyond` of it: to 1 for an accuracy, and to the largest
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
    Axis::round(&name, 0.0..most * (1.0 + beyond), 6)
}
