//! The report in a terminal.

use super::comparison::Part;
use super::number::fixed;
use super::summary::{Aggregate, Group, SchemeSummary, Summary, TaskSummary};
use super::verdict::seeds_text;
use crate::stats::Interval;

/// Stands for a number that does not exist.
const DASH: &str = "-";

/// Renders the whole summary as plain text, without colours.
pub fn render(summary: &Summary) -> String {
    let mut out = String::new();
    if summary.tasks.len() > 1 {
        out.push_str(&render_overall(summary));
        out.push('\n');
    }
    for task in &summary.tasks {
        out.push_str(&render_task(task));
        out.push('\n');
    }
    out.push_str("Verdict\n");
    for line in &summary.verdict {
        out.push_str(&format!("  {line}\n"));
    }
    out
}

fn render_overall(summary: &Summary) -> String {
    let two_parts = summary.schemes.iter().any(|s| s.beyond.is_some());
    let mut header = vec!["scheme", "inside", "95 %", "IQM"];
    if two_parts {
        header.extend(["beyond", "95 %", "IQM", "to 1.5x", "further"]);
    }
    header.extend(["failed", "ms/step"]);
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    for scheme in &summary.schemes {
        let mut row = vec![scheme.scheme.clone()];
        for part in Part::ALL.into_iter().take(1 + usize::from(two_parts)) {
            row.extend(match scheme.part(part) {
                Some(score) => [
                    fixed(score.mean, 2),
                    interval(score.interval),
                    fixed(score.iqm, 2),
                ],
                None => [DASH; 3].map(String::from),
            });
        }
        if two_parts {
            let mean = |of: &Option<Aggregate>| {
                of.as_ref()
                    .map_or(DASH.into(), |score| fixed(score.mean, 2))
            };
            row.extend([mean(&scheme.near), mean(&scheme.far)]);
        }
        let number = |value: Option<f64>, digits| value.map_or(DASH.into(), |v| fixed(v, digits));
        row.extend([scheme.failed.to_string(), number(scheme.ms_per_step, 1)]);
        rows.push(row);
    }
    format!(
        "all tasks: mean of the normalized scores (0 at the floor, 1 for all correct; a failed training\n\
         scores the floor), its 95 % interval over seeds, and the interquartile mean\n{}",
        align(&rows)
    )
}

