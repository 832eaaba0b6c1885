//! Bits per token by the length of the window, as in figure 1 of Press et al. 2021, and by the position in it.

use std::collections::BTreeSet;

use super::panel::{Figure, Panel, stem, trained_key};
use super::series::{Series, legend, lines, series};
use crate::ask::steps_in_words;
use crate::draw::colour::REFERENCE;
use crate::draw::{Axis, Key, Look, Stroke};
use crate::error::LabError;
use crate::report::data::Data;
use crate::report::language::line as line_of;
use crate::report::summary::{LanguageRow, LanguageSummary, TaskSummary};
use crate::run::Measures;
use crate::stats::Bounds;

const HEIGHT: i32 = 330;

/// The chart by length: a panel of the schemes, one of the scalings that are on in the test only, if there are
/// any, and one by position.
pub fn draw(
    data: &Data<'_>,
    task: &TaskSummary,
    language: &LanguageSummary,
) -> Result<Vec<Figure>, LabError> {
    let rows = language.rows.iter();
    let own = rows.filter(|row| row.name == row.scheme).collect();
    let mut figures = vec![by_length(data, task, language, vec![("", own)])?];
    // The chart of scalings has a panel for each scheme that they scale.
    let of_scheme = |scheme: &String| -> Vec<&LanguageRow> {
        let rows = language.rows.iter();
        rows.filter(|row| row.scheme == *scheme).collect()
    };
    let schemes = data.origin.schemes().iter();
    let rows = schemes.map(|scheme| (scheme.as_str(), of_scheme(scheme)));
    let scaled = rows.filter(|(scheme, rows)| rows.iter().any(|row| row.name != *scheme));
    let scaled: Vec<(&str, Vec<&LanguageRow>)> = scaled.collect();
    if !scaled.is_empty() {
        figures.push(by_length(data, task, language, scaled)?);
    }
    figures.extend(by_position(data, task, language)?);
    Ok(figures)
}

/// An axis from a little below the smallest value to a little above the largest.
fn around(name: &str, values: impl Iterator<Item = f64> + Clone) -> Axis {
    let low = values.clone().fold(f64::INFINITY, f64::min);
    let high = values.fold(f64::NEG_INFINITY, f64::max);
    let margin = 0.05 * (high - low).max(0.1);
    Axis::round(name, (low - margin).max(0.0)..high + margin, 7)
}

/// The lines of some rows: at a place for each length, in bits.
fn by_place(
    data: &Data<'_>,
    task: &TaskSummary,
    language: &LanguageSummary,
    rows: &[&LanguageRow],
) -> Vec<Series> {
    let place = |length: usize| language.lengths.iter().position(|tested| *tested == length);
    let names = rows
        .iter()
        .map(|row| (row.name.clone(), row.scheme.clone()));
    let names: Vec<(String, String)> = names.collect();
    lines(
        data,
        task,
        Bounds::LOSS,
        &names,
        |name, scheme, measures: &Measures| {
            let scores = line_of(measures, (name != scheme).then_some(name));
            let scores = scores.into_iter().flatten();
            scores
                .filter_map(|of| Some((place(of.length)?, of.score.value())))
                .collect()
        },
    )
}

/// An axis with a place for each length, whatever lies between them.
fn axis_of_lengths(task: &TaskSummary, lengths: &[usize]) -> Axis {
    let trained = lengths.first().copied().unwrap_or(1);
    let ticks = lengths.iter().enumerate();
    Axis {
        name: format!("length of the window ({}s)", token(task)),
        from: -0.15,
        to: lengths.len().saturating_sub(1) as f64 + 0.15,
        ticks: ticks
            .map(|(nth, length)| (nth as f64, format!("{length} ({}×)", length / trained)))
            .collect(),
    }
}

/// A dotted line from the first length to the last for each of these rows that has a score in a sliding window.
fn sliding(
    data: &Data<'_>,
    language: &LanguageSummary,
    rows: &[&LanguageRow],
) -> Vec<(Vec<(f64, f64)>, Stroke)> {
    let last = language.lengths.len().saturating_sub(1) as f64;
    let lines = rows.iter().filter_map(|row| {
        let bits = row.sliding.as_ref()?.bits;
        let look = Look::of(&row.name, data.origin.schemes());
        let ends = vec![(0.0, bits), (last, bits)];
        Some((ends, Stroke::dotted(look.colour())))
    });
    lines.collect()
}

/// The legend of several panels, with each name once.
fn legend_of_all(all: &[Vec<Series>]) -> Vec<(Key, String)> {
    let mut named = BTreeSet::new();
    let entries = all.iter().flat_map(|series| legend(series));
    entries.filter(|of| named.insert(of.1.clone())).collect()
}

