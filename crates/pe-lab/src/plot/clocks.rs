//! Pairs of columns as the hands of clocks, each with its own speed.

use super::encoding::Encoding;
use super::text::{check_list, wavelength};
use crate::draw::colour::sequential;
use crate::draw::{Axis, Chart, Lines, Page, Rect, Side, Words, below_subtitle, dots, page};
use crate::error::LabError;

/// The most pairs on one page.
pub const MAX_PAIRS: usize = 24;
const FACE: i32 = 190;
const GAP: (i32, i32) = (46, 76);
/// A turn is divided into this many parts, each less than a pixel long. Only the last dot of each part
/// is drawn, since it would cover the others.
const PARTS: usize = 720;

/// The pairs that are drawn if none are named: up to six, evenly spaced from the fastest on.
pub fn default_pairs(encoding: &Encoding) -> Vec<usize> {
    let pairs = encoding.d_model() / 2;
    let step = (pairs / 8).max(1);
    (0..6)
        .map(|i| i * step)
        .take_while(|i| *i < pairs)
        .collect()
}

/// Draws a circle for each of `pairs`, with a dot at (sin ω p, cos ω p) for each position p. It is the
/// tip of a hand that starts upright and turns clockwise by ω radians per token. The colour of a dot is
/// its position.
///
/// # Errors
///
/// [`LabError::Usage`] when `pairs` is empty, has more than [`MAX_PAIRS`] entries or names a pair
/// twice, or when `d_model` has no such pair. The last sine of an odd `d_model` has no cosine and makes
/// no pair.
pub fn svg(encoding: &Encoding, pairs: &[usize]) -> Result<String, LabError> {
    check(encoding.d_model(), pairs)?;
    let faces = faces(encoding, pairs)?;
    let across = match pairs.len() {
        few @ 1..=3 => few,
        4 => 2,
        5..=9 => 3,
        10..=12 => 4,
        _ => 6,
    };
    let (start, seq_len) = encoding.positions();
    let last = seq_len.saturating_sub(1).max(1) as f64;
    let subtitle = [
        encoding.describe(),
        "A hand for each pair of columns, upright at position 0, clockwise; later positions on top"
            .into(),
    ];
    let top = below_subtitle(subtitle.len()) + 24;
    let left = 76;
    let rows = pairs.len().div_ceil(across) as i32;
    let columns = across as i32;
    let height = rows * FACE + (rows - 1) * GAP.1;
    let bar = left + columns * FACE + (columns - 1) * GAP.0 + 30;
    let positions = Axis::counted("position (tokens)", (start, seq_len), last, 0.0);
    let wavelengths = encoding.spectrum.wavelengths();
    page(
        ((bar + 30 + positions.margin()).max(760), top + height + 66),
        "Sinusoidal positional encoding as clocks",
        &subtitle,
        |page| {
            for (index, (pair, face)) in pairs.iter().zip(&faces).enumerate() {
                let (row, column) = ((index / across) as i32, (index % across) as i32);
                let rect = Rect {
                    left: left + column * (FACE + GAP.0),
                    top: top + row * (FACE + GAP.1),
                    width: FACE,
                    height: FACE,
                };
                // Only the lowest faces and those on the left have room for the name of an axis.
                let lowest = index + across >= pairs.len();
                let x = if lowest { "sin (dimensionless)" } else { "" };
                let y = if column == 0 {
                    "cos (dimensionless)"
                } else {
                    ""
                };
                let title = [
                    named(encoding, *pair),
                    format!("one turn in {} tokens", wavelength(wavelengths[*pair])),
                ];
                let mut chart = clock(page, rect, (x, y), &title)?;
                let colour = |offset: usize| sequential(offset as f64 / last);
                let points = face.iter();
                let points = points.map(|(offset, point)| (*point, colour(*offset)));
                dots(&mut chart, points, 4)?;
            }
            page.colour_bar((bar, top, height), &positions, sequential, (0.0, 1.0))
        },
    )
}

/// `pair 3 (columns 6 and 7)`.
fn named(encoding: &Encoding, pair: usize) -> String {
    let (sin, cos) = encoding.pair(pair);
    let columns = cos.map_or(sin.to_string(), |cos| format!("{sin} and {cos}"));
    format!("pair {pair} (columns {columns})")
}

