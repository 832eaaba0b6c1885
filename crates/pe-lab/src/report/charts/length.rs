//! The score by the length of the sequence.

use super::panel::{Figure, Panel, floor, floor_key, of_floor, stem, trained_key};
use super::series::{bounds, legend, scale, series};
use crate::draw::Axis;
use crate::error::LabError;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;

const HEIGHT: i32 = 330;

pub fn draw(data: &Data<'_>, task: &TaskSummary) -> Result<Option<Figure>, LabError> {
    let all = series(data, task, bounds(&task.measure), |measures| {
        let scores = measures.scores.iter();
        scores.map(|of| (of.length, of.score.value())).collect()
    });
    if all.is_empty() {
        return Ok(None);
    }
    let mut entries = legend(&all);
    let has_floor = task.floors.iter().any(Option::is_some);
    entries.extend(has_floor.then(|| floor_key("floor")));
    let longest = task.lengths.iter().flatten().max().copied().unwrap_or(1) as f64;
    let trained = trained(task, longest);
    if trained.is_some() {
        entries.push(trained_key(match task.resolutions {
            true => "patches of the images of the training",
            false => "lengths seen in training",
        }));
    }
    let name = match (task.resolutions, task.mixes_lengths) {
        (true, _) => "patches of an image",
        (false, true) => "sequence length (tokens), the longest of each group",
        (false, false) => "sequence length (tokens)",
    };
    let floor = has_floor.then(|| (floor(data, task), of_floor()));
    let panel = Panel {
        x: Axis::round(name, 0.0..longest * 1.03, 9),
        y: scale(task, "", &all, 0.04),
        height: HEIGHT,
        trained,
        behind: floor.into_iter().collect(),
        series: &all,
        markers: None,
    };
    let by = if task.resolutions {
        "resolution"
    } else {
        "length"
    };
    let (measure, steps) = (task.measure.name(), task.after_steps());
    let about_floor = match has_floor {
        true => format!(" Floor: {}.", task.floor_about),
        false => String::new(),
    };
    Panel::figure(
        &[panel],
        stem("chart", &task.name),
        &format!("{}: {measure} by {by}{steps}", task.title),
        format!(
            "Line: the mean over seeds. Band, if there are few schemes: its 95 % interval over seeds. \
             Small markers: every seed.{about_floor}"
        ),
        &entries,
    )
    .map(Some)
}

/// Where the lengths of the training begin and end on an axis up to the longest.
fn trained(task: &TaskSummary, longest: f64) -> Option<(f64, f64)> {
    // One resolution is a line, which gets some width.
    let around = match task.resolutions {
        true => longest * 0.01,
        false => 0.0,
    };
    let trained = task.train_lengths.as_ref()?;
    let (start, end) = (
        *trained.start() as f64,
        (*trained.end() as f64).min(longest),
    );
    // A test file may have only rows that are shorter than those in training.
    (start <= end).then_some((start - around, end + around))
}
