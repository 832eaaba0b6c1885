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
use crate::data::digest;
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
        if task.has_lengths() && !task.has_one_length() {
            scores.extend(length::draw(data, task)?);
        }
        scores.extend(forecast::draw(data, task)?);
        scores.extend(position::draw(data, task)?);
        scores.extend(depth::draw(data, task)?);
    }
    let mut losses = loss::draw(data, task)?;
    if is_named_as_an_earlier_one(data, task) {
        let digest = &digest(task.name.as_bytes())[..8];
        for figure in scores.iter_mut().chain(&mut losses) {
            figure.name = format!("{}-{digest}", figure.name);
        }
    }
    Ok(TaskFigures { scores, losses })
}

/// Whether the figures of a task before this one have the same names: of a task's name only some letters stay.
fn is_named_as_an_earlier_one(data: &Data<'_>, task: &TaskSummary) -> bool {
    let earlier = data.tasks.iter().take_while(|of| of.name != task.name);
    let name = |task: &TaskSummary| stem("", &task.name);
    earlier.map(name).any(|earlier| earlier == name(task))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::summary::Summary;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn tasks_whose_names_differ_in_other_letters_have_charts_of_other_names() {
        let study = Synthetic::each(
            &["deutsch\u{e4}", "deutsch\u{f6}"],
            &["a", "b"],
            3,
            |_, _, _| [(10, 0.9), (40, 0.5)],
        );
        let data = study.data();
        let figures = data.tasks.iter().flat_map(|task| {
            let of_task = of_task(&data, task).unwrap();
            [of_task.scores, of_task.losses].concat()
        });
        let names: Vec<String> = figures.map(|figure| figure.name).collect();
        assert!(names.contains(&"bars-deutsch_".to_string()), "{names:?}");
        assert_eq!(crate::grouped::once(names.clone()), names);
    }

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
