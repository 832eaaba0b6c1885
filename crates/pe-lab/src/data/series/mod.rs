//! A table of measurements as a task.
//!
//! | file | what it holds |
//! |---|---|
//! | `table` | the rows of a table: numbers, times, and what is to be predicted |
//! | `time` | times as a column writes them |
//! | `co2` | the series of the laboratory |
//! | `task` | the task |
//! | `predict` | another table, for the best model of a study |

mod co2;
mod predict;
mod table;
mod task;
mod time;

pub use co2::co2;
pub(super) use predict::to_predict;
pub(super) use task::{About, Series};

use super::error::Problem;
use super::quote::{grouped, shorten};
use super::reading::Reading;
use table::{Table, Target};
use task::is_forecast;

use crate::task::Task;

/// The window of the training, unless `--max-len` says otherwise.
const WINDOW: usize = 32;
/// One row in this many, at the end, is kept for the test.
const HELD_OUT: usize = 5;
/// The fewest rows that are predicted in the training and in the test.
const MIN_WINDOWS: usize = 20;
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
    delimiter: Option<char>,
    file: &str,
) -> Result<(Series, Vec<String>), Problem> {
    let wrong = |reason: String| Err(Problem::Series(reason));
    if let Some(flag) = reading.not_about_series() {
        return wrong(format!(
            "{flag} is not about a series, which --target asks for"
        ));
    }
    let window = reading.max_len.unwrap_or(WINDOW);
    let table = table::read(text, reading, delimiter)?;
    let rows = table.rows();
    let to_train = rows - rows / HELD_OUT;
    let least = HELD_OUT * (window + MIN_WINDOWS);
    if rows < least {
        return wrong(format!(
            "has {} rows, too few for windows of {window}: it takes at least {}, of which the last fifth is the \
             test; say a smaller --max-len",
            grouped(rows),
            grouped(least)
        ));
    }
    // As long as enough rows of the test have so many before them.
    let fits = |length: &usize| rows - to_train >= length + MIN_WINDOWS;
    let beyond = [window * 3 / 2, window * 2].into_iter().filter(fits);
    let inside = [window / 2, window];
    let mut lengths: Vec<usize> = inside.into_iter().chain(beyond).collect();
    lengths.dedup();
    let mut notes = describe(&table, to_train, window);
    let task = Series::new(table, file, to_train, window, lengths);
    task.check_range(task.table()).map_err(Problem::Series)?;
    let floor = task.floor(window);
    let is_error = !task.measure().is_accuracy();
    if is_error && floor == 0.0 {
        return wrong(
            "the target does not change in the test, so repeating the last value is perfect".into(),
        );
    }
    if !is_error && floor == 1.0 {
        return wrong("all rows of the test are of one class".into());
    }
    let tested = task.test_lengths();
    let tested: Vec<String> = tested.iter().map(usize::to_string).collect();
    notes.push(format!(
        "{} rows are predicted in the test, from windows of {} rows{}",
        grouped(task.windows()),
        tested.join(", "),
        match tested.len() {
            4 => "",
            _ => "; the test is too short for longer ones",
        }
    ));
    notes.push(match is_error {
        true => format!("floor, the mean absolute error of repeating the last value: {floor:.4}"),
        false => format!("floor, the share of the most frequent class: {floor:.3}"),
    });
    Ok((task, notes))
}

/// What was found, in lines for a person.
fn describe(table: &Table, to_train: usize, window: usize) -> Vec<String> {
    let rows = table.rows();
    let named: Vec<String> = table
        .columns
        .iter()
        .take(NAMED)
        .map(|name| shorten(name))
        .collect();
    let more = table.columns.len() - named.len();
    let mut lines = vec![
        format!("{} rows of a series", grouped(rows)),
        match &table.to_predict {
            Target::Next => format!("to predict: the next number of {}", shorten(&table.target)),
            Target::Classes { labels, .. } => format!(
                "to predict: which of {} classes {} has at the last row of a window",
                grouped(labels.len()),
                shorten(&table.target)
            ),
        },
        format!(
            "a token is a row: {}{}",
            named.join(", "),
            match more {
                0 => String::new(),
                more => format!(" and {} more", grouped(more)),
            }
        ),
        match is_forecast(table) {
            true => "the target is read and predicted as its difference from the last value of the window, \
                     in units of such differences in training; other columns are standardized as in training"
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
    if let Some(time) = &table.time {
        lines.push(format!(
            "positions are the times of {}, in units of the middle one of its steps; schemes that take whole \
             numbers alone get 0, 1, 2, …",
            shorten(time)
        ));
    }
    if !table.left_out.is_empty() {
        lines.push(format!(
            "lines left out: {}, such as {}; the rows around them count as neighbours{}",
            grouped(table.left_out.len()),
            table.left_out[0],
            match &table.time {
                Some(_) => ", and their times tell how far apart they are",
                None => "",
            }
        ));
    }
    lines
}
