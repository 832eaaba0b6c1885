//! Reads the rows of a series from a table.

use csv::StringRecord;

use super::super::column::{decimal_commas, number};
use super::super::csv::ranges;
use super::super::dates::{Clock, SUCH_AS};
use super::super::error::Problem;
use super::super::limits::{MAX_CLASSES, MAX_ROWS, MIN_SERIES};
use super::super::numbers::{is_missing, is_no_number};
use super::super::quote::{column_called, grouped, shorten};
use super::super::reading::Reading;
use super::super::sheet::{Form, Sheet};
use super::super::times::check_kind;
use super::super::untaken::Untaken;
use super::super::ways::Ways;
use super::time::{Time, cell, found_time, has};

/// The most columns that are read at each time.
const MAX_COLUMNS: usize = 256;

/// What is to be predicted.
#[derive(Debug, PartialEq)]
pub(in super::super) enum Target {
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
pub(in super::super) struct Table {
    /// The name of the target, and of the column of times: of several, with commas between them.
    pub target: String,
    pub time: Option<String>,
    /// The columns that are read. The target of a forecast comes first.
    pub columns: Vec<String>,
    pub values: Vec<Vec<f64>>,
    pub times: Option<Vec<f64>>,
    /// How the file writes what may be read in two ways.
    pub ways: Ways,
    pub to_predict: Target,
}

/// How a table was read.
#[derive(Debug, Default)]
pub(super) struct How {
    /// What is to be said of it.
    pub notes: Vec<String>,
    pub left_out: Untaken,
}

impl Table {
    pub fn rows(&self) -> usize {
        self.values[0].len()
    }

    /// Whether times are dates, in days since 1970-01-01.
    pub fn has_dates(&self) -> bool {
        self.ways.clock.is_some_and(Clock::is_dates)
    }

