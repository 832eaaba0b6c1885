//! `addition` and `addition_reversed`: add two numbers, digit by digit.
//!
//! They are two tasks and not one with a setting: a study names its tasks, its tables have a row for each, and
//! a seed means independent data for each. A setting would need all of this a second time.

use super::toy::{Toy, in_place, uniform};
use super::{Answer, Prompted};
use crate::rng::HostRng;

const PLUS: usize = 10;
const EQUALS: usize = 11;
/// The token at which a digit of the sum is read.
const BLANK: usize = 12;

/// All tokens between BOS and EOS.
const TOKENS: usize = BLANK + 1;

/// The number of digits of each of the two numbers.
fn digits(length: usize) -> usize {
    length / 3 - 1
}

/// The digits of a sum, in the order of the digits of both numbers.
fn sum(a: &[usize], b: &[usize], lowest_first: bool) -> Vec<usize> {
    let mut carry = 0;
    let mut add = |(a, b): (&usize, &usize)| {
        let sum = a + b + carry;
        carry = sum / 10;
        sum % 10
    };
    let pairs = a.iter().zip(b);
    let mut digits: Vec<usize> = match lowest_first {
        true => pairs.map(&mut add).collect(),
        false => pairs.rev().map(&mut add).collect(),
    };
    digits.push(carry);
    if !lowest_first {
        digits.reverse();
    }
    digits
}

/// The two numbers of a sequence, and the position of the first blank.
fn numbers(tokens: &[usize]) -> (&[usize], &[usize], usize) {
    let count = digits(tokens.len());
    let b = count + 1;
    (&tokens[..count], &tokens[b..b + count], 1 + b + count + 1)
}

/// [`Addition`] or [`AdditionReversed`].
#[derive(Clone, Copy, Debug, Default)]
pub struct Sum<const LOWEST_FIRST: bool> {}

/// `a + b = ␣…␣`: at the blanks predict the sum. Numbers are written as people do, with the highest digit
/// first.
///
/// Both numbers have `d` independent, equally likely digits, zeros in front included, and the sum has `d + 1`,
/// so the length is `n = 3 (d + 1)`. Training lengths are drawn from 6, 9 and 12 (one to three digits), and the
/// test has 9 and 12 inside and 15, 18, 21, 24, 33 and 63 beyond (up to 20 digits). Up to five digits were more
/// than the reference model learns: in a pilot (seed 101, rotary, 3,000 steps) it scored 0.63 at three digits
/// and 0.28 at five. See [`Toy`] for what all toy tasks share.
///
/// Each digit of the sum needs two digits at distances that depend on the length, and the carry, which may
/// come from any lower digit. Lee et al. train causal models, which write the sum from the left: with the
/// highest digit first they need many more examples, since the carry into it depends on digits that come
/// later. An encoder reads all digits of the sum at once, so this reason does not hold here, and the
/// difference to [`AdditionReversed`] tells what the place of the units alone does.
///
/// Beyond the training lengths plain positions are known to fail. S. Jelassi et al., *Length Generalization in
/// Arithmetic Transformers* (2023), found relative positions to help for addition in an encoder. *Positional
/// coupling* (H. Cho et al., NeurIPS 2024) and *abacus embeddings* (S. McLeish et al., NeurIPS 2024) give
/// digits of equal place the same position; with them models of few layers add numbers of several times the
/// training length. No scheme of the laboratory knows the places of digits.
///
/// A decoder (`--causal`) reads `a+b=` and writes the sum, all three without zeros in front: the format "plain" of Lee et
/// al., without their balancing of digits and carries. A. Kazemnejad et al., *The Impact of Positional Encoding on Length
/// Generalization in Transformers* (NeurIPS 2023, arXiv 2305.19466), have the same digits in words: "Compute: 5 3 + 1 9 ?",
/// "The answer is 7 2." For a decoder `d` is the most digits that a number has.
///
/// The floor is a constant answer, 0: right at the first digit of every second sum, and at a tenth of the
/// others. Without positions a model can do better for one digit, where `a + b` needs no order.
///
/// Source: N. Lee et al., *Teaching Arithmetic to Small Transformers*, ICLR 2024 (arXiv 2307.03381), the
/// format "plain".
pub type Addition = Sum<false>;

