//! Learning curves: the loss by step, on the training batches and on held-out sequences.

use super::panel::{Figure, Panel, stem};
use super::series::{legend, series};
use crate::draw::Axis;
use crate::error::LabError;
use crate::learn::CurvePoint;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::run::Measures;
use crate::stats::Bounds;
use crate::task::Measure;

const HEIGHT: i32 = 300;

/// A kind of curve: the name of its figure, what it is in words, its points, and on what the loss was taken.
type Kind = (
    &'static str,
    &'static str,
    fn(&Measures) -> &[CurvePoint],
    &'static str,
);

const KINDS: [Kind; 2] = [
    (
        "loss",
        "training loss",
        |of| &of.curve,
        "on the training batches; each point is the mean of consecutive steps.",
    ),
    (
        "held-out-loss",
        "held-out loss",
        |of| &of.held_out,
        "on sequences of the training lengths that no training saw. A line that still falls at its end has not converged.",
    ),
];

/// The training loss, and that on held-out sequences, each if there is one.
pub fn draw(data: &Data<'_>, task: &TaskSummary) -> Result<Vec<Figure>, LabError> {
    let drawn = KINDS.map(|kind| chart(data, task, kind));
    drawn.into_iter().filter_map(Result::transpose).collect()
}

/// The name of the loss, and its unit. The loss of a forecast is measured on scaled numbers, and drawn in the unit of the
/// data.
fn loss_of(measure: &Measure) -> (&str, &str) {
    match measure {
        Measure::Accuracy | Measure::Bits { .. } | Measure::Given => {
            ("cross-entropy", "nats per answer")
        }
        Measure::ExactMatch => ("cross-entropy", "nats per token of an answer"),
        Measure::Error { unit } => ("mean absolute error", unit),
    }
}

fn chart(
    data: &Data<'_>,
    task: &TaskSummary,
    (name, what, curve, about): Kind,
) -> Result<Option<Figure>, LabError> {
    let (loss, unit) = loss_of(&task.measure);
    let points = data.of_task(&task.name).flat_map(curve);
    let highest = points.map(|point| point.loss * task.unit);
    let highest = highest.filter(|loss| loss.is_finite()).fold(0.0, f64::max);
    let mut all = series(data, task, Bounds::LOSS, |measures| {
        let points: Vec<(usize, f64)> = match task.auto_from {
            None => {
                let points = curve(measures).iter();
                points.map(|point| (point.step, point.loss)).collect()
            }
            Some(first) => every(curve(measures), (first / 10).max(task.steps / 100)),
        };
        let in_unit = points.into_iter();
        in_unit
            .map(|(step, loss)| (step, loss * task.unit))
            .collect()
    });
    all.iter_mut().for_each(|series| series.crop(highest));
    let ends = match task.auto_from {
        None => "",
        Some(_) => {
            " Runs end at different steps; where one has ended, the mean is that of the others."
        }
    };
    let means = all.iter().flat_map(|series| &series.mean);
    let steps = means.map(|at| at.0).fold(0.0, f64::max);
    if steps == 0.0 || highest == 0.0 {
        return Ok(None);
    }
    let panel = Panel {
        x: Axis::round("training step", 0.0..steps, 9),
        y: Axis::round(&format!("{loss} ({unit})"), 0.0..highest * 1.05, 6),
        height: HEIGHT,
        trained: None,
        behind: Vec::new(),
        series: &all,
        markers: Some(6),
    };
    Panel::figure(
        &[panel],
        stem(name, &task.name),
        &format!("{}: {what} by step", task.title),
        format!(
            "The {loss} {about} Line: the mean over seeds. Band, if there are few schemes: its 95 % interval over \
             seeds.{ends}"
        ),
        &legend(&all),
    )
    .map(Some)
}

/// A curve resampled at every `interval` steps by linear interpolation: runs of different lengths have their points at
/// different steps, and a mean needs them at the same ones.
fn every(curve: &[CurvePoint], interval: usize) -> Vec<(usize, f64)> {
    let interval = interval.max(1);
    let between = curve.windows(2).flat_map(|pair| {
        let (from, to) = (&pair[0], &pair[1]);
        let first = from.step.div_ceil(interval) * interval;
        let at = (first..to.step).step_by(interval);
        at.map(|step| {
            let share = (step - from.step) as f64 / (to.step - from.step) as f64;
            (step, from.loss + share * (to.loss - from.loss))
        })
    });
    let last = curve.last().map(|point| (point.step, point.loss));
    between.chain(last).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn curves_with_points_at_different_steps_meet_at_the_same_ones() {
        let own = [(50, 4.0), (100, 2.0), (150, 1.0)];
        let short = own.map(CurvePoint::from);
        let long = [(100, 3.0), (400, 0.0)].map(CurvePoint::from);
        assert_eq!(every(&short, 50), own);
        // Interpolated values, and the end.
        let between = [(150, 2.5), (300, 1.0), (400, 0.0)];
        assert_eq!(every(&long, 150), between);
        assert_eq!(every(&short[..1], 0), [(50, 4.0)]);
        assert!(every(&[], 10).is_empty());
    }
}