    pub fn is_forecast(&self) -> bool {
        self.to_predict == Target::Next
    }
}

/// Reads a table, and returns how.
///
/// # Errors
///
/// A [`Problem`] that names the flag for columns that are not there or that hold something else; [`Problem::Lines`] for missing
/// values and for times that do not go forward, if they are more than [`Reading::skip_bad`].
pub(super) fn read(text: &str, reading: &Reading, form: Form) -> Result<(Table, How), Problem> {
    let rows = Sheet::of(text, reading, form)?;
    let target = rows.find("--target", reading.target.as_deref().unwrap_or_default())?;
    let time = reading.time.as_deref();
    let time = time.map(|name| Time::find(&rows, name)).transpose()?;
    if let Some(time) = &time
        && time.columns.contains(&target)
    {
        return Err(Problem::Reading(format!(
            "--time and --target both name {}",
            column_called(&rows.names[target])
        )));
    }
    let mut named = match &reading.columns {
        Some(named) => {
            let find = |name: &str| rows.find("--columns", name);
            let hides = |column| column == target || has(&time, column);
            Some(ranges(&rows.names, named, find, hides)?)
        }
        None => None,
    };
    let mut how = How {
        notes: rows.notes.clone(),
        ..How::default()
    };
    let time = match (time, &named) {
        (None, None) => found_time(&rows, target, &mut how.notes)?,
        (time, _) => time,
    };
    // Programs write the numbers of the rows into a column without a name.
    let counts =
        |at: &usize| rows.names[*at].is_empty() && rows.columns[*at].clock.step() == Some(1.0);
    let is_channel = |at: &usize| *at != target && !has(&time, *at);
    if named.is_none() && (0..rows.names.len()).any(|at| is_channel(&at) && counts(&at)) {
        how.notes
            .push("the column without a name counts the rows, and is not read".into());
        let all = (0..rows.names.len()).filter(|at| is_channel(at) && !counts(at));
        named = Some(all.collect());
    }
    let is_forecast = !rows.columns[target].is_classes();
    let read = columns_read(&rows, target, named, &time, is_forecast)?;
    if !is_forecast && rows.columns[target].has_numbers() {
        how.notes.push(format!(
            "{} holds fewer numbers than words, such as {}, so each of its different cells is a class",
            column_called(&rows.names[target]),
            rows.columns[target].word().unwrap_or_default()
        ));
    }
    let class = (!is_forecast).then_some(target);
    let found = Wanted::of(&rows, read, time, class, Ways::default(), &mut how)?;
    let (table, left_out) = found.rows(&rows, reading.skip_bad, target)?;
    how.left_out = left_out;
    Ok((table, how))
}

/// Reads a table for the model of a study, from the columns of the same names as its table. Classes are not read.
///
/// # Errors
///
/// As [`read`]; every line that cannot be used is an error, and so are dates where the study has numbers, and numbers where it has dates.
pub(super) fn read_like(rows: &Sheet<'_>, like: &Table) -> Result<Table, Problem> {
    let find = |name: &String| rows.find("--columns", name);
    let read: Result<Vec<usize>, _> = like.columns.iter().map(find).collect();
    let time = like.time.as_ref().map(|name| Time::find(rows, name));
    let read = read.map_err(Problem::of_another_file)?;
    let time = time.transpose().map_err(Problem::of_another_file)?;
    let target = read[0];
    let wanted = Wanted::of(rows, read, time, None, like.ways, &mut How::default())?;
    if let Some((time, clock)) = &wanted.time {
        let named = format!("the times of {}", column_called(&time.name));
        check_kind(&named, clock.is_dates(), like.has_dates())?;
    }
    let read = wanted.rows(rows, 0, target);
    Ok(read.map_err(Problem::of_another_file)?.0)
}

/// The columns that are read: those that are named, or all but the target of classes and the times. The target of a forecast
/// comes first.
fn columns_read(
    rows: &Sheet<'_>,
    target: usize,
    named: Option<Vec<usize>>,
    time: &Option<Time>,
    is_forecast: bool,
) -> Result<Vec<usize>, Problem> {
    let names = &rows.names;
    let mut read: Vec<usize> = named.unwrap_or_else(|| {
        let others = (0..names.len()).filter(|column| *column != target && !has(time, *column));
        others.collect()
    });
    let is_wrong = |column: &&usize| has(time, **column) || (!is_forecast && **column == target);
    if let Some(wrong) = read.iter().find(is_wrong) {
        return Err(Problem::Reading(format!(
            "--columns names {}, which is the column of the {}",
            column_called(&names[*wrong]),
            match has(time, *wrong) {
                true => "times",
                false => "classes",
            }
        )));
    }
    if is_forecast {
        // A forecast is made from earlier numbers of the target, so its column is read as the first.
        read.retain(|column| *column != target);
        read.insert(0, target);
    }
    if read.is_empty() {
        return Err(Problem::Reading(format!(
            "there is no column beside {}, whose classes are to be predicted; it is read as classes, since {} is no number: numbers have no \
             unit, and no separators of thousands",
            column_called(&names[target]),
            rows.columns[target].word().unwrap_or_default()
        )));
    }
    if read.len() > MAX_COLUMNS {
        return Err(Problem::Reading(format!(
            "has {} columns to read, more than {MAX_COLUMNS}; name fewer with --columns",
            grouped(read.len())
        )));
    }
    Ok(read)
}

struct Wanted {
    /// The columns of the numbers, and whether they have decimal commas.
    read: Vec<(usize, bool)>,
    time: Option<(Time, Clock)>,
    /// The column of the classes, if they are to be predicted.
    class: Option<usize>,
}

/// What the columns hold.
#[derive(Default)]
struct Found {
    values: Vec<Vec<f64>>,
    times: Vec<f64>,
    classes: Vec<String>,
    untaken: Untaken,
}

impl Wanted {
    /// How the cells of the columns are written, which is the same in all rows. `known` is how the file before writes what may be
    /// read in two ways.
    fn of(
        rows: &Sheet<'_>,
        read: Vec<usize>,
        time: Option<Time>,
        class: Option<usize>,
        known: Ways,
        how: &mut How,
    ) -> Result<Self, Problem> {
        let (names, columns) = (&rows.names, &rows.columns);
        let without = |at: &&usize| !columns[**at].has_numbers() && columns[**at].word().is_some();
        if let Some(without) = read.iter().find(without) {
            return Err(Problem::Other(format!(
                "{} holds no number, and series are made of numbers: it is {}; name the columns that are read with --columns{}",
                column_called(&names[*without]),
                columns[*without].word().unwrap_or_default(),
                match (&time, columns[*without].dates.is_dates()) {
                    (_, true) => ", or the one of the times with --time".to_string(),
                    (Some(_), false) => String::new(),
                    (None, false) =>
                        format!(", or if it holds times, write them such as {SUCH_AS}"),
                }
            )));
        }
        let times = time.iter().filter(|time| time.has_comma);
        let times = times.flat_map(|time| &time.columns);
        let with_times: Vec<usize> = read.iter().chain(times).copied().collect();
        let commas = decimal_commas(names, columns, &with_times, known.has_commas)?;
        how.notes.extend(commas);
        let time = time.map(|time| time.clock(rows, known.clock).map(|clock| (time, clock)));
        let time = time.transpose()?;
        let read = read.into_iter().map(|at| (at, columns[at].has_comma()));
        Ok(Self {
            read: read.collect(),
            time,
            class,
        })
    }