/// As [`Addition`], with the lowest digit of all three numbers first.
///
/// The digits of one place then have the same place in each of the three numbers, and the carry comes from the
/// left. Lee et al. reverse the sum alone; that the two numbers are reversed too is the format of the work on
/// lengths beyond training (Y. Zhou et al., *Transformers Can Achieve Length Generalization But Not Robustly*,
/// 2024, and the papers on coupled positions named at [`Addition`]).
///
/// A decoder (`--causal`) has the format "reverse" of Lee et al.: it reads `a+b=` as in [`Addition`], the highest digits first,
/// and writes the sum with its lowest digit first. So every digit follows from digits that are there already.
///
/// Source: N. Lee et al., *Teaching Arithmetic to Small Transformers*, ICLR 2024 (arXiv 2307.03381), the
/// format "reverse".
pub type AdditionReversed = Sum<true>;

impl<const LOWEST_FIRST: bool> Toy for Sum<LOWEST_FIRST> {
    const NAME: &'static str = match LOWEST_FIRST {
        true => "addition_reversed",
        false => "addition",
    };
    const ABOUT: &'static str = match LOWEST_FIRST {
        true => "toy: add two numbers, the lowest digit first",
        false => "toy: add two numbers, the highest digit first",
    };
    const SOURCE: &'static str = "Lee et al. 2023, ICLR 2024";
    const TOKENS: usize = TOKENS;
    const CLASSES: usize = 10;
    const LENGTH_STEP: usize = 3;
    const TRAIN_LENGTHS: std::ops::RangeInclusive<usize> = 6..=12;
    const TEST_LENGTHS: &'static [usize] = &[9, 12, 15, 18, 21, 24, 33, 63];
    const STEPS: usize = 2_500;
    const FLOOR_ABOUT: &'static str = "0 at every place";
    const FIRST_ANSWER: usize = 0;
    const PROMPTED_ABOUT: &'static str = match LOWEST_FIRST {
        true => "the sum with its lowest digit first after `a+b=`, whose highest digits are first",
        false => "the sum after `a+b=`",
    };

    /// `a+b=` with the highest digit of both numbers first, and then the sum. No number has zeros in front. The numbers are the same
    /// as in the task, so that their digits are turned round where the lowest is first.
    fn prompted_of(tokens: &[usize]) -> Prompted {
        let (a, b, _) = numbers(tokens);
        let turned = |digits: &[usize]| match LOWEST_FIRST {
            true => digits.iter().rev().copied().collect(),
            false => digits.to_vec(),
        };
        let number = |digits: &[usize]| {
            let digits = turned(digits);
            let zeros = digits.iter().take_while(|digit| **digit == 0).count();
            digits[zeros.min(digits.len() - 1)..].to_vec()
        };
        let sum = number(&sum(a, b, LOWEST_FIRST));
        let bos = TOKENS;
        Prompted {
            prompt: [&[bos], &number(a)[..], &[PLUS], &number(b), &[EQUALS]].concat(),
            answer: turned(&sum),
        }
    }

    fn draw(rng: &mut HostRng, length: usize) -> Vec<usize> {
        let count = digits(length);
        let (a, b) = (uniform(rng, count, 10), uniform(rng, count, 10));
        let blanks = vec![BLANK; count + 1];
        [&a[..], &[PLUS], &b, &[EQUALS], &blanks].concat()
    }

    fn answers(tokens: &[usize]) -> Vec<Answer> {
        let (a, b, blank) = numbers(tokens);
        in_place(blank, sum(a, b, LOWEST_FIRST))
    }

    /// The first digit is 0 unless the sum has a digit more than the numbers, in `(10^d + 1) / 2` of `10^d`
    /// cases. Every other digit is uniform.
    fn floor_at(length: usize) -> f64 {
        let count = digits(length);
        let first = 0.5 + 0.5 * 0.1_f64.powi(count as i32);
        (first + 0.1 * count as f64) / (count + 1) as f64
    }
}
