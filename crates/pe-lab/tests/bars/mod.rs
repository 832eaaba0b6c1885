//! Images that are drawn.

use image::{GrayImage, Luma};

/// A bar in one half of a grey image: above (class 0) or below (class 1). No two are equal.
pub fn bar(class: usize, number: usize, [height, width]: [u32; 2]) -> GrayImage {
    GrayImage::from_fn(width, height, |x, y| {
        let is_below = y >= height / 2;
        let noise = (x as usize * 7 + y as usize * 13 + number * 31) % 40;
        let lit = if is_below == (class == 1) { 200 } else { 0 };
        Luma([(lit + noise) as u8])
    })
}
