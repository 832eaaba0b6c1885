//! JSON lines: an object with a label and tokens on every line.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::Problem;
use super::rows::{Collector, Rows, Tokens};
use super::shorten;

/// Reads labelled sequences: `{"label": "x", "tokens": ["a", "b"]}` or
/// `{"label": "x", "text": "a b"}`, one on each line. Other fields are ignored, and so are blank
/// lines.
///
/// A label is a string, a number, `true` or `false`; a token is a string or a number. The tokens of
/// a text are separated by spaces.
///
/// # Errors
///
/// Rows that cannot be used.
pub(super) fn read(text: &str) -> Result<Rows, Problem> {
    let mut rows = Collector::default();
    for (line, text) in (1..).zip(text.lines()) {
        let text = text.trim();
        if text.is_empty() {
            continue;
        }
        if !text.starts_with('{') {
            rows.reject(line, || {
                format!(
                    "{} is no JSON object; a line looks like {EXAMPLE}",
                    shorten(text)
                )
            });
            continue;
        }
        match serde_json::from_str::<Line>(text) {
            Err(error) => rows.reject(line, || explain(&error, text)),
            Ok(Line {
                tokens: Some(_),
                text: Some(_),
                ..
            }) => rows.reject(line, || {
                "has both `tokens` and `text`; keep one of them".to_string()
            }),
            Ok(Line {
                label,
                tokens,
                text,
            }) => {
                let mut tokens = tokens.map_or_else(Tokens::default, |tokens| tokens.0);
                for token in text.as_deref().unwrap_or("").split_whitespace() {
                    tokens.push(token);
                }
                let label = label.map_or_else(String::new, |label| label.0);
                rows.take(line, label.trim(), &tokens)?;
            }
        }
    }
    rows.finish()
}

const EXAMPLE: &str = r#"{"label": "x", "tokens": ["a", "b"]}"#;

/// The parser's words without its line number, which is that of the line alone.
fn explain(error: &serde_json::Error, line: &str) -> String {
    let text = error.to_string();
    let reason = text
        .rsplit_once(" at line ")
        .map_or(text.as_str(), |(reason, _)| reason);
    format!(
        "{reason} (column {} of {}); a line looks like {EXAMPLE}",
        error.column(),
        shorten(line)
    )
}

#[derive(Deserialize)]
struct Line {
    label: Option<Label>,
    tokens: Option<TokenList>,
    text: Option<String>,
}

struct Label(String);

impl<'de> Deserialize<'de> for Label {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Scalar {
            expected: "a label: a string, a number, true or false",
            booleans: true,
        };
        deserializer.deserialize_any(scalar).map(Self)
    }
}

struct Token(String);

impl<'de> Deserialize<'de> for Token {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        let scalar = Scalar {
            expected: "a token: a string or a number",
            booleans: false,
        };
        deserializer.deserialize_any(scalar).map(Self)
    }
}

/// A single value as a string. A list or an object in its place is refused before it is read.
struct Scalar {
    expected: &'static str,
    booleans: bool,
}

impl Visitor<'_> for Scalar {
    type Value = String;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.expected)
    }

    fn visit_str<E: Error>(self, value: &str) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_u64<E: Error>(self, value: u64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_i64<E: Error>(self, value: i64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_f64<E: Error>(self, value: f64) -> Result<String, E> {
        Ok(value.to_string())
    }

    fn visit_bool<E: Error>(self, value: bool) -> Result<String, E> {
        match self.booleans {
            true => Ok(value.to_string()),
            false => Err(E::invalid_type(serde::de::Unexpected::Bool(value), &self)),
        }
    }
}

/// Tokens one by one, so that a line of millions takes no more memory than its text.
struct TokenList(Tokens);

impl<'de> Deserialize<'de> for TokenList {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct List;
        impl<'de> Visitor<'de> for List {
            type Value = TokenList;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a list of tokens")
            }

            fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<TokenList, A::Error> {
                let mut tokens = Tokens::default();
                while let Some(Token(token)) = list.next_element()? {
                    if token.is_empty() {
                        let number = tokens.count() + 1;
                        return Err(A::Error::custom(format!("token {number} is empty")));
                    }
                    tokens.push(&token);
                }
                Ok(TokenList(tokens))
            }
        }
        deserializer.deserialize_seq(List)
    }
}
