//! Messages that quote what they were given: no more of it than tells a person which argument is meant.

use std::borrow::Cow;

use crate::console::{MOST_SHOWN, short, visible};

/// A word that nobody typed, such as the path of a file that was found, is shown whole up to this many characters.
const MOST_OF_A_WORD: usize = 300;

/// A message in which every long argument of the command line, every long part of one, and every other very long word is
/// cut.
pub(super) fn shortened(message: &str) -> Cow<'_, str> {
    let given = std::env::args_os().skip(1);
    let given = given.map(|argument| argument.to_string_lossy().into_owned());
    cut(message, given)
}

fn cut(message: &str, given: impl Iterator<Item = String>) -> Cow<'_, str> {
    let mut text = Cow::Borrowed(message);
    for argument in given {
        let parts = argument.split([',', '=', '(', ')', ';']);
        for part in [argument.as_str()].into_iter().chain(parts) {
            if part.chars().count() <= MOST_SHOWN {
                continue;
            }
            // As it is, and as messages escape it.
            for spelled in [
                part.to_string(),
                part.escape_debug().to_string(),
                visible(part).into_owned(),
            ] {
                if text.contains(&spelled) {
                    text = Cow::Owned(text.replace(&spelled, &short(part)));
                }
            }
        }
    }
    let is_long = |word: &&str| word.chars().count() > MOST_OF_A_WORD;
    let long: Vec<String> = text
        .split_whitespace()
        .filter(is_long)
        .map(String::from)
        .collect();
    for word in long {
        text = Cow::Owned(text.replace(&word, &short(&word)));
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_long_argument_is_cut_and_a_path_is_not() {
        let long = "x".repeat(5_000);
        let path = format!("/home/{}/study/study.json", "y".repeat(150));
        let said =
            |message: &str, given: &str| cut(message, [given.to_string()].into_iter()).into_owned();
        let message = format!("there is no scheme `{long}` in {path}");
        let shown = |name: &str| format!("there is no scheme {name} in {path}");
        let cut = format!("`{}… (5000 characters)`", "x".repeat(80));
        assert_eq!(said(&message, &format!("none,{long}")), shown(&cut));
        // A word of a file, which is no argument.
        let cut = short(&format!("`{long}`"));
        assert_eq!(said(&message, "--schemes"), shown(&cut));
        let lines = "a\nb\u{1b}".repeat(100);
        assert!(!said(&format!("{lines:?} is wrong"), &lines).contains("\n"));
        assert_eq!(said("short", "short"), "short");
    }
}
