//! The charts of a report: SVG on white, readable at half their size and without colours.

mod bars;
mod heat;
mod length;
mod loss;
mod position;

use std::collections::BTreeMap;
use std::error::Error;

use plotters::coord::Shift;
use plotters::coord::types::RangedCoordf64;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::data::{Data, TaskFacts};
use super::summary::Summary;
use crate::error::LabError;
use crate::stats::{CURVE_RESAMPLES, Interval, mean, mean_interval};
use crate::trial::Measures;

/// A picture with what is said about it.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figure {
    /// The stem of its file name; unique in a report.
    pub name: String,
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The picture: an SVG document.
    pub svg: String,
}

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Plane<'a, 'b> = ChartContext<'a, SVGBackend<'b>, Cartesian2d<RangedCoordf64, RangedCoordf64>>;
type Drawn = Result<(), Box<dyn Error>>;

/// The palette of Okabe and Ito (2008), which colour-blind readers can tell apart, without its
/// yellow, which is too light on white.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];

/// Bands of more schemes than these hide each other and the lines.
const MOST_BANDS: usize = 6;

/// The width of every chart, in pixels: two fit side by side on a desk, and one on a phone is read
/// at about 60 %.
const WIDTH: u32 = 600;
const TITLE_HEIGHT: u32 = 34;
const MARGIN: i32 = 12;
const FONT: &str = "sans-serif";
// `plotters` writes a font of 1/1.24 of the size it is given.
const SMALL: f64 = 15.5;
const MEDIUM: f64 = 16.5;
const LARGE: f64 = 19.0;
const GREY: RGBColor = RGBColor(90, 90, 90);
const TRAINED: RGBColor = RGBColor(228, 228, 228);

/// How a scheme looks on every chart: by colour, by shape, and from the eighth on by dashes.
#[derive(Clone, Copy)]
struct Look(usize);

impl Look {
    /// The same on every chart, whatever a scheme is compared with.
    fn of(scheme: &str, schemes: &[String]) -> Self {
        let known: Vec<&str> = crate::scheme::names().collect();
        let listed = known.iter().position(|name| *name == scheme);
        let in_study = || {
            let unlisted = schemes.iter().filter(|s| !known.contains(&s.as_str()));
            known.len() + unlisted.take_while(|s| *s != scheme).count()
        };
        Self(listed.unwrap_or_else(in_study))
    }

    fn colour(self) -> RGBColor {
        COLOURS[self.0 % COLOURS.len()]
    }

    /// A shape around (0, 0) in pixels, `r` from its middle to its edge.
    fn marker(self, r: i32, opacity: f64) -> Polygon<(i32, i32)> {
        let (d, s, t) = (r * 7 / 10, r * 9 / 10, (r / 2).max(1));
        let points: Vec<(i32, i32)> = match (self.0 + self.0 / COLOURS.len()) % 7 {
            0 => vec![
                (r, 0),
                (d, d),
                (0, r),
                (-d, d),
                (-r, 0),
                (-d, -d),
                (0, -r),
                (d, -d),
            ],
            1 => vec![(-r, r - 1), (0, -r), (r, r - 1)],
            2 => vec![(-s, -s), (s, -s), (s, s), (-s, s)],
            3 => vec![(0, -r - 1), (r + 1, 0), (0, r + 1), (-r - 1, 0)],
            4 => vec![(-r, 1 - r), (0, r), (r, 1 - r)],
            5 => vec![
                (-t, -r),
                (t, -r),
                (t, -t),
                (r, -t),
                (r, t),
                (t, t),
                (t, r),
                (-t, r),
                (-t, t),
                (-r, t),
                (-r, -t),
                (-t, -t),
            ],
            _ => vec![
                (0, -t),
                (r - t, -r),
                (r, t - r),
                (t, 0),
                (r, r - t),
                (r - t, r),
                (0, t),
                (t - r, r),
                (-r, r - t),
                (-t, 0),
                (-r, t - r),
                (t - r, -r),
            ],
        };
        Polygon::new(points, self.colour().mix(opacity).filled())
    }

    /// Lengths of dash and gap; none for a solid line.
    fn dash(self) -> Option<(i32, i32)> {
        [None, Some((9, 4)), Some((2, 3))][(self.0 / COLOURS.len()) % 3]
    }

    fn line(self, plane: &mut Plane<'_, '_>, points: &[(f64, f64)]) -> Drawn {
        let style = self.colour().stroke_width(2);
        let points = points.iter().copied();
        match self.dash() {
            None => plane.draw_series(LineSeries::new(points, style))?,
            Some((dash, gap)) => {
                plane.draw_series(DashedLineSeries::new(points, dash, gap, style))?
            }
        };
        Ok(())
    }
}

