//! What the pictures share: the page with its title, axes, legends, colour bars, images.
//!
//! `plotters` draws on whole pixels. The pages here are drawn four times as large and shown at a
//! quarter of that size, so that a line is accurate to a quarter of a pixel.

use plotters::chart::ChartContext;
use plotters::coord::Shift;
use plotters::coord::ranged1d::{KeyPointHint, NoDefaultFormatting, ValueFormatter};
use plotters::drawing::DrawingAreaErrorKind;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::colour::Rgb;
use super::raster::Image;
use crate::error::LabError;

/// What `plotters` calls a pixel, in a pixel of the page.
const UNIT: i32 = 4;
/// `plotters` divides by this to get from its size of a font to the size in pixels.
const FONT_SIZE: f64 = 1.24;
const FONT: &str = "sans-serif";
const LABEL: i32 = 12;
const INK: RGBColor = RGBColor(40, 40, 40);

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
pub(super) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

impl From<DrawingAreaErrorKind<std::io::Error>> for LabError {
    fn from(error: DrawingAreaErrorKind<std::io::Error>) -> Self {
        Self::Drawing(error.to_string())
    }
}

/// A rectangle of the page, in pixels.
#[derive(Clone, Copy)]
pub(super) struct Rect {
    pub left: i32,
    pub top: i32,
    pub width: i32,
    pub height: i32,
}

/// An axis: its name with its unit, its ends, and where it is labelled with what.
#[derive(Clone)]
pub(super) struct Axis {
    pub name: String,
    pub from: f64,
    pub to: f64,
    pub ticks: Vec<(f64, String)>,
}

#[derive(Clone, Copy, PartialEq)]
pub(super) enum Side {
    Left,
    Right,
}

impl Axis {
    /// An axis without name and labels.
    pub fn bare(from: f64, to: f64) -> Self {
        Self {
            name: String::new(),
            from,
            to,
            ticks: Vec::new(),
        }
    }

    /// An axis of whole numbers `first, first + 1, …`, `count` of them, drawn from 0 to `to`; the
    /// number `first` lies at `place`.
    pub fn counted(name: &str, (first, count): (usize, usize), to: f64, place: f64) -> Self {
        Self {
            name: name.to_string(),
            from: 0.0,
            to,
            ticks: counted(first, count, 9)
                .into_iter()
                .map(|number| ((number - first) as f64 + place, grouped(number)))
                .collect(),
        }
    }

    /// Fewer labels, where they would touch on a horizontal axis of `width` pixels.
    pub fn horizontal(mut self, width: i32) -> Self {
        let room = (width / (label_width(&self.ticks) + 14)).max(1) as usize;
        let keep = self.ticks.len().div_ceil(room).max(1);
        self.ticks = self.ticks.into_iter().step_by(keep).collect();
        self
    }

    /// An axis of values in \[−1, 1\].
    pub fn unit(name: &str, margin: f64) -> Self {
        let ticks = [-1.0, -0.5, 0.0, 0.5, 1.0];
        Self {
            name: name.to_string(),
            from: -1.0 - margin,
            to: 1.0 + margin,
            ticks: ticks
                .map(|tick: f64| (tick, signed(tick)))
                .into_iter()
                .collect(),
        }
    }

    /// The width that the labels and the name need beside a vertical axis.
    pub fn margin(&self) -> i32 {
        label_width(&self.ticks) + if self.name.is_empty() { 14 } else { 36 }
    }
}

/// An axis lays its values on `plotters`' pixels itself, so that it can be labelled as it likes.
impl Ranged for Axis {
    type FormatOption = NoDefaultFormatting;
    type ValueType = f64;

    fn map(&self, value: &f64, (start, end): (i32, i32)) -> i32 {
        let along = (value - self.from) / (self.to - self.from);
        start + (along * f64::from(end - start)).round() as i32
    }

    fn key_points<Hint: KeyPointHint>(&self, hint: Hint) -> Vec<f64> {
        if hint.weight().allow_light_points() {
            return Vec::new();
        }
        self.ticks.iter().map(|tick| tick.0).collect()
    }

