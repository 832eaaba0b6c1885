//! `digits`: read a handwritten digit pixel by pixel. Real data.

use std::ops::RangeInclusive;
use std::sync::LazyLock;

use pe_burn::Grid;

use super::embedded::embedded;
use super::epochs::{Epochs, steps};
use super::floor::most_frequent_share;
use super::{Answer, Readout, Sample, Task, TestRows};
use crate::rng::{generator, permutation};

const FILE: &[u8] = include_bytes!("../../data/digits.csv.gz");
const SIDE: usize = 8;
const PIXELS: usize = SIDE * SIDE;
const INTENSITIES: usize = 17;
const CLASSES: usize = 10;
const HELD_OUT: usize = 397;

/// Which of ten digits an 8×8 image shows, read as a sequence of 64 tokens, row by row, from a
/// vocabulary of 17 intensities. The answer is read from the mean over all tokens.
///
/// Positions carry most of the information: the intensities without their order say little about the
/// digit. There is one length, 64, and neither BOS nor EOS.
///
/// Of the 1,797 images, 397 are held out for the test and 1,400 are for training. The split is one fixed
/// shuffle, the same for every seed and scheme. Each epoch goes through all 1,400 in a new order. The
/// floor is the share of the most frequent digit in the test, which is the score of the best constant
/// answer.
///
/// Data: E. Alpaydin and C. Kaynak, *Optical Recognition of Handwritten Digits*, UCI Machine
/// Learning Repository, 1998, DOI 10.24432/C50P49, CC BY 4.0.
#[derive(Clone, Copy, Debug, Default)]
pub struct Digits;

struct Split {
    train: Vec<Sample>,
    epochs: Epochs,
    held_out: Vec<Sample>,
}

static SPLIT: LazyLock<Split> = LazyLock::new(|| {
    let text = embedded(FILE);
    let samples = parse(&text).expect("the embedded digits are well formed");
    let [train, held_out] = split_digits(samples.len())
        .map(|of| -> Vec<Sample> { of.into_iter().map(|i| samples[i].clone()).collect() });
    Split {
        epochs: Epochs::over(train.len(), "digits/train"),
        train,
        held_out,
    }
});

/// The images that are trained on, and those that are held out for the test.
pub fn split_digits(images: usize) -> [Vec<usize>; 2] {
    let mut train = permutation(images, &mut generator("digits/split", 0, 0));
    let held_out = train.split_off(images - HELD_OUT);
    [train, held_out]
}

/// Rows of 64 intensities and a label.
fn parse(text: &str) -> Result<Vec<Sample>, String> {
    let mut reader = csv::ReaderBuilder::new()
        .has_headers(false)
        .from_reader(text.as_bytes());
    let mut samples = Vec::new();
    for row in reader.deserialize::<Vec<usize>>() {
        let mut tokens = row.map_err(|error| error.to_string())?;
        let line = samples.len() + 1;
        if tokens.len() != PIXELS + 1 {
            return Err(format!(
                "row {line} has {} fields, not {}",
                tokens.len(),
                PIXELS + 1
            ));
        }
        let class = tokens.remove(PIXELS);
        if class >= CLASSES || tokens.iter().any(|token| *token >= INTENSITIES) {
            return Err(format!("row {line} has a value out of range"));
        }
        samples.push(Sample::new(tokens, vec![Answer { position: 0, class }]));
    }
    Ok(samples)
}

impl Task for Digits {
    fn name(&self) -> &str {
        "digits"
    }

    fn about(&self) -> &str {
        "real data: predict which digit a handwritten 8x8 image shows, read pixel by pixel"
    }

    fn source(&self) -> &str {
        "Alpaydin and Kaynak 1998, UCI, DOI 10.24432/C50P49, CC BY 4.0"
    }

    fn vocabulary(&self) -> usize {
        INTENSITIES
    }

    fn classes(&self) -> usize {
        CLASSES
    }