/// One scheme on a chart.
struct Series {
    scheme: String,
    look: Look,
    /// Every seed's points.
    points: Vec<(f64, f64)>,
    /// The mean over seeds.
    mean: Vec<(f64, f64)>,
    /// The interval over seeds, where there are two or more, and few schemes.
    band: Vec<(f64, Interval)>,
}

/// The series of every scheme that has results on a task. `curve` gives the points of one run.
fn series(
    data: &Data<'_>,
    task: &TaskFacts,
    curve: impl Fn(&Measures) -> Vec<(usize, f64)>,
) -> Vec<Series> {
    let schemes = &data.spec.schemes;
    let all = schemes.iter().map(|scheme| {
        let mut at: BTreeMap<usize, Vec<f64>> = BTreeMap::new();
        for (x, y) in data
            .measured(&task.name, scheme)
            .flat_map(|(_, measures)| curve(measures))
            .filter(|(_, y)| y.is_finite())
        {
            at.entry(x).or_default().push(y);
        }
        let each = at
            .iter()
            .flat_map(|(x, all)| all.iter().map(|y| (*x as f64, *y)));
        let means = at
            .iter()
            .filter_map(|(x, all)| Some((*x as f64, mean(all.iter().copied())?)));
        let bands = at
            .iter()
            .filter_map(|(x, all)| Some((*x as f64, mean_interval(all, CURVE_RESAMPLES)?)));
        Series {
            scheme: scheme.clone(),
            look: Look::of(scheme, schemes),
            points: each.collect(),
            mean: means.collect(),
            band: bands.collect(),
        }
    });
    let mut all: Vec<Series> = all.filter(|series| !series.mean.is_empty()).collect();
    if all.len() > MOST_BANDS {
        all.iter_mut().for_each(|series| series.band.clear());
    }
    all
}

impl Series {
    fn draw_band(&self, plane: &mut Plane<'_, '_>) -> Drawn {
        let low = self.band.iter().map(|(x, interval)| (*x, interval.low));
        let high = self
            .band
            .iter()
            .rev()
            .map(|(x, interval)| (*x, interval.high));
        let outline: Vec<(f64, f64)> = low.chain(high).collect();
        if self.band.len() > 1 {
            let fill = self.look.colour().mix(0.14).filled();
            plane.draw_series([Polygon::new(outline, fill)])?;
        }
        Ok(())
    }
}

/// What a legend explains.
enum Key {
    Scheme(Look),
    Floor,
    Trained,
}

/// The legend below a chart, in as many rows as it needs.
struct Legend {
    entries: Vec<(Key, String)>,
}

impl Legend {
    const ROW: i32 = 24;

    fn of(series: &[Series]) -> Self {
        let entries = series
            .iter()
            .map(|series| (Key::Scheme(series.look), series.scheme.clone()));
        Self {
            entries: entries.collect(),
        }
    }

    fn with(mut self, key: Key, text: impl Into<String>) -> Self {
        self.entries.push((key, text.into()));
        self
    }

    /// Where every entry starts.
    fn places(&self) -> Vec<(i32, i32)> {
        let (mut x, mut y) = (MARGIN, Self::ROW / 2);
        let place = |(_, text): &(Key, String)| {
            let width = 44 + text_width(text, SMALL);
            if x > MARGIN && x + width > WIDTH as i32 - MARGIN {
                (x, y) = (MARGIN, y + Self::ROW);
            }
            let start = (x, y);
            x += width + 10;
            start
        };
        self.entries.iter().map(place).collect()
    }

    fn height(&self) -> u32 {
        let last = self
            .places()
            .last()
            .map_or(0, |place| place.1 + Self::ROW / 2);
        last as u32 + 8
    }

    fn draw(&self, area: &Area<'_>) -> Drawn {
        for ((key, text), (x, y)) in self.entries.iter().zip(self.places()) {
            match key {
                Key::Scheme(look) => {
                    let stroke = look.colour().stroke_width(2);
                    let (dash, gap) = look.dash().unwrap_or((32, 1));
                    let mut from = x;
                    while from < x + 32 {
                        let to = (from + dash).min(x + 32);
                        area.draw(&PathElement::new(vec![(from, y), (to, y)], stroke))?;
                        from += dash + gap;
                    }
                    area.draw(&(EmptyElement::at((x + 16, y)) + look.marker(5, 1.0)))?;
                }
                Key::Floor => {
                    for from in [x, x + 12, x + 24] {
                        let dash = vec![(from, y), (from + 8, y)];
                        area.draw(&PathElement::new(dash, GREY.stroke_width(2)))?;
                    }
                }
                Key::Trained => {
                    let corners = [(x, y - 7), (x + 32, y + 7)];
                    area.draw(&Rectangle::new(corners, TRAINED.filled()))?;
                }
            }
            write(area, text, (x + 38, y), SMALL, (HPos::Left, VPos::Center))?;
        }
        Ok(())
    }
}

