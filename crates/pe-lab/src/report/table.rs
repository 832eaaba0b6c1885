//! The report in a terminal.

use super::summary::{Group, SchemeSummary, Summary, TaskSummary};

/// Renders the whole summary as plain text, without colours.
pub fn render(summary: &Summary) -> String {
    let mut out = String::new();
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

fn render_task(task: &TaskSummary) -> String {
    let two_parts = !task.lengths[1].is_empty();
    let list = |lengths: &[usize]| {
        lengths
            .iter()
            .map(usize::to_string)
            .collect::<Vec<_>>()
            .join(", ")
    };
    let mut out = format!("{} ({}; {} steps)\n", task.task, task.about, task.steps);
    if two_parts {
        out.push_str(&format!(
            "  inside: lengths {}, as in training; beyond: lengths {}\n",
            list(&task.lengths[0]),
            list(&task.lengths[1])
        ));
    }
    let first = if two_parts { "inside" } else { "accuracy" };
    let mut header = vec!["scheme", first, "each seed", "norm."];
    if two_parts {
        header.extend(["beyond", "each seed", "norm."]);
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
        "  floor: {}; norm.: 0 at the floor, 1 for all right\n",
        task.floor_about
    ));
    for scheme in &task.schemes {
        if !scheme.unsolved_inside.is_empty() {
            let seeds: Vec<String> = scheme.unsolved_inside.iter().map(u64::to_string).collect();
            out.push_str(&format!(
                "  ! {} did not solve the task inside the training lengths at seed {}\n",
                scheme.scheme,
                seeds.join(", ")
            ));
        }
        for (seed, reason) in &scheme.failed {
            out.push_str(&format!(
                "  ! {} failed at seed {seed}: {reason}\n",
                scheme.scheme
            ));
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
    let dash = || "-".to_string();
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

fn group_cells(group: Option<&Group>) -> [String; 3] {
    let Some(group) = group else {
        return ["-".into(), "-".into(), "-".into()];
    };
    let seeds: Vec<String> = group
        .seeds
        .iter()
        .map(|s| format!("{:.3}", s.accuracy))
        .collect();
    [
        format!("{:.3}", group.mean),
        seeds.join(" "),
        // Rounding may leave a zero with a minus sign.
        format!("{:.2}", group.normalized).replace("-0.00", "0.00"),
    ]
}

fn floor_row(task: &TaskSummary, two_parts: bool) -> Vec<String> {
    let cell = |floor: Option<f64>| floor.map_or("-".into(), |floor| format!("{floor:.3}"));
    let mut row = vec![
        "(floor)".to_string(),
        cell(task.floors[0]),
        String::new(),
        "0.00".into(),
    ];
    if two_parts {
        row.extend([cell(task.floors[1]), String::new(), "0.00".into()]);
    }
    row.extend([String::new(), String::new(), String::new()]);
    row
}

/// Columns two spaces apart: the first to the left, the others to the right.
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
