//! `shift3`: output the symbol three places before.

use super::Answer;
use super::floor::best_other_share;
use super::toy::{Toy, in_place};

const SHIFT: usize = 3;

/// `y_i = x_{i−3}` for `i > 3`: predict the symbol three places before.
///
/// Symbols are independent and equally likely, of eight; see [`Toy`] for what all toy tasks share.
/// The first three places have no answer and are not scored; every sequence has at least four
/// symbols, so at least one is scored. The distance is the same everywhere, and encodings of relative
/// positions express it directly: in a pilot of this suite rotary positions worked farthest beyond the
/// training lengths, then T5's, then sinusoidal and learned ones equally far. Randomized positions, which
/// change distances, did worse.
///
/// The floor is exact, [`best_other_share`]: the answer is any token except a token's own. The bag offers
/// no other shortcut.
///
/// Source: this suite.
#[derive(Clone, Copy, Debug, Default)]
pub struct Shift3;

impl Toy for Shift3 {
    const NAME: &'static str = "shift3";
    const ABOUT: &'static str = "toy: output the symbol (one of 8) three places before";
    const SOURCE: &'static str = "this suite; one fixed distance";
    const TOKENS: usize = 8;
    const CLASSES: usize = 8;
    const FLOOR_ABOUT: &'static str = "the best answer without positions";
    const STEPS: usize = 600;

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let scored = tokens.len().saturating_sub(SHIFT);
        in_place(SHIFT + 1, tokens[..scored].iter().copied())
    }

    fn floor_at(length: usize) -> f64 {
        best_other_share(length, Self::TOKENS)
    }
}

#[cfg(test)]
mod tests {
    use super::super::Task;
    use super::super::toy::testing::{asked, best_blind, blind_rule, digest, follows, mode};
    use super::*;

    #[test]
    fn symbols_by_hand() {
        assert_eq!(asked::<Shift3>(&[5, 0, 0, 2]), [(4, 5)]);
        assert_eq!(
            asked::<Shift3>(&[1, 2, 3, 4, 5, 6]),
            [(4, 1), (5, 2), (6, 3)]
        );
        assert_eq!(asked::<Shift3>(&[1, 2]), []);
    }

    #[test]
    fn the_streams_are_the_published_ones() {
        assert_eq!(
            digest(&Shift3),
            "1e6f7e2d16b04e682f330f84fe58c62062fb18f372f22268977f11e2da02e658"
        );
    }

    #[test]
    fn every_sample_follows_the_definition() {
        follows(&Shift3, |x| {
            (4..=x.len()).map(|i| (i, x[i - 3 - 1])).collect()
        });
    }

    #[test]
    fn the_floor_is_the_best_without_positions() {
        for n in [4, 5, 6] {
            let best = best_blind::<Shift3>(n, |_| true);
            assert!((best - Shift3.floor(n)).abs() < 1e-12, "{n}: {best}");
        }
        for n in [10, 21, 80] {
            // The mode of the bag without the own token.
            let scored = blind_rule::<Shift3>(n, |counts, own| {
                let mut others = counts.to_vec();
                others[own] -= 1;
                mode(&others)
            });
            assert!((scored - Shift3.floor(n)).abs() < 0.004, "{n}: {scored}");
        }
    }
}
