//! Numbers as text, and checks of what a person asked for.

use crate::error::LabError;
use crate::grouped::grouped;

/// A number in its shortest form.
pub(super) fn number(value: f64) -> String {
    if value.fract() == 0.0 && value.abs() < 1e9 {
        grouped(value as usize, ',')
    } else if (1e-3..1e9).contains(&value) {
        format!("{value}")
    } else {
        format!("{value:e}")
    }
}

/// A wavelength to three digits, or to whole tokens if that is more.
pub(super) fn wavelength(tokens: f64) -> String {
    match tokens {
        t if t < 9.995 => format!("{t:.2}"),
        t if t < 99.95 => format!("{t:.1}"),
        t if t < 1e9 => grouped(t.round() as usize, ','),
        t => format!("{t:.2e}"),
    }
}

/// Checks that the list of an option is not empty, not too long, and names nothing twice.
pub(super) fn check_list<T: PartialEq + std::fmt::Display>(
    option: &str,
    list: &[T],
    most: usize,
) -> Result<(), LabError> {
    if list.is_empty() || list.len() > most {
        return Err(LabError::Usage(format!(
            "{option} takes 1 to {most} values; got {}",
            list.len()
        )));
    }
    for (index, value) in list.iter().enumerate() {
        if list[..index].contains(value) {
            return Err(LabError::Usage(format!("{option} names {value} twice")));
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_are_short_and_a_list_is_not_empty() {
        assert_eq!(number(10_000.0), "10,000");
        assert_eq!(number(1.5), "1.5");
        assert_eq!(number(1e12), "1e12");
        assert_eq!(wavelength(std::f64::consts::TAU), "6.28");
        assert_eq!(wavelength(62_831.85), "62,832");
        let empty = check_list::<usize>("--columns", &[], 2).unwrap_err();
        assert!(empty.to_string().contains("got 0"), "{empty}");
    }
}
