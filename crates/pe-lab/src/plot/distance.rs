//! What the distance of a query and a key does to their score: rotary positions, and ALiBi.

use pe_burn::{AlibiConfig, MAX_POSITION};

use super::encoding::{MAX_D_MODEL, spectrum};
use super::text::{check_list, number};
use crate::draw::colour::{MAX_DISTINCT, distinct, sequential};
use crate::draw::{Axis, Curve, Lines, Rect, Side, Stroke, page};
use crate::error::LabError;
use crate::grouped::{counted, grouped};

const WIDTH: i32 = 660;
const HEIGHT: i32 = 300;
/// The most points of a line.
const POINTS: usize = 1_000;
/// The most heads whose lines are drawn.
const MAX_HEADS: usize = 64;
/// The most heads that are named beside the picture.
const NAMED: usize = 8;

/// Draws the score of a query and a key that are equal in all columns, over their distance, for RoPE with each of
/// `bases`: the mean of `cos(ω_i · distance)`, which is 1 at distance 0.
///
/// # Errors
///
/// [`LabError::Position`] when a base is out of range; [`LabError::Usage`] when `d_head` or `reach` is, when there
/// are no bases, more than [`MAX_DISTINCT`], or one twice.
pub fn rotary(d_head: usize, bases: &[f64], reach: usize) -> Result<String, LabError> {
    check_list("--bases", bases, MAX_DISTINCT)?;
    check("--d-head", d_head, 2, MAX_D_MODEL)?;
    if !d_head.is_multiple_of(2) {
        return Err(LabError::Usage(format!(
            "--d-head must be even; got {d_head}"
        )));
    }
    let distances = distances(reach)?;
    let mut curves = Vec::new();
    for (index, base) in bases.iter().enumerate() {
        let spectrum = spectrum(d_head, *base)?;
        let score =
            |distance: &usize| Ok((*distance as f64, spectrum.similarity(*distance as isize)?));
        let points = distances
            .iter()
            .map(score)
            .collect::<Result<_, LabError>>()?;
        curves.push(Curve {
            stroke: Stroke::solid(distinct(index)),
            name: Some(format!("base {}", number(*base))),
            points,
            dots: false,
        });
    }
    draw(
        "Score of an equal query and key, rotated by RoPE",
        &format!("d_head {d_head}; divided by the score at distance 0"),
        "score",
        &curves,
        reach,
    )
}

/// Draws the bias that each of the `heads` of ALiBi adds to a score, over the distance.
///
/// # Errors
///
/// [`LabError::Usage`] when `heads` is not from 1 to 64, or `reach` is out of range.
pub fn alibi(heads: usize, reach: usize) -> Result<String, LabError> {
    check("--heads", heads, 1, MAX_HEADS)?;
    let distances = distances(reach)?;
    let slopes = AlibiConfig::new(heads).slopes();
    let every = heads.div_ceil(NAMED);
    let curve = |(head, slope): (usize, &f64)| {
        let points = distances.iter().map(|d| (*d as f64, -slope * *d as f64));
        Curve {
            stroke: Stroke::solid(sequential(0.9 * head as f64 / heads as f64)),
            name: head
                .is_multiple_of(every)
                .then(|| format!("head {head}, slope {}", number(*slope))),
            points: points.collect(),
            dots: false,
        }
    };
    let curves: Vec<Curve> = slopes.iter().enumerate().map(curve).collect();
    draw(
        "Biases of ALiBi",
        &format!("{}; added to the scores", counted(heads, "head")),
        "bias",
        &curves,
        reach,
    )
}

fn check(name: &str, value: usize, least: usize, most: usize) -> Result<(), LabError> {
    match (least..=most).contains(&value) {
        true => Ok(()),
        false => Err(LabError::Usage(format!(
            "{name} must be from {least} to {most}; got {value}"
        ))),
    }
}

/// Distances from 0 to `reach`, evenly spaced, at most [`POINTS`] of them and the last.
fn distances(reach: usize) -> Result<Vec<usize>, LabError> {
    check("--reach", reach, 1, MAX_POSITION)?;
    let mut distances: Vec<usize> = (0..reach).step_by(reach.div_ceil(POINTS)).collect();
    distances.push(reach);
    Ok(distances)
}

fn draw(
    title: &str,
    about: &str,
    measure: &str,
    curves: &[Curve],
    reach: usize,
) -> Result<String, LabError> {
    let values = curves.iter().flat_map(|of| &of.points).map(|at| at.1);
    let (least, most) = values.fold((f64::MAX, f64::MIN), |(a, b), v| (a.min(v), b.max(v)));
    let room = 0.04 * (most - least);
    let x = Axis::round("distance (tokens)", 0.0..reach as f64, 9).horizontal(WIDTH);
    let y = Axis::round(measure, least - room..most + room, 7);
    let subtitle = [format!("{about}; distances up to {}", grouped(reach, ','))];
    let rect = Rect::beside(&y, subtitle.len(), (WIDTH, HEIGHT));
    let right = rect.left + WIDTH;
    page(
        (right + 240, rect.top + HEIGHT + 60),
        title,
        &subtitle,
        |page| {
            let mut chart = page.chart(rect, &x, (&y, Side::Left), Lines::Both)?;
            curves.iter().try_for_each(|curve| curve.draw(&mut chart))?;
            page.legend((right + 18, rect.top + 12), &Curve::legend(curves))
        },
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn distances_reach_the_last_and_are_not_too_many() {
        assert_eq!(distances(3).unwrap(), [0, 1, 2, 3]);
        let far = distances(MAX_POSITION).unwrap();
        assert!(far.len() <= POINTS + 1 && far[far.len() - 1] == MAX_POSITION);
    }

    #[test]
    fn the_largest_and_the_smallest_can_be_drawn() {
        assert!(alibi(64, 1).is_ok() && rotary(2, &[1e4], MAX_POSITION).is_ok());
    }
}
