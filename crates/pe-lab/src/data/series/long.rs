//! Whole series in a long table: a row is a step, and a column says of which series. The label of a series stands in each of
//! its rows.
//!
//! ```text
//! id,time,x,y,label
//! a,0,0.5,1.0,left
//! a,1,0.7,1.1,left
//! b,0,0.2,0.4,right
//! ```

use std::borrow::Cow;

use csv::StringRecord;

use super::super::channels::step;
use super::super::column::{decimal_commas, pointed};
use super::super::csv::{TIMES, ranges};
use super::super::dates::Clock;
use super::super::error::Problem;
use super::super::header::{column, list};
use super::super::labels::Labels;
use super::super::numbered::Numbered;
use super::super::numbers::number;
use super::super::quote::{column_called, grouped, shorten, typed};
use super::super::reading::Reading;
use super::super::rows::{Collector, Tokens};
use super::super::sheet::{Form, Sheet};
use super::super::times::{Times, time_of};
use super::super::ways::Ways;
use super::time::{Time, cell, has};

/// Reads whole series, in the order in which they first occur, and returns in words where they were found. A series with a line
/// that cannot be used is left out as a whole, or refused; a row that may be of any series is refused.
///
/// # Errors
///
/// A [`Problem`] that names the flag for columns that are not there, [`Problem::TooManyRows`].
pub(in super::super) fn read(
    text: &str,
    form: Form,
    collector: &mut Collector,
) -> Result<Vec<String>, Problem> {
    let table = Sheet::of(text, &collector.reading, form)?;
    let has_classes = collector.classes.is_some();
    let in_table = match has_classes {
        true => Labels::IfAny,
        false => collector.labels_are,
    };
    let places = Places::of(&table, &collector.reading, in_table, collector.ways)?;
    if let (Some(at), true) = (places.label, has_classes) {
        return Err(Problem::Reading(format!(
            "--labels says the label of each series, and so does the column {}; take one of them away",
            column_called(&table.names[at])
        )));
    }
    let known = collector.ways.has_commas;
    let commas = decimal_commas(&table.names, &table.columns, &places.commas, known)?;
    collector.ways.has_commas |= commas.is_some();
    let channels = table.names_of(&places.channels);
    collector.measure_columns(&channels)?;
    let times = places.time.as_ref().map(|(time, clock)| {
        let named = format!("the times of {}", column_called(&time.name));
        Times::new(named, *clock)
    });
    collector.expect_times(times)?;
    let (ids, all) = gathered(&table, &places, in_table)?;
    for (id, series) in ids.names().into_iter().zip(all) {
        series.end(&id, collector)?;
    }
    let mut notes = vec![places.said(&table.names, &channels, has_classes)];
    notes.extend(commas);
    notes.extend(table.not_read(|at| places.has(at)));
    notes.extend(table.notes.iter().cloned());
    Ok(notes)
}

/// The series, in the order in which they first occur, and their ids.
fn gathered(
    table: &Sheet<'_>,
    places: &Places,
    labels: Labels,
) -> Result<(Numbered, Vec<Series>), Problem> {
    let (mut ids, mut all) = (Numbered::default(), Vec::<Series>::new());
    // A row that may be of any series is not left out: that series would lack a step.
    table.each(|line, row| match row {
        Ok(row) if cell(row, places.id).is_empty() => {
            let id = column_called(&table.names[places.id]);
            let what = format!("{id} is empty, and it says of which series the row is");
            Err(Problem::at_line(line, what))
        }
        Ok(row) => {
            let place = ids.of(cell(row, places.id)) as usize;
            if place == all.len() {
                all.push(Series {
                    line,
                    ..Series::default()
                });
            }
            let series = &mut all[place];
            if series.bad.is_none() {
                let added = series.add(line, row, &table.names, places, labels);
                series.bad = added.err().map(|what| (line, what));
            }
            Ok(())
        }
        Err(what) => Err(Problem::at_line(line, what)),
    })?;
    Ok((ids, all))
}

/// The names of the columns of the channels.
pub(in super::super) fn channels_of(
    text: &str,
    reading: &Reading,
    form: Form,
) -> Result<Vec<String>, Problem> {
    let table = Sheet::of(text, reading, form)?;
    let places = Places::of(&table, reading, Labels::IfAny, Ways::default())?;
    Ok(table.names_of(&places.channels))
}

/// Which columns are what.
struct Places {
    id: usize,
    time: Option<(Time, Clock)>,
    /// Series to predict need no label.
    label: Option<usize>,
    group: Option<usize>,
    channels: Vec<usize>,
    /// The columns of numbers with decimal commas among these.
    commas: Vec<usize>,
}

