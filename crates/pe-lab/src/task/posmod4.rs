//! `posmod4`: output the position, modulo 4.

use super::Answer;
use super::toy::{Toy, in_place};

const PERIOD: usize = 4;

/// `y_i = (i − 1) mod 4`: at position `i`, predict the position counted from 0, modulo 4.
///
/// Symbols are independent and equally likely, of eight, and carry no information; see [`Toy`] for what
/// all toy tasks share. The position is the whole answer, so this is the simplest test of whether it
/// reaches the output at all. In a pilot of this suite every encoding solved it inside the training
/// lengths (those of relative positions measure from BOS). Scores beyond show how an encoding continues.
///
/// The floor is exact: without positions all tokens of one symbol look the same, so the best answer is the
/// most frequent class. That is 0, at `⌈n/4⌉` of `n` positions: a quarter if 4 divides `n`, 0.3 at
/// length 10, 0.286 at 21.
///
/// Source: this suite.
#[derive(Clone, Copy, Debug, Default)]
pub struct PosMod4;

impl Toy for PosMod4 {
    const NAME: &'static str = "posmod4";
    const ABOUT: &'static str = "toy: output the position of each token modulo 4";
    const SOURCE: &'static str = "this suite; position is the whole answer";
    const TOKENS: usize = 8;
    const CLASSES: usize = PERIOD;
    const FLOOR_ABOUT: &'static str = "the best answer without positions";
    const STEPS: usize = 600;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        in_place(1, (0..tokens.len()).map(|i| i % PERIOD))
    }

    fn floor_at(length: usize) -> f64 {
        length.div_ceil(PERIOD) as f64 / length.max(1) as f64
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::toy::testing::{asked, best_blind, digest, follows};
    use super::*;

    #[test]
    fn positions_by_hand() {
        let expected = [(1, 0), (2, 1), (3, 2), (4, 3), (5, 0), (6, 1)];
        assert_eq!(asked::<PosMod4>(&[7, 7, 7, 7, 7, 7]), expected);
        assert_eq!(asked::<PosMod4>(&[0, 1, 2, 3, 4, 5]), expected);
    }

    #[test]
    fn the_streams_are_the_published_ones() {
        assert_eq!(
            digest(&PosMod4),
            "d2bd354f9cc4cc3d93283ecc0fc620b3ac8ae69dc2f44cf48b3fa92e6c7d9272"
        );
    }

    #[test]
    fn every_sample_follows_the_definition() {
        follows(&PosMod4, |x| {
            let period = [0, 1, 2, 3].into_iter().cycle();
            (1..=x.len()).zip(period).collect()
        });
    }

    #[test]
    fn the_floor_is_the_best_without_positions() {
        for n in [4, 5, 6] {
            let best = best_blind::<PosMod4>(n, |_| true);
            assert!((best - PosMod4.floor(n)).abs() < 1e-12, "{n}: {best}");
        }
        for (n, floor) in [(10, 0.3), (20, 0.25), (21, 6.0 / 21.0), (30, 8.0 / 30.0)] {
            assert_eq!(PosMod4.floor(n), floor);
        }
    }
}
