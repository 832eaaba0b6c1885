//! What the charts of a report share: the size of the page, a panel with axes and lines, cells with a number, the floor, file names.

use super::series::Series;
use crate::data::digest;
use crate::draw::colour::{REFERENCE, Rgb, SHADE, ink_on, score};
use crate::draw::{
    Axis, Chart, Key, Lines, Page, Rect, Side, Stroke, Words, legend_height, line, page,
};
use crate::error::LabError;
use crate::report::data::Data;
use crate::report::summary::TaskSummary;
use crate::report::words::fixed;

/// The width of most charts in pixels. Two of them fit side by side on a desk, and on a phone one is
/// shown at about 60 % of its size.
pub const WIDTH: i32 = 600;
/// The most bytes of the name of a figure.
const LONGEST_STEM: usize = 200;
/// The free space on the left, and on the right of a panel.
const LEFT: i32 = 8;
const RIGHT: i32 = 18;
/// The height of a horizontal axis with its labels and its name.
const AXIS: i32 = 58;
/// Where the first panel starts, below the title.
const TOP: i32 = 46;
const LEGEND_LEFT: i32 = 14;

/// A picture of the report with its words.
#[derive(Clone, Debug)]
pub struct Figure {
    /// Its file name without the ending. No other figure of the report has it.
    pub name: String,
    /// How to read it.
    pub caption: String,
    /// The picture: an SVG document.
    pub svg: String,
}

/// Draws a chart: a title, `height` pixels for what `paint` draws from the given top on, and a legend.
pub fn figure(
    (width, height): (i32, i32),
    name: String,
    title: &str,
    caption: String,
    legend: &[(Key, String)],
    paint: impl FnOnce(&mut Page, i32) -> Result<(), LabError>,
) -> Result<Figure, LabError> {
    let room = width - 2 * LEGEND_LEFT;
    let size = (width, TOP + height + legend_height(legend, room) + 4);
    let svg = page(size, title, &[], |page| {
        paint(page, TOP)?;
        page.legend_in_rows((LEGEND_LEFT, TOP + height), room, legend)
    })?;
    Ok(Figure { name, caption, svg })
}

/// Lines on two axes.
pub struct Panel<'a> {
    pub x: Axis,
    pub y: Axis,
    pub height: i32,
    /// The range of the horizontal axis that training saw, which is shaded.
    pub trained: Option<(f64, f64)>,
    /// Lines behind those of the schemes.
    pub behind: Vec<(Vec<(f64, f64)>, Stroke)>,
    pub series: &'a [Series],
    /// About how many markers a line has; without it every seed and every mean has one.
    pub markers: Option<usize>,
}

impl Panel<'_> {
    /// Draws panels below each other, with one legend.
    pub fn figure(
        panels: &[Self],
        name: String,
        title: &str,
        caption: String,
        legend: &[(Key, String)],
    ) -> Result<Figure, LabError> {
        let height = panels.iter().map(|panel| panel.height).sum();
        let size = (WIDTH, height);
        figure(size, name, title, caption, legend, |page, mut top| {
            for panel in panels {
                panel.draw(page, top)?;
                top += panel.height;
            }
            Ok(())
        })
    }

    fn draw(&self, page: &mut Page, top: i32) -> Result<(), LabError> {
        let place = (top, self.height);
        let mut chart = panel(page, place, self.x.clone(), &self.y, self.trained)?;
        for (points, stroke) in &self.behind {
            line(&mut chart, points, *stroke)?;
        }
        for series in self.series {
            series.draw_band(&mut chart)?;
        }
        for (nth, series) in self.series.iter().enumerate() {
            let stroke = series.look.stroke();
            match self.markers {
                Some(count) => {
                    line(&mut chart, &series.mean, stroke)?;
                    // The markers of each line start at another point, so that they do not hide each other.
                    let every = (series.mean.len() / count).max(1);
                    let some = series.mean.iter().skip(nth % every).step_by(every);
                    series.draw_markers(&mut chart, some, 4, 1.0)?;
                }
                None => {
                    series.draw_markers(&mut chart, &series.points, 3, 0.45)?;
                    line(&mut chart, &series.mean, stroke)?;
                    series.draw_markers(&mut chart, &series.mean, 5, 1.0)?;
                }
            }
        }
        Ok(())
    }
}