impl Places {
    /// `known` is how the file before writes what may be read in two ways.
    fn of(
        table: &Sheet<'_>,
        reading: &Reading,
        labels: Labels,
        known: Ways,
    ) -> Result<Self, Problem> {
        let names = &table.names;
        let id = table.find("--id", reading.id.as_deref().unwrap_or_default())?;
        let time = reading.time.as_deref();
        let time = time.map(|name| Time::find(table, name)).transpose()?;
        let label = match (&reading.label, labels) {
            (Some(name), Labels::Needed) => Some(table.find("--label", name)?),
            (Some(name), Labels::IfAny) => table.find("--label", name).ok(),
            (None, _) => column(names, reading.usual_label()),
        };
        if label.is_none() && labels == Labels::Needed {
            return Err(Problem::Reading(format!(
                "--id reads the label of each series from a column `{}`, and the columns are {}; name yours with --label COLUMN",
                reading.usual_label(),
                list(names)
            )));
        }
        let group = reading.group.as_deref();
        let group = group.map(|name| table.find("--group", name)).transpose()?;
        let named = [("--id", Some(id)), ("--label", label), ("--group", group)];
        check_flags(names, &named, &time)?;
        let is_taken =
            |at: usize| named.iter().any(|(_, place)| *place == Some(at)) || has(&time, at);
        let channels = channels(table, reading, &time, is_taken)?;
        let time = time.map(|time| time.clock(table, known.clock).map(|clock| (time, clock)));
        let time = time.transpose()?;
        Ok(Self {
            commas: commas(table, &time, label, &channels),
            id,
            time,
            label,
            group,
            channels,
        })
    }

    /// What a cell holds, with a decimal point where the numbers of its column have a decimal comma.
    fn cell<'r>(&self, row: &'r StringRecord, at: usize) -> Cow<'r, str> {
        pointed(cell(row, at), self.commas.contains(&at))
    }

    /// Where the series and what belongs to them were found.
    fn said(&self, names: &[String], channels: &[String], has_classes: bool) -> String {
        let called = |at: usize| column_called(&names[at]);
        let order = match &self.time {
            Some((time, clock)) => format!("the order of {} ({clock})", shorten(&time.name)),
            None => "the order of the file".to_string(),
        };
        let count = match channels.len() {
            1 => "one channel".to_string(),
            count => format!("{} channels", grouped(count)),
        };
        let label = match self.label {
            Some(label) => format!("label from {}", called(label)),
            None if has_classes => "label by the id".to_string(),
            None => "no column label".to_string(),
        };
        let groups = match self.group {
            Some(group) => format!("; groups from {}", called(group)),
            None => String::new(),
        };
        format!(
            "a series is all rows of one {}, in {order}; {count}: {}; {label}{groups}",
            called(self.id),
            list(channels)
        )
    }

    fn has(&self, column: usize) -> bool {
        let time = self
            .time
            .as_ref()
            .map_or(&[][..], |(time, _)| &time.columns);
        [Some(self.id), self.label, self.group].contains(&Some(column))
            || time.contains(&column)
            || self.channels.contains(&column)
    }
}

/// Checks that no two flags name one column.
fn check_flags(
    names: &[String],
    named: &[(&str, Option<usize>)],
    time: &Option<Time>,
) -> Result<(), Problem> {
    for (number, (flag, place)) in named.iter().enumerate() {
        let Some(place) = *place else { continue };
        let other = named[..number]
            .iter()
            .find(|(_, other)| *other == Some(place));
        let other = other.map(|(other, _)| *other);
        let other = other.or(has(time, place).then_some("--time"));
        // The rows of a series stay together anyway, so a group may be named by the same column.
        if let Some(other) = other.filter(|other| (*other, *flag) != ("--id", "--group")) {
            return Err(Problem::Reading(format!(
                "{other} and {flag} both name {}",
                column_called(&names[place])
            )));
        }
    }
    Ok(())
}

/// Names of columns that count the steps of each series, and so tell its positions.
const STEPS: [&str; 14] = [
    "day", "days", "frame", "hour", "hours", "minute", "minutes", "month", "second", "seconds",
    "step", "t", "visit", "week",
];

/// The columns of the channels: those that are named, or all that no flag takes for something else.
fn channels(
    table: &Sheet<'_>,
    reading: &Reading,
    time: &Option<Time>,
    is_taken: impl Fn(usize) -> bool,
) -> Result<Vec<usize>, Problem> {
    let names = &table.names;
    let wrong = |reason: String| Err(Problem::Reading(reason));
    let find = |name: &str| table.find("--columns", name);
    let found = match &reading.columns {
        Some(named) => ranges(names, named, find, &is_taken)?,
        None => (0..names.len()).filter(|at| !is_taken(*at)).collect(),
    };
    if let Some(at) = found.iter().find(|at| is_taken(**at)) {
        return wrong(format!(
            "--columns names {}, which is no channel, since another flag names it or it is the label",
            column_called(&names[*at])
        ));
    }
    let sounds = |at: &&usize| {
        let name = names[**at].to_ascii_lowercase();
        TIMES.contains(&name.as_str()) || STEPS.contains(&name.as_str())
    };
    if let (None, None, Some(at)) = (time, &reading.columns, found.iter().find(sounds)) {
        return wrong(format!(
            "the column {} sounds like a time: say --time {} if it is, or name the channels with --columns",
            column_called(&names[*at]),
            typed(&names[*at])
        ));
    }
    match found.is_empty() {
        false => Ok(found),
        true => wrong(format!(
            "no column is left for the numbers of the series; the columns are {}",
            list(names)
        )),
    }
}

