//! The records of a table and the lines that they stand on.

use std::borrow::Cow;

use csv::{ReaderBuilder, StringRecord};

use super::error::Problem;
use super::limits::{MAX_COLUMNS, MAX_LINE};
use super::quote::grouped;

/// So many lines tell whether blanks separate columns.
const LOOKED_AT: usize = 20;

/// What separates the columns: the first of comma, tab, semicolon and bar that the first line holds; without any of them blanks, if
/// the first lines have the same number of words.
pub(super) fn sniffed(text: &str) -> char {
    let mut lines = text.lines().filter(|line| !line.trim().is_empty());
    let line = lines.next().unwrap_or("");
    let words = |line: &str| line.split_whitespace().count();
    let of_first = words(line);
    let mut others = lines.take(LOOKED_AT).map(words).peekable();
    let is_table = of_first > 1 && others.peek().is_some() && others.all(|of| of == of_first);
    let known = [',', '\t', ';', '|'];
    let found = known.into_iter().find(|c| line.contains(*c));
    found.unwrap_or(if is_table { ' ' } else { ',' })
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

fn reader(text: &str, delimiter: char) -> csv::Reader<&[u8]> {
    ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .delimiter(delimiter as u8)
        // Between tabs a double quote is a character like any other.
        .quoting(delimiter != '\t')
        .from_reader(text.as_bytes())
}

/// The names of the columns, and the line of the first record.
pub(super) fn names_of(
    text: &str,
    delimiter: char,
    no_header: bool,
) -> Result<(Vec<String>, usize), Problem> {
    check_lines(text)?;
    let mut reader = reader(text, delimiter);
    let mut lines = Lines::new(text, delimiter);
    let mut record = StringRecord::new();
    let Some(place) = next_record(&mut reader, &mut lines, &mut record)? else {
        return Err(Problem::Empty);
    };
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

/// Reads the next record that is not blank, and returns its place. `None` at the end.
fn next_record(
    reader: &mut csv::Reader<&[u8]>,
    lines: &mut Lines<'_>,
    record: &mut StringRecord,
) -> Result<Option<Place>, Problem> {
    while reader.read_record(record).map_err(unreadable)? {
        let start = record.position().map_or(0, |at| at.byte() as usize);
        let place = lines.of(start, reader.position().byte() as usize);
        let written = &lines.text[start..reader.position().byte() as usize];
        if !is_blank(record, written) {
            return Ok(Some(place));
        }
    }
    Ok(None)
}

/// Whether nothing is written. Quotes with nothing between them are an empty cell of a table of one column.
fn is_blank(record: &StringRecord, written: &[u8]) -> bool {
    record.len() == 1 && record[0].trim().is_empty() && !written.contains(&b'"')
}

fn unreadable(error: csv::Error) -> Problem {
    Problem::Unreadable(error.into())
}

/// Calls `each` for every record that is not blank, with its place.
pub(super) fn each_record(
    text: &str,
    delimiter: char,
    mut each: impl FnMut(&StringRecord, Place) -> Result<(), Problem>,
) -> Result<(), Problem> {
    let mut reader = reader(text, delimiter);
    let mut lines = Lines::new(text, delimiter);
    let mut record = StringRecord::new();
    while let Some(place) = next_record(&mut reader, &mut lines, &mut record)? {
        each(&record, place)?;
    }
    Ok(())
}

/// The same of every record below the header, if there is one.
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

/// Finds the line numbers of rows in a text. Rows must be asked for in ascending order.
struct Lines<'a> {
    text: &'a [u8],
    delimiter: u8,
    counted: usize,
    line: usize,
}

/// The lines of a row.
pub(super) struct Place {
    pub first: usize,
    pub last: usize,
    /// For a row of several lines: whether every double quote that opens a field is closed at the end of
    /// the field. Always true for a row of one line, which cannot contain another row.
    pub quoted_well: bool,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str, delimiter: char) -> Self {
        Self {
            text: text.as_bytes(),
            delimiter: delimiter as u8,
            counted: 0,
            line: 1,
        }
    }

    /// The lines of the text between two bytes, without the line ends around it.
    fn of(&mut self, start: usize, end: usize) -> Place {
        let is_end = |byte: &u8| matches!(byte, b'\r' | b'\n');
        let within = &self.text[start..end];
        let skipped = within.iter().take_while(|byte| is_end(byte)).count();
        let trailing = within[skipped..]
            .iter()
            .rev()
            .take_while(|byte| is_end(byte))
            .count();
        let lines = |from: usize, to: usize| {
            let bytes = self.text[from..to].iter();
            bytes.filter(|byte| **byte == b'\n').count()
        };
        let (start, end) = (start + skipped, end - trailing);
        let first = self.line + lines(self.counted, start);
        let last = first + lines(start, end);
        let quoted_well = first == last || quoted_well(&self.text[start..end], self.delimiter);
        (self.counted, self.line) = (end, last);
        Place {
            first,
            last,
            quoted_well,
        }
    }
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
