//! The toy tasks, each with what it is compared with.

use std::iter::repeat_n;

use super::super::super::*;
use super::super::testing::{Pairs, Rule, asked, best_blind, blind_rule, follows, mode};
use super::super::*;

/// From the tokens to (position, class).
type Definition = fn(&[usize]) -> Pairs;

/// What one task is compared with.
pub struct Row {
    pub task: &'static dyn Task,
    /// The character that stands for each token below. BOS is `^`, and EOS `$`.
    pub symbols: &'static str,
    pub asked: Definition,
    pub prompted: fn(&[usize]) -> Prompted,
    pub follows: fn(&dyn Task, Definition),
    pub best_blind: fn(usize) -> f64,
    pub blind_rule: fn(usize, Rule) -> f64,
    /// SHA-256 of its samples.
    pub digest: &'static str,
    pub definition: Definition,
    /// Tokens, and below them the class that is asked for at each, from BOS on.
    pub by_hand: &'static [[&'static str; 2]],
    /// Tokens, and what a decoder reads and writes of them.
    pub written: &'static [[&'static str; 3]],
    /// Lengths at which the floor is the best of all answers without positions.
    pub best_at: &'static [usize],
    /// A rule without positions that scores the floor at these lengths, within this tolerance.
    pub scored_by: Option<(Rule, &'static [usize], f64)>,
}

fn row<T: Toy + 'static>(
    task: &'static T,
    symbols: &'static str,
    digest: &'static str,
    definition: Definition,
) -> Row {
    Row {
        task,
        symbols,
        asked: asked::<T>,
        prompted: T::prompted_of,
        follows: follows::<T>,
        best_blind: |length| best_blind::<T>(length, |_| true),
        blind_rule: blind_rule::<T>,
        digest,
        definition,
        by_hand: &[],
        written: &[],
        best_at: &[],
        scored_by: None,
    }
}

impl Row {
    fn by_hand(self, by_hand: &'static [[&'static str; 2]]) -> Self {
        Self { by_hand, ..self }
    }

    fn written(self, written: &'static [[&'static str; 3]]) -> Self {
        Self { written, ..self }
    }

    fn best_at(self, best_at: &'static [usize]) -> Self {
        Self { best_at, ..self }
    }

    fn scored_by(self, rule: Rule, lengths: &'static [usize], error: f64) -> Self {
        Self {
            scored_by: Some((rule, lengths, error)),
            ..self
        }
    }

    pub fn tokens(&self, text: &str) -> Vec<usize> {
        let symbols = self.symbols.chars().chain(['^', '$']);
        let token = |c| symbols.clone().position(|symbol| symbol == c).unwrap();
        text.chars().map(token).collect()
    }
}

const EIGHT: &str = "01234567";

/// The answer at each place, from the first on.
fn in_order(classes: impl IntoIterator<Item = usize>) -> Pairs {
    (1..).zip(classes).collect()
}

/// A row for every toy task.
pub fn rows() -> Vec<Row> {
    vec![
        bucket_sort(),
        sort50(),
        reverse(),
        odds_first(),
        shift3(),
        pos_mod4(),
        prev_occurrence(),
        first_eq_last(),
        missing_duplicate(),
        majority(),
        counting(),
        modular_arithmetic(),
        addition(),
        addition_reversed(),
        passkey(),
        mqar(),
        selective_copy(),
        indirect_indexing(),
    ]
}

fn bucket_sort() -> Row {
    row(
        &BucketSort,
        EIGHT,
        "432868fc6e99edcbaeb7124ab783d4a4f729e11b0b7c46679ee90d31ed25c476",
        // The i-th smallest: fewer than i tokens lie below it, and at least i do not lie above.
        |x| {
            let count = |test: &dyn Fn(usize) -> bool| x.iter().filter(|s| test(**s)).count();
            let is = |i, s| count(&|t| t < s) < i && count(&|t| t <= s) >= i;
            in_order((1..=x.len()).map(|i| (0..8).find(|s| is(i, *s)).unwrap()))
        },
    )
    .by_hand(&[["3073", ".0337"], ["65411", ".11456"]])
    .best_at(&[4, 5, 6])
    .scored_by(|counts, _| mode(counts), &[20, 80], 0.003)
}

fn sort50() -> Row {
    row(
        &Sort50,
        "",
        "71eae6f808b8f0f001a6ebc0c5e4449060fa6e03765f5f38eecb5772c6839f98",
        // Each symbol is asked for as often as it occurs, and no later one is smaller.
        |x| {
            let count = |symbol| x.iter().filter(|s| **s == symbol).count();
            in_order((0..50).flat_map(|symbol| repeat_n(symbol, count(symbol))))
        },
    )
    .scored_by(|counts, _| mode(counts), &[10, 20, 80], 0.003)
}

