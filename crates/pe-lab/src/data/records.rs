//! The records of a table and the lines that they stand on.

use std::borrow::Cow;

use csv::{ReaderBuilder, StringRecord};

use super::error::Problem;
use super::limits::{MAX_COLUMNS, MAX_LINE};
use super::quote::grouped;

/// The number of lines that are looked at to tell whether blanks separate columns.
const LOOKED_AT: usize = 20;

/// What separates the columns: the first of comma, tab, semicolon and bar that the first line holds, outside of quotes if it can;
/// without any of them blanks, if the first lines have the same number of words.
pub(super) fn sniffed(text: &str) -> char {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = lines.next().unwrap_or("");
    let words = |line: &str| line.split_whitespace().count();
    let of_first = words(line);
    let mut others = lines.take(LOOKED_AT).map(words).peekable();
    let is_table = of_first > 1 && others.peek().is_some() && others.all(|of| of == of_first);
    let outside: String = line.split('"').step_by(2).collect();
    let known = |text: &str| {
        [',', '\t', ';', '|']
            .into_iter()
            .find(|c| text.contains(*c))
    };
    let found = known(&outside).or_else(|| known(line));
    found.unwrap_or(if is_table { ' ' } else { ',' })
}

/// What separates the columns, as Excel says it in a line `sep=;` before the names, and the text behind this line: its end stays, so
/// that lines keep their numbers.
pub(super) fn said_separator(text: &str) -> Option<(char, &str)> {
    let line = text.lines().next()?;
    let mut said = line.strip_prefix("sep=")?.chars();
    match (said.next(), said.next()) {
        (Some(one), None) if one.is_ascii() && one != '"' => Some((one, &text[line.len()..])),
        _ => None,
    }
}

/// A table whose columns are separated by blanks, with one blank between columns and none at the ends of a line, however many
/// align them. Lines keep their numbers. A table with quotes, between which a blank may be part of a cell, stays as it is.
pub(super) fn single_blanks(text: Cow<'_, str>) -> Cow<'_, str> {
    if text.contains('"') {
        return text;
    }
    let line = |line: &str| line.split_whitespace().collect::<Vec<_>>().join(" ");
    Cow::Owned(text.lines().map(line).collect::<Vec<_>>().join("\n"))
}

/// Checks that no line is longer than a row may be: every line is held in memory several times.
pub(super) fn check_lines(text: &str) -> Result<(), Problem> {
    let mut lines = (1..).zip(text.split('\n'));
    match lines.find(|(_, line)| line.len() > MAX_LINE) {
        None => Ok(()),
        Some((line, long)) => Err(Problem::Other(format!(
            "line {} has {} bytes, more than the {} of a row; it takes a line for each row",
            grouped(line),
            grouped(long.len()),
            grouped(MAX_LINE)
        ))),
    }
}

/// The records of a table, one after the other.
struct Records<'a> {
    text: &'a [u8],
    delimiter: u8,
    reader: csv::Reader<&'a [u8]>,
    record: StringRecord,
}

impl<'a> Records<'a> {
    fn of(text: &'a str, delimiter: char) -> Self {
        let reader = ReaderBuilder::new()
            .has_headers(false)
            .flexible(true)
            .delimiter(delimiter as u8)
            // Between tabs a double quote is a character like any other.
            .quoting(delimiter != '\t')
            .from_reader(text.as_bytes());
        Self {
            text: text.as_bytes(),
            delimiter: delimiter as u8,
            reader,
            record: StringRecord::new(),
        }
    }