/// The width of a text in pixels, a little more than most fonts need.
fn text_width(text: &str, size: f64) -> i32 {
    (text.chars().count() as f64 * size / 1.24 * 0.58).ceil() as i32
}

fn write(area: &Area<'_>, text: &str, at: (i32, i32), size: f64, (h, v): (HPos, VPos)) -> Drawn {
    let style = (FONT, size).into_font().color(&BLACK).pos(Pos::new(h, v));
    Ok(area.draw(&Text::new(text.to_string(), at, style))?)
}

/// Draws one chart: a title, `height` pixels for what `paint` does, the legend.
fn figure(
    name: String,
    title: String,
    caption: String,
    height: u32,
    legend: &Legend,
    paint: impl FnOnce(&Area<'_>) -> Drawn,
) -> Result<Figure, LabError> {
    let size = (WIDTH, TITLE_HEIGHT + height + legend.height());
    let mut svg = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut svg, size).into_drawing_area();
        let draw = || -> Drawn {
            area.fill(&WHITE)?;
            let (top, rest) = area.split_vertically(TITLE_HEIGHT);
            let centre = (WIDTH as i32 / 2, TITLE_HEIGHT as i32 / 2 + 2);
            // A long name of the user's own must not run out of the picture.
            let fits = LARGE.min(LARGE * (WIDTH - 20) as f64 / text_width(&title, LARGE) as f64);
            write(&top, &title, centre, fits, (HPos::Center, VPos::Center))?;
            let (middle, bottom) = rest.split_vertically(height);
            paint(&middle)?;
            legend.draw(&bottom)?;
            Ok(area.present()?)
        };
        draw().map_err(|error| error.to_string())
    };
    drawn.map_err(|reason| LabError::Chart {
        path: format!("{name}.svg").into(),
        reason,
    })?;
    Ok(Figure {
        svg: labelled(&svg, &title),
        name,
        title,
        caption,
    })
}

/// Tells a screen reader what the picture is.
fn labelled(svg: &str, label: &str) -> String {
    let label = label
        .replace('&', "&amp;")
        .replace('<', "&lt;")
        .replace('>', "&gt;")
        .replace('"', "&quot;");
    svg.replacen(
        "<svg ",
        &format!("<svg role=\"img\" aria-label=\"{label}\" "),
        1,
    )
}

/// A plane with axes, grid and names on them, ready for lines.
fn plane<'a, 'b>(
    area: &'a Area<'b>,
    x: (&str, std::ops::Range<f64>),
    y: (&str, std::ops::Range<f64>),
    y_digits: usize,
    under: impl FnOnce(&mut Plane<'a, 'b>) -> Drawn,
) -> Result<Plane<'a, 'b>, Box<dyn Error>> {
    let mut plane = ChartBuilder::on(area)
        .margin(4)
        .margin_right(18)
        .x_label_area_size(44)
        .y_label_area_size(56)
        .build_cartesian_2d(x.1, y.1)?;
    under(&mut plane)?;
    plane
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.1))
        .x_labels(9)
        .y_labels(6)
        .x_desc(x.0)
        .y_desc(y.0)
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.y_digits$}"))
        .axis_desc_style((FONT, MEDIUM))
        .label_style((FONT, SMALL))
        .draw()?;
    Ok(plane)
}

fn draw_floor(plane: &mut Plane<'_, '_>, floor: &[(f64, f64)]) -> Drawn {
    let style = GREY.stroke_width(2);
    plane.draw_series(DashedLineSeries::new(floor.iter().copied(), 8, 4, style))?;
    Ok(())
}

/// `file-name` of anything: letters, digits, `-` and `_` stay.
fn stem(kind: &str, task: &str) -> String {
    let plain = |c: char| {
        if c.is_ascii_alphanumeric() || c == '_' || c == '-' {
            c
        } else {
            '_'
        }
    };
    format!("{kind}-{}", task.chars().map(plain).collect::<String>())
}

/// The charts of one task.
pub struct TaskFigures {
    /// Accuracy by length, or by scheme; and by position where answers have one.
    pub scores: Vec<Figure>,
    /// The learning curve.
    pub loss: Option<Figure>,
}

