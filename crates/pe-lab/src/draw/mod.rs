//! How every picture of the laboratory is drawn: the charts of a report and the pictures of
//! `pe-lab plot` share one page, one kind of axis and one set of colours.
//!
//! | file | what it holds |
//! |---|---|
//! | `colour` | the colours, for values, for scores and for lines |
//! | `axis` | an axis: its ends, its labels, its name |
//! | `page` | a page with a title: texts, charts, images, legends, colour bars |
//! | `look` | the colour, the dashes and the marker of a scheme, the same on every picture of a study |
//! | `curve` | a named line of a chart, and the legend of several |
//! | `mark` | what is drawn inside a chart: lines, markers, bands |
//! | `unit` | the unit of length, colours for `plotters`, and errors |
//! | `raster` | a grid of values as pixels |
//! | `png` | from SVG to PNG |
//! | `pdf` | from SVG to PDF |
//! | `title` | a picture without its title |
//! | `file` | writing a picture in the format that its file name asks for |
//!
//! Lines, text and axes are drawn by the crate `plotters`, the colours come from `colorous`.

mod axis;
pub mod colour;
mod curve;
mod file;
mod look;
mod mark;
mod page;
mod pdf;
mod png;
mod raster;
mod title;
mod unit;

pub(crate) use axis::{Axis, Side, label_width};
pub(crate) use curve::Curve;
pub use file::{Format, write};
pub use look::Look;
pub(crate) use mark::{Chart, Stroke, band, dots, line, markers};
pub(crate) use page::{
    Key, Lines, Page, Rect, SHARP, Words, below_subtitle, escaped, legend_height, page, text_width,
};
pub use pdf::IN_BUILD as PDF_IN_BUILD;
pub(crate) use raster::{Fit, Image, Raster};
pub use title::without_title;
