//! The report of a study: a table, files, charts, a verdict and a page. It is made from the results
//! alone, so it can be made again without training.
//!
//! | file | what it holds |
//! |---|---|
//! | `data` | the results of a study, laid out by task, scheme and seed |
//! | `comparison` | two schemes compared, by name |
//! | `summary` | every number of the report |
//! | `language` | the numbers of language models, and what they write |
//! | `costs` | what the schemes cost, and which of them nothing beats for less |
//! | `verdict`, `trainings` | the sentences about these numbers |
//! | `words` | lists and numbers in sentences |
//! | `table` | the report in a terminal |
//! | `files` | the report as CSV and JSON |
//! | `charts/`, `encodings` | the figures |
//! | `html` | the report as one page |

mod charts;
mod comparison;
mod costs;
mod data;
mod encodings;
mod figure;
mod files;
mod html;
mod language;
mod number;
mod summary;
#[cfg(test)]
mod synthetic;
mod table;
#[cfg(test)]
mod tests;
mod trainings;
mod verdict;
mod words;

pub use comparison::{Comparison, Headline, Part};
pub use costs::{CostRow, CostSummary, Front, FrontPoint};
pub use figure::Figure;
pub use language::{Bits, LanguageRow, LanguageSummary, WrittenText};
pub use summary::{
    Aggregate, Group, SchemeOverall, SchemeSummary, SeedMean, SeedScore, StepsTaken, Summary,
    TaskSummary,
};

use data::Data;
use encodings::Encodings;

use crate::console::{tell, visible};
use crate::data::digest;
use crate::error::LabError;
use crate::folder::{Entry, StudyFolder, write_sealed, write_whole};
use crate::run::{Outcomes, Study, Winner, read_weights};

/// The report of a study. Its intervals and tests are computed once, when it is made.
pub struct Report<'a> {
    study: &'a Study,
    outcomes: &'a Outcomes,
    data: Data<'a>,
    summary: Summary,
}

impl<'a> Report<'a> {
    /// The report of a study, finished or not.
    pub fn of(study: &'a Study, outcomes: &'a Outcomes) -> Self {
        let data = Data::of(study, outcomes);
        Self {
            study,
            outcomes,
            summary: verdict::judged(Summary::of(&data)),
            data,
        }
    }

    /// Whether every headline is decided about all schemes, so that a study that stops then needs no more
    /// seeds.
    pub fn decided(&self) -> bool {
        let (headlines, schemes) = (&self.summary.headlines, self.summary.study.schemes.len());
        let is_decided = |of: &Headline| of.decided && of.order.len() == schemes;
        !headlines.is_empty() && headlines.iter().all(is_decided)
    }

    /// The table for a terminal, with the verdict below it.
    pub fn table(&self) -> String {
        table::render(&self.summary)
    }

    /// Writes the scheme that scored highest, and the weights of its best model if they were kept.
    fn write_winner(&self, folder: &StudyFolder) -> Result<Vec<Entry>, LabError> {
        let inside = self
            .summary
            .headlines
            .iter()
            .find(|of| of.part == Part::Inside);
        let leader = inside.and_then(|headline| headline.order.first());
        let overall = self
            .summary
            .schemes
            .iter()
            .find(|of| Some(&of.scheme) == leader);
        let score = overall.and_then(|of| of.part(Part::Inside));
        let winner = overall
            .zip(score)
            .and_then(|(of, score)| Winner::of(self.outcomes, &of.scheme, score.mean));
        let Some(mut winner) = winner else {
            return Ok(Vec::new());
        };
        let mut written = vec![folder.winner()];
        let place = self.study.folder().trial(&winner.trial);
        if let Some(bytes) = read_weights(&place, winner.weights.as_deref())? {
            let copy = folder.winner_weights();
            write_whole(&copy, &bytes)?;
            written.push(copy);
            winner.weights = Some(digest(&bytes));
        }
        write_sealed(&written[0], &winner)?;
        Ok(written)
    }

    /// The numbers and sentences of the report as JSON, which are those of its `summary.json`.
    ///
    /// # Errors
    ///
    /// [`LabError::Content`] when a number cannot be written as JSON.
    pub fn json(&self) -> Result<String, LabError> {
        let file = self.study.folder().summary();
        serde_json::to_string_pretty(&self.summary).map_err(LabError::content(&file))
    }

    /// Writes every file of the report into a folder, such as the study's own, and returns their paths, the
    /// page first.
    ///
    /// # Errors
    ///
    /// When a figure cannot be drawn or the folder cannot be written.
    pub fn write(&self, folder: &StudyFolder) -> Result<Vec<Entry>, LabError> {
        let charts = html::Charts::draw(&self.data, &self.summary)?;
        let encodings = Encodings::draw(self.study, &self.outcomes.results)?;
        for damaged in &encodings.damaged {
            tell(&format!("{damaged}; the report shows no picture of it"));
        }
        let text = html::render(&self.data, &self.summary, &charts, &encodings)?;
        write_whole(&folder.page(), text.as_bytes())?;
        let mut written = vec![folder.page()];
        written.extend(files::write(folder, self.outcomes, &self.summary)?);
        written.extend(self.write_winner(folder)?);
        for figure in charts.all().chain(&encodings.figures) {
            let file = folder.figure(&figure.name);
            write_whole(&file, visible(&figure.svg).as_bytes())?;
            written.push(file);
        }
        Ok(written)
    }
}
