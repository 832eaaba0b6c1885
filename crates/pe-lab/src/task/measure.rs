//! What the score of a task is measured in.

use serde::{Deserialize, Serialize};

/// What the score of a task is measured in: a share of correct answers, or a loss.
///
/// ```
/// use pe_lab::task::Measure;
///
/// let bits = Measure::Bits { token: "character".into() };
/// assert_eq!(bits.name(), "bits per character");
/// // Half of the bits that take no skill are half of the way to none.
/// assert_eq!(bits.score(2.0).over(4.0), 0.5);
/// // An accuracy of 0.6 is half of the way from 0.2 to 1.
/// assert!((Measure::Accuracy.score(0.6).over(0.2) - 0.5).abs() < 1e-12);
/// ```
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Measure {
    /// The share of correct answers: higher is better.
    #[default]
    Accuracy,
    /// The share of answers that are right as a whole, of all those that a decoder writes: higher is better.
    ExactMatch,
    /// The mean of −log₂ of the probability that the model gives to the correct token: lower is better.
    Bits {
        /// What a token is, such as `character`.
        token: String,
    },
    /// The mean absolute error of a number: lower is better.
    Error {
        /// The unit of the number.
        unit: String,
    },
    /// A score that another program computed, of which nothing else is known: higher is better, and 1 is the highest.
    Given,
}

/// A score with what it measures. In a file it is one of the fields [`FIELDS`](Self::FIELDS).
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Score {
    /// The share of correct answers.
    Accuracy(f64),
    /// The share of answers that are right as a whole.
    ExactMatch(f64),
    /// Bits per token.
    Bits(f64),
    /// The mean absolute error, in the unit of the data.
    Error(f64),
    /// A score of another program.
    #[serde(rename = "score")]
    Given(f64),
}

impl Measure {
    /// What a value is, in words: `accuracy`, `bits per character`, `error in ppm`.
    pub fn name(&self) -> String {
        match self {
            Self::Accuracy => "accuracy".into(),
            Self::ExactMatch => "exact match".into(),
            Self::Bits { token } => format!("bits per {token}"),
            Self::Error { unit } => format!("error in {unit}"),
            Self::Given => "score".into(),
        }
    }

    /// A value as it is shown: with three decimals; a very small or very large error with four digits.
    pub fn shown(&self, value: f64) -> String {
        match self {
            Self::Error { .. } if value != 0.0 && !(0.1..1e7).contains(&value.abs()) => {
                rounded(value)
            }
            _ => format!("{value:.3}"),
        }
    }

    /// Its name with the direction that is better, for an axis or the head of a table.
    pub fn axis(&self) -> String {
        match self {
            Self::Accuracy => "accuracy (share correct)".into(),
            Self::ExactMatch => "exact match (share of answers right as a whole)".into(),
            Self::Given => "score (higher is better)".into(),
            _ => format!("{} (lower is better)", self.name()),
        }
    }

    /// What a normalized score of 1 means.
    pub fn perfect(&self) -> &'static str {
        match self {
            Self::Accuracy | Self::ExactMatch => "all correct",
            Self::Bits { .. } => "no bit needed",
            Self::Error { .. } => "no error",
            Self::Given => "the highest score",
        }
    }

    /// Whether it is a share of correct answers.
    pub fn is_accuracy(&self) -> bool {
        matches!(self, Self::Accuracy | Self::ExactMatch)
    }

    /// Whether lower is better.
    pub fn is_loss(&self) -> bool {
        matches!(self, Self::Bits { .. } | Self::Error { .. })
    }

    /// A value of this measure.
    pub fn score(&self, value: f64) -> Score {
        match self {
            Self::Accuracy => Score::Accuracy(value),
            Self::ExactMatch => Score::ExactMatch(value),
            Self::Bits { .. } => Score::Bits(value),
            Self::Error { .. } => Score::Error(value),
            Self::Given => Score::Given(value),
        }
    }
}

impl Score {
    /// The fields of a file that hold a score, one for each measure.
    pub const FIELDS: [&str; 5] = ["accuracy", "exact_match", "bits", "error", "score"];

    /// The number alone.
    pub fn value(self) -> f64 {
        match self {
            Self::Accuracy(value)
            | Self::ExactMatch(value)
            | Self::Bits(value)
            | Self::Error(value)
            | Self::Given(value) => value,
        }
    }

    /// Another value of the same measure.
    pub fn with(self, value: f64) -> Self {
        match self {
            Self::Accuracy(_) => Self::Accuracy(value),
            Self::ExactMatch(_) => Self::ExactMatch(value),
            Self::Bits(_) => Self::Bits(value),
            Self::Error(_) => Self::Error(value),
            Self::Given(_) => Self::Given(value),
        }
    }

    /// The measure, where the task that could name its token or its unit is not known.
    pub fn measure(self) -> Measure {
        match self {
            Self::Accuracy(_) => Measure::Accuracy,
            Self::ExactMatch(_) => Measure::ExactMatch,
            Self::Bits(_) => Measure::Bits {
                token: "token".into(),
            },
            Self::Error(_) => Measure::Error {
                unit: "the unit of the data".into(),
            },
            Self::Given(_) => Measure::Given,
        }
    }

