//! Bits per token by the length of the window, as in figure 1 of Press et al. 2021, and by the position in it.

use super::panel::{figure, panel, stem, trained_key};
use super::series::{Series, legend, lines, series};
use crate::ask::steps_in_words;
use crate::draw::colour::REFERENCE;
use crate::draw::{Axis, Key, Look, Page, Stroke, line};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};
use crate::report::figure::Figure;
use crate::report::language::{LanguageRow, LanguageSummary, line as line_of};
use crate::run::Measures;
use crate::stats::Bounds;

const HEIGHT: i32 = 330;

/// The chart by length: a panel of the schemes, one of the scalings that are on in the test only, if there are
/// any, and one by position.
pub fn draw(
    data: &Data<'_>,
    task: &TaskFacts,
    language: &LanguageSummary,
) -> Result<Vec<Figure>, LabError> {
    let mut figures = vec![by_length(data, task, language, false)?];
    if language.rows.iter().any(|row| row.name != row.scheme) {
        figures.push(by_length(data, task, language, true)?);
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

/// The panels of the chart by length.
fn panels<'a>(
    data: &'a Data<'_>,
    task: &TaskFacts,
    language: &'a LanguageSummary,
    scaled: bool,
) -> Vec<Panel<'a>> {
    // The chart of scalings has a panel for each scheme that they scale.
    let rows = &language.rows;
    let is_scaled = |scheme: &str| {
        rows.iter()
            .any(|row| row.scheme == scheme && row.name != scheme)
    };
    let schemes = data.origin.schemes();
    let panels: Vec<(&str, Vec<&LanguageRow>)> = match scaled {
        false => vec![(
            "",
            rows.iter().filter(|row| row.name == row.scheme).collect(),
        )],
        true => schemes
            .iter()
            .filter(|scheme| is_scaled(scheme))
            .map(|scheme| {
                let own = rows.iter().filter(|row| row.scheme == *scheme);
                (scheme.as_str(), own.collect())
            })
            .collect(),
    };
    let place = |length: usize| language.lengths.iter().position(|tested| *tested == length);
    panels
        .into_iter()
        .map(|(scheme, rows)| {
            let names: Vec<(String, String)> = rows
                .iter()
                .map(|row| (row.name.clone(), row.scheme.clone()))
                .collect();
            let curve = |name: &str, scheme: &str, measures: &Measures| {
                let scores = line_of(measures, (name != scheme).then_some(name));
                let scores = scores.into_iter().flatten();
                scores
                    .filter_map(|of| Some((place(of.length)?, of.score.value())))
                    .collect()
            };
            let slid = rows.iter().filter_map(|row| {
                let bits = row.sliding.as_ref()?.bits;
                Some((Look::of(&row.name, schemes), bits))
            });
            Panel {
                scheme,
                slid: slid.collect(),
                all: lines(data, task, Bounds::LOSS, &names, curve),
            }
        })
        .collect()
}

/// An axis with a place for each length, whatever lies between them.
fn axis_of_lengths(task: &TaskFacts, lengths: &[usize]) -> Axis {
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

fn by_length(
    data: &Data<'_>,
    task: &TaskFacts,
    language: &LanguageSummary,
    scaled: bool,
) -> Result<Figure, LabError> {
    let panels = panels(data, task, language, scaled);
    let trained = language.lengths.first().copied().unwrap_or(1);
    let last = language.lengths.len().saturating_sub(1) as f64;
    let x = axis_of_lengths(task, &language.lengths);
    let all = || panels.iter().flat_map(|panel| &panel.all);
    let drawn = all().flat_map(|series| series.points.iter().map(|at| at.1));
    let bands = all().flat_map(|series| series.band.iter().map(|at| at.1.high.min(12.0)));
    let slid = panels.iter().flat_map(|panel| &panel.slid);
    let y = around(
        &task.measure.axis(),
        drawn.chain(bands).chain(slid.map(|of| of.1)),
    );
    let mut entries: Vec<(Key, String)> = Vec::new();
    for entry in panels.iter().flat_map(|panel| legend(&panel.all)) {
        if !entries.iter().any(|known| known.1 == entry.1) {
            entries.push(entry);
        }
    }
    let dashed = Key::Line(Stroke::dashed(REFERENCE), None);
    entries.push((
        dashed,
        format!(
            "dashed: the same model in a sliding window of {trained}, moved by {}",
            language.stride
        ),
    ));
    let (kind, what) = match scaled {
        false => ("language", "by length of the window"),
        true => (
            "scaling",
            "with scalings of RoPE that are on in the test only",
        ),
    };
    figure(
        stem(kind, &task.name),
        format!("{}: {} {what}", task.title, task.measure.name()),
        format!(
            "Trained on windows of {trained} for {}. Scored on the last {} {}s of each window, which are the \
             same at every length. Line: the mean over seeds. Band, if there are few lines: its 95 % interval over \
             seeds. Small markers: every seed.",
            steps_in_words(task.auto_from, task.steps),
            language.scored,
            token(task)
        ),
        HEIGHT * panels.len() as i32,
        &entries,
        |page, top| {
            let tops = (top..).step_by(HEIGHT as usize);
            for (panel, top) in panels.iter().zip(tops) {
                panel.draw(page, top, x.clone(), &y, last)?;
            }
            Ok(())
        },
    )
}

/// Lines on axes of their own.
struct Panel<'a> {
    /// The scheme that they are about, if it is one.
    scheme: &'a str,
    all: Vec<Series>,
    /// The scores in a sliding window.
    slid: Vec<(Look, f64)>,
}

