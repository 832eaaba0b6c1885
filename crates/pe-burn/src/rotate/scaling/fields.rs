//! The fields of a file of Hugging Face as they are written there: a map from name to value.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::fmt;

use serde::de::{MapAccess, Visitor};
use serde::{Deserialize, Deserializer};

/// The name of the length that a model was trained on.
pub(super) const ORIGINAL: &str = "original_max_position_embeddings";

/// The fields of a file, or of a group in it.
///
/// Of a name that is written twice the last value counts, as in Python. A field that is written as `null`
/// counts as not written, where a method does not say otherwise.
///
/// ```
/// use pe_burn::RopeScaling;
/// use pe_burn::scaling::{Fields, Linear};
///
/// let fields: Fields = serde_json::from_str(r#"{"factor": 4, "rope_theta": 1e4, "mrope_section": null}"#)?;
/// let (scaling, names) = RopeScaling::read("linear", &fields).unwrap();
/// assert_eq!((scaling, names), (Linear::new(4.0).into(), &["factor"][..]));
/// assert_eq!(fields.length("layers"), Err("needs `layers`".into()));
/// # Ok::<(), serde_json::Error>(())
/// ```
///
/// # Errors
///
/// The methods that read leave the field where it is. An error says what is needed without saying by
/// whom ("needs `factor`"): the caller puts that in front.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct Fields(BTreeMap<String, Value>);

/// The value of a field. Unlike serde_json's, it keeps a number that is not finite, which TOML has.
#[derive(Clone, Debug, PartialEq, Deserialize)]
#[serde(untagged)]
pub enum Value {
    /// `null`.
    Null,
    /// `true` or `false`.
    Bool(bool),
    /// Written with a decimal point or without.
    Number(f64),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Value>),
    /// A group of fields.
    Group(Fields),
}

impl Fields {
    /// A number that has to be there.
    pub fn number(&self, name: &str) -> Result<f64, String> {
        self.optional_number(name)?.ok_or_else(|| missing(name))
    }

    /// A number that may be left out.
    pub fn optional_number(&self, name: &str) -> Result<Option<f64>, String> {
        self.read(name, "a number", Value::as_number)
    }

    /// A whole number that has to be there.
    pub fn length(&self, name: &str) -> Result<usize, String> {
        self.optional_length(name)?.ok_or_else(|| missing(name))
    }

    /// A whole number that may be left out.
    pub fn optional_length(&self, name: &str) -> Result<Option<usize>, String> {
        self.read(name, "a whole number of at least 0", Value::as_length)
    }

    /// The whole number under the first of these names that is there, with its name.
    pub fn first_length(
        &self,
        names: &[&'static str],
    ) -> Result<Option<(&'static str, usize)>, String> {
        for &name in names {
            if let Some(length) = self.optional_length(name)? {
                return Ok(Some((name, length)));
            }
        }
        Ok(None)
    }

    /// A list of numbers that has to be there.
    pub fn numbers(&self, name: &str) -> Result<Vec<f64>, String> {
        let numbers = self.optional_list(name, "a list of numbers", Value::as_number)?;
        numbers.ok_or_else(|| missing(name))
    }

    /// A list that may be left out, of values that `convert` can use.
    pub fn optional_list<T>(
        &self,
        name: &str,
        wanted: &str,
        convert: impl Fn(&Value) -> Option<T>,
    ) -> Result<Option<Vec<T>>, String> {
        self.read(name, wanted, |value| match value {
            Value::List(values) => values.iter().map(&convert).collect(),
            _ => None,
        })
    }

    /// A `true` or `false` that may be left out.
    pub fn flag(&self, name: &str) -> Result<Option<bool>, String> {
        self.read(name, "true or false", |value| match value {
            Value::Bool(flag) => Some(*flag),
            _ => None,
        })
    }

    /// A string that may be left out.
    pub fn text(&self, name: &str) -> Result<Option<&str>, String> {
        self.read(name, "a string", Value::as_text)
    }

    /// A group of fields that may be left out.
    pub fn group(&self, name: &str) -> Result<Option<&Fields>, String> {
        self.read(name, "a group of fields", |value| match value {
            Value::Group(fields) => Some(fields),
            _ => None,
        })
    }

    /// Whether there is such a field.
    pub fn contains(&self, name: &str) -> bool {
        !matches!(self.0.get(name), None | Some(Value::Null))
    }

    /// Whether the field is written as `null`.
    pub fn is_null(&self, name: &str) -> bool {
        self.0.get(name) == Some(&Value::Null)
    }

    /// Whether there are no fields, not even one that is `null`.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// The names of the fields that are not `null`.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        let written = self.0.iter().filter(|(_, value)| **value != Value::Null);
        written.map(|(name, _)| name.as_str())
    }

    /// Replaces the value of a field, or adds the field.
    pub fn set(&mut self, name: &str, value: Value) {
        self.0.insert(name.to_string(), value);
    }

    /// Adds the fields of `others`, whose values replace those of the same name.
    pub fn update(&mut self, others: &Fields) {
        let others = others.0.iter();
        self.0
            .extend(others.map(|(name, value)| (name.clone(), value.clone())));
    }

    /// Adds a number where there is no such field. A `null` stays.
    pub fn set_default(&mut self, name: &str, number: f64) {
        if !self.0.contains_key(name) {
            self.set(name, Value::Number(number));
        }
    }