/// Draws the circle of one pair below two lines of text.
fn clock<'a>(
    page: &mut Page<'a, '_>,
    rect: Rect,
    (x, y): (&str, &str),
    [title, turn]: &[String; 2],
) -> Result<Chart<'a>, LabError> {
    let [x, y] = [x, y].map(|name| Axis {
        ticks: [(-1.0, "−1".into()), (0.0, "0".into()), (1.0, "1".into())].into(),
        ..Axis::unit(name, 0.2)
    });
    let middle = rect.left + FACE / 2;
    page.text((middle, rect.top - 26), title, 12.0, Words::CENTERED)?;
    page.text((middle, rect.top - 11), turn, 11.0, Words::CENTERED)?;
    let chart = page.chart(rect, &x, (&y, Side::Left), Lines::Both)?;
    page.circle(&chart, 1.0)?;
    Ok(chart)
}

/// Checks that all pairs exist.
fn check(d_model: usize, pairs: &[usize]) -> Result<(), LabError> {
    if d_model < 2 {
        return Err(LabError::Usage(format!(
            "--d-model {d_model} has no pair of a sine and a cosine; it takes at least 2"
        )));
    }
    check_list("--pairs", pairs, MAX_PAIRS)?;
    if let Some(pair) = pairs.iter().find(|pair| **pair >= d_model / 2) {
        let why = match (*pair == d_model / 2, d_model % 2) {
            (true, 1) => " (d_model is odd: its last sine has no cosine)",
            _ => "",
        };
        return Err(LabError::Usage(format!(
            "there is no pair {pair}: d_model {d_model} has the pairs 0 to {}{why}",
            d_model / 2 - 1
        )));
    }
    Ok(())
}

/// The dots of one pair in the order in which they are drawn: the position, counted from the first one
/// drawn, and the point.
type Face = Vec<(usize, (f64, f64))>;

fn faces(encoding: &Encoding, pairs: &[usize]) -> Result<Vec<Face>, LabError> {
    let mut latest = vec![vec![None; PARTS]; pairs.len()];
    let mut offset = 0;
    encoding.for_each_row(|row| {
        for (latest, pair) in latest.iter_mut().zip(pairs) {
            if let (sin, Some(cos)) = encoding.pair(*pair) {
                let (sin, cos) = (f64::from(row[sin]), f64::from(row[cos]));
                let turn = sin.atan2(cos) / std::f64::consts::TAU + 0.5;
                let part = (turn * PARTS as f64) as usize % PARTS;
                latest[part] = Some((offset, (sin, cos)));
            }
        }
        offset += 1;
    })?;
    let in_order = |parts: Vec<Option<(usize, (f64, f64))>>| {
        let mut face: Face = parts.into_iter().flatten().collect();
        face.sort_by_key(|dot| dot.0);
        face
    };
    Ok(latest.into_iter().map(in_order).collect())
}

#[cfg(test)]
mod tests {
    use super::super::encoding::tests::encoding;
    use super::*;

    #[test]
    fn dots_are_sines_and_cosines_of_their_positions() {
        let faces = faces(&encoding(8, 2, 5), &[0, 1]).unwrap();
        for (face, omega) in faces.iter().zip([1.0, 0.1]) {
            assert_eq!(face.len(), 5);
            for (index, (offset, (sin, cos))) in face.iter().enumerate() {
                assert_eq!(*offset, index);
                let angle = omega * (index + 2) as f64;
                assert!((sin - angle.sin()).abs() < 3e-8 && (cos - angle.cos()).abs() < 3e-8);
            }
        }
    }

    #[test]
    fn where_turns_overlap_the_later_position_is_on_top() {
        // 710 radians are 113 turns to within 6e-5: positions 0 and 710 lie on one another.
        let faces = faces(&encoding(2, 0, 711), &[0]).unwrap();
        assert!(faces[0].iter().all(|dot| dot.0 != 0));
        assert!(faces[0].iter().any(|dot| dot.0 == 710));
        assert!(faces[0].len() <= PARTS);
    }

    #[test]
    fn default_pairs_exist() {
        let pairs = default_pairs(&encoding(512, 0, 1));
        assert_eq!(pairs, [0, 32, 64, 96, 128, 160]);
        assert_eq!(default_pairs(&encoding(7, 0, 1)), [0, 1, 2]);
        for d_model in 2..40 {
            let encoding = encoding(d_model, 0, 1);
            assert!(svg(&encoding, &default_pairs(&encoding)).is_ok());
        }
    }
}
