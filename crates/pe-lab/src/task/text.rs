//! `text`: a novel, character by character. Real data.

use std::collections::BTreeSet;
use std::io::Read;
use std::sync::{Arc, LazyLock};

use flate2::read::GzDecoder;

use super::{About, Alphabet, NextToken, Stream, Task};

const FILE: &[u8] = include_bytes!("../../data/pride_and_prejudice.txt.gz");
/// The characters of a training window. The preset `lm` keeps its time with it.
const TRAIN_LENGTH: usize = 64;

static NOVEL: LazyLock<Arc<NextToken>> = LazyLock::new(|| {
    let mut text = String::new();
    GzDecoder::new(FILE)
        .read_to_string(&mut text)
        .expect("the embedded novel is gzip");
    let known: BTreeSet<char> = text.chars().collect();
    let known: Vec<char> = known.into_iter().collect();
    let number = |character| known.binary_search(&character).unwrap_or(known.len()) as u32;
    let tokens = Stream::Memory(text.chars().map(number).collect());
    let vocabulary = known.len();
    let about = About {
        name: "text".into(),
        about: "real data: predict the next character of a novel".into(),
        source: "Jane Austen, Pride and Prejudice, 1813, public domain".into(),
        token: "character".into(),
        alphabet: Alphabet::Characters(known),
    };
    let task = NextToken::new(about, tokens, vocabulary, TRAIN_LENGTH);
    let task = task.expect("the embedded novel is in memory");
    Arc::new(task.expect("the embedded novel is long enough"))
});

/// The next character of a novel of 683,934 characters: see [`NextToken`]. Windows of 64 characters to train
/// on; the last tenth of the novel is held out.
pub fn text() -> Arc<dyn Task> {
    NOVEL.clone()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_novel_is_whole_and_its_last_tenth_is_tested_at_every_length() {
        let task = &*NOVEL;
        assert_eq!(task.vocabulary(), 74);
        assert_eq!(task.test_lengths(), [64, 128, 256, 512]);
        let said = task.describe();
        assert!(said[0].starts_with("683934 characters"), "{said:?}");
        assert!(said[1].contains("the first 615541 to train on"), "{said:?}");
        assert_eq!(task.test_set(64).len(), 256);
        // A model of frequencies alone needs between four and five bits for a character of English.
        assert!((4.2..4.7).contains(&task.floor(64)), "{}", task.floor(64));
        let language = task.language().unwrap();
        let first = task.test_set(512)[0].clone();
        assert_eq!(language.text(first.input.tokens()).chars().count(), 512);
    }
}
