//! Templates, and how they write values.

use std::collections::BTreeMap;
use std::iter;

use minijinja::value::{Value, ValueKind};
use minijinja::{AutoEscape, Environment};

use crate::console::visible;
use crate::draw::escaped;
use crate::error::LabError;
use crate::grouped::grouped;
use crate::report::words::{capitalized, fixed, joined, p_text};
use crate::task::Score;

/// The text of a template with these values. A template whose name ends in `.html` is a page, and escapes every text.
///
/// # Errors
///
/// [`LabError::Page`] when the template cannot take its values.
pub fn render(name: &str, template: &str, values: serde_json::Value) -> Result<String, LabError> {
    let failed = |error: minijinja::Error| {
        let causes = iter::successors(Some(&error as &dyn std::error::Error), |e| e.source());
        let causes: Vec<String> = causes.map(ToString::to_string).collect();
        LabError::Page {
            reason: causes.join(": "),
        }
    };
    let engine = environment();
    let text = engine.render_named_str(name, template, value(values));
    text.map_err(failed)
}

/// The template engine with the filters of the pages.
fn environment() -> Environment<'static> {
    let mut page = Environment::new();
    page.set_auto_escape_callback(|name| match name.ends_with(".html") {
        true => AutoEscape::Html,
        false => AutoEscape::None,
    });
    // A true minus sign is as wide as a digit.
    page.add_filter("fixed", |value: Value, decimals: usize| {
        or_dash(value, |of| fixed(of, decimals).replace('-', "\u{2212}"))
    });
    // Settings are 32-bit floats, so only the digits of a 32-bit float are shown.
    page.add_filter("plain", |value: Value| match value.kind() {
        ValueKind::Number => f64::try_from(value.clone())
            .map_or(value.to_string(), |number| (number as f32).to_string()),
        _ => value.to_string(),
    });
    page.add_filter("p_value", |value: Value| or_dash(value, p_text));
    page.add_filter("thousands", |value: Value| or_dash(value, thousands));
    // Only the first letter changes: the rest may hold the name of a column.
    page.add_filter("begun", |text: String| capitalized(&text));
    page.add_filter("code", |text: &str| {
        Value::from_safe_string(with_code(text))
    });
    page.add_filter("number", |value: f64| value.to_string());
    page.add_filter("count", |n: usize, noun: &str| match n {
        1 => format!("one {noun}"),
        _ => format!("{n} {noun}s"),
    });
    page.add_filter("all", |names: Vec<Value>| {
        let names: Vec<String> = names.iter().map(Value::to_string).collect();
        joined(&names, "and")
    });
    page.add_filter("value", |seed: Value| {
        let of = |name| seed.get_attr(name).ok().filter(|of| !of.is_undefined());
        Score::FIELDS.into_iter().find_map(of)
    });
    page.add_filter("span", |value: Value| match value.kind() {
        ValueKind::Seq => {
            let numbers = value.try_iter().into_iter().flatten();
            let mut texts: Vec<String> = numbers
                .filter_map(|number| f64::try_from(number).ok().map(thousands))
                .collect();
            texts.dedup();
            texts.join("\u{2013}")
        }
        _ => "\u{2013}".into(),
    });
    page
}

/// A number as text, or a dash where there is none.
fn or_dash(value: Value, text: impl Fn(f64) -> String) -> String {
    f64::try_from(value).map_or("\u{2013}".into(), text)
}

/// A text of a page, whose names between backticks are set as code.
fn with_code(text: &str) -> String {
    let parts: Vec<String> = text.split('`').map(escaped).collect();
    // With an odd number of backticks it is not known which of them begin a name.
    if parts.len().is_multiple_of(2) {
        return escaped(text);
    }
    let part = |(nth, part): (usize, &String)| match nth % 2 {
        0 => part.clone(),
        _ => format!("<code>{part}</code>"),
    };
    parts.iter().enumerate().map(part).collect()
}

/// A JSON value as the template engine's own type.
fn value(json: serde_json::Value) -> Value {
    use serde_json::Value as Json;
    match json {
        Json::Null => Value::from(()),
        Json::Bool(flag) => Value::from(flag),
        Json::Number(number) => match (number.as_u64(), number.as_f64()) {
            (Some(whole), _) => Value::from(whole),
            (None, Some(number)) => Value::from(number),
            (None, None) => Value::from(number.to_string()),
        },
        // Names and reasons may hold characters that a browser would obey.
        Json::String(text) => Value::from(visible(&text).into_owned()),
        Json::Array(items) => items.into_iter().map(value).collect(),
        Json::Object(fields) => {
            let fields = fields.into_iter();
            let fields: BTreeMap<_, _> = fields
                .map(|(name, field)| (visible(&name).into_owned(), value(field)))
                .collect();
            Value::from(fields)
        }
    }
}

/// A number without decimals, with a narrow space between its thousands.
fn thousands(number: f64) -> String {
    grouped(number.round().max(0.0) as usize, '\u{202f}')
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_between_backticks_are_code_and_nothing_else_is() {
        for (text, shown) in [
            ("`none` (no positions)", "<code>none</code> (no positions)"),
            ("`a` and `b<`", "<code>a</code> and <code>b&lt;</code>"),
            ("", ""),
            ("``", "<code></code>"),
            ("one ` & no other", "one ` &amp; no other"),
            ("`<b>x</b>`", "<code>&lt;b&gt;x&lt;/b&gt;</code>"),
        ] {
            let values = serde_json::json!({"text": text});
            let page = render("a.html", "{{ text | code }}", values);
            assert_eq!(page.unwrap(), shown, "{text}");
        }
    }

    #[test]
    fn a_seed_shows_its_score_in_every_measure() {
        for score in [
            Score::Accuracy(0.25),
            Score::ExactMatch(0.25),
            Score::Bits(0.25),
            Score::Error(0.25),
            Score::Given(0.25),
        ] {
            let seed = serde_json::to_value(score).unwrap();
            let shown = render(
                "seed",
                "{{ seed | value | fixed(3) }}",
                serde_json::json!({"seed": seed}),
            );
            assert_eq!(shown.unwrap(), "0.250", "{score:?}");
        }
    }
}
