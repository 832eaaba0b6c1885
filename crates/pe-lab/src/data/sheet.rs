//! A table or JSON lines, cell by cell.

use std::borrow::Cow;
use std::path::Path;

use csv::StringRecord;

use super::column::Column;
use super::error::Problem;
use super::format::{delimiter, is_json_lines};
use super::header::{find_column, list, survey};
use super::jsonl;
use super::quote::shorten;
use super::reading::Reading;
use super::records::{each_row, names_of, said_separator, single_blanks, sniffed};

/// What a file holds, as the end of its name says, and its text where that alone does not.
#[derive(Clone, Copy, Debug)]
pub(super) enum Form {
    /// A table, and what separates its columns if the name says it.
    Table(Option<char>),
    JsonLines,
}

impl Form {
    pub fn of(path: &Path, text: &str) -> Self {
        match is_json_lines(path, text) {
            true => Self::JsonLines,
            false => Self::Table(delimiter(path)),
        }
    }
}

/// The columns and the rows of a file.
pub(super) struct Sheet<'a> {
    text: Cow<'a, str>,
    /// What separates the columns. `None` for JSON lines.
    delimiter: Option<char>,
    no_header: bool,
    /// The names of the columns, or the keys of all lines in the order in which they first occur.
    pub names: Vec<String>,
    /// The line of the names, or of the first row where there are none.
    pub line: usize,
    pub columns: Vec<Column>,
    /// What is odd about the names.
    pub notes: Vec<String>,
}

/// A table of a few columns that is no data of a task.
pub(crate) struct Cells {
    /// Whether commas separate its columns, so that none is a decimal comma.
    pub has_commas: bool,
    /// The names of the columns.
    pub names: Vec<String>,
    /// The rows, each with the number of its line. A row may have fewer cells than there are names.
    pub rows: Vec<(usize, StringRecord)>,
}

impl Cells {
    /// The cells of a text, or what is wrong in it, with the line.
    pub fn of(text: &str) -> Result<Self, String> {
        let read = || {
            let sheet = Sheet::of(text, &Reading::default(), Form::Table(None))?;
            let mut rows = Vec::new();
            sheet.each(|line, row| {
                let row = row.map_err(|what| Problem::Other(format!("line {line}: {what}")))?;
                rows.push((line, row.clone()));
                Ok(())
            })?;
            Ok(Self {
                has_commas: sheet.delimiter == Some(','),
                names: sheet.names,
                rows,
            })
        };
        read().map_err(|problem: Problem| problem.to_string())
    }
}

impl<'a> Sheet<'a> {
    /// # Errors
    ///
    /// A [`Problem`] for a file without rows or with too many columns, for a first line that is no header, and for flags that are for tables alone.
    pub fn of(text: &'a str, reading: &Reading, form: Form) -> Result<Self, Problem> {
        let said = said_separator(text);
        let mut text = Cow::Borrowed(said.map_or(text, |(_, rest)| rest));
        let (delimiter, names, line, columns, notes) = match form {
            Form::JsonLines => {
                let (names, columns) = jsonl::columns(&text, reading)?;
                (None, names, 1, columns, Vec::new())
            }
            Form::Table(delimiter) => {
                let said = said.map(|(separator, _)| separator);
                let delimiter = reading.delimiter.or(said).or(delimiter);
                let delimiter = delimiter.unwrap_or_else(|| sniffed(&text));
                if delimiter == ' ' {
                    text = single_blanks(text);
                }
                let (names, line) = names_of(&text, delimiter, reading.no_header)?;
                let (columns, notes) = survey(&text, delimiter, (&names, line), reading)?;
                (Some(delimiter), names, line, columns, notes)
            }
        };
        Ok(Self {
            text,
            delimiter,
            no_header: reading.no_header,
            names,
            line,
            columns,
            notes,
        })
    }

    pub fn find(&self, flag: &'static str, name: &str) -> Result<usize, Problem> {
        find_column(flag, name, &self.names, self.no_header)
    }

    pub fn names_of(&self, columns: &[usize]) -> Vec<String> {
        columns.iter().map(|at| self.names[*at].clone()).collect()
    }

    /// The columns that are not read, in words, if there are any.
    pub fn not_read(&self, is_read: impl Fn(usize) -> bool) -> Option<String> {
        let unread = (0..self.names.len()).filter(|at| !is_read(*at));
        let unread = self.names_of(&unread.collect::<Vec<_>>());
        (!unread.is_empty()).then(|| format!("columns not read: {}", list(&unread)))
    }

    /// Calls `each` for every row with the number of its line and its cells, or why it has none.
    pub fn each(
        &self,
        mut each: impl FnMut(usize, Result<&StringRecord, String>) -> Result<(), Problem>,
    ) -> Result<(), Problem> {
        let Some(delimiter) = self.delimiter else {
            return jsonl::each_row(&self.text, &self.names, each);
        };
        each_row(&self.text, delimiter, self.no_header, |record, place| {
            let columns = self.names.len();
            let row = match record.get(columns) {
                _ if !place.quoted_well => Err(format!(
                    "a double quote is not closed, so that the row goes on to line {}; close it, or write \"\" for a quote inside quotes",
                    place.last
                )),
                Some(more) => Err(format!(
                    "{} fields, but the {} has {columns}; the first one too many is {}; put a field that holds {} in double quotes",
                    record.len(),
                    match self.no_header {
                        true => "first row",
                        false => "header",
                    },
                    shorten(more),
                    self.separator()
                )),
                None => Ok(record),
            };
            each(place.first, row)
        })
    }

    /// What separates the columns, in words.
    pub fn separator(&self) -> String {
        match self.delimiter {
            Some(',') | None => "a comma".to_string(),
            Some(';') => "a semicolon".to_string(),
            Some('\t') => "a tab".to_string(),
            Some(' ') => "blanks".to_string(),
            Some(other) => format!("`{other}`"),
        }
    }
}
