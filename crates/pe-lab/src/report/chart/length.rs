//! Accuracy against the length of the sequence.

use plotters::prelude::*;

use super::{Figure, Key, Legend, TRAINED, draw_floor, figure, plane, series, stem};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    let all = series(data, task, |measures| {
        let scores = measures.scores.iter();
        scores.map(|score| (score.length, score.accuracy)).collect()
    });
    let floor = floor(data, task);
    if all.is_empty() {
        return Ok(None);
    }
    let mut legend = Legend::of(&all).with(Key::Floor, "floor");
    if task.train_lengths.is_some() {
        legend = legend.with(Key::Trained, "lengths seen in training");
    }
    let longest = task.lengths.iter().flatten().max().copied().unwrap_or(1) as f64;
    figure(
        stem("chart", &task.name),
        format!("{}: accuracy by length after {} steps", task.name, task.steps),
        format!(
            "Line: the mean over seeds. Band, where there are few schemes: its 95 % interval over seeds. \
             Small marks: every seed. Floor: {}.",
            task.floor_about
        ),
        330,
        &legend,
        |area| {
            let tokens = match task.mixes_lengths {
                true => "sequence length (tokens), the longest of each group",
                false => "sequence length (tokens)",
            };
            let axes = (
                (tokens, 0.0..longest * 1.03),
                ("accuracy (share right)", 0.0..1.04),
            );
            let mut plane = plane(area, axes.0, axes.1, 1, |plane| {
                if let Some(trained) = &task.train_lengths {
                    let corners = [
                        (*trained.start() as f64, 0.0),
                        ((*trained.end() as f64).min(longest), 1.04),
                    ];
                    plane.draw_series([Rectangle::new(corners, TRAINED.filled())])?;
                }
                Ok(())
            })?;
            draw_floor(&mut plane, &floor)?;
            for series in &all {
                series.draw_band(&mut plane)?;
            }
            for series in &all {
                let marks = series.points.iter();
                let marks = marks.map(|at| EmptyElement::at(*at) + series.look.marker(3, 0.45));
                plane.draw_series(marks)?;
                series.look.line(&mut plane, &series.mean)?;
                let means = series.mean.iter();
                let means = means.map(|at| EmptyElement::at(*at) + series.look.marker(5, 1.0));
                plane.draw_series(means)?;
            }
            Ok(())
        },
    )
    .map(Some)
}

/// The floor at every tested length.
pub fn floor(data: &Data<'_>, task: &TaskFacts) -> Vec<(f64, f64)> {
    let of_task = data.runs.iter().filter(|run| run.task == task.name);
    let mut floor: Vec<(f64, f64)> = of_task
        .filter_map(|run| run.outcome.ok())
        .flat_map(|measures| &measures.scores)
        .map(|score| (score.length as f64, score.floor))
        .collect();
    floor.sort_by(|a, b| a.0.total_cmp(&b.0));
    floor.dedup_by_key(|at| at.0);
    floor
}
