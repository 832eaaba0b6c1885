//! Numbers as text.

/// A number with this many decimals. A zero never has a minus sign.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
        _ => text,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_has_no_sign() {
        assert_eq!(fixed(-0.0004, 2), "0.00");
        assert_eq!(fixed(-0.004, 3), "-0.004");
        assert_eq!(fixed(-0.5, 0), "0");
        assert_eq!(fixed(1.25, 1), "1.2");
    }
}
