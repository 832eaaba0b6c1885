//! A page with a title, and what can be put on it: texts, charts, images, legends, colour bars.
//!
//! `plotters` draws on whole pixels. A page is drawn four times as large and shown at a quarter of that
//! size, so a line is accurate to a quarter of a pixel.

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::axis::{Axis, Side};
use super::colour::Rgb;
use super::mark::{Chart, Marker, Stroke};
use super::raster::Image;
use super::unit::{LABEL, UNIT, failed, ink};
use crate::error::LabError;

/// `plotters` divides the size of a font by this to get its size in pixels.
const FONT_SIZE: f64 = 1.24;
const FONT: &str = "sans-serif";
const INK: Rgb = [40, 40, 40];
/// The size of a title, and its distance from the left edge of the page.
const TITLE: f64 = 17.0;
const TITLE_LEFT: i32 = 20;
/// The width of the line or area in front of a legend's text, and where the text starts.
const KEY: i32 = 26;
const KEY_TEXT: i32 = 34;
/// The distance between two rows of a legend.
const LEGEND_ROW: i32 = 20;

/// How a picture shows its images: with sharp edges.
pub(crate) const SHARP: &str = "style=\"image-rendering:optimizeSpeed;image-rendering:pixelated\"";

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;

/// A rectangle of the page, in pixels.
#[derive(Clone, Copy)]
pub(crate) struct Rect {
    pub left: i32,
    pub top: i32,
    pub width: i32,
    pub height: i32,
}

impl Rect {
    /// The inside of a chart of this size below a title and `lines` of subtitle, with room on its left for an axis.
    pub fn beside(axis: &Axis, lines: usize, (width, height): (i32, i32)) -> Self {
        Self {
            left: 20 + axis.margin(),
            top: below_subtitle(lines),
            width,
            height,
        }
    }
}

/// Which lines a chart has at its labels.
#[derive(Clone, Copy, PartialEq)]
pub(crate) enum Lines {
    None,
    /// At the labels of the horizontal axis.
    Vertical,
    /// At the labels of both axes.
    Both,
}

/// Draws a page, and returns its SVG. A screen reader finds the title as the picture's name.
///
/// # Errors
///
/// [`LabError::Drawing`] when the page has no size, or when `draw` fails.
pub(crate) fn page(
    (width, height): (i32, i32),
    title: &str,
    subtitle: &[String],
    draw: impl FnOnce(&mut Page) -> Result<(), LabError>,
) -> Result<String, LabError> {
    let [w, h] = [width, height].map(|length| u32::try_from(length * UNIT));
    let (Ok(w), Ok(h)) = (w, h) else {
        return Err(failed(format!("a page of {width} × {height}")));
    };
    let mut svg = String::new();
    let mut images = Vec::new();
    {
        let area = SVGBackend::with_string(&mut svg, (w, h)).into_drawing_area();
        area.fill(&WHITE)?;
        let mut page = Page {
            area: area.clone(),
            images: &mut images,
        };
        // A long name of the user's own must not run out of the page.
        let room = f64::from(width - 2 * TITLE_LEFT);
        let fitting = TITLE * (room / f64::from(text_width(title, TITLE))).min(1.0);
        page.text((TITLE_LEFT, 14), title, fitting, Words::HEADING)?;
        for (line, text) in subtitle.iter().enumerate() {
            page.text((20, 40 + 18 * line as i32), text, 13.0, Words::LEFT)?;
        }
        draw(&mut page)?;
        area.present()?;
    }
    // The page gets its own size and its name, and the images come right after the background.
    let svg = svg
        .replacen(
            &format!("width=\"{w}\" height=\"{h}\""),
            &format!("width=\"{width}\" height=\"{height}\""),
            1,
        )
        .replacen(
            " xmlns=",
            &format!(" role=\"img\" aria-label=\"{}\" xmlns=", escaped(title)),
            1,
        );
    let behind = svg.match_indices('\n').nth(1).map_or(0, |(end, _)| end + 1);
    let (background, rest) = svg.split_at(behind);
    Ok(format!("{background}{}{rest}", images.concat()))
}

