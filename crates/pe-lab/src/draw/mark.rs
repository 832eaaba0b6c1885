//! What is drawn inside a chart: lines, markers, bands.

use plotters::chart::ChartContext;
use plotters::prelude::*;

use super::axis::Axis;
use super::colour::Rgb;
use super::unit::{UNIT, ink};
use crate::error::LabError;

/// A chart that is being drawn.
pub(crate) type Chart<'a> = ChartContext<'a, SVGBackend<'a>, Cartesian2d<Axis, Axis>>;

/// How a line looks.
#[derive(Clone, Copy)]
pub(crate) struct Stroke {
    pub colour: Rgb,
    /// The lengths of dash and gap in pixels, or none for a solid line.
    pub dash: Option<(i32, i32)>,
}

impl Stroke {
    pub fn solid(colour: Rgb) -> Self {
        Self { colour, dash: None }
    }

    pub fn dashed(colour: Rgb) -> Self {
        Self {
            colour,
            dash: Some((6, 4)),
        }
    }

    /// A dotted line, which differs from the line of every scheme.
    pub fn dotted(colour: Rgb) -> Self {
        Self {
            colour,
            dash: Some((1, 3)),
        }
    }

    fn style(self) -> ShapeStyle {
        // A pixel and a half.
        ink(self.colour).stroke_width(UNIT as u32 * 3 / 2)
    }

    pub(super) fn element<C: Clone>(self, points: Vec<C>) -> PathElement<C> {
        PathElement::new(points, self.style())
    }
}

/// The shape of a marker. There are seven of them, so that lines differ without their colours.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Marker {
    Dot,
    TriangleUp,
    Square,
    Diamond,
    TriangleDown,
    Plus,
    Cross,
}

impl Marker {
    pub const ALL: [Self; 7] = [
        Self::Dot,
        Self::TriangleUp,
        Self::Square,
        Self::Diamond,
        Self::TriangleDown,
        Self::Plus,
        Self::Cross,
    ];

    /// The outline around (0, 0), `radius` pixels from its middle to its edge.
    pub(super) fn outline(self, radius: i32) -> Vec<(i32, i32)> {
        let r = radius * UNIT;
        let (d, s, t) = (r * 7 / 10, r * 9 / 10, r / 2);
        let quarter = match self {
            Self::TriangleUp => return vec![(-r, s), (0, -r), (r, s)],
            Self::TriangleDown => return vec![(-r, -s), (0, r), (r, -s)],
            Self::Dot => vec![(r, 0), (d, d)],
            Self::Square => vec![(-s, -s)],
            Self::Diamond => vec![(0, -r - UNIT)],
            Self::Plus => vec![(-t, -r), (t, -r), (t, -t)],
            Self::Cross => vec![(0, -t), (r - t, -r), (r, t - r)],
        };
        // The other quarters are the same, turned.
        let turned = |(x, y): &(i32, i32)| (-y, *x);
        let next = |of: &Vec<_>| Some(of.iter().map(turned).collect());
        let quarters = std::iter::successors(Some(quarter), next);
        quarters.take(4).flatten().collect()
    }

    pub(super) fn element(self, radius: i32, colour: Rgb, opacity: f64) -> Polygon<(i32, i32)> {
        Polygon::new(self.outline(radius), ink(colour).mix(opacity).filled())
    }
}

/// Draws a line through points.
pub(crate) fn line(
    chart: &mut Chart,
    points: &[(f64, f64)],
    stroke: Stroke,
) -> Result<(), LabError> {
    match stroke.dash {
        Some((dash, gap)) => {
            let points = points.iter().copied();
            let (dash, gap) = ((dash * UNIT) as u32, (gap * UNIT) as u32);
            chart.draw_series(DashedLineSeries::new(points, dash, gap, stroke.style()))?;
        }
        None => {
            chart.draw_series([stroke.element(points.to_vec())])?;
        }
    }
    Ok(())
}

/// Draws round dots of a radius in pixels.
pub(crate) fn dots(
    chart: &mut Chart,
    points: impl Iterator<Item = ((f64, f64), Rgb)>,
    radius: i32,
) -> Result<(), LabError> {
    chart.draw_series(
        points.map(|(point, colour)| Circle::new(point, radius * UNIT, ink(colour).filled())),
    )?;
    Ok(())
}

/// Draws a marker of a radius in pixels on every point.
pub(crate) fn markers<'p>(
    chart: &mut Chart,
    points: impl IntoIterator<Item = &'p (f64, f64)>,
    (marker, radius): (Marker, i32),
    (colour, opacity): (Rgb, f64),
) -> Result<(), LabError> {
    let points = points.into_iter();
    chart.draw_series(
        points.map(|at| EmptyElement::at(*at) + marker.element(radius, colour, opacity)),
    )?;
    Ok(())
}

/// Fills the area inside an outline, transparently.
pub(crate) fn band(
    chart: &mut Chart,
    outline: Vec<(f64, f64)>,
    (colour, opacity): (Rgb, f64),
) -> Result<(), LabError> {
    chart.draw_series([Polygon::new(outline, ink(colour).mix(opacity).filled())])?;
    Ok(())
}
