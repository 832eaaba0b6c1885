//! One SVG per task: accuracy against length, or, for a task with one length, by scheme.

use std::error::Error;
use std::path::{Path, PathBuf};

use plotters::coord::Shift;
use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::summary::TaskSummary;
use crate::error::LabError;
use crate::files::write_whole;
use crate::study::Study;

type Area<'a> = DrawingArea<SVGBackend<'a>, Shift>;
type Drawn<'a> = Result<(), Box<dyn Error + 'a>>;

/// The palette of Okabe and Ito (2008), which colour-blind readers can tell apart.
const COLOURS: [RGBColor; 7] = [
    RGBColor(0, 0, 0),
    RGBColor(0, 114, 178),
    RGBColor(213, 94, 0),
    RGBColor(0, 158, 115),
    RGBColor(204, 121, 167),
    RGBColor(230, 159, 0),
    RGBColor(86, 180, 233),
];
const SIZE: (u32, u32) = (760, 460);
const FONT: &str = "sans-serif";

/// The accuracy of one scheme: every seed's points, and their mean.
struct Line {
    scheme: String,
    style: usize,
    points: Vec<(f64, f64)>,
    mean: Vec<(f64, f64)>,
}

/// Draws the chart of a task into `chart-TASK.svg`.
pub fn write(study: &Study, task: &TaskSummary, folder: &Path) -> Result<PathBuf, LabError> {
    let path = folder.join(format!("chart-{}.svg", task.task));
    let lines = lines(study, task);
    let mut svg = String::new();
    let drawn = {
        let area = SVGBackend::with_string(&mut svg, SIZE).into_drawing_area();
        let draw = if task.lengths.iter().map(Vec::len).sum::<usize>() > 1 {
            by_length
        } else {
            by_scheme
        };
        draw(&area, task, &lines, &floor(study, task)).and_then(|()| Ok(area.present()?))
    };
    drawn.map_err(|error| LabError::Chart {
        path: path.clone(),
        reason: error.to_string(),
    })?;
    write_whole(&path, svg.as_bytes())?;
    Ok(path)
}

fn lines(study: &Study, task: &TaskSummary) -> Vec<Line> {
    let schemes = task.schemes.iter().enumerate();
    schemes
        .map(|(index, summary)| {
            // A scheme looks the same on every chart, whatever it is compared with.
            let style = crate::scheme::names()
                .iter()
                .position(|name| *name == summary.scheme);
            let measured = study
                .results
                .iter()
                .filter(|r| r.spec.task == task.task && r.spec.scheme.name() == summary.scheme)
                .filter_map(|result| result.measures());
            let points: Vec<(f64, f64)> = measured
                .flat_map(|measures| &measures.scores)
                .map(|score| (score.length as f64, score.accuracy))
                .collect();
            let lengths = task.lengths.iter().flatten().map(|length| *length as f64);
            let mean = lengths.filter_map(|length| {
                let at: Vec<f64> = points
                    .iter()
                    .filter(|p| p.0 == length)
                    .map(|p| p.1)
                    .collect();
                (!at.is_empty()).then(|| (length, at.iter().sum::<f64>() / at.len() as f64))
            });
            Line {
                scheme: summary.scheme.clone(),
                style: style.unwrap_or(index),
                mean: mean.collect(),
                points,
            }
        })
        .collect()
}

fn floor(study: &Study, task: &TaskSummary) -> Vec<(f64, f64)> {
    let of_task = |result: &&crate::trial::TrialResult| result.spec.task == task.task;
    let measured = study
        .results
        .iter()
        .filter(of_task)
        .find_map(|result| result.measures());
    let scores = measured
        .map(|measures| measures.scores.as_slice())
        .unwrap_or_default();
    scores
        .iter()
        .map(|score| (score.length as f64, score.floor))
        .collect()
}

fn colour(style: usize) -> RGBColor {
    COLOURS[style % COLOURS.len()]
}

/// The outline of a point around (0, 0) in pixels: every scheme has a shape beside its colour.
fn outline(style: usize) -> PathElement<(i32, i32)> {
    let path: &[(i32, i32)] = match style % 3 {
        0 => &[
            (4, 0),
            (3, 3),
            (0, 4),
            (-3, 3),
            (-4, 0),
            (-3, -3),
            (0, -4),
            (3, -3),
            (4, 0),
        ],
        1 => &[(-5, 4), (0, -5), (5, 4), (-5, 4)],
        _ => &[(-4, -4), (4, 4), (0, 0), (4, -4), (-4, 4)],
    };
    PathElement::new(path, colour(style).stroke_width(2))
}

fn title(task: &TaskSummary, seeds: &str) -> String {
    format!(
        "{}: accuracy after {} steps ({seeds})",
        task.task, task.steps
    )
}

