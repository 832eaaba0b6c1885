//! Opens a file of the user's data: its format, its bytes, its text and its rows.

use std::fs::File;
use std::io::{ErrorKind, Read};
use std::path::Path;

use super::class_table::ClassTable;
use super::error::{Problem, refuse};
use super::format::{Format, is_columnar, is_json_lines, is_text_by_flag};
use super::limits::MAX_BYTES;
use super::reading::{Reading, TokenKind};
use super::records::check_lines;
use super::rows::Collector;
use super::series::read_long;
use super::sheet::Form;
use super::spec::{FileSpec, Source, name_of};
use super::untaken::Untaken;
use super::{arff, binary, columnar, csv, fasta, jsonl, looks, packed, ts};
use crate::door::{Entry, bytes_of};

/// The format of a file, if the settings are for files of this format.
pub(super) fn checked_format(file: &Entry, reading: &Reading) -> Result<Format, Problem> {
    reading.check()?;
    let opened = opened(file)?;
    let head = || {
        let mut head = Vec::new();
        opened.take(looks::LOOKED_AT).read_to_end(&mut head)?;
        Ok::<_, Problem>(head)
    };
    let format = match Format::of(file, reading) {
        // The name says what the file is, but it cannot be read with these settings.
        Err(problem @ Problem::Reading(_)) if is_columnar(file) => return Err(problem),
        Err(problem) => return Err(why_not(&head()?, problem)),
        // `--tokens characters` makes a text of a file of any name, but not of an archive.
        Ok(Format::Text)
            if is_text_by_flag(file) && reading.tokens == Some(TokenKind::Characters) =>
        {
            let head = head()?;
            match looks::has_nul(&head) {
                true => return Err(why_not(&head, Problem::unknown_name())),
                false => Format::Text,
            }
        }
        Ok(format) => format,
    };
    match format {
        Format::Csv | Format::JsonLines => refuse(
            reading.about_text(),
            "is about a text or token ids, and this file holds labelled rows",
        )?,
        Format::Ids => refuse(
            reading.objective_of_rows(),
            "is for rows, and a file of this name holds token ids",
        )?,
        Format::Text if matches!(reading.tokens, Some(TokenKind::U16 | TokenKind::U32)) => refuse(
            Some("--tokens u16 and u32"),
            "are for a .bin of token ids; a text has characters or bytes",
        )?,
        _ => {}
    }
    Ok(format)
}

/// What is wrong with a file that begins with `head`, of which only its name was looked at so far.
fn why_not(head: &[u8], problem: Problem) -> Problem {
    let is_packed = head.starts_with(packed::MAGIC);
    match (binary::problem(head), problem) {
        (Some(known), _) if !is_packed => known,
        (_, Problem::Extension { .. }) => Problem::Extension {
            looks: looks::looks(head),
        },
        (_, problem) => problem,
    }
}

/// The format of a file, what identifies it, and its text.
pub(super) fn open(file: &Entry, reading: &Reading) -> Result<(Format, FileSpec, String), Problem> {
    let format = checked_format(file, reading)?;
    let bytes = open_bytes(file)?;
    let spec = FileSpec::of(file, &bytes);
    let text = text(file, bytes)?;
    let format = match format {
        // A table of columns that hold lists becomes JSON lines.
        Format::Csv if is_json_lines(file, &text) => Format::JsonLines,
        format => format,
    };
    Ok((format, spec, text))
}

/// A regular file, opened.
fn opened(file: &Entry) -> Result<File, Problem> {
    file.open().map_err(|error| match error.kind() {
        ErrorKind::InvalidData => {
            Problem::Other("is not a file; name the file that holds the data".into())
        }
        _ => error.into(),
    })
}

/// The bytes of a file, if it is not too large.
pub(super) fn open_bytes(file: &Entry) -> Result<Vec<u8>, Problem> {
    let opened = opened(file)?;
    let bytes = opened.metadata()?.len();
    bytes_of(opened, MAX_BYTES).map_err(|error| match error.kind() {
        ErrorKind::InvalidData => Problem::TooLarge { bytes },
        _ => error.into(),
    })
}

