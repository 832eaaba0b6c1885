//! What the model types of transformers do with positions, layer by layer: `tests/peers/values/model_types.json`,
//! written by `tests/peers/model_types.py`.

mod fields;
mod sides;
mod towers;
mod unrotated;
mod wrappers;

use std::collections::{BTreeMap, BTreeSet};

use burn::tensor::{Device, Tensor, TensorData};
use pe_burn::{PositionError, Positions, RotaryPositionalEncoding, Rotate};
use pe_models::{AttentionSpan, HfConfig, LayerPositions, PlacedScheme};
use rand_chacha::ChaCha8Rng;
use rand_chacha::rand_core::{Rng, SeedableRng};
use serde::Deserialize;
use serde_json::Value;

/// The values of a tensor in row-major order.
fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().iter::<f32>().collect()
}

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
    #[serde(default)]
    cases: Vec<Case>,
}

#[derive(Deserialize)]
struct Case {
    what: String,
    file: Option<Value>,
    raises: Option<String>,
    #[serde(default)]
    layers: Vec<Group>,
    /// The earlier file of the type whose layers do the same.
    #[serde(rename = "as")]
    as_in: Option<String>,
}

/// Layers that rotate alike: their indices, their window, a query, and what becomes of it at each position.
#[derive(Deserialize)]
struct Group(Vec<usize>, Option<Window>, Vec<f32>, Vec<Vec<f32>>);

/// The keys that a query sees in a layer.
#[derive(Clone, Copy, Debug, Deserialize)]
#[serde(untagged)]
enum Window {
    /// The window that attention is called with.
    Called(usize),
    /// How many keys the mask shows before and after query 2³⁰ - 1; `None` for all of them.
    Shown(Option<usize>, Option<usize>),
}

impl Window {
    fn is(self, span: AttentionSpan) -> bool {
        match (self, span) {
            // Encoders call attention with the keys of one side and the one of the query.
            (Self::Called(called), AttentionSpan::Around { before, after }) => {
                before == after && called == before + 1
            }
            (Self::Called(window), span) => span == AttentionSpan::Sliding(window),
            // Without a cache all tokens are a prompt.
            (Self::Shown(None, _), AttentionSpan::PromptAndSliding(_)) => true,
            (Self::Shown(None, _), span) => span == AttentionSpan::Full,
            (
                Self::Shown(before, after),
                AttentionSpan::Around {
                    before: b,
                    after: a,
                },
            ) => (before, after) == (Some(b), Some(a)),
            (Self::Shown(Some(before), _), AttentionSpan::Chunked(length)) => {
                before == ((1 << 30) - 1) % length
            }
            (Self::Shown(Some(before), Some(0)), span) => {
                span == AttentionSpan::Sliding(before + 1)
            }
            _ => false,
        }
    }
}

/// Fields by which a model was trained and that version 5.23.0 of transformers passes over.
const AS_TRAINED: [(&str, &str); 2] =
    [("minimax", "rotary_dim"), ("nomic_bert", "rotary_emb_base")];

/// Whether a file is read as its model was trained, and not as transformers reads it.
fn is_as_trained(name: &str, file: &Value) -> bool {
    let mut fields = AS_TRAINED.iter();
    fields.any(|(of, field)| *of == name && file.get(field).is_some())
}

fn file() -> File {
    serde_json::from_str(include_str!(
        "../../../../tests/peers/values/model_types.json"
    ))
    .unwrap()
}

/// What a layer makes of a query, at the positions of all runs.
fn rotated(
    layer: &LayerPositions,
    module: Option<&RotaryPositionalEncoding>,
    query: &[f32],
    runs: &[Vec<usize>],
) -> Result<Vec<Vec<f32>>, PositionError> {
    let device = Device::flex();
    let mut rows = Vec::new();
    for run in runs {
        let positions = Positions::from_id_rows(std::slice::from_ref(run))?;
        let data = TensorData::new(query.repeat(run.len()), [1, 1, run.len(), query.len()]);
        let mut q = Tensor::<4>::from_data(data, &device);
        if let Some(module) = module {
            let columns = layer.columns.clone();
            let part = q.clone().slice([0..1, 0..1, 0..run.len(), columns.clone()]);
            let part = module.try_rotate_queries(part, &positions)?;
            q = q.slice_assign([0..1, 0..1, 0..run.len(), columns], part);
        }
        if let Some(scale) = layer.query_scale {
            // The code of Llama 4 counts the tokens of the call instead of taking their positions.
            let positions = match scale.shift {
                0 => positions,
                _ => Positions::default(),
            };
            q = scale.scale(q, &positions)?;
        }
        rows.extend(values(q).chunks(query.len()).map(<[f32]>::to_vec));
    }
    Ok(rows)
}

