//! Accuracy by position: an average over a sequence hides the cliff where trained positions end.

use plotters::prelude::*;

use super::length::floor;
use super::{
    Area, Drawn, Figure, Key, Legend, Series, TRAINED, draw_floor, figure, plane, series, stem,
};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};

const PANEL: u32 = 236;

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    let panels: Vec<(usize, Vec<Series>)> = lengths(task)
        .into_iter()
        .map(|length| {
            let of_length = series(data, task, |measures| {
                let scores = measures
                    .scores
                    .iter()
                    .filter(|score| score.length == length);
                let places = scores.flat_map(|score| &score.by_position);
                places
                    .map(|place| (place.position, place.accuracy))
                    .collect()
            });
            (length, of_length)
        })
        // An answer read at one place has no curve.
        .filter(|(_, all)| all.iter().any(|series| series.mean.len() > 1))
        .collect();
    let Some((_, first)) = panels.first() else {
        return Ok(None);
    };
    let mut legend = Legend::of(first).with(Key::Floor, "floor");
    if task.train_lengths.is_some() {
        legend = legend.with(Key::Trained, "positions seen in training");
    }
    let floor = floor(data, task);
    figure(
        stem("position", &task.name),
        format!("{}: accuracy by position", task.name),
        "The mean over seeds at each position of sequences of one length, with its 95 % interval over \
         seeds where there are few schemes. A step down where the shade ends is the cliff behind which positions were never trained."
            .into(),
        PANEL * panels.len() as u32,
        &legend,
        |area| {
            let parts = area.split_evenly((panels.len(), 1));
            for ((length, all), part) in panels.iter().zip(&parts) {
                let at_length = floor.iter().find(|at| at.0 == *length as f64);
                panel(part, task, *length, all, at_length.map(|at| at.1))?;
            }
            Ok(())
        },
    )
    .map(Some)
}

/// The longest tested length inside training, and one at least twice as long beyond it.
fn lengths(task: &TaskFacts) -> Vec<usize> {
    let [inside, beyond] = &task.lengths;
    let longest = inside.last();
    let far = longest.map_or(0, |longest| 2 * longest);
    let beyond = beyond.iter().find(|n| **n >= far).or(beyond.last());
    longest.into_iter().chain(beyond).copied().collect()
}

fn panel(
    area: &Area<'_>,
    task: &TaskFacts,
    length: usize,
    all: &[Series],
    floor: Option<f64>,
) -> Drawn {
    let last = all.iter().flat_map(|series| &series.mean).map(|at| at.0);
    let last = last.fold(1.0, f64::max);
    let name = format!("position, of {length} (tokens)");
    let axes = ((name.as_str(), 0.0..last * 1.02), ("accuracy", 0.0..1.04));
    let mut plane = plane(area, axes.0, axes.1, 1, |plane| {
        if let Some(trained) = &task.train_lengths {
            let end = (*trained.end() as f64 + 0.5).min(last * 1.02);
            let corners = [(0.5, 0.0), (end, 1.04)];
            plane.draw_series([Rectangle::new(corners, TRAINED.filled())])?;
        }
        Ok(())
    })?;
    if let Some(floor) = floor {
        draw_floor(&mut plane, &[(0.0, floor), (last * 1.02, floor)])?;
    }
    for series in all {
        series.draw_band(&mut plane)?;
    }
    for (nth, series) in all.iter().enumerate() {
        series.look.line(&mut plane, &series.mean)?;
        // A mark on some points is enough to tell lines apart, and not the same for each.
        let every = (series.mean.len() / 8).max(1);
        let marked = series.mean.iter().skip(nth % every).step_by(every);
        plane.draw_series(marked.map(|at| EmptyElement::at(*at) + series.look.marker(4, 1.0)))?;
    }
    Ok(())
}
