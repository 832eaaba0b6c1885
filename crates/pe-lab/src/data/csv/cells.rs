//! What the cells of a table's columns are.

use std::collections::HashSet;
use std::hash::{BuildHasher, RandomState};

use super::super::error::Problem;
use super::super::numbers::number;
use super::super::quote::shorten;
use super::super::reading::{Reading, TokenKind};
use super::super::records::each_record;

/// Names of columns that hold no tokens.
const NOT_TOKENS: [&str; 17] = [
    "",
    "id",
    "idx",
    "index",
    "uuid",
    "guid",
    "key",
    "name",
    "date",
    "time",
    "datetime",
    "timestamp",
    "url",
    "split",
    "fold",
    "unnamed: 0",
    // What pandas calls the numbers of rows in a Parquet file.
    "__index_level_0__",
];

/// A column with more than this share of cells that hold several words is a text.
const TEXT_SHARE: f64 = 0.1;

/// What is known about the cells of a column.
#[derive(Default)]
pub struct Column {
    /// Cells that are not empty.
    pub filled: usize,
    /// Cells with a space inside.
    pub texts: usize,
    /// Cells that hold a number or say that it is missing, and those of them whose number is not a whole one.
    pub numbers: usize,
    pub fractions: usize,
    /// The hashes of its cells, until one occurs twice.
    pub different: HashSet<u64>,
    /// Whether a cell occurs twice.
    pub repeats: bool,
}

impl Column {
    /// Whether more than a few of its cells hold several words.
    pub fn is_text(&self) -> bool {
        self.texts as f64 > TEXT_SHARE * self.filled as f64
    }
}

/// The cells of so many columns.
pub fn columns_of(
    text: &str,
    delimiter: char,
    no_header: bool,
    count: usize,
) -> Result<Vec<Column>, Problem> {
    let mut columns: Vec<Column> = (0..count).map(|_| Column::default()).collect();
    let hash = RandomState::new();
    let mut header = !no_header;
    each_record(text, delimiter, |record, _| {
        if !std::mem::take(&mut header) {
            for (column, cell) in columns.iter_mut().zip(record) {
                let cell = cell.trim();
                column.filled += usize::from(!cell.is_empty());
                column.texts += usize::from(cell.contains(char::is_whitespace));
                if let (Some(number), false) = (number(cell), cell.is_empty()) {
                    column.numbers += 1;
                    column.fractions += usize::from(number.fract() != 0.0 && !number.is_nan());
                }
                if !column.repeats && !column.different.insert(hash.hash_one(cell)) {
                    column.repeats = true;
                    column.different = HashSet::new();
                }
            }
        }
        Ok(())
    })?;
    Ok(columns)
}

/// Whether cells are numbers or symbols: numbers if each is one or is empty, and at least one is not a whole number. Whole
/// numbers alone may as well be symbols, such as the codes of classes.
pub fn cells_or_numbers(columns: &[Column], tokens: &[usize], reading: &Reading) -> TokenKind {
    let mut of = tokens.iter().map(|column| &columns[*column]);
    let all = of.clone().all(|column| column.numbers == column.filled);
    match all && of.any(|column| column.fractions > 0) && !reading.is_answer() {
        true => TokenKind::Numbers,
        false => TokenKind::Cells,
    }
}

/// Why some columns may not hold tokens.
pub fn doubts(
    names: &[String],
    others: &[usize],
    columns: &[Column],
    reading: &Reading,
) -> Vec<String> {
    // A number that is not whole names no row.
    let all_different = |column: &usize| {
        let column = &columns[*column];
        let differ = !column.repeats && column.different.len() == column.filled;
        differ && column.fractions == 0 && column.filled >= 20
    };
    // Where most columns hold a different value in each row, they are measurements.
    let few = others
        .iter()
        .filter(|column| !all_different(column))
        .count();
    let ids_stand_out = 2 * few > others.len();
    let reason = |column: &usize| {
        let name = names[*column].to_ascii_lowercase();
        let named =
            !reading.no_header && (NOT_TOKENS.contains(&name.as_str()) || name.ends_with("_id"));
        if named {
            Some(match name.as_str() {
                "" => "has no name, as a column of row numbers has none",
                _ => "sounds like no token",
            })
        } else if reading.tokens.is_none() && columns[*column].is_text() {
            Some("holds several words beside other columns")
        } else if ids_stand_out && all_different(column) {
            Some("differs in every row, as the name of a row does")
        } else {
            None
        }
    };
    let doubts = others.iter().filter_map(|column| {
        let reason = reason(column)?;
        Some(format!("{} {reason}", shorten(&names[*column])))
    });
    doubts.collect()
}
