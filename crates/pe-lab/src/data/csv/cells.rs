//! What the cells of a table's columns are.

use super::super::column::Column;
use super::super::error::Problem;
use super::super::quote::{column_called, columns_typed};
use super::super::reading::{Reading, TokenKind};

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
///
/// # Errors
///
/// [`Problem::Other`] where all but a few cells are numbers.
pub fn cells_or_numbers(
    names: &[String],
    columns: &[Column],
    tokens: &[usize],
    reading: &Reading,
) -> Result<TokenKind, Problem> {
    let mut of = tokens.iter().map(|column| &columns[*column]);
    if reading.is_answer() || !of.any(Column::has_fractions) {
        return Ok(TokenKind::Cells);
    }
    let mut others = tokens
        .iter()
        .filter(|at| !columns[**at].is_numbers_or_missing());
    let Some(odd) = others.clone().next() else {
        return Ok(TokenKind::Numbers);
    };
    match others.all(|at| columns[*at].odd_one().is_some()) {
        false => Ok(TokenKind::Cells),
        true => Err(Problem::Other(format!(
            "{} holds numbers, but for {}; with --tokens numbers every such line is named, and may be left out; with --tokens cells \
             all cells are read as symbols. A missing number is an empty cell",
            column_called(&names[*odd]),
            columns[*odd].odd_one().unwrap_or_default()
        ))),
    }
}

/// What is said where numbers that are not whole are read as symbols, because other columns hold words.
pub fn mixed(names: &[String], columns: &[Column], tokens: &[usize]) -> Option<String> {
    let is_number = |at: &usize| columns[*at].is_numbers_or_missing();
    let (numbers, words): (Vec<usize>, Vec<usize>) = tokens.iter().copied().partition(is_number);
    numbers.iter().find(|at| columns[**at].has_fractions())?;
    let first = *words.first()?;
    let word = columns[first]
        .word()
        .map(|word| format!(", such as {word}"));
    Some(format!(
        "numbers that are not whole are read as symbols, since {} holds words{}; --columns {} reads numbers",
        column_called(&names[first]),
        word.unwrap_or_default(),
        columns_typed(names, &numbers)
    ))
}

/// Some columns that may not hold tokens, and why.
pub fn doubts(
    names: &[String],
    others: &[usize],
    columns: &[Column],
    reading: &Reading,
) -> Vec<(usize, String)> {
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
                "" => "may hold the numbers or the names of rows",
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
        Some((
            *column,
            format!("{} {reason}", column_called(&names[*column])),
        ))
    });
    doubts.collect()
}
