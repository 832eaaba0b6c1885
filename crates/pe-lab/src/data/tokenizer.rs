//! A tokenizer of Hugging Face, from its `tokenizer.json`.

use super::error::Problem;
use super::limits::{MAX_BYTES, MAX_IDS};
use super::quote::grouped;
use crate::door::Entry;
use crate::task::Decode;

/// A text is encoded in parts of at least this many bytes, each of which ends with a line, so that a long one
/// needs little memory.
const PART: usize = 1 << 16;

/// What turns a text into tokens and back.
#[derive(Debug)]
pub(super) struct Tokenizer {
    inner: tokenizers::Tokenizer,
    vocabulary: usize,
}

impl Tokenizer {
    /// Reads a `tokenizer.json`.
    ///
    /// # Errors
    ///
    /// [`Problem::Other`] when it is none, or has more tokens than a small model can tell apart.
    pub fn read(path: &Entry) -> Result<Self, Problem> {
        let bytes = path.read(MAX_BYTES).map_err(|error| error.to_string());
        let inner = bytes.and_then(|bytes| {
            let read = tokenizers::Tokenizer::from_bytes(bytes);
            read.map_err(|error| error.to_string())
        });
        let mut inner = inner.map_err(|error| {
            Problem::Other(format!(
                "the tokenizer {} cannot be read: {error}; --tokens takes the tokenizer.json of a model",
                path.display()
            ))
        })?;
        // What a file sets for batches of a model, truncation and padding, would change the text.
        inner
            .with_truncation(None)
            .map_err(|error| Problem::Other(error.to_string()))?;
        inner.with_padding(None);
        let ids = inner.get_vocab(true);
        let vocabulary = ids
            .values()
            .max()
            .map_or(0, |largest| *largest as usize + 1);
        if vocabulary > MAX_IDS {
            return Err(Problem::Other(format!(
                "the tokenizer {} has {} tokens, more than the {} of which a small model can choose",
                path.display(),
                grouped(vocabulary),
                grouped(MAX_IDS)
            )));
        }
        Ok(Self { inner, vocabulary })
    }

    pub fn vocabulary(&self) -> usize {
        self.vocabulary
    }

    /// The tokens of a text, without special ones around it.
    pub fn encode(&self, text: &str) -> Result<Vec<u32>, Problem> {
        let mut tokens = Vec::new();
        let mut left = text;
        while !left.is_empty() {
            let line = left.bytes().skip(PART).position(|byte| byte == b'\n');
            let (part, rest) = left.split_at(line.map_or(left.len(), |end| PART + end + 1));
            let encoded = self.inner.encode_fast(part, false);
            let encoded = encoded.map_err(|error| {
                Problem::Other(format!("the tokenizer cannot read the text: {error}"))
            })?;
            tokens.extend(encoded.get_ids());
            left = rest;
        }
        Ok(tokens)
    }
}

impl Decode for Tokenizer {
    fn text(&self, tokens: &[usize]) -> String {
        let ids: Vec<u32> = tokens.iter().map(|token| *token as u32).collect();
        match self.inner.decode(&ids, false) {
            Ok(text) => text,
            Err(_) => ids.iter().map(u32::to_string).collect::<Vec<_>>().join(" "),
        }
    }
}

#[cfg(test)]
mod tests {
    use std::fs;

    use crate::data::testing::{self, Says};
    use crate::data::{DataTask, Source};
    use crate::task::Input;

    /// A tokenizer of words, made by hand.
    const WORDS: &str = r#"{
        "version": "1.0", "truncation": null, "padding": null, "added_tokens": [], "normalizer": null,
        "pre_tokenizer": {"type": "Whitespace"}, "post_processor": null, "decoder": null,
        "model": {"type": "WordLevel", "vocab": {"one": 0, "two": 1, "three": 2, "?": 7}, "unk_token": "?"}
    }"#;

    #[test]
    fn a_text_is_read_by_the_tokens_of_a_tokenizer() {
        let folder = tempfile::tempdir().unwrap();
        let tokenizer = testing::file(folder.path(), "tokenizer.json", WORDS);
        // Longer than a part, so that the parts are joined.
        let text = "one two three other\n".repeat(10_000);
        let settings = "objective = 'next'; train_length = 16";
        let source = Source {
            tokenizer: Some(tokenizer.clone()),
            ..testing::source(folder.path(), "a.txt", text, settings)
        };
        let data = DataTask::read(&source).unwrap();
        let task = data.task();
        // The largest id is 7.
        assert_eq!(task.vocabulary(), 8);
        data.describe()[0].says("40000 tokens");
        let sample = &task.train_batch(1, 0, 1)[0];
        let next = |token: usize| [1, 2, 7, 0, 0, 0, 0, 0][token];
        let Input::Tokens(tokens) = &sample.input else {
            panic!("a text is made of tokens");
        };
        assert!(tokens.windows(2).all(|pair| pair[1] == next(pair[0])));
        assert_eq!(task.language().unwrap().text(&[0, 1]), "one two");
        fs::write(&tokenizer, "{}").unwrap();
        let error = DataTask::read(&source).unwrap_err();
        error.says("tokenizer.json cannot be read");
    }
}