    fn readout(&self) -> Readout {
        Readout::MeanPooled
    }

    fn train_lengths(&self) -> RangeInclusive<usize> {
        PIXELS..=PIXELS
    }

    fn test_lengths(&self) -> Vec<usize> {
        vec![PIXELS]
    }

    fn train_batch(&self, seed: u64, step: usize, size: usize) -> Vec<Sample> {
        let batch = SPLIT.epochs.batch(seed, step, size);
        batch.map(|nth| SPLIT.train[nth].clone()).collect()
    }

    fn test_set(&self, length: usize) -> Vec<Sample> {
        if length == PIXELS {
            SPLIT.held_out.clone()
        } else {
            Vec::new()
        }
    }

    fn test_rows(&self) -> TestRows {
        TestRows::Independent
    }

    fn grid(&self) -> Option<Grid> {
        Some(Grid::image(SIDE, SIDE))
    }

    fn floor(&self, _length: usize) -> f64 {
        most_frequent_share(SPLIT.held_out.iter().map(|s| s.answers[0].class))
    }

    fn floor_about(&self) -> &str {
        "always the most frequent digit"
    }

    fn solved_at(&self) -> Option<f64> {
        None
    }

    fn steps(&self) -> usize {
        steps(SPLIT.train.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_first_image_is_the_published_zero() {
        let text = embedded(FILE);
        let samples = parse(&text).unwrap();
        assert_eq!(samples.len(), 1797);
        assert_eq!(samples[0].input.tokens()[..8], [0, 0, 5, 13, 9, 1, 0, 0]);
        let (position, class) = (0, 0);
        assert_eq!(samples[0].answers, [Answer { position, class }]);
        // Class counts as the data's own description gives them.
        let mut counts = [0; 10];
        samples
            .iter()
            .for_each(|of| counts[of.answers[0].class] += 1);
        assert_eq!(counts, [178, 182, 177, 183, 181, 182, 181, 179, 174, 180]);
    }

    #[test]
    fn a_bad_row_is_named() {
        let mut row = vec!["1"; 65].join(",");
        assert_eq!(parse(&row).unwrap()[0].answers[0].class, 1);
        let wrong = |row: &str| parse(row).unwrap_err();
        assert!(wrong("1,2,3").contains("row 1 has 3 fields"));
        row.replace_range(0..1, "17");
        assert!(wrong(&row).contains("row 1 has a value out of range"));
        row.replace_range(0..2, "x");
        assert!(parse(&row).is_err());
    }

    #[test]
    fn the_split_is_1400_and_397_and_loses_nothing() {
        assert_eq!((SPLIT.train.len(), SPLIT.held_out.len()), (1400, 397));
        let all = SPLIT.train.iter().chain(&SPLIT.held_out);
        let total: usize = all.map(|of| of.answers[0].class).sum();
        let counts = [178, 182, 177, 183, 181, 182, 181, 179, 174, 180];
        let expected: usize = counts.iter().enumerate().map(|(class, n)| class * n).sum();
        assert_eq!(total, expected);
        assert!((0.1..0.14).contains(&Digits.floor(64)));
    }

    #[test]
    fn an_epoch_has_every_image_once_also_across_batches() {
        let batches = (0..28).flat_map(|step| Digits.train_batch(9, step, 50));
        let mut seen: Vec<Sample> = batches.collect();
        let mut train = SPLIT.train.clone();
        let key = |s: &Sample| (s.input.tokens().to_vec(), s.answers[0].class);
        seen.sort_by_key(key);
        train.sort_by_key(key);
        assert_eq!(seen, train);
        // A batch that straddles two epochs takes its tail from the next epoch's order.
        let straddling = Digits.train_batch(9, 21, 64);
        let next: Vec<Sample> = Digits.train_batch(9, 28, 50);
        assert_eq!(straddling[56..], next[..8]);
    }
}