impl Panel<'_> {
    fn draw(
        &self,
        page: &mut Page,
        top: i32,
        mut x: Axis,
        y: &Axis,
        last: f64,
    ) -> Result<(), LabError> {
        if !self.scheme.is_empty() {
            x.name = format!("{}: {}", self.scheme, x.name);
        }
        let mut chart = panel(page, (top, HEIGHT), x, y, None)?;
        for (look, bits) in &self.slid {
            let ends = [(0.0, *bits), (last, *bits)];
            line(&mut chart, &ends, Stroke::dashed(look.colour()))?;
        }
        for series in &self.all {
            series.draw_band(&mut chart)?;
        }
        for series in &self.all {
            series.draw_markers(&mut chart, &series.points, 3, 0.45)?;
            series.draw_line(&mut chart)?;
            series.draw_markers(&mut chart, &series.mean, 5, 1.0)?;
        }
        Ok(())
    }
}

/// What a token is called.
fn token(task: &TaskFacts) -> &str {
    match &task.measure {
        crate::task::Measure::Bits { token } => token,
        _ => "token",
    }
}

/// The curves by position in the longest window, in groups of positions: a single one is asked for too rarely.
fn by_position(
    data: &Data<'_>,
    task: &TaskFacts,
    language: &LanguageSummary,
) -> Result<Option<Figure>, LabError> {
    let (Some(trained), Some(longest)) = (language.lengths.first(), language.lengths.last()) else {
        return Ok(None);
    };
    let group = (trained / 4).max(1);
    let all: Vec<Series> = series(data, task, Bounds::LOSS, |measures| {
        let of_length = measures
            .scores
            .iter()
            .find(|score| score.length == *longest);
        let places = of_length.map_or(&[][..], |score| &score.by_position);
        let groups = places.chunks(group).map(|group| {
            let sum: f64 = group.iter().map(|place| place.score.value()).sum();
            (
                group[0].position + group.len() / 2,
                sum / group.len() as f64,
            )
        });
        groups.collect()
    });
    if all.iter().all(|series| series.mean.len() < 2) {
        return Ok(None);
    }
    let x = Axis::round(
        &format!("position in a window of {longest} {}s", token(task)),
        0.0..*longest as f64 * 1.02,
        9,
    );
    let means = all
        .iter()
        .flat_map(|series| series.mean.iter().map(|at| at.1));
    let y = around(&task.measure.axis(), means);
    let mut entries = legend(&all);
    entries.push(trained_key("positions seen in training"));
    figure(
        stem("position", &task.name),
        format!("{}: {} by position", task.title, task.measure.name()),
        format!(
            "The mean over seeds for every {group} positions of windows of {longest}. The first tokens of a window \
             have little text before them. A line that rises at the end of the shade \
             is of a scheme that fails at positions it was not trained on."
        ),
        HEIGHT,
        &entries,
        |page, top| {
            let mut chart = panel(page, (top, HEIGHT), x, &y, Some((0.0, *trained as f64)))?;
            for (nth, series) in all.iter().enumerate() {
                series.draw_line(&mut chart)?;
                series.draw_some_markers(&mut chart, nth, 8)?;
            }
            Ok(())
        },
    )
    .map(Some)
}
