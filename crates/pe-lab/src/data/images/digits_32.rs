//! `digits_32`: handwritten digits in patches, tested at several resolutions. Real data.

use std::io::Read;
use std::sync::{Arc, LazyLock};

use flate2::read::GzDecoder;
use image::{DynamicImage, GrayImage};

use super::decode::at_size;
use super::pack::{Contents, Pack};
use super::size::Sizes;
use super::task::Images;
use crate::task::{Task, split_digits};

const FILE: &[u8] = include_bytes!("../../../data/digits_32.gz");
const SIDE: usize = 32;
/// The side of a patch, so that an image has as many patches as an image of `digits` has pixels.
const PATCH: usize = 4;
const PIXELS: usize = SIDE * SIDE;

/// Which of ten digits a black and white image of 32 × 32 pixels shows, read as 64 patches of 4 × 4 pixels from the mean
/// over all of them. Tested at the resolution of the training and at 24, 48 and 64 pixels, which are 36, 144 and 256 patches: what
/// each scheme does there is told at `AtResolution`.
///
/// They are the images of [`Digits`](crate::task::Digits) before its makers counted the black pixels of each patch, with the
/// same 1,400 for training and 397 for the test; the floor is the share of the most frequent digit. A patch says more than its
/// count, and how patches follow one another still tells digits apart.
///
/// Data: E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine Learning Repository, 1998, DOI
/// 10.24432/C50P49, CC BY 4.0: the writer-independent test file in its original format.
pub fn digits_32() -> Arc<dyn Task> {
    static DIGITS: LazyLock<Arc<Images>> = LazyLock::new(|| {
        let images = Images::new(pack(), "digits_32.gz");
        Arc::new(images.named(
            "digits_32",
            "real data: predict which digit a handwritten 32x32 image shows, also at other resolutions",
            "Alpaydin and Kaynak 1998, UCI, DOI 10.24432/C50P49, CC BY 4.0",
        ))
    });
    DIGITS.clone()
}

/// A bit for each pixel of every image, row by row, and then a byte for the digit of each.
fn bitmaps() -> (Vec<GrayImage>, Vec<usize>) {
    let mut bytes = Vec::new();
    GzDecoder::new(FILE)
        .read_to_end(&mut bytes)
        .expect("the embedded digits are gzip");
    let count = bytes.len() / (PIXELS / 8 + 1);
    let (bits, digits) = bytes.split_at(count * PIXELS / 8);
    let image = |bits: &[u8]| {
        let is_ink = |pixel: usize| bits[pixel / 8] >> (7 - pixel % 8) & 1 == 1;
        let pixels = (0..PIXELS).map(|pixel| if is_ink(pixel) { 255 } else { 0 });
        GrayImage::from_raw(SIDE as u32, SIDE as u32, pixels.collect()).expect("32 × 32 pixels")
    };
    let images = bits.chunks(PIXELS / 8).map(image).collect();
    (
        images,
        digits.iter().map(|digit| usize::from(*digit)).collect(),
    )
}

fn pack() -> Pack {
    let (images, digits) = bitmaps();
    let [train, test] = split_digits(images.len());
    let class = |of: &[usize]| of.iter().map(|image| digits[*image]).collect();
    let sizes = Sizes {
        image: [SIDE; 2],
        patch: PATCH,
    };
    let contents = Contents {
        labels: (0..10).map(|digit| digit.to_string()).collect(),
        coloured: false,
        patch: PATCH,
        sizes: sizes.tested(),
        train: class(&train),
        test: class(&test),
        notes: Vec::new(),
    };
    let sizes = contents.sizes.clone();
    let at = |image: usize, size| {
        let image = DynamicImage::ImageLuma8(images[image].clone());
        at_size(&image, size, false)
    };
    let trained = train.iter().map(|image| at(*image, sizes[0]));
    let tested = sizes
        .iter()
        .flat_map(|size| test.iter().map(|image| at(*image, *size)));
    Pack::of(contents, trained.chain(tested)).expect("the embedded digits fit into a pack")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::vectors;
    use crate::task::Digits;

    /// The published images of 8 × 8 count the black pixels of each patch of these, so every one of them is checked.
    #[test]
    fn they_are_the_images_of_digits() {
        let (images, digits) = bitmaps();
        assert_eq!((images.len(), digits.len()), (1_797, 1_797));
        let small = |image: &GrayImage| -> Vec<usize> {
            let ink = |patch: usize| {
                let (y, x) = (patch / 8 * PATCH, patch % 8 * PATCH);
                let pixels = (0..PIXELS / 64).map(|i| (x + i % PATCH, y + i / PATCH));
                let is_ink = |(x, y): &(usize, usize)| image[(*x as u32, *y as u32)].0 == [255];
                pixels.filter(is_ink).count()
            };
            (0..64).map(ink).collect()
        };
        let [train, test] = split_digits(images.len());
        let known = [Digits.train_batch(1, 0, 1_400), Digits.test_set(64)].concat();
        let key = |image: &usize| (small(&images[*image]), digits[*image]);
        let mut own: Vec<_> = train.iter().chain(&test).map(key).collect();
        let mut known: Vec<_> = known
            .iter()
            .map(|s| (s.input.tokens().to_vec(), s.answers[0].class))
            .collect();
        own[..1_400].sort();
        known[..1_400].sort();
        assert!(own == known);
    }

    #[test]
    fn they_are_read_in_patches_and_tested_at_four_resolutions() {
        let task = digits_32();
        assert_eq!(
            (task.name(), task.vector_width(), task.classes()),
            ("digits_32", Some(16), 10)
        );
        assert_eq!(
            (task.train_lengths(), task.test_lengths()),
            (64..=64, vec![36, 64, 144, 256])
        );
        assert_eq!(task.train_batch(1, 0, 3)[0].input.len(), 64);
        assert_eq!(task.floor(64), Digits.floor(64));
        for length in task.test_lengths() {
            let set = task.test_set(length);
            assert_eq!(set.len(), 397);
            let (width, values) = vectors(&set[0].input);
            assert_eq!((width, values.len()), (16, 16 * length));
            let side = task.grid_at(length).unwrap().height();
            assert_eq!(side * side, length);
        }
        // At the resolution of the training a pixel is black or white.
        let mut kinds = vectors(&task.test_set(64)[0].input).1.to_vec();
        kinds.sort_by(f32::total_cmp);
        kinds.dedup();
        assert_eq!(kinds.len(), 2);
    }
}
