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

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        at_bos(usize::from(tokens.first() == tokens.last()))
    }

    fn floor_at(length: usize) -> f64 {
        equal_ends_share(length)
    }
}
