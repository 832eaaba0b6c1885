//! The scores of a task with one length: a bar for each scheme, a mark for each seed.

use plotters::prelude::*;
use plotters::style::text_anchor::{HPos, Pos, VPos};

use super::{
    FONT, Figure, GREY, Key, Legend, MEDIUM, SMALL, WIDTH, draw_floor, figure, series, stem,
    text_width, write,
};
use crate::error::LabError;
use crate::report::data::{Data, TaskFacts};
use crate::report::fixed;

const ROW: u32 = 40;
const AXIS: u32 = 44;

pub fn draw(data: &Data<'_>, task: &TaskFacts) -> Result<Option<Figure>, LabError> {
    let all = series(data, task, |measures| {
        let scores = measures.scores.iter();
        scores.map(|score| (score.length, score.accuracy)).collect()
    });
    if all.is_empty() {
        return Ok(None);
    }
    let floor = super::length::floor(data, task).first().map(|at| at.1);
    let names = all.iter().map(|series| text_width(&series.scheme, MEDIUM));
    let left = (names.max().unwrap_or(0) + 42).clamp(84, WIDTH as i32 / 2) as u32;
    let rows = all.len() as u32;
    let legend = Legend {
        entries: vec![(Key::Floor, format!("floor: {}", task.floor_about))],
    };
    figure(
        stem("chart", &task.name),
        format!("{}: accuracy after {} steps", task.name, task.steps),
        "Bar and number: the mean over seeds. Marks: every seed. Line: the 95 % interval over seeds, \
         where there are two or more."
            .into(),
        rows * ROW + AXIS + 8,
        &legend,
        |area| {
            let mut plane = ChartBuilder::on(area)
                .margin(4)
                .margin_right(18)
                .x_label_area_size(AXIS)
                .y_label_area_size(left)
                .build_cartesian_2d(0.0..1.12, 0.0..f64::from(rows))?;
            plane
                .configure_mesh()
                .light_line_style(TRANSPARENT)
                .bold_line_style(BLACK.mix(0.1))
                .disable_y_mesh()
                .disable_y_axis()
                .x_labels(6)
                .y_desc("positional scheme")
                .x_desc("accuracy on held-out data (share right)")
                .x_label_formatter(&|x| format!("{x:.1}"))
                .axis_desc_style((FONT, MEDIUM))
                .label_style((FONT, SMALL))
                .draw()?;
            for (nth, series) in all.iter().enumerate() {
                let middle = f64::from(rows) - nth as f64 - 0.5;
                let (Some((_, mean)), look) = (series.mean.first(), series.look) else {
                    continue;
                };
                let corners = [(0.0, middle - 0.3), (*mean, middle + 0.3)];
                let bar = Rectangle::new(corners, look.colour().mix(0.3).filled());
                plane.draw_series([bar])?;
                let mut end = *mean;
                if let Some((_, interval)) = series.band.first() {
                    let line = vec![(interval.low, middle), (interval.high, middle)];
                    let stroke = look.colour().stroke_width(2);
                    plane.draw_series([PathElement::new(line, stroke)])?;
                    end = end.max(interval.high);
                }
                for (_, accuracy) in &series.points {
                    let mark = EmptyElement::at((*accuracy, middle)) + look.marker(4, 0.7);
                    plane.draw_series([mark])?;
                    end = end.max(*accuracy);
                }
                let number = (FONT, SMALL).into_font().color(&BLACK);
                let number = number.pos(Pos::new(HPos::Left, VPos::Center));
                let at = (end + 0.015, middle);
                plane.draw_series([Text::new(fixed(*mean, 3), at, number)])?;
                let (_, y) = plane.backend_coord(&(0.0, middle));
                let (_, top) = area.get_base_pixel();
                let place = (left as i32 - 6, y - top);
                write(area, &series.scheme, place, MEDIUM, (HPos::Right, VPos::Center))?;
            }
            if let Some(floor) = floor {
                draw_floor(&mut plane, &[(floor, 0.0), (floor, f64::from(rows))])?;
            }
            let (_, axis) = plane.backend_coord(&(0.0, 0.0));
            let (_, top) = area.get_base_pixel();
            let foot = [(left as i32 + 4, axis - top), (left as i32 + 4, 4)];
            area.draw(&PathElement::new(foot.to_vec(), GREY.stroke_width(1)))?;
            Ok(())
        },
    )
    .map(Some)
}