    fn range(&self) -> std::ops::Range<f64> {
        self.from..self.to
    }
}

impl ValueFormatter<f64> for Axis {
    fn format_ext(&self, value: &f64) -> String {
        let tick = self.ticks.iter().find(|tick| tick.0 == *value);
        tick.map(|tick| tick.1.clone()).unwrap_or_default()
    }
}

fn label_width(ticks: &[(f64, String)]) -> i32 {
    let longest = ticks.iter().map(|tick| tick.1.chars().count()).max();
    longest.unwrap_or(0) as i32 * LABEL * 62 / 100
}

/// Multiples of 1, 2 or 5 times a power of ten among `count` numbers from `first`, at most `most`
/// of them; the first number alone where there is none.
fn counted(first: usize, count: usize, most: usize) -> Vec<usize> {
    let steps = (0..19).flat_map(|power| [1, 2, 5].map(|digit| digit * 10_usize.pow(power)));
    let among = |step: usize| {
        let start = first.div_ceil(step) * step;
        (start..first + count).step_by(step)
    };
    for step in steps {
        if among(step).count() <= most {
            let found: Vec<usize> = among(step).collect();
            return if found.is_empty() { vec![first] } else { found };
        }
    }
    vec![first]
}

/// A whole number with commas between its thousands.
pub(super) fn grouped(number: usize) -> String {
    crate::grouped::grouped(number, ',')
}

/// A number to a tenth, with a real minus sign.
fn signed(number: f64) -> String {
    format!("{number:.1}").replace('-', "−")
}

/// Draws a page, and gives back its SVG.
pub(super) fn page(
    (width, height): (i32, i32),
    title: &str,
    subtitle: &[String],
    draw: impl FnOnce(&mut Page) -> Result<(), LabError>,
) -> Result<String, LabError> {
    let size = |factor: i32| {
        (
            u32::try_from(width * factor),
            u32::try_from(height * factor),
        )
    };
    let (Ok(w), Ok(h)) = size(UNIT) else {
        return Err(LabError::Drawing(format!("a page of {width} × {height}")));
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
        page.text((20, 14), title, 17, Words::heading())?;
        for (line, text) in subtitle.iter().enumerate() {
            page.text((20, 40 + 18 * line as i32), text, 13, Words::left())?;
        }
        draw(&mut page)?;
        area.present()?;
    }
    // The page at its own size, and the images right after the background.
    let svg = svg.replacen(
        &format!("width=\"{w}\" height=\"{h}\""),
        &format!("width=\"{width}\" height=\"{height}\""),
        1,
    );
    let behind = svg.match_indices('\n').nth(1).map_or(0, |(end, _)| end + 1);
    let (background, rest) = svg.split_at(behind);
    Ok(format!("{background}{}{rest}", images.concat()))
}

/// The top of what is drawn below a title and `lines` of subtitle.
pub(super) fn below_subtitle(lines: usize) -> i32 {
    52 + 18 * lines as i32
}

/// How a text is set, around its point.
#[derive(Clone, Copy)]
pub(super) struct Words {
    across: HPos,
    down: VPos,
    bold: bool,
}

impl Words {
    pub fn left() -> Self {
        Self {
            across: HPos::Left,
            down: VPos::Top,
            bold: false,
        }
    }

    pub fn centered() -> Self {
        Self {
            across: HPos::Center,
            down: VPos::Center,
            ..Self::left()
        }
    }

    pub fn middle_left() -> Self {
        Self {
            down: VPos::Center,
            ..Self::left()
        }
    }

    fn heading() -> Self {
        Self {
            bold: true,
            ..Self::left()
        }
    }
}

/// A page that is being drawn.
pub(super) struct Page<'a, 'i> {
    area: Area<'a>,
    images: &'i mut Vec<String>,
}

