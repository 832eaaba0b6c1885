//! The fields of a study in words, to say in what two studies differ.

use std::collections::BTreeMap;
use std::path::Path;

use serde_json::Value;

use super::study::StudySpec;
use crate::data::shorten;
use crate::error::LabError;

/// The most fields that a message names.
const MOST: usize = 5;

/// Fields that say what happened to a study, and not what it was asked to run.
const NOT_ASKED: [&str; 2] = ["grown", "tune.chosen"];

/// The fields of a study by their paths in `study.json`, such as `recipe.learning_rate`, with their values in words. What
/// the study chose and how it grew are left out.
pub fn fields_of(spec: &StudySpec) -> BTreeMap<String, String> {
    let mut fields = BTreeMap::new();
    let spec = serde_json::to_value(spec).unwrap_or_default();
    flatten("", &spec, &mut fields);
    fields
}

/// The fields in which studies differ, those of the first study first, each with its value in every study.
pub fn differing(studies: &[BTreeMap<String, String>]) -> Vec<(&String, Vec<Option<&String>>)> {
    let names = studies.iter().enumerate().flat_map(|(nth, study)| {
        let is_new = move |name: &&String| !studies[..nth].iter().any(|of| of.contains_key(*name));
        study.keys().filter(is_new)
    });
    let values = |name| studies.iter().map(|study| study.get(name)).collect();
    names
        .map(|name| (name, values(name)))
        .filter(|(_, values): &(_, Vec<_>)| values.iter().any(|value| *value != values[0]))
        .collect()
}

/// What differs between two studies in these parts of them, with both values: "recipe.learning_rate: `0.0015` there and `0.1` here".
/// `places` says where each of the two is.
pub fn difference_in_words(parts: &[String], specs: [&StudySpec; 2], places: [&str; 2]) -> String {
    let fields = specs.map(fields_of);
    let differing = differing(&fields);
    let mut all: Vec<String> = Vec::new();
    for part in parts {
        let is_below = |path: &str| {
            let rest = path.strip_prefix(part.as_str());
            rest.is_some_and(|rest| rest.is_empty() || rest.starts_with('.'))
        };
        let below = differing.iter().filter(|(path, _)| is_below(path));
        let before = all.len();
        all.extend(below.map(|(path, values)| with_values(path, values, places)));
        if all.len() == before {
            all.push(part.clone());
        }
    }
    let others = all.len().saturating_sub(MOST);
    all.truncate(MOST);
    let others = (others > 0).then(|| format!("{others} more"));
    all.into_iter().chain(others).collect::<Vec<_>>().join("; ")
}

/// Refuses a study that cannot take the place of the one in a folder and keep its results.
///
/// # Errors
///
/// [`LabError::ChangedStudy`] with the fields that differ.
pub fn check_takes_place_of(
    earlier: &StudySpec,
    spec: &StudySpec,
    folder: &Path,
) -> Result<(), LabError> {
    let differs = spec.obstacles(earlier);
    match differs.is_empty() {
        true => Ok(()),
        false => Err(LabError::ChangedStudy {
            folder: folder.to_path_buf(),
            differs: difference_in_words(&differs, [earlier, spec], ["there", "here"]),
        }),
    }
}

/// A field with its value in each place.
fn with_values(path: &str, values: &[Option<&String>], places: [&str; 2]) -> String {
    if path.ends_with("sha256") {
        return format!("{path}: the bytes of the file");
    }
    let said = values.iter().zip(places).map(|(value, place)| {
        let value = value.map_or("none".into(), |value| shorten(value));
        format!("{value} {place}")
    });
    format!("{path}: {}", said.collect::<Vec<_>>().join(" and "))
}

/// The leaves of a value, each with its path.
fn flatten(path: &str, value: &Value, into: &mut BTreeMap<String, String>) {
    if NOT_ASKED.contains(&path) {
        return;
    }
    match value {
        Value::Null => {}
        Value::Object(fields) => {
            for (name, field) in fields {
                let path = match path {
                    "" => name.clone(),
                    _ => format!("{path}.{name}"),
                };
                flatten(&path, field, into);
            }
        }
        // Tasks: the path of each goes on with its name.
        Value::Array(items) if items.iter().any(Value::is_object) => {
            for item in items {
                let name = item["name"].as_str().unwrap_or("?");
                let rest = item.as_object().cloned().unwrap_or_default();
                let rest = rest.into_iter().filter(|field| field.0 != "name");
                flatten(
                    &format!("{path}.{name}"),
                    &Value::Object(rest.collect()),
                    into,
                );
            }
        }
        Value::Array(items) => {
            let items: Vec<String> = items.iter().map(plain).collect();
            into.insert(path.into(), items.join(", "));
        }
        _ => {
            into.insert(path.into(), plain(value));
        }
    }
}

fn plain(value: &Value) -> String {
    match value {
        Value::String(text) => text.clone(),
        // Settings are 32-bit floats, so only the digits of a 32-bit float are shown.
        Value::Number(number) if number.is_f64() => number
            .as_f64()
            .map_or(String::new(), |number| (number as f32).to_string()),
        _ => value.to_string(),
    }
}
