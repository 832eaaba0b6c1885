//! Reads the rows of a series from a table.

use super::super::csv::{column, each_record, names_of, sniffed, unknown_column};
use super::super::error::{BadLine, Problem, SHOWN};
use super::super::limits::{MAX_CLASSES, MAX_ROWS};
use super::super::quote::{grouped, shorten};
use super::super::reading::Reading;
use super::time;

/// The most columns that are read at each time.
const MAX_COLUMNS: usize = 256;
/// How a missing value is written.
const MISSING: [&str; 6] = ["", "na", "nan", "n/a", "null", "?"];

/// What is to be predicted.
#[derive(Debug, PartialEq)]
pub(super) enum Target {
    /// The next number of the first column that is read.
    Next,
    /// The class of each row.
    Classes {
        /// The names of the classes, sorted.
        labels: Vec<String>,
        of_rows: Vec<usize>,
    },
}

/// A series: numbers at each of its rows.
#[derive(Debug, PartialEq)]
pub(super) struct Table {
    /// The name of the target, and of the column of times.
    pub target: String,
    pub time: Option<String>,
    /// The columns that are read. The target of a forecast comes first.
    pub columns: Vec<String>,
    /// The numbers of each column.
    pub values: Vec<Vec<f64>>,
    pub times: Option<Vec<f64>>,
    pub to_predict: Target,
    /// Lines that were left out.
    pub left_out: Vec<BadLine>,
}

impl Table {
    pub fn rows(&self) -> usize {
        self.values[0].len()
    }
}

/// Reads a table.
///
/// # Errors
///
/// A [`Problem`] that names the flag for columns that are not there; [`Problem::Lines`] for missing values and for
/// times that do not go forward, if they are more than [`Reading::skip_bad`].
pub(super) fn read(
    text: &str,
    reading: &Reading,
    delimiter: Option<char>,
) -> Result<Table, Problem> {
    let delimiter = reading
        .delimiter
        .or(delimiter)
        .unwrap_or_else(|| sniffed(text));
    let (names, _) = names_of(text, delimiter, reading.no_header)?;
    let find = |flag: &'static str, name: &str| {
        column(&names, name).ok_or_else(|| unknown_column(flag, name, &names))
    };
    let target = find("--target", reading.target.as_deref().unwrap_or_default())?;
    let time = reading.time.as_deref();
    let time = time.map(|name| find("--time", name)).transpose()?;
    if time == Some(target) {
        return Err(Problem::Reading(format!(
            "--time and --target both name {}",
            shorten(&names[target])
        )));
    }
    let is_number = |cell: &str| cell.parse::<f64>().is_ok_and(f64::is_finite);
    let mut is_forecast = true;
    let mut header = !reading.no_header;
    each_record(text, delimiter, |record, _| {
        if !std::mem::take(&mut header) {
            let cell = record.get(target).unwrap_or("").trim();
            is_forecast &= is_missing(cell) || is_number(cell);
        }
        Ok(())
    })?;

    let mut read: Vec<usize> = match &reading.columns {
        Some(named) => named
            .iter()
            .map(|name| find("--columns", name))
            .collect::<Result<_, _>>()?,
        None => (0..names.len())
            .filter(|column| Some(*column) != time && *column != target)
            .collect(),
    };
    if let Some(wrong) = read
        .iter()
        .find(|column| Some(**column) == time || (!is_forecast && **column == target))
    {
        return Err(Problem::Reading(format!(
            "--columns names {}, which is the column of the {}",
            shorten(&names[*wrong]),
            if Some(*wrong) == time {
                "times"
            } else {
                "classes"
            }
        )));
    }
    if is_forecast {
        // The numbers before are what a forecast is made of.
        read.retain(|column| *column != target);
        read.insert(0, target);
    }
    if read.is_empty() {
        return Err(Problem::Reading(format!(
            "there is no column beside {}, whose classes are to be predicted",
            shorten(&names[target])
        )));
    }
    if read.len() > MAX_COLUMNS {
        return Err(Problem::Reading(format!(
            "has {} columns to read, more than {MAX_COLUMNS}; name fewer with --columns",
            grouped(read.len())
        )));
    }

    let columns = Columns {
        names,
        read,
        time,
        class: (!is_forecast).then_some(target),
    };
    let found = rows(text, reading, delimiter, &columns, Some(reading.skip_bad))?;
    let to_predict = match is_forecast {
        true => Target::Next,
        false => classes_of(&found.classes)?,
    };
    Ok(columns.table(target, found, to_predict))
}

/// Reads a table for the model of a study, from the columns of the same names as its table. Classes are not read.
///
/// # Errors
///
/// As [`read`]; every line that cannot be used is an error.
pub(super) fn read_like(
    text: &str,
    reading: &Reading,
    delimiter: Option<char>,
    like: &Table,
) -> Result<Table, Problem> {
    let delimiter = reading
        .delimiter
        .or(delimiter)
        .unwrap_or_else(|| sniffed(text));
    let (names, _) = names_of(text, delimiter, reading.no_header)?;
    let find = |name: &str| {
        column(&names, name).ok_or_else(|| {
            Problem::Series(format!(
                "has no column {}, which the study reads; its columns are {}",
                shorten(name),
                names
                    .iter()
                    .take(SHOWN)
                    .map(|name| shorten(name))
                    .collect::<Vec<_>>()
                    .join(", ")
            ))
        })
    };
    let read = like.columns.iter().map(|name| find(name));
    let read: Vec<usize> = read.collect::<Result<_, _>>()?;
    let time = like.time.as_deref().map(find).transpose()?;
    let columns = Columns {
        names,
        read,
        time,
        class: None,
    };
    let found = rows(text, reading, delimiter, &columns, None)?;
    let target = columns.read[0];
    Ok(columns.table(target, found, Target::Next))
}

