//! A named line of a chart, and the legend of several.

use super::mark::{Chart, Stroke, dots, line};
use super::page::Key;
use crate::error::LabError;

pub(crate) struct Curve {
    pub stroke: Stroke,
    /// What it is called in the legend, if it stands there.
    pub name: Option<String>,
    pub points: Vec<(f64, f64)>,
    /// Whether each point has a dot.
    pub dots: bool,
}

impl Curve {
    pub fn draw(&self, chart: &mut Chart) -> Result<(), LabError> {
        line(chart, &self.points, self.stroke)?;
        let points = self.points.iter().filter(|_| self.dots);
        dots(chart, points.map(|at| (*at, self.stroke.colour)), 2)
    }

    pub fn legend<'c>(curves: impl IntoIterator<Item = &'c Self>) -> Vec<(Key, String)> {
        let entry = |of: &'c Self| Some((Key::Line(of.stroke, None), of.name.clone()?));
        curves.into_iter().filter_map(entry).collect()
    }
}
