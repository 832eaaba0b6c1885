//! Heat maps of depth and length, one for each scheme, of a task that asks for something at a depth.

use super::heat::{SCALE, scale};
use super::panel::{Figure, WIDTH, cell, figure, stem};
use crate::draw::{Page, Rect, Words};
use crate::error::LabError;
use crate::learn::DEPTHS;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::stats::mean;

/// Maps beside each other.
const COLUMNS: usize = 2;
const PANEL: i32 = WIDTH / COLUMNS as i32;
/// The height of a map's title, of a row of cells, and of the lengths below them.
const TITLE: i32 = 24;
const ROW: i32 = 24;
const FOOT: i32 = 40;
const HEIGHT: i32 = TITLE + DEPTHS as i32 * ROW + FOOT;
/// The room for the depths on the left of the cells, and the free space on their right.
const LEFT: i32 = 62;
const RIGHT: i32 = 8;
/// The gap between the lengths inside training and those beyond.
const GAP: i32 = 5;
const SIZE: f64 = 10.0;

/// The normalized scores of one scheme: by length, then by depth. `None` where nothing was asked.
struct Map<'a> {
    scheme: &'a str,
    columns: Vec<[Option<f64>; DEPTHS]>,
}

/// Draws the maps; `None` if no result has scores by depth.
pub fn draw(data: &Data<'_>, task: &TaskSummary) -> Result<Option<Figure>, LabError> {
    let lengths: Vec<usize> = task.lengths.concat();
    let schemes = data.origin.schemes().iter();
    let maps = schemes.map(|scheme| map(data, task, scheme, &lengths));
    let is_drawn = |map: &Map<'_>| map.columns.iter().flatten().any(Option::is_some);
    let maps: Vec<Map<'_>> = maps.filter(is_drawn).collect();
    if maps.is_empty() {
        return Ok(None);
    }
    let rows = maps.len().div_ceil(COLUMNS) as i32;
    figure(
        (WIDTH, rows * HEIGHT + SCALE),
        stem("depth", &task.name),
        &format!("{}: score by depth and length", task.title),
        "Depth is where in the sequence lies what is asked for, from its beginning (top) to its end (bottom), in \
         fifths. Numbers are normalized scores, means over seeds: 0 is the floor of the length, 1 means that every \
         answer is correct. The gap divides the training lengths from longer ones."
            .into(),
        &[],
        |page, top| {
            for (nth, map) in maps.iter().enumerate() {
                let left = (nth % COLUMNS) as i32 * PANEL;
                let top = top + (nth / COLUMNS) as i32 * HEIGHT;
                panel(page, (left, top), map, &lengths, task.lengths[0].len())?;
            }
            let one = match task.measure.is_accuracy() {
                true => "1: all correct",
                false => "1: perfect",
            };
            scale(page, top + rows * HEIGHT, ["0: the floor", one])
        },
    )
    .map(Some)
}

/// The means over the seeds of a scheme.
fn map<'a>(data: &Data<'_>, task: &TaskSummary, scheme: &'a str, lengths: &[usize]) -> Map<'a> {
    let of_cell = |length: usize, depth: usize| {
        let scores = data.measured(&task.name, scheme);
        let cells = scores.filter_map(|(_, measures)| {
            let score = measures.scores.iter().find(|s| s.length == length)?;
            let cell = score.by_depth.iter().find(|cell| cell.fifth == depth)?;
            Some(cell.score.over(score.floor))
        });
        mean(cells)
    };
    let column = |length: &usize| std::array::from_fn(|depth| of_cell(*length, depth));
    Map {
        scheme,
        columns: lengths.iter().map(column).collect(),
    }
}

fn panel(
    page: &Page,
    (left, top): (i32, i32),
    map: &Map<'_>,
    lengths: &[usize],
    inside: usize,
) -> Result<(), LabError> {
    let cells = left + LEFT;
    let width = (PANEL - LEFT - RIGHT - GAP) / lengths.len().max(1) as i32;
    let middle = cells + (PANEL - LEFT - RIGHT) / 2;
    page.text((middle, top + TITLE - 5), map.scheme, 12.0, Words::ABOVE)?;
    let first = top + TITLE;
    for (at, name) in [
        (0, "beginning"),
        (DEPTHS / 2, "middle"),
        (DEPTHS - 1, "end"),
    ] {
        let y = first + at as i32 * ROW + ROW / 2;
        page.text((cells - 5, y), name, SIZE, Words::MIDDLE_RIGHT)?;
    }
    for (nth, (length, column)) in lengths.iter().zip(&map.columns).enumerate() {
        let x = cells + nth as i32 * width + if nth >= inside { GAP } else { 0 };
        for (depth, normalized) in column.iter().enumerate() {
            let rect = Rect {
                left: x,
                top: first + depth as i32 * ROW,
                width: width - 1,
                height: ROW - 1,
            };
            cell(page, rect, *normalized, (1, SIZE))?;
        }
        let below = first + DEPTHS as i32 * ROW + 3;
        let at = (x + width / 2, below);
        page.text(at, &length.to_string(), SIZE, Words::BELOW)?;
    }
    let below = first + DEPTHS as i32 * ROW + 17;
    page.text((middle, below), "length (tokens)", SIZE, Words::BELOW)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::learn::DepthScore;
    use crate::report::synthetic::Synthetic;

    /// A study of one task with two lengths, of which the schemes in `with` have scores by depth.
    fn study(with: &[&str]) -> Synthetic {
        let schemes = ["rotary", "none", "t5"];
        let at = [(20, 0.85), (40, 0.5)];
        Synthetic::each(&["passkey"], &schemes, 2, |_, _, _| at).change(|scheme, seed, measures| {
            // At length 20, depth 4: 0.81 and 0.89, normalized 0.8 on average.
            let apart = if seed == 1 { -0.04 } else { 0.04 };
            for score in &mut measures.scores {
                let at = |fifth| DepthScore {
                    fifth,
                    asked: 300,
                    score: score.score.with(score.score.value() + apart),
                };
                let fifths = (0..DEPTHS).filter(|fifth| with.contains(&scheme) && *fifth != 1);
                score.by_depth = fifths.map(at).collect();
            }
        })
    }

    #[test]
    fn every_scheme_with_depths_has_a_map_of_means_over_seeds() {
        let study = study(&["rotary", "t5"]);
        let data = study.data();
        let task = &data.tasks[0];
        let drawn = draw(&data, task).unwrap().unwrap();
        assert_eq!(drawn.name, "depth-passkey");
        for (text, count) in [(">rotary<", 1), (">t5<", 1), (">none<", 0), (">0.8<", 8)] {
            let svg = drawn.svg.replace('\n', "");
            assert_eq!(svg.matches(text).count(), count, "{text}");
        }
        let map = map(&data, task, "rotary", &[20, 40]);
        assert!((map.columns[0][4].unwrap() - 0.8).abs() < 1e-12);
        assert!((map.columns[1][0].unwrap() - (0.5 - 0.2) / 0.8).abs() < 1e-12);
        assert_eq!(map.columns[0][1], None);
        // Without depths there is no map.
        let study = self::study(&[]);
        assert!(draw(&study.data(), task).unwrap().is_none());
    }
}
