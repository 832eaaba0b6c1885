//! The heat map: the score of every scheme on every task.

use super::panel::{Figure, WIDTH, cell, figure};
use crate::draw::colour::score;
use crate::draw::{Page, Rect, Words, label_width, text_width};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::summary::{Summary, TaskSummary};

/// The height of a row of cells.
const ROW: i32 = 30;
/// The height of a panel's title, and of the scale below all panels.
const TITLE: i32 = 26;
pub const SCALE: i32 = 44;
const SIZE: f64 = 12.0;
/// The most room for the names of the tasks; longer ones are set in smaller letters.
const LEFT: i32 = 240;

/// The heat map. A study of one task has none: the charts of the task show as much.
pub fn draw(summary: &Summary) -> Result<Vec<Figure>, LabError> {
    let parts: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| summary.schemes.iter().any(|s| s.part(*part).is_some()))
        .collect();
    if parts.is_empty() || summary.tasks.len() < 2 {
        return Ok(Vec::new());
    }
    let grid = Grid::of(summary);
    let heights: Vec<i32> = parts
        .iter()
        .map(|part| grid.height(summary.tasks.iter().filter(|t| t.has(*part)).count()))
        .collect();
    let all_shares = summary.tasks.iter().all(|task| task.measure.is_accuracy());
    let has_floors = summary.tasks.iter().any(TaskSummary::has_floor);
    let ends = match (has_floors, all_shares) {
        (false, _) => ["0", "1"],
        (true, true) => ["0: the floor", "1: all correct"],
        (true, false) => ["0: the floor", "1: perfect"],
    };
    let height = heights.iter().sum::<i32>() + SCALE;
    let drawn = figure(
        (WIDTH, height),
        "heat-map".into(),
        match has_floors {
            true => "Normalized score of every scheme on every task",
            false => "Score of every scheme on every task",
        },
        format!(
            "{}The numbers are means over seeds. A cell without a number has no result.",
            match (has_floors, all_shares) {
                (false, _) => "",
                (true, true) =>
                    "0 is the floor, which takes no skill; 1 means that every answer is correct. ",
                (true, false) => "0 is the floor, which takes no skill; 1 means a perfect score. ",
            }
        ),
        &[],
        |page, mut top| {
            for (part, height) in parts.iter().zip(heights) {
                let name = match (part, summary.has_two_parts()) {
                    (Part::Inside, true) if !has_floors => "inside the training lengths",
                    (Part::Inside, true) => "inside the training lengths, or held-out data",
                    (Part::Inside, false) if !has_floors => "as given",
                    (Part::Inside, false) => "on held-out data",
                    (Part::Beyond, _) => part.in_words(summary.resolutions()),
                };
                grid.panel(page, top, summary, *part, name)?;
                top += height;
            }
            scale(page, top, ends)
        },
    )?;
    Ok(vec![drawn])
}

/// Where the cells of a panel lie.
struct Grid {
    left: i32,
    column: i32,
    /// Whether the names of the schemes are wider than a column and have to be turned.
    turned: bool,
    /// The height of the names of the schemes.
    names: i32,
}

impl Grid {
    fn of(summary: &Summary) -> Self {
        let widest = |names: &mut dyn Iterator<Item = &String>| {
            let names: Vec<(f64, String)> = names.map(|name| (0.0, name.clone())).collect();
            label_width(&names)
        };
        let tasks = widest(&mut summary.tasks.iter().map(|task| &task.title));
        let schemes = widest(&mut summary.schemes.iter().map(|scheme| &scheme.scheme));
        let left = (tasks + 22).clamp(60, LEFT);
        let columns = summary.schemes.len().max(1) as i32;
        let column = ((WIDTH - left - 12) / columns).min(110);
        let turned = schemes + 6 > column;
        Self {
            left,
            column,
            turned,
            names: if turned { schemes + 8 } else { 24 },
        }
    }

    fn height(&self, rows: usize) -> i32 {
        TITLE + self.names + rows as i32 * ROW + 12
    }

