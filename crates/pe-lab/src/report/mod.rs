//! What a study found: a table, files, charts, a page. All of it is made from the results alone.

mod chart;
mod compare;
mod data;
mod encodings;
mod files;
mod html;
mod summary;
#[cfg(test)]
mod synthetic;
mod table;
mod verdict;

use std::path::PathBuf;

pub use chart::Figure;
pub use compare::{Comparison, Part};
pub use summary::{
    Aggregate, Group, SchemeOverall, SchemeSummary, SeedMean, SeedScore, Summary, TaskSummary,
};

use data::Data;

use crate::error::LabError;
use crate::files::write_whole;
use crate::study::{Study, StudySpec};

/// What is known of a study, ready to be shown. Its intervals and tests are computed once.
pub struct Report<'a> {
    study: &'a Study,
    data: Data<'a>,
    summary: Summary,
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

/// A number with this many decimals. Rounding may leave a zero with a minus sign, which goes.
fn fixed(value: f64, decimals: usize) -> String {
    let text = format!("{value:.decimals$}");
    match text.strip_prefix('-') {
        Some(digits) if digits.chars().all(|c| c == '0' || c == '.') => digits.to_string(),
        _ => text,
    }
}

impl<'a> Report<'a> {
    /// The report of a study, finished or not.
    pub fn of(study: &'a Study) -> Self {
        let data = Data::of(study);
        Self {
            study,
            summary: Summary::of(&data),
            data,
        }
    }

    /// The table for a terminal, with the verdict below it.
    pub fn table(&self) -> String {
        table::render(&self.summary)
    }

    /// Writes every file of the report into the study's folder and gives back their paths, the page
    /// first.
    ///
    /// # Errors
    ///
    /// When the folder cannot be written.
    pub fn write(&self) -> Result<Vec<PathBuf>, LabError> {
        let folder = &self.study.folder;
        let charts = html::Charts::draw(&self.data, &self.summary)?;
        let encodings = encodings::figures(self.study)?;
        let page = folder.join("report.html");
        let text = html::render(&self.data, &self.summary, &charts, &encodings)?;
        write_whole(&page, text.as_bytes())?;
        let mut written = vec![page];
        written.extend(files::write(self.study, &self.summary)?);
        for figure in charts.all().chain(&encodings) {
            let file = folder.join(format!("{}.svg", figure.name));
            write_whole(&file, figure.svg.as_bytes())?;
            written.push(file);
        }
        Ok(written)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_zero_has_no_sign() {
        assert_eq!(fixed(-0.0004, 2), "0.00");
        assert_eq!(fixed(-0.004, 3), "-0.004");
        assert_eq!(fixed(-0.5, 0), "0");
        assert_eq!(fixed(1.25, 1), "1.2");
    }
}
