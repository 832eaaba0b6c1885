//! Heat maps: every scheme on every task at a glance.

use plotters::prelude::*;
use plotters::style::FontTransform;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{Area, Drawn, FONT, Figure, Legend, MEDIUM, SMALL, WIDTH, figure, text_width, write};
use crate::error::LabError;
use crate::report::compare::Part;
use crate::report::fixed;
use crate::report::summary::Summary;

const ROW: i32 = 30;
const SCALE: i32 = 46;

pub fn draw(summary: &Summary) -> Result<Vec<Figure>, LabError> {
    let parts: Vec<Part> = Part::ALL
        .into_iter()
        .filter(|part| summary.schemes.iter().any(|s| s.part(*part).is_some()))
        .collect();
    let two_parts = summary.tasks.iter().any(|task| task.has(Part::Beyond));
    let grid = Grid::of(summary);
    let heights: Vec<i32> = parts
        .iter()
        .map(|part| grid.height(summary.tasks.iter().filter(|t| t.has(*part)).count()))
        .collect();
    if parts.is_empty() {
        return Ok(Vec::new());
    }
    let legend = Legend {
        entries: Vec::new(),
    };
    let drawn = figure(
        "heat-map".into(),
        "Normalized score of every scheme on every task".into(),
        "0 is the floor, what takes no skill; 1 is all right. Means over the seeds. A cell without a \
         number has no result."
            .into(),
        (heights.iter().sum::<i32>() + SCALE) as u32,
        &legend,
        |area| {
            let mut top = 0;
            for (part, height) in parts.iter().zip(heights) {
                let name = match (part, two_parts) {
                    (Part::Inside, true) => "inside the training lengths, or held-out data",
                    (Part::Inside, false) => "on held-out data",
                    (Part::Beyond, _) => "beyond the training lengths",
                };
                grid.panel(area, top, summary, *part, name)?;
                top += height;
            }
            scale(area, top)
        },
    )?;
    Ok(vec![drawn])
}

/// Where the cells of a panel lie.
struct Grid {
    left: i32,
    column: i32,
    /// Names of schemes that are wider than their column are turned.
    turned: bool,
    names: i32,
}

impl Grid {
    const TITLE: i32 = 26;

    fn of(summary: &Summary) -> Self {
        let widest = |names: &mut dyn Iterator<Item = &String>| {
            names.map(|name| text_width(name, SMALL)).max().unwrap_or(0)
        };
        let tasks = widest(&mut summary.tasks.iter().map(|task| &task.task));
        let schemes = widest(&mut summary.schemes.iter().map(|scheme| &scheme.scheme));
        let left = (tasks + 22).clamp(60, 240);
        let columns = summary.schemes.len().max(1) as i32;
        let column = ((WIDTH as i32 - left - 12) / columns).min(110);
        let turned = schemes + 6 > column;
        Self {
            left,
            column,
            turned,
            names: if turned { schemes.min(160) + 8 } else { 24 },
        }
    }

    fn height(&self, rows: usize) -> i32 {
        Self::TITLE + self.names + rows as i32 * ROW + 12
    }

