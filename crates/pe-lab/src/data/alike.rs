//! Whether rows that are tested are nearly the same as rows to train on. Then a model may know their answers by heart.

use std::collections::HashMap;
use std::hash::{BuildHasher, RandomState};

use super::quote::grouped;
use super::rows::Rows;
use crate::rng::{RngExt, generator};

/// The most tested rows that are looked at.
const LOOKED_AT: usize = 500;
/// Shorter rows are left out: a single token is too large a part of them.
const SHORTEST: usize = 6;
/// One token in this many may differ; in a shorter row one token may.
const OF_TOKENS: usize = 10;
/// The most pairs of rows that are compared.
const COMPARED: usize = 5_000_000;
/// A share of rows below this is no warning.
const SHARE: f64 = 0.05;

/// What was found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Alike {
    /// The tested rows that were looked at.
    pub looked_at: usize,
    /// Those of them that are nearly the same as a row to train on.
    pub found: usize,
    /// How many would be found among as many rows of tokens that are drawn at random from those to train on.
    pub by_chance: usize,
}

impl Alike {
    /// Looks at up to 500 tested rows of at least six tokens. A row is nearly the same as another if one token in ten
    /// differs at most (one in rows of fewer than twenty), or if one token is there in one of them alone.
    ///
    /// Each row is cut into one piece more than tokens may differ. If no more do, one piece at least is the same in both
    /// rows, so only rows with a piece in common are compared.
    pub fn of(data: &Rows, train: &[usize], tested: &[usize]) -> Self {
        let timed = timed(data);
        let tokens = |row: &usize| match &timed {
            None => &data.rows[*row].tokens[..],
            Some(timed) => &timed[*row],
        };
        let long = tested
            .iter()
            .map(tokens)
            .filter(|row| row.len() >= SHORTEST);
        let long: Vec<&[u32]> = long.collect();
        let step = long.len().div_ceil(LOOKED_AT).max(1);
        let rows: Vec<Vec<u32>> = long.iter().step_by(step).map(|row| row.to_vec()).collect();
        let looked_at = rows.len();
        let mut rng = generator("data/alike", 0, looked_at as u64);
        let mut token = || {
            let row = tokens(&train[rng.random_range(0..train.len())]);
            row[rng.random_range(0..row.len())]
        };
        let random = |row: &Vec<u32>| (0..row.len()).map(|_| token()).collect();
        let at_random: Vec<Vec<u32>> = rows.iter().map(random).collect();
        let rows = [rows, at_random].concat();
        let is_near = near(&rows, train.iter().map(tokens));
        let (found, by_chance) = is_near.split_at(looked_at);
        let count = |of: &[bool]| of.iter().filter(|near| **near).count();
        Self {
            looked_at,
            found: count(found),
            by_chance: count(by_chance),
        }
    }

    /// A warning, if more than one row in twenty is nearly the same as one to train on, beyond those that chance alone
    /// would make.
    pub fn warning(&self) -> Option<String> {
        let more = self.found.saturating_sub(self.by_chance) as f64;
        (more > SHARE * self.looked_at as f64).then(|| {
            format!(
                "nearly the same rows are trained on and tested: {} of {} held-out rows looked at differ from a row to \
                 train on in at most one token of ten, or in one ({} would if their tokens were drawn at random), so a model \
                 may know their answers by heart; name a column that such rows have in common with --group COLUMN",
                grouped(self.found),
                grouped(self.looked_at),
                grouped(self.by_chance)
            )
        })
    }
}

/// The tokens of every row, where rows have times: the same token after another gap of time counts as another token.
fn timed(data: &Rows) -> Option<Vec<Vec<u32>>> {
    let times = data.times.as_ref()?;
    let mut known: HashMap<(u32, u64), u32> = HashMap::new();
    let rows = data.rows.iter().zip(times.rows()).map(|(row, since)| {
        let before = [0.0].iter().chain(since);
        let gaps = since.iter().zip(before).map(|(at, before)| at - before);
        let tokens = row.tokens.iter().zip(gaps).map(|(token, gap)| {
            let next = known.len() as u32;
            *known.entry((*token, gap.to_bits())).or_insert(next)
        });
        tokens.collect()
    });
    Some(rows.collect())
}

fn most_different(length: usize) -> usize {
    (length / OF_TOKENS).max(1)
}

/// Where the pieces of a row of this length begin, and where the last one ends.
fn pieces(length: usize) -> impl Iterator<Item = (usize, usize)> {
    let count = most_different(length) + 1;
    (0..count).map(move |nth| (nth * length / count, (nth + 1) * length / count))
}

/// Which of some rows are nearly the same as one of `others`.
fn near<'a>(rows: &[Vec<u32>], others: impl Iterator<Item = &'a [u32]>) -> Vec<bool> {
    let hash = RandomState::new();
    // The rows that have a piece, by a hash of the length of the other row, the number of the piece and its tokens.
    let mut known: HashMap<u64, Vec<usize>> = HashMap::new();
    for (nth, row) in rows.iter().enumerate() {
        let n = row.len();
        for length in [n - 1, n, n + 1] {
            let shift = |at: usize| (at + n).checked_sub(length);
            for (piece, (from, to)) in pieces(length).enumerate() {
                // In a row with one token more or less, a piece lies as far from the start, or from the end, as in the
                // other row.
                for start in [Some(from), shift(from).filter(|_| length != n)] {
                    let of_row = start.and_then(|start| row.get(start..start + to - from));
                    if let Some(tokens) = of_row {
                        let rows = known
                            .entry(hash.hash_one((length, piece, tokens)))
                            .or_default();
                        if rows.last() != Some(&nth) {
                            rows.push(nth);
                        }
                    }
                }
            }
        }
    }
    let mut is_near = vec![false; rows.len()];
    let mut compared = 0;
    for other in others {
        for (piece, (from, to)) in pieces(other.len()).enumerate() {
            let key = hash.hash_one((other.len(), piece, &other[from..to]));
            for nth in known.get(&key).into_iter().flatten() {
                // Equal rows stay together, and those of a test file are counted elsewhere.
                if !is_near[*nth] && compared < COMPARED && rows[*nth] != other {
                    compared += 1;
                    is_near[*nth] = is_nearly(&rows[*nth], other);
                }
            }
        }
    }
    is_near
}

