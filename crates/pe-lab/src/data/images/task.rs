//! Images as a task: predict the class of an image from its patches.

use std::collections::HashSet;
use std::ops::RangeInclusive;

use pe_burn::Grid;

use super::super::limits::NAME;
use super::super::quote::grouped;
use super::pack::{Contents, Pack};
use super::size::Size;
use crate::task::floor::most_frequent_share;
use crate::task::{Answer, Epochs, Input, Readout, Sample, Task, TestRows, hash_of_input, steps};

/// Predict the class of an image, from the mean over all its patches.
///
/// A patch is a vector of the values of its pixels, row by row, each with its colours. Values are
/// standardized: less the mean of the pixels of the training, and divided by their standard deviation, each
/// colour on its own. Each epoch goes through all images of the training in a new order. They are trained on at
/// one size, and tested at several.
#[derive(Debug)]
pub(in super::super) struct Images {
    pack: Pack,
    /// The mean and the standard deviation of each colour.
    scale: Vec<(f64, f64)>,
    epochs: Epochs,
    name: &'static str,
    about: String,
    source: String,
}

impl Images {
    pub(super) fn new(pack: Pack, file: &str) -> Self {
        let contents = &pack.contents;
        let images = contents.train.len() + contents.test.len();
        Self {
            scale: scale(&pack),
            name: NAME,
            epochs: Epochs::over(contents.train.len(), "data/train"),
            about: format!(
                "your images: which of {} classes an image is of",
                grouped(contents.labels.len())
            ),
            source: format!("{file}, {} images", grouped(images)),
            pack,
        }
    }

    /// These images as a task of the laboratory.
    pub(super) fn named(self, name: &'static str, about: &str, source: &str) -> Self {
        Self {
            name,
            about: about.into(),
            source: source.into(),
            ..self
        }
    }

    pub fn labels(&self) -> &[String] {
        &self.contents().labels
    }

    /// The file that a study keeps.
    pub fn bytes(&self) -> &[u8] {
        &self.pack.bytes
    }

    /// The size of the training, and whether images are read in colours.
    pub(super) fn read_as(&self) -> (Size, bool) {
        (self.contents().sizes[0], self.contents().coloured)
    }

    /// What a model reads of an image of the size of the training, with an answer to fill in.
    pub(super) fn sample_of(&self, pixels: &[u8]) -> Sample {
        self.sample(pixels, self.contents().sizes[0], 0)
    }

    /// What identifies the images to train on.
    pub(in super::super) fn trained_inputs(&self) -> HashSet<u64> {
        let images = 0..self.contents().train.len();
        images
            .map(|image| hash_of_input(&self.sample_of(self.pack.train(image))))
            .collect()
    }

    fn contents(&self) -> &Contents {
        &self.pack.contents
    }

    /// Rows and columns of patches of an image of a size.
    fn patches(&self, size: Size) -> Size {
        size.map(|side| side / self.contents().patch)
    }

    fn tokens(&self, size: Size) -> usize {
        let [rows, columns] = self.patches(size);
        rows * columns
    }

    /// The index of the size at which images have this many patches.
    fn size(&self, tokens: usize) -> Option<usize> {
        let mut sizes = self.contents().sizes.iter();
        sizes.position(|size| self.tokens(*size) == tokens)
    }

    fn sample(&self, pixels: &[u8], size: Size, class: usize) -> Sample {
        let (patch, channels) = (self.contents().patch, self.contents().channels());
        let [rows, columns] = self.patches(size);
        let mut values = Vec::with_capacity(pixels.len());
        for (row, column) in (0..rows).flat_map(|row| (0..columns).map(move |c| (row, c))) {
            for y in row * patch..(row + 1) * patch {
                let first = (y * size[1] + column * patch) * channels;
                let line = &pixels[first..first + patch * channels];
                values.extend(line.chunks(channels).flat_map(|pixel| {
                    let each = pixel.iter().zip(&self.scale);
                    each.map(|(value, (mean, deviation))| {
                        ((f64::from(*value) - mean) / deviation) as f32
                    })
                }));
            }
        }
        let width = patch * patch * channels;
        let answer = Answer { position: 0, class };
        Sample::new(Input::Vectors { width, values }, vec![answer])
    }
}

/// The mean and the standard deviation of each colour over all pixels of the training. Where all are equal,
/// the deviation counts as 1.
fn scale(pack: &Pack) -> Vec<(f64, f64)> {
    let channels = pack.contents.channels();
    let mut sums = vec![(0_u64, 0_u64); channels];
    let mut pixels = 0_u64;
    for image in 0..pack.contents.train.len() {
        for pixel in pack.train(image).chunks(channels) {
            pixels += 1;
            for (sum, value) in sums.iter_mut().zip(pixel) {
                let value = u64::from(*value);
                sum.0 += value;
                sum.1 += value * value;
            }
        }
    }
    let of = |(sum, squares): (u64, u64)| {
        let mean = sum as f64 / pixels as f64;
        let variance = squares as f64 / pixels as f64 - mean * mean;
        // Where all values are equal, the variance is nothing but rounding.
        let deviation = if variance > 1e-6 {
            variance.sqrt()
        } else {
            1.0
        };
        (mean, deviation)
    };
    sums.into_iter().map(of).collect()
}

