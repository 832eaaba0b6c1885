//! Values as curves: some columns over the positions, and some positions over the columns.

use super::encoding::Encoding;
use super::text::{check_list, wavelength};
use crate::draw::colour::{MAX_DISTINCT, distinct};
use crate::draw::{Axis, Curve, Lines, Page, Rect, Side, Stroke, below_subtitle, page};
use crate::error::LabError;
use crate::grouped::grouped;

const WIDTH: i32 = 720;
const HEIGHT: i32 = 250;
const LEFT: i32 = 80;
/// A curve of up to this many points has a dot on each, since the encoding exists only there.
const DOTS: usize = 128;

/// The columns that are drawn if none are named: up to four sines, each slower than the one before.
pub fn default_columns(encoding: &Encoding) -> Vec<usize> {
    let pairs = encoding.d_model().div_ceil(2);
    let mut columns: Vec<usize> = (0..4).map(|i| encoding.pair(i * pairs / 8).0).collect();
    columns.dedup();
    columns
}

/// The positions that are drawn if none are named.
pub const DEFAULT_POSITIONS: [usize; 3] = [0, 1, 10];

/// Draws the value of each of `columns` over the positions of the encoding, and below that the value of
/// each of `positions` over all columns. One of the two lists may be empty; its panel is then left out.
///
/// # Errors
///
/// [`LabError::Usage`] when both lists are empty, when one is longer than [`MAX_DISTINCT`] or names
/// something twice, or when a column is not below `d_model`; [`LabError::Position`] when a position is
/// beyond the largest.
pub fn svg(
    encoding: &Encoding,
    columns: &[usize],
    positions: &[usize],
) -> Result<String, LabError> {
    if columns.is_empty() || !positions.is_empty() {
        check_list("--positions", positions, MAX_DISTINCT)?;
    }
    if !columns.is_empty() {
        check_list("--columns", columns, MAX_DISTINCT)?;
    }
    let d_model = encoding.d_model();
    if let Some(column) = columns.iter().find(|column| **column >= d_model) {
        return Err(LabError::Usage(format!(
            "there is no column {column}: d_model {d_model} has the columns 0 to {}",
            d_model - 1
        )));
    }
    let by_position = by_position(encoding, columns)?;
    let by_column = by_column(encoding, positions)?;

    let panels: Vec<&Panel> = by_position.iter().chain(&by_column).collect();
    let mut subtitle = vec![encoding.describe()];
    subtitle.extend(panels.iter().find_map(|panel| panel.note.clone()));
    let top = below_subtitle(subtitle.len());
    let each = HEIGHT + 66;
    let bottom = top + each * panels.len() as i32;
    page(
        (LEFT + WIDTH + 330, bottom),
        "Sinusoidal positional encoding, curve by curve",
        &subtitle,
        |page| {
            for (index, panel) in panels.iter().enumerate() {
                panel.draw(page, top + each * index as i32)?;
            }
            Ok(())
        },
    )
}

struct Panel {
    x: Axis,
    curves: Vec<Curve>,
    note: Option<String>,
}

impl Panel {
    fn draw(&self, page: &mut Page, top: i32) -> Result<(), LabError> {
        let rect = Rect {
            left: LEFT,
            top,
            width: WIDTH,
            height: HEIGHT,
        };
        let values = Axis::unit("value (dimensionless)", 0.08);
        let mut chart = page.chart(rect, &self.x, (&values, Side::Left), Lines::Both)?;
        self.curves
            .iter()
            .try_for_each(|curve| curve.draw(&mut chart))?;
        page.legend((LEFT + WIDTH + 18, top + 12), &Curve::legend(&self.curves))
    }
}

fn by_position(encoding: &Encoding, columns: &[usize]) -> Result<Option<Panel>, LabError> {
    if columns.is_empty() {
        return Ok(None);
    }
    let (start, seq_len) = encoding.positions();
    let mut values = vec![Vec::with_capacity(seq_len); columns.len()];
    encoding.for_each_row(|row| {
        for (values, column) in values.iter_mut().zip(columns) {
            values.push(f64::from(row[*column]));
        }
    })?;
    let per_group = per_group(seq_len);
    let wavelengths = encoding.spectrum.wavelengths();
    let curve = |(index, (values, column)): (usize, (&Vec<f64>, &usize))| {
        let named = |pair| match encoding.pair(pair) {
            (sin, _) if sin == *column => Some((pair, "sin")),
            (_, cos) if cos == Some(*column) => Some((pair, "cos")),
            _ => None,
        };
        let found = (0..wavelengths.len()).find_map(named);
        let (pair, function) = found.expect("every column is of a pair");
        let turn = wavelength(wavelengths[pair]);
        Curve {
            stroke: solid(index),
            name: Some(format!(
                "column {column}: {function}, wavelength {turn} tokens"
            )),
            points: envelope(values, per_group),
            dots: seq_len <= DOTS,
        }
    };
    let end = seq_len.saturating_sub(1).max(1) as f64;
    let x = Axis::counted("position (tokens)", (start, seq_len), end, 0.0);
    Ok(Some(Panel {
        x: x.horizontal(WIDTH),
        curves: values.iter().zip(columns).enumerate().map(curve).collect(),
        note: (per_group > 1).then(|| {
            format!(
                "Reduced to pixels: each curve joins the smallest and the largest of every \
                 {per_group} values"
            )
        }),
    }))
}