fn reverse() -> Row {
    row(
        &Reverse,
        EIGHT,
        "c4b74d681cfaf849986b34d81042cb37f24c7a4560550562af67e2085f4118e1",
        |x| in_order((1..=x.len()).map(|i| x[x.len() + 1 - i - 1])),
    )
    .by_hand(&[["3140", ".0413"], ["77256", ".65277"]])
    .written(&[["3140", "^3140$", "0413"]])
    .best_at(&[5])
    .scored_by(|counts, _| mode(counts), &[10, 21, 80], 0.003)
}

fn odds_first() -> Row {
    row(
        &OddsFirst,
        EIGHT,
        "00630aa98064da171839f4639efe6aa13fa7ea14d6da7d65ff3701447305343e",
        |x| {
            let half = x.len().div_ceil(2);
            let from = |i: usize| match i <= half {
                true => 2 * i - 1,
                false => 2 * (i - half),
            };
            in_order((1..=x.len()).map(|i| x[from(i) - 1]))
        },
    )
    .by_hand(&[["3140", ".3410"], ["01234", ".02413"]])
    .best_at(&[4, 5, 6])
}

fn shift3() -> Row {
    row(
        &Shift3,
        EIGHT,
        "1e6f7e2d16b04e682f330f84fe58c62062fb18f372f22268977f11e2da02e658",
        |x| (4..=x.len()).map(|i| (i, x[i - 3 - 1])).collect(),
    )
    .by_hand(&[["5002", "....5"], ["123456", "....123"], ["12", ""]])
    .best_at(&[4, 5, 6])
    // The mode of the bag without the own token.
    .scored_by(
        |counts, own| {
            let mut others = counts.to_vec();
            others[own] -= 1;
            mode(&others)
        },
        &[10, 21, 80],
        0.004,
    )
}

fn pos_mod4() -> Row {
    row(
        &PosMod4,
        EIGHT,
        "d2bd354f9cc4cc3d93283ecc0fc620b3ac8ae69dc2f44cf48b3fa92e6c7d9272",
        |x| in_order([0, 1, 2, 3].into_iter().cycle().take(x.len())),
    )
    .by_hand(&[["777777", ".012301"], ["012345", ".012301"]])
    .best_at(&[4, 5, 6])
}

fn prev_occurrence() -> Row {
    row(
        &PrevOccurrence,
        EIGHT,
        "d2a7c3f8e4ea7138c6182006e6eec8775827a80e1307af93363fdf204d11af70",
        |x| {
            let earlier = |i: usize| (0..i).rev().find(|j| x[*j] == x[i]);
            in_order((0..x.len()).map(|i| earlier(i).map_or(8, |j| x[j + 1])))
        },
    )
    // The last earlier occurrence counts, and an immediate repeat is its own answer.
    .by_hand(&[
        ["3145", ".8888"],
        ["31313", ".88131"],
        ["2527222", ".8858722"],
    ])
    .best_at(&[4, 5, 6])
    // "None" with probability 1/k against the mode with (k − 1) M / (k n).
    .scored_by(
        |counts, own| match mode(counts) {
            mode if (counts[own] - 1) * counts[mode] > counts.iter().sum() => mode,
            _ => 8,
        },
        &[10, 20, 80],
        0.004,
    )
}

fn first_eq_last() -> Row {
    row(
        &FirstEqLast,
        "01",
        "7d1d1fe20ba26a2f9e07ee719ab22cb8225df810dca313d4b01619bce5056c71",
        // The number of changes is even where the ends are equal.
        |x| {
            let changes = x.windows(2).filter(|pair| pair[0] != pair[1]).count();
            vec![(0, 1 - changes % 2)]
        },
    )
    .by_hand(&[["0110", "1"], ["10001", "1"], ["0001", "0"], ["11110", "0"]])
    .best_at(&[4, 5, 10, 13])
    // Equal ends are the likelier answer where the counts differ by more than √n.
    .scored_by(
        |counts, _| {
            let difference = counts[0].abs_diff(counts[1]);
            usize::from(difference.pow(2) > counts[0] + counts[1])
        },
        &[20, 80],
        0.02,
    )
}

