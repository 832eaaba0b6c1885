//! From SVG to PDF, for a paper. Letters become lines, so that the picture looks the same whatever fonts a reader has.

use crate::error::LabError;

/// Whether this build writes PDF.
pub const IN_BUILD: bool = cfg!(feature = "pdf");

/// The picture as a PDF of one page, as large as the picture: a pixel is 1/96 inch.
///
/// # Errors
///
/// When `svg` is not an SVG, or cannot be written as PDF.
#[cfg(feature = "pdf")]
pub fn render(svg: &str) -> Result<Vec<u8>, LabError> {
    use resvg::usvg::{Tree, WriteOptions};
    use svg2pdf::usvg as older;

    use super::unit::failed;

    let tree = Tree::from_str(svg, &super::png::options()).map_err(failed)?;
    // `svg2pdf` reads SVG with an older `usvg`, which knows no fonts: its letters are lines already.
    let outlines = tree.to_string(&WriteOptions::default());
    let tree = older::Tree::from_str(&outlines, &older::Options::default());
    let tree = tree.map_err(failed)?;
    let page = svg2pdf::PageOptions { dpi: 96.0 };
    svg2pdf::to_pdf(&tree, svg2pdf::ConversionOptions::default(), page).map_err(failed)
}

/// Refuses to draw: this build is without PDF.
///
/// # Errors
///
/// Always.
#[cfg(not(feature = "pdf"))]
pub fn render(_svg: &str) -> Result<Vec<u8>, LabError> {
    Err(LabError::Usage(
        "PDF is not in this build: build it with `cargo build --release --features pdf`, or choose .svg or .png".into(),
    ))
}

#[cfg(test)]
mod tests {
    use super::super::page::{Rect, Words, page};
    use super::super::raster::Image;
    use super::*;
    use crate::data::testing::Says;

    fn picture() -> String {
        page((300, 200), "A title", &[], |page| {
            let image = Image::new(1, &[[10, 20, 30], [200, 100, 0]])?;
            let rect = Rect {
                left: 40,
                top: 60,
                width: 80,
                height: 40,
            };
            page.image(rect, &image);
            page.text((20, 150), "letters", 12.0, Words::LEFT)
        })
        .unwrap()
    }

    #[test]
    fn a_picture_is_a_page_of_its_size_with_its_image() {
        let rendered = render(&picture());
        if !IN_BUILD {
            let error = rendered.unwrap_err();
            assert_eq!(error.exit_code(), 2);
            error.says("--features pdf");
            return;
        }
        let pdf = rendered.unwrap();
        assert!(pdf.starts_with(b"%PDF-1."));
        let text = String::from_utf8_lossy(&pdf);
        // 300 × 200 pixels of 1/96 inch are 225 × 150 points.
        text.says_all(&["/MediaBox [0 0 225 150]", "/Subtype /Image"]);
        assert!(!text.contains("/Font"), "letters are lines");
        assert!(render("no picture").is_err());
    }
}