impl<'a> Page<'a, '_> {
    pub fn text(
        &self,
        (x, y): (i32, i32),
        text: &str,
        size: i32,
        words: Words,
    ) -> Result<(), LabError> {
        self.text_at((x * UNIT, y * UNIT), text, size, words)
    }

    /// A text at a point that is given in `plotters`' pixels.
    fn text_at(
        &self,
        place: (i32, i32),
        text: &str,
        size: i32,
        words: Words,
    ) -> Result<(), LabError> {
        let style = if words.bold {
            FontStyle::Bold
        } else {
            FontStyle::Normal
        };
        let style = font(size)
            .into_font()
            .style(style)
            .color(&INK)
            .pos(Pos::new(words.across, words.down));
        Ok(self.area.draw_text(text, &style, place)?)
    }

    /// A chart whose inside is `rect`; its labels lie outside of it.
    pub fn chart(
        &self,
        rect: Rect,
        x: &Axis,
        y: (&Axis, Side),
        grid: bool,
    ) -> Result<Chart<'a>, LabError> {
        let (y, side) = y;
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
        let line = INK.mix(0.7).stroke_width(UNIT as u32);
        let mut mesh = chart.configure_mesh();
        mesh.light_line_style(TRANSPARENT)
            .bold_line_style(INK.mix(0.12).stroke_width(UNIT as u32))
            .axis_style(line)
            .set_all_tick_mark_size(4 * UNIT)
            .label_style(font(LABEL).into_font().color(&INK))
            .axis_desc_style(font(13).into_font().color(&INK));
        if !grid {
            mesh.disable_mesh();
        }
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
            // `plotters` aligns labels on this side by a guess of their widths.
            mesh.y_label_style(font(LABEL).into_font().color(&TRANSPARENT));
        }
        mesh.draw()?;
        if side == Side::Right {
            let (start, end) = (rect.top + rect.height, rect.top);
            for (value, label) in &y.ticks {
                let middle = y.map(value, (start * UNIT, end * UNIT));
                let place = ((rect.left + rect.width + 9) * UNIT, middle);
                self.text_at(place, label, LABEL, Words::middle_left())?;
            }
        }
        Ok(chart)
    }

    /// An image that fills `rect`, sharp at any size.
    pub fn image(&mut self, rect: Rect, image: &Image) {
        let Rect {
            left,
            top,
            width,
            height,
        } = rect;
        self.images.push(format!(
            "<image x=\"{}\" y=\"{}\" width=\"{}\" height=\"{}\" preserveAspectRatio=\"none\" \
             style=\"image-rendering:optimizeSpeed;image-rendering:pixelated\" href=\"{}\"/>\n",
            left * UNIT,
            top * UNIT,
            width * UNIT,
            height * UNIT,
            image.data_uri()
        ));
    }

    /// A bar that says which colour is which value, right of a chart of this `top` and `height`.
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
        self.chart(rect, &Axis::bare(0.0, 1.0), (values, Side::Right), false)?;
        Ok(())
    }

    /// Lines of a legend, one below the other from `(x, y)` on.
    pub fn legend(&self, (x, y): (i32, i32), entries: &[(Stroke, String)]) -> Result<(), LabError> {
        for (index, (stroke, text)) in entries.iter().enumerate() {
            let middle = y + 20 * index as i32;
            // Dashes: those of the line, as far as they fit.
            let parts: &[(i32, i32)] = match stroke.dashed {
                true => &[(0, 6), (10, 16), (20, 26)],
                false => &[(0, 26)],
            };
            for (from, to) in parts {
                let ends = [*from, *to].map(|along| ((x + along) * UNIT, middle * UNIT));
                self.area.draw(&stroke.element(ends.to_vec()))?;
            }
            self.text((x + 34, middle), text, LABEL, Words::middle_left())?;
        }
        Ok(())
    }

    /// An empty circle.
    pub fn circle(&self, chart: &Chart<'a>, radius: f64) -> Result<(), LabError> {
        let area = chart.plotting_area();
        let (center, edge) = (
            area.map_coordinate(&(0.0, 0.0)),
            area.map_coordinate(&(radius, 0.0)),
        );
        let style = INK.mix(0.35).stroke_width(UNIT as u32);
        let circle = Circle::new(center, edge.0 - center.0, style);
        Ok(self.area.draw(&circle)?)
    }
}

