//! The report as CSV and JSON.

use serde::Serialize;

use super::data::title;
use super::results::NOT_RUN;
use super::summary::TaskSummary;
use crate::ask::TrialSpec;
use crate::error::LabError;
use crate::folder::{Entry, StudyFolder, write_csv, write_whole};
use crate::learn::{DEPTHS, LengthScore};
use crate::run::{Measures, Outcome, Outcomes, TrialResult};
use crate::task::Score;

/// A row of `results.csv`: one length of one trial. A trial without scores has one row.
#[derive(Default, Serialize)]
struct Row<'a> {
    task: String,
    scheme: &'a str,
    seed: u64,
    steps: usize,
    device: &'a str,
    length: Option<usize>,
    inside_training: Option<bool>,
    samples: Option<usize>,
    accuracy: Option<f64>,
    exact_match: Option<f64>,
    /// What `value` measures, and in which unit: `bits per character`, or `error in COLUMN`, the mean absolute error in the unit
    /// of that column. This column and the next are only in the table of a study with a loss.
    #[serde(skip_serializing_if = "Option::is_none")]
    measure: Option<Option<String>>,
    #[serde(skip_serializing_if = "Option::is_none")]
    value: Option<Option<f64>>,
    floor: Option<f64>,
    normalized: Option<f64>,
    parameters: Option<usize>,
    position_parameters: Option<usize>,
    ms_per_step: Option<f64>,
    tokens_per_second: Option<f64>,
    failure: Option<&'a str>,
}

impl<'a> Row<'a> {
    fn of(spec: &'a TrialSpec) -> Self {
        Row {
            task: title(&spec.task, spec.data.as_ref()),
            scheme: &spec.scheme.name,
            seed: spec.seed,
            steps: spec.steps,
            device: &spec.device,
            ..Self::default()
        }
    }
}

fn rows<'a>(result: &'a TrialResult) -> Vec<Row<'a>> {
    match &result.outcome {
        Outcome::Failed(reason) => vec![Row {
            failure: Some(reason),
            ..Row::of(&result.spec)
        }],
        Outcome::Finished(measures) => {
            let of_scheme = |scheme: &'a str, scores: &'a [LengthScore]| {
                scores
                    .iter()
                    .map(move |score| of_length(result, measures, scheme, score))
            };
            let scaled = measures.language.iter().flat_map(|of| &of.scaled);
            of_scheme(&result.spec.scheme.name, &measures.scores)
                .chain(scaled.flat_map(|of| of_scheme(&of.name, &of.scores)))
                .collect()
        }
    }
}

/// The row of one length. `scheme` is that of the trial, or with a scaling that is on in the test only.
fn of_length<'a>(
    result: &'a TrialResult,
    measures: &'a Measures,
    scheme: &'a str,
    score: &'a LengthScore,
) -> Row<'a> {
    Row {
        scheme,
        length: Some(score.length),
        inside_training: Some(score.inside),
        samples: Some(score.samples),
        accuracy: match score.score {
            Score::Accuracy(share) => Some(share),
            _ => None,
        },
        exact_match: score.exact,
        value: Some(Some(score.score.value())),
        floor: Some(score.floor),
        normalized: Some(score.normalized()),
        parameters: Some(measures.parameters),
        position_parameters: Some(measures.position_parameters),
        ms_per_step: Some(measures.timing.ms_per_step),
        tokens_per_second: Some(measures.timing.tokens_per_second),
        // Of a trial that went on until it had converged, the steps of the training that was tested.
        steps: match result.spec.auto_from {
            None => result.spec.steps,
            Some(_) => measures.steps(),
        },
        ..Row::of(&result.spec)
    }
}

/// A row of `depths.csv`: one fifth of the sequences of one length of one trial.
#[derive(Serialize)]
struct DepthRow<'a> {
    task: String,
    scheme: &'a str,
    seed: u64,
    length: usize,
    inside_training: bool,
    depth_from: f64,
    depth_to: f64,
    answers: usize,
    score: f64,
    floor: f64,
}

fn depth_rows(result: &TrialResult) -> impl Iterator<Item = DepthRow<'_>> {
    let spec = &result.spec;
    let scores = result.measures().into_iter().flat_map(|m| &m.scores);
    scores.flat_map(move |score| {
        score.by_depth.iter().map(move |cell| DepthRow {
            task: title(&spec.task, spec.data.as_ref()),
            scheme: &spec.scheme.name,
            seed: spec.seed,
            length: score.length,
            inside_training: score.inside,
            depth_from: cell.fifth as f64 / DEPTHS as f64,
            depth_to: (cell.fifth + 1) as f64 / DEPTHS as f64,
            answers: cell.asked,
            score: cell.score.value(),
            floor: score.floor,
        })
    })
}

/// Writes `results.csv` and `results.jsonl`, and `depths.csv` if there are scores by depth, and returns their paths.
/// `tasks` are those of the study.
pub fn write(
    folder: &StudyFolder,
    outcomes: &Outcomes,
    tasks: &[TaskSummary],
) -> Result<Vec<Entry>, LabError> {
    let table = folder.results_csv();
    let missing = outcomes.missing.iter().map(|(spec, reason)| Row {
        failure: Some(reason.as_deref().unwrap_or(NOT_RUN)),
        ..Row::of(spec)
    });
    let mut lines: Vec<Row<'_>> = outcomes.results.iter().flat_map(rows).collect();
    lines.extend(missing);
    let has_loss = lines
        .iter()
        .any(|row| row.value.is_some() && row.accuracy.is_none());
    for row in &mut lines {
        let task = tasks.iter().find(|task| task.title == row.task);
        let measure = task.map(|task| task.measure.name());
        row.value = has_loss.then(|| row.value.flatten());
        row.measure = has_loss.then(|| measure.filter(|_| row.value.flatten().is_some()));
    }
    write_csv(&table, lines)?;

    let lines = folder.results_jsonl();
    let mut text = String::new();
    for result in &outcomes.results {
        text.push_str(&serde_json::to_string(result).map_err(LabError::content(&lines))?);
        text.push('\n');
    }
    write_whole(&lines, text.as_bytes())?;

    let mut written = vec![table, lines];
    let depths: Vec<DepthRow<'_>> = outcomes.results.iter().flat_map(depth_rows).collect();
    if !depths.is_empty() {
        let file = folder.depths_csv();
        write_csv(&file, depths)?;
        written.push(file);
    }
    Ok(written)
}
