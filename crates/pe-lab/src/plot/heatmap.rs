//! The whole table: a row for each position, a column for each column, a colour for each value.

use super::encoding::Encoding;
use super::matrix::matrix;
use crate::draw::{Axis, Fit, Raster};
use crate::error::LabError;

/// The most pixels for the columns and for the positions.
const ROOM: (usize, usize) = (1024, 600);

/// Draws the value of every position and column, from blue (−1) over white (0) to red (1).
///
/// If there are more cells than pixels, a pixel shows the mean of several cells, and the subtitle says
/// of how many.
///
/// # Errors
///
/// [`LabError::Position`] when there is no memory for the table.
pub fn svg(encoding: &Encoding) -> Result<String, LabError> {
    let (start, seq_len) = encoding.positions();
    let d_model = encoding.d_model();
    let (x, y) = (Fit::new(d_model, ROOM.0), Fit::new(seq_len, ROOM.1));
    let means = raster(encoding, x, y)?.means();
    let mut subtitle = vec![encoding.describe()];
    subtitle.extend(averaged(x, y));
    let columns = Axis::counted("column of d_model", (0, d_model), x.span() as f64, 0.5);
    let title = "Sinusoidal positional encoding";
    let values = "value (dimensionless)";
    matrix(title, &subtitle, &means, (x, columns), (y, start), values)
}

fn raster(encoding: &Encoding, x: Fit, y: Fit) -> Result<Raster, LabError> {
    let mut raster = Raster::new(x, y);
    encoding.for_each_row(|row| raster.push(row.iter().copied().map(f64::from)))?;
    Ok(raster)
}

/// A sentence that says how many cells a pixel stands for; `None` if it is one.
fn averaged(x: Fit, y: Fit) -> Option<String> {
    let of = match (y.per_pixel, x.per_pixel) {
        (1, 1) => return None,
        (rows, 1) => format!("{rows} positions, so a wave shorter than that fades to white"),
        (1, columns) => format!("{columns} neighbouring columns"),
        (rows, columns) => format!("{rows} positions × {columns} columns"),
    };
    Some(format!("Reduced to pixels: each shows the mean of {of}"))
}

#[cfg(test)]
mod tests {
    use super::super::encoding::tests::encoding;
    use super::*;

    #[test]
    fn many_positions_are_averaged() {
        let (x, y) = (Fit::new(4, ROOM.0), Fit::new(10_000, ROOM.1));
        assert_eq!(y.per_pixel, 17);
        let means = raster(&encoding(4, 0, 10_000), x, y).unwrap().means();
        assert_eq!(means.len(), 4 * 589);
        // The second pixel from the top is the mean of positions 17 to 33.
        for (column, omega) in [(0, 1.0), (2, 0.01)] {
            let mean: f64 = (17..34).map(|p| (omega * f64::from(p)).sin()).sum::<f64>() / 17.0;
            assert!((means[4 + column] - mean).abs() < 3e-8);
        }
        // The last stands for positions 9,996 to 9,999 alone.
        let mean: f64 = (9_996..10_000).map(|p| f64::from(p).sin()).sum::<f64>() / 4.0;
        assert!((means[588 * 4] - mean).abs() < 3e-8);
        assert!(averaged(x, y).unwrap().contains("mean of 17 positions,"));
    }
}
