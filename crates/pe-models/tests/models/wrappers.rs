//! Models of several parts: which type each part is where the file does not say, `tests/peers/values/wrappers.json`, written by
//! `tests/peers/wrappers.py`.

use std::collections::{BTreeMap, BTreeSet};

use pe_burn::PositionError;
use pe_models::HfConfig;
use serde::Deserialize;
use serde_json::{Map, Value, json};

#[derive(Deserialize)]
struct File {
    version: String,
    /// For each model the types of its parts.
    wrappers: BTreeMap<String, BTreeMap<String, String>>,
    /// What the class of the whole gives its text beside the defaults of the text's own class.
    texts: BTreeMap<String, Map<String, Value>>,
}

/// A text of which the file says little has the sizes that the class of the whole gives it.
#[test]
fn a_text_has_what_its_model_gives_it() {
    let file: File =
        serde_json::from_str(include_str!("../../../../tests/peers/values/wrappers.json")).unwrap();
    let layers = |file: Value| HfConfig::from_json(&file.to_string()).unwrap().layers();
    let mut compared = 0;
    for (name, more) in file.texts {
        let text = &file.wrappers[&name]["text_config"];
        let mut own = json!({"model_type": text, "vocab_size": 8});
        own.as_object_mut().unwrap().extend(more);
        let whole = json!({"model_type": name, "text_config": {"vocab_size": 8}});
        if let (Ok(own), Ok(whole)) = (layers(own), layers(whole)) {
            assert_eq!(own, whole, "{name}");
            compared += 1;
        }
    }
    assert!(compared >= 86, "{compared}");
}

/// The types of text that rotate, by the inventories that the scripts made of the sources.
fn texts() -> BTreeSet<String> {
    #[derive(Deserialize)]
    struct Found {
        #[serde(alias = "towers")]
        types: Vec<Type>,
    }
    #[derive(Deserialize)]
    struct Type {
        #[serde(rename = "type")]
        name: String,
        #[serde(default)]
        kind: String,
    }
    let files = [
        include_str!("../../../../tests/peers/values/model_types.json"),
        include_str!("../../../../tests/peers/values/towers.json"),
    ];
    let found = files.map(|file| serde_json::from_str::<Found>(file).unwrap().types);
    let text = found.into_iter().flatten();
    let text = text.filter(|of| of.kind.is_empty() || of.kind == "text");
    text.map(|of| of.name).collect()
}

/// What comes of the part, whose file says neither its type nor much else.
enum Found {
    Read,
    Refused,
    Unknown,
}

fn found(
    read: Result<&'static str, PositionError>,
    expected: &str,
    wrong: &mut Vec<String>,
    what: &str,
) -> Found {
    match read {
        // A model of text and images in another is read as its text.
        Ok(name) if name == expected || name.strip_suffix("_text") == Some(expected) => Found::Read,
        Ok(name) => {
            wrong.push(format!("{what}: {name}, not {expected}"));
            Found::Unknown
        }
        Err(PositionError::UnknownName { .. }) => Found::Unknown,
        Err(_) => Found::Refused,
    }
}

#[test]
fn parts_that_name_no_type_have_that_of_their_model() {
    let file: File =
        serde_json::from_str(include_str!("../../../../tests/peers/values/wrappers.json")).unwrap();
    assert_eq!(file.version, "5.23.0");
    let of = |name: &str| HfConfig::from_json(&json!({"model_type": name}).to_string()).unwrap();
    let is_known = |name: &str| of(name).model_type().is_ok();
    let (rotating, mut texts, mut read, mut towers) = (texts(), 0, 0, 0);
    let (mut wrong, mut refused) = (Vec::new(), Vec::new());
    for (name, parts) in &file.wrappers {
        for (part, expected) in parts {
            let config = json!({"model_type": name, part: {"vocab_size": 8}}).to_string();
            let config = HfConfig::from_json(&config).unwrap();
            let what = format!("{part} of {name}");
            if part == "text_config" {
                let found = match config.schemes() {
                    // One that does not rotate.
                    Ok(Some(schemes)) => {
                        assert_eq!(Ok(Some(schemes)), of(expected).schemes(), "{what}");
                        Found::Read
                    }
                    _ => found(config.model_type(), expected, &mut wrong, &what),
                };
                let is_read = matches!(found, Found::Read);
                if !rotating.contains(expected) {
                    continue;
                }
                texts += 1;
                read += usize::from(is_read);
                match found {
                    Found::Refused if !is_known(expected) => refused.push(name),
                    _ if !is_read => wrong.push(format!("{what}: not read as {expected}")),
                    _ => {}
                }
                continue;
            }
            if part != "thinker_config" && is_known(expected) {
                let parts = config.parts().unwrap();
                match parts.iter().find(|(named, _)| named == part) {
                    Some((_, config)) => {
                        found(config.model_type(), expected, &mut wrong, &what);
                        towers += 1;
                    }
                    None => wrong.push(format!("{what}: no part, not {expected}")),
                }
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts =
        format!("Of {texts} models with a part about text of these tables {read} are read");
    let docs = include_str!("../../../../docs/models.md").replace('\n', " ");
    assert!(
        docs.contains(&counts),
        "docs/models.md should say: {counts}, {towers} other parts; refused: {refused:?}"
    );
}
