//! `first_eq_last`: are the first and the last symbol the same?

use super::Answer;
use super::floor::equal_ends_share;
use super::toy::{Toy, at_bos};

/// `y = 1` if `x_1 = x_n`, else 0; one answer per sequence, read at BOS.
///
/// Symbols are independent and equally likely, of two, so both answers are equally likely; see
/// [`Toy`] for what all toy tasks share. Only two tokens matter, and only their positions tell them apart
/// from the rest. The first is next to BOS and the last is next to EOS; still, in a pilot of this suite,
/// only randomized positions stayed near 1.0 beyond the training lengths.
///
/// The floor is exact, [`equal_ends_share`]: a bag in which one symbol prevails makes equal ends
/// more likely. It is 0.555 at length 10 and 0.506 at 80.
///
/// Source: "Even Pairs" of G. Delétang et al., *Neural Networks and the Chomsky Hierarchy*, ICLR
/// 2023. There the question is whether the pairs 01 and 10 are even in number, which for two
/// symbols is whether the two ends are equal.
#[derive(Clone, Copy, Debug, Default)]
pub struct FirstEqLast;

impl Toy for FirstEqLast {
    const NAME: &'static str = "first_eq_last";
    const ABOUT: &'static str =
        "toy: decide whether the first and the last of a sequence of bits are equal";
    const SOURCE: &'static str = "Even Pairs of Delétang et al. 2023, ICLR";
    const TOKENS: usize = 2;
    const CLASSES: usize = 2;
    const FLOOR_ABOUT: &'static str = "the best answer without positions";

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        at_bos(usize::from(tokens.first() == tokens.last()))
    }

    fn floor_at(length: usize) -> f64 {
        equal_ends_share(length)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::toy::testing::{asked, best_blind, blind_rule, digest, follows};
    use super::*;

    #[test]
    fn symbols_by_hand() {
        assert_eq!(asked::<FirstEqLast>(&[0, 1, 1, 0]), [(0, 1)]);
        assert_eq!(asked::<FirstEqLast>(&[1, 0, 0, 0, 1]), [(0, 1)]);
        assert_eq!(asked::<FirstEqLast>(&[0, 0, 0, 1]), [(0, 0)]);
        assert_eq!(asked::<FirstEqLast>(&[1, 1, 1, 1, 0]), [(0, 0)]);
    }

    #[test]
    fn the_streams_are_the_published_ones() {
        assert_eq!(
            digest(&FirstEqLast),
            "7d1d1fe20ba26a2f9e07ee719ab22cb8225df810dca313d4b01619bce5056c71"
        );
    }

    #[test]
    fn every_sample_has_an_even_number_of_changes_where_the_ends_are_equal() {
        follows(&FirstEqLast, |x| {
            let changes = x.windows(2).filter(|pair| pair[0] != pair[1]).count();
            vec![(0, 1 - changes % 2)]
        });
    }

    #[test]
    fn both_answers_are_equally_likely() {
        for n in FirstEqLast.test_lengths() {
            let equal: usize = FirstEqLast
                .test_set(n)
                .iter()
                .map(|sample| sample.answers[0].class)
                .sum();
            // Five standard deviations of 512 fair coins.
            assert!(equal.abs_diff(256) < 57, "{n}: {equal}");
        }
    }

    #[test]
    fn the_floor_is_the_best_without_positions() {
        for n in [4, 5, 10, 13] {
            let best = best_blind::<FirstEqLast>(n, |_| true);
            assert!((best - FirstEqLast.floor(n)).abs() < 1e-12, "{n}: {best}");
        }
        assert!((FirstEqLast.floor(10) - 0.5546875).abs() < 1e-12);
        assert!((FirstEqLast.floor(80) - 0.5061383479202562).abs() < 1e-12);
        for n in [20, 80] {
            // Equal ends are the likelier answer where the counts differ by more than √n.
            let scored = blind_rule::<FirstEqLast>(n, |counts, _| {
                usize::from(counts[0].abs_diff(counts[1]).pow(2) > n)
            });
            assert!(
                (scored - FirstEqLast.floor(n)).abs() < 0.02,
                "{n}: {scored}"
            );
        }
    }
}
