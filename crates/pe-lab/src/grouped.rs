//! Whole numbers with separators between their thousands, and other helpers for texts and lists that several modules share.

/// A whole number in groups of three digits, with `between` between the groups.
pub fn grouped(number: usize, between: char) -> String {
    let digits = number.to_string();
    let mut text = String::new();
    for (place, digit) in digits.chars().enumerate() {
        if place > 0 && (digits.len() - place).is_multiple_of(3) {
            text.push(between);
        }
        text.push(digit);
    }
    text
}

/// `1 seed`, or `2 seeds`.
pub fn counted(n: usize, noun: &str) -> String {
    format!("{n} {noun}{}", if n == 1 { "" } else { "s" })
}

/// The word that agrees with a number: `one` with 1, `more` with any other.
pub fn agreeing<'a>(n: usize, one: &'a str, more: &'a str) -> &'a str {
    if n == 1 { one } else { more }
}

/// The first names of a list, and how many more there are: `a, b and 3 more`.
pub fn first_of(names: impl ExactSizeIterator<Item = String>, most: usize) -> String {
    let more = names.len().saturating_sub(most);
    let shown = names.take(most).collect::<Vec<_>>().join(", ");
    match more {
        0 => shown,
        more => format!("{shown} and {} more", grouped(more, ',')),
    }
}

/// What is in a list, each thing once, in its order.
pub fn once<T: PartialEq>(all: impl IntoIterator<Item = T>) -> Vec<T> {
    let mut once = Vec::new();
    for item in all {
        if !once.contains(&item) {
            once.push(item);
        }
    }
    once
}

/// Ascending numbers in words, for example `0 to 4, 6`.
pub fn ranges(numbers: impl IntoIterator<Item = u64>) -> String {
    let mut runs: Vec<(u64, u64)> = Vec::new();
    for number in numbers {
        match runs.last_mut() {
            Some((_, last)) if *last + 1 == number => *last = number,
            _ => runs.push((number, number)),
        }
    }
    let text = |(first, last)| match last - first {
        0 => format!("{first}"),
        1 => format!("{first}, {last}"),
        _ => format!("{first} to {last}"),
    };
    runs.into_iter().map(text).collect::<Vec<_>>().join(", ")
}

/// The same text with a capital first letter.
pub fn capitalized(text: &str) -> String {
    let mut letters = text.chars();
    let first = letters.next().into_iter().flat_map(char::to_uppercase);
    first.chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn runs_of_three_and_more_are_ranges() {
        for (numbers, text) in [
            (vec![], ""),
            (vec![1, 2, 3, 4], "1 to 4"),
            (vec![7, 9, 10], "7, 9, 10"),
            (vec![0, 1, 2, 6], "0 to 2, 6"),
        ] {
            assert_eq!(ranges(numbers), text);
        }
    }

    #[test]
    fn groups_are_of_three_digits_from_the_right() {
        let numbers = [0, 999, 1_000, 65_536, 1_234_567];
        let texts = numbers.map(|number| grouped(number, ','));
        assert_eq!(texts, ["0", "999", "1,000", "65,536", "1,234,567"]);
    }
}