/// The top of what is drawn below a title and `lines` of subtitle.
pub(crate) fn below_subtitle(lines: usize) -> i32 {
    52 + 18 * lines as i32
}

/// A text as the value of an attribute of XML or HTML.
pub(crate) fn escaped(text: &str) -> String {
    text.replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;")
}

/// The width of a text in pixels: an estimate, a little more than most fonts need.
pub(crate) fn text_width(text: &str, size: f64) -> i32 {
    (text.chars().count() as f64 * size * 0.58).ceil().max(1.0) as i32
}

/// How a text is set: where its point is, and what it looks like.
#[derive(Clone, Copy)]
pub(crate) struct Words {
    across: HPos,
    down: VPos,
    bold: bool,
    colour: Rgb,
    turned: bool,
}

impl Words {
    const fn at(across: HPos, down: VPos) -> Self {
        Self {
            across,
            down,
            bold: false,
            colour: INK,
            turned: false,
        }
    }

    /// The point is the upper left corner.
    pub const LEFT: Self = Self::at(HPos::Left, VPos::Top);
    /// The point is the middle.
    pub const CENTERED: Self = Self::at(HPos::Center, VPos::Center);
    /// The point is the middle of the left edge.
    pub const MIDDLE_LEFT: Self = Self::at(HPos::Left, VPos::Center);
    /// The point is the middle of the right edge.
    pub const MIDDLE_RIGHT: Self = Self::at(HPos::Right, VPos::Center);
    /// The point is the middle of the upper edge.
    pub const BELOW: Self = Self::at(HPos::Center, VPos::Top);
    /// The point is the middle of the lower edge.
    pub const ABOVE: Self = Self::at(HPos::Center, VPos::Bottom);
    /// Read from bottom to top; the point is where the text starts.
    pub const UPWARDS: Self = Self {
        turned: true,
        ..Self::MIDDLE_LEFT
    };
    const HEADING: Self = Self {
        bold: true,
        ..Self::LEFT
    };

    pub fn in_colour(self, colour: Rgb) -> Self {
        Self { colour, ..self }
    }
}

/// What stands in front of a text in a legend.
#[derive(Clone, Copy)]
pub(crate) enum Key {
    /// A line, with a marker if it has any.
    Line(Stroke, Option<Marker>),
    Area(Rgb),
}

/// Where the entries of a legend of this width start, row by row, counted from its upper left corner.
fn legend_places(entries: &[(Key, String)], width: i32) -> Vec<(i32, i32)> {
    let (mut x, mut y) = (0, LEGEND_ROW / 2);
    let place = |(_, text): &(Key, String)| {
        let needed = KEY_TEXT + text_width(text, f64::from(LABEL));
        if x > 0 && x + needed > width {
            (x, y) = (0, y + LEGEND_ROW);
        }
        let start = (x, y);
        x += needed + 16;
        start
    };
    entries.iter().map(place).collect()
}

/// The height of a legend of this width.
pub(crate) fn legend_height(entries: &[(Key, String)], width: i32) -> i32 {
    let last = legend_places(entries, width).last().map(|place| place.1);
    last.map_or(0, |y| y + LEGEND_ROW / 2 + 8)
}

/// A page that is being drawn.
pub(crate) struct Page<'a, 'i> {
    area: Area<'a>,
    images: &'i mut Vec<String>,
}

