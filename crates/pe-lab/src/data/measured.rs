//! Rows of measurements: their tokens are numbers, which a model reads as numbers and not as words.
//!
//! A token is one step of a series: the numbers of its channels with spaces between them. Its numbers are standardized with
//! the mean and the deviation of the training, each channel on its own. The vector of a step has three parts:
//!
//! | part | width | what it holds |
//! |---|---|---|
//! | numbers | the channels | the standardized numbers; 0 where a value is missing, which is the mean |
//! | missing | the channels, if a value is missing anywhere | 1 where a value is missing, else 0 |
//! | edge | 1 | −1 at BOS, 1 at EOS, else 0 |

use super::error::Problem;
use super::numbers::{beyond_f32, largest_not_held, standard, step};
use super::quote::shorten;
use super::rows::Rows;
use crate::task::Input;

/// The numbers of the rows, as a model reads them.
#[derive(Debug)]
pub(super) struct Measured {
    /// The numbers of every token of the rows, token by token, as the file has them.
    pub table: Vec<f64>,
    scale: Scale,
    /// Whether a value is missing anywhere, so that vectors say which.
    marks: bool,
}

/// What each channel is scaled by: its mean, and what it is divided by.
type Scale = Vec<(f64, f64)>;

impl Measured {
    /// The numbers of rows that hold measurements, standardized by those of the rows to train on.
    ///
    /// # Errors
    ///
    /// [`Problem::Test`] for a number that `f32`, in which models compute, cannot hold once it is standardized.
    pub fn of(data: &Rows, channels: usize, train: &[usize]) -> Result<Self, Problem> {
        let numbers = data.words.iter().map(|word| {
            // Tokens were checked when they were read.
            step(word, channels).unwrap_or_else(|_| vec![f64::NAN; channels])
        });
        let table: Vec<f64> = numbers.flatten().collect();
        let tokens = || train.iter().flat_map(|row| &data.rows[*row].tokens);
        let of_channel = |channel: usize| {
            let all = tokens().map(|token| table[*token as usize * channels + channel]);
            standard(&all.filter(|number| !number.is_nan()).collect::<Vec<_>>())
        };
        let scale = (0..channels).map(of_channel).collect();
        let measured = Self::new(table, scale);
        match measured.too_large() {
            None => Ok(measured),
            Some((token, by)) => Err(Problem::Test(too_large(&data.words[token], by))),
        }
    }

    /// Whether `f32`, in which models compute, can hold a number once it is standardized. A missing number counts as
    /// held.
    fn is_held(number: f64, (mean, by): (f64, f64)) -> bool {
        number.is_nan() || (((number - mean) / by) as f32).is_finite()
    }

    fn new(table: Vec<f64>, scale: Scale) -> Self {
        let marks = table.iter().any(|number| number.is_nan());
        Self {
            table,
            scale,
            marks,
        }
    }

    /// The token with the largest of the numbers that `f32` cannot hold once they are standardized, and what that number is
    /// divided by.
    fn too_large(&self) -> Option<(usize, f64)> {
        let channels = self.scale.len();
        let is_held = |at: usize, number| Self::is_held(number, self.scale[at % channels]);
        let at = largest_not_held(&self.table, is_held)?;
        Some((at / channels, self.scale[at % channels].1))
    }

    pub fn step(&self, token: usize) -> &[f64] {
        let channels = self.scale.len();
        &self.table[token * channels..][..channels]
    }

    /// How many numbers the vector of a step has.
    pub fn width(&self) -> usize {
        let parts = 1 + usize::from(self.marks);
        self.scale.len() * parts + 1
    }

    /// What a model reads of a row, with BOS and EOS around its steps.
    pub fn input<'a>(&self, steps: impl Iterator<Item = &'a [f64]>) -> Input {
        let (width, marks) = (self.width(), self.marks);
        let mut values = Vec::new();
        let edge = |values: &mut Vec<f32>, mark: f32| {
            values.extend(std::iter::repeat_n(0.0, width - 1));
            values.push(mark);
        };
        edge(&mut values, -1.0);
        for numbers in steps {
            let scaled = numbers.iter().zip(&self.scale);
            values.extend(
                scaled.map(|(number, (mean, deviation))| match number.is_nan() {
                    true => 0.0,
                    false => ((number - mean) / deviation) as f32,
                }),
            );
            if marks {
                values.extend(
                    numbers
                        .iter()
                        .map(|number| f32::from(u8::from(number.is_nan()))),
                );
            }
            values.push(0.0);
        }
        edge(&mut values, 1.0);
        Input::Vectors { width, values }
    }

    /// What a model reads of a row of another file.
    ///
    /// # Errors
    ///
    /// With the token that cannot be read, and why.
    pub fn input_of(&self, words: &[&str]) -> Result<Input, String> {
        let steps = words.iter().map(|word| {
            let numbers = step(word, self.scale.len())?;
            if numbers.iter().any(|number| number.is_nan()) && !self.marks {
                return Err(
                    "a value is missing, and the model was trained on rows without missing values"
                        .into(),
                );
            }
            let mut scaled = numbers.iter().zip(&self.scale);
            match scaled.find(|(number, scale)| !Self::is_held(**number, **scale)) {
                None => Ok(numbers),
                Some((_, (_, by))) => Err(too_large(word, *by)),
            }
        });
        let steps: Vec<Vec<f64>> = steps.collect::<Result<_, String>>()?;
        Ok(self.input(steps.iter().map(Vec::as_slice)))
    }

    pub fn describe(&self) -> String {
        let channels = self.scale.len();
        format!(
            "read as numbers: {}, standardized as in training{}",
            match channels {
                1 => "one for each token".to_string(),
                _ => format!("{channels} for each token"),
            },
            match self.marks {
                true => "; a missing value is marked as such and counts as the mean",
                false => "",
            }
        )
    }
}

/// What is wrong with a token of which a number is too large.
fn too_large(token: &str, by: f64) -> String {
    format!("{} is {}", shorten(token), beyond_f32(by))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, vectors};

    #[test]
    fn numbers_are_standardized_and_missing_ones_are_marked() {
        // Deviations by hand: 1 and 3 have the mean 2 and the deviation 1; 10 alone has no deviation.
        let of = |table: Vec<f64>| Measured::new(table, vec![(2.0, 1.0), (10.0, 1.0)]);
        let steps = [[1.0, 10.0], [3.0, f64::NAN]];
        let measured = of(steps.concat());
        assert_eq!(measured.width(), 5);
        let input = measured.input(steps.iter().map(|s| &s[..]));
        let (width, values) = vectors(&input);
        let rows: Vec<&[f32]> = values.chunks(width).collect();
        assert_eq!(rows[0], [0.0, 0.0, 0.0, 0.0, -1.0]);
        assert_eq!(rows[1], [-1.0, 0.0, 0.0, 0.0, 0.0]);
        assert_eq!(rows[2], [1.0, 0.0, 0.0, 1.0, 0.0]);
        assert_eq!(rows[3], [0.0, 0.0, 0.0, 0.0, 1.0]);
        let whole = of(vec![1.0, 10.0, 3.0, 10.0]);
        assert_eq!(whole.width(), 3);
        let wrong = whole.input_of(&["1 ?"]).unwrap_err();
        wrong.says("without missing values");
        let wrong = whole.input_of(&["1 1e39"]).unwrap_err();
        wrong.says("`1 1e39` is too large for f32");
    }
}
