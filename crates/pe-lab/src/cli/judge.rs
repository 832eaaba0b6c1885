//! `pe-lab judge`: scores of trainings that were run elsewhere, judged by the statistics of a study.

use std::path::PathBuf;

use super::placed;
use super::private::keep_as_private_as;
use super::report::{ForPaper, Show, free};
use super::terminal::{print_json, print_line};
use crate::console::tell;
use crate::error::LabError;
use crate::report::{Report, Results};

/// The arguments of `judge`.
#[derive(Clone, Debug, clap::Args)]
pub(super) struct JudgeArgs {
    /// A table (CSV) with the columns scheme, task, seed and score
    ///
    /// It has a row for each score: higher is better, and 1 is the highest. A column length (in tokens) and a column part
    /// (inside or beyond the lengths of the training) may be there too. The results.csv of a study is such a table.
    #[arg(value_name = "FILE")]
    file: PathBuf,
    /// Write a page, pictures and summary.json to this folder
    #[arg(long, value_name = "FOLDER")]
    out: Option<PathBuf>,
    #[command(flatten)]
    paper: ForPaper,
    #[command(flatten)]
    show: Show,
}

impl JudgeArgs {
    /// Prints the verdict, writes the report where it is asked for, and returns the exit code.
    pub fn run(&self) -> Result<u8, LabError> {
        let results = Results::read(&self.file)?;
        if !self.show.quiet {
            results.describe().iter().for_each(|line| tell(line));
        }
        let report = Report::of_results(&results);
        let Some(out) = &self.out else {
            if self.show.open || self.paper.is_asked() {
                return Err(LabError::Usage(
                    "--open, --paper and --no-titles are about files: name a folder for them with --out".into(),
                ));
            }
            match self.show.json {
                true => print_json(&report.json()?),
                false => print_line(&self.show.text(&report)),
            }
            return Ok(0);
        };
        keep_as_private_as([self.file.as_path()])?;
        let to = free(out, None)?;
        let files = placed::write(&to, |to| self.paper.write(&report, to))?;
        self.show
            .print(&report.json()?, &self.show.text(&report), &files, &to);
        Ok(0)
    }
}
