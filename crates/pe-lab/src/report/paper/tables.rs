//! The tables of a study for a paper: the means over all tasks, and those of every task.

use super::grid::{DASH, Grid, Row};
use crate::report::comparison::Part;
use crate::report::number::fixed;
use crate::report::summary::{Aggregate, Group, SchemeSummary, Summary, TaskSummary};
use crate::report::words::range;

/// What the bold rows are, in the caption of every table that has one.
const BOLD: &str = " Bold: the highest mean, which is not to say that it is established.";

/// The tables of a study, schemes sorted by their scores.
pub fn grids(summary: &Summary) -> Vec<Grid> {
    let summary = &summary.by_score();
    let overall = (summary.tasks.len() > 1).then(|| overall(summary));
    let of_tasks = summary.tasks.iter().enumerate();
    let of_tasks = of_tasks.map(|(nth, task)| of_task(nth + 1, task, summary.seeds.len()));
    overall.into_iter().chain(of_tasks).collect()
}

/// The parts in which something was tested.
fn parts(tasks: &[TaskSummary]) -> Vec<Part> {
    let tested = |part: &Part| tasks.iter().any(|task| task.has(*part));
    Part::ALL.into_iter().filter(tested).collect()
}

fn overall(summary: &Summary) -> Grid {
    let parts = parts(&summary.tasks);
    let mut header = vec!["Scheme".to_string()];
    for part in &parts {
        header.extend([summary.part_names()[*part as usize].into(), "95 %".into()]);
    }
    header.push("Seeds".into());
    let ran_here = summary.study().is_some();
    header.extend(ran_here.then(|| "Failed".to_string()));
    let leaders = summary.leaders();
    let rows = summary.schemes.iter().map(|scheme| {
        let mut cells = vec![scheme.scheme.clone()];
        for part in &parts {
            cells.extend(mean_of(scheme.part(*part)));
        }
        let seeds = scheme.part(parts[0]).map_or(0, |of| of.seeds.len());
        cells.push(seeds.to_string());
        cells.extend(ran_here.then(|| scheme.failed.to_string()));
        Row {
            bold: leaders.contains(&scheme.scheme.as_str()),
            cells,
        }
    });
    Grid {
        name: "all".into(),
        caption: format!(
            "The mean over {} tasks and all seeds of the {}, with its 95 % interval over seeds.{}",
            summary.tasks.len(),
            match summary.tasks.iter().all(TaskSummary::has_floor) {
                true =>
                    "normalized score (0 at the floor, 1 for a perfect score; a failed training scores the floor)",
                false => "score",
            },
            bold(&leaders)
        ),
        header,
        rows: rows.collect(),
    }
}

fn of_task(nth: usize, task: &TaskSummary, seeds: usize) -> Grid {
    let parts = parts(std::slice::from_ref(task));
    let mut header = vec!["Scheme".to_string()];
    let normalizes = task.has_floor();
    for part in &parts {
        let place = match parts.len() {
            1 => String::new(),
            _ => format!(", {}", task.parts()[*part as usize]),
        };
        header.push(format!("{}{place}", task.measure.name()));
        header.extend(normalizes.then(|| format!("normalized{place}")));
        header.push("95 %".into());
    }
    let has_parameters = task.schemes.iter().any(|of| of.parameters.is_some());
    header.extend(has_parameters.then(|| "parameters".to_string()));
    let leaders = task.leaders();
    let rows = task.schemes.iter().map(|scheme| Row {
        cells: cells(scheme, &parts, normalizes, has_parameters),
        bold: leaders.contains(&scheme.scheme.as_str()),
    });
    let mut rows: Vec<Row> = rows.collect();
    rows.extend(normalizes.then(|| floor(task, &parts, has_parameters)));
    Grid {
        name: format!("task-{nth}"),
        caption: format!(
            "{}{}: means over {seeds} seed{}{}.{}",
            task.title,
            about(task),
            if seeds == 1 { "" } else { "s" },
            match normalizes {
                true => format!(
                    "; normalized: 0 at the floor ({}), 1 for {}, with its 95 % interval over seeds",
                    task.floor_about,
                    task.measure.perfect()
                ),
                false => ", with the 95 % interval over seeds".into(),
            },
            bold(&leaders)
        ),
        header,
        rows,
    }
}

/// What a task asks for, in brackets, in the words of a paper.
pub(super) fn about(task: &TaskSummary) -> String {
    let about = task
        .about
        .trim_start_matches("your data: ")
        .replace('`', "");
    match about.is_empty() {
        true => about,
        false => format!(" ({about})"),
    }
}

fn bold(leaders: &[&str]) -> &'static str {
    match leaders {
        [] => "",
        _ => BOLD,
    }
}

fn cells(
    scheme: &SchemeSummary,
    parts: &[Part],
    normalizes: bool,
    parameters: bool,
) -> Vec<String> {
    let mut cells = vec![scheme.scheme.clone()];
    for part in parts {
        let group = scheme.part(*part);
        let number = |of: fn(&Group) -> String| group.map_or(DASH.into(), of);
        cells.push(number(|group| fixed(group.mean, 3)));
        cells.extend(normalizes.then(|| number(|group| fixed(group.normalized, 2))));
        cells.push(number(|group| group.interval.map_or(DASH.into(), range)));
    }
    let of_model = || scheme.parameters.map_or(DASH.into(), |n| n.to_string());
    cells.extend(parameters.then(of_model));
    cells
}

fn floor(task: &TaskSummary, parts: &[Part], parameters: bool) -> Row {
    let mut cells = vec!["(floor)".to_string()];
    for part in parts {
        let floor = task.floors[*part as usize];
        cells.push(floor.map_or(DASH.into(), |floor| fixed(floor, 3)));
        cells.extend(["0.00".into(), String::new()]);
    }
    cells.extend(parameters.then(String::new));
    Row { cells, bold: false }
}

/// A mean and its interval.
fn mean_of(score: Option<&Aggregate>) -> [String; 2] {
    match score {
        Some(of) => [fixed(of.mean, 2), of.interval.map_or(DASH.into(), range)],
        None => [DASH; 2].map(String::from),
    }
}
