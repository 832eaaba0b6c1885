//! The report as one HTML page that needs no other file.

mod filters;

use std::iter;

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use serde::Serialize;
use serde_json::json;
use sha2::{Digest, Sha256};

use super::charts::{self, TaskFigures};
use super::comparison::{Comparison, FINDINGS, Part};
use super::data::{Data, Run, file_title, title};
use super::encodings::Encodings;
use super::figure::Figure;
use super::summary::{Summary, TaskSummary};
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
            study: charts::of_study(summary)?,
            costs: charts::of_costs(summary)?,
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

/// A figure as the page shows it.
#[derive(Serialize)]
struct Shown<'a> {
    title: &'a str,
    caption: &'a str,
    svg: String,
}

impl<'a> Shown<'a> {
    fn of(figure: &'a Figure) -> Self {
        Self {
            title: &figure.title,
            caption: &figure.caption,
            svg: inlined(figure),
        }
    }

    fn all(figures: impl IntoIterator<Item = &'a Figure>) -> Vec<Self> {
        figures.into_iter().map(Self::of).collect()
    }
}

/// The SVG element of a figure. Its ids get the figure's name in front, since an id may occur only once on
/// a page.
fn inlined(figure: &Figure) -> String {
    let start = figure.svg.find("<svg").unwrap_or(0);
    let own = &figure.name;
    figure.svg[start..]
        .replace(" id=\"", &format!(" id=\"{own}-"))
        // The policy of the page allows no styles but its own, which has this one for every image.
        .replace(&format!(" {SHARP}"), "")
        .replace("url(#", &format!("url(#{own}-"))
        .replace("href=\"#", &format!("href=\"#{own}-"))
}

/// A comparison as a row of a table.
#[derive(Serialize)]
struct Row<'a> {
    #[serde(flatten)]
    comparison: &'a Comparison,
    place: &'static str,
    finding: &'static str,
}

fn rows<'a>(comparisons: &'a [Comparison], [inside, beyond]: [&'static str; 2]) -> Vec<Row<'a>> {
    let row = |comparison: &'a Comparison| Row {
        comparison,
        place: match comparison.part {
            Part::Inside => inside,
            Part::Beyond => beyond,
        },
        finding: {
            let mut words = FINDINGS.iter().filter(|of| of.0 == comparison.finding);
            words.next().map_or("", |of| of.1)
        },
    };
    comparisons.iter().map(row).collect()
}

/// What the page shows of one task, apart from its summary.
#[derive(Serialize)]
struct TaskPart<'a> {
    figures: Vec<Shown<'a>>,
    /// The names of its parts.
    parts: Vec<&'static str>,
    /// The schemes that are highest.
    leaders: Vec<&'a str>,
    /// The steps of a training, in words.
    steps: String,
    /// Whether a sequence has several answers that are correct or not.
    has_exact: bool,
    /// What the scores are measured in, and the direction that is better if it is a loss.
    measure: String,
    better: &'static str,
    /// How a score is normalized, as a formula.
    normalized: &'static str,
    /// Whether it is known which score takes no skill.
    has_floor: bool,
}

/// A trial without a score.
#[derive(Serialize)]
struct Failure<'a> {
    task: String,
    scheme: &'a str,
    seed: u64,
    reason: &'a str,
    /// What that means for the averages.
    what: &'static str,
}

fn parts<'a>(summary: &'a Summary, charts: &'a Charts) -> Vec<TaskPart<'a>> {
    let parts = summary.tasks.iter().zip(&charts.tasks);
    let part = |(task, figures): (&'a TaskSummary, &'a TaskFigures)| TaskPart {
        figures: Shown::all(&figures.scores),
        parts: match task.has(Part::Beyond) {
            true => task.parts().to_vec(),
            false => vec!["held-out"],
        },
        leaders: task.leaders(),
        steps: steps_in_words(task.auto_from, task.steps),
        has_exact: !task.has_one_answer(),
        measure: task.measure.name(),
        better: match task.measure.is_loss() {
            false => "",
            true => ", lower is better",
        },
        normalized: match task.measure.is_loss() {
            false => "",
            true => " (1 \u{2212} value / floor)",
        },
        has_floor: task.has_floor(),
    };
    parts.map(part).collect()
}

fn failures<'a>(data: &'a Data<'_>) -> Vec<Failure<'a>> {
    let failure = |run: &'a Run<'_>| {
        let failed = run.outcome.err()?;
        Some(Failure {
            task: title(run.task, data.origin.own_data()),
            scheme: run.scheme,
            seed: run.seed,
            reason: failed.reason,
            what: match failed.failed {
                true => "scores the floor",
                false => "left out; tried again",
            },
        })
    };
    data.runs.iter().filter_map(failure).collect()
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
    let tests = summary.comparisons.iter().filter(|pair| pair.p.is_some());
    let tests = tests.count();
    let context = json!({
        "summary": summary,
        "parts": parts(summary, charts),
        "comparisons": rows(&summary.comparisons, names),
        "leaders": summary.leaders(),
        "file": summary.origin.own_data().map(file_title),
        "resolutions": summary.resolutions(),
        "two_parts": summary.has_two_parts(),
        "failures": failures(data),
        "schemes": schemes,
        "evidence": EVIDENCE,
        "overview": Shown::all(&charts.overview),
        "study_charts": Shown::all(&charts.study),
        "cost_charts": Shown::all(&charts.costs),
        "losses": Shown::all(charts.tasks.iter().flat_map(|task| &task.losses)),
        "figures": Shown::all(&encodings.figures),
        "damaged": encodings.damaged,
        // A study names the version that planned it.
        "version": summary.study().map_or(env!("CARGO_PKG_VERSION"), |study| &study.versions.pe_lab),
        "versions": data.versions,
        "tests": tests,
        "until_converged": summary.tasks.iter().any(|task| task.auto_from.is_some()),
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
    let failed = |error: minijinja::Error| LabError::Page {
        reason: iter::successors(Some(&error as &dyn std::error::Error), |e| e.source())
            .map(ToString::to_string)
            .collect::<Vec<_>>()
            .join(": "),
    };
    let mut page = filters::environment();
    page.add_template("report.html", TEMPLATE).map_err(failed)?;
    let template = page.get_template("report.html").map_err(failed)?;
    template.render(filters::value(context)).map_err(failed)
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
