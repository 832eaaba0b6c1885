//! Foreign tables, foreign configurations, and any positions through every scheme: errors, and no panic but those that say
//! the error of the form that returns one.
//!
//! Runs some hundred random cases; `scripts/fuzz` runs more.

mod fuzz_positions;
#[path = "../crates/pe-lab/tests/fuzzing/mod.rs"]
mod fuzzing;

use std::fs;
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Tensor};
use fuzz_positions::values;
use fuzzing::fuzz;
use pe_burn::{LearnedPositionalEmbeddingConfig, Positions, RopeScaling, Rotate};
use pe_models::HfConfig;

/// The files in the folders of a folder.
fn files(folder: &Path, ending: &str) -> Vec<(String, Vec<u8>)> {
    let inside = |folder: PathBuf| fs::read_dir(folder).into_iter().flatten().flatten();
    let mut found: Vec<PathBuf> = inside(folder.to_path_buf())
        .flat_map(|entry| inside(entry.path()).map(|file| file.path()))
        .filter(|file| file.extension().is_some_and(|own| own == ending))
        .collect();
    found.sort();
    let read = |file: PathBuf| {
        (
            file.file_name().unwrap().to_string_lossy().into_owned(),
            fs::read(&file).unwrap(),
        )
    };
    found.into_iter().map(read).collect()
}

/// The names of the tables of the corpus, with `d_model`, `max_len` and the padding index.
const TABLES: [(&str, usize, usize, Option<usize>); 8] = [
    ("wpe.weight", 8, 12, None),
    ("transformer.wpe.weight", 8, 12, None),
    ("embeddings.position_embeddings.weight", 8, 12, None),
    ("embeddings.position_embeddings.weight", 8, 12, Some(1)),
    ("embeddings.position_embeddings", 8, 10, None),
    ("decoder.embed_positions.weight", 8, 12, Some(1)),
    ("encoder.embed_positions.weight", 8, 12, Some(1)),
    ("model.decoder.embed_positions.weight", 8, 12, Some(1)),
];

/// Reads the tables of a file, and says whether there is one of a name and shape of the corpus.
fn is_table(file: &Path) -> bool {
    let device = Device::flex();
    let read = TABLES.map(|(name, d_model, max_len, padding)| {
        let mut config = LearnedPositionalEmbeddingConfig::new(d_model, max_len);
        config.padding_index = padding;
        let read = config.init_from_file(file, name, &device);
        match &read {
            Ok(table) => assert_eq!(table.weight.dims()[1], d_model),
            Err(error) => assert!(error.to_string().len() < 20_000),
        }
        read.is_ok()
    });
    read.contains(&true)
}

#[test]
fn safetensors_tables() {
    let folder = Path::new("peers/checkpoints");
    fuzz(
        "tables-safetensors",
        files(folder, "safetensors"),
        &[&is_table],
    );
}

#[test]
fn pytorch_tables() {
    let folder = Path::new("peers/checkpoints");
    let all = ["bin", "pt", "pth"]
        .map(|ending| files(folder, ending))
        .concat();
    fuzz("tables-pytorch", all, &[&is_table]);
}

#[test]
fn configurations() {
    let folder = Path::new("../crates/pe-lab/tests/corpus");
    let configs = files(folder, "json").into_iter();
    let configs = configs.filter(|file| String::from_utf8_lossy(&file.1).contains("model_type"));
    fuzz(
        "model-config",
        configs.collect(),
        &[&|file| {
            let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
            let Ok(config) = HfConfig::from_json(&text) else {
                return false;
            };
            let Ok(rotary) = config.rotary() else {
                return false;
            };
            let device = Device::flex();
            // A head of a million columns is no error, and takes a while.
            let d_head = rotary.d_head;
            if d_head > 10_000 {
                return true;
            }
            let Ok(rotary) = rotary.try_init(&device) else {
                return false;
            };
            let q = Tensor::<4>::ones([1, 1, 3, d_head], &device);
            match rotary.try_rotate(q.clone(), q, &Positions::default()) {
                Ok((q, _)) => assert!(values(q).iter().all(|x| x.is_finite())),
                Err(error) => assert!(!error.to_string().is_empty()),
            }
            true
        }],
    );
    let scalings = [
        r#"{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0, "original_max_position_embeddings": 1024}"#,
        r#"{"type": "yarn", "factor": 40.0, "mscale": 1.0, "original_max_position_embeddings": 512}"#,
        r#"{"rope_type": "linear", "factor": 2}"#,
        r#"{"rope_type": "dynamic", "factor": 4.0}"#,
        r#"{"type": "longrope", "short_factor": [1.0, 1.1], "long_factor": [2.0, 3.0], "original_max_position_embeddings": 16}"#,
        r#"{"rope_type": "default"}"#,
    ];
    let scalings = scalings
        .iter()
        .map(|text| ("scaling.json".to_string(), text.as_bytes().to_vec()));
    fuzz(
        "rope-scaling",
        scalings.collect(),
        &[&|file| {
            let text = fs::read_to_string(file).unwrap_or_default();
            serde_json::from_str::<RopeScaling>(&text).is_ok()
        }],
    );
}
