//! `reverse`: output a sequence in reverse order.

use super::Answer;
use super::floor::expected_mode_share;
use super::toy::{Toy, in_place};

/// `y_i = x_{n+1−i}`: at position `i` of a sequence of `n` symbols, predict the symbol at the
/// mirrored position.
///
/// Symbols are independent and equally likely, of eight; see [`Toy`] for what all toy tasks share.
/// Every token has to find the token at the mirrored position. The distance to it differs from token to
/// token and depends on the length. In a pilot of this suite fixed and learned positions solved the task
/// inside the training lengths and fell to near the floor beyond; without positions the accuracy stayed
/// at the floor.
///
/// The floor is the accuracy of always answering the most frequent symbol of the input,
/// [`expected_mode_share`]. For odd `n` that is the best without positions: the middle symbol is its own
/// answer, which makes up for no other token being its own answer. For even `n` no token is its own
/// answer, and the best is [`best_other_share`](super::floor::best_other_share). It is higher if two
/// symbols are equally frequent: by 0.041 at length 4, 0.010 at 10, 0.003 at 20 and less than 0.001 from
/// 60 on.
///
/// Source: "Reverse String" of G. Delétang et al., *Neural Networks and the Chomsky Hierarchy*,
/// ICLR 2023, there with two symbols.
#[derive(Clone, Copy, Debug, Default)]
pub struct Reverse;

impl Toy for Reverse {
    const NAME: &'static str = "reverse";
    const ABOUT: &'static str = "toy: output a sequence of 8 symbols in reverse order";
    const SOURCE: &'static str = "Reverse String of Delétang et al. 2023, ICLR";
    const TOKENS: usize = 8;
    const FLOOR_ABOUT: &'static str = "always the most frequent symbol of the input";
    const STEPS: usize = 2_500;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        in_place(1, tokens.iter().rev().copied())
    }

    fn floor_at(length: usize) -> f64 {
        expected_mode_share(length, Self::TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::floor::best_other_share;
    use super::super::toy::testing::best_blind;
    use super::*;

    #[test]
    fn the_floor_is_the_best_without_positions_at_odd_lengths_and_close_to_it_at_even_ones() {
        assert!((best_blind::<Reverse>(5, |_| true) - Reverse.floor(5)).abs() < 1e-12);
        for (n, above) in [(4, 0.041), (6, 0.023)] {
            let best = best_blind::<Reverse>(n, |_| true);
            assert!((best - best_other_share(n, 8)).abs() < 1e-12, "{n}: {best}");
            let ahead = best - Reverse.floor(n);
            assert!((ahead - above).abs() < 5e-4, "{n}: {best}");
        }
    }

    #[test]
    fn at_the_tested_lengths_the_floor_is_below_the_best_by_no_more_than_it_says() {
        for (n, above) in [(10, 0.010), (20, 0.003), (60, 0.001)] {
            let gap = best_other_share(n, 8) - Reverse.floor(n);
            assert!((gap - above).abs() < 5e-4, "{n}: {gap}");
        }
    }
}