    fn panel(&self, area: &Area<'_>, top: i32, summary: &Summary, part: Part, name: &str) -> Drawn {
        let (left, vertical) = (HPos::Left, VPos::Center);
        write(
            area,
            name,
            (12, top + Self::TITLE / 2),
            MEDIUM,
            (left, vertical),
        )?;
        let first = top + Self::TITLE + self.names;
        let column = |nth: usize| self.left + nth as i32 * self.column;
        for (nth, scheme) in summary.schemes.iter().enumerate() {
            let middle = column(nth) + self.column / 2;
            let style = (FONT, SMALL).into_font().color(&BLACK);
            let style = if self.turned {
                let turned = style.transform(FontTransform::Rotate270);
                turned.pos(Pos::new(HPos::Left, VPos::Center))
            } else {
                style.pos(Pos::new(HPos::Center, VPos::Bottom))
            };
            let at = (middle, first - 5);
            area.draw(&Text::new(scheme.scheme.clone(), at, style))?;
        }
        for (row, task) in summary.tasks.iter().filter(|t| t.has(part)).enumerate() {
            let y = first + row as i32 * ROW;
            let at = (self.left - 8, y + ROW / 2);
            write(area, &task.task, at, SMALL, (HPos::Right, VPos::Center))?;
            for (nth, scheme) in task.schemes.iter().enumerate() {
                let x = column(nth);
                let corners = [(x, y), (x + self.column - 1, y + ROW - 1)];
                let Some(group) = scheme.part(part) else {
                    area.draw(&Rectangle::new(corners, BLACK.mix(0.25).stroke_width(1)))?;
                    continue;
                };
                let fill = shade(group.normalized);
                area.draw(&Rectangle::new(corners, fill.filled()))?;
                let ink = ink_on(fill);
                let style = (FONT, SMALL).into_font().color(&ink);
                let style = style.pos(Pos::new(HPos::Center, VPos::Center));
                let at = (x + self.column / 2, y + ROW / 2);
                area.draw(&Text::new(fixed(group.normalized, 2), at, style))?;
            }
        }
        Ok(())
    }
}

/// From nearly white at 0 to dark blue at 1: the lightness falls evenly, which every reader sees.
fn shade(score: f64) -> RGBColor {
    let anchors = [
        (240, 244, 250),
        (150, 196, 226),
        (51, 127, 188),
        (8, 48, 107),
    ];
    let place = score.clamp(0.0, 1.0) * (anchors.len() - 1) as f64;
    let from = (place.floor() as usize).min(anchors.len() - 2);
    let part = place - from as f64;
    let mix = |a: i32, b: i32| (f64::from(a) + part * f64::from(b - a)).round() as u8;
    let (a, b) = (anchors[from], anchors[from + 1]);
    RGBColor(mix(a.0, b.0), mix(a.1, b.1), mix(a.2, b.2))
}

/// Black or white, whichever is easier to read on a colour.
fn ink_on(ground: RGBColor) -> RGBColor {
    // Where black and white contrast equally: (1 + 0.05) / (l + 0.05) = (l + 0.05) / 0.05.
    if luminance(ground) > 0.1791 {
        BLACK
    } else {
        WHITE
    }
}

/// The relative luminance of a colour, as the Web Content Accessibility Guidelines 2.1 define it.
fn luminance(colour: RGBColor) -> f64 {
    let linear = |value: u8| {
        let value = f64::from(value) / 255.0;
        if value <= 0.04045 {
            value / 12.92
        } else {
            ((value + 0.055) / 1.055).powf(2.4)
        }
    };
    0.2126 * linear(colour.0) + 0.7152 * linear(colour.1) + 0.0722 * linear(colour.2)
}

fn scale(area: &Area<'_>, top: i32) -> Drawn {
    let (left, width, steps) = (WIDTH as i32 / 2 - 150, 300, 60);
    for step in 0..steps {
        let x = left + step * width / steps;
        // Neighbours overlap by a pixel, so that no seam shows.
        let corners = [(x, top + 6), (x + width / steps + 1, top + 18)];
        let fill = shade(f64::from(step) / f64::from(steps - 1));
        area.draw(&Rectangle::new(corners, fill.filled()))?;
    }
    for (text, x) in [
        ("0: the floor", left),
        ("0.5", left + width / 2),
        ("1: all right", left + width),
    ] {
        let at = (x, top + 24);
        write(area, text, at, SMALL, (HPos::Center, VPos::Top))?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_can_be_read_on_every_shade() {
        let mut before = f64::MAX;
        for step in 0..=100 {
            let score = f64::from(step) / 100.0;
            let ground = luminance(shade(score));
            let ink = luminance(ink_on(shade(score)));
            let (light, dark) = (ground.max(ink), ground.min(ink));
            let contrast = (light + 0.05) / (dark + 0.05);
            assert!(contrast >= 4.5, "{contrast:.2} at {score}");
            assert!(ground < before, "darker with every step");
            before = ground;
        }
        assert_eq!(shade(-0.3), shade(0.0));
        assert_eq!(shade(7.0), shade(1.0));
    }
}
