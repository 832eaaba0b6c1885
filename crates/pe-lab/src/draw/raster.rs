//! A grid of values as pixels, so that a heat map of any size stays small.
//!
//! Few cells are enlarged by a whole factor, in the image itself, since not every viewer keeps the edges
//! of an enlarged image sharp. If there are more cells than pixels, each pixel shows the mean of several
//! cells. Taking every k-th cell instead would show waves that are not there (aliasing).

use base64::Engine;
use base64::prelude::BASE64_STANDARD;
use resvg::tiny_skia::{Color, Pixmap};

use super::colour::Rgb;
use super::unit::failed;
use crate::error::LabError;

/// How the cells of one axis are mapped to pixels.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Fit {
    pub cells: usize,
    /// The number of cells that share a pixel.
    pub per_pixel: usize,
    /// How many pixels wide a cell or a mean of cells is drawn.
    pub enlarged: usize,
}

impl Fit {
    /// Fits `cells` (at least 1) into at most `room` pixels of the page, and at least half of them.
    pub fn new(cells: usize, room: usize) -> Self {
        Self {
            cells,
            per_pixel: cells.div_ceil(room),
            enlarged: (room / cells).max(1),
        }
    }

    /// The number of pixels before they are enlarged, each the mean of its cells.
    pub fn pixels(self) -> usize {
        self.cells.div_ceil(self.per_pixel)
    }

    /// The number of pixels of the page and of the image.
    pub fn length(self) -> usize {
        self.pixels() * self.enlarged
    }

    /// The number of cells that the pixels have room for. The last pixel may hold fewer cells than it has
    /// room for.
    pub fn span(self) -> usize {
        self.pixels() * self.per_pixel
    }
}

/// Takes rows one after the other and averages them to pixels.
pub struct Raster {
    x: Fit,
    y: Fit,
    sums: Vec<f64>,
    rows: usize,
}

impl Raster {
    /// A grid for `x.cells` columns and `y.cells` rows.
    pub fn new(x: Fit, y: Fit) -> Self {
        Self {
            x,
            y,
            sums: vec![0.0; x.pixels() * y.pixels()],
            rows: 0,
        }
    }

    /// Adds the next row.
    pub fn push(&mut self, row: impl IntoIterator<Item = f64>) {
        let start = self.rows / self.y.per_pixel * self.x.pixels();
        let pixels = &mut self.sums[start..][..self.x.pixels()];
        for (column, value) in row.into_iter().enumerate() {
            pixels[column / self.x.per_pixel] += value;
        }
        self.rows += 1;
    }

    /// The mean of the cells of each pixel, row by row.
    pub fn means(&self) -> Vec<f64> {
        let cells = |fit: Fit, pixel: usize| {
            let before = pixel * fit.per_pixel;
            (fit.cells - before).min(fit.per_pixel) as f64
        };
        let mean = |(index, sum): (usize, &f64)| {
            let (x, y) = (index % self.x.pixels(), index / self.x.pixels());
            sum / (cells(self.x, x) * cells(self.y, y))
        };
        self.sums.iter().enumerate().map(mean).collect()
    }
}

/// Pixels, encoded as PNG.
pub struct Image {
    png: Vec<u8>,
}

impl Image {
    /// Encodes rows of `x.pixels()` colours, each as large as the fits say.
    ///
    /// # Errors
    ///
    /// When they cannot be encoded.
    pub fn enlarged(x: Fit, y: Fit, pixels: &[Rgb]) -> Result<Self, LabError> {
        let mut large = Vec::with_capacity(x.length() * y.length());
        for row in pixels.chunks_exact(x.pixels()) {
            let wide = row.iter().flat_map(|p| std::iter::repeat_n(*p, x.enlarged));
            let wide: Vec<Rgb> = wide.collect();
            for _ in 0..y.enlarged {
                large.extend_from_slice(&wide);
            }
        }
        Self::new(x.length(), &large)
    }

    /// Encodes rows of `width` pixels.
    ///
    /// # Errors
    ///
    /// When there are no pixels, or they cannot be encoded.
    pub fn new(width: usize, pixels: &[Rgb]) -> Result<Self, LabError> {
        let size = |length: usize| u32::try_from(length).unwrap_or(u32::MAX);
        let height = pixels.len().checked_div(width).unwrap_or(0);
        let mut pixmap = Pixmap::new(size(width), size(height))
            .ok_or_else(|| failed(format!("there is no image of {width} × {height} pixels")))?;
        for (pixel, [red, green, blue]) in pixmap.pixels_mut().iter_mut().zip(pixels) {
            *pixel = Color::from_rgba8(*red, *green, *blue, 255)
                .premultiply()
                .to_color_u8();
        }
        let png = pixmap.encode_png().map_err(failed)?;
        Ok(Self { png })
    }

    pub fn data_uri(&self) -> String {
        format!(
            "data:image/png;base64,{}",
            BASE64_STANDARD.encode(&self.png)
        )
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn few_cells_are_enlarged_and_many_share_a_pixel() {
        let fit = Fit::new(100, 600);
        assert_eq!((fit.pixels(), fit.length(), fit.span()), (100, 600, 100));
        let fit = Fit::new(70, 600); // by a whole factor: 8, not 8.57
        assert_eq!((fit.enlarged, fit.length()), (8, 560));
        let fit = Fit::new(10_000, 600);
        assert_eq!((fit.per_pixel, fit.pixels(), fit.length()), (17, 589, 589));
        assert_eq!(fit.span(), 10_013);
        for cells in 1..2_000 {
            let fit = Fit::new(cells, 600);
            assert!((300..=600).contains(&fit.length()), "{cells}: {fit:?}");
            assert!(fit.span() >= cells && fit.span() - cells < fit.per_pixel);
        }
    }

    #[test]
    fn a_pixel_is_the_mean_of_its_cells() {
        // Three rows of five cells, two cells to a pixel: the last pixels stand for fewer.
        let fit = |cells| Fit {
            cells,
            per_pixel: 2,
            enlarged: 1,
        };
        let mut raster = Raster::new(fit(5), fit(3));
        raster.push([1.0, 2.0, 3.0, 4.0, 5.0]);
        raster.push([5.0, 6.0, 7.0, 8.0, 9.0]);
        raster.push([0.0, 1.0, 0.0, 3.0, -1.0]);
        assert_eq!(raster.means(), [3.5, 5.5, 7.0, 0.5, 1.5, -1.0]);
    }

    #[test]
    fn an_image_keeps_its_colours() {
        let pixels = [[1, 2, 3], [250, 251, 252], [0, 0, 0], [255, 255, 255]];
        let image = Image::new(2, &pixels).unwrap();
        let decoded = Pixmap::decode_png(&image.png).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (2, 2));
        for (pixel, expected) in decoded.pixels().iter().zip(pixels) {
            assert_eq!([pixel.red(), pixel.green(), pixel.blue()], expected);
            assert_eq!(pixel.alpha(), 255);
        }
        assert!(Image::new(0, &[]).is_err());

        let [a, b, c, d] = pixels;
        let image = Image::enlarged(Fit::new(2, 4), Fit::new(2, 3), &pixels).unwrap();
        let decoded = Pixmap::decode_png(&image.png).unwrap();
        assert_eq!((decoded.width(), decoded.height()), (4, 2));
        let expected = [a, a, b, b, c, c, d, d];
        for (pixel, expected) in decoded.pixels().iter().zip(expected) {
            assert_eq!([pixel.red(), pixel.green(), pixel.blue()], expected);
        }
    }
}
