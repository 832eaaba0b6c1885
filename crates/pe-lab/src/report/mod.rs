//! What a study found: a table, files, charts, a page. All of it is made from the results alone.

mod chart;
mod compare;
mod data;
mod files;
mod html;
mod summary;
#[cfg(test)]
mod synthetic;
mod table;
mod verdict;

use std::path::{Path, PathBuf};
use std::sync::Arc;

pub use chart::Figure;
pub use compare::{Comparison, Part};
pub use summary::{
    Aggregate, Group, SchemeOverall, SchemeSummary, SeedMean, SeedScore, Summary, TaskSummary,
};

use data::Data;

use crate::error::LabError;
use crate::study::{Study, StudySpec, write_whole};
use crate::task::{self, Task};

/// What a report is told beside the results.
pub struct Options<'a> {
    /// Finds a task by its name. Tasks that it does not know are shown by their scores alone.
    pub tasks: &'a dyn Fn(&str) -> Option<Arc<dyn Task>>,
    /// The command that runs the study again.
    pub command: String,
    /// Further pictures for the page, such as those of trained tables. Each is also a file.
    pub figures: Vec<Figure>,
}

impl Options<'static> {
    /// For a study of the tasks that the laboratory has.
    pub fn of(spec: &StudySpec) -> Self {
        Self {
            tasks: &in_the_registry,
            command: command(spec),
            figures: Vec::new(),
        }
    }
}

fn in_the_registry(name: &str) -> Option<Arc<dyn Task>> {
    task::by_name(name).ok()
}

/// The table for a terminal, with the verdict below it.
pub fn table(study: &Study) -> String {
    table_with(study, &Options::of(&study.spec))
}

/// [`table`], with options.
pub fn table_with(study: &Study, options: &Options<'_>) -> String {
    table::render(&Summary::of(&Data::of(study, options.tasks)))
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

/// The command that runs a study of the laboratory's own tasks again.
pub fn command(spec: &StudySpec) -> String {
    let tasks: Vec<&str> = spec.tasks.iter().map(|task| task.name.as_str()).collect();
    // One seed with a comma behind it is a seed, and without one a count.
    let mut seeds: String = spec.seeds.iter().map(|seed| format!("{seed},")).collect();
    if spec.seeds.len() > 1 {
        seeds.pop();
    }
    let mut command = format!(
        "pe-lab compare --tasks {} --schemes {} --seeds {seeds}",
        quoted(&tasks.join(",")),
        quoted(&spec.schemes.join(",")),
    );
    // Tasks of different lengths of training have their own.
    if let [first, rest @ ..] = &spec.tasks[..]
        && rest.iter().all(|task| task.steps == first.steps)
    {
        command.push_str(&format!(" --steps {}", first.steps));
    }
    command.push_str(&format!(" --device {}", quoted(&spec.device)));
    command
}

/// A word as a shell takes it.
fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "_-.,/:=".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        return word.to_string();
    }
    format!("'{}'", word.replace('\'', "'\\''"))
}

/// A number with this many decimals. Rounding may leave a zero with a minus sign, which goes.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
        _ => text,
    }
}

/// Writes every file of the report and gives back their paths, the page first.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn write(study: &Study, folder: &Path) -> Result<Vec<PathBuf>, LabError> {
    write_with(study, folder, &Options::of(&study.spec))
}

/// [`write()`], with options.
///
/// # Errors
///
/// When the folder cannot be written.
pub fn write_with(
    study: &Study,
    folder: &Path,
    options: &Options<'_>,
) -> Result<Vec<PathBuf>, LabError> {
    let data = Data::of(study, options.tasks);
    let summary = Summary::of(&data);
    let charts = html::Charts::draw(&data, &summary)?;
    let page = folder.join("report.html");
    let text = html::render(&data, &summary, &charts, options)?;
    write_whole(&page, text.as_bytes())?;
    let mut written = vec![page];
    written.extend(files::write(study, &summary, folder)?);
    for figure in charts.all().chain(&options.figures) {
        let file = folder.join(format!("{}.svg", figure.name));
        write_whole(&file, figure.svg.as_bytes())?;
        written.push(file);
    }
    Ok(written)
}

#[cfg(test)]
mod tests {
    use super::*;
    use synthetic::Synthetic;

    #[test]
    fn the_command_runs_the_study_again() {
        let mut spec = Synthetic::new(&["reverse", "digits"], &["none", "learned"], 2).spec;
        assert_eq!(
            command(&spec),
            "pe-lab compare --tasks reverse,digits --schemes none,learned --seeds 1,2 --steps 1500 \
             --device flex"
        );
        spec.tasks[1].steps = 219;
        spec.seeds = vec![7];
        spec.schemes = vec!["it's".into()];
        assert_eq!(
            command(&spec),
            "pe-lab compare --tasks reverse,digits --schemes 'it'\\''s' --seeds 7, --device flex"
        );
    }

    #[test]
    fn a_zero_has_no_sign() {
        assert_eq!(fixed(-0.0004, 2), "0.00");
        assert_eq!(fixed(-0.004, 3), "-0.004");
        assert_eq!(fixed(-0.5, 0), "0");
        assert_eq!(fixed(1.25, 1), "1.2");
    }
}
