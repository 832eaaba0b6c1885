//! The tables of a study for a paper: the means over all tasks, and those of every task.

use super::grid::{DASH, Grid, Row};
use crate::report::columns::Columns;
use crate::report::comparison::Part;
use crate::report::summary::{SchemeOverall, SchemeSummary, Summary, TaskSummary};
use crate::report::table::score;
use crate::report::words::{counted, fixed, range};
use crate::stats::Interval;

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
    let mut columns = Columns::of("Scheme", |of: &SchemeOverall| of.scheme.clone());
    for part in parts.iter().copied() {
        columns.add(summary.part_names()[part as usize], move |of| {
            number(of.part(part).map(|of| of.mean))
        });
        columns.add("95 %", move |of| {
            interval(of.part(part).and_then(|of| of.interval))
        });
    }
    let first = parts[0];
    columns.add("Seeds", move |of| {
        let seeds = of.part(first).map_or(0, |of| of.seeds.len());
        seeds.to_string()
    });
    if summary.study().is_some() {
        columns.add("Failed", |of| of.failed.to_string());
    }
    let leaders = summary.leaders();
    // Only a task on which some scheme has a score takes part.
    let overall = summary.schemes.iter().filter_map(|of| of.part(first));
    let averaged = overall.map(|of| of.tasks).max();
    let rows = summary.schemes.iter().map(|scheme| Row {
        bold: leaders.contains(&scheme.scheme.as_str()),
        cells: columns.row(scheme),
    });
    Grid {
        name: "all".into(),
        caption: format!(
            "The mean over {} and all seeds of the {}, with its 95 % interval over seeds.{}",
            counted(averaged.unwrap_or(summary.tasks.len()), "task"),
            match summary.tasks.iter().all(TaskSummary::has_floor) {
                true =>
                    "normalized score (0 at the floor, 1 for a perfect score; a failed training scores the floor, or the lowest score on its task)",
                false => "score",
            },
            bold(&leaders, &summary.leads_in())
        ),
        header: columns.header(),
        rows: rows.collect(),
    }
}

fn of_task(nth: usize, task: &TaskSummary, seeds: usize) -> Grid {
    let columns = columns(task);
    let leaders = task.leaders();
    let rows = task.schemes.iter().map(|scheme| Row {
        cells: columns.row(scheme),
        bold: leaders.contains(&scheme.scheme.as_str()),
    });
    let parts = task.schemes.iter().flat_map(|of| [&of.inside, &of.beyond]);
    let has_fewer = parts.flatten().any(|of| of.seeds.len() < seeds);
    let floor = task.has_floor().then(|| Row {
        cells: columns.floor(),
        bold: false,
    });
    Grid {
        name: format!("task-{nth}"),
        caption: format!(
            "{}{}: means over {}{}{}.{}",
            task.title,
            about(task),
            if has_fewer { "up to " } else { "" },
            counted(seeds, "seed"),
            match task.has_floor() {
                true => format!(
                    "; normalized: 0 at the floor ({}), 1 for {}, with its 95 % interval over seeds",
                    task.floor_about,
                    task.measure.perfect()
                ),
                false => ", with the 95 % interval over seeds".into(),
            },
            bold(&leaders, &task.leads_in())
        ),
        header: columns.header(),
        rows: rows.chain(floor).collect(),
    }
}

fn columns(task: &TaskSummary) -> Columns<'_, SchemeSummary> {
    let parts = parts(std::slice::from_ref(task));
    let mut columns = Columns::of("Scheme", |of: &SchemeSummary| of.scheme.clone());
    columns.at_floor("(floor)");
    for part in parts.iter().copied() {
        let place = match parts.len() {
            1 => String::new(),
            _ => format!(", {}", task.parts()[part as usize]),
        };
        columns.add(format!("{}{place}", task.measure.name()), move |of| {
            score(&task.measure, of.part(part).map(|of| of.mean))
        });
        columns.at_floor(score(&task.measure, task.floors[part as usize]));
        if task.has_floor() {
            columns.add(format!("normalized{place}"), move |of| {
                number(of.part(part).map(|of| of.normalized))
            });
            columns.at_floor("0.00");
        }
        columns.add("95 %", move |of| {
            interval(of.part(part).and_then(|of| of.interval))
        });
    }
    if task.schemes.iter().any(|of| of.parameters.is_some()) {
        columns.add("parameters", |of| {
            of.parameters.map_or(DASH.into(), |n| n.to_string())
        });
    }
    columns
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

/// What the bold rows are, in the caption of every table that has one.
fn bold(leaders: &[&str], part: &str) -> String {
    match leaders {
        [] => String::new(),
        _ => format!(" Bold: the highest mean{part}, which is not to say that it is established."),
    }
}

fn number(value: Option<f64>) -> String {
    value.map_or(DASH.into(), |value| fixed(value, 2))
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or(DASH.into(), range)
}
