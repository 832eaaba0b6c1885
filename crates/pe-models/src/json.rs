//! JSON as Python writes it.

use alloc::borrow::Cow;
use alloc::string::String;

/// The same JSON with the words `NaN`, `Infinity` and `-Infinity` as strings. Python writes them for
/// numbers that JSON has no form for. A field that needs a number refuses the string, and all others pass
/// it over.
pub(super) fn without_python_numbers(text: &str) -> Cow<'_, str> {
    let mut out = String::new();
    let (mut copied, mut in_string, mut escaped) = (0, false, false);
    let mut skip_to = 0;
    for (i, character) in text.char_indices() {
        if i < skip_to {
            continue;
        }
        if in_string {
            match character {
                _ if escaped => escaped = false,
                '\\' => escaped = true,
                '"' => in_string = false,
                _ => {}
            }
            continue;
        }
        if character == '"' {
            in_string = true;
            continue;
        }
        let word = ["NaN", "Infinity", "-Infinity"]
            .into_iter()
            .find(|word| text[i..].starts_with(word));
        if let Some(word) = word {
            out.push_str(&text[copied..i]);
            out.push('"');
            out.push_str(word);
            out.push('"');
            copied = i + word.len();
            skip_to = copied;
        }
    }
    match copied {
        0 => Cow::Borrowed(text),
        _ => {
            out.push_str(&text[copied..]);
            Cow::Owned(out)
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_words_outside_of_strings_change() {
        for (python, json) in [
            ("", ""),
            (r#"{"a": 1}"#, r#"{"a": 1}"#),
            (
                r#"{"NaN": NaN, "b": [Infinity,-Infinity]}"#,
                r#"{"NaN": "NaN", "b": ["Infinity","-Infinity"]}"#,
            ),
            (
                r#"{"a\"NaN": "é Infinity\\", "b": NaN}"#,
                r#"{"a\"NaN": "é Infinity\\", "b": "NaN"}"#,
            ),
        ] {
            assert_eq!(without_python_numbers(python), json);
        }
    }
}
