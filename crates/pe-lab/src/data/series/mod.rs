//! A table of measurements as a task.
//!
//! | file | what it holds |
//! |---|---|
//! | `time` | where the times are |
//! | `long` | whole series, each with an id and a label |
//! | `table` | numbers, times, and what is to be predicted |
//! | `co2` | the series of the laboratory |
//! | `task` | the task |
//! | `predict` | another table, for the best model of a study |

mod co2;
mod long;
mod predict;
mod table;
mod task;
#[cfg(test)]
mod tests;
mod time;

pub use co2::co2;
pub(super) use long::{channels_of, read as read_long};
pub(super) use predict::to_predict;
pub(super) use table::Target;
pub(super) use task::Series;

use super::error::{Problem, refuse};
use super::limits::MIN_SERIES;
use super::quote::{column_called, counted, grouped, shorten};
use super::reading::Reading;
use super::sheet::Form;
use super::times::{as_positions, steps_of};
use table::{How, Table};

use crate::grouped::first_of;
use crate::task::{Task, rounded};

/// The longest window of the training, unless `--max-len` says otherwise. A short series has one of a seventh of its rows.
const WINDOW: usize = 32;
const SEVENTH: usize = 7;
/// One row in this many, at the end, is kept for the test; of a short series up to one in three.
const HELD_OUT: usize = 5;
const MOST_HELD_OUT: usize = 3;
/// The number of rows that should be predicted in the test of each length, and the fewest that may be.
const WINDOWS: usize = 20;
const MIN_WINDOWS: usize = 10;
/// The description names this many columns.
const NAMED: usize = 10;

/// The task made of a table, and a description of it.
///
/// # Errors
///
/// Those of [`table::read`], and a [`Problem`] for too few rows, or where nothing is left to predict.
pub(super) fn read(
    text: &str,
    reading: &Reading,
    form: Form,
    file: &str,
) -> Result<(Series, Vec<String>), Problem> {
    let flag = reading
        .first("--label --text --group --tokens --no-beyond --causal --objective --train-length");
    refuse(flag, "is not about a series, which --target asks for")?;
    let (table, how) = table::read(text, reading, form)?;
    let rows = table.rows();
    let window = window(rows, reading.max_len)?;
    // A fifth, or as much more of a short series as enough windows take.
    let held_out = (window + WINDOWS)
        .min(rows / MOST_HELD_OUT)
        .max(rows / HELD_OUT);
    let to_train = rows - held_out;
    let mut notes = describe(&table, &how, to_train, window);
    if reading.max_len.is_none() && window < WINDOW {
        notes.push(format!(
            "the longest window of the training has {window} rows, a seventh of so short a series; --max-len says otherwise"
        ));
    }
    let task = Series::new(
        table,
        file,
        to_train,
        window,
        tested_lengths(window, held_out),
    );
    task.check_range(&task.table).map_err(Problem::Other)?;
    let floor = floor(&task, window)?;
    notes.extend(only_in_test(&task.table, to_train)?);
    let tested = task.test_lengths();
    let tested: Vec<String> = tested.iter().map(usize::to_string).collect();
    notes.push(format!(
        "predicted in the test: {}, from windows of {} rows{}",
        counted(task.windows(), "row"),
        tested.join(", "),
        match tested.len() {
            4 => "",
            _ => "; the test is too short for longer ones",
        }
    ));
    notes.push(floor);
    Ok((task, notes))
}

/// The floor, the score that takes no skill, in words.
///
/// # Errors
///
/// [`Problem::Other`] where the floor is a perfect score.
fn floor(task: &Series, window: usize) -> Result<String, Problem> {
    let perfect = |reason: &str| Err(Problem::Other(reason.into()));
    match (task.floor(window), task.measure().is_accuracy()) {
        (0.0, false) => perfect(
            "the target does not change in the test, so repeating the last value is perfect",
        ),
        (1.0, true) => perfect("all rows of the test are of one class"),
        (floor, false) => Ok(format!(
            "floor, the mean absolute error of repeating the last value: {}",
            rounded(floor)
        )),
        (floor, true) => Ok(format!(
            "floor, the share of the most frequent class: {floor:.3}"
        )),
    }
}

