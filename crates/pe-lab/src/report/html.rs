//! The report as one HTML page that needs no other file.

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde_json::{Value, json};
use sha2::{Digest, Sha256};

use super::charts::{self, Figure, TaskFigures};
use super::comparison::{Comparison, FINDINGS, Part};
use super::data::{Data, Run, file_title, title};
use super::encodings::Encodings;
use super::summary::{Summary, TaskSummary};
use super::template;
use crate::ask::{Scheme, steps_in_words};
use crate::draw::SHARP;
use crate::error::LabError;
use crate::folder::StudyFolder;
use crate::learn::{STILL_FALLING, TEMPERATURE, TOKEN_STD};

const TEMPLATE: &str = include_str!("report.html");

/// The sentences of evidence that follow the picture; the others are folded.
const EVIDENCE: usize = 5;

/// Every chart of a study.
pub struct Charts {
    overview: Vec<Figure>,
    study: Vec<Figure>,
    costs: Vec<Figure>,
    tasks: Vec<TaskFigures>,
}

impl Charts {
    pub fn draw(data: &Data<'_>, summary: &Summary) -> Result<Self, LabError> {
        let tasks = summary.tasks.iter();
        let tasks = tasks.map(|task| charts::of_task(data, task));
        Ok(Self {
            overview: charts::overview::draw(&summary.by_score())?,
            study: charts::heat::draw(summary)?,
            costs: charts::cost::draw(summary)?,
            tasks: tasks.collect::<Result<_, _>>()?,
        })
    }

    pub fn all(&self) -> impl Iterator<Item = &Figure> {
        let of_tasks = self.tasks.iter();
        let of_tasks = of_tasks.flat_map(|task| task.scores.iter().chain(&task.losses));
        let of_study = self.overview.iter().chain(&self.study);
        of_study.chain(&self.costs).chain(of_tasks)
    }
}

/// Figures as the page shows them.
fn shown<'a>(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<Value> {
    let shown = |of: &Figure| json!({"caption": of.caption, "svg": inlined(of)});
    figures.into_iter().map(shown).collect()
}

/// The SVG element of a figure. Its ids get the figure's name in front, since an id may occur only once on
/// a page.
fn inlined(figure: &Figure) -> String {
    let own = &figure.name;
    (figure.svg)
        .replace(" id=\"", &format!(" id=\"{own}-"))
        // The policy of the page allows no styles but its own, which has this one for every image.
        .replace(&format!(" {SHARP}"), "")
        .replace("url(#", &format!("url(#{own}-"))
        .replace("href=\"#", &format!("href=\"#{own}-"))
}

/// A comparison as a row of a table.
fn row(comparison: &Comparison, names: [&'static str; 2]) -> Value {
    let mut words = FINDINGS.iter().filter(|of| of.0 == comparison.finding);
    json!({
        "comparison": comparison,
        "place": names[comparison.part as usize],
        "finding": words.next().map_or("", |of| of.1),
    })
}

/// What the page shows of one task, apart from its summary.
fn part(task: &TaskSummary, figures: &TaskFigures) -> Value {
    let is_loss = task.measure.is_loss();
    json!({
        "figures": shown(&figures.scores),
        // The names of its parts.
        "parts": match task.has(Part::Beyond) {
            true => task.parts().to_vec(),
            false => vec!["held-out"],
        },
        "leaders": task.leaders(),
        "leads_in": task.leads_in(),
        "steps": steps_in_words(task.auto_from, task.steps),
        // Whether a sequence has several answers that are correct or not.
        "has_exact": !task.has_one_answer(),
        "measure": task.measure.name(),
        "better": if is_loss { ", lower is better" } else { "" },
        "normalized": if is_loss { " (1 \u{2212} value / floor)" } else { "" },
        "has_floor": task.has_floor(),
    })
}

/// A trial without a score, and what that means for the averages.
fn failure(data: &Data<'_>, run: &Run<'_>) -> Option<Value> {
    let loss = run.outcome.err()?;
    Some(json!({
        "task": title(run.task, data.origin.own_data()),
        "scheme": run.scheme,
        "seed": run.seed,
        "reason": loss.reason,
        "what": if loss.failed { "scores the floor, or the lowest score on the task" } else { "left out; tried again" },
    }))
}

/// Renders the page.
///
/// # Errors
///
/// [`LabError::Page`] when the template cannot take its values.
pub fn render(
    data: &Data<'_>,
    summary: &Summary,
    charts: &Charts,
    encodings: &Encodings,
) -> Result<String, LabError> {
    let summary = &summary.by_score();
    let names = summary.part_names();
    let schemes = summary.origin.schemes().iter();
    let schemes: Vec<(&str, String)> = schemes
        .map(|scheme| (scheme.as_str(), Scheme::description(scheme)))
        .collect();
    let pairs = || summary.comparisons.iter();
    let tasks = || summary.tasks.iter();
    let parts = tasks().zip(&charts.tasks);
    let context = json!({
        "summary": summary,
        "parts": parts.map(|(task, figures)| part(task, figures)).collect::<Vec<_>>(),
        "comparisons": pairs().map(|pair| row(pair, names)).collect::<Vec<_>>(),
        "leaders": summary.leaders(),
        "leads_in": summary.leads_in(),
        "file": summary.origin.own_data().map(file_title),
        "resolutions": summary.resolutions(),
        "two_parts": summary.has_two_parts(),
        "failures": data.runs.iter().filter_map(|run| failure(data, run)).collect::<Vec<_>>(),
        "schemes": schemes,
        "evidence": EVIDENCE,
        "overview": shown(&charts.overview),
        "study_charts": shown(&charts.study),
        "cost_charts": shown(&charts.costs),
        "losses": shown(charts.tasks.iter().flat_map(|task| &task.losses)),
        "figures": shown(&encodings.figures),
        "damaged": encodings.damaged,
        // A study names the version that planned it.
        "version": summary.study().map_or(env!("CARGO_PKG_VERSION"), |study| &study.versions.pe_lab),
        "versions": data.versions,
        "tests": pairs().filter(|pair| pair.p.is_some()).count(),
        "until_converged": tasks().any(|task| task.auto_from.is_some()),
        "still_falling": STILL_FALLING * 100.0,
        "token_std": TOKEN_STD,
        "temperature": TEMPERATURE,
        "script": SCRIPT,
        "policy": policy(),
        "codes": data.codes,
        "files": {
            "plan": StudyFolder::PLAN,
            "results_csv": StudyFolder::RESULTS_CSV,
            "results_jsonl": StudyFolder::RESULTS_JSONL,
            "summary": StudyFolder::SUMMARY,
        },
    });
    template::render("report.html", TEMPLATE, context)
}

/// Opens the folded parts of the page before it is printed.
const SCRIPT: &str = "addEventListener('beforeprint', function () {\
 document.querySelectorAll('details').forEach(function (part) { part.open = true; }); });";

/// What a browser may do with the page: show it, with its own style, script and pictures, and nothing else.
fn policy() -> String {
    // A browser reads every end of line as one character.
    let template = TEMPLATE.replace("\r\n", "\n");
    let (_, style) = template.split_once("<style>").unwrap_or_default();
    let (style, _) = style.split_once("</style>").unwrap_or_default();
    let hash = |text: &str| BASE64_STANDARD.encode(Sha256::digest(text));
    format!(
        "default-src 'none'; style-src 'sha256-{}'; script-src 'sha256-{}'; img-src data:; base-uri 'none'; \
         form-action 'none'",
        hash(style),
        hash(SCRIPT)
    )
}

#[cfg(test)]
mod tests;
