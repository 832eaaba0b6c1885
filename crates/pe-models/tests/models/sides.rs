//! Both sides of encoder-decoders, from the file of the whole: `tests/peers/values/sides.json`, written by
//! `tests/peers/sides.py`.

use std::collections::BTreeMap;

use pe_models::HfConfig;
use serde::Deserialize;
use serde_json::Value;

use crate::{Group, Grown, difference_of};

#[derive(Deserialize)]
struct File {
    version: String,
    runs: Vec<Vec<usize>>,
    wholes: Vec<Whole>,
}

#[derive(Deserialize)]
struct Whole {
    #[serde(rename = "type")]
    name: String,
    file: Value,
    sides: BTreeMap<String, Vec<Group>>,
}

#[test]
fn each_side_of_a_file_is_read_as_its_code_reads_it() {
    let file: File =
        serde_json::from_str(include_str!("../../../../tests/peers/values/sides.json")).unwrap();
    assert_eq!(file.version, "5.23.0");
    let (mut equal, mut wrong, mut grown) = (0, Vec::new(), Grown::default());
    for Whole {
        name,
        file: text,
        sides,
    } in file.wholes
    {
        let parts = HfConfig::from_json(&text.to_string())
            .unwrap()
            .parts()
            .unwrap();
        for (side, expected) in sides {
            let part = parts.iter().find(|(part, _)| *part == side);
            let read =
                part.map(|(_, part)| difference_of(&mut grown, &side, part, &expected, &file.runs));
            match read {
                Some(Ok(None)) => equal += 1,
                other => wrong.push(format!("{side} of {name}: {other:?}")),
            }
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(equal, 10);
}
