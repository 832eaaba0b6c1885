//! The towers of images, video and sound: `tests/peers/values/towers.json`, written by `tests/peers/towers.py`.

use std::collections::{BTreeMap, BTreeSet};

use burn::tensor::{DType, Device, Tensor, TensorData};
use pe_burn::{Coordinates, Positions, Rotate};
use pe_models::{AttentionSpan, HfConfig, LayerPositions, Places};
use serde::Deserialize;
use serde_json::Value;

use crate::Window;

#[derive(Deserialize)]
struct File {
    version: String,
    towers: Vec<Tower>,
}

#[derive(Deserialize)]
struct Tower {
    #[serde(rename = "type")]
    name: String,
    kind: String,
    #[serde(default)]
    cases: Vec<Case>,
}

/// Queries of the first head of several images or frames, and what the tower's own code makes of them.
#[derive(Deserialize)]
struct Case {
    what: String,
    file: Value,
    raises: Option<String>,
    /// The numbers of each token: (frame,) row and column, or its place in the row.
    #[serde(default)]
    places: Vec<Vec<f64>>,
    #[serde(default)]
    x: Vec<Vec<f64>>,
    #[serde(default)]
    rotated: Vec<Vec<f64>>,
    /// For each layer with attention the keys that its mask shows, or else the tokens of its longest piece.
    #[serde(default)]
    spans: Vec<Window>,
}

impl Case {
    /// Whether the layers see what the tower's own code lets them see; `None` where that did not run.
    fn sees_as_its_code(&self, layers: &[LayerPositions]) -> Option<bool> {
        let piece = |window: &Window| match window {
            Window::Called(piece) => Some(*piece),
            Window::Shown(..) => None,
        };
        let longest = self.spans.iter().filter_map(piece).max();
        let ours = layers
            .iter()
            .filter(|layer| layer.span != AttentionSpan::None);
        let ours: Vec<AttentionSpan> = ours.map(|layer| layer.span).collect();
        let is_same = |(window, span): (&Window, AttentionSpan)| match (piece(window), span) {
            (None, span) => window.is(span),
            (piece, AttentionSpan::Full) => piece == longest,
            (piece, AttentionSpan::Window) => piece < longest,
            _ => false,
        };
        (!self.spans.is_empty())
            .then(|| ours.len() == self.spans.len() && self.spans.iter().zip(ours).all(is_same))
    }
}

/// How far ours is from theirs, by the largest entry.
fn distance(case: &Case) -> Result<f64, String> {
    let said = |error: pe_burn::PositionError| error.to_string();
    let config = HfConfig::from_json(&case.file.to_string()).map_err(said)?;
    let layers = config.layers().map_err(said)?;
    let layer = layers
        .iter()
        .find(|layer| layer.rotary.is_some())
        .ok_or("no layer rotates")?;
    let rotary = layer.rotary.clone().unwrap();
    let [tokens, width] = [case.x.len(), case.x[0].len()];
    if rotary.d_head != width {
        return Err(format!("heads of {}, not {width}", rotary.d_head));
    }
    let device = (&Device::flex(), DType::F64);
    let rope = rotary.try_init(&Device::flex()).map_err(said)?;
    let positions = match layer.places {
        Places::Row => {
            let row = case
                .places
                .iter()
                .map(|place| place[0])
                .collect::<Vec<f64>>();
            let times = Tensor::<2>::from_data(TensorData::new(row, [1, tokens]), device);
            Positions::from_times(times).map_err(said)?
        }
        _ => {
            let mut all: Option<Coordinates> = None;
            for place in &case.places {
                let here = Coordinates::text(0, 1, place.len()).map_err(said)?;
                let here = here.shifted(place).map_err(said)?;
                all = Some(match all {
                    Some(before) => before.then(&here).map_err(said)?,
                    None => here,
                });
            }
            all.unwrap().into()
        }
    };
    let x = TensorData::new(case.x.concat(), [1, 1, tokens, width]);
    let ours = rope.try_rotate_queries(Tensor::<4>::from_data(x, device), &positions);
    let ours: Vec<f64> = ours.map_err(said)?.into_data().iter::<f64>().collect();
    let largest = case
        .x
        .concat()
        .iter()
        .fold(0.0_f64, |most, x| most.max(x.abs()));
    let off = ours
        .iter()
        .zip(case.rotated.concat())
        .map(|(a, b)| (a - b).abs());
    // `max` skips NaN.
    match off.clone().all(f64::is_finite) {
        true => Ok(off.fold(0.0_f64, f64::max) / largest),
        false => Err("a number is missing".into()),
    }
}

/// Every tower of transformers that rotates is read as its own code reads it, or is refused with a reason.
#[test]
fn towers_of_transformers() {
    let file: File =
        serde_json::from_str(include_str!("../../../../tests/peers/values/towers.json")).unwrap();
    assert_eq!(file.version, "5.23.0");
    let mut equal: BTreeMap<&str, Vec<&str>> = BTreeMap::new();
    let (mut lines, mut wrong, mut files, mut seen) = (Vec::new(), Vec::new(), 0, BTreeSet::new());
    for Tower { name, kind, cases } in &file.towers {
        let mut reason = None;
        for case in cases.iter().filter(|case| case.raises.is_none()) {
            match distance(case) {
                Ok(off) if off < 1e-6 => files += 1,
                Ok(off) => wrong.push(format!("{name}, {}: off by {off:e}", case.what)),
                Err(error) if case.what == "bare" => reason = Some(error),
                Err(error) if reason.is_none() => {
                    wrong.push(format!("{name}, {}: {error}", case.what))
                }
                Err(_) => {}
            }
            let layers = HfConfig::from_json(&case.file.to_string()).and_then(|file| file.layers());
            match layers
                .ok()
                .and_then(|layers| case.sees_as_its_code(&layers))
            {
                Some(true) => drop(seen.insert(name)),
                Some(false) => wrong.push(format!("{name}, {}: {:?}", case.what, case.spans)),
                None => {}
            }
        }
        if !cases.iter().any(|case| case.raises.is_none()) {
            let text = format!(r#"{{"model_type": "{name}"}}"#);
            let read = HfConfig::from_json(&text).unwrap().layers();
            reason = Some(
                read.err()
                    .map_or("not compared with its own code".into(), |error| {
                        error.to_string()
                    }),
            );
        }
        lines.push(match reason {
            None => {
                equal.entry(kind).or_default().push(name);
                format!("| `{name}` | {kind} | read |")
            }
            Some(reason) => {
                let reason = reason
                    .split_once("is not read: ")
                    .map_or(&*reason, |(_, reason)| reason);
                format!("| `{name}` | {kind} | refused: {reason} |")
            }
        });
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    let counts: Vec<String> = equal
        .iter()
        .map(|(kind, names)| format!("{} {kind}", names.len()))
        .collect();
    let table = format!("| tower | | |\n|---|---|---|\n{}\n", lines.join("\n"));
    let docs = include_str!("../../../../docs/models.md");
    let counts = format!(
        "Of these {} types {} are read ({}), in {files} files, and which keys a layer sees is equal in {}",
        lines.len(),
        equal.values().map(Vec::len).sum::<usize>(),
        counts.join(", "),
        seen.len()
    );
    assert!(
        docs.contains(&table) && docs.replace('\n', " ").contains(&counts),
        "docs/models.md should have: {counts}\n{table}"
    );
}