/// Draws the charts of one task. A task without any result has none.
pub fn of_task(data: &Data<'_>, task: &TaskFacts) -> Result<TaskFigures, LabError> {
    let first = if task.has_one_length() {
        bars::draw(data, task)?
    } else {
        length::draw(data, task)?
    };
    let by_position = position::draw(data, task)?;
    Ok(TaskFigures {
        scores: first.into_iter().chain(by_position).collect(),
        loss: loss::draw(data, task)?,
    })
}

/// Draws what all tasks have in common: the heat maps of schemes and tasks.
pub fn of_study(summary: &Summary) -> Result<Vec<Figure>, LabError> {
    heat::draw(summary)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::Synthetic;

    #[test]
    fn ten_schemes_and_more_look_different() {
        let names: Vec<String> = (0..14).map(|i| format!("scheme {i}")).collect();
        let looks: Vec<Look> = names.iter().map(|name| Look::of(name, &names)).collect();
        for (i, a) in looks.iter().enumerate() {
            for b in &looks[i + 1..] {
                let shape = |look: &Look| (look.0 + look.0 / COLOURS.len()) % 7;
                let kind = |look: &Look| (look.colour(), shape(look), look.dash());
                assert_ne!(kind(a), kind(b));
                assert!(a.colour() != b.colour() || (shape(a), a.dash()) != (shape(b), b.dash()));
            }
        }
        // The same scheme in another company.
        let few = ["learned".to_string()];
        let more = ["none".to_string(), "learned".to_string()];
        assert_eq!(Look::of("learned", &few).0, Look::of("learned", &more).0);
    }

    #[test]
    fn a_series_has_means_bands_and_every_point() {
        let study = Synthetic::new(&["mine"], &["a", "b", "c"], 2)
            .score("mine", "a", 1, &[(10, 0.5), (40, 0.3)])
            .score("mine", "a", 2, &[(10, 0.7)])
            .score("mine", "b", 1, &[(10, 0.9)])
            .fail("mine", "c", 1, "diverged");
        let data = study.data();
        let all = series(&data, &data.tasks[0], |measures| {
            measures
                .scores
                .iter()
                .map(|s| (s.length, s.accuracy))
                .collect()
        });
        assert_eq!(all.len(), 2, "a scheme without results is not drawn");
        assert_eq!(all[0].points, [(10.0, 0.5), (10.0, 0.7), (40.0, 0.3)]);
        assert_eq!(all[0].mean, [(10.0, 0.6), (40.0, 0.3)]);
        assert_eq!(all[0].band.len(), 1, "one seed has no interval");
        assert!(all[1].band.is_empty());
    }

    #[test]
    fn every_chart_is_drawn_named_and_well_formed() {
        let study = Synthetic::large(3);
        let data = study.data();
        let summary = Summary::of(&data);
        let mut figures = of_study(&summary).unwrap();
        for task in &data.tasks {
            let of_task = of_task(&data, task).unwrap();
            let kinds = if task.name == "digits" { 1 } else { 2 };
            assert_eq!(of_task.scores.len(), kinds, "{}", task.name);
            figures.extend(of_task.scores);
            figures.extend(of_task.loss);
        }
        assert_eq!(figures.len(), 1 + 9 * 2 + 8);
        for figure in figures {
            let tree = resvg::usvg::roxmltree::Document::parse(&figure.svg).unwrap();
            let root = tree.root_element();
            assert_eq!(root.attribute("role"), Some("img"), "{}", figure.name);
            assert_eq!(root.attribute("aria-label"), Some(figure.title.as_str()));
            assert!(
                tree.descendants()
                    .all(|node| node.attribute("id").is_none())
            );
            // Nothing is written outside of the picture.
            for text in tree.descendants().filter(|node| node.has_tag_name("text")) {
                let x: f64 = text.attribute("x").unwrap().parse().unwrap();
                assert!((0.0..=f64::from(WIDTH)).contains(&x), "{}", figure.name);
            }
        }
    }

    #[test]
    fn legends_break_their_rows_within_the_picture() {
        let entries = (0..12).map(|i| (Key::Floor, format!("quite a long name {i}")));
        let legend = Legend {
            entries: entries.collect(),
        };
        let places = legend.places();
        assert!(legend.height() > 4 * Legend::ROW as u32);
        for (place, (_, text)) in places.iter().zip(&legend.entries) {
            assert!(place.0 + 38 + text_width(text, SMALL) <= WIDTH as i32);
        }
    }

    #[test]
    fn a_file_name_is_made_of_harmless_letters() {
        assert_eq!(stem("chart", "reverse"), "chart-reverse");
        assert_eq!(stem("chart", "../<b>"), "chart-____b_");
    }
}
