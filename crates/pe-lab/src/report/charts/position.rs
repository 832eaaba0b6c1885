//! The score by position. An average over a sequence would hide the step down where the positions that
//! training saw end.

use super::panel::{draw_floor, figure, floor, floor_key, panel, stem, trained_key};
use super::scale::{bounds, scale};
use super::series::{Series, legend, series};
use crate::draw::{Axis, Page};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};
use crate::report::figure::Figure;
use crate::task::Measure;

const HEIGHT: i32 = 236;

/// The curves at one tested length.
struct Curves {
    length: usize,
    all: Vec<Series>,
    floor: Option<f64>,
}

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    let floor = floor(data, task);
    let panels: Vec<Curves> = lengths(task)
        .into_iter()
        .map(|length| {
            let all = series(data, task, bounds(&task.measure), |measures| {
                let scores = measures
                    .scores
                    .iter()
                    .filter(|score| score.length == length);
                let places = scores.flat_map(|score| &score.by_position);
                places
                    .map(|place| (place.position, place.score.value()))
                    .collect()
            });
            let floor = floor.iter().find(|at| at.0 == length as f64);
            Curves {
                length,
                all,
                floor: floor.map(|at| at.1),
            }
        })
        // If answers are read at one position only, there is no curve.
        .filter(|panel| panel.all.iter().any(|series| series.mean.len() > 1))
        .collect();
    let Some(first) = panels.first() else {
        return Ok(None);
    };
    let mut entries = legend(&first.all);
    entries.push(floor_key("floor"));
    if task.train_lengths.is_some() {
        entries.push(trained_key("positions seen in training"));
    }
    figure(
        stem("position", &task.name),
        format!("{}: {} by position", task.title, task.measure.name()),
        format!(
            "The mean over seeds at each position of sequences of one length; if there are few schemes, with \
         its 95 % interval over seeds. A step {} at the end of the shade means that the scheme fails at \
             positions it was not trained on.",
            match task.measure.is_accuracy() {
                true => "down",
                false => "up",
            }
        ),
        HEIGHT * panels.len() as i32,
        &entries,
        |page, top| {
            let tops = (top..).step_by(HEIGHT as usize);
            for (curves, top) in panels.iter().zip(tops) {
                curves.draw(page, top, task)?;
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

impl Curves {
    fn draw(&self, page: &mut Page, top: i32, task: &TaskFacts) -> Result<(), LabError> {
        let last = self.all.iter().flat_map(|series| &series.mean);
        let last = last.map(|at| at.0).fold(1.0, f64::max);
        let end = last * 1.02;
        let name = format!("position in a sequence of {} tokens", self.length);
        let x = Axis::round(&name, 0.0..end, 9);
        let y = match &task.measure {
            // Where whole answers are scored, it is the accuracy of each token of them.
            Measure::Accuracy | Measure::ExactMatch => Axis::round("accuracy", 0.0..1.04, 6),
            _ => scale(task, "", &self.all, 0.04),
        };
        let trained = task.train_lengths.as_ref();
        let trained = trained.map(|trained| (0.5, (*trained.end() as f64 + 0.5).min(end)));
        let mut chart = panel(page, (top, HEIGHT), x, &y, trained)?;
        if let Some(floor) = self.floor {
            draw_floor(&mut chart, &[(0.0, floor), (end, floor)])?;
        }
        for series in &self.all {
            series.draw_band(&mut chart)?;
        }
        for (nth, series) in self.all.iter().enumerate() {
            series.draw_line(&mut chart)?;
            series.draw_some_markers(&mut chart, nth, 8)?;
        }
        Ok(())
    }
}