    /// The skill: 0 at the floor and 1 for a perfect score, so higher is better for every measure. It is
    /// (accuracy − floor) / (1 − floor), and 1 − value / floor for a loss. A score of another program stays as it is.
    pub fn over(self, floor: f64) -> f64 {
        match self {
            Self::Accuracy(share) | Self::ExactMatch(share) => (share - floor) / (1.0 - floor),
            Self::Bits(loss) | Self::Error(loss) => 1.0 - loss / floor,
            Self::Given(score) => score,
        }
    }

    /// Why this cannot be a score with this floor. `None` when it can.
    pub fn damage(self, floor: f64) -> Option<String> {
        let value = self.value();
        match self {
            Self::Accuracy(_) | Self::ExactMatch(_) => {
                let fits = (0.0..=1.0).contains(&value) && (0.0..1.0).contains(&floor);
                (!fits).then(|| {
                    let name = self.measure().name();
                    format!("the {name} {value} and the floor {floor}; both are shares from 0 to 1")
                })
            }
            Self::Given(_) => Some("a score of another program, and a study has none".into()),
            Self::Bits(_) | Self::Error(_) => {
                let fits = value >= 0.0 && value.is_finite() && floor > 0.0 && floor.is_finite();
                (!fits).then(|| {
                    format!(
                        "the {} {value} and the floor {floor}; a loss is 0 or more and finite, and its floor \
                         is above 0",
                        self.measure().name()
                    )
                })
            }
        }
    }
}

/// A number with four digits.
pub fn rounded(number: f64) -> String {
    if number == 0.0 {
        return "0".into();
    }
    let digits = 3 - number.abs().log10().floor() as i32;
    match digits {
        0..=12 => format!("{number:.*}", digits as usize),
        -8..0 => format!("{number:.0}"),
        _ => format!("{number:.3e}"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_skill_is_0_at_the_floor_and_1_when_perfect() {
        let loss = Measure::Error { unit: "ppm".into() };
        for (perfect, floor) in [
            (Score::Accuracy(1.0), 0.25),
            (Score::ExactMatch(1.0), 0.125),
            (Score::Bits(0.0), 4.5),
            (loss.score(0.0), 0.3),
        ] {
            assert_eq!(perfect.over(floor), 1.0);
            assert_eq!(perfect.with(floor).over(floor), 0.0);
        }
        // Worse than the floor is below 0, and a smaller loss is a higher skill.
        assert_eq!(Score::Bits(6.0).over(4.0), -0.5);
        assert!(Score::Bits(1.9).over(4.0) > Score::Bits(2.0).over(4.0));
    }

    #[test]
    fn a_score_is_stored_under_the_name_of_its_measure() {
        let stored = |score| serde_json::to_string(&score).unwrap();
        assert_eq!(stored(Score::Accuracy(0.5)), r#"{"accuracy":0.5}"#);
        assert_eq!(stored(Score::ExactMatch(0.5)), r#"{"exact_match":0.5}"#);
        assert_eq!(stored(Score::Bits(1.5)), r#"{"bits":1.5}"#);
        assert_eq!(stored(Score::Error(0.25)), r#"{"error":0.25}"#);
        let unit = Measure::Error {
            unit: "metres".into(),
        };
        assert_eq!(unit.axis(), "error in metres (lower is better)");
    }

    #[test]
    fn what_cannot_be_a_score_is_named() {
        for good in [Score::Accuracy(1.0), Score::Bits(12.0), Score::Error(0.0)] {
            let floor = if good == Score::Accuracy(1.0) {
                0.5
            } else {
                7.0
            };
            assert_eq!(good.damage(floor), None);
        }
        let said = |score: Score, floor| score.damage(floor).unwrap();
        assert!(said(Score::Accuracy(7.5), 0.5).contains("the accuracy 7.5"));
        assert!(said(Score::Accuracy(0.5), 1.0).contains("the floor 1"));
        assert!(said(Score::ExactMatch(1.5), 0.5).contains("the exact match 1.5"));
        assert!(said(Score::Bits(-1.0), 4.0).contains("bits per token -1"));
        assert!(said(Score::Bits(f64::NAN), 4.0).contains("NaN"));
        assert!(said(Score::Error(1.0), 0.0).contains("the floor 0"));
    }

    #[test]
    fn an_error_has_the_digits_that_its_unit_needs() {
        let error = Measure::Error { unit: "kg".into() };
        for (value, said) in [
            (0.0, "0.000"),
            (4.9e-7, "0.0000004900"),
            (0.25, "0.250"),
            (12.5, "12.500"),
            (2.5e30, "2.500e30"),
        ] {
            assert_eq!(error.shown(value), said);
        }
        assert_eq!(Measure::Accuracy.shown(0.0004), "0.000");
    }

    #[test]
    fn numbers_are_said_with_four_digits() {
        for (number, said) in [
            (0.0, "0"),
            (1.0, "1.000"),
            (-12.3456, "-12.35"),
            (123_456.7, "123457"),
            (1e-20, "1.000e-20"),
        ] {
            assert_eq!(rounded(number), said);
        }
    }
}
