//! `bucket_sort`: sort a sequence.

use super::Answer;
use super::floor::expected_mode_share;
use super::toy::{Toy, in_place};

/// `y = sort(x)`: at position `i` of a sequence of symbols, predict the `i`-th smallest.
///
/// Symbols are independent and equally likely, of eight; see [`Toy`] for what all toy tasks share.
/// The bag of tokens determines the sorted sequence. A token needs its own position only to know which
/// part of the sorted sequence to output, so the order of the input does not matter, but the position of
/// the answer does. In a pilot of this suite randomized positions worked farthest beyond the training
/// lengths, followed by rotary, sinusoidal and learned ones in this order. Randomized positions were
/// proposed on this task among others (A. Ruoss et al., *Randomized Positional Encodings Boost Length
/// Generalization of Transformers*, ACL 2023).
///
/// The floor is exact: given the bag, a symbol is equally likely to be at any place, so a token's own
/// symbol does not help. The answer can be any token of the bag, and the best answer without positions is
/// the most frequent one ([`expected_mode_share`]).
///
/// Source: "Bucket Sort" of G. Delétang et al., *Neural Networks and the Chomsky Hierarchy*, ICLR
/// 2023, there with five symbols.
#[derive(Clone, Copy, Debug, Default)]
pub struct BucketSort;

impl Toy for BucketSort {
    const NAME: &'static str = "bucket_sort";
    const ABOUT: &'static str = "toy: output a sequence of 8 symbols in sorted order";
    const SOURCE: &'static str = "Bucket Sort of Delétang et al. 2023, ICLR";
    const TOKENS: usize = 8;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let mut sorted = tokens.to_vec();
        sorted.sort_unstable();
        in_place(1, sorted)
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length, Self::TOKENS)
    }
}
