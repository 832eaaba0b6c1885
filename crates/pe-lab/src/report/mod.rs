//! The report of a study: a table, files, charts, a verdict and a page. It is made from the results
//! alone, so it can be made again without training.
//!
//! | file | what it holds |
//! |---|---|
//! | `data` | the results of a study, laid out by task, scheme and seed |
//! | `comparison` | two schemes compared, by name |
//! | `summary/` | every number of the report |
//! | `language` | what is measured of language models, and what they write |
//! | `costs` | what the schemes cost, and which are on the Pareto front of score and time |
//! | `answer`, `sentences` | the answer, as values and in plain words |
//! | `verdict/`, `trainings` | the sentences about the numbers |
//! | `results` | scores of trainings that were run elsewhere, which get the same report |
//! | `words` | lists and numbers in sentences |
//! | `brief`, `table` | the report in a terminal: the answer, and every table |
//! | `columns` | tables and sentences that fit into a terminal |
//! | `files` | the report as CSV and JSON |
//! | `charts/`, `encodings` | the figures |
//! | `html`, `template` | the report as one page |
//! | `paper/` | the report for a paper |
//! | `beside` | several studies beside each other |

mod answer;
mod beside;
mod brief;
mod charts;
mod columns;
mod comparison;
mod costs;
mod data;
mod encodings;
mod files;
mod html;
mod language;
mod paper;
mod results;
mod sentences;
mod summary;
#[cfg(test)]
mod synthetic;
mod table;
mod template;
#[cfg(test)]
mod tests;
mod trainings;
mod verdict;
mod words;

use std::path::Path;

pub use beside::Beside;
pub use results::Results;

use charts::Figure;
use comparison::{Headline, Part};
use data::Data;
use encodings::Encodings;
use summary::Summary;

use crate::console::{tell, visible};
use crate::data::digest;
use crate::draw::without_title;
use crate::error::LabError;
use crate::folder::{Entry, StudyFolder, is_there, remove, write_json, write_sealed, write_whole};
use crate::run::{Outcomes, Study, Winner, read_weights};

/// The report of a study, or of scores that were computed elsewhere. Its intervals and tests are computed once, when it is
/// made.
pub struct Report<'a> {
    /// What was run here.
    run: Option<(&'a Study, &'a Outcomes)>,
    data: Data<'a>,
    summary: Summary,
}

impl<'a> Report<'a> {
    /// The report of a study, finished or not.
    pub fn of(study: &'a Study, outcomes: &'a Outcomes) -> Self {
        Self::new(Some((study, outcomes)), Data::of(study, outcomes))
    }

    /// The report of scores that were computed elsewhere.
    pub fn of_results(results: &'a Results) -> Self {
        Self::new(None, Data::of_results(results))
    }

    fn new(run: Option<(&'a Study, &'a Outcomes)>, data: Data<'a>) -> Self {
        Self {
            run,
            summary: verdict::judged(Summary::of(&data)),
            data,
        }
    }

    /// Whether every headline is decided about all schemes, so that a study that stops then needs no more
    /// seeds.
    pub fn decided(&self) -> bool {
        let (headlines, schemes) = (&self.summary.headlines, self.summary.schemes.len());
        let is_decided = |of: &Headline| of.decided && of.order.len() == schemes;
        !headlines.is_empty() && headlines.iter().all(is_decided)
    }

    /// The answer and one small table for a terminal, in at most so many lines.
    pub fn brief(&self, lines: usize) -> String {
        brief::render(&self.summary, lines)
    }

    /// Every table for a terminal, with the verdict before them.
    pub fn table(&self) -> String {
        table::render(&self.summary)
    }

    /// Writes the scheme that scored highest, and the weights of its best model if they were kept. Those of an earlier report are removed
    /// where none has a score now.
    fn write_winner(
        &self,
        study: &Study,
        outcomes: &Outcomes,
        folder: &StudyFolder,
    ) -> Result<Vec<Entry>, LabError> {
        let winner = || {
            let mut headlines = self.summary.headlines.iter();
            let inside = headlines.find(|of| of.part == Part::Inside)?;
            let leader = self.summary.scheme(inside.order.first()?)?;
            Winner::of(outcomes, &leader.scheme, leader.part(Part::Inside)?.mean)
        };
        let Some(mut winner) = winner() else {
            remove(&folder.winner())?;
            remove(&folder.winner_weights())?;
            return Ok(Vec::new());
        };
        let mut written = vec![folder.winner()];
        let place = study.folder().trial(&winner.trial);
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
        let file = Path::new(StudyFolder::SUMMARY);
        serde_json::to_string_pretty(&self.summary).map_err(LabError::content(file))
    }

    /// Writes every file of the report into a folder, such as the study's own, and returns their paths, the page first.
    /// `titles` says whether pictures that are files have titles; `for_paper` adds the files for a paper.
    ///
    /// # Errors
    ///
    /// When a figure cannot be drawn or the folder cannot be written.
    pub fn write(
        &self,
        folder: &StudyFolder,
        titles: bool,
        for_paper: bool,
    ) -> Result<Vec<Entry>, LabError> {
        let charts = html::Charts::draw(&self.data, &self.summary)?;
        let encodings = match self.run {
            Some((study, outcomes)) => Encodings::draw(study, &outcomes.results)?,
            None => Encodings::default(),
        };
        for damaged in &encodings.damaged {
            tell(&format!("{damaged}; the report shows no picture of it"));
        }
        let text = html::render(&self.data, &self.summary, &charts, &encodings)?;
        write_whole(&folder.page(), text.as_bytes())?;
        let mut written = vec![folder.page(), folder.summary()];
        write_json(&folder.summary(), &self.summary)?;
        if let Some((study, outcomes)) = self.run {
            written.extend(files::write(folder, outcomes, &self.data.tasks)?);
            written.extend(self.write_winner(study, outcomes, folder)?);
        }
        let mut figures: Vec<Figure> = charts.all().chain(&encodings.figures).cloned().collect();
        for figure in &mut figures {
            if !titles {
                figure.svg = without_title(&figure.svg);
            }
            let file = folder.figure(&figure.name);
            write_whole(&file, visible(&figure.svg).as_bytes())?;
            written.push(file);
        }
        // Files for a paper that an earlier report has left are not to stay older than this one. References are there only from a report.
        if for_paper || is_there(&folder.paper().entry("references.bib"))? {
            written.extend(paper::write(&folder.paper(), &self.summary, &figures)?);
        }
        Ok(written)
    }
}