    fn read<'a, T>(
        &'a self,
        name: &str,
        wanted: &str,
        convert: impl FnOnce(&'a Value) -> Option<T>,
    ) -> Result<Option<T>, String> {
        match self.0.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(value) => match convert(value) {
                Some(converted) => Ok(Some(converted)),
                None => Err(format!("needs {wanted} as `{name}`, not {value}")),
            },
        }
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

impl Value {
    /// The number that it is, if it is one.
    pub fn as_number(&self) -> Option<f64> {
        match self {
            Self::Number(number) => Some(*number),
            _ => None,
        }
    }

    /// A whole number, with a decimal point or without.
    pub fn as_length(&self) -> Option<usize> {
        match self {
            // The conversion cuts off a sign and a fraction, so it keeps the value of whole numbers only.
            Self::Number(number) if *number as usize as f64 == *number => Some(*number as usize),
            _ => None,
        }
    }

    /// The string that it is, if it is one.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(text),
            _ => None,
        }
    }
}

impl fmt::Display for Value {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Null => f.write_str("null"),
            Self::Bool(flag) => flag.fmt(f),
            Self::Number(number) => number.fmt(f),
            Self::Text(text) => write!(f, "\"{text}\""),
            Self::List(_) => f.write_str("a list"),
            Self::Group(_) => f.write_str("a group of fields"),
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
        f.write_str("a group of fields")
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Fields, A::Error> {
        let mut fields = BTreeMap::new();
        while let Some((name, value)) = map.next_entry::<String, Value>()? {
            fields.insert(name, value);
        }
        Ok(Fields(fields))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;

    use serde::de::value::MapDeserializer;

    use crate::testing::{assert_says, refused};

    fn fields(json: &str) -> Fields {
        serde_json::from_str(json).unwrap()
    }

    #[test]
    fn a_field_is_read_as_what_it_is() {
        let fields = fields(
            r#"{"integer": 8, "decimal": 8.0, "yes": true, "list": [1, 2.5], "word": "yarn",
                "none": null, "empty": [], "deep": {"a": [1, {}]}, "twice": 1, "twice": 2}"#,
        );
        assert_eq!(fields.number("integer"), Ok(8.0));
        assert_eq!(fields.number("missing"), Err("needs `missing`".into()));
        assert_eq!(fields.length("decimal"), Ok(8));
        assert_eq!(fields.flag("yes"), Ok(Some(true)));
        assert_eq!(fields.numbers("list"), Ok(vec![1.0, 2.5]));
        assert_eq!(fields.numbers("empty"), Ok(vec![]));
        assert_eq!(fields.text("word"), Ok(Some("yarn")));
        assert_eq!(fields.optional_number("none"), Ok(None));
        assert!(fields.is_null("none") && !fields.contains("none") && !fields.is_null("missing"));
        assert!(fields.group("deep").unwrap().unwrap().contains("a"));
        assert_eq!(
            fields.number("twice"),
            Ok(2.0),
            "the last one, as in Python"
        );
        assert!(fields.names().all(|name| name != "none"));
    }

    /// JSON has no such number, but TOML has. It has to be refused by what reads it, and not to count as `null`.
    #[test]
    fn a_number_that_is_not_finite_is_a_number() {
        let toml = [("factor", f64::INFINITY)].into_iter();
        let toml = MapDeserializer::<_, serde::de::value::Error>::new(toml);
        let fields = Fields::deserialize(toml).unwrap();
        assert_eq!(fields.number("factor"), Ok(f64::INFINITY));
    }

    #[test]
    fn fields_are_replaced_and_added() {
        let mut fields = fields(r#"{"a": 1, "b": null}"#);
        fields.set_default("a", 5.0);
        fields.set_default("b", 5.0);
        fields.set_default("c", 5.0);
        assert_eq!(fields.number("a"), Ok(1.0));
        assert!(fields.is_null("b"));
        assert_eq!(fields.number("c"), Ok(5.0));
        fields.update(&serde_json::from_str(r#"{"b": 7, "d": "x"}"#).unwrap());
        assert_eq!(fields.number("b"), Ok(7.0));
        assert_eq!(fields.names().collect::<Vec<_>>(), ["a", "b", "c", "d"]);
    }

    #[test]
    fn a_value_of_the_wrong_type_is_named() {
        let json = r#"{"a": "8", "b": 8.5, "c": -8, "d": [1, "x"], "e": 1, "f": {}, "g": [1], "h": 1e300}"#;
        let fields = fields(json);
        refused! {
            |result| result;
            fields.number("a").map(drop) => "needs a number as `a`, not \"8\"",
            fields.length("b").map(drop) => "needs a whole number of at least 0 as `b`, not 8.5",
            fields.optional_length("c").map(drop) =>
                "needs a whole number of at least 0 as `c`, not -8",
            fields.numbers("d").map(drop) => "needs a list of numbers as `d`, not a list",
            fields.flag("e").map(drop) => "needs true or false as `e`, not 1",
            fields.text("f").map(drop) => "needs a string as `f`, not a group of fields",
            fields.optional_number("g").map(drop) => "needs a number as `g`, not a list",
            fields.group("a").map(drop) => "needs a group of fields as `a`, not \"8\"",
        }
        assert!(fields.length("h").is_err());
    }

    #[test]
    fn the_original_length_says_where_else_it_may_be() {
        let message = Fields::default().length(ORIGINAL).unwrap_err();
        assert_says(&message, "… only as max_position_embeddings …");
    }
}
