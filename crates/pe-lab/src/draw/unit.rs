//! What other files of this folder share: lengths and colours for `plotters`, and errors.

use std::fmt::Display;

use plotters::drawing::DrawingAreaErrorKind;
use plotters::style::RGBColor;

use super::colour::Rgb;
use crate::error::LabError;

/// How many of `plotters`' pixels a pixel of the page has.
pub(super) const UNIT: i32 = 4;
/// The size of an axis label, in pixels.
pub(super) const LABEL: i32 = 12;

/// A colour as `plotters` takes it.
pub(super) fn ink([red, green, blue]: Rgb) -> RGBColor {
    RGBColor(red, green, blue)
}

/// What went wrong, as an error of drawing.
pub(super) fn failed(reason: impl Display) -> LabError {
    LabError::Drawing(reason.to_string())
}

impl From<DrawingAreaErrorKind<std::io::Error>> for LabError {
    fn from(error: DrawingAreaErrorKind<std::io::Error>) -> Self {
        failed(error)
    }
}
