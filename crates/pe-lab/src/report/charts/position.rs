//! The score by position. An average over a sequence would hide the step down where the positions that
//! training saw end.

use super::panel::{Figure, Panel, floor, floor_key, of_floor, stem, trained_key};
use super::series::{Series, bounds, legend, scale, series};
use crate::draw::Axis;
use crate::error::LabError;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::task::Measure;

const HEIGHT: i32 = 236;

pub fn draw(data: &Data<'_>, task: &TaskSummary) -> Result<Option<Figure>, LabError> {
    let floor = floor(data, task);
    let curves = lengths(task).into_iter().map(|length| {
        let all = series(data, task, bounds(&task.measure), |measures| {
            let scores = measures.scores.iter();
            let places = scores.filter(|score| score.length == length);
            let places = places.flat_map(|score| &score.by_position);
            places
                .map(|place| (place.position, place.score.value()))
                .collect()
        });
        (length, all)
    });
    // If answers are read at one position only, there is no curve.
    let has_curve = |all: &[Series]| all.iter().any(|series| series.mean.len() > 1);
    let curves: Vec<(usize, Vec<Series>)> = curves.filter(|(_, all)| has_curve(all)).collect();
    let Some((_, first)) = curves.first() else {
        return Ok(None);
    };
    let mut entries = legend(first);
    entries.push(floor_key("floor"));
    if task.train_lengths.is_some() {
        entries.push(trained_key("positions seen in training"));
    }
    let panels = curves.iter().map(|(length, all)| {
        let floor = floor.iter().find(|at| at.0 == *length as f64);
        panel(task, *length, all, floor.map(|at| at.1))
    });
    let direction = match task.measure.is_accuracy() {
        true => "down",
        false => "up",
    };
    Panel::figure(
        &panels.collect::<Vec<_>>(),
        stem("position", &task.name),
        &format!("{}: {} by position", task.title, task.measure.name()),
        format!(
            "The mean over seeds at each position of sequences of one length; if there are few schemes, with \
             its 95 % interval over seeds. A step {direction} at the end of the shade means that the scheme fails at \
             positions it was not trained on."
        ),
        &entries,
    )
    .map(Some)
}

/// The longest tested length inside training, and one at least twice as long beyond it.
fn lengths(task: &TaskSummary) -> Vec<usize> {
    let [inside, beyond] = &task.lengths;
    let longest = inside.last();
    let far = longest.map_or(0, |longest| 2 * longest);
    let beyond = beyond.iter().find(|n| **n >= far).or(beyond.last());
    longest.into_iter().chain(beyond).copied().collect()
}

/// The curves at one tested length.
fn panel<'a>(
    task: &TaskSummary,
    length: usize,
    all: &'a [Series],
    floor: Option<f64>,
) -> Panel<'a> {
    let last = all.iter().flat_map(|series| &series.mean);
    let end = last.map(|at| at.0).fold(1.0, f64::max) * 1.02;
    let trained = task.train_lengths.as_ref();
    let floor = floor.map(|floor| (vec![(0.0, floor), (end, floor)], of_floor()));
    Panel {
        x: Axis::round(
            &format!("position in a sequence of {length} tokens"),
            0.0..end,
            9,
        ),
        y: match &task.measure {
            // Where whole answers are scored, the chart shows the accuracy of each of their tokens.
            Measure::Accuracy | Measure::ExactMatch => Axis::round("accuracy", 0.0..1.04, 6),
            _ => scale(task, "", all, 0.04),
        },
        height: HEIGHT,
        trained: trained.map(|trained| (0.5, (*trained.end() as f64 + 0.5).min(end))),
        behind: floor.into_iter().collect(),
        series: all,
        markers: Some(8),
    }
}
