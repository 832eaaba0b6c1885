//! Foreign tables, foreign configurations, and any positions through every scheme: errors, and no panic but those that say
//! the error of the form that returns one.
//!
//! Runs some hundred random cases; `scripts/fuzz` runs more.

#[path = "../crates/pe-lab/tests/fuzzing/mod.rs"]
mod fuzzing;

use std::fs;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};

use burn::tensor::{Device, Int, Tensor, TensorData};
use fuzzing::{fuzz, more};
use pe_burn::{
    Embed, Grid, LearnedPositionalEmbeddingConfig, ModelConfig, PositionError, PositionalConfig,
    PositionalScheme, Positions, RopeScaling, Rotate,
};
use proptest::prelude::*;
use proptest::strategy::ValueTree;
use proptest::test_runner::TestRunner;

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
    fuzz("tables-safetensors", files(folder, "safetensors"), is_table);
}

#[test]
fn pytorch_tables() {
    let folder = Path::new("peers/checkpoints");
    let all = ["bin", "pt", "pth"]
        .map(|ending| files(folder, ending))
        .concat();
    fuzz("tables-pytorch", all, is_table);
}

#[test]
fn configurations() {
    let folder = Path::new("../crates/pe-lab/tests/corpus");
    let configs = files(folder, "json").into_iter();
    let configs = configs.filter(|file| String::from_utf8_lossy(&file.1).contains("model_type"));
    fuzz("model-config", configs.collect(), |file| {
        let text = String::from_utf8_lossy(&fs::read(file).unwrap()).into_owned();
        let Ok(config) = ModelConfig::from_json(&text) else {
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
    });
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
    fuzz("rope-scaling", scalings.collect(), |file| {
        let text = fs::read_to_string(file).unwrap_or_default();
        serde_json::from_str::<RopeScaling>(&text).is_ok()
    });
}

fn values<const D: usize>(tensor: Tensor<D>) -> Vec<f32> {
    tensor.into_data().convert::<f32>().try_to_vec().unwrap()
}

const HEADS: usize = 2;
const WIDTH: usize = 8;

/// What an input is made of: how its positions are given, its shape, and numbers that mostly are small.
#[derive(Clone, Debug)]
struct Case {
    kind: u8,
    batch: usize,
    seq: usize,
    numbers: Vec<i64>,
    times: Vec<f64>,
}

fn case() -> impl Strategy<Value = Case> {
    let number = prop_oneof![
        6 => -2_i64..20,
        1 => Just(i64::MAX),
        1 => Just(i64::MIN),
        1 => any::<i64>(),
        1 => Just(pe_burn::MAX_POSITION as i64),
    ];
    let time = prop_oneof![
        6 => 0.0_f64..30.0,
        1 => Just(f64::NAN),
        1 => Just(f64::INFINITY),
        1 => Just(-1e300),
        1 => any::<f64>(),
    ];
    (0_u8..8, 0_usize..4, 0_usize..7).prop_flat_map(move |(kind, batch, seq)| {
        let size = (batch * seq).max(1);
        (
            Just((kind, batch, seq)),
            prop::collection::vec(number.clone(), size),
            prop::collection::vec(time.clone(), size),
        )
            .prop_map(|((kind, batch, seq), numbers, times)| Case {
                kind,
                batch,
                seq,
                numbers,
                times,
            })
    })
}

fn positions(case: &Case, device: &Device) -> Result<Positions, PositionError> {
    let Case {
        kind,
        batch,
        seq,
        numbers,
        times,
    } = case;
    let (batch, seq) = (*batch, *seq);
    let shape = [batch, seq];
    let numbers = numbers.iter().copied().take(batch * seq);
    let ids = || {
        // The integers of this backend.
        let numbers = numbers
            .clone()
            .map(|number| number.clamp(i32::MIN.into(), i32::MAX.into()) as i32);
        let data = TensorData::new(numbers.collect::<Vec<i32>>(), shape);
        Tensor::<2, Int>::from_data(data, device)
    };
    let small = numbers
        .clone()
        .map(|number| number.unsigned_abs() as usize % 50)
        .collect::<Vec<_>>();
    Ok(match kind {
        0 => Positions::default(),
        1 => Positions::from(case.numbers[0].unsigned_abs() as usize),
        2 => Positions::from_starts(
            case.numbers
                .iter()
                .map(|n| n.unsigned_abs() as usize)
                .take(batch)
                .collect::<Vec<_>>(),
        ),
        3 => Positions::from_ids(ids())?,
        4 => Positions::from_segment_ids(ids()),
        5 => Positions::from_token_mask(ids().greater_elem(3)),
        6 => {
            let rows: Vec<Vec<f64>> = times[..batch * seq]
                .chunks(seq.max(1))
                .map(<[f64]>::to_vec)
                .collect();
            Positions::from_time_rows(&rows)?
        }
        _ => {
            let grid = Grid::image(
                1 + case.numbers[0].unsigned_abs() as usize % 4,
                1 + small.len() % 3,
            );
            Positions::from(grid)
        }
    })
}

/// Checks that the panicking form panics with the message of the error, and otherwise gives the same numbers, which are
/// finite.
fn agree<const D: usize>(
    of: &str,
    tried: Result<Vec<Tensor<D>>, PositionError>,
    plain: impl FnOnce() -> Vec<Tensor<D>>,
) {
    let plain = catch_unwind(AssertUnwindSafe(plain));
    match (tried, plain) {
        (Ok(tried), Ok(plain)) => {
            for (tried, plain) in tried.into_iter().zip(plain) {
                let (tried, plain) = (values(tried), values(plain));
                let same = tried
                    .iter()
                    .zip(&plain)
                    .all(|(a, b)| a.to_bits() == b.to_bits());
                assert!(same, "{of}: the two forms differ");
                assert!(tried.iter().all(|x| !x.is_nan()), "{of}: not a number");
            }
        }
        (Err(error), Err(panic)) => {
            let said = panic.downcast_ref::<String>().cloned();
            let said = said.or_else(|| panic.downcast_ref::<&str>().map(|text| text.to_string()));
            assert!(
                said.unwrap_or_default().contains(&error.to_string()),
                "{of}: {error}"
            );
        }
        (tried, plain) => panic!(
            "{of}: one form gives an error ({:?}), the other none ({})",
            tried.err(),
            plain.is_ok()
        ),
    }
}

#[test]
fn any_positions_through_every_scheme() {
    let device = Device::flex();
    let schemes: Vec<(&str, PositionalScheme)> = PositionalConfig::NAMES
        .iter()
        .map(|name| {
            let config = PositionalConfig::by_name(name, HEADS * WIDTH, HEADS, 32).unwrap();
            (*name, config.init(&device))
        })
        .collect();
    // What a panic says is part of the test, and not of its output.
    let hook = std::panic::take_hook();
    std::panic::set_hook(Box::new(|_| {}));
    let mut runner = TestRunner::new(ProptestConfig::default());
    let (more, mut cases, mut errors) = (more(150), 0, 0);
    let mut failed = None;
    while more(cases) && failed.is_none() {
        let case = case().new_tree(&mut runner).unwrap().current();
        cases += 1;
        let checked = catch_unwind(AssertUnwindSafe(|| {
            let Ok(positions) = positions(&case, &device) else {
                return true;
            };
            let [batch, seq] = [case.batch, case.seq];
            let x = Tensor::<3>::ones([batch, seq, HEADS * WIDTH], &device);
            let q = Tensor::<4>::ones([batch, HEADS, seq, WIDTH], &device);
            for (name, scheme) in &schemes {
                let embedded = scheme.try_embed(x.clone(), &positions);
                agree(&format!("{name} embeds"), embedded.map(|x| vec![x]), || {
                    vec![scheme.embed(x.clone(), &positions)]
                });
                let rotated = scheme
                    .try_rotate(q.clone(), q.clone(), &positions)
                    .map(|(q, k)| vec![q, k]);
                agree(&format!("{name} rotates"), rotated, || {
                    let (q, k) = scheme.rotate(q.clone(), q.clone(), &positions);
                    vec![q, k]
                });
                let side = (&q, &positions);
                let added = scheme
                    .try_score_bias(side, side)
                    .map(|bias| bias.into_iter().collect());
                agree(&format!("{name} adds"), added, || {
                    scheme.score_bias(side, side).into_iter().collect()
                });
            }
            false
        }));
        match checked {
            Ok(refused) => errors += usize::from(refused),
            Err(panic) => failed = Some((case, panic)),
        }
    }
    std::panic::set_hook(hook);
    if let Some((case, panic)) = failed {
        let said = panic.downcast_ref::<String>().cloned();
        panic!("{case:?}: {}", said.unwrap_or_else(|| "a panic".into()));
    }
    println!("positions: {cases} cases, {errors} of them refused when they were made");
}