fn missing_duplicate() -> Row {
    row(
        &MissingDuplicate,
        "01_",
        "22eaa3bb3fec1ff7f114a5fe912db4240a25b2497f35861b74c1575aa92e71e1",
        // The half without the mask tells what the word is.
        |x| {
            let masks: Vec<usize> = (0..x.len()).filter(|i| x[*i] == 2).collect();
            assert_eq!((masks.len(), x.len() % 2), (1, 0));
            let (first, second) = x.split_at(x.len() / 2);
            let whole = if first.contains(&2) { second } else { first };
            let filled = whole[masks[0] % whole.len()];
            let mut word = x.to_vec();
            word[masks[0]] = filled;
            assert_eq!(word, whole.repeat(2));
            vec![(masks[0] + 1, filled)]
        },
    )
    // 01‖01, 110‖110 and 0011‖0011.
    .by_hand(&[
        ["010_", "....1"],
        ["_10110", ".1"],
        ["11_110", "...0"],
        ["00110_11", "......0"],
    ])
}

fn majority() -> Row {
    row(
        &Majority,
        "01",
        "0acd162e8df685a1934fea279c5dffeca5fa4a11a515f9941f5b21e103ef3781",
        |x| {
            let balance: i32 = x.iter().map(|s| if *s == 1 { 1 } else { -1 }).sum();
            assert_ne!(balance, 0, "no sequence is tied");
            vec![(0, usize::from(balance > 0))]
        },
    )
    .by_hand(&[["1101", "1"], ["01010", "0"], ["10101", "1"], ["0001", "0"]])
}

fn counting() -> Row {
    row(
        &Counting,
        "si-", // set, increment, pass
        "f0ff073fd2bf068d2f2206df6699546901bb0cb2ac9624c4b4995bb24186da60",
        |x| {
            let value = x.iter().fold(0, |value, operation| match operation {
                0 => 0,
                1 => value + 1,
                _ => value,
            });
            vec![(0, value)]
        },
    )
    .by_hand(&[["iis-i-", "1"], ["sii-is", "0"], ["sii-ii", "4"]])
}

fn modular_arithmetic() -> Row {
    row(
        &ModularArithmetic,
        "01234+-*=",
        "182a7173ca76c05736b41cad221d6874e581f39d250eaf86f2d497d2928a23fb",
        // Computed with integers: the terms between plus and minus, each a product.
        |x| {
            let (mut total, mut sign, mut term) = (0_i128, 1_i128, 1_i128);
            for token in x {
                match token {
                    0..5 => term = term * *token as i128 % 5,
                    7 => {}
                    other => {
                        total += sign * term;
                        (sign, term) = (if *other == 6 { -1 } else { 1 }, 1);
                    }
                }
            }
            vec![(x.len(), total.rem_euclid(5) as usize)]
        },
    )
    // −1, −10 and −8.
    .by_hand(&[
        ["1+2-4=", "......4"],
        ["2*3-4*4=", "........0"],
        ["4-3*2*2=", "........2"],
    ])
    .scored_by(|_, _| 0, &[4, 10, 20, 80], 0.02)
}

fn addition() -> Row {
    row(
        &Addition {},
        "0123456789+=_",
        "cb4a214f637f3f1c9ea99cea0eade45c02e82d3b781382b8cb4887f2caa28559",
        |x| sum(x, false),
    )
    // The last has a carry through every digit.
    .by_hand(&[
        ["57+68=___", ".......125"],
        ["7+2=__", ".....09"],
        ["999+001=____", ".........1000"],
    ])
    // Nothing is left of 00 but one zero.
    .written(&[
        ["57+68=___", "^57+68=", "125"],
        ["07+40=___", "^7+40=", "47"],
        ["00+00=___", "^0+0=", "0"],
    ])
    .scored_by(|_, _| 0, &[6, 12, 18, 63], 0.008)
}

fn addition_reversed() -> Row {
    row(
        &AdditionReversed {},
        "0123456789+=_",
        "fcda66d9745522bfca5632b522ebabbebd39d3e7f511aeb99805f9ca79f7aa72",
        |x| sum(x, true),
    )
    .by_hand(&[["75+86=___", ".......521"]])
    .written(&[
        ["75+86=___", "^57+68=", "521"],
        ["70+04=___", "^7+40=", "74"],
        ["00+00=___", "^0+0=", "0"],
    ])
    .scored_by(|_, _| 0, &[6, 12, 18, 63], 0.008)
}

/// The sum, computed with integers. Twenty digits fit into 128 bits.
fn sum(x: &[usize], reversed: bool) -> Pairs {
    let parts: Vec<&[usize]> = x.split(|token| *token >= 10).collect();
    let turned = |mut digits: Vec<usize>| {
        if reversed {
            digits.reverse();
        }
        digits
    };
    let number = |digits: &[usize]| {
        let digits = turned(digits.to_vec()).into_iter();
        digits.fold(0_u128, |n, digit| 10 * n + digit as u128)
    };
    let count = parts[0].len() + 1;
    let sum = format!("{:0count$}", number(parts[0]) + number(parts[1]));
    let sum = turned(sum.bytes().map(|b| usize::from(b - b'0')).collect());
    let first = x.iter().position(|token| *token == 12).unwrap() + 1;
    assert_eq!(x[first - 1..], vec![12; count]);
    (first..).zip(sum).collect()
}