    fn panel(
        &self,
        page: &Page,
        top: i32,
        summary: &Summary,
        part: Part,
        name: &str,
    ) -> Result<(), LabError> {
        page.text((12, top + TITLE / 2), name, 13.0, Words::MIDDLE_LEFT)?;
        let first = top + TITLE + self.names;
        let column = |nth: usize| self.left + nth as i32 * self.column;
        for (nth, scheme) in summary.schemes.iter().enumerate() {
            let words = match self.turned {
                true => Words::UPWARDS,
                false => Words::ABOVE,
            };
            let at = (column(nth) + self.column / 2, first - 5);
            page.text(at, &scheme.scheme, SIZE, words)?;
        }
        for (row, task) in summary.tasks.iter().filter(|t| t.has(part)).enumerate() {
            let y = first + row as i32 * ROW;
            let at = (self.left - 8, y + ROW / 2);
            let room = f64::from(self.left - 16) / f64::from(text_width(&task.title, SIZE));
            page.text(at, &task.title, SIZE * room.min(1.0), Words::MIDDLE_RIGHT)?;
            for (nth, scheme) in task.schemes.iter().enumerate() {
                let rect = Rect {
                    left: column(nth),
                    top: y,
                    width: self.column - 1,
                    height: ROW - 1,
                };
                let score = scheme.part(part).map(|group| group.normalized);
                // A column of many is too narrow for letters of the usual size.
                let size = SIZE.min(f64::from(self.column - 2) / 2.3);
                cell(page, rect, score, (2, size))?;
            }
        }
        Ok(())
    }
}

/// The bar that says which colour is which score, with what stands at its ends.
pub fn scale(page: &Page, top: i32, [zero, one]: [&str; 2]) -> Result<(), LabError> {
    const STEPS: i32 = 60;
    const STEP: i32 = 5;
    let (left, width) = ((WIDTH - STEPS * STEP) / 2, STEPS * STEP);
    for step in 0..STEPS {
        // Each step overlaps the next one by a pixel, so that no gap shows between them.
        let rect = Rect {
            left: left + step * STEP,
            top: top + 6,
            width: if step + 1 < STEPS { STEP + 1 } else { STEP },
            height: 12,
        };
        page.fill(rect, score(f64::from(step) / f64::from(STEPS - 1)))?;
    }
    for (text, x) in [(zero, left), ("0.5", left + width / 2), (one, left + width)] {
        page.text((x, top + 24), text, SIZE, Words::BELOW)?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::Synthetic;

    /// A number behind ` NAME="` in a line of SVG.
    fn number(line: &str, name: &str) -> f64 {
        let (_, rest) = line.split_once(&format!(" {name}=\"")).unwrap();
        rest.split('"').next().unwrap().parse().unwrap()
    }

    #[test]
    fn long_names_are_whole() {
        let long = "rotary(base=500000,share=0.25,scaling=yarn,factor=4,original=22,nope_every=4)";
        let schemes = [long, "none", "t5", "alibi", "xpos", "fire"];
        let tasks = [
            "reverse",
            "mqar(tokens=512,pairs=128,vocabulary=65536)(causal)",
        ];
        let study = Synthetic::each(&tasks, &schemes, 1, |_, _, _| [(20, 0.9), (40, 0.5)]);
        let figures = draw(&Summary::of(&study.data())).unwrap();
        let svg = &figures[0].svg;
        let lines: Vec<&str> = svg.lines().collect();
        let of = |text: &str| -> Vec<&str> {
            let pairs = lines.windows(2).filter(|pair| pair[1].trim() == text);
            pairs.map(|pair| pair[0]).collect()
        };
        // Pictures have four units to a pixel.
        let mut above = f64::from(4 * TITLE);
        for line in of(schemes[0]) {
            // It is set upwards from its point.
            let top =
                number(line, "y") - f64::from(text_width(schemes[0], number(line, "font-size")));
            assert!(top > above, "{line}");
            above = number(line, "y");
        }
        assert_eq!(of(schemes[0]).len(), 2);
        for line in of(tasks[1]) {
            // It ends at its point.
            let left =
                number(line, "x") - f64::from(text_width(tasks[1], number(line, "font-size")));
            assert!(left > 0.0, "{line}");
        }
        assert_eq!(of(tasks[1]).len(), 2);
    }
}
