//! A report for a paper: its tables as Markdown and LaTeX, a paragraph of methods with its sources, and its pictures as PDF (in a build with the feature `pdf`, otherwise as SVG).
//! All of it is made from the summary and the figures of the report.
//!
//! | file | what it holds |
//! |---|---|
//! | `grid` | a table as data, as Markdown and as LaTeX |
//! | `tables` | the tables of a study |
//! | `references` | the sources |
//! | `methods` | the paragraph of methods |

mod grid;
mod methods;
mod references;
mod tables;
#[cfg(test)]
mod tests;

use super::charts::Figure;
use super::summary::Summary;
use crate::console::tell;
use crate::draw;
use crate::error::LabError;
use crate::folder::{Entry, make_folder, write_whole};

pub use grid::{DASH, Grid, Row, latex_of, markdown, markdown_of};

/// Writes the files of a paper to a folder, and returns their paths.
///
/// # Errors
///
/// When a picture cannot be drawn, or the folder not be written.
pub fn write(
    folder: &Entry,
    summary: &Summary,
    figures: &[Figure],
) -> Result<Vec<Entry>, LabError> {
    make_folder(folder)?;
    let grids = tables::grids(summary);
    let methods = methods::paragraph(summary)?;
    let mut texts = vec![
        ("table.md", markdown_of(&grids)),
        ("table.tex", latex_of(&grids)),
    ];
    if !methods.is_empty() {
        texts.extend([
            ("methods.md", methods::markdown_of(&methods)),
            ("methods.tex", methods::latex_of(&methods)),
            ("references.bib", methods::bibliography(&methods)),
        ]);
    }
    let mut written = Vec::new();
    for (name, text) in texts {
        let file = folder.entry(name);
        write_whole(&file, text.as_bytes())?;
        written.push(file);
    }
    let ending = if draw::PDF_IN_BUILD { "pdf" } else { "svg" };
    for figure in figures {
        let file = folder.entry(format!("{}.{ending}", figure.name));
        draw::write(&figure.svg, &file)?;
        written.push(file);
    }
    if !draw::PDF_IN_BUILD && !figures.is_empty() {
        tell("the pictures in paper/ are SVG; a build with --features pdf writes them as PDF");
    }
    Ok(written)
}