fn is_nearly(row: &[u32], other: &[u32]) -> bool {
    let (short, long) = match row.len() <= other.len() {
        true => (row, other),
        false => (other, row),
    };
    match long.len() - short.len() {
        0 => {
            let different = row.iter().zip(other).filter(|(a, b)| a != b);
            different.take(most_different(row.len()) + 1).count() <= most_different(row.len())
        }
        1 => {
            let same = short.iter().zip(long).take_while(|(a, b)| a == b).count();
            short[same..] == long[same + 1..]
        }
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::super::dates::Clock;
    use super::super::times::Times;
    use super::*;
    use crate::data::testing::labelled_rows;

    /// Rows to train on and as many to test on, of these tokens.
    fn alike(train: Vec<Vec<u32>>, tested: Vec<Vec<u32>>) -> Alike {
        alike_at(train, tested, None)
    }

    fn alike_at(train: Vec<Vec<u32>>, tested: Vec<Vec<u32>>, times: Option<Times>) -> Alike {
        let places: Vec<usize> = (0..train.len() + tested.len()).collect();
        let (first, second) = places.split_at(train.len());
        let rows = [train, tested].concat().into_iter();
        let data = Rows {
            times,
            ..labelled_rows(rows.map(|tokens| (0, tokens)))
        };
        Alike::of(&data, first, second)
    }

    #[test]
    fn rows_of_other_times_are_not_alike() {
        let rows = vec![vec![1, 2, 3, 4, 5, 6, 7, 8]; 40];
        let at = |gap: &dyn Fn(usize, usize) -> f64| {
            let mut times = Times::new("the time stamps", Clock::Numbers);
            for row in 0..80 {
                let mut at = 0.0;
                let mut next = |step| {
                    at += gap(row, step);
                    at
                };
                times.add(&(0..8).map(&mut next).collect::<Vec<_>>());
            }
            alike_at(rows.clone(), rows.clone(), Some(times)).found
        };
        assert_eq!(at(&|row, step| (1 + row + 100 * step) as f64), 0);
        // Only one gap differs.
        assert_eq!(
            at(&|row, step| if step == 3 { row as f64 + 1.0 } else { 1.0 }),
            40
        );
    }

    fn random(rows: usize, length: usize, words: u32, seed: u64) -> Vec<Vec<u32>> {
        let mut rng = generator("alike", seed, 0);
        let mut row = || (0..length).map(|_| rng.random_range(0..words)).collect();
        (0..rows).map(|_| row()).collect()
    }

    #[test]
    fn a_token_that_is_changed_added_or_left_out_anywhere_is_found() {
        for length in [6, 7, 9, 15, 40] {
            let train = random(100, length, 1_000, 1);
            for at in 0..length {
                let changed = |row: &Vec<u32>| {
                    let mut row = row.clone();
                    row[at] = 5_000;
                    row
                };
                let longer = |row: &Vec<u32>| [&row[..at], &[5_000], &row[at..]].concat();
                let shorter = |row: &Vec<u32>| [&row[..at], &row[at + 1..]].concat();
                let of = |by: &dyn Fn(&Vec<u32>) -> Vec<u32>| {
                    alike(train.clone(), train.iter().map(by).collect())
                };
                for (what, found) in [
                    ("changed", of(&changed)),
                    ("longer", of(&longer)),
                    ("shorter", of(&shorter)),
                ] {
                    // A row of five tokens is too short to be looked at.
                    let looked_at = if (what, length) == ("shorter", 6) {
                        0
                    } else {
                        100
                    };
                    assert_eq!(found.looked_at, looked_at, "{what} at {at} of {length}");
                    assert_eq!(found.found, looked_at, "{what} at {at} of {length}");
                    assert_eq!(found.by_chance, 0);
                    assert_eq!(found.warning().is_some(), looked_at > 0);
                }
            }
        }
    }

    #[test]
    fn rows_that_chance_alone_makes_alike_are_no_warning() {
        // Six tokens of three words make 729 different rows, so nearly every row has a neighbour among 500.
        let found = alike(random(500, 6, 3, 2), random(200, 6, 3, 3));
        assert!(found.found > 150 && found.by_chance > 150, "{found:?}");
        assert_eq!(found.warning(), None);
        let apart = alike(random(500, 12, 50, 4), random(200, 12, 50, 5));
        assert_eq!((apart.found, apart.warning()), (0, None));
    }

    #[test]
    fn two_tokens_of_twenty_may_differ_and_two_of_nineteen_may_not() {
        for (length, is_near) in [(19, false), (20, true)] {
            let train = random(50, length, 1_000, 6);
            let changed = |row: &Vec<u32>| {
                let mut row = row.clone();
                (row[1], row[length - 2]) = (5_000, 5_000);
                row
            };
            let found = alike(train.clone(), train.iter().map(changed).collect());
            assert_eq!(found.found, if is_near { 50 } else { 0 }, "{length}");
        }
    }
}
