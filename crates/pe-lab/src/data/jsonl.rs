//! JSON lines: an object with a label and tokens on every line.

use std::fmt;

use serde::de::{Error, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

use super::error::Problem;
use super::quote::shorten;
use super::rows::{Collector, Rows, Tokens};

/// Reads labelled sequences: `{"label": "x", "tokens": ["a", "b"]}` or
/// `{"label": "x", "text": "a b"}`, one per line. Other fields and blank lines are ignored.
///
/// A label is a string, a number, `true` or `false`; a token is a string or a number. The tokens of
/// a text are separated by spaces.
///
/// # Errors
///
/// [`Problem::Lines`] lists the lines that cannot be used.
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

/// What the parser says, without its line number: it sees one line only, so that is always 1.
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

/// Any JSON value.
#[derive(Deserialize)]
#[serde(untagged)]
enum Json {
    Text(String),
    Natural(u64),
    Negative(i64),
    Decimal(f64),
    Boolean(bool),
    Other(serde_json::Value),
}

impl Json {
    /// A string or a number as text, or the kind of anything else.
    fn token(self) -> Result<String, String> {
        match self {
            Self::Text(text) => Ok(text),
            Self::Natural(number) => Ok(number.to_string()),
            Self::Negative(number) => Ok(number.to_string()),
            Self::Decimal(number) => Ok(number.to_string()),
            Self::Boolean(value) => Err(format!("boolean `{value}`")),
            Self::Other(value) if value.is_null() => Err("null".into()),
            Self::Other(value) if value.is_array() => Err("sequence".into()),
            Self::Other(_) => Err("map".into()),
        }
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Json")]
struct Label(String);

impl TryFrom<Json> for Label {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        if let Json::Boolean(value) = value {
            return Ok(Self(value.to_string()));
        }
        let text = value.token();
        let wrong = |kind| {
            format!("invalid type: {kind}, expected a label: a string, a number, true or false")
        };
        text.map(Self).map_err(wrong)
    }
}

#[derive(Deserialize)]
#[serde(try_from = "Json")]
struct Token(String);

impl TryFrom<Json> for Token {
    type Error = String;

    fn try_from(value: Json) -> Result<Self, String> {
        let wrong = |kind| format!("invalid type: {kind}, expected a token: a string or a number");
        value.token().map(Self).map_err(wrong)
    }
}

/// A list of tokens. It is read token by token, and [`Tokens`] only counts those that are too many, so
/// a line with millions of them takes no more memory than its text.
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
