//! The fields of a `rope_scaling` as they are written in a file: a map from name to value.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{Error, IgnoredAny, MapAccess, SeqAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The name of the length that a model was trained on.
pub(crate) const ORIGINAL: &str = "original_max_position_embeddings";

/// The fields of a `rope_scaling` that have not been read yet.
///
/// Each method takes a field out, so that the fields left at the end are those that the scaling does
/// not have. A field that is written as `null` counts as not written.
///
/// An error says what is needed without saying by whom ("needs `factor`"): the caller puts the name of
/// the scaling in front.
#[derive(Clone, Debug, Default)]
pub(crate) struct Fields(BTreeMap<String, Value>);

/// The value of a field, as far as a scaling of RoPE has use for it.
#[derive(Clone, Debug, PartialEq)]
enum Value {
    Null,
    Bool(bool),
    /// Written with a decimal point or without.
    Number(f64),
    Numbers(Vec<f64>),
    Text(String),
    /// Anything else, in words.
    Other(&'static str),
}

impl Fields {
    /// A number that has to be there.
    pub fn number(&mut self, name: &str) -> Result<f64, String> {
        self.optional_number(name)?.ok_or_else(|| missing(name))
    }

    /// A number that may be left out.
    pub fn optional_number(&mut self, name: &str) -> Result<Option<f64>, String> {
        self.take(name, "a number", |value| match value {
            Value::Number(number) => Ok(number),
            other => Err(other),
        })
    }

    /// A number of tokens that has to be there.
    pub fn length(&mut self, name: &str) -> Result<usize, String> {
        self.optional_length(name)?.ok_or_else(|| missing(name))
    }

    /// A number of tokens that may be left out.
    pub fn optional_length(&mut self, name: &str) -> Result<Option<usize>, String> {
        self.take(name, "a whole number of tokens", |value| match value {
            // The conversion cuts off a sign and a fraction, so it keeps the value of whole numbers only.
            Value::Number(number) if number as usize as f64 == number => Ok(number as usize),
            other => Err(other),
        })
    }

    /// A list of numbers that has to be there.
    pub fn factors(&mut self, name: &str) -> Result<Vec<f64>, String> {
        let factors = self.take(name, "a list of numbers", |value| match value {
            Value::Numbers(numbers) => Ok(numbers),
            other => Err(other),
        })?;
        factors.ok_or_else(|| missing(name))
    }

    /// A `true` or `false` that may be left out.
    pub fn flag(&mut self, name: &str) -> Result<Option<bool>, String> {
        self.take(name, "true or false", |value| match value {
            Value::Bool(flag) => Ok(flag),
            other => Err(other),
        })
    }

    /// A string that may be left out.
    pub fn text(&mut self, name: &str) -> Result<Option<String>, String> {
        self.take(name, "a string", |value| match value {
            Value::Text(text) => Ok(text),
            other => Err(other),
        })
    }

    /// Whether there is such a field. It stays.
    pub fn contains(&self, name: &str) -> bool {
        self.0.contains_key(name)
    }

    /// The name of a field that is left.
    pub fn first(&self) -> Option<&str> {
        self.0.keys().next().map(String::as_str)
    }

    /// Replaces the value of a field by a number, or removes the field.
    pub fn set(&mut self, name: &str, number: Option<f64>) {
        match number {
            Some(number) => self.0.insert(name.to_string(), Value::Number(number)),
            None => self.0.remove(name),
        };
    }

    /// Takes a field out and converts it. Where `convert` gives the value back, it is not `wanted`.
    fn take<T>(
        &mut self,
        name: &str,
        wanted: &str,
        convert: impl FnOnce(Value) -> Result<T, Value>,
    ) -> Result<Option<T>, String> {
        let Some(value) = self.0.remove(name) else {
            return Ok(None);
        };
        let wrong = |value| format!("needs {wanted} as `{name}`, not {value}");
        convert(value).map(Some).map_err(wrong)
    }
}

fn missing(name: &str) -> String {
    match name {
        ORIGINAL => format!(
            "needs `{ORIGINAL}`: some models have it beside rope_scaling, others only as \
             max_position_embeddings"
        ),
        _ => format!("needs `{name}`"),
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Numbers(_) => f.write_str("a list of numbers"),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::Other(words) => f.write_str(words),
        }
    }
}

impl<'de> Deserialize<'de> for Fields {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_map(FieldsVisitor)
    }
}

struct FieldsVisitor;

impl<'de> Visitor<'de> for FieldsVisitor {
    type Value = Fields;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("the fields of a scaling of RoPE")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            if fields.contains_key(&name) {
                return Err(A::Error::custom(format!("duplicate field `{name}`")));
            }
            fields.insert(name, value);
        }
        fields.retain(|_, value| *value != Value::Null);
        Ok(Fields(fields))
    }
}

