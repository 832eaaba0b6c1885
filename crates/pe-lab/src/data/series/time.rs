//! Where the times of a table are: in the columns that are named, or in one that is found.

use std::borrow::Cow;

use csv::StringRecord;

use super::super::column::{Column, pointed};
use super::super::dates::{Clock, SUCH_AS, Seen};
use super::super::error::Problem;
use super::super::quote::{column_called, shorten, typed};
use super::super::sheet::Sheet;

/// What the column of the hours of a day is called.
const HOURS: [&str; 5] = ["h", "hh", "hr", "hour", "hours"];

/// Where the times are: in one column, or in several, such as a year and a quarter or a date and a clock.
pub(super) struct Time {
    pub name: String,
    pub columns: Vec<usize>,
    /// Whether they are numbers with decimal commas.
    pub has_comma: bool,
}

impl Time {
    fn new(rows: &Sheet<'_>, name: String, columns: Vec<usize>) -> Self {
        let has_comma = match columns[..] {
            [at] => rows.columns[at].has_comma() && !rows.columns[at].dates.is_mostly_dates(),
            _ => false,
        };
        Self {
            name,
            columns,
            has_comma,
        }
    }

    pub fn find(rows: &Sheet<'_>, name: &str) -> Result<Self, Problem> {
        let columns = match rows.find("--time", name) {
            Ok(column) => vec![column],
            Err(_) if name.contains(',') => {
                let parts = name.split(',').map(|part| rows.find("--time", part));
                parts.collect::<Result<_, _>>()?
            }
            Err(problem) => return Err(problem),
        };
        Ok(Self::new(rows, name.to_string(), columns))
    }

    /// The time of a row as its cells write it, but with a decimal point in a number: those of several columns with spaces between
    /// them, the number of a quarter with a Q, and that of an hour as a clock shows it.
    pub fn cell<'r>(&self, names: &[String], row: &'r StringRecord) -> Cow<'r, str> {
        if let [column] = self.columns[..] {
            return pointed(cell(row, column), self.has_comma);
        }
        let part = |column: &usize| {
            let cell = cell(row, *column);
            let whole = cell.strip_suffix(".0").unwrap_or(cell);
            let is_number = !whole.is_empty() && whole.bytes().all(|of| of.is_ascii_digit());
            let name = names[*column].trim();
            let is_hour = || HOURS.iter().any(|hour| name.eq_ignore_ascii_case(hour));
            match name.starts_with(['q', 'Q']) && whole.len() == 1 {
                true => format!("Q{whole}"),
                false if is_number && is_hour() => format!("{whole}:00"),
                false => whole.to_string(),
            }
        };
        let parts: Vec<String> = self.columns.iter().map(part).collect();
        parts.join(" ").into()
    }

    /// How times are written, which is the same in all rows. `known` is how the file before writes them.
    pub fn clock(&self, rows: &Sheet<'_>, known: Option<Clock>) -> Result<Clock, Problem> {
        if self.has_comma {
            return Ok(Clock::Numbers);
        }
        if let [column] = self.columns[..] {
            return self.clock_of(&rows.columns[column].dates, known);
        }
        let mut seen = Seen::default();
        rows.each(|_, row| {
            // Lines that are no rows are reported when the rows are read.
            row.iter()
                .for_each(|row| seen.add(&self.cell(&rows.names, row)));
            Ok(())
        })?;
        self.clock_of(&seen, known)
    }

    fn clock_of(&self, seen: &Seen, known: Option<Clock>) -> Result<Clock, Problem> {
        let name = column_called(&self.name);
        match seen.clock(known) {
            Ok(Some(clock)) => Ok(clock),
            // Rows without a time, and a table without rows, are reported when the rows are read.
            Ok(None) if seen.is_empty() => Ok(Clock::Numbers),
            Ok(None) => Err(Problem::Other(format!(
                "--time names {name}, which holds neither numbers nor dates such as {SUCH_AS}{}",
                match &seen.other {
                    Some(cell) => format!(": it holds {}", shorten(cell)),
                    None => String::new(),
                }
            ))),
            Err(what) => Err(Problem::Other(format!("{name} holds {what}"))),
        }
    }
}

pub(super) fn has(time: &Option<Time>, column: usize) -> bool {
    time.as_ref()
        .is_some_and(|time| time.columns.contains(&column))
}

pub(super) fn cell(row: &StringRecord, column: usize) -> &str {
    row.get(column).unwrap_or("").trim()
}

/// The one column beside the target that is taken for the time: that of dates, or where there is none, that of numbers that rise
/// by equal steps.
///
/// # Errors
///
/// [`Problem::Reading`] where several columns may be it.
pub(super) fn found_time(
    rows: &Sheet<'_>,
    target: usize,
    notes: &mut Vec<String>,
) -> Result<Option<Time>, Problem> {
    let columns = &rows.columns;
    let others = |may_be: fn(&Column) -> bool| -> Vec<usize> {
        let others = (0..columns.len()).filter(|at| *at != target);
        others.filter(|at| may_be(&columns[*at])).collect()
    };
    let (found, by, are) = match others(|column| column.dates.is_mostly_dates()) {
        found if !found.is_empty() => (found, "dates".to_string(), "are dates"),
        _ => {
            let found = others(|column| column.clock.step().is_some());
            let step = found.first().and_then(|at| columns[*at].clock.step());
            let by = format!("equal steps of {}", step.unwrap_or_default());
            (found, by, "rise by equal steps")
        }
    };
    match found[..] {
        [] => {
            let is_numbers = |at: &usize| columns[*at].dates.is_numbers();
            let others = (0..columns.len()).filter(|at| *at != target && is_numbers(at));
            let mut may_be = others.filter(|at| columns[*at].goes_forward());
            notes.extend(may_be.next().map(|at| {
                let (shown, typed) = (column_called(&rows.names[at]), typed(&rows.names[at]));
                format!(
                    "no times: {shown} rises by unequal steps, so it is read as numbers; if it is the time, say so with --time {typed}"
                )
            }));
            Ok(None)
        }
        [column] => {
            let name = rows.names[column].clone();
            notes.push(format!(
                "time: {}{}, found by its {by}; --time and --columns say otherwise",
                if name.is_empty() { "" } else { "column " },
                column_called(&name)
            ));
            Ok(Some(Time::new(rows, name, vec![column])))
        }
        [one, other, ..] => Err(Problem::Reading(format!(
            "the cells of {} and of {} {are}; say which are the times with --time, or which columns are read with --columns",
            column_called(&rows.names[one]),
            column_called(&rows.names[other])
        ))),
    }
}