fn font(size: i32) -> (&'static str, f64) {
    (FONT, f64::from(size * UNIT) * FONT_SIZE)
}

/// How a line looks.
#[derive(Clone, Copy)]
pub(super) struct Stroke {
    pub colour: Rgb,
    pub dashed: bool,
}

impl Stroke {
    fn style(self) -> ShapeStyle {
        // A pixel and a half.
        rgb(self.colour).stroke_width(UNIT as u32 * 3 / 2)
    }

    fn element<C: Clone>(self, points: Vec<C>) -> PathElement<C> {
        PathElement::new(points, self.style())
    }
}

pub(super) fn rgb([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

/// Draws a line through points, and a dot on each if `dots`.
pub(super) fn line(
    chart: &mut Chart,
    points: &[(f64, f64)],
    stroke: Stroke,
    dots: bool,
) -> Result<(), LabError> {
    let all = points.iter().copied();
    if stroke.dashed {
        let dashes = DashedLineSeries::new(all, 6 * UNIT as u32, 4 * UNIT as u32, stroke.style());
        chart.draw_series(dashes)?;
    } else {
        chart.draw_series([stroke.element(points.to_vec())])?;
    }
    if dots {
        dot(chart, points.iter().map(|point| (*point, stroke.colour)), 2)?;
    }
    Ok(())
}

/// Draws dots of a radius in pixels.
pub(super) fn dot(
    chart: &mut Chart,
    points: impl Iterator<Item = ((f64, f64), Rgb)>,
    radius: i32,
) -> Result<(), LabError> {
    chart.draw_series(
        points.map(|(point, colour)| Circle::new(point, radius * UNIT, rgb(colour).filled())),
    )?;
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn whole_numbers_are_labelled_at_round_ones() {
        assert_eq!(counted(0, 100, 9), [0, 20, 40, 60, 80]);
        assert_eq!(counted(7, 9, 9), [7, 8, 9, 10, 11, 12, 13, 14, 15]);
        assert_eq!(counted(7, 10, 9), [8, 10, 12, 14, 16]);
        assert_eq!(counted(11, 4, 1), [11]); // two multiples of 2, none of 5
        let far = pe_burn::MAX_POSITION;
        assert_eq!(counted(far, 1, 9), [far]);
        assert_eq!(grouped(1_234_567), "1,234,567");
        assert_eq!(grouped(999), "999");
        assert_eq!(signed(-0.5), "−0.5");
    }

    #[test]
    fn labels_that_would_touch_are_left_out() {
        let axis = || Axis::counted("position", (1_000_000, 90), 90.0, 0.5);
        let labels = axis().horizontal(2_000).ticks;
        assert_eq!(labels.len(), 9);
        assert_eq!(labels[1], (10.5, "1,000,010".to_string()));
        let few = axis().horizontal(300).ticks;
        let apart = (few[1].0 - few[0].0) / 90.0 * 300.0;
        assert!(apart > f64::from(label_width(&few)), "{apart}");
        assert_eq!(axis().horizontal(1).ticks.len(), 1);
    }

    #[test]
    fn a_page_has_its_own_size_and_its_images_behind_the_rest() {
        let rect = Rect {
            left: 10,
            top: 20,
            width: 3,
            height: 4,
        };
        let svg = page((200, 100), "a < b", &["c".into()], |page| {
            page.text((50, 50), "in front", 12, Words::left())?;
            page.image(rect, &Image::new(1, &[[1, 2, 3]])?);
            Ok(())
        })
        .unwrap();
        assert!(svg.starts_with("<svg width=\"200\" height=\"100\" viewBox=\"0 0 800 400\""));
        assert!(svg.contains("a &lt; b"));
        let place = |text: &str| svg.find(text).unwrap();
        assert!(place("<rect") < place("<image x=\"40\" y=\"80\" width=\"12\" height=\"16\""));
        assert!(place("<image") < place("in front"));
        assert!(page((-1, 5), "", &[], |_| Ok(())).is_err());
    }
}
