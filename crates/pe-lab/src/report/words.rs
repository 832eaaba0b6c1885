//! Lists and numbers in sentences.

use crate::grouped::agreeing;
pub use crate::grouped::{capitalized, counted};
use crate::stats::Interval;

/// A list names this many things and counts the rest.
const NAMED: usize = 4;

/// A number with this many decimals. A zero never has a minus sign.
pub fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
        _ => text,
    }
}

/// Whether this is the scheme without positions.
pub fn is_control(scheme: &str) -> bool {
    scheme == "none" || scheme.starts_with("none(")
}

/// The name of a scheme in a sentence. `none` alone would read as "nobody".
pub fn spoken(scheme: &str) -> String {
    match is_control(scheme) {
        true => format!("`{scheme}` (no positions)"),
        false => scheme.to_string(),
    }
}

/// `0.38 to 0.44`.
pub fn range(interval: Interval) -> String {
    format!("{} to {}", fixed(interval.low, 2), fixed(interval.high, 2))
}

/// `seed 3`, or `seeds 1, 2`.
pub fn seeds_text(seeds: &[u64]) -> String {
    let numbers: Vec<String> = seeds.iter().map(u64::to_string).collect();
    let noun = agreeing(seeds.len(), "seed", "seeds");
    format!("{noun} {}", numbers.join(", "))
}

/// A p value with up to four decimals.
pub fn p_text(p: f64) -> String {
    if p < 0.0001 {
        return "< 0.0001".into();
    }
    let text = format!("{p:.4}");
    text.trim_end_matches('0').trim_end_matches('.').to_string()
}

/// A small number as a word.
pub fn number(n: usize) -> String {
    let words = [
        "none", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten",
    ];
    words
        .get(n)
        .map_or_else(|| n.to_string(), |word| word.to_string())
}

/// For example `a, b and c`. A long list ends with a count.
pub fn list<T: AsRef<str>>(names: &[T]) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    let (shown, rest) = match names.len() {
        n if n > NAMED + 1 => (&names[..NAMED], Some(format!("{} more", n - NAMED))),
        _ => (&names[..], None),
    };
    let parts: Vec<&str> = shown.iter().copied().chain(rest.as_deref()).collect();
    joined(&parts, "and")
}

/// Every name of a list, with this word before the last: `a, b or c`.
pub fn joined<T: AsRef<str>>(names: &[T], word: &str) -> String {
    let names: Vec<&str> = names.iter().map(AsRef::as_ref).collect();
    match names.split_last() {
        Some((last, first)) if !first.is_empty() => format!("{} {word} {last}", first.join(", ")),
        _ => names.concat(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn lists_and_p_values_read_well() {
        assert_eq!(list(&["a"]), "a");
        assert_eq!(list(&["a", "b"]), "a and b");
        assert_eq!(list(&["a", "b", "c", "d", "e"]), "a, b, c, d and e");
        assert_eq!(
            list(&["a", "b", "c", "d", "e", "f"]),
            "a, b, c, d and 2 more"
        );
        assert_eq!(p_text(0.5), "0.5");
        assert_eq!(p_text(0.0625), "0.0625");
        assert_eq!(p_text(1.0), "1");
        assert_eq!(p_text(0.00001), "< 0.0001");
    }

    #[test]
    fn a_zero_has_no_sign() {
        assert_eq!(fixed(-0.0004, 2), "0.00");
        assert_eq!(fixed(-0.004, 3), "-0.004");
        assert_eq!(fixed(-0.5, 0), "0");
        assert_eq!(fixed(1.25, 1), "1.2");
    }
}
