//! The numbers that cells and tokens of measurements hold.

use std::borrow::Cow;

use super::quote::{counted, shorten};

/// Cells that stand for a missing value, in any capitals.
const MISSING: [&str; 9] = ["", "na", "nan", "n/a", "null", "?", "<na>", "#n/a", "."];

/// Further ones among numbers. Among classes they may be names.
const NO_NUMBERS: [&str; 7] = ["none", "-", "--", "nat", "missing", "#value!", "#div/0!"];

fn is_one_of(words: &[&str], cell: &str) -> bool {
    words.iter().any(|word| cell.eq_ignore_ascii_case(word))
}

/// Whether a cell says that a number or a class is missing.
pub(super) fn is_missing(cell: &str) -> bool {
    is_one_of(&MISSING, cell)
}

/// Whether a cell says that a number is missing.
pub(super) fn is_no_number(cell: &str) -> bool {
    is_missing(cell) || is_one_of(&NO_NUMBERS, cell)
}

/// The number that a cell holds: not a number where its value is missing, and `None` where it is something else.
pub(super) fn number(cell: &str) -> Option<f64> {
    match is_no_number(cell) {
        true => Some(f64::NAN),
        false => finite(cell),
    }
}

/// The number that a cell holds, unless it is infinite or none.
pub(super) fn finite(cell: &str) -> Option<f64> {
    cell.parse::<f64>().ok().filter(|number| number.is_finite())
}

/// What numbers are standardized by: their mean, and their standard deviation, or 1 where it is 0 or not finite.
pub(super) fn standard(numbers: &[f64]) -> (f64, f64) {
    let count = numbers.len().max(1) as f64;
    let mean = numbers.iter().sum::<f64>() / count;
    let variance = |unit: f64| {
        numbers
            .iter()
            .map(|x| ((x - mean) / unit).powi(2))
            .sum::<f64>()
            / count
    };
    let largest = numbers
        .iter()
        .fold(0.0, |most: f64, x| most.max((x - mean).abs()));
    let deviation = match variance(1.0) {
        // Squares of very small numbers are 0.
        plain if plain < f64::MIN_POSITIVE && largest > 0.0 => largest * variance(largest).sqrt(),
        plain => plain.sqrt(),
    };
    (mean, or_one(deviation))
}

/// A deviation that numbers can be divided by.
pub(super) fn or_one(deviation: f64) -> f64 {
    match deviation > 0.0 && deviation.is_finite() {
        true => deviation,
        false => 1.0,
    }
}

/// The index of the largest of the numbers that are not held: it may have moved the mean so far that no other is held
/// either. `is_held` gets an index and its number.
pub(super) fn largest_not_held(
    numbers: &[f64],
    is_held: impl Fn(usize, f64) -> bool,
) -> Option<usize> {
    let not_held = (0..numbers.len()).filter(|at| !is_held(*at, numbers[*at]));
    not_held.max_by(|a, b| numbers[*a].abs().total_cmp(&numbers[*b].abs()))
}

/// What a number is that `f32` does not hold once it is divided by `by`, the deviation in training, or 1 without one.
pub(super) fn beyond_f32(by: f64) -> String {
    let once = match by == 1.0 {
        true => String::new(),
        false => format!(" once it is divided by the deviation in training, {by:.2e}"),
    };
    format!(
        "too large for f32, in which models compute and which ends at {:.1e}{once}",
        f32::MAX
    )
}

/// The numbers of a token.
pub(super) fn step(token: &str, channels: usize) -> Result<Vec<f64>, String> {
    let of = |cell: &str| {
        number(cell).ok_or_else(|| {
            format!(
                "{} is no number; a missing value is an empty cell or ?",
                shorten(cell)
            )
        })
    };
    let numbers: Vec<f64> = match token {
        "" => vec![f64::NAN],
        _ => token.split_whitespace().map(of).collect::<Result<_, _>>()?,
    };
    match numbers.len() == channels {
        true => Ok(numbers),
        false => Err(format!(
            "{} has {}, and every step before it {channels}",
            shorten(token),
            counted(numbers.len(), "number")
        )),
    }
}

/// A token where tokens are not read as numbers, of channels. Its numbers in one spelling each where they are, so that what a model
/// reads as equal is one token: the fewest digits, and `?` for a missing value.
pub(super) fn spelled(token: &str, channels: Option<usize>) -> Cow<'_, str> {
    if channels.is_none() {
        return Cow::Borrowed(token);
    }
    let of = |cell: &str| match number(cell).filter(|number| !number.is_nan()) {
        None => "?".to_string(),
        // Zero has one sign.
        Some(0.0) => "0".to_string(),
        Some(number) if (1e-5..1e15).contains(&number.abs()) => number.to_string(),
        Some(number) => format!("{number:e}"),
    };
    match token {
        "" => Cow::Borrowed("?"),
        _ => {
            let cells: Vec<String> = token.split_whitespace().map(of).collect();
            Cow::Owned(cells.join(" "))
        }
    }
}

/// The labels as numbers; `None` unless all of them are numbers.
pub(super) fn values(labels: &[String]) -> Option<Vec<f64>> {
    labels.iter().map(|label| finite(label)).collect()
}

/// The labels as numbers, where nobody said what labels are: `None` unless all of them are numbers and one of them is not
/// whole.
pub(super) fn measured_values(labels: &[String]) -> Option<Vec<f64>> {
    values(labels).filter(|all| all.iter().any(|number| number.fract() != 0.0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cells_are_numbers_missing_or_neither() {
        assert_eq!(number("-1.5e3"), Some(-1500.0));
        for missing in ["", "?", "NaN", "NA", "null"] {
            assert!(number(missing).is_some_and(f64::is_nan), "{missing}");
        }
        for other in ["inf", "-Infinity", "1,5", "x", "1e999"] {
            assert_eq!(number(other), None, "{other}");
        }
    }

    #[test]
    fn numbers_that_are_equal_have_one_spelling() {
        for (token, one) in [
            ("1.50 -0 +2", "1.5 0 2"),
            ("NA 1e3 1E-9", "? 1000 1e-9"),
            ("", "?"),
            ("5.1", "5.1"),
        ] {
            assert_eq!(spelled(token, Some(3)), one);
            assert_eq!(spelled(token, None), token);
        }
    }

    #[test]
    fn the_scale_is_mean_and_deviation() {
        assert_eq!(standard(&[1.0, 3.0]), (2.0, 1.0));
        assert_eq!(standard(&[7.0, 7.0]), (7.0, 1.0));
        assert_eq!(standard(&[]), (0.0, 1.0));
        // Squares of these are 0, and infinite.
        let unit = 2.0_f64.powi(-600);
        assert_eq!(standard(&[unit, 3.0 * unit]), (2.0 * unit, unit));
        assert_eq!(standard(&[1e200, 3e200]), (2e200, 1.0));
    }

    fn labels(all: &[&str]) -> Vec<String> {
        all.iter().map(ToString::to_string).collect()
    }

    #[test]
    fn labels_are_numbers_if_all_are_and_one_is_not_whole() {
        assert_eq!(measured_values(&labels(&["1.0", "2e0"])), None);
        assert_eq!(measured_values(&labels(&["1", "x", "0.5"])), None);
        assert_eq!(measured_values(&labels(&["1", "?", "0.5"])), None);
        let found = measured_values(&labels(&["1", "-0.5"]));
        assert_eq!(found, Some(vec![1.0, -0.5]));
        assert_eq!(values(&labels(&["1", "2"])), Some(vec![1.0, 2.0]));
        assert_eq!(values(&labels(&["1", "inf"])), None);
    }
}