/// Draws the axes of a panel over the whole width. The range `trained` of the horizontal axis is shaded.
pub fn panel<'a>(
    page: &mut Page<'a, '_>,
    (top, height): (i32, i32),
    x: Axis,
    y: &Axis,
    trained: Option<(f64, f64)>,
) -> Result<Chart<'a>, LabError> {
    let rect = inside(WIDTH, top, height - AXIS, y);
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

/// Where the inside of a chart lies, beside its vertical axis.
fn inside(width: i32, top: i32, height: i32, y: &Axis) -> Rect {
    let left = LEFT + y.margin();
    Rect {
        left,
        top,
        width: width - RIGHT - left,
        height,
    }
}

/// A chart with a row of so many pixels for each name, the first on top.
pub struct Rows {
    pub width: i32,
    pub row: i32,
    pub x: Axis,
    pub y: Axis,
}

impl Rows {
    /// Draws it. `paint` gets the middle of every row.
    pub fn figure(
        &self,
        name: String,
        title: &str,
        caption: String,
        legend: &[(Key, String)],
        paint: impl FnOnce(&Page, &mut Chart, Rect, &[f64]) -> Result<(), LabError>,
    ) -> Result<Figure, LabError> {
        let rows: Vec<f64> = self.y.ticks.iter().map(|tick| tick.0).collect();
        let height = rows.len() as i32 * self.row;
        let (size, y) = ((self.width, height + AXIS), &self.y);
        figure(size, name, title, caption, legend, |page, top| {
            let rect = inside(self.width, top, height, y);
            let x = self.x.clone().horizontal(rect.width);
            let mut chart = page.chart(rect, &x, (y, Side::Left), Lines::Vertical)?;
            paint(page, &mut chart, rect, &rows)
        })
    }
}

/// Draws a cell in the colour of a normalized score, with its number; empty where there is none.
pub fn cell(
    page: &Page,
    rect: Rect,
    normalized: Option<f64>,
    (decimals, size): (usize, f64),
) -> Result<(), LabError> {
    let Some(normalized) = normalized else {
        return page.outline(rect);
    };
    let colour: Rgb = score(normalized);
    page.fill(rect, colour)?;
    // A cell has a pixel of its own to the right and below.
    let middle = (
        rect.left + (rect.width + 1) / 2,
        rect.top + (rect.height + 1) / 2,
    );
    let words = Words::CENTERED.in_colour(ink_on(colour));
    page.text(middle, &fixed(normalized, decimals), size, words)
}

/// The floor of a task at every tested length.
pub fn floor(data: &Data<'_>, task: &TaskSummary) -> Vec<(f64, f64)> {
    let scores = data
        .of_task(&task.name)
        .flat_map(|measures| &measures.scores);
    let floor = scores.map(|score| (score.length as f64, score.floor));
    let mut floor: Vec<(f64, f64)> = floor.collect();
    floor.sort_by(|a, b| a.0.total_cmp(&b.0));
    floor.dedup_by_key(|at| at.0);
    floor
}

/// How a floor is drawn.
pub fn of_floor() -> Stroke {
    Stroke::dashed(REFERENCE)
}

/// The legend's entry for a floor, and for what else is dashed.
pub fn floor_key(text: impl Into<String>) -> (Key, String) {
    (Key::Line(of_floor(), None), text.into())
}

/// The legend's entry for what training saw.
pub fn trained_key(text: &str) -> (Key, String) {
    (Key::Area(SHADE), text.into())
}

/// The name of a figure, fit for a file and for a link in a page: letters, digits, `-` and `_` stay. A long name is cut, and ends in some
/// digits of its digest.
pub fn stem(kind: &str, of: &str) -> String {
    let is_plain = |c: char| c.is_ascii_alphanumeric() || c == '_' || c == '-';
    let stem = format!("{kind}-{of}").replace(|c| !is_plain(c), "_");
    match stem.len() > LONGEST_STEM {
        true => format!("{}-{}", &stem[..LONGEST_STEM], &digest(of.as_bytes())[..8]),
        false => stem,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_file_name_is_made_of_harmless_letters() {
        assert_eq!(stem("chart", "reverse"), "chart-reverse");
        assert_eq!(stem("chart", "../<b>"), "chart-____b_");
        assert_eq!(stem("similarity-a(b=5)", "x"), "similarity-a_b_5_-x");
        let long = |end: &str| stem("bars", &format!("{}{end}", "a".repeat(600)));
        assert!(long("x").len() < 220 && long("x") != long("y"));
    }
}
