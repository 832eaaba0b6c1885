//! `sort50`: sort a sequence of many symbols.

use super::floor::expected_mode_share;
use super::toy::Toy;
use super::{Answer, BucketSort};

/// As [`BucketSort`] with fifty symbols, so that few of them occur twice.
///
/// Where eight symbols are sorted, most of the answer follows from how often each occurs. Here nearly every place of the answer is a
/// search for the next larger symbol. A. Kazemnejad et al. have it for decoders: "Sorting", the variant of single tokens.
///
/// The floor is exact, as that of [`BucketSort`].
///
/// Seen here after 2,500 steps (seed 1, accuracy at 10, 20 and 25 symbols): `cope` 0.99, 0.93 and 0.65; `t5` 0.96, 0.81 and 0.44.
///
/// Source: A. Kazemnejad et al., *The Impact of Positional Encoding on Length Generalization in Transformers*, NeurIPS 2023
/// (arXiv 2305.19466).
#[derive(Clone, Copy, Debug, Default)]
pub struct Sort50;

impl Toy for Sort50 {
    const NAME: &'static str = "sort50";
    const ABOUT: &'static str = "toy: output a sequence of 50 symbols in sorted order";
    const SOURCE: &'static str = "Sorting of Kazemnejad et al. 2023, NeurIPS";
    const TOKENS: usize = 50;
    const STEPS: usize = 2_500;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        BucketSort::answers(tokens)
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length, Self::TOKENS)
    }
}