/// Modules of the last files, whose tables have grown to the positions of all runs. Most files of a type rotate alike.
#[derive(Default)]
struct Grown(Vec<RotaryPositionalEncoding>);

impl Grown {
    /// The module of an earlier file with the same configuration, or else this one.
    fn like(&mut self, module: RotaryPositionalEncoding) -> RotaryPositionalEncoding {
        let mut known = self.0.iter();
        if let Some(known) = known.find(|known| known.config() == module.config()) {
            return known.clone();
        }
        // A table takes some megabytes.
        if self.0.len() == 32 {
            self.0.remove(0);
        }
        self.0.push(module.clone());
        module
    }
}

/// What is wrong with what we make of a file, if anything.
fn difference(
    grown: &mut Grown,
    name: &str,
    file: &Value,
    expected: &[Group],
    runs: &[Vec<usize>],
) -> Result<Option<String>, PositionError> {
    let model = HfConfig::from_json(&file.to_string())?;
    difference_of(grown, name, &model, expected, runs)
}

fn difference_of(
    grown: &mut Grown,
    name: &str,
    model: &HfConfig,
    expected: &[Group],
    runs: &[Vec<usize>],
) -> Result<Option<String>, PositionError> {
    if let Ok(Some(_)) = model.schemes() {
        // It does not rotate: its code leaves queries as they are.
        let mut groups = expected.iter();
        let kept = groups.all(|Group(_, _, query, rows)| rows.iter().all(|row| row == query));
        return Ok((!kept).then(|| "its code rotates".into()));
    }
    let layers = model.layers()?;
    let modules = model.init_rotary(&Device::flex())?.into_iter();
    let modules: Vec<_> = modules
        .map(|module| module.map(|module| grown.like(module)))
        .collect();
    let mut seen = BTreeSet::new();
    for Group(indices, window, query, expected) in expected {
        let largest = query.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
        for &i in indices {
            // Each of its layers has two attentions.
            let i = if name == "longcat_flash" { i / 2 } else { i };
            seen.insert(i);
            let Some(layer) = layers.get(i) else {
                return Ok(Some(format!("there is no layer {i}")));
            };
            if let Some(window) = window
                && !window.is(layer.span)
            {
                let span = layer.span;
                return Ok(Some(format!("layer {i} has {window:?}, not {span:?}")));
            }
            if layer.columns.end > query.len() {
                let (columns, width) = (&layer.columns, query.len());
                return Ok(Some(format!("layer {i}: columns {columns:?} of {width}")));
            }
            let mut ours = rotated(layer, modules[i].as_ref(), query, runs)?;
            if name.starts_with("hunyuan") || name == "nanochat" {
                // Its code normalizes queries after the rotation: a factor of all columns is lost.
                for (ours, theirs) in ours.iter_mut().zip(expected) {
                    let norm = |row: &[f32]| row.iter().map(|x| x * x).sum::<f32>().sqrt();
                    let factor = norm(theirs) / norm(ours);
                    ours.iter_mut().for_each(|x| *x *= factor);
                }
            }
            for (n, (ours, theirs)) in ours.iter().zip(expected).enumerate() {
                let off = ours
                    .iter()
                    .zip(theirs)
                    .map(|(a, b)| (a - b).abs() / largest);
                // `max` skips NaN.
                let is_whole = off.clone().all(f32::is_finite);
                let worst = off.fold(0.0_f32, f32::max);
                if worst > 1e-6 || !is_whole {
                    let rotary = &layer.rotary;
                    return Ok(Some(format!(
                        "layer {i}, position {n}: off by {worst:e} with {rotary:?}, {:?}",
                        layer.query_scale
                    )));
                }
            }
        }
    }
    let missed = (0..layers.len()).find(|i| {
        let has_attention = layers[*i].span != AttentionSpan::None;
        has_attention && !seen.contains(i)
    });
    Ok(missed.map(|i| format!("layer {i} has no attention in its code")))
}

