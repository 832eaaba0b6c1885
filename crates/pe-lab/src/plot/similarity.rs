//! How similar the rows of any two positions are: the cosine of the angle between them.

use super::encoding::Encoding;
use super::matrix::{matrix, positions};
use crate::draw::Fit;
use crate::error::LabError;
use crate::grouped::grouped;

/// The most pixels for the positions, on each side.
const ROOM: usize = 600;

/// Draws the cosine between all pairs of positions of a sinusoidal encoding.
///
/// # Errors
///
/// [`LabError::Position`] when there is no memory for the table.
pub fn of(encoding: &Encoding) -> Result<String, LabError> {
    let (start, seq_len) = encoding.positions();
    let mut directions = Directions::new(seq_len, encoding.d_model());
    encoding.for_each_row(|row| directions.push(row))?;
    let title = "Cosine similarity of sinusoidal positional encodings";
    draw(&directions, start, title, encoding.describe())
}

/// Draws the cosine between all pairs of rows of any table, such as a trained one. The first row belongs
/// to position `first_position`.
///
/// If there are more rows than pixels, a pixel shows the mean of the cosines of several pairs, and the
/// subtitle says of how many. A row of zeros has no direction; its pixels are grey.
///
/// # Errors
///
/// [`LabError::Drawing`] when there are no rows or no columns, when rows differ in length, or when a
/// value is not finite.
pub fn svg(rows: &[Vec<f32>], first_position: usize, title: &str) -> Result<String, LabError> {
    let d_model = rows.first().map_or(0, Vec::len);
    if d_model == 0 {
        let reason = format!("a table of {} rows and {d_model} columns", rows.len());
        return Err(LabError::Drawing(reason));
    }
    let mut directions = Directions::new(rows.len(), d_model);
    for (index, row) in rows.iter().enumerate() {
        if row.len() != d_model {
            return Err(LabError::Drawing(format!(
                "row {index} has {} columns, row 0 has {d_model}",
                row.len()
            )));
        }
        if let Some(value) = row.iter().find(|value| !value.is_finite()) {
            return Err(LabError::Drawing(format!("row {index} holds {value}")));
        }
        directions.push(row);
    }
    let size = format!("{} positions, d_model {d_model}", grouped(rows.len(), ','));
    draw(&directions, first_position, title, size)
}

/// The rows in groups, one group per pixel. Each row is divided by its length and added to the sum of its
/// group. The mean cosine of two groups is the dot product of their sums divided by the number of pairs,
/// so no pair of single rows has to be computed.
struct Directions {
    fit: Fit,
    d_model: usize,
    sums: Vec<f64>,
    /// How many rows of each group are not zero.
    counts: Vec<usize>,
    rows: usize,
}

impl Directions {
    fn new(rows: usize, d_model: usize) -> Self {
        let fit = Fit::new(rows, ROOM);
        Self {
            fit,
            d_model,
            sums: vec![0.0; fit.pixels() * d_model],
            counts: vec![0; fit.pixels()],
            rows: 0,
        }
    }

    fn push(&mut self, row: &[f32]) {
        let group = self.rows / self.fit.per_pixel;
        let squares = row.iter().map(|value| f64::from(*value).powi(2));
        let length = squares.sum::<f64>().sqrt();
        self.rows += 1;
        if length == 0.0 {
            return;
        }
        let sums = &mut self.sums[group * self.d_model..][..self.d_model];
        for (sum, value) in sums.iter_mut().zip(row) {
            *sum += f64::from(*value) / length;
        }
        self.counts[group] += 1;
    }

    /// The mean cosine of every pair of groups, row by row. It is NaN if all rows of a group are zero.
    fn cosines(&self) -> Vec<f64> {
        let groups: Vec<&[f64]> = self.sums.chunks_exact(self.d_model).collect();
        let mut cosines = vec![0.0; groups.len() * groups.len()];
        for (i, a) in groups.iter().enumerate() {
            for (j, b) in groups[..=i].iter().enumerate() {
                let pairs = self.counts[i] * self.counts[j];
                let cosine = dot(a, b) / pairs as f64;
                cosines[i * groups.len() + j] = cosine;
                cosines[j * groups.len() + i] = cosine;
            }
        }
        cosines
    }
}

/// The dot product of two vectors, in eight partial sums that the processor can add at the same time.
fn dot(a: &[f64], b: &[f64]) -> f64 {
    let mut sums = [0.0; 8];
    let (a, a_rest) = a.as_chunks::<8>();
    let (b, b_rest) = b.as_chunks::<8>();
    for (a, b) in a.iter().zip(b) {
        for lane in 0..8 {
            sums[lane] += a[lane] * b[lane];
        }
    }
    let rest: f64 = a_rest.iter().zip(b_rest).map(|(a, b)| a * b).sum();
    sums.iter().sum::<f64>() + rest
}

fn draw(
    directions: &Directions,
    first: usize,
    title: &str,
    description: String,
) -> Result<String, LabError> {
    let fit = directions.fit;
    let mut subtitle = vec![description];
    if fit.per_pixel > 1 {
        let k = fit.per_pixel;
        subtitle.push(format!(
            "Reduced to pixels: each shows the mean of {k} × {k} pairs of positions"
        ));
    }
    if directions.counts.contains(&0) {
        subtitle.push("Grey: a row of zeros has no direction".into());
    }
    let across = positions(fit, first);
    let values = "cosine (dimensionless)";
    matrix(
        title,
        &subtitle,
        &directions.cosines(),
        (fit, across),
        (fit, first),
        values,
    )
}

#[cfg(test)]
mod tests {
    use super::super::encoding::tests::encoding;
    use super::*;
    use crate::data::testing::Says;

    #[test]
    fn cosines_of_the_encoding_are_those_of_the_closed_form() {
        let encoding = encoding(64, 7, 30);
        let mut directions = Directions::new(30, 64);
        encoding.for_each_row(|row| directions.push(row)).unwrap();
        for (index, cosine) in directions.cosines().iter().enumerate() {
            let offset = (index / 30) as isize - (index % 30) as isize;
            assert!((cosine - encoding.spectrum.similarity(offset).unwrap()).abs() < 1e-7);
        }
    }

    #[test]
    fn many_positions_share_pixels_as_the_mean_of_their_pairs() {
        let encoding = encoding(8, 0, 1_300);
        let mut directions = Directions::new(1_300, 8);
        encoding.for_each_row(|row| directions.push(row)).unwrap();
        assert_eq!(directions.fit.per_pixel, 3);
        let cosines = directions.cosines();
        let pixels = directions.fit.pixels();
        for (a, b) in [(0, 0), (5, 2), (100, 433), (433, 433)] {
            let of = |group: usize| 3 * group..(3 * group + 3).min(1_300);
            let pairs = of(a).flat_map(|p| of(b).map(move |q| q as isize - p as isize));
            let each: Vec<f64> = pairs
                .map(|o| encoding.spectrum.similarity(o).unwrap())
                .collect();
            let mean = each.iter().sum::<f64>() / each.len() as f64;
            assert!((cosines[a * pixels + b] - mean).abs() < 1e-7, "{a} {b}");
        }
    }

    #[test]
    fn bad_tables_are_refused() {
        for (rows, said) in [
            (vec![], "0 rows"),
            (vec![vec![]], "0 columns"),
            (vec![vec![1.0], vec![1.0, 2.0]], "row 1 has 2 columns"),
            (vec![vec![1.0], vec![f32::NAN]], "row 1 holds NaN"),
        ] {
            svg(&rows, 0, "a table").unwrap_err().says(said);
        }
    }
}
