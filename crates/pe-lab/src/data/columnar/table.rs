//! A table of columns becomes text: with a header and commas between cells, or as JSON lines if a column holds lists.

use arrow_array::RecordBatch;
use arrow_schema::Schema;

use super::super::error::Problem;
use super::super::limits::{MAX_BYTES, MAX_COLUMNS};
use super::super::quote::{grouped, shorten};
use super::cells::{Form, is_list, is_read, name_of, push_text, write};

/// The text of the rows so far.
pub(super) struct Table {
    form: Form,
    names: Vec<String>,
    /// Each name as it stands before a value of JSON.
    keys: Vec<String>,
    text: String,
    rows: usize,
}

impl Table {
    /// A table without rows.
    ///
    /// # Errors
    ///
    /// [`Problem::TooManyColumns`], [`Problem::Other`] for none, or for one that is not read.
    pub fn new(schema: &Schema) -> Result<Self, Problem> {
        let fields = schema.fields();
        let columns = fields.len();
        if columns > MAX_COLUMNS {
            return Err(Problem::TooManyColumns { line: 1, columns });
        }
        if columns == 0 {
            return Err(Problem::Other("has no column".into()));
        }
        if let Some(field) = fields.iter().find(|field| !is_read(field.data_type())) {
            return Err(Problem::Other(format!(
                "has the column {} of the type {}, which is not read (texts, numbers, truth values, dates, times, and lists of \
                 them are); leave it out: pandas.read_parquet(FILE).drop(columns=[{:?}]).to_parquet(NEW)",
                shorten(field.name()),
                name_of(field.data_type()),
                field.name()
            )));
        }
        let names: Vec<String> = fields.iter().map(|field| field.name().clone()).collect();
        let mut table = Self {
            form: match fields.iter().any(|field| is_list(field.data_type())) {
                true => Form::Json,
                false => Form::Csv,
            },
            keys: names.iter().map(|name| key(name)).collect(),
            names,
            text: String::new(),
            rows: 0,
        };
        if table.form == Form::Csv {
            table.header();
        }
        Ok(table)
    }

    fn header(&mut self) {
        for (number, name) in self.names.iter().enumerate() {
            if number > 0 {
                self.text.push(',');
            }
            // A name that begins with `{` is written in quotes, as a text that begins so is taken for JSON lines.
            push_text(name, Form::Csv, &mut self.text);
        }
        self.text.push('\n');
    }

    /// Adds the rows of a batch.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] for a value that cannot be written, and when the text would get too long.
    pub fn add(&mut self, batch: &RecordBatch) -> Result<(), Problem> {
        if batch.num_columns() != self.names.len() {
            return Err(broken("Arrow", "its batches have different columns"));
        }
        for row in 0..batch.num_rows() {
            self.rows += 1;
            for (number, column) in batch.columns().iter().enumerate() {
                match self.form {
                    Form::Json => {
                        self.text.push(if number == 0 { '{' } else { ',' });
                        self.text.push_str(&self.keys[number]);
                    }
                    Form::Csv if number > 0 => self.text.push(','),
                    Form::Csv => {}
                }
                let start = self.text.len();
                let written = write(column.as_ref(), row, self.form, &mut self.text);
                written.map_err(|what| {
                    Problem::Other(format!(
                        "row {}: {} {what}",
                        grouped(self.rows),
                        shorten(&self.names[number])
                    ))
                })?;
                // A blank line would not be read as a row.
                let is_blank = self.names.len() == 1 && self.text[start..].trim().is_empty();
                if is_blank && self.form == Form::Csv {
                    self.text.truncate(start);
                    self.text.push_str("null");
                }
                if self.text.len() as u64 >= MAX_BYTES {
                    return Err(too_large());
                }
            }
            self.text.push_str(match self.form {
                Form::Json => "}\n",
                Form::Csv => "\n",
            });
        }
        Ok(())
    }

    /// The rows so far.
    pub fn rows(&self) -> usize {
        self.rows
    }

    pub fn into_text(self) -> String {
        self.text
    }
}

fn key(name: &str) -> String {
    let mut key = String::new();
    push_text(name, Form::Json, &mut key);
    key.push(':');
    key
}

/// Numbers take up to so many times the bytes of their text: eight bytes for `0` and a comma.
pub(super) const WIDER: u64 = 4;

/// A file of this format that is not as such a file should be.
pub(super) fn broken(format: &str, why: &str) -> Problem {
    let article = if format.starts_with('A') { "an" } else { "a" };
    let why: String = why.chars().take(300).collect();
    Problem::Other(format!(
        "is {article} {format} file that is broken, ends too early or is of a kind that is not read ({why}); copy or download \
         it again, or write it again with pandas"
    ))
}

/// A file that would unpack to too much.
pub(super) fn too_large() -> Problem {
    Problem::Other(format!(
        "unpacks to more than the {} bytes that are read; take a part of it",
        grouped(MAX_BYTES as usize)
    ))
}
