//! What a study found: a table, files, charts. All of it is made from the results alone.

mod chart;
mod files;
mod summary;
mod table;

use std::path::{Path, PathBuf};

pub use summary::{Group, SchemeSummary, SeedScore, Summary, TaskSummary};

use crate::error::LabError;
use crate::study::{Study, StudySpec};

/// The table for a terminal, with the verdict below it.
pub fn table(study: &Study) -> String {
    table::render(&Summary::of(study))
}

/// One line that says what a study runs.
pub fn what_was_run(spec: &StudySpec) -> String {
    let tasks = spec
        .tasks
        .iter()
        .map(|task| format!("{} for {} steps", task.name, task.steps));
    let seeds = spec.seeds.iter().map(u64::to_string).collect::<Vec<_>>();
    format!(
        "schemes {}; tasks {}; seeds {}; batches of {}",
        spec.schemes.join(", "),
        tasks.collect::<Vec<_>>().join(", "),
        seeds.join(", "),
        spec.recipe.batch_size
    )
}

/// Writes every file of the report and gives back their paths.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn write(study: &Study, folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    let summary = Summary::of(study);
    let mut written = files::write(study, &summary, folder)?;
    for task in &summary.tasks {
        written.push(chart::write(study, task, folder)?);
    }
    Ok(written)
}