/// The lengths of the windows that are tested: half of the longest of the training, that one, and longer ones if enough rows of
/// the test have so many before them.
fn tested_lengths(window: usize, held_out: usize) -> Vec<usize> {
    let fits = |length: &usize| held_out >= length + WINDOWS;
    let beyond = [window * 3 / 2, window * 2].into_iter().filter(fits);
    let mut lengths: Vec<usize> = [window / 2, window].into_iter().chain(beyond).collect();
    lengths.dedup();
    lengths
}

/// The longest window of the training of a series of so many rows.
///
/// # Errors
///
/// [`Problem::Other`] for too few rows for any window, or for the one that was asked for.
fn window(rows: usize, asked: Option<usize>) -> Result<usize, Problem> {
    let wrong = |reason: String| Err(Problem::Other(reason));
    if rows < MIN_SERIES {
        return wrong(format!(
            "has {}, too few for a series: it takes at least {MIN_SERIES}",
            counted(rows, "row")
        ));
    }
    let longest = rows / MOST_HELD_OUT - MIN_WINDOWS;
    match asked {
        None => Ok((rows / SEVENTH).min(WINDOW)),
        Some(window) if window <= longest => Ok(window),
        Some(window) => wrong(format!(
            "has {} rows, too few for windows of {window}: they take at least {}; with so few rows, --max-len is at most {longest}",
            grouped(rows),
            grouped(MOST_HELD_OUT * (window + MIN_WINDOWS))
        )),
    }
}

fn describe(table: &Table, how: &How, to_train: usize, window: usize) -> Vec<String> {
    let rows = table.rows();
    let named = table.columns.iter().map(|name| column_called(name));
    let mut lines = vec![
        format!("{} rows of a series", grouped(rows)),
        match &table.to_predict {
            Target::Next => format!("to predict: the next number of {}", column_called(&table.target)),
            Target::Classes { labels, .. } => format!(
                "to predict: which of {} classes {} has at the last row of a window",
                grouped(labels.len()),
                column_called(&table.target)
            ),
        },
        format!(
            "a token is a row: {}",
            first_of(named, NAMED)
        ),
        match table.is_forecast() {
            true => "the target is read as its difference from the last value of the window, and the next difference is \
                     predicted, both divided by the root mean square of such differences in training; other columns are \
                     standardized with their mean and deviation in training"
                .into(),
            false => "columns are standardized with the mean and the deviation of the training".into(),
        },
        format!(
            "the first {} rows to train on, in windows of {} to {window}; the last {} are the test",
            grouped(to_train),
            window / 2,
            grouped(rows - to_train)
        ),
    ];
    if let (Some(time), Some(clock)) = (&table.time, table.ways.clock) {
        lines.extend(as_positions(
            &format!("the times of {}", column_called(time)),
            "in units of their median step",
            clock,
            &steps_of(table.times.as_deref().into_iter()),
        ));
    }
    lines.extend(how.notes.iter().cloned());
    lines.extend(left_out(table, how));
    lines
}

/// What is said of classes that only rows of the test have; `None` where there are none.
///
/// # Errors
///
/// [`Problem::Test`] where most rows of the test are of such classes, so that there is little to learn.
fn only_in_test(table: &Table, to_train: usize) -> Result<Option<String>, Problem> {
    let Target::Classes { labels, of_rows } = &table.to_predict else {
        return Ok(None);
    };
    let (trained, tested) = of_rows.split_at(to_train);
    let mut known = vec![false; labels.len()];
    trained.iter().for_each(|class| known[*class] = true);
    let new: Vec<usize> = tested.iter().copied().filter(|of| !known[*of]).collect();
    let Some(first) = new.first() else {
        return Ok(None);
    };
    let said = format!(
        "{} of the {} rows of the test are of a class that no row before the test has, such as {}, so no model can have learned it",
        grouped(new.len()),
        grouped(tested.len()),
        shorten(&labels[*first])
    );
    match 2 * new.len() > tested.len() {
        true => Err(Problem::Test(said)),
        false => Ok(Some(said)),
    }
}

fn left_out(table: &Table, how: &How) -> Option<String> {
    (how.left_out.bad_count > 0).then(|| {
        format!(
            "lines left out: {}, such as {}; the rows around them count as neighbours{}",
            grouped(how.left_out.bad_count),
            how.left_out.first(),
            match &table.time {
                Some(_) => ", and their times tell how far apart they are",
                None => "",
            }
        )
    })
}