    /// Reads the rows. Up to `skip_bad` lines that cannot be used are left out and returned.
    fn rows(
        self,
        rows: &Sheet<'_>,
        skip_bad: usize,
        target: usize,
    ) -> Result<(Table, Untaken), Problem> {
        let mut found = Found {
            values: vec![Vec::new(); self.read.len()],
            ..Found::default()
        };
        rows.each(|line, row| {
            if let Err(what) = row.and_then(|row| self.take(&rows.names, row, &mut found)) {
                found.untaken.reject(line, what);
            }
            match found.values[0].len() > MAX_ROWS {
                true => Err(Problem::TooManyRows),
                false => Ok(()),
            }
        })?;
        let is_empty = found.values[0].is_empty();
        if found.untaken.bad_count > skip_bad {
            // The rows that are left have to be enough for a series.
            let can_skip = found.values[0].len() >= MIN_SERIES;
            return Err(found.untaken.problem(can_skip));
        }
        if is_empty {
            return Err(Problem::NoRow);
        }
        let name = |column: &usize| rows.names[*column].clone();
        let table = Table {
            target: name(&target),
            columns: self.read.iter().map(|(column, _)| name(column)).collect(),
            values: found.values,
            times: self.time.is_some().then_some(found.times),
            ways: Ways {
                clock: self.time.as_ref().map(|(_, clock)| *clock),
                has_commas: self.read.iter().any(|(_, has_comma)| *has_comma)
                    || self.time.as_ref().is_some_and(|(time, _)| time.has_comma),
            },
            time: self.time.map(|(time, _)| time.name),
            to_predict: match self.class {
                None => Target::Next,
                Some(_) => classes_of(&found.classes)?,
            },
        };
        Ok((table, found.untaken))
    }

    /// Adds a row, or says what is wrong with it.
    fn take(&self, names: &[String], row: &StringRecord, found: &mut Found) -> Result<(), String> {
        let mut numbers = Vec::with_capacity(self.read.len());
        for (column, has_comma) in &self.read {
            numbers.push(number_in(&names[*column], cell(row, *column), *has_comma)?);
        }
        let class = self.class.map(|class| (class, cell(row, class)));
        if let Some((column, class)) = class
            && is_missing(class)
        {
            return Err(format!("{} is missing", column_called(&names[column])));
        }
        let at = match &self.time {
            None => None,
            Some((time, clock)) => {
                let cell = time.cell(names, row);
                Some(later(&time.name, &cell, *clock, found.times.last())?)
            }
        };
        for (column, number) in found.values.iter_mut().zip(numbers) {
            column.push(number);
        }
        found.times.extend(at);
        found
            .classes
            .extend(class.map(|(_, class)| class.to_string()));
        Ok(())
    }
}

fn number_in(column: &str, cell: &str, has_comma: bool) -> Result<f64, String> {
    if is_no_number(cell) {
        return Err(match cell {
            "" => format!("{} is missing", column_called(column)),
            _ => format!(
                "{} is missing: it is {}",
                column_called(column),
                shorten(cell)
            ),
        });
    }
    number(cell, has_comma).ok_or_else(|| {
        format!(
            "{} is {}, and series are made of numbers, as other cells of this column are",
            column_called(column),
            shorten(cell)
        )
    })
}

/// A time, if it is later than the one before.
fn later(column: &str, cell: &str, clock: Clock, before: Option<&f64>) -> Result<f64, String> {
    let time = clock.parse(cell).ok_or_else(|| {
        format!(
            "{} is {}, and the other times are {clock}",
            column_called(column),
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
