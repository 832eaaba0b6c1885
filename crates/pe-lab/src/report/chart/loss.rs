//! Learning curves: the training loss by step.

use plotters::prelude::*;

use super::{Figure, Legend, figure, plane, series, stem};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    let all = series(data, task, |measures| {
        let points = measures.curve.iter();
        points.map(|point| (point.step, point.loss)).collect()
    });
    let means = || all.iter().flat_map(|series| &series.mean);
    let bands = all.iter().flat_map(|series| &series.band);
    let steps = means().map(|at| at.0).fold(0.0, f64::max);
    let tops = means().map(|at| at.1).chain(bands.map(|at| at.1.high));
    let loss = tops.fold(0.0, f64::max);
    if steps == 0.0 || loss == 0.0 {
        return Ok(None);
    }
    figure(
        stem("loss", &task.name),
        format!("{}: training loss by step", task.name),
        "The cross-entropy of the training batches, each point the mean of a stretch of steps. Line: the \
         mean over seeds; band, where there are few schemes: its 95 % interval over seeds."
            .into(),
        300,
        &Legend::of(&all),
        |area| {
            let axes = (
                ("training step", 0.0..steps),
                ("training loss (nats per answer)", 0.0..loss * 1.05),
            );
            let digits = if loss < 1.0 { 2 } else { 1 };
            let mut plane = plane(area, axes.0, axes.1, digits, |_| Ok(()))?;
            for series in &all {
                series.draw_band(&mut plane)?;
            }
            for (nth, series) in all.iter().enumerate() {
                series.look.line(&mut plane, &series.mean)?;
                let every = (series.mean.len() / 6).max(1);
                let marked = series.mean.iter().skip(nth % every).step_by(every);
                let marks = marked.map(|at| EmptyElement::at(*at) + series.look.marker(4, 1.0));
                plane.draw_series(marks)?;
            }
            Ok(())
        },
    )
    .map(Some)
}
