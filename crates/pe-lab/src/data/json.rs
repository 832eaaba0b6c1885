//! The values of JSON lines: labels, lists of tokens and texts.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};
use serde_json::Value;

use super::numbers;
use super::quote::shorten;
use super::rows::Tokens;

/// A string or a number as text, or the kind of anything else.
fn token(value: Value) -> Result<String, String> {
    match value {
        Value::String(text) => Ok(text),
        // As Rust writes it: 1.0 is `1`.
        Value::Number(number) => Ok(match number.as_f64().filter(|_| number.is_f64()) {
            Some(decimal) => decimal.to_string(),
            None => number.to_string(),
        }),
        Value::Bool(value) => Err(format!("boolean `{value}`")),
        Value::Null => Err("null".into()),
        Value::Array(_) => Err("list".into()),
        Value::Object(_) => Err("map".into()),
    }
}

/// The label, group or answer under a key, as a text, which is empty for `null`.
pub(super) fn word<E: Error>(key: &str, value: Value) -> Result<String, E> {
    match value {
        Value::Bool(value) => Ok(value.to_string()),
        Value::Null => Ok(String::new()),
        other => token(other).map_err(|kind| {
            E::custom(format!(
                "{} is a {kind}, expected a string, a number, true or false",
                shorten(key)
            ))
        }),
    }
}

/// A list of tokens. It is read token by token, and [`Tokens`] only counts those that are too many, so
/// a line with millions of them takes no more memory than its text.
#[derive(Default)]
pub(super) struct List {
    pub tokens: Tokens,
    /// Whether it has a token that is neither a number nor says that one is missing.
    pub has_words: bool,
    /// Whether one of these tokens is no number even without its quotation marks.
    pub has_names: bool,
    /// Whether it has a number that is not whole.
    pub has_fractions: bool,
    /// Which token is the first that is `null`, from 1.
    pub null: Option<usize>,
}

/// A sequence as JSON holds it. Under a key that a person named it may be either.
pub(super) enum Sequence {
    List(List),
    Text(String),
}

struct Tokenized;

impl<'de> Visitor<'de> for Tokenized {
    type Value = List;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a list of tokens")
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<List, A::Error> {
        let mut found = List::default();
        while let Some(value) = list.next_element::<Value>()? {
            let number = found.tokens.count() + 1;
            match &value {
                Value::String(text) if text.is_empty() => {
                    return Err(A::Error::custom(format!("token {number} is empty")));
                }
                // A text is a symbol even where it is a number, but it may say that a number is missing.
                Value::String(text) => {
                    let number = numbers::number(text);
                    found.has_words |= !number.is_some_and(f64::is_nan);
                    found.has_names |= number.is_none();
                }
                Value::Number(number) => {
                    found.has_fractions |= number.as_f64().is_some_and(|of| of.fract() != 0.0);
                }
                Value::Null => {
                    found.null.get_or_insert(number);
                    found.tokens.push("?");
                    continue;
                }
                _ => {}
            }
            let wrong =
                |kind| format!("invalid type: {kind}, expected a token: a string or a number");
            let text = token(value).map_err(|kind| A::Error::custom(wrong(kind)))?;
            found.tokens.push(&text);
        }
        Ok(found)
    }
}

impl<'de> Deserialize<'de> for List {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        deserializer.deserialize_seq(Tokenized)
    }
}

impl<'de> Deserialize<'de> for Sequence {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct ListOrText;
        impl<'de> Visitor<'de> for ListOrText {
            type Value = Sequence;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of tokens")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Sequence, E> {
                Ok(Sequence::Text(text.to_string()))
            }

            fn visit_seq<A: SeqAccess<'de>>(self, list: A) -> Result<Sequence, A::Error> {
                Tokenized.visit_seq(list).map(Sequence::List)
            }
        }
        deserializer.deserialize_any(ListOrText)
    }
}
