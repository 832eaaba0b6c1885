//! From SVG to PNG. The font is built in, so the picture looks the same on a machine without fonts.

use resvg::tiny_skia::{FilterQuality, Pixmap, PixmapPaint, Transform};
use resvg::usvg::{Group, ImageKind, Node, Options, Tree};

use super::unit::failed;
use crate::error::LabError;

/// Pixels of the PNG per pixel of the page.
pub const SCALE: f32 = 2.0;

/// Renders a page at twice its size.
///
/// # Errors
///
/// When `svg` is not an SVG, or there is no memory for its pixels.
pub fn render(svg: &str) -> Result<Vec<u8>, LabError> {
    let tree = Tree::from_str(svg, &options()).map_err(failed)?;
    let size = tree.size().to_int_size();
    let (width, height) = (size.width() as f32 * SCALE, size.height() as f32 * SCALE);
    let mut pixmap = Pixmap::new(width as u32, height as u32)
        .ok_or_else(|| failed(format!("no memory for {width} × {height} pixels")))?;
    let transform = Transform::from_scale(SCALE, SCALE);
    resvg::render(&tree, transform, &mut pixmap.as_mut());
    draw_images(tree.root(), transform, &mut pixmap)?;
    pixmap.encode_png().map_err(failed)
}

/// How an SVG is read: with the built-in font alone.
pub(super) fn options() -> Options<'static> {
    let mut options = Options::default();
    let fonts = options.fontdb_mut();
    fonts.load_font_data(dejavu::sans::regular().to_vec());
    fonts.load_font_data(dejavu::sans::bold().to_vec());
    fonts.set_sans_serif_family("DejaVu Sans");
    options
}

/// Draws the embedded images, which are PNG. `resvg` itself leaves them out, because it is built without
/// image decoders: they would bring in JPEG, GIF and WebP too. The images come out in front of
/// everything else; on our pages only labels beside them are drawn, never on top of them.
fn draw_images(group: &Group, transform: Transform, pixmap: &mut Pixmap) -> Result<(), LabError> {
    for node in group.children() {
        match node {
            Node::Group(group) => draw_images(group, transform, pixmap)?,
            Node::Image(image) => {
                if let ImageKind::PNG(png) = image.kind() {
                    let cells = Pixmap::decode_png(png).map_err(failed)?;
                    let paint = PixmapPaint {
                        quality: FilterQuality::Nearest,
                        ..PixmapPaint::default()
                    };
                    let place = transform.pre_concat(image.abs_transform());
                    pixmap.draw_pixmap(0, 0, cells.as_ref(), &paint, place, None);
                }
            }
            Node::Path(_) | Node::Text(_) => {}
        }
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::super::raster::Image;
    use super::*;

    fn pixel(pixmap: &Pixmap, x: u32, y: u32) -> [u8; 3] {
        let pixel = pixmap.pixel(x, y).unwrap();
        [pixel.red(), pixel.green(), pixel.blue()]
    }

    #[test]
    fn images_text_and_shapes_are_all_there() {
        let image = Image::new(2, &[[10, 20, 30], [200, 100, 0]]).unwrap();
        let svg = format!(
            "<svg width=\"60\" height=\"40\" viewBox=\"0 0 240 160\" xmlns=\"http://www.w3.org/2000/svg\">\
             <rect width=\"240\" height=\"160\" fill=\"#FFFFFF\"/>\
             <image x=\"40\" y=\"40\" width=\"80\" height=\"40\" preserveAspectRatio=\"none\" href=\"{}\"/>\
             <text x=\"20\" y=\"150\" font-family=\"sans-serif\" font-size=\"48\">W</text></svg>",
            image.data_uri()
        );
        let png = Pixmap::decode_png(&render(&svg).unwrap()).unwrap();
        assert_eq!((png.width(), png.height()), (120, 80));
        // The image covers x 20 to 60 and y 20 to 40, half in each colour, with a sharp edge.
        assert_eq!(pixel(&png, 19, 25), [255, 255, 255]);
        assert_eq!(pixel(&png, 20, 20), [10, 20, 30]);
        assert_eq!(pixel(&png, 39, 39), [10, 20, 30]);
        assert_eq!(pixel(&png, 40, 39), [200, 100, 0]);
        assert_eq!(pixel(&png, 59, 20), [200, 100, 0]);
        assert_eq!(pixel(&png, 60, 20), [255, 255, 255]);
        let ink = (10..40)
            .flat_map(|x| (50..78).map(move |y| (x, y)))
            .filter(|(x, y)| pixel(&png, *x, *y)[0] < 64)
            .count();
        assert!(ink > 50, "{ink} dark pixels where the letter is");
        assert!(render("no picture").is_err());
    }
}