fn passkey() -> Row {
    row(
        &Passkey,
        "01234567M?",
        "3fd26d41edfc5d020daa6b741a30572f46e7d18ca1f76f12d8d8185a1f2bc5ec",
        |x| {
            let n = x.len();
            let marks: Vec<usize> = (0..n).filter(|i| x[*i] == 8).collect();
            assert_eq!(marks.len(), 1, "{x:?}");
            let asks: Vec<usize> = (0..n).filter(|i| x[*i] == 9).collect();
            assert_eq!(asks, [n - 3, n - 2, n - 1]);
            let digit = |j: usize| (asks[j] + 1, x[marks[0] + 1 + j]);
            (0..3).map(digit).collect()
        },
    )
    .by_hand(&[["M3140???", "......314"], ["0M772???", "......772"]])
    // Five standard deviations of 30,000 answers.
    .scored_by(|counts, _| mode(&counts[..8]), &[8, 20, 40, 160], 0.015)
}

fn mqar() -> Row {
    row(
        &Mqar,
        "0123456789abcdefABCDEFGH", // keys and values
        "1f72d0891582a8b69292b1b3778fba9861a32439e0188c24030106284bbf8bda",
        |x| {
            let pairs = x.len() / 3;
            let value = |key: usize| {
                let at: Vec<usize> = (0..pairs).filter(|pair| x[2 * pair] == key).collect();
                assert_eq!(at.len(), 1, "a key stands in one pair: {x:?}");
                x[2 * at[0] + 1] - 16
            };
            let mut queries = x[2 * pairs..].to_vec();
            queries.sort_unstable();
            queries.dedup();
            assert_eq!(queries.len(), pairs, "each key is asked for once");
            let places = 2 * pairs..3 * pairs;
            places.map(|i| (i + 1, value(x[i]))).collect()
        },
    )
    .by_hand(&[["5CfHf5", ".....72"], ["0A1A2D021", ".......030"]])
    .scored_by(|counts, _| mode(&counts[16..]), &[6, 15, 24, 48], 0.008)
}

fn selective_copy() -> Row {
    row(
        &SelectiveCopy,
        "01234567_?",
        "755a4be934535e5647745b4be09cf1817f6460a9c070a78b19fb459bd9d11950",
        |x| {
            let k = x.len() / 3;
            assert!(x[2 * k..].iter().all(|token| *token == 9));
            let nth = |j: usize| (0..2 * k).filter(|i| x[*i] != 8).nth(j).unwrap();
            assert_eq!((0..2 * k).filter(|i| x[*i] == 8).count(), k);
            (0..k).map(|j| (2 * k + 1 + j, x[nth(j)])).collect()
        },
    )
    .by_hand(&[["_31_??", ".....31"]])
    .written(&[["_31_??", "^_31_$", "31"]])
    .scored_by(|counts, _| mode(&counts[..8]), &[6, 15, 24, 72], 0.008)
}

fn indirect_indexing() -> Row {
    row(
        &IndirectIndexing,
        "0123456789abcdefzyxXYZ", // symbols, and shifts from −3 to 3
        "0d08df193e81eb908421dd441494e910d332ada6e64739d5b5c720be66d097f8",
        |x| {
            let (string, queries) = x.split_at(x.len() / 2);
            let answer = |(nth, query): (usize, &[usize])| {
                let at = |symbol| (0..string.len()).filter(move |i| string[*i] == symbol);
                assert_eq!(at(query[0]).count(), 1);
                let place = at(query[0]).next().unwrap() as i32;
                let target = place + [-3, -2, -1, 1, 2, 3][query[1] - 16];
                (string.len() + 2 * (nth + 1), string[target as usize])
            };
            queries.chunks(2).enumerate().map(answer).collect()
        },
    )
    // Two places after the 1, and three before the 5.
    .by_hand(&[["12351Y5z", "......3.1"]])
    .written(&[["12351Y5z", "^12351Y5z$", "31"]])
    // A symbol that no query names: all others are twice among the tokens.
    .scored_by(
        |counts, _| counts[..16].iter().position(|count| *count == 1).unwrap(),
        &[8, 12, 16, 24, 32],
        0.01,
    )
}