/// Whether the code of a model fails on a file because of its rotation, and not because of what a small model or a
/// short table lacks.
fn concerns_positions(raises: &str) -> bool {
    let words = [
        "The size of tensor",
        "RoPE types",
        "type field",
        "requires `rope_type",
    ];
    words.iter().any(|words| raises.contains(words))
}

/// What the table says of a type that does not rotate.
fn does_not_rotate(schemes: &[PlacedScheme]) -> String {
    match schemes {
        [] => "read: its attention has no positions".into(),
        [one] => format!("read: {}, as `HfConfig::schemes` tells", one.place),
        _ => panic!("{schemes:?}"),
    }
}

/// Why a type is not read, as its error says it.
fn reason(error: &PositionError) -> Option<String> {
    let error = error.to_string();
    let (_, reason) = error.split_once("is not read: ")?;
    Some(reason.to_string())
}

/// The table of docs/models.md.
fn table(read: &BTreeSet<String>, others: &BTreeMap<String, String>) -> String {
    let mut lines = vec!["| `model_type` | |".to_string(), "|---|---|".to_string()];
    let names: BTreeSet<&String> = read.iter().chain(others.keys()).collect();
    for name in names {
        let told = others.get(name).map_or("read", |told| told);
        lines.push(format!("| `{name}` | {told} |"));
    }
    lines.join("\n") + "\n"
}

