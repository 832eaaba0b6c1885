//! What the cells of a table's columns are.

use super::super::column::Column;
use super::super::quote::shorten;
use super::super::reading::{Reading, TokenKind};

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

/// Whether cells are numbers or symbols: numbers if each is one or is empty, and at least one is not a whole number. Whole
/// numbers alone may as well be symbols, such as the codes of classes.
pub fn cells_or_numbers(columns: &[Column], tokens: &[usize], reading: &Reading) -> TokenKind {
    let mut of = tokens.iter().map(|column| &columns[*column]);
    let all = of.clone().all(Column::is_numbers_or_missing);
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
    let all_different = |column: &usize| columns[*column].is_all_different();
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