/// The columns of a table that are read.
struct Columns {
    names: Vec<String>,
    /// Those of the numbers.
    read: Vec<usize>,
    time: Option<usize>,
    /// That of the classes, if they are to be predicted.
    class: Option<usize>,
}

/// What stands in them.
#[derive(Default)]
struct Found {
    values: Vec<Vec<f64>>,
    times: Vec<f64>,
    classes: Vec<String>,
    bad: Vec<BadLine>,
}

impl Columns {
    fn table(self, target: usize, found: Found, to_predict: Target) -> Table {
        let name = |column: &usize| self.names[*column].clone();
        Table {
            target: name(&target),
            time: self.time.as_ref().map(name),
            columns: self.read.iter().map(name).collect(),
            values: found.values,
            times: self.time.map(|_| found.times),
            to_predict,
            left_out: found.bad,
        }
    }
}

/// Reads the rows of a table. Up to `skip_bad` lines that cannot be used are left out and returned; `None` if none
/// may be left out.
fn rows(
    text: &str,
    reading: &Reading,
    delimiter: char,
    columns: &Columns,
    skip_bad: Option<usize>,
) -> Result<Found, Problem> {
    let (allowed, can_skip) = (skip_bad.unwrap_or(0), skip_bad.is_some());
    let Columns {
        names,
        read,
        time,
        class,
    } = columns;
    let mut found = Found {
        values: vec![Vec::new(); read.len()],
        ..Found::default()
    };
    let mut header = !reading.no_header;
    each_record(text, delimiter, |record, place| {
        if std::mem::take(&mut header) {
            return Ok(());
        }
        let cell = |column: usize| record.get(column).unwrap_or("").trim();
        let row = || {
            if record.len() > names.len() {
                return Err(format!(
                    "{} fields, and the header has {}",
                    record.len(),
                    names.len()
                ));
            }
            let mut numbers = Vec::with_capacity(read.len());
            for column in read {
                numbers.push(number(&names[*column], cell(*column))?);
            }
            if let Some(class) = class
                && is_missing(cell(*class))
            {
                return Err(format!("{} is missing", shorten(&names[*class])));
            }
            let at = match time {
                None => None,
                Some(column) => Some(later(&names[*column], cell(*column), found.times.last())?),
            };
            Ok((numbers, at))
        };
        match row() {
            Err(what) => found.bad.push(BadLine {
                line: place.first,
                what,
            }),
            Ok((numbers, at)) => {
                for (column, number) in found.values.iter_mut().zip(numbers) {
                    column.push(number);
                }
                found.times.extend(at);
                found
                    .classes
                    .extend(class.map(|class| cell(class).to_string()));
            }
        }
        match found.values[0].len() > MAX_ROWS {
            true => Err(Problem::TooManyRows),
            false => Ok(()),
        }
    })?;
    if found.bad.len() > allowed {
        return Err(Problem::Lines {
            count: found.bad.len(),
            shown: found.bad.into_iter().take(SHOWN).collect(),
            can_skip,
        });
    }
    match found.values[0].is_empty() {
        true => Err(Problem::NoRow),
        false => Ok(found),
    }
}

fn is_missing(cell: &str) -> bool {
    MISSING.contains(&cell.to_ascii_lowercase().as_str())
}

fn number(column: &str, cell: &str) -> Result<f64, String> {
    if is_missing(cell) {
        return Err(match cell {
            "" => format!("{} is missing", shorten(column)),
            _ => format!("{} is missing: it is {}", shorten(column), shorten(cell)),
        });
    }
    let number = cell.parse::<f64>().ok().filter(|number| number.is_finite());
    number.ok_or_else(|| {
        format!(
            "{} is {}, and series are made of numbers; if no cell of this column is one, name the others with \
             --columns",
            shorten(column),
            shorten(cell)
        )
    })
}

/// A time, if it is later than the one before.
fn later(column: &str, cell: &str, before: Option<&f64>) -> Result<f64, String> {
    let time = time::parse(cell).ok_or_else(|| {
        format!(
            "{} is {}, which is neither a number nor a date such as 2024-05-17 or 2024-05-17T12:30",
            shorten(column),
            shorten(cell)
        )
    })?;
    match before {
        Some(before) if time == *before => Err(format!(
            "the time {} is that of the row before; every row takes a time of its own",
            shorten(cell)
        )),
        Some(before) if time < *before => Err(format!(
            "the time {} lies before that of the row before; sort the rows by time",
            shorten(cell)
        )),
        _ => Ok(time),
    }
}

fn classes_of(cells: &[String]) -> Result<Target, Problem> {
    let mut labels = cells.to_vec();
    labels.sort_unstable();
    labels.dedup();
    if labels.len() > MAX_CLASSES {
        let classes = labels.len();
        return Err(Problem::TooManyClasses { classes });
    }
    if let [label] = &labels[..] {
        return Err(Problem::OneClass {
            rows: cells.len(),
            label: label.clone(),
        });
    }
    let class = |cell: &String| labels.binary_search(cell).unwrap_or(0);
    let of_rows = cells.iter().map(class).collect();
    Ok(Target::Classes { labels, of_rows })
}
