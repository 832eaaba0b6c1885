//! Another table, read as that of a study was, for its best model to predict.

use std::ops::Range;
use std::path::Path;

use super::super::error::Problem;
use super::super::header::column;
use super::super::numbers::is_missing;
use super::super::open::open;
use super::super::prediction::{ToPredict, Truth};
use super::super::quote::grouped;
use super::super::reading::Reading;
use super::super::sheet::{Form, Sheet};
use super::table;
use super::task::Series;
use super::time::cell;
use crate::door::Entry;
use crate::grouped::counted;

/// What there is to predict in a table: of a forecast every row that has enough rows before it, and the row after the
/// last; of classes every row that ends a window.
pub(in super::super) fn to_predict(
    task: &Series,
    reading: &Reading,
    file: &Path,
) -> Result<ToPredict, Problem> {
    let reading = &Reading {
        columns: Some(task.table.columns.clone()),
        ..reading.clone()
    };
    let (_, _, text) = open(&Entry::named(file), reading)?;
    let sheet = Sheet::of(&text, reading, Form::of(file, &text))?;
    let table = table::read_like(&sheet, &task.table)?;
    task.check_range(&table).map_err(Problem::Other)?;
    let (rows, shortest) = (table.rows(), task.shortest());
    let windows = task.windows_of(rows);
    if windows.is_empty() {
        return Err(Problem::Other(format!(
            "has {}, and the shortest window of the training has {shortest}: it takes at least as many",
            counted(rows, "row")
        )));
    }
    let mut notes = Vec::new();
    let without = rows + usize::from(task.labels().is_empty()) - windows.len();
    if without > 0 {
        notes.push(format!(
            "no prediction of the first {}: the shortest window of the training has {}",
            counted(without, "row"),
            counted(shortest, "row")
        ));
    }
    let last = |window: &Range<usize>| table.values[0][window.end - 1];
    let from = (task.labels().is_empty())
        .then(|| windows.iter().map(|(_, window)| last(window)).collect());
    if from.is_some() {
        notes.push(format!(
            "row {} is the one after the last of the file",
            grouped(rows + 1)
        ));
    }
    let classes = match from {
        Some(_) => Vec::new(),
        None => classes(&sheet, &task.table.target)?,
    };
    let (mut names, mut samples, mut truth) = (Vec::new(), Vec::new(), Vec::new());
    for (row, window) in windows {
        names.push((row + 1).to_string());
        samples.push(task.read_window(&table, window));
        let number = table.values[0].get(row).filter(|_| from.is_some());
        let class = classes.get(row).cloned().flatten().map(Truth::Label);
        truth.push(number.copied().map(Truth::Number).or(class));
    }
    Ok(ToPredict {
        about: "row",
        names,
        samples,
        truth,
        from,
        notes,
    })
}

/// The class of each row, where a table has the column of the target and a cell in it.
fn classes(rows: &Sheet<'_>, target: &str) -> Result<Vec<Option<String>>, Problem> {
    let mut classes = Vec::new();
    if let Some(at) = column(&rows.names, target) {
        rows.each(|_, row| {
            let class = row.map_or("", |row| cell(row, at));
            classes.push(Some(class.to_string()).filter(|class| !is_missing(class)));
            Ok(())
        })?;
    }
    Ok(classes)
}
