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
    const CLASSES: usize = 8;
    const FLOOR_ABOUT: &'static str = "the best answer without positions";

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let mut sorted = tokens.to_vec();
        sorted.sort_unstable();
        in_place(1, sorted)
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length, Self::TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::toy::testing::{asked, best_blind, blind_rule, digest, follows, mode};
    use super::*;

    #[test]
    fn symbols_by_hand() {
        assert_eq!(
            asked::<BucketSort>(&[3, 0, 7, 3]),
            [(1, 0), (2, 3), (3, 3), (4, 7)]
        );
        assert_eq!(
            asked::<BucketSort>(&[6, 5, 4, 1, 1]),
            [(1, 1), (2, 1), (3, 4), (4, 5), (5, 6)]
        );
    }

    #[test]
    fn the_streams_are_the_published_ones() {
        assert_eq!(
            digest(&BucketSort),
            "432868fc6e99edcbaeb7124ab783d4a4f729e11b0b7c46679ee90d31ed25c476"
        );
    }

    #[test]
    fn every_sample_follows_the_definition() {
        // The i-th smallest: fewer than i tokens lie below it, and at least i do not lie above.
        follows(&BucketSort, |x| {
            let count = |test: &dyn Fn(usize) -> bool| x.iter().filter(|s| test(**s)).count();
            let smallest = |i| (0..8).find(|s| count(&|t| t < *s) < i && count(&|t| t <= *s) >= i);
            (1..=x.len()).map(|i| (i, smallest(i).unwrap())).collect()
        });
    }

    #[test]
    fn the_floor_is_the_best_without_positions() {
        for n in [4, 5, 6] {
            let best = best_blind::<BucketSort>(n, |_| true);
            assert!((best - BucketSort.floor(n)).abs() < 1e-12, "{n}: {best}");
        }
        for n in [20, 80] {
            let scored = blind_rule::<BucketSort>(n, |counts, _| mode(counts));
            assert!(
                (scored - BucketSort.floor(n)).abs() < 0.003,
                "{n}: {scored}"
            );
        }
    }
}
