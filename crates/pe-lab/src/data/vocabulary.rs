//! The vocabulary of rows whose tokens are words: which of them have a number of their own.

use std::collections::HashSet;

use super::describe::UNKNOWN;
use super::error::Problem;
use super::limits::MAX_VOCABULARY;
use super::quote::grouped;
use super::rows::Rows;

/// The index in the vocabulary for every word of the data, and the number of different words in training.
/// The most frequent word of the training rows gets index 1. Of equally frequent words, the first in the
/// file comes first. Words of answers come before all others.
pub(super) fn vocabulary(data: &Rows, train: &[usize]) -> (Vec<u32>, usize) {
    let mut counts = vec![0_usize; data.words.len()];
    let mut written = vec![false; data.words.len()];
    for row in train {
        let answer = data
            .answers
            .iter()
            .flat_map(|all| &all[data.rows[*row].label]);
        for token in answer.clone() {
            written[*token as usize] = true;
        }
        for token in data.rows[*row].tokens.iter().chain(answer) {
            counts[*token as usize] += 1;
        }
    }
    let mut words: Vec<usize> = (0..counts.len()).filter(|word| counts[*word] > 0).collect();
    words.sort_by_key(|word| std::cmp::Reverse((written[*word], counts[*word])));
    let mut numbers = vec![UNKNOWN; counts.len()];
    for (number, word) in (1..).zip(words.iter().take(MAX_VOCABULARY)) {
        numbers[*word] = number;
    }
    (numbers, words.len())
}

/// Checks that every token of the answers in training has a number of its own, so that a model can learn to write it.
pub(super) fn check_answers(data: &Rows, train: &[usize], numbers: &[u32]) -> Result<(), Problem> {
    let answers = || {
        let of_row = |row: &usize| data.answers.as_ref().map(|all| &all[data.rows[*row].label]);
        train.iter().filter_map(of_row).flatten()
    };
    match answers().any(|token| numbers[*token as usize] == UNKNOWN) {
        false => Ok(()),
        true => Err(Problem::Reading(format!(
            "the answers have {} different tokens, and a model writes at most {}; take characters with --tokens characters",
            grouped(answers().collect::<HashSet<_>>().len()),
            grouped(MAX_VOCABULARY)
        ))),
    }
}