/// Every text model type of transformers that rotates is read as its own code reads it, or is refused. Of each there
/// are files with a base, a share or a scaling in all the places where files have them.
#[test]
fn model_types_of_transformers() {
    let file = file();
    assert_eq!(file.version, "5.23.0");
    let (mut read, mut others, mut wrong) = (BTreeSet::new(), BTreeMap::new(), Vec::new());
    let (mut compared, mut as_trained, mut grown) = (0, 0, Grown::default());
    for ModelType { name, cases } in &file.types {
        let run = |case: &&Case| case.raises.is_none() && case.file.is_some();
        for case in cases.iter().filter(|case| case.file.is_some()) {
            let of = |what: &String| cases.iter().find(|case| case.what == *what).unwrap();
            let same = case.as_in.as_ref().map_or(case, of);
            let text = case.file.as_ref().unwrap();
            let ours = difference(&mut grown, name, text, &same.layers, &file.runs);
            match (&case.raises, ours) {
                (None, Ok(None)) => {
                    read.insert(name.clone());
                    compared += 1;
                }
                (None, Ok(Some(_))) if is_as_trained(name, text) => as_trained += 1,
                (None, Ok(Some(difference))) => {
                    wrong.push(format!("{name}, {}: {difference}", case.what));
                }
                (None, Err(error)) if case.what == "bare" => {
                    let reason = reason(&error).unwrap_or_else(|| panic!("{name}: {error}"));
                    others.insert(name.clone(), format!("refused: {reason}"));
                }
                (Some(raises), Ok(_))
                    if concerns_positions(raises) && !case.what.contains("head") =>
                {
                    wrong.push(format!("{name}, {}: read, but: {raises}", case.what));
                }
                _ => {}
            }
        }
        if !cases.iter().any(|case| run(&case)) {
            let text =
                format!(r#"{{"model_type": "{name}", "num_hidden_layers": 2, "head_dim": 8}}"#);
            let error = HfConfig::from_json(&text).unwrap().layers().unwrap_err();
            let reason = reason(&error).unwrap_or("not compared with its own code".into());
            others.insert(name.clone(), format!("refused: {reason}"));
        }
    }
    assert!(wrong.is_empty(), "{}", wrong.join("\n"));
    assert_eq!(as_trained, 1); // The base of NomicBERT's files.
    for ModelType { name, .. } in &file.types {
        let model = HfConfig::from_json(&format!(r#"{{"model_type": "{name}"}}"#)).unwrap();
        if let Ok(Some(schemes)) = model.schemes() {
            others.insert(name.clone(), does_not_rotate(&schemes));
        }
    }
    assert!(
        read.len() >= 158 && compared >= 2_000,
        "{}, {compared}",
        read.len()
    );
    let docs = include_str!("../../../../docs/models.md");
    let table = table(&read, &others);
    assert!(
        docs.contains(&table),
        "docs/models.md should have:\n{table}"
    );
}

/// Values that a field of a file should not have, or could have by mistake.
const ODD: &str = r#"[null, true, -1, 0, 0.5, 1, 3, 7.5, 1e-300, 1e18, 1e308, -1e308, 18446744073709551615, "", "NaN",
    "yarn", "full_attention", [], [1], [0, "x"], {}, {"a": 1}, {"full_attention": {"rope_theta": 0}},
    {"rope_type": "yarn", "factor": 1e308}, {"rope_type": "dynamic", "factor": 1e300, "rope_theta": 1e300},
    {"rope_type": "llama3", "factor": 1e-320, "low_freq_factor": 1, "high_freq_factor": 1}]"#;

/// A place in a file: the file itself, or a group of fields in it.
fn groups(value: &Value, path: &str, into: &mut Vec<String>) {
    if let Value::Object(fields) = value {
        into.push(path.to_string());
        for (name, value) in fields {
            groups(
                value,
                &format!("{path}/{}", name.replace('~', "~0").replace('/', "~1")),
                into,
            );
        }
    }
}

/// Files with fields replaced, removed and added: no panic, no number that is not finite, and no wait.
#[test]
fn mutated_files_are_read_or_refused() {
    let file = file();
    let odd: Vec<Value> = serde_json::from_str(ODD).unwrap();
    let names = [
        "rope_theta",
        "rope_scaling",
        "rope_parameters",
        "head_dim",
        "num_hidden_layers",
        "layer_types",
        "partial_rotary_factor",
        "per_layer_config",
        "sliding_window",
        "max_position_embeddings",
    ];
    let mut random = ChaCha8Rng::seed_from_u64(16);
    let mut below = |count: usize| random.next_u64() as usize % count;
    let (mut read, mut refused) = (0, 0);
    let files: Vec<&Value> = file
        .types
        .iter()
        .flat_map(|of| &of.cases)
        .filter_map(|case| case.file.as_ref())
        .collect();
    for _ in 0..3_000 {
        let mut file = files[below(files.len())].clone();
        for _ in 0..1 + below(3) {
            let mut places = Vec::new();
            groups(&file, "", &mut places);
            let place = &places[below(places.len())];
            let fields = file.pointer_mut(place).unwrap().as_object_mut().unwrap();
            let own: Vec<String> = fields.keys().cloned().collect();
            let name = match below(3) {
                0 => names[below(names.len())].to_string(),
                _ if own.is_empty() => continue,
                _ => own[below(own.len())].clone(),
            };
            match below(5) {
                0 => drop(fields.remove(&name)),
                _ => drop(fields.insert(name, odd[below(odd.len())].clone())),
            }
        }
        let model = HfConfig::from_json(&file.to_string()).unwrap();
        let rotary = model.rotary().and_then(|rotary| rotary.spectrum(200_000));
        if let Ok(spectrum) = rotary {
            let frequencies = spectrum.frequencies();
            assert!(frequencies.iter().all(|omega| omega.is_finite()), "{file}");
        }
        let layers = match model.layers() {
            Ok(layers) => layers,
            Err(error) => {
                refused += 1;
                assert!(!error.to_string().is_empty());
                continue;
            }
        };
        read += 1;
        for layer in layers.iter().take(12) {
            if layer.columns.len() > 4_096 {
                continue; // a probe of it only takes long
            }
            if let Ok(Some(probe)) = layer.probe(&[0, 1, 131_071]) {
                let numbers = probe.rotated.iter().flat_map(|(_, row)| row);
                assert!(numbers.clone().all(|x| x.is_finite()), "{file}");
            }
        }
    }
    assert!(
        read > 500 && refused > 500,
        "{read} read, {refused} refused"
    );
}

/// An odd number of rotated columns is refused with the numbers. The code of some models fails on one; that of others
/// turns one column more.
#[test]
fn an_odd_number_of_rotated_columns_is_refused() {
    for json in [
        r#"{"model_type": "gpt_neox", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
            "rotary_pct": 0.2}"#,
        r#"{"model_type": "phi", "hidden_size": 64, "num_attention_heads": 4, "num_hidden_layers": 2,
            "partial_rotary_factor": 0.2}"#,
        r#"{"model_type": "gptj", "n_embd": 64, "n_head": 4, "n_layer": 2, "rotary_dim": 3}"#,
    ] {
        let model = HfConfig::from_json(json).unwrap();
        let error = model.init_rotary(&Device::flex()).unwrap_err().to_string();
        let words = "must be even, from 2 to d_head 16; got 3";
        assert!(error.ends_with(words), "{error}");
    }
}
