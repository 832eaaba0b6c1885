//! `modular_arithmetic`: the value of a sum of products, modulo 5.

use super::Answer;
use super::toy::{Toy, in_place, uniform};
use crate::rng::HostRng;

const MODULUS: usize = 5;
const PLUS: usize = MODULUS;
const MINUS: usize = MODULUS + 1;
const TIMES: usize = MODULUS + 2;
const EQUALS: usize = MODULUS + 3;

/// `x₁ ∘ x₂ ∘ … ∘ x_k =` with digits from 0 to 4 and operations `+`, `−` and `·`: predict the value modulo 5, where products come
/// first. One answer, read at `=`.
///
/// Digits and operations are independent and equally likely. The length is `n = 2 k`: training lengths are drawn from 4, 6, …,
/// 20, and the test has 10 and 20 inside and 22, 26, 30, 40, 60 and 80 beyond. See [`Toy`] for what all toy tasks share.
///
/// The task is a regular language: a machine with a few states reads it from left to right. Transformers with any of five
/// encodings stay near chance on longer inputs in the paper, and a plain recurrent network solves it.
///
/// The floor is exact for a constant answer: a product with a 0 is 0, so 0 is the likeliest value. It is not the best
/// accuracy without positions: digits and operations without their order determine much of a short sum, 0.87 of the answers at 4 tokens
/// and 0.39 at 10.
///
/// No scheme was seen to learn it here, inside the training lengths either: after 2,500 steps (seed 1, accuracy at 10 and 20 tokens) `t5`
/// has 0.25 and 0.18, `cope` 0.24 and 0.18; after 8,000 steps `t5` has 0.31 and 0.19. The floors are 0.21 and 0.20.
///
/// Source: "Modular Arithmetic (Simple)" of G. Delétang et al., *Neural Networks and the Chomsky Hierarchy*, ICLR 2023.
#[derive(Clone, Copy, Debug, Default)]
pub struct ModularArithmetic;

impl Toy for ModularArithmetic {
    const NAME: &'static str = "modular_arithmetic";
    const ABOUT: &'static str = "toy: the value of digits with plus, minus and times, modulo 5";
    const SOURCE: &'static str = "Modular Arithmetic (Simple) of Delétang et al. 2023, ICLR";
    const TOKENS: usize = MODULUS + 4;
    const CLASSES: usize = MODULUS;
    const FIRST_ANSWER: usize = 0;
    const LENGTH_STEP: usize = 2;
    const TEST_LENGTHS: &'static [usize] = &[10, 20, 22, 26, 30, 40, 60, 80];
    const STEPS: usize = 2_500;
    const FLOOR_ABOUT: &'static str = "a constant answer";

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let digits = uniform(rng, length / 2, MODULUS);
        let operations = uniform(rng, length / 2, 3);
        let pairs = digits.iter().zip(&operations);
        let mut tokens: Vec<usize> = pairs.flat_map(|(digit, of)| [*digit, PLUS + of]).collect();
        tokens[length - 1] = EQUALS;
        tokens
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        // The sum of the products that have ended, and the product that goes on.
        let (mut sum, mut product) = (0, tokens[0]);
        for pair in tokens[1..tokens.len() - 1].chunks_exact(2) {
            match pair[0] {
                TIMES => product *= pair[1],
                sign => {
                    sum += product;
                    product = if sign == MINUS {
                        MODULUS - pair[1]
                    } else {
                        pair[1]
                    };
                }
            }
            (sum, product) = (sum % MODULUS, product % MODULUS);
        }
        in_place(tokens.len(), [(sum + product) % MODULUS])
    }

    /// The share of the likeliest value, over all digits and operations.
    fn floor_at(length: usize) -> f64 {
        // How likely each sum is together with each product.
        let mut states = [[0.0; MODULUS]; MODULUS];
        states[0] = [1.0 / MODULUS as f64; MODULUS];
        for _ in 1..length / 2 {
            let mut next = [[0.0; MODULUS]; MODULUS];
            for (sum, product) in (0..MODULUS).flat_map(|sum| (0..MODULUS).map(move |of| (sum, of)))
            {
                let share = states[sum][product] / (3 * MODULUS) as f64;
                for digit in 0..MODULUS {
                    // A digit and its negative are equally likely, so both signs do the same.
                    next[(sum + product) % MODULUS][digit] += 2.0 * share;
                    next[sum][product * digit % MODULUS] += share;
                }
            }
            states = next;
        }
        let value = |of: usize| {
            let sums = 0..MODULUS;
            sums.map(|sum| states[sum][(of + MODULUS - sum) % MODULUS])
                .sum::<f64>()
        };
        (0..MODULUS).map(value).fold(0.0, f64::max)
    }
}