impl<'a> Page<'a, '_> {
    /// Writes a text of a size in pixels.
    pub fn text(
        &self,
        (x, y): (i32, i32),
        text: &str,
        size: f64,
        words: Words,
    ) -> Result<(), LabError> {
        self.text_at((x * UNIT, y * UNIT), text, size, words)
    }

    /// Writes a text at a point in `plotters`' pixels.
    fn text_at(
        &self,
        place: (i32, i32),
        text: &str,
        size: f64,
        words: Words,
    ) -> Result<(), LabError> {
        let style = if words.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let font = font(size).into_font().style(style);
        let font = match words.turned {
            true => font.transform(FontTransform::Rotate270),
            false => font,
        };
        let style = font
            .color(&ink(words.colour))
            .pos(Pos::new(words.across, words.down));
        Ok(self.area.draw_text(text, &style, place)?)
    }

    /// Draws the axes of a chart whose inside is `rect`. The labels lie outside of it.
    pub fn chart(
        &self,
        rect: Rect,
        x: &Axis,
        (y, side): (&Axis, Side),
        lines: Lines,
    ) -> Result<Chart<'a>, LabError> {
        let below = if x.ticks.is_empty() { 0 } else { 46 };
        let beside = y.margin();
        let left = if side == Side::Left { beside } else { 0 };
        let around = self.area.clone().shrink(
            ((rect.left - left) * UNIT, rect.top * UNIT),
            ((rect.width + beside) * UNIT, (rect.height + below) * UNIT),
        );
        let mut builder = ChartBuilder::on(&around);
        builder.x_label_area_size(below * UNIT);
        match side {
            Side::Left => builder.y_label_area_size(beside * UNIT),
            Side::Right => builder.right_y_label_area_size(beside * UNIT),
        };
        let mut chart = builder.build_cartesian_2d(x.clone(), y.clone())?;
        let line = ink(INK).mix(0.7).stroke_width(UNIT as u32);
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT)
            .bold_line_style(ink(INK).mix(0.12).stroke_width(UNIT as u32))
            .axis_style(line)
            .set_all_tick_mark_size(4 * UNIT)
            .label_style(font(f64::from(LABEL)).into_font().color(&ink(INK)))
            .axis_desc_style(font(13.0).into_font().color(&ink(INK)));
        match lines {
            Lines::None => mesh.disable_mesh(),
            Lines::Vertical => mesh.disable_y_mesh(),
            Lines::Both => &mut mesh,
        };
        if x.ticks.is_empty() {
            mesh.disable_x_axis();
        }
        if !x.name.is_empty() {
            mesh.x_desc(x.name.as_str());
        }
        if !y.name.is_empty() {
            mesh.y_desc(y.name.as_str());
        }
        if side == Side::Right {
            // `plotters` guesses the widths of labels on this side, and they end up uneven.
            mesh.y_label_style(font(f64::from(LABEL)).into_font().color(&TRANSPARENT));
        }
        mesh.draw()?;
        if side == Side::Right {
            let (start, end) = (rect.top + rect.height, rect.top);
            for (value, label) in &y.ticks {
                let middle = y.place(*value, (start * UNIT, end * UNIT));
                let place = ((rect.left + rect.width + 9) * UNIT, middle);
                self.text_at(place, label, f64::from(LABEL), Words::MIDDLE_LEFT)?;
            }
        }
        Ok(chart)
    }

    pub fn fill(&self, rect: Rect, colour: Rgb) -> Result<(), LabError> {
        let rectangle = Rectangle::new(corners(rect), ink(colour).filled());
        Ok(self.area.draw(&rectangle)?)
    }

    pub fn outline(&self, rect: Rect) -> Result<(), LabError> {
        let style = ink(INK).mix(0.3).stroke_width(UNIT as u32);
        Ok(self.area.draw(&Rectangle::new(corners(rect), style))?)
    }

    /// Draws an image that fills `rect`, sharp at any size. It lies behind everything else.
    pub fn image(&mut self, rect: Rect, image: &Image) {
        let Rect {
            left,
            top,
            width,
            height,
        } = rect;
        self.images.push(format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             {SHARP} href=\"{}\"/>\n",
            left * UNIT,
            top * UNIT,
            width * UNIT,
            height * UNIT,
            image.data_uri()
        ));
    }

    /// Draws a vertical bar that says which colour is which value.
    pub fn colour_bar(
        &mut self,
        (left, top, height): (i32, i32, i32),
        values: &Axis,
        map: fn(f64) -> Rgb,
        (from, to): (f64, f64),
    ) -> Result<(), LabError> {
        const STEPS: usize = 256;
        let at = |step: usize| to + (from - to) * step as f64 / (STEPS - 1) as f64;
        let colours: Vec<Rgb> = (0..STEPS).map(|step| map(at(step))).collect();
        let rect = Rect {
            left,
            top,
            width: 16,
            height,
        };
        self.image(rect, &Image::new(1, &colours)?);
        self.chart(
            rect,
            &Axis::bare(0.0, 1.0),
            (values, Side::Right),
            Lines::None,
        )?;
        Ok(())
    }

    /// Draws a legend with one entry below the other. `(x, y)` is the middle of the left edge of the
    /// first entry.
    pub fn legend(&self, (x, y): (i32, i32), entries: &[(Key, String)]) -> Result<(), LabError> {
        for (index, (key, text)) in entries.iter().enumerate() {
            self.legend_entry((x, y + LEGEND_ROW * index as i32), *key, text)?;
        }
        Ok(())
    }

    /// Draws a legend row by row. `(x, y)` is its upper left corner.
    pub fn legend_in_rows(
        &self,
        (x, y): (i32, i32),
        width: i32,
        entries: &[(Key, String)],
    ) -> Result<(), LabError> {
        for ((key, text), place) in entries.iter().zip(legend_places(entries, width)) {
            self.legend_entry((x + place.0, y + place.1), *key, text)?;
        }
        Ok(())
    }

    fn legend_entry(&self, (x, y): (i32, i32), key: Key, text: &str) -> Result<(), LabError> {
        match key {
            Key::Line(stroke, marker) => {
                let (dash, gap) = stroke.dash.unwrap_or((KEY, 1));
                let mut from = 0;
                while from < KEY {
                    let ends = [from, (from + dash).min(KEY)];
                    let ends = ends.map(|along| ((x + along) * UNIT, y * UNIT));
                    self.area.draw(&stroke.element(ends.to_vec()))?;
                    from += dash + gap;
                }
                if let Some(marker) = marker {
                    let middle = EmptyElement::at(((x + KEY / 2) * UNIT, y * UNIT));
                    self.area
                        .draw(&(middle + marker.element(5, stroke.colour, 1.0)))?;
                }
            }
            Key::Area(colour) => {
                let rect = Rect {
                    left: x,
                    top: y - 7,
                    width: KEY,
                    height: 14,
                };
                self.fill(rect, colour)?;
            }
        }
        self.text(
            (x + KEY_TEXT, y),
            text,
            f64::from(LABEL),
            Words::MIDDLE_LEFT,
        )
    }

    /// Draws an empty circle around the origin of a chart.
    pub fn circle(&self, chart: &Chart<'a>, radius: f64) -> Result<(), LabError> {
        let area = chart.plotting_area();
        let (center, edge) = (
            area.map_coordinate(&(0.0, 0.0)),
            area.map_coordinate(&(radius, 0.0)),
        );
        let style = ink(INK).mix(0.35).stroke_width(UNIT as u32);
        let circle = Circle::new(center, edge.0 - center.0, style);
        Ok(self.area.draw(&circle)?)
    }
}

fn corners(rect: Rect) -> [(i32, i32); 2] {
    let (right, bottom) = (rect.left + rect.width, rect.top + rect.height);
    [
        (rect.left * UNIT, rect.top * UNIT),
        (right * UNIT, bottom * UNIT),
    ]
}

fn font(size: f64) -> (&'static str, f64) {
    (FONT, size * f64::from(UNIT) * FONT_SIZE)
}

#[cfg(test)]
mod tests;
