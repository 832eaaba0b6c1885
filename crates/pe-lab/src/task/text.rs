//! `text`: a novel, character by character. Real data.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::{Arc, LazyLock, Mutex, PoisonError};

use super::embedded::embedded;
use super::{About, Alphabet, NextToken, Stream, Task, TooShort};

const FILE: &[u8] = include_bytes!("../../data/pride_and_prejudice.txt.gz");
/// The characters of a training window by default. With more, the preset `lm` would take longer than it says.
pub const TEXT_TRAIN_LENGTH: usize = 64;
const NAME: &str = "text";

/// The different characters of the novel, and the novel as indices into them.
static NOVEL: LazyLock<(Vec<char>, Vec<u32>)> = LazyLock::new(|| {
    let text = embedded(FILE);
    let known: BTreeSet<char> = text.chars().collect();
    let known: Vec<char> = known.into_iter().collect();
    let number = |character| known.binary_search(&character).unwrap_or(known.len()) as u32;
    let tokens = text.chars().map(number).collect();
    (known, tokens)
});

/// The tasks that were made so far, by their training length.
static TASKS: Mutex<BTreeMap<usize, Arc<NextToken>>> = Mutex::new(BTreeMap::new());

/// The next character of a novel of 683,934 characters: see [`NextToken`]. Windows of 64 characters to train
/// on; the last tenth of the novel is held out.
pub fn text() -> Arc<dyn Task> {
    text_with(TEXT_TRAIN_LENGTH).expect("the embedded novel is long enough")
}

/// [`text`] with training windows of another length. It is a task of another name: see [`text_name`].
///
/// # Errors
///
/// When the held-out tenth is too short for such windows.
pub fn text_with(train_length: usize) -> Result<Arc<dyn Task>, TooShort> {
    let mut tasks = TASKS.lock().unwrap_or_else(PoisonError::into_inner);
    if let Some(task) = tasks.get(&train_length) {
        return Ok(task.clone());
    }
    let (known, tokens) = &*NOVEL;
    let about = About {
        name: text_name(train_length),
        about: "real data: predict the next character of a novel".into(),
        source: "Jane Austen, Pride and Prejudice, 1813, public domain".into(),
        token: "character".into(),
        alphabet: Alphabet::Characters(known.clone()),
    };
    let tokens = Stream::Memory(tokens.clone());
    let task = NextToken::new(about, tokens, known.len(), train_length);
    let task = Arc::new(task.expect("the embedded novel is in memory")?);
    tasks.insert(train_length, task.clone());
    Ok(task)
}

/// `text`, or for training windows of another length `text(train_length=128)`.
pub fn text_name(train_length: usize) -> String {
    match train_length {
        TEXT_TRAIN_LENGTH => NAME.into(),
        _ => format!("{NAME}(train_length={train_length})"),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_novel_is_whole_and_its_last_tenth_is_tested_at_every_length() {
        text();
        let task = TASKS.lock().unwrap()[&64].clone();
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

    #[test]
    fn another_training_length_is_another_task_on_the_same_novel() {
        let task = text_with(16).unwrap();
        assert_eq!(task.name(), "text(train_length=16)");
        assert_eq!(task.test_lengths(), [16, 32, 64, 128]);
        assert_eq!(task.train_lengths(), 16..=16);
        assert_eq!(task.train_batch(1, 0, 2)[0].input.len(), 16);
        assert_eq!(text_with(64).unwrap().name(), "text");
        let needed = text_with(20_000)
            .map(|_| 0)
            .unwrap_or_else(|short| short.needed);
        assert!(needed > 683_934, "{needed}");
    }
}
