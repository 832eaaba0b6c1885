//! The fields of a line of ARFF: with commas between them, and perhaps in quotes.

use super::super::quote::shorten;

/// The fields of a line up to a comment. Inside of quotes, a backslash stands before a character that means something else
/// without it: `\'` is a quote, and `\n` is the end of a line.
///
/// # Errors
///
/// With a quote that is not closed, or with what stands behind one that is.
pub(super) fn fields(line: &str) -> Result<Vec<String>, String> {
    let mut fields = Vec::new();
    let mut rest = line;
    loop {
        let (field, behind) = field(rest, line)?;
        fields.push(field);
        match behind.strip_prefix(',') {
            Some(more) => rest = more,
            None => return Ok(fields),
        }
    }
}

/// The first field of `rest`, and what stands behind it: a comma and more fields, a comment, or nothing.
fn field<'a>(rest: &'a str, line: &str) -> Result<(String, &'a str), String> {
    let rest = rest.trim_start();
    if rest.starts_with(QUOTES) {
        let (text, behind) = quoted(rest, line)?;
        return match behind.trim_start() {
            behind if behind.is_empty() || behind.starts_with([',', '%']) => Ok((text, behind)),
            behind => Err(format!(
                "{} stands behind the quote that ends in column {}; a comma is missing, or a backslash before a quote",
                shorten(behind),
                column(line, behind) - 1
            )),
        };
    }
    let end = rest.find([',', '%']).unwrap_or(rest.len());
    let (text, behind) = rest.split_at(end);
    Ok((text.trim_end().to_string(), behind))
}

/// What stands inside of the quotes at the beginning of `rest`, and what stands behind them.
fn quoted<'a>(rest: &'a str, line: &str) -> Result<(String, &'a str), String> {
    let mut text = String::new();
    let mut characters = rest.char_indices();
    let opening = characters.next().map(|(_, quote)| quote);
    while let Some((at, character)) = characters.next() {
        match character {
            '\\' => match characters.next() {
                Some((_, 'n')) => text.push('\n'),
                Some((_, 'r')) => text.push('\r'),
                Some((_, 't')) => text.push('\t'),
                Some((_, other)) => text.push(other),
                None => break,
            },
            _ if Some(character) == opening => {
                return Ok((text, &rest[at + character.len_utf8()..]));
            }
            _ => text.push(character),
        }
    }
    Err(format!(
        "the quote of column {} is not closed on its line",
        column(line, rest)
    ))
}

/// A name at the beginning of a text, perhaps in quotes, and what stands behind it.
pub(super) fn name(text: &str) -> Result<(String, &str), String> {
    let text = text.trim_start();
    if text.starts_with(QUOTES) {
        return quoted(text, text);
    }
    let is_end = |c: char| c.is_whitespace() || c == '{';
    let (name, behind) = text.split_at(text.find(is_end).unwrap_or(text.len()));
    Ok((name.to_string(), behind))
}

/// What may stand around a field.
const QUOTES: [char; 2] = ['\'', '"'];

/// The column, counted from 1, at which a part of a line begins that goes on to the end of the line.
fn column(line: &str, part: &str) -> usize {
    1 + line.chars().count() - part.chars().count()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::{Says, rows};

    #[test]
    fn fields_stand_between_commas_and_perhaps_in_quotes() {
        assert_eq!(
            fields(" 1 ,?, -2.5e3,a b").unwrap(),
            ["1", "?", "-2.5e3", "a b"]
        );
        assert_eq!(
            fields(r#"'1,2\n3,4',"it's" ,'it\'s' % a remark, not read"#).unwrap(),
            ["1,2\n3,4", "it's", "it's"]
        );
        assert_eq!(fields("1,,").unwrap(), ["1", "", ""]);
        assert_eq!(fields("").unwrap(), [""]);
        assert_eq!(name("'a b' numeric").unwrap(), ("a b".into(), " numeric"));
        assert_eq!(name(" a{x,y}").unwrap(), ("a".into(), "{x,y}"));
    }

    #[test]
    fn a_quote_that_is_not_closed_is_named_with_its_column() {
        for [line, what] in rows(
            r"
            1,'2    | the quote of column 3 is not closed
            1,'2\'  | the quote of column 3 is not closed
            1,'2\   | the quote of column 3 is not closed
            'é' x,1 | `x,1` stands behind the quote that ends in column 4
            ",
        ) {
            fields(line).unwrap_err().says(what);
        }
    }
}