impl<'de> Deserialize<'de> for Value {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        from.deserialize_any(ValueVisitor)
    }
}

struct ValueVisitor;

impl<'de> Visitor<'de> for ValueVisitor {
    type Value = Value;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("a value")
    }

    fn visit_unit<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_none<E: Error>(self) -> Result<Value, E> {
        Ok(Value::Null)
    }

    fn visit_some<D: Deserializer<'de>>(self, from: D) -> Result<Value, D::Error> {
        Value::deserialize(from)
    }

    fn visit_bool<E: Error>(self, flag: bool) -> Result<Value, E> {
        Ok(Value::Bool(flag))
    }

    fn visit_i64<E: Error>(self, number: i64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_u64<E: Error>(self, number: u64) -> Result<Value, E> {
        Ok(Value::Number(number as f64))
    }

    fn visit_f64<E: Error>(self, number: f64) -> Result<Value, E> {
        Ok(Value::Number(number))
    }

    fn visit_str<E: Error>(self, text: &str) -> Result<Value, E> {
        Ok(Value::Text(text.to_string()))
    }

    fn visit_seq<A: SeqAccess<'de>>(self, mut list: A) -> Result<Value, A::Error> {
        let mut numbers = Some(Vec::new());
        while let Some(value) = list.next_element()? {
            numbers = match (numbers, value) {
                (Some(mut numbers), Value::Number(number)) => {
                    numbers.push(number);
                    Some(numbers)
                }
                _ => None,
            };
        }
        Ok(numbers.map_or(Value::Other("a list"), Value::Numbers))
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Value, A::Error> {
        while map.next_entry::<IgnoredAny, IgnoredAny>()?.is_some() {}
        Ok(Value::Other("a group of fields"))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn fields(json: &str) -> Fields {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_field_is_taken_once_and_null_is_not_written() {
        let mut fields = fields(
            r#"{"integer": 8, "decimal": 8.0, "yes": true, "list": [1, 2.5], "word": "yarn",
                "none": null, "empty": [], "deep": {"a": [1, {}]}}"#,
        );
        assert_eq!(fields.number("integer"), Ok(8.0));
        assert_eq!(fields.number("integer"), Err("needs `integer`".into()));
        assert_eq!(fields.length("decimal"), Ok(8));
        assert_eq!(fields.flag("yes"), Ok(Some(true)));
        assert_eq!(fields.factors("list"), Ok(alloc::vec![1.0, 2.5]));
        assert_eq!(fields.factors("empty"), Ok(Vec::new()));
        assert_eq!(fields.text("word"), Ok(Some("yarn".into())));
        assert_eq!(fields.optional_number("none"), Ok(None));
        assert!(fields.contains("deep"));
        assert_eq!(fields.first(), Some("deep"));
        fields.set("deep", Some(3.0));
        assert_eq!(fields.optional_length("deep"), Ok(Some(3)));
        assert_eq!(fields.first(), None);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let json = r#"{"a": "8", "b": 8.5, "c": -8, "d": [1, "x"], "e": 1, "f": {}, "g": [1], "h": 1e300}"#;
        let mut fields = fields(json);
        for (result, words) in [
            (
                fields.number("a").map(drop),
                "needs a number as `a`, not \"8\"",
            ),
            (
                fields.length("b").map(drop),
                "needs a whole number of tokens as `b`, not 8.5",
            ),
            (
                fields.optional_length("c").map(drop),
                "needs a whole number of tokens as `c`, not -8",
            ),
            (
                fields.factors("d").map(drop),
                "needs a list of numbers as `d`, not a list",
            ),
            (
                fields.flag("e").map(drop),
                "needs true or false as `e`, not 1",
            ),
            (
                fields.text("f").map(drop),
                "needs a string as `f`, not a group of fields",
            ),
            (
                fields.optional_number("g").map(drop),
                "needs a number as `g`, not a list of numbers",
            ),
        ] {
            assert_eq!(result, Err(words.to_string()));
        }
        assert!(fields.length("h").is_err());
    }

    #[test]
    fn the_original_length_says_where_else_it_may_be() {
        let message = Fields::default().length(ORIGINAL).unwrap_err();
        assert!(
            message.contains("only as max_position_embeddings"),
            "{message}"
        );
    }

    #[test]
    fn a_field_that_is_written_twice_is_refused() {
        let json = r#"{"factor": null, "factor": 2}"#;
        let message = serde_json::from_str::<Fields>(json)
            .unwrap_err()
            .to_string();
        assert!(message.starts_with("duplicate field `factor`"), "{message}");
    }
}