/// The text of a file, unpacked if its name says that it is packed, and made of its columns if it holds them, unless it is empty.
pub(super) fn text(path: &Path, bytes: Vec<u8>) -> Result<String, Problem> {
    let text = match is_columnar(path) {
        true => columnar::text(bytes)?,
        false => decode(packed::unpacked(path, bytes)?)?,
    };
    match text.trim().is_empty() {
        true => Err(Problem::Empty),
        false => Ok(text),
    }
}

/// The text of a file in UTF-8, without a byte-order mark.
fn decode(bytes: Vec<u8>) -> Result<String, Problem> {
    if bytes.starts_with(&[0xff, 0xfe]) || bytes.starts_with(&[0xfe, 0xff]) {
        return Err(Problem::Other("looks like UTF-16; save it as UTF-8".into()));
    }
    if let Some(problem) = binary::problem(&bytes) {
        return Err(problem);
    }
    match String::from_utf8(bytes) {
        Ok(mut text) => {
            if text.starts_with('\u{feff}') {
                text.drain(..'\u{feff}'.len_utf8());
            }
            Ok(text)
        }
        Err(error) => Err(not_utf8(error.as_bytes())),
    }
}

/// Names the lines that are not UTF-8.
fn not_utf8(bytes: &[u8]) -> Problem {
    let mut untaken = Untaken::default();
    for (line, bytes) in (1..).zip(bytes.split(|byte| *byte == b'\n')) {
        if let Err(error) = std::str::from_utf8(bytes) {
            let at = error.valid_up_to();
            let what = format!(
                "byte {} of the line, 0x{:02x}, is not UTF-8; save the file as UTF-8",
                at + 1,
                bytes[at]
            );
            untaken.reject(line, what);
        }
    }
    untaken.problem(false)
}

/// The table of classes of rows of this format, if `--labels` names one.
///
/// # Errors
///
/// [`Problem::Reading`] for a format whose rows have no ids, and for what is wrong with the table.
pub(super) fn classes(
    source: &Source,
    format: Format,
    reading: &Reading,
) -> Result<Option<ClassTable>, Problem> {
    let Some(file) = &source.labels else {
        return Ok(None);
    };
    let file = &source.entry(file);
    let has_ids = format == Format::Fasta || reading.id.is_some();
    if !has_ids {
        return Err(Problem::Reading(
            "--labels is for rows with an id: the records of FASTA and FASTQ, and the series of a table with --id".into(),
        ));
    }
    let about = |problem: Problem| match problem {
        problem @ Problem::Reading(_) => problem,
        other => Problem::Reading(format!("--labels {}: {other}", file.display())),
    };
    let text = open_bytes(file).and_then(|bytes| text(file, bytes));
    let table = text.and_then(|text| {
        check_lines(&text)?;
        ClassTable::read(name_of(file), &text)
    });
    table.map(Some).map_err(about)
}

/// Reads the rows of a file, and returns in words how.
pub(super) fn rows_of(
    path: &Path,
    format: Format,
    text: &str,
    rows: &mut Collector,
) -> Result<Vec<String>, Problem> {
    // Tables and long tables have their lines checked where their columns are found.
    let lines = || check_lines(text).map(|()| text);
    let form = Form::of(path, text);
    let mut notes = match format {
        Format::Csv | Format::JsonLines if rows.reading.id.is_some() => {
            read_long(text, form, rows)?
        }
        Format::JsonLines => jsonl::read(lines()?, rows)?,
        Format::Ts => ts::read(lines()?, rows)?,
        Format::Arff => arff::read(lines()?, rows)?,
        Format::Fasta => fasta::read(lines()?, rows)?,
        _ => csv::read(text, form, rows)?,
    };
    notes.extend(rows.end_file()?);
    Ok(notes)
}
