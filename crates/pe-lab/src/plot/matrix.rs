//! A picture of a matrix: an image between two axes, and a bar that says which colour is which value.

use crate::draw::colour::diverging;
use crate::draw::{Axis, Fit, Image, Lines, Rect, Side, page};
use crate::error::LabError;

/// Draws the pixels of a matrix, row by row, whose rows are the positions from `first` on, below a title and some lines.
/// `columns` is the axis of its columns, and `values` what its colours stand for: from blue (−1) over white (0) to red (1).
pub(super) fn matrix(
    title: &str,
    subtitle: &[String],
    pixels: &[f64],
    (x, columns): (Fit, Axis),
    (y, first): (Fit, usize),
    values: &str,
) -> Result<String, LabError> {
    let colours: Vec<_> = pixels.iter().copied().map(diverging).collect();
    let image = Image::enlarged(x, y, &colours)?;
    let (width, height) = (x.length() as i32, y.length() as i32);
    let columns = columns.horizontal(width);
    let mut positions = positions(y, first);
    // The first position is on top.
    std::mem::swap(&mut positions.from, &mut positions.to);
    let rect = Rect::beside(&positions, subtitle.len(), (width, height));
    let bar = rect.left + width + 24;
    let size = ((bar + 90).max(640), rect.top + height + 60);
    page(size, title, subtitle, |page| {
        page.image(rect, &image);
        page.chart(rect, &columns, (&positions, Side::Left), Lines::None)?;
        let values = Axis::unit(values, 0.0);
        page.colour_bar((bar, rect.top, height), &values, diverging, (-1.0, 1.0))
    })
}

/// The axis of positions from `first` on.
pub(super) fn positions(fit: Fit, first: usize) -> Axis {
    let of = (first, fit.cells);
    Axis::counted("position (tokens)", of, fit.span() as f64, 0.5)
}
