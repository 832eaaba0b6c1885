//! Interpolation of the rows of a table that belong to places on a line or on a grid.

use alloc::vec;
use alloc::vec::Vec;

/// The old places that a new place is computed from, and their weights in the sum.
pub(crate) type Taps = Vec<(usize, f64)>;

/// Resizes the rows of an image, `[height][width][d_model]`, along one axis and then along the other.
/// `taps` gives the sums along an axis, from its old and its new length.
pub(crate) fn image(
    rows: &[f64],
    d_model: usize,
    from: [usize; 2],
    to: [usize; 2],
    taps: impl Fn(usize, usize) -> Vec<Taps>,
) -> Vec<f64> {
    let across = taps(from[1], to[1]);
    let row = from[1] * d_model;
    let wide: Vec<f64> = (0..from[0])
        .flat_map(|y| line(&rows[y * row..][..row], d_model, &across))
        .collect();
    line(&wide, to[1] * d_model, &taps(from[0], to[0]))
}

/// Weighted sums of rows of this width: one sum for each element of `taps`.
pub(crate) fn line(rows: &[f64], width: usize, taps: &[Taps]) -> Vec<f64> {
    taps.iter()
        .flat_map(|taps| {
            (0..width).map(move |i| {
                taps.iter()
                    .map(|(p, share)| share * rows[p * width + i])
                    .sum()
            })
        })
        .collect()
}

/// Four places for each new one, by Keys, *Cubic Convolution Interpolation for Digital Image Processing*, 1981, eq. 4
/// with a = −0.75 as in PyTorch and OpenCV. The centre of a pixel is half a pixel from its edge, and
/// the edge is repeated outside the image.
pub(crate) fn bicubic(from: usize, to: usize) -> Vec<Taps> {
    const A: f64 = -0.75;
    let weight = |distance: f64| match distance.abs() {
        x if x <= 1.0 => ((A + 2.0) * x - (A + 3.0)) * x * x + 1.0,
        x => ((A * x - 5.0 * A) * x + 8.0 * A) * x - 4.0 * A,
    };
    let taps = |centre: f64| {
        let whole = libm::floor(centre);
        let tap = |step: f64| {
            let place = (whole + step).clamp(0.0, (from - 1) as f64);
            (place as usize, weight(centre - whole - step))
        };
        [-1.0, 0.0, 1.0, 2.0].map(tap).to_vec()
    };
    centres(from, to).map(taps).collect()
}

/// Two places for each new one, with the same centres and edges, as PyTorch's `interpolate` has it for the modes `linear`
/// and `bilinear` without `align_corners`.
pub(crate) fn linear(from: usize, to: usize) -> Vec<Taps> {
    let last = from - 1;
    let taps = |centre: f64| {
        let centre = centre.max(0.0);
        let below = (centre as usize).min(last);
        let share = centre - below as f64;
        vec![(below, 1.0 - share), ((below + 1).min(last), share)]
    };
    centres(from, to).map(taps).collect()
}

/// Where the centres of the new places are among the old ones.
fn centres(from: usize, to: usize) -> impl Iterator<Item = f64> {
    let ratio = from as f64 / to as f64;
    (0..to).map(move |place| (place as f64 + 0.5) * ratio - 0.5)
}

/// For tables of the distances −n to n, which have an odd number of rows. The distances of the old table are taken to
/// grow geometrically, 0, 1, 1 + q, 1 + q + q², …, with q such that the last one is the last distance of the new table.
/// Between two of them the interpolation is linear; beyond the last one its entry is repeated.
///
/// q is found by bisection between 1.01 and 1.5, as in the code of BEiT: in a smaller table, the outer
/// distances are cut off.
pub(crate) fn geometric(from: usize, to: usize) -> Vec<Taps> {
    let (old, new) = ((from / 2) as i32, (to / 2) as i64);
    let (mut left, mut right, mut q) = (1.01, 1.5, 0.0);
    while right - left > 1e-6 {
        q = (left + right) / 2.0;
        if (1.0 - libm::pow(q, f64::from(old))) / (1.0 - q) > new as f64 {
            right = q;
        } else {
            left = q;
        }
    }
    let mut distances = vec![0.0];
    for i in 0..old {
        let last = distances[i as usize];
        distances.push(last + libm::pow(q, f64::from(i)));
    }
    let old = distances.len() - 1;
    let taps = |distance: i64| {
        let (steps, before) = (distance.unsigned_abs() as f64, distance < 0);
        // The places of a distance on this side of the centre.
        let place = |i: usize| if before { old - i } else { old + i };
        match distances.iter().position(|d| *d >= steps) {
            Some(0) => vec![(place(0), 1.0)],
            Some(i) => {
                let share = (steps - distances[i - 1]) / (distances[i] - distances[i - 1]);
                vec![(place(i - 1), 1.0 - share), (place(i), share)]
            }
            None => vec![(place(old), 1.0)],
        }
    };
    (-new..=new).map(taps).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Weights that sum to 1 keep a constant table constant.
    #[test]
    fn every_place_is_a_mean_of_old_ones() {
        for kind in [bicubic, linear, geometric] {
            for (from, to) in [(1, 1), (1, 7), (3, 5), (13, 27), (27, 13), (5, 401)] {
                let taps = kind(from, to);
                assert_eq!(taps.len(), to);
                for taps in taps {
                    let sum: f64 = taps.iter().map(|(_, share)| share).sum();
                    assert!((sum - 1.0).abs() < 1e-12, "{from} to {to}: {taps:?}");
                    assert!(taps.iter().all(|(place, _)| *place < from), "{taps:?}");
                }
            }
        }
    }

    /// A table that grows keeps its entry for each of its own geometric distances, the outermost among
    /// them; in one of the same size, all but the distances 0 and 1 lie between two old ones.
    #[test]
    fn geometric_distances_end_at_the_edge() {
        let taps = geometric(5, 9);
        let outermost = &taps[8];
        assert_eq!(outermost.last().unwrap().0, 4);
        assert!(outermost.last().unwrap().1 > 0.9999, "{outermost:?}");
        assert_eq!(taps[4], [(2, 1.0)]);
    }
}
