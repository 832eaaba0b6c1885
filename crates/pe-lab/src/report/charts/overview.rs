//! The picture beside the answer: a line for each scheme with its mean, its interval and every seed, inside and beyond.

use super::panel::{Figure, Rows};
use crate::draw::{Axis, Look, Stroke, line, markers};
use crate::error::LabError;
use crate::report::comparison::Part;
use crate::report::summary::{Aggregate, SchemeOverall, Summary};
use crate::report::words::capitalized;

/// Narrow enough for a phone, where the two pictures stand one below the other.
const WIDTH: i32 = 380;
const ROW: i32 = 30;

/// A picture for each part in which schemes are compared. They have the same axes, so that they can stand side by side.
pub fn draw(summary: &Summary) -> Result<Vec<Figure>, LabError> {
    let parts = || summary.headlines.iter().map(|headline| headline.part);
    let scores =
        parts().flat_map(|part| summary.schemes.iter().filter_map(move |of| of.part(part)));
    // The axis begins at the floor, or at the lowest mean or seed if that is below it.
    let lowest = scores
        .flat_map(|of| of.seeds.iter().map(|seed| seed.normalized).chain([of.mean]))
        .fold(0.0, f64::min);
    parts().map(|part| of_part(summary, part, lowest)).collect()
}

fn of_part(summary: &Summary, part: Part, lowest: f64) -> Result<Figure, LabError> {
    let schemes: Vec<(&SchemeOverall, &Aggregate)> = summary
        .schemes
        .iter()
        .filter_map(|of| Some((of, of.part(part)?)))
        .collect();
    let place = match summary.headlines.len() > 1 {
        true => capitalized(part.in_words(summary.resolutions())),
        false if summary.study().is_none() => "By these scores".into(),
        false => "On data that was held out".into(),
    };
    let score = match summary.study() {
        Some(_) => "score (0: no skill, 1: perfect)",
        None => "score (higher is better)",
    };
    let rows = Rows {
        width: WIDTH,
        row: ROW,
        x: Axis::round(score, lowest..1.0, 6),
        y: Axis::rows(schemes.iter().map(|(of, _)| shortened(&of.scheme))),
    };
    let name = match part {
        Part::Inside => "overview-inside",
        Part::Beyond => "overview-beyond",
    };
    rows.figure(
        name.into(),
        &place,
        "Large mark: the mean of a scheme over tasks and seeds. Line: its 95 % interval over seeds, from the lowest \
         score of the chart on. Small marks: every seed."
            .into(),
        &[],
        |_, chart, _, middles| {
            for ((of, score), at) in schemes.iter().zip(middles) {
                let look = Look::of(&of.scheme, summary.origin.schemes());
                let (at, colour) = (*at, look.colour());
                if let Some(interval) = score.interval {
                    // What lies below the lowest run is not shown.
                    let ends = [interval.low, interval.high].map(|end| (end.max(lowest), at));
                    line(chart, &ends, Stroke::solid(colour))?;
                }
                let seeds = score.seeds.iter().map(|seed| (seed.normalized, at));
                let seeds: Vec<(f64, f64)> = seeds.collect();
                markers(chart, &seeds, (look.marker(), 3), (colour, 0.45))?;
                markers(chart, &[(score.mean, at)], (look.marker(), 6), (colour, 1.0))?;
            }
            Ok(())
        },
    )
}

/// A name that leaves room for the picture.
fn shortened(scheme: &str) -> String {
    const MOST: usize = 18;
    match scheme.chars().count() {
        few if few <= MOST => scheme.to_string(),
        _ => scheme.chars().take(MOST - 1).chain(['\u{2026}']).collect(),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::report::synthetic::Synthetic;
    use resvg::usvg::roxmltree::Document;

    #[test]
    fn both_parts_have_a_row_for_each_scheme_and_fit_a_phone() {
        let study = Synthetic::large(3);
        let summary = Summary::of(&study.data());
        let figures = draw(&summary).unwrap();
        assert_eq!(figures.len(), 2);
        for figure in &figures {
            let tree = Document::parse(&figure.svg).unwrap();
            assert_eq!(tree.root_element().attribute("width"), Some("380"));
            let texts = tree.descendants().filter(|node| node.has_tag_name("text"));
            let texts: Vec<&str> = texts.filter_map(|text| Some(text.text()?.trim())).collect();
            for scheme in summary.origin.schemes() {
                let is_named = texts.contains(&scheme.as_str());
                assert!(is_named, "{scheme} in {}", figure.name);
            }
        }
        // One part has one picture, and a study without scores none.
        let none = Synthetic::new(&["mine"], &["a"], 1);
        assert!(draw(&Summary::of(&none.data())).unwrap().is_empty());
        let one = none.score("mine", "a", 1, &[(10, 0.9)]);
        assert_eq!(draw(&Summary::of(&one.data())).unwrap().len(), 1);
        let short = shortened("rotary(share=0.25, base=500000)");
        assert_eq!(short.chars().count(), 18);
    }
}
