//! Labels that a decoder writes, token by token.

use std::collections::HashMap;

use super::Labelled;
use crate::data::describe::UNKNOWN;
use crate::data::reading::{Reading, TokenKind};
use crate::task::Generation;

impl Labelled {
    /// The tokens of the longest answer; 0 where labels are classes.
    pub(super) fn longest_answer(&self) -> usize {
        let answers = self.sequences.answers.iter().flatten();
        answers.map(Vec::len).max().unwrap_or(0)
    }

    /// An answer that a file has, as [`Generation::text`] would write it.
    pub fn as_written(&self, answer: &str) -> String {
        let mut tokens = Vec::new();
        Reading::split(self.kind, answer, |token| tokens.push(token.to_string()));
        self.joined(&tokens)
    }

    fn joined(&self, tokens: &[String]) -> String {
        match self.kind {
            TokenKind::Characters => tokens.concat(),
            _ => tokens.join(" "),
        }
    }
}

impl Generation for Labelled {
    /// The class that ends an answer, after those of all tokens of the vocabulary.
    fn end(&self) -> usize {
        self.words
    }

    fn token(&self, class: usize) -> usize {
        class
    }

    fn text(&self, answer: &[usize]) -> String {
        let known: HashMap<u32, &String> = self
            .vocabulary
            .iter()
            .map(|(word, number)| (*number, word))
            .collect();
        let word = |class: &usize| {
            known
                .get(&(*class as u32))
                .map_or("?".into(), |word| word.to_string())
        };
        let words: Vec<String> = answer.iter().map(word).collect();
        self.joined(&words)
    }

    fn unknown(&self) -> Option<usize> {
        Some(UNKNOWN as usize)
    }
}
