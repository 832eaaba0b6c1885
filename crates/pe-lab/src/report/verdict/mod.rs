//! The verdict: sentences that say what the numbers show, and nothing beyond that. The terminal, the page and
//! `summary.json` all take them from here.

mod course;
mod evidence;
mod found;
mod left_out;
mod rows;
#[cfg(test)]
mod tests;
mod words;

use super::data::Origin;
use super::results::ResultsFile;
use super::sentences;
use super::summary::Summary;
use super::trainings;
use super::words::{capitalized, counted, list};
use words::place;

/// The summary with its verdict.
pub fn judged(mut summary: Summary) -> Summary {
    let answer = found::answer(&summary);
    summary.verdict = vec![sentences::answer(&answer, &summary)];
    summary.verdict.extend(evidence_and_notes(&summary));
    summary.answer = Some(answer);
    summary
}

/// What the answer rests on, and what to be careful about.
fn evidence_and_notes(summary: &Summary) -> Vec<String> {
    if summary.finished == 0 {
        return Vec::new();
    }
    let mut lines = trainings::how_long(summary);
    for headline in &summary.headlines {
        lines.push(evidence::of(summary, headline));
        lines.extend(left_out::of(summary, headline));
        // Before the first planned look nothing is claimed.
        if summary.looks.is_none() || summary.look.is_some() {
            lines.extend(rows::of(summary, headline));
        }
    }
    lines.extend(after_the_evidence(summary));
    let costs = summary.costs.iter();
    lines.extend(costs.flat_map(|costs| costs.sentences(|part| place(summary, part))));
    lines.push(match &summary.origin {
        Origin::Study(study) => trainings::tuned(study),
        Origin::Results(file) => unknown(file),
    });
    lines
}

/// What cannot be told from scores alone.
fn unknown(file: &ResultsFile) -> String {
    let failed = match file.failed {
        0 => String::new(),
        count => format!(
            " {} of failed trainings (of {}) are left out, although a study counts them as the lowest score: a scheme may look \
             better by that.",
            counted(count, "row"),
            list(&file.failed_schemes)
        ),
    };
    format!(
        "The scores are taken as they are in {}: 1 is the highest.{failed} What the file does not tell: which score takes no skill, \
         whether the trainings had converged, whether learning rates were chosen alike, and on which rows the models were tested.",
        file.file
    )
}

fn after_the_evidence(summary: &Summary) -> Vec<String> {
    let warning = summary.warning.as_ref();
    let mut lines: Vec<String> = warning.iter().map(|of| capitalized(of) + ".").collect();
    lines.extend(course::looks(summary));
    let study = summary.study();
    lines.extend(study.and_then(|study| course::grown(&study.grown)));
    lines.extend(trainings::without_success(summary));
    lines
}

/// What a person is to know beside the answer, the most important first: how long was trained, what the data are, how the
/// study came to its seeds, and which trainings did not succeed.
pub fn cautions(summary: &Summary) -> Vec<String> {
    if summary.finished == 0 {
        return Vec::new();
    }
    let mut said = trainings::how_long(summary);
    if let Origin::Results(file) = &summary.origin {
        said.push(unknown(file));
    }
    said.extend(after_the_evidence(summary));
    said
}
