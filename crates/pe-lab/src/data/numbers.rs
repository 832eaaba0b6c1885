//! The numbers that cells and tokens of measurements hold.

use super::quote::shorten;

/// Cells that stand for a missing value, in any capitals.
const MISSING: [&str; 5] = ["", "?", "nan", "na", "null"];

/// The number that a cell holds: not a number where its value is missing, and `None` where it is something else.
pub(super) fn number(cell: &str) -> Option<f64> {
    if MISSING.iter().any(|name| cell.eq_ignore_ascii_case(name)) {
        return Some(f64::NAN);
    }
    cell.parse().ok().filter(|number: &f64| number.is_finite())
}

/// The numbers of a token.
///
/// # Errors
///
/// With what is wrong with the token.
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
            "{} has {} numbers, and every step before it {channels}",
            shorten(token),
            numbers.len()
        )),
    }
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
    fn a_step_has_as_many_numbers_as_there_are_channels() {
        assert_eq!(step("1 -2", 2), Ok(vec![1.0, -2.0]));
        assert!(step("1 ?", 2).unwrap()[1].is_nan());
        assert!(
            step("1", 2)
                .unwrap_err()
                .contains("`1` has 1 numbers, and every step before it 2")
        );
        assert!(step("inf", 1).unwrap_err().contains("`inf` is no number"));
    }
}
