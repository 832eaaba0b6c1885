//! A picture of the report with its words.

/// A picture of the report with its words.
#[derive(Clone, Debug, serde::Serialize)]
pub struct Figure {
    /// Its file name without the ending. No other figure of the report has it.
    pub name: String,
    /// What it shows, in a few words.
    pub title: String,
    /// How to read it.
    pub caption: String,
    /// The picture: an SVG document.
    pub svg: String,
}