fn by_column(encoding: &Encoding, positions: &[usize]) -> Result<Option<Panel>, LabError> {
    if positions.is_empty() {
        return Ok(None);
    }
    let d_model = encoding.d_model();
    let rows: Vec<f32> = encoding.spectrum.rows_at(positions)?;
    let mut curves = Vec::new();
    for (index, (row, position)) in rows.chunks_exact(d_model).zip(positions).enumerate() {
        // One curve for the sines and one for the cosines: a single curve would be a zigzag.
        for name in ["sin", "cos"] {
            let stroke = match name {
                "cos" => Stroke::dashed(distinct(index)),
                _ => solid(index),
            };
            let columns = (0..d_model.div_ceil(2)).map(|pair| encoding.pair(pair));
            let columns = columns.filter_map(|(sin, cos)| match name {
                "cos" => cos,
                _ => Some(sin),
            });
            let points: Vec<(f64, f64)> = columns
                .map(|column| (column as f64, f64::from(row[column])))
                .collect();
            if !points.is_empty() {
                let position = grouped(*position, ',');
                curves.push(Curve {
                    stroke,
                    name: Some(format!("position {position}: {name} columns")),
                    dots: d_model <= DOTS,
                    points: thinned(&points),
                });
            }
        }
    }
    let end = d_model.saturating_sub(1).max(1) as f64;
    let x = Axis::counted("column of d_model", (0, d_model), end, 0.0);
    Ok(Some(Panel {
        x: x.horizontal(WIDTH),
        curves,
        note: None,
    }))
}

fn solid(index: usize) -> Stroke {
    Stroke::solid(distinct(index))
}

/// How many values to reduce to one pair of points, so that no curve has more than two points per pixel.
fn per_group(values: usize) -> usize {
    match values.div_ceil(WIDTH as usize) {
        0..=2 => 1,
        more => more,
    }
}

/// The smallest and the largest value of each group, in their order. A curve through them covers the
/// same pixels as one through all values.
fn envelope(values: &[f64], per_group: usize) -> Vec<(f64, f64)> {
    let mut points = Vec::new();
    for (group, values) in values.chunks(per_group).enumerate() {
        let at = |index: usize| ((group * per_group + index) as f64, values[index]);
        let by_value = |a: &usize, b: &usize| values[*a].total_cmp(&values[*b]);
        let least = (0..values.len()).min_by(by_value);
        let greatest = (0..values.len()).max_by(by_value);
        if let (Some(least), Some(greatest)) = (least, greatest) {
            points.push(at(least.min(greatest)));
            if least != greatest {
                points.push(at(least.max(greatest)));
            }
        }
    }
    points
}

/// The points of a curve, reduced to at most two per pixel.
fn thinned(points: &[(f64, f64)]) -> Vec<(f64, f64)> {
    let values: Vec<f64> = points.iter().map(|point| point.1).collect();
    let kept = envelope(&values, per_group(values.len()));
    kept.into_iter()
        .map(|(index, value)| (points[index as usize].0, value))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::encoding::tests::encoding;
    use super::*;

    #[test]
    fn curves_hold_the_values_of_their_columns_and_positions() {
        let panel = by_position(&encoding(20, 3, 50), &[4, 7]).unwrap().unwrap();
        let omega = |pair: f64| 10_000_f64.powf(-2.0 * pair / 20.0);
        for (index, (_, value)) in panel.curves[0].points.iter().enumerate() {
            assert!((value - (omega(2.0) * (index + 3) as f64).sin()).abs() < 3e-8);
        }
        for (index, (_, value)) in panel.curves[1].points.iter().enumerate() {
            assert!((value - (omega(3.0) * (index + 3) as f64).cos()).abs() < 3e-8);
        }
        let names = panel.curves.iter().filter_map(|of| of.name.as_deref());
        let names: Vec<&str> = names.collect();
        let sin = "column 4: sin, wavelength 39.6 tokens";
        assert_eq!(names, [sin, "column 7: cos, wavelength 99.6 tokens"]);

        let panel = by_column(&encoding(6, 0, 1), &[0, 9]).unwrap().unwrap();
        let of = |curve: usize| panel.curves[curve].points.clone();
        assert_eq!(of(0), [(0.0, 0.0), (2.0, 0.0), (4.0, 0.0)]); // sines of position 0
        assert_eq!(of(1), [(1.0, 1.0), (3.0, 1.0), (5.0, 1.0)]); // its cosines
        assert!((of(2)[0].1 - 9_f64.sin()).abs() < 3e-8);
        assert!(panel.curves[3].stroke.dash.is_some() && panel.curves[2].stroke.dash.is_none());
    }

    #[test]
    fn an_envelope_keeps_the_extremes_in_their_order() {
        let values = [0.0, 3.0, -1.0, 1.0, 1.0, 1.0, 5.0];
        assert_eq!(envelope(&values, 1).len(), 7);
        let expected = [(1.0, 3.0), (2.0, -1.0), (3.0, 1.0), (5.0, 1.0), (6.0, 5.0)];
        assert_eq!(envelope(&values, 3), expected);
        assert_eq!((per_group(1_440), per_group(1_441)), (1, 3));
    }

    #[test]
    fn default_columns_exist() {
        assert_eq!(default_columns(&encoding(512, 0, 1)), [0, 64, 128, 192]);
        for d_model in 1..40 {
            let encoding = encoding(d_model, 0, 1);
            let columns = default_columns(&encoding);
            assert!(svg(&encoding, &columns, &DEFAULT_POSITIONS).is_ok());
        }
    }
}
