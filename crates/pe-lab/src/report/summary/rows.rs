//! The score of every test row, for the question whether other rows would say the same.

use super::numbers::{Group, TaskSummary, complete_seeds, groups_of};
use crate::report::comparison::Part;
use crate::report::data::Data;
use crate::run::Measures;
use crate::stats::{RowScores, mean};
use crate::task::TestRows;

/// The normalized score of every test row of a part, the rows of all folds side by side, at every seed that counts for a
/// scheme. Folds may differ in size: their rows are weighted, so that the mean over rows is the mean over folds. The rows of a failed training have its score. `None` if the results have no scores of single rows, or if the
/// rows overlap, as the windows of a text do.
pub(super) fn row_scores(
    data: &Data<'_>,
    tasks: &[&TaskSummary],
    scheme: &str,
    part: Part,
) -> Option<RowScores> {
    let groups = groups_of(scheme, tasks.iter().copied(), |of| of.part(part))?;
    let (seeds, _) = complete_seeds(&groups);
    let of_seed = |seed: &u64| {
        let of_task = |(task, group): (&&TaskSummary, &&Group)| {
            let score = group.seeds.iter().find(|of| of.seed == *seed)?;
            if task.rows == TestRows::Neighbours {
                return None;
            }
            if score.failed {
                return Some(vec![score.normalized; task.samples[part as usize]]);
            }
            let mut runs = data.measured(&task.name, scheme);
            let repeated = task.rows == TestRows::Repeated;
            rows_of(runs.find(|run| run.0 == *seed)?.1, part, repeated)
        };
        let rows: Option<Vec<Vec<f64>>> = tasks.iter().zip(&groups).map(of_task).collect();
        rows.map(|folds| side_by_side(&folds))
    };
    let runs: Option<RowScores> = seeds.iter().map(of_seed).collect();
    runs.filter(|runs| !runs.is_empty())
}

/// The rows of all folds, weighted so that their mean is the mean over folds.
fn side_by_side(folds: &[Vec<f64>]) -> Vec<f64> {
    let all: usize = folds.iter().map(Vec::len).sum();
    let weighted = |fold: &Vec<f64>| {
        let weight = all as f64 / (folds.len() * fold.len()) as f64;
        fold.iter().map(|row| row * weight).collect::<Vec<f64>>()
    };
    folds.iter().flat_map(weighted).collect()
}

/// The number of the unit of each of these rows: rows of one unit are not independent evidence.
pub(super) fn row_units(tasks: &[&TaskSummary], part: Part) -> Vec<usize> {
    let mut units = Vec::new();
    for task in tasks {
        let lengths = task.lengths[part as usize].iter();
        let known: Option<Vec<&Vec<usize>>> =
            lengths.map(|length| task.units.get(length)).collect();
        let of_task: Vec<usize> = match (known, task.rows) {
            (None, _) => Vec::new(),
            // The same rows at every length.
            (Some(known), TestRows::Repeated) => known.first().map_or(Vec::new(), |of| of.to_vec()),
            (Some(known), _) => known.into_iter().flatten().copied().collect(),
        };
        let rows = task.samples[part as usize];
        let first = units.iter().max().map_or(0, |last| last + 1);
        match of_task.len() == rows {
            true => units.extend(of_task.into_iter().map(|unit| first + unit)),
            false => units.extend(first..first + rows),
        }
    }
    units
}

/// The normalized score of every test row of a part in one run. Rows that are tested at several lengths count once, with
/// their mean over the lengths.
pub(super) fn rows_of(measures: &Measures, part: Part, repeated: bool) -> Option<Vec<f64>> {
    let inside = part == Part::Inside;
    let of_part = measures
        .scores
        .iter()
        .filter(|score| score.inside == inside);
    let rows: Option<Vec<Vec<f64>>> = of_part
        .map(|score| {
            let rows = score.rows.as_ref()?.scores(score.score);
            Some(rows.into_iter().map(|row| row.over(score.floor)).collect())
        })
        .collect();
    let rows = rows?;
    let rows = match (repeated, rows.first()) {
        (true, Some(first)) => {
            let mean = |row| mean(rows.iter().filter_map(|length| length.get(row).copied()));
            (0..first.len()).map(mean).collect::<Option<Vec<f64>>>()?
        }
        _ => rows.concat(),
    };
    Some(rows).filter(|rows| !rows.is_empty())
}