fn render_task(task: &TaskSummary) -> String {
    let two_parts = task.has(Part::Beyond);
    let list = |lengths: &[usize]| {
        lengths
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let upto = if task.mixes_lengths { "up to " } else { "" };
    let mut out = format!("{} ({}; {} steps)\n", task.title, task.about, task.steps);
    if two_parts {
        out.push_str(&format!(
            "  inside training: lengths {upto}{}; beyond: lengths {upto}{}\n",
            list(&task.lengths[0]),
            list(&task.lengths[1])
        ));
    }
    match task.samples {
        [0, 0] => {}
        [inside, 0] => out.push_str(&format!("  tested on {inside} sequences\n")),
        [inside, beyond] => out.push_str(&format!(
            "  tested on {inside} sequences inside and {beyond} beyond\n"
        )),
    }
    let first = if two_parts { "inside" } else { "accuracy" };
    let mut header = vec!["scheme", first, "each seed", "norm.", "95 %"];
    if two_parts {
        header.extend(["beyond", "each seed", "norm.", "95 %"]);
    }
    header.extend(["parameters", "of positions", "ms/step"]);
    let mut rows = vec![header.into_iter().map(String::from).collect::<Vec<_>>()];
    rows.extend(
        task.schemes
            .iter()
            .map(|scheme| scheme_row(scheme, two_parts)),
    );
    rows.push(floor_row(task, two_parts));
    out.push_str(&align(&rows));
    out.push_str(&format!(
        "  floor: {}; norm.: 0 at the floor, 1 for all correct\n",
        task.floor_about
    ));
    for scheme in &task.schemes {
        if !scheme.unsolved_inside.is_empty() {
            out.push_str(&format!(
                "  ! {} did not solve the task inside the training lengths at {}\n",
                scheme.scheme,
                seeds_text(&scheme.unsolved_inside)
            ));
        }
        if !scheme.not_converged.is_empty() {
            out.push_str(&format!(
                "  ! {} had not converged at {}\n",
                scheme.scheme,
                seeds_text(&scheme.not_converged)
            ));
        }
        // One line per reason, not per seed: in a study that has just started there are many seeds.
        for (what, runs) in [("failed", &scheme.failed), ("has no result", &scheme.lost)] {
            let mut reasons: Vec<&str> = runs.iter().map(|of| of.1.as_str()).collect();
            reasons.sort_unstable();
            reasons.dedup();
            for reason in reasons {
                let of_reason = runs.iter().filter(|of| of.1 == reason);
                let seeds: Vec<u64> = of_reason.map(|of| of.0).collect();
                out.push_str(&format!(
                    "  ! {} {what} at {}: {reason}\n",
                    scheme.scheme,
                    seeds_text(&seeds)
                ));
            }
        }
    }
    out
}

fn scheme_row(scheme: &SchemeSummary, two_parts: bool) -> Vec<String> {
    let mut row = vec![scheme.scheme.clone()];
    row.extend(group_cells(scheme.inside.as_ref()));
    if two_parts {
        row.extend(group_cells(scheme.beyond.as_ref()));
    }
    let dash = || DASH.to_string();
    row.push(scheme.parameters.map_or_else(dash, |n| n.to_string()));
    row.push(
        scheme
            .position_parameters
            .map_or_else(dash, |n| n.to_string()),
    );
    row.push(
        scheme
            .ms_per_step
            .map_or_else(dash, |ms| format!("{ms:.1}")),
    );
    row
}

fn group_cells(group: Option<&Group>) -> [String; 4] {
    let Some(group) = group else {
        return [DASH; 4].map(String::from);
    };
    let seeds = group.seeds.iter().map(|seed| match seed.failed {
        true => "failed".to_string(),
        false => fixed(seed.accuracy, 3),
    });
    let seeds: Vec<String> = seeds.collect();
    [
        fixed(group.mean, 3),
        seeds.join(" "),
        fixed(group.normalized, 2),
        interval(group.interval),
    ]
}

fn interval(interval: Option<Interval>) -> String {
    interval.map_or(DASH.into(), |i| {
        format!("{}..{}", fixed(i.low, 2), fixed(i.high, 2))
    })
}

fn floor_row(task: &TaskSummary, two_parts: bool) -> Vec<String> {
    let cell = |floor: Option<f64>| floor.map_or(DASH.into(), |floor| format!("{floor:.3}"));
    let mut row = vec![
        "(floor)".to_string(),
        cell(task.floors[0]),
        String::new(),
        "0.00".into(),
        String::new(),
    ];
    if two_parts {
        row.extend([
            cell(task.floors[1]),
            String::new(),
            "0.00".into(),
            String::new(),
        ]);
    }
    row.extend([String::new(), String::new(), String::new()]);
    row
}

/// Puts columns two spaces apart. The first is aligned to the left, the others to the right.
fn align(rows: &[Vec<String>]) -> String {
    let columns = rows.iter().map(Vec::len).max().unwrap_or(0);
    let width = |column: usize| {
        rows.iter()
            .filter_map(|row| row.get(column))
            .map(|cell| cell.chars().count())
            .max()
    };
    let widths: Vec<usize> = (0..columns)
        .map(|column| width(column).unwrap_or(0))
        .collect();
    let mut out = String::new();
    for row in rows {
        let cells = row
            .iter()
            .zip(&widths)
            .enumerate()
            .map(|(column, (cell, &width))| {
                if column == 0 {
                    format!("{cell:<width$}")
                } else {
                    format!("{cell:>width$}")
                }
            });
        let line = cells.collect::<Vec<_>>().join("  ");
        out.push_str(&format!("  {}\n", line.trim_end()));
    }
    out
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_line_up() {
        let rows = vec![
            vec!["a".to_string(), "one".to_string()],
            vec!["long".to_string(), "1".to_string()],
        ];
        assert_eq!(align(&rows), "  a     one\n  long    1\n");
    }
}
