//! Messages on standard error, and escapes for characters that a terminal would act on instead of showing.

use std::borrow::Cow;
use std::io::Write;

/// Prints a line to standard error, if anybody is there to read it. A closed terminal or a full disk behind it
/// must not end a study, which `eprintln!` would do.
pub fn tell(line: &str) {
    let _ = writeln!(std::io::stderr(), "{}", visible(line));
}

/// The most characters of a given value that a message shows.
pub const MOST_SHOWN: usize = 80;

/// A given value as a message shows it: on one line, escaped, and cut after [`MOST_SHOWN`] characters.
///
/// ```
/// assert_eq!(pe_lab::console::short("a\nb"), "a\\nb");
/// assert!(pe_lab::console::short(&"a".repeat(5_000)).ends_with("a… (5000 characters)"));
/// ```
pub fn short(given: &str) -> String {
    let escape = |c: char| match c.is_control() || is_obeyed(c) {
        true => c.escape_debug().to_string(),
        false => c.to_string(),
    };
    let shown: String = given.chars().take(MOST_SHOWN).map(escape).collect();
    match given.chars().count() {
        count if count > MOST_SHOWN => format!("{shown}… ({count} characters)"),
        _ => shown,
    }
}

/// Whether the terminal understands escape sequences that move the cursor. With `TERM=dumb` it prints them as text.
pub fn moves_the_cursor() -> bool {
    std::env::var_os("TERM").is_none_or(|term| term != "dumb")
}

/// The text with those characters escaped that a terminal would act on instead of showing: control characters, such as the
/// beginning of an ANSI sequence, and marks that change the direction of writing. Names of files, columns and labels and
/// reasons of failures may hold them. Ends of lines and tabs stay.
///
/// ```
/// assert_eq!(pe_lab::console::visible("a\u{1b}[2Jb\u{202e}"), "a\\u{1b}[2Jb\\u{202e}");
/// ```
pub fn visible(text: &str) -> Cow<'_, str> {
    replaced(text, |c| c.escape_unicode().to_string())
}

/// [`visible`] for a JSON text: with JSON's own escapes, so that its strings keep their values.
pub fn visible_json(text: &str) -> Cow<'_, str> {
    replaced(text, |c| format!("\\u{:04x}", u32::from(c)))
}

fn replaced(text: &str, spelled: impl Fn(char) -> String) -> Cow<'_, str> {
    if !text.contains(is_obeyed) {
        return Cow::Borrowed(text);
    }
    let spelled = text.chars().map(|c| match is_obeyed(c) {
        true => spelled(c),
        false => c.to_string(),
    });
    Cow::Owned(spelled.collect())
}

/// Whether a terminal would act on this character. It then has at most four hexadecimal digits: one escape in JSON.
fn is_obeyed(c: char) -> bool {
    let turns = matches!(c, '\u{61c}' | '\u{200e}' | '\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2066}'..='\u{2069}');
    turns || (c.is_control() && c != '\n' && c != '\t')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_obeyed_is_spelled_out_and_words_stay() {
        for (text, shown) in [
            ("", ""),
            ("a\tb\nc", "a\tb\nc"),
            (
                "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600} \u{200d}",
                "\u{5e9}\u{5dc}\u{5d5}\u{5dd} \u{1f600} \u{200d}",
            ),
            ("\u{1b}]0;x\u{7}", "\\u{1b}]0;x\\u{7}"),
            ("\r\u{7f}\u{9b}", "\\u{d}\\u{7f}\\u{9b}"),
            (
                "\u{202e}\u{2066}\u{2028}\u{61c}",
                "\\u{202e}\\u{2066}\\u{2028}\\u{61c}",
            ),
        ] {
            assert_eq!(visible(text), shown);
        }
        let value = serde_json::json!({"a\u{1b}": "\u{202e}\u{9b}\u{7f}"});
        let text = serde_json::to_string_pretty(&value).unwrap();
        let shown = visible_json(&text);
        assert!(!shown.contains(is_obeyed) && text.contains(is_obeyed));
        assert_eq!(
            serde_json::from_str::<serde_json::Value>(&shown).unwrap(),
            value
        );
    }
}
