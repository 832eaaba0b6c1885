//! A number that is asked of a whole row, in the place of a class.
//!
//! It is standardized with the mean and the deviation of the training. A model learns and is scored by the mean absolute
//! error, and the floor is the error of always predicting the mean of the training, or the median if its error is smaller.

use super::error::Problem;
use super::numbers::{beyond_f32, largest_not_held, standard};
use super::quote::shorten;
use super::rows::Rows;
use crate::task::rounded;

/// What is asked of every row, and how it is standardized.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Target {
    /// What the number is called.
    pub name: String,
    pub mean: f64,
    /// The median of the training: of all numbers it has the smallest mean absolute error there.
    pub median: f64,
    pub deviation: f64,
}

impl Target {
    /// The number called `name` that is predicted for these rows, standardized by the rows `train`; `None` if classes are
    /// predicted.
    ///
    /// # Errors
    ///
    /// [`Problem::Reading`] for a number that `f32`, in which models compute, cannot hold once it is standardized.
    pub fn of(data: &Rows, name: &str, train: &[usize]) -> Result<Option<Self>, Problem> {
        let Some(values) = &data.targets else {
            return Ok(None);
        };
        let of_row = |row: &usize| values[data.rows[*row].label];
        let mut trained: Vec<f64> = train.iter().map(of_row).collect();
        let (mean, deviation) = standard(&trained);
        trained.sort_by(f64::total_cmp);
        let target = Self {
            name: shorten(name).replace('`', ""),
            mean,
            median: trained.get(trained.len() / 2).copied().unwrap_or(mean),
            deviation,
        };
        match target.too_large(values) {
            None => Ok(Some(target)),
            Some(label) => Err(Problem::Reading(format!(
                "the number {} is {}",
                shorten(&data.labels[label]),
                beyond_f32(deviation)
            ))),
        }
    }

    /// The largest of those numbers that `f32` does not hold once they are standardized.
    pub fn too_large(&self, values: &[f64]) -> Option<usize> {
        largest_not_held(values, |_, value| self.standardized(value).is_finite())
    }

    /// A number as a model is to say it.
    pub fn standardized(&self, value: f64) -> f32 {
        ((value - self.mean) / self.deviation) as f32
    }

    /// The mean absolute error of always predicting one number, which takes no skill: the mean of the training or the median,
    /// whichever is closer to these values.
    pub fn floor(&self, values: impl Iterator<Item = f64>) -> f64 {
        let (mut sums, mut count) = ([0.0; 2], 0_u32);
        for value in values {
            sums[0] += (value - self.mean).abs();
            sums[1] += (value - self.median).abs();
            count += 1;
        }
        sums[0].min(sums[1]) / f64::from(count.max(1))
    }

    pub fn describe(&self, data: &Rows) -> String {
        let values = data.targets.iter().flatten();
        let (least, most) = values.fold((f64::INFINITY, f64::NEG_INFINITY), |(least, most), v| {
            (least.min(*v), most.max(*v))
        });
        format!(
            "a number is to be predicted of each, {}: from {least} to {most}, in training {} on average with a deviation of \
             {}; --objective class takes labels for classes",
            shorten(&self.name),
            rounded(self.mean),
            rounded(self.deviation)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_floor_is_the_smaller_error_of_the_mean_and_the_median() {
        let target = Target {
            name: "height".into(),
            mean: 3.0,
            median: 1.0,
            deviation: 1.0,
        };
        assert_eq!(target.floor([1.0, 1.0, 7.0].into_iter()), 2.0);
        assert_eq!(target.floor([3.0, 4.0].into_iter()), 0.5);
    }
}