impl Task for Images {
    fn name(&self) -> &str {
        self.name
    }

    fn about(&self) -> &str {
        &self.about
    }

    fn source(&self) -> &str {
        &self.source
    }

    fn vocabulary(&self) -> usize {
        0
    }

    fn vector_width(&self) -> Option<usize> {
        let patch = self.contents().patch;
        Some(patch * patch * self.contents().channels())
    }

    fn classes(&self) -> usize {
        self.labels().len()
    }

    fn readout(&self) -> Readout {
        Readout::MeanPooled
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        let tokens = self.tokens(self.contents().sizes[0]);
        tokens..=tokens
    }

    /// The number of patches at every resolution.
    fn test_lengths(&self) -> Vec<usize> {
        let sizes = self.contents().sizes.iter();
        let mut lengths: Vec<usize> = sizes.map(|size| self.tokens(*size)).collect();
        lengths.sort_unstable();
        lengths
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let contents = self.contents();
        let images = self.epochs.batch(seed, step, size);
        let sample = |image| {
            let class = contents.train[image];
            self.sample(self.pack.train(image), contents.sizes[0], class)
        };
        images.map(sample).collect()
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        let contents = self.contents();
        let Some(size) = self.size(length) else {
            return Vec::new();
        };
        let sample = |(image, class): (usize, &usize)| {
            self.sample(self.pack.test(size, image), contents.sizes[size], *class)
        };
        contents.test.iter().enumerate().map(sample).collect()
    }

    fn floor(&self, _length: usize) -> f64 {
        most_frequent_share(self.contents().test.iter())
    }

    fn floor_about(&self) -> &str {
        "always the most frequent class"
    }

    fn test_rows(&self) -> TestRows {
        TestRows::Repeated
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        steps(self.contents().train.len())
    }

    fn grid(&self) -> Option<Grid> {
        let [rows, columns] = self.patches(self.contents().sizes[0]);
        Some(Grid::image(rows, columns))
    }

    fn grid_at(&self, length: usize) -> Option<Grid> {
        let size = self.contents().sizes[self.size(length)?];
        let [rows, columns] = self.patches(size);
        Some(Grid::image(rows, columns))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::data::testing::vectors;

    fn task() -> Images {
        let contents = Contents {
            labels: vec!["a".into(), "b".into()],
            coloured: true,
            patch: 2,
            sizes: vec![[2, 4], [4, 6]],
            train: vec![1, 0],
            test: vec![0],
            notes: Vec::new(),
        };
        // The red of a pixel is its place in the image, the green is 7 everywhere, the blue is 0 or 200.
        let image = |pixels: u8, blue: u8| (0..pixels).flat_map(|i| [i, 7, blue]).collect();
        let images = [image(8, 0), image(8, 200), image(8, 200), image(24, 200)];
        Images::new(Pack::of(contents, images).unwrap(), "made.images")
    }

    #[test]
    fn patches_are_read_row_by_row_and_standardized() {
        let task = task();
        assert_eq!(task.vector_width(), Some(12));
        assert_eq!(
            (task.train_lengths(), task.test_lengths()),
            (2..=2, vec![2, 6])
        );
        assert_eq!(task.grid(), Some(Grid::image(1, 2)));
        assert_eq!(task.grid_at(6), Some(Grid::image(2, 3)));
        let [sample] = &task.test_set(2)[..] else {
            panic!("one image")
        };
        let (_, values) = vectors(&sample.input);
        // Reds 0 to 7 of two images: mean 3.5, variance 5.25.
        let red = |place: usize| ((place as f64 - 3.5) / 5.25_f64.sqrt()) as f32;
        let reds: Vec<f32> = values.chunks(3).map(|pixel| pixel[0]).collect();
        assert_eq!(reds, [0, 1, 4, 5, 2, 3, 6, 7].map(red));
        assert!(values.chunks(3).all(|pixel| pixel[1..] == [0.0, 1.0]));
        let large = &task.test_set(6)[0];
        let (_, values) = vectors(&large.input);
        let reds: Vec<f32> = values.chunks(3).map(|pixel| pixel[0]).collect();
        // The second row of patches begins with the pixels 12, 13, 18 and 19.
        assert_eq!(
            (large.input.len(), &reds[12..16]),
            (6, &[12, 13, 18, 19].map(red)[..])
        );
        assert_eq!(task.test_set(3), []);
        assert_eq!(task.floor(2), 1.0);
    }

    #[test]
    fn an_epoch_has_every_image_once() {
        let task = task();
        for seed in 0..5 {
            let batch = task.train_batch(seed, 3, 2);
            let mut classes: Vec<usize> = batch.iter().map(|s| s.answers[0].class).collect();
            classes.sort_unstable();
            assert_eq!(classes, [0, 1]);
        }
    }
}
