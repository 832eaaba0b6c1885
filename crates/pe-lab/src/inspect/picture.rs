//! The wavelengths of a model's pairs against its context.

use super::{Inspection, Rotation};
use crate::draw::colour::{MAX_DISTINCT, distinct};
use crate::draw::{Axis, Curve, Lines, Rect, Side, Stroke, page};
use crate::error::LabError;
use crate::grouped::grouped;

const WIDTH: i32 = 660;
const HEIGHT: i32 = 400;

/// Draws the wavelength of each pair, with a line for each group of layers that rotates, and the lengths
/// of training and of the context.
///
/// # Errors
///
/// [`LabError::Usage`] when no layer rotates.
pub fn svg(model: &Inspection) -> Result<String, LabError> {
    let groups = rotating(model);
    let Some((first, _)) = groups.first() else {
        return Err(LabError::Usage(format!(
            "no layer of this {} rotates: there is nothing to draw",
            model.model_type
        )));
    };
    let pairs = groups
        .iter()
        .map(|(rotation, _)| rotation.wavelengths.len());
    let pairs = pairs.max().unwrap_or(1);
    let longest = groups
        .iter()
        .flat_map(|(rotation, _)| rotation.wavelengths.iter().copied().flatten())
        .chain(model.context.map(|context| context as f64))
        .fold(10.0, f64::max);
    let left = wavelengths(longest);
    let end = pairs.saturating_sub(1).max(1) as f64;
    let across = Axis::counted("pair of columns", (0, pairs), end, 0.0).horizontal(WIDTH);
    let curve = |(index, (rotation, name)): (usize, &(&Rotation, String))| {
        let points = rotation.wavelengths.iter().enumerate();
        let points = points.filter_map(|(i, of)| Some((i as f64, (*of)?.log10())));
        Curve {
            stroke: Stroke::solid(distinct(index)),
            name: Some(name.clone()),
            points: points.collect(),
            dots: true,
        }
    };
    let curves: Vec<Curve> = groups.iter().enumerate().map(curve).collect();
    let marks = lengths(model.context, first.trained_on, end);
    let title = format!("Wavelengths of {}", model.model_type);
    let rect = Rect::beside(&left, 1, (WIDTH, HEIGHT));
    let subtitle =
        ["A pair above a dashed line does not complete a turn within that length".to_string()];
    let size = (rect.left + WIDTH + 40, rect.top + HEIGHT + 60);
    page(size, &title, &subtitle, |page| {
        let mut chart = page.chart(rect, &across, (&left, Side::Left), Lines::Both)?;
        for curve in marks.iter().chain(&curves) {
            curve.draw(&mut chart)?;
        }
        let legend = Curve::legend(curves.iter().chain(&marks));
        page.legend((rect.left + 18, rect.top + 12), &legend)
    })
}

/// The groups of layers that rotate, each with its name.
fn rotating(model: &Inspection) -> Vec<(&Rotation, String)> {
    let groups = model.groups.iter().filter_map(|group| {
        let rotation = group.rotation.as_ref()?;
        let base = grouped(rotation.base.round() as usize, ',');
        let first = group.layers[0];
        let name = match group.layers.len() {
            1 => format!("layer {first}, base {base}"),
            count => format!("{count} layers from {first} on, base {base}"),
        };
        Some((rotation, name))
    });
    groups.take(MAX_DISTINCT).collect()
}

/// A logarithmic axis up to the longest wavelength.
fn wavelengths(longest: f64) -> Axis {
    let decades = longest.log10().ceil() as i32;
    let tick = |power: i32| {
        let label = match u32::try_from(power) {
            Ok(power @ ..=9) => grouped(10_usize.pow(power), ','),
            _ => format!("1e{power}"),
        };
        (f64::from(power), label)
    };
    Axis {
        name: "wavelength (tokens)".into(),
        from: 0.5,
        to: f64::from(decades) + 0.1,
        ticks: (1..=decades).map(tick).collect(),
    }
}

/// Lines up to `end` at the context and the length of the training on that axis, if they are known and not the same.
fn lengths(context: Option<usize>, trained_on: Option<usize>, end: f64) -> Vec<Curve> {
    let mut marks: Vec<Curve> = Vec::new();
    for (name, length) in [("context", context), ("length of training", trained_on)] {
        let Some(length) = length.filter(|length| *length > 0) else {
            continue;
        };
        let at = (length as f64).log10();
        if marks.iter().all(|other| other.points[0].1 != at) {
            marks.push(Curve {
                stroke: Stroke::dashed(distinct(MAX_DISTINCT - 1)),
                name: Some(format!("{name}: {} tokens", grouped(length, ','))),
                points: vec![(0.0, at), (end, at)],
                dots: false,
            });
        }
    }
    marks
}