fn by_length<'a>(
    area: &Area<'a>,
    task: &TaskSummary,
    lines: &[Line],
    floor: &[(f64, f64)],
) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let longest = task.lengths.iter().flatten().copied().max().unwrap_or(1) as f64;
    let mut chart = ChartBuilder::on(area)
        .caption(title(task, "line: mean, points: every seed"), (FONT, 17))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d(0.0..longest * 1.04, 0.0..1.05)?;
    if let Ok(known) = crate::task::by_name(&task.task) {
        let trained = known.train_lengths();
        let corners = [
            (*trained.start() as f64, 0.0),
            (*trained.end() as f64, 1.05),
        ];
        chart
            .draw_series([Rectangle::new(corners, RGBColor(225, 225, 225).filled())])?
            .label("lengths seen in training")
            .legend(|(x, y)| {
                Rectangle::new(
                    [(x, y - 5), (x + 22, y + 5)],
                    RGBColor(225, 225, 225).filled(),
                )
            });
    }
    chart
        .configure_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("sequence length (tokens)")
        .y_desc("accuracy (share of answers that are right)")
        .x_label_formatter(&|x| format!("{x:.0}"))
        .y_label_formatter(&|y| format!("{y:.1}"))
        .axis_desc_style((FONT, 14))
        .label_style((FONT, 13))
        .draw()?;
    let dashed = BLACK.mix(0.6).stroke_width(1);
    chart
        .draw_series(DashedLineSeries::new(floor.iter().copied(), 5, 4, dashed))?
        .label(format!("floor: {}", task.floor_about))
        .legend(|(x, y)| {
            let dash = |from: i32| PathElement::new([(from, 0), (from + 6, 0)], BLACK.mix(0.6));
            EmptyElement::at((x, y)) + dash(0) + dash(10)
        });
    for line in lines {
        let style = line.style;
        let stroke = colour(style).stroke_width(2);
        chart
            .draw_series(LineSeries::new(line.mean.iter().copied(), stroke))?
            .label(&line.scheme)
            .legend(move |(x, y)| {
                EmptyElement::at((x + 11, y))
                    + PathElement::new([(-11, 0), (11, 0)], colour(style).stroke_width(2))
                    + outline(style)
            });
        chart.draw_series(
            line.points
                .iter()
                .map(|p| EmptyElement::at(*p) + outline(style)),
        )?;
    }
    chart
        .configure_series_labels()
        .position(SeriesLabelPosition::UpperRight)
        .background_style(WHITE.mix(0.9))
        .border_style(BLACK.mix(0.3))
        .label_font((FONT, 13))
        .legend_area_size(30)
        .margin(8)
        .draw()?;
    Ok(())
}

fn by_scheme<'a>(
    area: &Area<'a>,
    task: &TaskSummary,
    lines: &[Line],
    floor: &[(f64, f64)],
) -> Drawn<'a> {
    area.fill(&WHITE)?;
    let names: Vec<&str> = lines.iter().map(|line| line.scheme.as_str()).collect();
    let mut chart = ChartBuilder::on(area)
        .caption(title(task, "bar: mean, points: every seed"), (FONT, 17))
        .margin(14)
        .x_label_area_size(42)
        .y_label_area_size(52)
        .build_cartesian_2d(
            (0..lines.len().saturating_sub(1)).into_segmented(),
            0.0..1.05,
        )?;
    chart
        .configure_mesh()
        .disable_x_mesh()
        .light_line_style(TRANSPARENT)
        .bold_line_style(BLACK.mix(0.12))
        .x_desc("positional scheme")
        .y_desc("accuracy on held-out data (share right)")
        .x_label_formatter(&|segment| match segment {
            SegmentValue::CenterOf(i) => names.get(*i).unwrap_or(&"").to_string(),
            _ => String::new(),
        })
        .y_label_formatter(&|y| format!("{y:.1}"))
        .axis_desc_style((FONT, 14))
        .label_style((FONT, 13))
        .draw()?;
    for (i, line) in lines.iter().enumerate() {
        let Some((_, mean)) = line.mean.first() else {
            continue;
        };
        let corners = [
            (SegmentValue::Exact(i), 0.0),
            (SegmentValue::Exact(i + 1), *mean),
        ];
        let mut bar = Rectangle::new(corners, colour(line.style).mix(0.35).filled());
        bar.set_margin(0, 0, 60, 60);
        chart.draw_series([bar])?;
        let center = SegmentValue::CenterOf(i);
        let points = line
            .points
            .iter()
            .map(|(_, y)| EmptyElement::at((center.clone(), *y)) + outline(line.style));
        chart.draw_series(points)?;
        let highest = line
            .points
            .iter()
            .map(|point| point.1)
            .fold(*mean, f64::max);
        let centered = Pos::new(HPos::Center, VPos::Bottom);
        let style = (FONT, 14).into_font().color(&BLACK).pos(centered);
        let label = Text::new(
            format!("{mean:.3}"),
            (center.clone(), highest + 0.02),
            style,
        );
        chart.draw_series([label])?;
    }
    if let Some((_, floor)) = floor.first() {
        let ends = [SegmentValue::Exact(0), SegmentValue::Exact(lines.len())];
        let dashed = BLACK.mix(0.6).stroke_width(1);
        chart
            .draw_series(DashedLineSeries::new(
                ends.map(|x| (x, *floor)),
                5,
                4,
                dashed,
            ))?
            .label(format!("floor: {}", task.floor_about))
            .legend(|(x, y)| {
                let dash = |from: i32| PathElement::new([(from, 0), (from + 6, 0)], BLACK.mix(0.6));
                EmptyElement::at((x, y)) + dash(0) + dash(10)
            });
        chart
            .configure_series_labels()
            .position(SeriesLabelPosition::UpperLeft)
            .background_style(WHITE.mix(0.9))
            .border_style(BLACK.mix(0.3))
            .label_font((FONT, 13))
            .draw()?;
    }
    Ok(())
}
