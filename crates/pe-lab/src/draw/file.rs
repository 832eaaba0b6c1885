//! Writing a picture in the format that its file name asks for.

use std::path::Path;

use super::png;
use crate::error::LabError;
use crate::folder::{Entry, write_whole};

/// The kinds of file that a picture can be.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Format {
    /// Lines and text, sharp at any size.
    Svg,
    /// Pixels, two for each pixel of the page.
    Png,
}

impl Format {
    /// The format that the end of a file's name asks for.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] when it is neither `.svg` nor `.png`.
    pub fn of(file: &Path) -> Result<Self, LabError> {
        let extension = file.extension().and_then(|extension| extension.to_str());
        match extension.map(str::to_ascii_lowercase).as_deref() {
            Some("svg") => Ok(Self::Svg),
            Some("png") => Ok(Self::Png),
            _ => Err(LabError::Usage(format!(
                "{} ends in neither .svg nor .png; the end of the name chooses the format, so choose \
                 another name with --out",
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
pub fn write(svg: &str, file: &Path) -> Result<(), LabError> {
    let bytes = match Format::of(file)? {
        Format::Svg => svg.as_bytes().to_vec(),
        Format::Png => png::render(svg)?,
    };
    write_whole(&Entry::named(file), &bytes)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_name_says_the_format() {
        assert_eq!(Format::of(Path::new("a/b.svg")).unwrap(), Format::Svg);
        assert_eq!(Format::of(Path::new("B.PNG")).unwrap(), Format::Png);
        for wrong in ["a.pdf", "svg", "a.svg/b", ""] {
            let error = Format::of(Path::new(wrong)).unwrap_err();
            assert_eq!(error.exit_code(), 2, "{wrong}");
        }
    }
}