/// The columns whose numbers have decimal commas: channels, the time, and a label of numbers.
fn commas(
    table: &Sheet<'_>,
    time: &Option<(Time, Clock)>,
    label: Option<usize>,
    channels: &[usize],
) -> Vec<usize> {
    let columns = &table.columns;
    let label = label.filter(|at| columns[*at].is_numbers_or_missing());
    let numbers = channels.iter().chain(&label).copied();
    let times = time.iter().filter(|(time, _)| time.has_comma);
    let times = times.flat_map(|(time, _)| &time.columns).copied();
    let commas = numbers.filter(|at| columns[*at].has_comma());
    commas.chain(times).collect()
}

#[derive(Default)]
struct Series {
    line: usize,
    /// Its label and its group, and the line on which each was first read.
    label: Option<(String, usize)>,
    group: Option<(String, usize)>,
    steps: Vec<Step>,
    /// What is wrong with it first, and on which line.
    bad: Option<(usize, String)>,
}

struct Step {
    /// The time as a number and as it is written; without times, the number of the step.
    time: f64,
    written: String,
    line: usize,
    numbers: String,
}

impl Series {
    /// Adds a step, or says what is wrong with it.
    fn add(
        &mut self,
        line: usize,
        row: &StringRecord,
        names: &[String],
        places: &Places,
        labels: Labels,
    ) -> Result<(), String> {
        if let Some(at) = places.label {
            let label = places.cell(row, at);
            if label.is_empty() && labels == Labels::Needed {
                return Err(format!("the label {} is empty", column_called(&names[at])));
            }
            same(&mut self.label, &label, line, "label")?;
        }
        if let Some(at) = places.group {
            same(&mut self.group, cell(row, at), line, "group")?;
        }
        let is_number = |at: &&usize| number(&places.cell(row, **at)).is_some();
        if let Some(wrong) = places.channels.iter().find(|at| !is_number(at)) {
            return Err(format!(
                "column {}: {} is no number; a missing value is an empty cell or ?{}",
                column_called(&names[*wrong]),
                shorten(cell(row, *wrong)),
                match (
                    &places.time,
                    Clock::Dates.parse(cell(row, *wrong)).is_some()
                ) {
                    (None, true) => "; if it says when the row was, name the column with --time",
                    _ => "",
                }
            ));
        }
        let (time, written) = match &places.time {
            None => (self.steps.len() as f64, String::new()),
            Some((time, clock)) => {
                let written = time.cell(names, row);
                let parsed = time_of(&written, *clock)
                    .map_err(|what| format!("the time {} {what}", shorten(&time.name)))?;
                (parsed, written.into_owned())
            }
        };
        let cells = places.channels.iter().map(|at| places.cell(row, *at));
        let cells: Vec<_> = cells.collect();
        self.steps.push(Step {
            time,
            written,
            line,
            numbers: step(cells.iter().map(|cell| &**cell)),
        });
        Ok(())
    }

    /// Hands the series on in the order of time.
    fn end(mut self, id: &str, rows: &mut Collector) -> Result<(), Problem> {
        self.steps
            .sort_by(|one, other| one.time.total_cmp(&other.time));
        let mut pairs = self.steps.windows(2);
        if let Some(pair) = pairs.find(|pair| pair[0].time == pair[1].time) {
            self.bad.get_or_insert_with(|| {
                let what = format!(
                    "the time {} is that of line {} too; every row of a series takes a time of its own",
                    shorten(&pair[1].written),
                    grouped(pair[0].line)
                );
                (pair[1].line, what)
            });
        }
        if let Some(classes) = &rows.classes {
            match classes.of(id) {
                Some(class) => self.label = Some((class.to_string(), 0)),
                None if rows.labels_are == Labels::Needed => {
                    self.bad
                        .get_or_insert_with(|| (self.line, classes.lacks(id)));
                }
                None => {}
            }
        }
        if let Some((line, what)) = self.bad {
            rows.reject(line, format!("series {}: {what}", shorten(id)));
            return Ok(());
        }
        let mut tokens = Tokens::default();
        tokens.times = self.steps.iter().map(|step| step.time).collect();
        tokens.name = Some(id.to_string());
        self.steps
            .iter()
            .for_each(|step| tokens.push(&step.numbers));
        let label = self.label.as_ref().map(|(label, _)| label.as_str());
        let group = self.group.as_ref().map(|(group, _)| group.as_str());
        rows.take(self.line, label, group, tokens)
    }
}

/// Checks that a series says the same in all its rows.
fn same(
    known: &mut Option<(String, usize)>,
    found: &str,
    line: usize,
    what: &str,
) -> Result<(), String> {
    let (first, on) = known.get_or_insert_with(|| (found.to_string(), line));
    match first == found {
        true => Ok(()),
        false => Err(format!(
            "the {what} is {}, and {} on line {}; it takes one for all rows of a series",
            shorten(found),
            shorten(first),
            grouped(*on)
        )),
    }
}

#[cfg(test)]
mod tests;
