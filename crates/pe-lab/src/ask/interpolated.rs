//! The positions of patches in an image whose resolution differs from that of the training.

use pe_burn::{Coordinates, Grid};

use crate::error::LabError;

/// The coordinates of the patches of `to`, measured in patches of `from`, so that the same place of an image has the same
/// coordinates. A patch stands for its centre: the one at index `i` of `n` lies at `(i + ½) / n`.
///
/// # Errors
///
/// [`LabError::Position`] for a grid that is too large.
pub(super) fn interpolated(from: Grid, to: Grid) -> Result<Coordinates, LabError> {
    let factor = |from: usize, to: usize| from as f64 / to as f64;
    let factors = [
        factor(from.height(), to.height()),
        factor(from.width(), to.width()),
    ];
    // (i + ½) · factor − ½
    let shifts = factors.map(|factor| (factor - 1.0) / 2.0);
    Ok(Coordinates::of_grid(to)?
        .scaled(&factors)?
        .shifted(&shifts)?)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_same_place_has_the_same_coordinates() {
        let (from, to) = (Grid::image(2, 3), Grid::image(4, 3));
        let finer = interpolated(from, to).unwrap();
        let rows: Vec<f64> = finer.values().chunks(6).map(|row| row[0]).collect();
        // Two fine rows lie around the middle of a coarse one.
        assert_eq!(rows, [-0.25, 0.25, 0.75, 1.25]);
        let columns: Vec<f64> = finer.values()[..6].chunks(2).map(|at| at[1]).collect();
        assert_eq!(columns, [0.0, 1.0, 2.0]);
        let same = interpolated(from, from).unwrap();
        assert_eq!(same, Coordinates::of_grid(from).unwrap());
        let coarser = interpolated(Grid::image(4, 4), Grid::image(2, 2)).unwrap();
        assert_eq!(coarser.values(), [0.5, 0.5, 0.5, 2.5, 2.5, 0.5, 2.5, 2.5]);
    }
}