    /// Reads the next record that is not blank, and returns its place. `None` at the end.
    fn read(&mut self) -> Result<Option<Place>, Problem> {
        let is_end = |byte: &&u8| matches!(byte, b'\r' | b'\n');
        let line_ends = |bytes: &[u8]| bytes.iter().filter(|byte| **byte == b'\n').count();
        let unreadable = |error: csv::Error| Problem::Unreadable(error.into());
        let record = &mut self.record;
        while self.reader.read_record(record).map_err(unreadable)? {
            let at = record.position();
            let (start, line) = at.map_or((0, 1), |at| (at.byte() as usize, at.line() as usize));
            // The rest of the line end before, blank lines, the record, and the end of its line.
            let read = &self.text[start..self.reader.position().byte() as usize];
            let (before, written) = read.split_at(read.iter().take_while(is_end).count());
            let behind = written.iter().rev().take_while(is_end).count();
            let written = &written[..written.len() - behind];
            // Quotes with nothing between them are an empty cell of a table of one column.
            let is_empty = record.len() == 1 && record[0].trim().is_empty();
            if is_empty && !written.contains(&b'"') {
                continue;
            }
            let first = line + line_ends(before);
            let last = first + line_ends(written);
            return Ok(Some(Place {
                first,
                last,
                quoted_well: first == last || quoted_well(written, self.delimiter),
            }));
        }
        Ok(None)
    }
}

/// The names of the columns, and the line of the first record.
pub(super) fn names_of(
    text: &str,
    delimiter: char,
    no_header: bool,
) -> Result<(Vec<String>, usize), Problem> {
    check_lines(text)?;
    let mut records = Records::of(text, delimiter);
    let Some(place) = records.read()? else {
        return Err(Problem::Empty);
    };
    let record = records.record;
    if record.len() > MAX_COLUMNS {
        return Err(Problem::TooManyColumns {
            line: place.first,
            columns: record.len(),
        });
    }
    let names = match no_header {
        true => (1..=record.len())
            .map(|number| number.to_string())
            .collect(),
        false => record.iter().map(|name| name.trim().to_string()).collect(),
    };
    Ok((names, place.first))
}

/// Calls `each` for every record that is not blank, with its place.
pub(super) fn each_record(
    text: &str,
    delimiter: char,
    mut each: impl FnMut(&StringRecord, Place) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut records = Records::of(text, delimiter);
    while let Some(place) = records.read()? {
        each(&records.record, place)?;
    }
    Ok(())
}

/// Calls `each` for every record below the header, if there is one, that is not blank, with its place.
pub(super) fn each_row(
    text: &str,
    delimiter: char,
    no_header: bool,
    mut each: impl FnMut(&StringRecord, Place) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut header = !no_header;
    each_record(text, delimiter, |record, place| {
        match std::mem::take(&mut header) {
            true => Ok(()),
            false => each(record, place),
        }
    })
}

/// The lines of a row.
pub(super) struct Place {
    pub first: usize,
    pub last: usize,
    /// For a row of several lines: whether every double quote that opens a field is closed at the end of
    /// the field. Always true for a row of one line, which cannot contain another row.
    pub quoted_well: bool,
}

/// Whether every quote that opens a field of this record is closed at the end of the field. The CSV reader
/// does not check that: it takes whatever follows a closing quote as a part of the field.
fn quoted_well(mut fields: &[u8], delimiter: u8) -> bool {
    loop {
        if let [b'"', within @ ..] = fields {
            match behind_quotes(within, delimiter) {
                Some(rest) => fields = rest,
                None => return false,
            }
        }
        match fields.iter().position(|byte| *byte == delimiter) {
            Some(at) => fields = &fields[at + 1..],
            None => return true,
        }
    }
}

/// What follows a quoted field and the blanks after it, from the delimiter on. `None` if something else
/// follows, or if the quote is not closed.
fn behind_quotes(mut within: &[u8], delimiter: u8) -> Option<&[u8]> {
    loop {
        let quote = within.iter().position(|byte| *byte == b'"')?;
        within = &within[quote + 1..];
        // Two quotes stand for one quote inside the field.
        match within {
            [b'"', rest @ ..] => within = rest,
            _ => break,
        }
    }
    let blanks = within
        .iter()
        .take_while(|byte| matches!(byte, b' ' | b'\t'));
    let rest = &within[blanks.count()..];
    match rest.first() {
        None => Some(rest),
        Some(byte) if *byte == delimiter => Some(rest),
        Some(_) => None,
    }
}
