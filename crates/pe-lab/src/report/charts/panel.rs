//! What the charts of a report share: the size of the page, a panel with axes, the floor, file names.

use crate::draw::colour::{REFERENCE, SHADE};
use crate::draw::{Axis, Chart, Key, Lines, Page, Rect, Side, Stroke, legend_height, line, page};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};
use crate::report::figure::Figure;

/// The width of most charts in pixels. Two of them fit side by side on a desk, and on a phone one is
/// shown at about 60 % of its size.
pub const WIDTH: i32 = 600;
/// The free space on the left, and on the right of a panel.
pub const LEFT: i32 = 8;
pub const RIGHT: i32 = 18;
/// The height of a horizontal axis with its labels and its name.
pub const AXIS: i32 = 58;
/// Where the first panel starts, below the title.
const TOP: i32 = 46;
const LEGEND_LEFT: i32 = 14;

/// Draws a chart: a title, `height` pixels for what `paint` draws from the given top on, and a legend.
pub fn figure(
    name: String,
    title: String,
    caption: String,
    height: i32,
    legend: &[(Key, String)],
    paint: impl FnOnce(&mut Page, i32) -> Result<(), LabError>,
) -> Result<Figure, LabError> {
    let room = WIDTH - 2 * LEGEND_LEFT;
    let with_legend = height + legend_height(legend, room);
    figure_of_width(WIDTH, name, title, caption, with_legend, |page, top| {
        paint(page, top)?;
        page.legend_in_rows((LEGEND_LEFT, top + height), room, legend)
    })
}

/// Draws a chart without a legend that is so many pixels wide.
pub fn figure_of_width(
    width: i32,
    name: String,
    title: String,
    caption: String,
    height: i32,
    paint: impl FnOnce(&mut Page, i32) -> Result<(), LabError>,
) -> Result<Figure, LabError> {
    let size = (width, TOP + height + 4);
    let svg = page(size, &title, &[], |page| paint(page, TOP))?;
    Ok(Figure {
        name,
        title,
        caption,
        svg,
    })
}

/// Draws a panel with two axes over the whole width. The range `trained` of the horizontal axis is
/// shaded.
pub fn panel<'a>(
    page: &mut Page<'a, '_>,
    (top, height): (i32, i32),
    x: Axis,
    y: &Axis,
    trained: Option<(f64, f64)>,
) -> Result<Chart<'a>, LabError> {
    let left = LEFT + y.margin();
    let rect = Rect {
        left,
        top,
        width: WIDTH - RIGHT - left,
        height: height - AXIS,
    };
    if let Some((from, to)) = trained {
        let place = |value| x.place(value, (rect.left, rect.left + rect.width));
        let shaded = Rect {
            left: place(from),
            width: place(to) - place(from),
            ..rect
        };
        page.fill(shaded, SHADE)?;
    }
    let x = x.horizontal(rect.width);
    page.chart(rect, &x, (y, Side::Left), Lines::Both)
}

/// The floor of a task at every tested length.
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

/// Draws a floor.
pub fn draw_floor(chart: &mut Chart<'_>, floor: &[(f64, f64)]) -> Result<(), LabError> {
    line(chart, floor, Stroke::dashed(REFERENCE))
}

/// The legend's entry for a floor.
pub fn floor_key(text: impl Into<String>) -> (Key, String) {
    (Key::Line(Stroke::dashed(REFERENCE), None), text.into())
}

/// The legend's entry for what training saw.
pub fn trained_key(text: &str) -> (Key, String) {
    (Key::Area(SHADE), text.into())
}

/// The name of a figure, fit for a file and for a link in a page: letters, digits, `-` and `_` stay.
pub fn stem(kind: &str, of: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            c
        } else {
            '_'
        }
    };
    format!("{kind}-{of}").chars().map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_made_of_harmless_letters() {
        assert_eq!(stem("chart", "reverse"), "chart-reverse");
        assert_eq!(stem("chart", "../<b>"), "chart-____b_");
        assert_eq!(stem("similarity-a(b=5)", "x"), "similarity-a_b_5_-x");
    }
}
