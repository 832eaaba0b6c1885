//! Every field of a model type's file, set alone to another value: `tests/peers/values/model_fields.json`, written by
//! `tests/peers/model_fields.py`.

use std::collections::BTreeMap;

use pe_models::HfConfig;
use serde::Deserialize;
use serde_json::{Map, Value, json};

use crate::{Group, Grown, difference, is_as_trained};

#[derive(Deserialize)]
struct File {
    version: String,
    runs: Vec<Vec<usize>>,
    types: Vec<ModelType>,
}

#[derive(Deserialize)]
struct ModelType {
    #[serde(rename = "type")]
    name: String,
    /// Why no small model runs.
    raises: Option<String>,
    /// What the configuration class takes for the layers, the width, the heads and the longest input.
    #[serde(default)]
    values: Vec<Option<usize>>,
    #[serde(default)]
    file: Map<String, Value>,
    #[serde(default)]
    layers: Vec<Group>,
    #[serde(default)]
    cases: Vec<Case>,
}

/// A change of the file, and what the layers do then.
#[derive(Deserialize)]
struct Case {
    #[serde(default)]
    set: Map<String, Value>,
    without: Option<String>,
    layers: Option<Vec<Group>>,
    /// The number of the earlier layers that do the same: 0 are those of the file, 1 the first that differ.
    #[serde(rename = "as")]
    as_in: Option<usize>,
}

impl Case {
    fn file(&self, of: &Map<String, Value>) -> Value {
        let mut file = of.clone();
        file.extend(self.set.clone());
        self.without.iter().for_each(|name| drop(file.remove(name)));
        file.into()
    }

    fn names(&self) -> Vec<&String> {
        self.set.keys().chain(&self.without).collect()
    }
}

fn file() -> File {
    serde_json::from_str(include_str!(
        "../../../../tests/peers/values/model_fields.json"
    ))
    .unwrap()
}

/// A field that a type's code reads is read as its code reads it, or the file is refused with the field's name.
#[test]
fn a_field_is_read_as_its_code_reads_it_or_named() {
    let file = file();
    assert_eq!(file.version, "5.23.0");
    let (mut equal, mut types, mut refused, mut wrong) = (0, 0, BTreeMap::new(), Vec::new());
    let mut as_trained = 0;
    let mut grown = Grown::default();
    for of in file.types.iter().filter(|of| of.raises.is_none()) {
        let bare = Value::from(of.file.clone());
        match difference(&mut grown, &of.name, &bare, &of.layers, &file.runs) {
            Ok(None) => {}
            Ok(Some(difference)) => wrong.push(format!("{}: {difference}", of.name)),
            Err(error) => {
                let is_refused = error.to_string().contains("is not read");
                assert!(is_refused, "{}: {error}", of.name);
                continue;
            }
        }
        types += 1;
        let different = of.cases.iter().filter_map(|case| case.layers.as_ref());
        let known: Vec<&Vec<Group>> = std::iter::once(&of.layers).chain(different).collect();
        for case in &of.cases {
            let same = case
                .as_in
                .map(|i| known[i])
                .or(case.layers.as_ref())
                .unwrap();
            let what = format!(
                "{} with {:?}, without {:?}",
                of.name, case.set, case.without
            );
            match difference(&mut grown, &of.name, &case.file(&of.file), same, &file.runs) {
                Ok(None) => equal += 1,
                Ok(Some(_)) if is_as_trained(&of.name, &case.file(&of.file)) => as_trained += 1,
                Ok(Some(difference)) => wrong.push(format!("{what}: {difference}")),
                Err(error) => {
                    let error = error.to_string();
                    let is_named = |name: &&String| error.contains(&format!("`{name}`"));
                    if !case.names().iter().any(is_named) {
                        wrong.push(format!("{what}: refused without its name: {error}"));
                    }
                    refused.insert(what, error);
                }
            }
        }
    }
    assert!(
        wrong.is_empty(),
        "{} of {equal}:\n{}",
        wrong.len(),
        wrong.join("\n")
    );
    let counts = format!(
        "{} files of {types} types: {equal} are read and equal, {} are refused with the name of the field, {as_trained} differs",
        equal + as_trained + refused.len(),
        refused.len()
    );
    let docs = include_str!("../../../../docs/models.md").replace('\n', " ");
    assert!(
        docs.contains(&counts),
        "docs/models.md should say: {counts}\n{refused:#?}"
    );
}

/// A file that leaves its sizes out has those of the configuration class.
#[test]
fn sizes_that_are_left_out_are_those_of_the_code() {
    let file = file();
    let mut compared = 0;
    for of in file.types.iter().filter(|of| of.raises.is_none()) {
        let mut text = json!({"model_type": of.name, "vocab_size": 8});
        if let Some(kinds) = of.file.get("layer_types") {
            text["layer_types"] = vec![kinds[0].clone(); 100].into();
        }
        let model = HfConfig::from_json(&text.to_string()).unwrap();
        let Ok(layers) = model.layers() else {
            continue;
        };
        // Each of its layers has two attentions, which its code counts.
        let attentions = if of.name == "longcat_flash" { 2 } else { 1 };
        assert_eq!(Some(attentions * layers.len()), of.values[0], "{}", of.name);
        compared += 1;
    }
    assert!(compared >= 130, "{compared}");
}
