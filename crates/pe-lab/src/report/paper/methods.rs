//! A paragraph of methods: what was run and how it was judged, with the sources of the statistics.

use serde_json::json;

use super::grid::{latex, markdown};
use super::references::named_in;
use super::tables::about;
use crate::error::LabError;
use crate::learn::STILL_FALLING;
use crate::report::comparison::Part;
use crate::report::data::file_title;
use crate::report::summary::{Summary, TaskSummary};
use crate::report::template;
use crate::report::words::fixed;
use crate::stats::FEWEST_SEEDS;

/// The paragraph. A source stands as `[@key]`. It is empty for scores that were computed elsewhere, whose methods are not
/// known.
///
/// # Errors
///
/// [`LabError::Page`] when the template cannot take its values.
pub fn paragraph(summary: &Summary) -> Result<String, LabError> {
    let Some(study) = summary.study() else {
        return Ok(String::new());
    };
    let tasks = || summary.tasks.iter();
    let schemes = tasks().flat_map(|task| &task.schemes);
    let open: usize = schemes.map(|of| of.not_converged.len()).sum();
    let failed: usize = summary.schemes.iter().map(|of| of.failed).sum();
    let is_accuracy = |task: &TaskSummary| task.measure.is_accuracy();
    let places = [false, true].map(|images| Part::ALL.map(|part| part.in_words(images)));
    let sentences = template::render(
        "methods.txt",
        include_str!("methods.txt"),
        json!({
            "summary": summary,
            "study": study,
            "abouts": tasks().map(about).collect::<Vec<_>>(),
            "places": places,
            "file": study.data.as_ref().map(file_title),
            "falling": fixed(STILL_FALLING * 100.0, 0),
            "until_converged": tasks().any(|task| task.auto_from.is_some()),
            "open": open,
            "failed": failed,
            "lost": summary.trials - summary.finished - failed,
            "shares": tasks().any(is_accuracy),
            "losses": !tasks().all(is_accuracy),
            "fewest_seeds": FEWEST_SEEDS,
            "other_rows": summary.comparisons.iter().any(|pair| pair.other_rows.is_some_and(|of| of.interval.is_some())),
        }),
    )?;
    let sentences = sentences.lines().filter(|line| !line.is_empty());
    Ok(sentences.collect::<Vec<_>>().join(" "))
}

/// The paragraph as Markdown, its sources in a list below it.
pub fn markdown_of(paragraph: &str) -> String {
    let sources = named_in(paragraph);
    let mut text = markdown(paragraph);
    for source in &sources {
        text = text.replace(
            &format!("\\[@{}\\]", source.key()),
            &format!("({})", source.short()),
        );
    }
    let list = sources
        .iter()
        .map(|of| format!("- {}\n", markdown(&of.in_words())));
    format!("{text}\n\n{}", list.collect::<String>())
}

/// The paragraph as LaTeX. Its sources are those of [`bibliography`].
pub fn latex_of(paragraph: &str) -> String {
    let mut text = latex(paragraph);
    for source in named_in(paragraph) {
        text = text.replace(
            &format!(" [@{}]", source.key()),
            &format!("~\\cite{{{}}}", source.key()),
        );
    }
    format!("{text}\n")
}

/// The sources of the paragraph as BibTeX.
pub fn bibliography(paragraph: &str) -> String {
    let entries = named_in(paragraph).into_iter().map(|of| of.bibtex());
    entries.collect::<Vec<_>>().join("\n")
}
