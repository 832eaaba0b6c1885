//! Writing a picture in the format that its file name asks for.

use std::path::Path;

use super::{pdf, png};
use crate::error::LabError;
use crate::folder::{Entry, write_whole};

/// The kinds of file that a picture can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines and text, sharp at any size.
    Svg,
    /// Pixels, two for each pixel of the page.
    Png,
    /// As SVG, for a paper; the letters are lines.
    Pdf,
}

impl Format {
    /// The format that the end of a file's name asks for.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when it is neither `.svg` nor `.png` nor `.pdf`.
    pub fn of(file: &Path) -> Result<Self, LabError> {
        let extension = file.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            Some("pdf") => match pdf::IN_BUILD {
                true => Ok(Self::Pdf),
                // Returns the error that every picture as PDF has in this build.
                false => pdf::render("").map(|_| Self::Pdf),
            },
            _ => Err(LabError::Usage(format!(
                "{} ends in none of .svg, .png and .pdf; the end of the name chooses the format, so choose \
                 another name",
                file.display()
            ))),
        }
    }
}

/// Writes a picture, whole or not at all, in the format that the file's name asks for.
///
/// # Errors
///
/// When the name asks for no known format, or the file cannot be written.
pub fn write(svg: &str, file: &Entry) -> Result<(), LabError> {
    let bytes = match Format::of(file)? {
        Format::Svg => svg.as_bytes().to_vec(),
        Format::Png => png::render(svg)?,
        Format::Pdf => pdf::render(svg)?,
    };
    write_whole(file, &bytes)
}
