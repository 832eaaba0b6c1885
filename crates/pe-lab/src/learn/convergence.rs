//! Whether a training has converged.

use super::losses::CurvePoint;

/// A run whose held-out loss falls by more than this share of its value before the first step over the last
/// quarter of the steps has not converged.
pub const STILL_FALLING: f64 = 0.02;

/// By which share of the loss before the first step the held-out loss falls over the last quarter of the training. `None`
/// if no loss was measured during the training before that quarter, or none in it.
fn last_fall(points: &[CurvePoint]) -> Option<f64> {
    let (first, last) = (points.first()?, points.last()?);
    let start = last.step as f64 * 0.75;
    let after = points.iter().position(|point| point.step as f64 > start)?;
    let (before, after) = (points.get(after.checked_sub(1)?)?, &points[after]);
    // The loss before the first step does not tell how the loss fell until the last quarter.
    if before.step == 0 {
        return None;
    }
    // Between two points the loss is taken to fall evenly.
    let share = (start - before.step as f64) / (after.step - before.step) as f64;
    let at_start = before.loss + share * (after.loss - before.loss);
    (first.loss > 0.0).then(|| (at_start - last.loss) / first.loss)
}

/// Whether the training had converged by the end of its held-out losses: whether they fall by at most [`STILL_FALLING`]
/// over its last quarter. `None` if there are too few of them to tell. The verdict on a study and the trainings that go on
/// until they have converged both use this rule.
pub fn has_converged(points: &[CurvePoint]) -> Option<bool> {
    last_fall(points).map(|fall| fall <= STILL_FALLING)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn curve(points: &[(usize, f64)]) -> Vec<CurvePoint> {
        points.iter().copied().map(CurvePoint::from).collect()
    }

    #[test]
    fn the_fall_is_that_of_the_last_quarter_as_a_share_of_the_first_loss() {
        // At step 300 of 400, between 250 and 350, the loss is 1.0.
        let falling = curve(&[(0, 2.0), (250, 1.5), (350, 0.5), (400, 0.4)]);
        assert!((last_fall(&falling).unwrap() - 0.3).abs() < 1e-12);
        assert_eq!(has_converged(&falling), Some(false));
        let flat = curve(&[(0, 2.0), (250, 0.51), (300, 0.50), (400, 0.47)]);
        assert!((last_fall(&flat).unwrap() - 0.015).abs() < 1e-12);
        assert_eq!(has_converged(&flat), Some(true));
        let rising = curve(&[(0, 2.0), (200, 0.5), (400, 0.9)]);
        assert_eq!(has_converged(&rising), Some(true));
    }

    #[test]
    fn a_task_that_is_solved_when_it_is_first_tested_has_converged() {
        let solved = [(60, 0.030), (300, 0.012), (450, 0.008), (600, 0.005)];
        assert_eq!(has_converged(&curve(&solved)), Some(false), "of 0.03 nats");
        let from_the_start = [&[(0, 1.4)], &solved[..]].concat();
        assert_eq!(has_converged(&curve(&from_the_start)), Some(true));
    }

    #[test]
    fn too_few_points_say_nothing() {
        for points in [
            &[][..],
            &[(0, 2.0)],
            &[(30, 2.0)],
            &[(390, 2.0), (400, 0.1)],
            &[(0, 2.0), (40, 0.1)],
            &[(0, 2.0), (390, 1.0), (400, 0.1)],
        ] {
            assert_eq!(has_converged(&curve(points)), None, "{points:?}");
        }
    }
}
