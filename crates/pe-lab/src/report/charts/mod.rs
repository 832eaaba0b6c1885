//! The charts of a report. They can be read at half their size and without colours.

mod bars;
pub mod cost;
mod depth;
mod forecast;
pub mod heat;
mod language;
mod length;
mod loss;
pub mod overview;
mod panel;
mod position;
mod series;

pub use panel::{Figure, stem};

use super::data::Data;
use super::summary::TaskSummary;
use crate::error::LabError;

pub struct TaskFigures {
    /// Accuracy by scheme; by length, if there are several; by position, if answers are read at several
    /// positions; and by depth and length, if something is asked for at a depth. A forecast has one over time. A language model has charts of its own
    /// by length and position.
    pub scores: Vec<Figure>,
    /// The learning curves.
    pub losses: Vec<Figure>,
}

/// Draws the charts of one task. A task without any result has none.
pub fn of_task(data: &Data<'_>, task: &TaskSummary) -> Result<TaskFigures, LabError> {
    let mut scores = Vec::new();
    if let Some(language) = &task.language {
        scores.extend(language::draw(data, task, language)?);
    }
    scores.extend(bars::draw(data, task)?);
    if task.language.is_none() {
        if !task.has_one_length() {
            scores.extend(length::draw(data, task)?);
        }
        scores.extend(forecast::draw(data, task)?);
        scores.extend(position::draw(data, task)?);
        scores.extend(depth::draw(data, task)?);
    }
    Ok(TaskFigures {
        scores,
        losses: loss::draw(data, task)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::Summary;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn every_chart_is_drawn_named_and_well_formed() {
        let study = Synthetic::large(3);
        let data = study.data();
        let summary = Summary::of(&data);
        let mut figures = heat::draw(&summary).unwrap();
        for task in &data.tasks {
            let of_task = of_task(&data, task).unwrap();
            let kinds = if task.name == "digits" { 1 } else { 3 };
            assert_eq!(of_task.scores.len(), kinds, "{}", task.name);
            figures.extend(of_task.scores);
            assert_eq!(of_task.losses.len(), 2, "{}", task.name);
            figures.extend(of_task.losses);
        }
        assert_eq!(figures.len(), 1 + 9 * 3 + 8 * 2);
        for figure in figures {
            let tree = resvg::usvg::roxmltree::Document::parse(&figure.svg).unwrap();
            let root = tree.root_element();
            assert_eq!(root.attribute("role"), Some("img"), "{}", figure.name);
            // The title is the first text that a page draws.
            let mut texts = tree.descendants().filter(|node| node.has_tag_name("text"));
            let title = texts.next().unwrap().text().unwrap().trim();
            assert_eq!(root.attribute("aria-label"), Some(title));
            let mut nodes = tree.descendants();
            assert!(nodes.all(|node| node.attribute("id").is_none()));
            // No text lies outside of the picture. Coordinates are those of the view box.
            let view = root.attribute("viewBox").unwrap();
            let width: f64 = view.split(' ').nth(2).unwrap().parse().unwrap();
            for text in tree.descendants().filter(|node| node.has_tag_name("text")) {
                let x: f64 = text.attribute("x").unwrap().parse().unwrap();
                assert!((0.0..=width).contains(&x), "{}", figure.name);
            }
        }
    }
}
