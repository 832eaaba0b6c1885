//! Learning curves: the training loss by step.

use super::panel::{figure, panel, stem};
use super::series::{legend, series};
use crate::draw::Axis;
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};
use crate::report::figure::Figure;

const HEIGHT: i32 = 300;

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
        "The cross-entropy on the training batches; each point is the mean of consecutive steps. Line: \
         the mean over seeds. Band, if there are few schemes: its 95 % interval over seeds."
            .into(),
        HEIGHT,
        &legend(&all),
        |page, top| {
            let x = Axis::round("training step", 0.0..steps, 9);
            let y = Axis::round("training loss (nats per answer)", 0.0..loss * 1.05, 6);
            let mut chart = panel(page, (top, HEIGHT), x, &y, None)?;
            for series in &all {
                series.draw_band(&mut chart)?;
            }
            for (nth, series) in all.iter().enumerate() {
                series.draw_line(&mut chart)?;
                series.draw_some_markers(&mut chart, nth, 6)?;
            }
            Ok(())
        },
    )
    .map(Some)
}
