//! CSV: a header with a column `label`; the tokens are in all the other columns.

use csv::{ReaderBuilder, StringRecord};

use super::error::Problem;
use super::quote::shorten;
use super::rows::{Collector, Rows, Tokens};

const LABEL: &str = "label";

/// Reads labelled sequences.
///
/// A field holds any number of tokens, separated by spaces, so a file may have one column of text or a
/// column per token. A row may have fewer fields than the header, but not more.
///
/// # Errors
///
/// [`Problem::Header`] unless exactly one column is called `label`; [`Problem::Lines`] lists the rows that
/// cannot be used.
pub(super) fn read(text: &str) -> Result<Rows, Problem> {
    let mut reader = ReaderBuilder::new()
        .has_headers(false)
        .flexible(true)
        .from_reader(text.as_bytes());
    let mut lines = Lines::new(text);
    let mut record = StringRecord::new();
    let mut header: Option<(usize, usize)> = None;
    let mut rows = Collector::default();
    let failed = |error: csv::Error| Problem::Unreadable(error.into());
    while reader.read_record(&mut record).map_err(failed)? {
        let start = record.position().map_or(0, |at| at.byte() as usize);
        let place = lines.of(start, reader.position().byte() as usize);
        let line = place.first;
        if record.len() == 1 && record[0].trim().is_empty() {
            continue;
        }
        let Some((label, columns)) = header else {
            header = Some((label_column(&record, line)?, record.len()));
            continue;
        };
        if !place.quoted_well {
            rows.reject(line, || {
                format!(
                    "a double quote is not closed, so that the row goes on to line {}; close it, \
                     or write \"\" for a quote inside quotes",
                    place.last
                )
            });
            continue;
        }
        if record.len() > columns {
            rows.reject(line, || {
                format!(
                    "{} fields, but the header has {columns}; the first one too many is {}; put \
                     a field that holds a comma in double quotes",
                    record.len(),
                    shorten(&record[columns])
                )
            });
            continue;
        }
        let mut tokens = Tokens::default();
        for (column, field) in record.iter().enumerate() {
            if column != label {
                field
                    .split_whitespace()
                    .for_each(|token| tokens.push(token));
            }
        }
        rows.take(line, record.get(label).unwrap_or("").trim(), &tokens)?;
    }
    match header {
        None => Err(Problem::Empty),
        Some(_) => rows.finish(),
    }
}

fn label_column(header: &StringRecord, line: usize) -> Result<usize, Problem> {
    let named: Vec<usize> = (0..header.len())
        .filter(|column| header[*column].trim() == LABEL)
        .collect();
    match named[..] {
        [_] if header.len() == 1 => Err(Problem::NoTokenColumn),
        [column] => Ok(column),
        _ => {
            const NAMED: usize = 8;
            let mut columns: Vec<String> = header.iter().take(NAMED).map(shorten).collect();
            if header.len() > NAMED {
                columns.push(format!("and {} more", header.len() - NAMED));
            }
            Err(Problem::Header {
                line,
                labels: named.len(),
                columns: columns.join(", "),
            })
        }
    }
}

/// Finds the line numbers of rows in a text. Rows must be asked for in ascending order.
struct Lines<'a> {
    text: &'a [u8],
    counted: usize,
    line: usize,
}

/// The lines of a row.
struct Place {
    first: usize,
    last: usize,
    /// For a row of several lines: whether every double quote that opens a field is closed at the end of
    /// the field. Always true for a row of one line, which cannot contain another row.
    quoted_well: bool,
}

impl<'a> Lines<'a> {
    fn new(text: &'a str) -> Self {
        Self {
            text: text.as_bytes(),
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
        let quoted_well = first == last || quoted_well(&self.text[start..end]);
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
fn quoted_well(mut fields: &[u8]) -> bool {
    loop {
        if let [b'"', within @ ..] = fields {
            match behind_quotes(within) {
                Some(rest) => fields = rest,
                None => return false,
            }
        }
        match fields.iter().position(|byte| *byte == b',') {
            Some(comma) => fields = &fields[comma + 1..],
            None => return true,
        }
    }
}

/// What follows a quoted field and the blanks after it, from the comma on. `None` if something else
/// follows, or if the quote is not closed.
fn behind_quotes(mut within: &[u8]) -> Option<&[u8]> {
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
    matches!(rest.first(), None | Some(b',')).then_some(rest)
}
