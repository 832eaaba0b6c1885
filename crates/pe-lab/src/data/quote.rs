//! Numbers and values as a message quotes them.

use crate::grouped::agreeing;
use crate::task::USUAL_BATCH;

/// A message has this many characters of a value.
const KEPT: usize = 40;

pub(super) fn grouped(number: usize) -> String {
    crate::grouped::grouped(number, ',')
}

/// `1 row`, or `2,000 rows`.
pub(super) fn counted(number: usize, noun: &str) -> String {
    format!(
        "{} {noun}{}",
        grouped(number),
        if number == 1 { "" } else { "s" }
    )
}

/// How many steps an epoch has, in words.
pub(super) fn once_through(samples: usize, what: &str) -> String {
    let steps = samples.div_ceil(USUAL_BATCH);
    let go = agreeing(steps, "goes", "go");
    let steps = counted(steps, "step");
    format!("in batches of {USUAL_BATCH}, {steps} {go} once through the {what} to train on")
}

/// A text as one word of a shell.
pub(crate) fn shell_word(text: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "/-_.,:".contains(c);
    match !text.is_empty() && text.chars().all(plain) {
        true => text.to_string(),
        false => format!("'{}'", text.replace('\'', r"'\''")),
    }
}

/// A name as it is typed behind a flag, unless it is too long for a message.
pub(super) fn typed(name: &str) -> String {
    match name.chars().count() > KEPT || name.contains(char::is_control) {
        true => shorten(name),
        false => shell_word(name),
    }
}

/// Some columns as they are typed behind `--columns`: of three and more that stand beside each other the first and the last.
pub(super) fn columns_typed(names: &[String], columns: &[usize]) -> String {
    const NAMED: usize = 8;
    let name = |at: &usize| names[*at].as_str();
    let beside = columns.chunk_by(|a, b| a + 1 == *b);
    let named = beside.map(|run| match run {
        [first, .., last] if run.len() > 2 => format!("{}..{}", name(first), name(last)),
        run => run.iter().map(name).collect::<Vec<_>>().join(","),
    });
    shell_word(&named.take(NAMED).collect::<Vec<_>>().join(","))
}

/// The name of a column as a message quotes it. Programs that write the numbers of the rows leave their column without a name.
pub(super) fn column_called(name: &str) -> String {
    match name {
        "" => "the column without a name".into(),
        name => shorten(name),
    }
}

/// A value from the file as a message quotes it: in backquotes, on one line, and cut after 40 characters.
pub(crate) fn shorten(value: &str) -> String {
    let mut characters = value.chars();
    let mut text = String::from("`");
    for character in characters.by_ref().take(KEPT) {
        match character.is_control() {
            true => text.extend(character.escape_default()),
            false => text.push(character),
        }
    }
    if characters.next().is_some() {
        text.push('…');
    }
    text.push('`');
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_word_is_quoted_where_the_shell_would_read_more_into_it() {
        assert_eq!(shell_word("/a/b-1.toml"), "/a/b-1.toml");
        assert_eq!(shell_word("my study; rm x"), "'my study; rm x'");
        assert_eq!(shell_word("it's"), r"'it'\''s'");
        assert_eq!(shell_word(""), "''");
        assert_eq!(typed(&"a ".repeat(30)), shorten(&"a ".repeat(30)));
    }
}