/// The chart by length: a panel for each of these names, which is empty where it shows all schemes, with its rows.
fn by_length(
    data: &Data<'_>,
    task: &TaskSummary,
    language: &LanguageSummary,
    of: Vec<(&str, Vec<&LanguageRow>)>,
) -> Result<Figure, LabError> {
    let trained = language.lengths.first().copied().unwrap_or(1);
    let all: Vec<Vec<Series>> = of
        .iter()
        .map(|(_, rows)| by_place(data, task, language, rows))
        .collect();
    let drawn = || all.iter().flatten();
    let points = drawn().flat_map(|series| series.points.iter().map(|at| at.1));
    let bands = drawn().flat_map(|series| series.band.iter().map(|at| at.1.high.min(12.0)));
    let slid = of.iter().flat_map(|(_, rows)| rows);
    let slid = slid.filter_map(|row| Some(row.sliding.as_ref()?.bits));
    let y = around(&task.measure.axis(), points.chain(bands).chain(slid));
    let x = axis_of_lengths(task, &language.lengths);
    let panels = of.iter().zip(&all).map(|((scheme, rows), series)| {
        let name = match scheme.is_empty() {
            true => x.name.clone(),
            false => format!("{scheme}: {}", x.name),
        };
        Panel {
            x: Axis { name, ..x.clone() },
            y: y.clone(),
            height: HEIGHT,
            trained: None,
            behind: sliding(data, language, rows),
            series,
            markers: None,
        }
    });
    let mut entries = legend_of_all(&all);
    let stride = language.stride;
    entries.push((
        Key::Line(Stroke::dotted(REFERENCE), None),
        format!("dotted: the same model in a sliding window of {trained}, moved by {stride}"),
    ));
    let (kind, what) = match of[0].0.is_empty() {
        true => ("language", "by length of the window"),
        false => (
            "scaling",
            "with scalings of RoPE that are on in the test only",
        ),
    };
    Panel::figure(
        &panels.collect::<Vec<_>>(),
        stem(kind, &task.name),
        &format!("{}: {} {what}", task.title, task.measure.name()),
        format!(
            "Trained on windows of {trained} for {}. Scored on the last {} {}s of each window, which are the \
             same at every length. Line: the mean over seeds. Band, if there are few lines: its 95 % interval over \
             seeds. Small markers: every seed.",
            steps_in_words(task.auto_from, task.steps),
            language.scored,
            token(task)
        ),
        &entries,
    )
}

/// What a token is called.
fn token(task: &TaskSummary) -> &str {
    match &task.measure {
        crate::task::Measure::Bits { token } => token,
        _ => "token",
    }
}

/// The curves by position in the longest window, in groups of positions: a single position has too few scores.
fn by_position(
    data: &Data<'_>,
    task: &TaskSummary,
    language: &LanguageSummary,
) -> Result<Option<Figure>, LabError> {
    let (Some(trained), Some(longest)) = (language.lengths.first(), language.lengths.last()) else {
        return Ok(None);
    };
    let group = (trained / 4).max(1);
    let mut all: Vec<Series> = series(data, task, Bounds::LOSS, |measures| {
        let mut scores = measures.scores.iter();
        let of_length = scores.find(|score| score.length == *longest);
        let places = of_length.map_or(&[][..], |score| &score.by_position);
        let groups = places.chunks(group).map(|group| {
            let sum: f64 = group.iter().map(|place| place.score.value()).sum();
            let middle = group[0].position + group.len() / 2;
            (middle, sum / group.len() as f64)
        });
        groups.collect()
    });
    if all.iter().all(|series| series.mean.len() < 2) {
        return Ok(None);
    }
    all.iter_mut().for_each(|series| series.band.clear());
    let means = all
        .iter()
        .flat_map(|series| series.mean.iter().map(|at| at.1));
    let name = format!("position in a window of {longest} {}s", token(task));
    let panel = Panel {
        x: Axis::round(&name, 0.0..*longest as f64 * 1.02, 9),
        y: around(&task.measure.axis(), means),
        height: HEIGHT,
        trained: Some((0.0, *trained as f64)),
        behind: Vec::new(),
        series: &all,
        markers: Some(8),
    };
    let mut entries = legend(&all);
    entries.push(trained_key("positions seen in training"));
    Panel::figure(
        &[panel],
        stem("position", &task.name),
        &format!("{}: {} by position", task.title, task.measure.name()),
        format!(
            "The mean over seeds for every {group} positions of windows of {longest}. The first tokens of a window \
             have little text before them. A line that rises at the end of the shade \
             is of a scheme that fails at positions it was not trained on."
        ),
        &entries,
    )
    .map(Some)
}
