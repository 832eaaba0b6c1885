//! Learned tables from files that transformers saved (`tests/peers/checkpoints`), fitted to other
//! lengths and images, and written again.

use std::fs;
use std::path::{Path, PathBuf};

use burn::module::Module;
use burn::tensor::{DType, Device};
use pe_burn::embedding::{Extension, TableInit};
use pe_burn::{
    CheckpointError, Embed, Grid, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig,
    PositionError, Positions, Spectrum,
};
use pe_tests::devices;
use serde::Deserialize;

use crate::{
    assert_says, assert_within, cases, distance, random, refusal, refused, tensor, types, values,
};

#[derive(Deserialize)]
#[serde(untagged)]
enum Case {
    Saved(Saved),
    Resized(Resized),
}

#[derive(Deserialize)]
struct Saved {
    peer: String,
    file: String,
    name: String,
    shape: Vec<usize>,
    padding_index: Option<usize>,
    rows: Vec<Vec<f32>>,
}

#[derive(Deserialize)]
struct Resized {
    peer: String,
    from: [usize; 2],
    to: [usize; 2],
    prefix: usize,
    table: Vec<Vec<f32>>,
    resized: Vec<Vec<f64>>,
}

fn all() -> Vec<Case> {
    cases(include_str!("../peers/values/checkpoints.json"))
}

fn file(name: &str) -> PathBuf {
    // The tests of a package run in its folder.
    Path::new("peers").join(name)
}

/// A module with this table.
fn table(rows: &[Vec<f32>], device: &Device) -> LearnedPositionalEmbedding {
    let shape = [rows.len(), rows[0].len()];
    let mut pe = LearnedPositionalEmbeddingConfig::new(shape[1], shape[0]).init(device);
    let rows = tensor(&rows.concat(), shape, device);
    pe.weight = burn::module::Param::from_tensor(rows);
    pe
}

fn rows(pe: &LearnedPositionalEmbedding) -> Vec<f32> {
    values(
        pe.encode(&Positions::default(), pe.config().max_len)
            .unwrap(),
    )
}

/// What a model of transformers adds to its tokens is what ours adds.
#[test]
fn tables_of_models_that_transformers_saved() {
    let mut files = 0;
    for case in all() {
        let Case::Saved(case) = case else { continue };
        files += 1;
        let config = LearnedPositionalEmbeddingConfig {
            padding_index: case.padding_index,
            ..LearnedPositionalEmbeddingConfig::new(case.rows[0].len(), case.rows.len())
        };
        for device in devices() {
            let pe = config
                .init_from_file(file(&case.file), &case.name, &device)
                .unwrap();
            let Saved { peer, file, .. } = &case;
            assert_eq!(rows(&pe), case.rows.concat(), "{peer} {file} {device:?}");
            assert_eq!(pe.num_params(), case.shape.iter().product::<usize>());
            let x = random([2, 3, 8], &device);
            let sum = x.clone() + pe.encode(&Positions::from(4), 3).unwrap();
            assert_eq!(distance(pe.embed(x, &Positions::from(4)), sum), 0.0);
        }
    }
    assert_eq!(files, 19);
}

/// Tensors keep the names that they have in the file, also where a number is left out.
#[test]
fn a_list_with_gaps_keeps_its_names() {
    let device = Device::flex();
    let config = LearnedPositionalEmbeddingConfig::new(3, 2);
    let path = file("checkpoints/gaps/pytorch_model.bin");
    for i in [1, 3] {
        let name = format!("pos.{i}.weight");
        let pe = config.init_from_file(&path, &name, &device).unwrap();
        assert_eq!(rows(&pe), [i as f32; 6]);
    }
    let message = refusal(config.init_from_file(&path, "pos.0.weight", &device));
    assert_says(&message, "… it has: pos.1.weight, pos.3.weight");
}

/// It is trained on like any other, and half-precision models get the type of the device.
#[test]
fn a_table_from_a_file_can_be_trained() {
    let device = Device::flex().autodiff();
    let config = LearnedPositionalEmbeddingConfig::new(8, 12);
    let half = file("checkpoints/gpt2-half/model.safetensors");
    let pe = config.init_from_file(half, "wpe.weight", &device).unwrap();
    assert_eq!(pe.weight.val().dtype(), DType::F32);
    let gradients = pe.forward(random([1, 12, 8], &device)).sum().backward();
    let gradient = pe.weight.val().grad(&gradients).unwrap();
    assert_eq!(values(gradient), vec![1.0; 96]);
    let longer = pe.extend(20, Extension::Linear).unwrap();
    let gradients = longer.forward(random([1, 20, 8], &device)).sum().backward();
    assert!(longer.weight.val().grad(&gradients).is_some());
    let frozen = longer.no_grad().crop(5).unwrap();
    assert!(!frozen.weight.is_require_grad());

    // Made for inference, it can still be sent to training; frozen, it stays so.
    let plain = config
        .init(&Device::flex())
        .extend(20, Extension::Repeat)
        .unwrap();
    assert!(plain.clone().train().weight.is_require_grad());
    let frozen = plain.no_grad().crop(3).unwrap();
    assert!(!frozen.train().weight.is_require_grad());
}

#[test]
fn an_error_says_what_is_missing_and_what_there_is() {
    let device = Device::flex();
    let config = LearnedPositionalEmbeddingConfig::new(8, 12);
    let said = |config: &LearnedPositionalEmbeddingConfig, path: &Path, name: &str| {
        let error = config.init_from_file(path, name, &device).unwrap_err();
        (error.to_string(), error)
    };
    for format in ["model.safetensors", "pytorch_model.bin"] {
        let gpt2 = file("checkpoints/gpt2").join(format);
        let (message, error) = said(&config, &gpt2, "wpe");
        assert!(matches!(error, CheckpointError::Name { .. }));
        assert!(message.contains(&format!("gpt2/{format} has no tensor \"wpe\"; it has: ")));
        assert!(message.contains("wpe.weight, ") || message.ends_with("wpe.weight"));
        assert!(message.contains("h.0.attn.c_attn.weight, "), "{message}");

        let longer = LearnedPositionalEmbeddingConfig::new(8, 20);
        let offset = config.clone().with_padding_index(1);
        for (config, name, words) in [
            (
                &longer,
                "wpe.weight",
                "\"wpe.weight\" has shape [12, 8], but this configuration needs [20, 8]: max_len and 0 rows before position 0, and d_model",
            ),
            (
                &offset,
                "wpe.weight",
                "… needs [14, 8]: max_len and 2 rows …",
            ),
            // One of another number of axes.
            (&config, "ln_f.bias", "\"ln_f.bias\" has shape [8], but …"),
        ] {
            assert_says(&said(config, &gpt2, name).0, words);
        }
    }
    let wrong = LearnedPositionalEmbeddingConfig::new(0, 12);
    let gpt2 = file("checkpoints/gpt2/model.safetensors");
    let (_, error) = said(&wrong, &gpt2, "wpe.weight");
    assert!(matches!(error, CheckpointError::Config(_)), "{error}");
    assert_eq!(error.to_string(), "d_model must be at least 1; got 0");
}

#[test]
fn a_file_that_cannot_be_read_is_an_error() {
    let folder = tempfile::tempdir().unwrap();
    let device = Device::flex();
    let config = LearnedPositionalEmbeddingConfig::new(8, 12);
    let unreadable = |path: &Path| {
        let error = config
            .init_from_file(path, "wpe.weight", &device)
            .unwrap_err();
        assert!(matches!(error, CheckpointError::Read { .. }), "{error}");
        let message = error.to_string();
        assert!(message.starts_with(&format!("cannot read {}: ", path.display())));
        message
    };
    let path = folder.path().join("table");
    unreadable(&path);
    unreadable(folder.path());
    for text in [
        "",
        "short",
        "a text that is no checkpoint at all",
        "........{not json}",
    ] {
        fs::write(&path, text).unwrap();
        unreadable(&path);
    }
    // A length of the header beyond the file, and beyond any memory.
    for length in [1_000_u64, u64::MAX] {
        fs::write(&path, [&length.to_le_bytes()[..], b"{}"].concat()).unwrap();
        unreadable(&path);
    }
    // Cut off anywhere, a file is an error or, where only another tensor is missing, still right.
    for format in ["model.safetensors", "pytorch_model.bin"] {
        let whole = fs::read(file("checkpoints/gpt2").join(format)).unwrap();
        for part in 0..8 {
            fs::write(&path, &whole[..whole.len() * part / 8]).unwrap();
            unreadable(&path);
        }
    }
    // Integers.
    let header = br#"{"wpe.weight":{"dtype":"I32","shape":[12,8],"data_offsets":[0,384]}}"#;
    let length = (header.len() as u64).to_le_bytes();
    fs::write(&path, [&length[..], header, &[0; 384]].concat()).unwrap();
    assert_eq!(
        refusal(config.init_from_file(&path, "wpe.weight", &device)),
        "\"wpe.weight\" holds i32, but a table holds floats (f64, f32, f16 or bf16)"
    );
}

#[test]
fn saved_loaded_and_saved_again_it_is_the_same_bytes() {
    let folder = tempfile::tempdir().unwrap();
    for device in devices() {
        for padding_index in [None, Some(1)] {
            let config = LearnedPositionalEmbeddingConfig {
                padding_index,
                ..LearnedPositionalEmbeddingConfig::new(8, 12)
            };
            let pe = config.init(&device);
            let name = "model.decoder.embed_positions.weight";
            let path = |i| {
                folder
                    .path()
                    .join(format!("{i} {padding_index:?} {device:?}").replace('/', " "))
            };
            pe.save_to_file(path(1), name).unwrap();
            let again = config.init_from_file(path(1), name, &device).unwrap();
            again.save_to_file(path(2), name).unwrap();
            let bytes = fs::read(path(1)).unwrap();
            assert_eq!(bytes, fs::read(path(2)).unwrap());
            assert_eq!(values(pe.weight.val()), values(again.weight.val()));
            // What the loaders of PyTorch ask for.
            let header = String::from_utf8_lossy(&bytes[8..200]);
            assert!(
                header.starts_with(r#"{"__metadata__":{"format":"pt"},"#),
                "{header}"
            );
            assert!(
                header.contains(&format!(r#""{name}":{{"dtype":"F32","#)),
                "{header}"
            );

            // No file is overwritten.
            let error = pe.save_to_file(path(1), name).unwrap_err();
            assert!(matches!(error, CheckpointError::Write { .. }), "{error}");
            assert!(error.to_string().contains("exists"), "{error}");
            assert_eq!(bytes, fs::read(path(1)).unwrap());
        }
    }
    let pe = LearnedPositionalEmbeddingConfig::new(8, 12).init(&Device::flex());
    let nowhere = folder.path().join("no/such/folder");
    assert!(matches!(
        pe.save_to_file(nowhere, "weight"),
        Err(CheckpointError::Write { .. })
    ));
}

#[test]
fn a_table_is_resized_for_images_of_other_sizes() {
    let mut sizes = 0;
    for case in all() {
        let Case::Resized(case) = case else { continue };
        sizes += 1;
        let grid =
            |[height, width]: [usize; 2]| Grid::image(height, width).with_prefix(case.prefix);
        let (from, to) = (grid(case.from), grid(case.to));
        for device in devices() {
            let pe = table(&case.table, &device).resize(from, to).unwrap();
            assert_eq!(pe.config().max_len, to.tokens());
            let Resized { peer, from, to, .. } = &case;
            let about = format!("{device:?} {peer} {from:?} to {to:?}");
            assert_within(&rows(&pe), &case.resized.concat(), 1e-6, &about);
            let prefix = case.table[..case.prefix].concat();
            assert_eq!(rows(&pe)[..prefix.len()], prefix);
        }
    }
    assert_eq!(sizes, 18);
}

#[test]
fn grids_that_do_not_fit_the_table_are_refused() {
    let device = Device::flex();
    let pe = LearnedPositionalEmbeddingConfig::new(4, 7).init(&device);
    let image = |height, width, prefix| Grid::image(height, width).with_prefix(prefix);
    let video =
        "this encoding needs a grid of height × width, but got a grid of frames × height × width";
    refused! {
        |bad| pe.clone().resize(bad.0, bad.1);
        (image(2, 3, 0), image(4, 4, 0)) =>
            "from.tokens() must be 7, the number of positions of the table; got 6",
        (image(2, 3, 1), image(4, 4, 0)) => "to.prefix() must be from.prefix(), 1; got 0",
        (image(1, 7, 0), image(0, 4, 0)) =>
            "the number of patches of `to` must be at least 1; got 0",
        (Grid::video(1, 1, 7), image(4, 4, 0)) => video,
        (image(7, 1, 0), Grid::video(1, 2, 2)) => video,
        (image(0, 7, 7), image(2, 2, 7)) =>
            "the number of patches of `from` must be at least 1; got 0",
    }
    for side in [1 << 20, usize::MAX] {
        let (from, to) = (image(2, 3, 1), image(side, side, 1));
        let error = pe.clone().resize(from, to).unwrap_err();
        assert!(matches!(error, PositionError::TooLarge { .. }), "{error}");
    }
}

#[test]
fn a_table_is_cropped_and_extended() {
    let numbers = |p: usize| vec![p as f32, (p * p) as f32, -0.5];
    let trained: Vec<Vec<f32>> = (0..5).map(numbers).collect();
    for device in devices() {
        let pe = || table(&trained, &device);
        assert_eq!(rows(&pe().crop(2).unwrap()), trained[..2].concat());
        assert_eq!(rows(&pe().crop(5).unwrap()), trained.concat());

        let repeated = pe().extend(12, Extension::Repeat).unwrap();
        let expected: Vec<f32> = (0..12).flat_map(|p| trained[p % 5].clone()).collect();
        assert_eq!(rows(&repeated), expected);

        // From 5 rows to 9 there is one between each two; to 4 · 7 + 1, six.
        let stretched = rows(&pe().extend(9, Extension::Linear).unwrap());
        for p in 0..9 {
            let expected = match p % 2 {
                0 => trained[p / 2].clone(),
                _ => [0, 1, 2]
                    .map(|i| (trained[p / 2][i] + trained[p / 2 + 1][i]) / 2.0)
                    .to_vec(),
            };
            assert_eq!(stretched[3 * p..][..3], expected);
        }
        let stretched = rows(&pe().extend(29, Extension::Linear).unwrap());
        assert_eq!(stretched[..3], trained[0]);
        assert_eq!(stretched[28 * 3..], trained[4]);
        assert!((stretched[3 * 10] - 10.0 / 7.0).abs() < 1e-6);

        let longer = pe().extend(40, Extension::Sinusoidal).unwrap();
        assert_eq!(rows(&longer)[..15], trained.concat());
        let new = rows(&longer)[15..].to_vec();
        let sinusoid: Vec<f32> = Spectrum::new(3, 10_000.0).unwrap().rows(5..40).unwrap();
        let square = |rows: &[f32]| rows.iter().map(|x| x * x).sum::<f32>() / rows.len() as f32;
        let size = (square(&trained.concat()) / square(&sinusoid)).sqrt();
        for (new, sinusoid) in new.iter().zip(sinusoid) {
            assert!((new - size * sinusoid).abs() < 1e-5, "{new} {sinusoid}");
        }
        assert!((square(&new) / square(&trained.concat()) - 1.0).abs() < 1e-5);

        for extension in [Extension::Repeat, Extension::Linear, Extension::Sinusoidal] {
            assert_eq!(rows(&pe().extend(5, extension).unwrap()), trained.concat());
            let one = table(&trained[2..3], &device).extend(3, extension).unwrap();
            assert_eq!(rows(&one)[..3], trained[2]);
            let words = "max_len must be at least 5, the number of positions of the table, which must not be 0; got 4";
            assert_says(&refusal(pe().extend(4, extension)), words);
            for far in [1 << 40, usize::MAX] {
                assert!(pe().extend(far, extension).is_err());
            }
        }
        refused! {
            |len| pe().crop(len);
            6 => "max_len must be at most 5, the number of positions of the table; got 6",
            0 => "max_len must be at least 1; got 0",
        }
    }
}

/// Rows before position 0 are not positions. They stay where they are.
#[test]
fn the_padding_row_stays_in_front() {
    for device in devices() {
        let config = LearnedPositionalEmbeddingConfig::new(4, 6)
            .with_padding_index(1)
            .with_init(TableInit::Sinusoidal);
        let pe = config.init(&device);
        let (front, before) = (values(pe.weight.val())[..8].to_vec(), rows(&pe));
        for (changed, max_len) in [
            (pe.clone().crop(2).unwrap(), 2),
            (pe.clone().extend(9, Extension::Repeat).unwrap(), 9),
            (pe.clone().extend(9, Extension::Sinusoidal).unwrap(), 9),
            (
                pe.clone()
                    .resize(Grid::image(2, 3), Grid::image(4, 5))
                    .unwrap(),
                20,
            ),
        ] {
            assert_eq!(changed.weight.dims(), [max_len + 2, 4]);
            assert_eq!(changed.config().max_len, max_len);
            assert_eq!(values(changed.weight.val())[..8], front);
            assert!(changed.encode(&Positions::from(max_len), 1).is_err());
        }
        let longer = pe.extend(9, Extension::Sinusoidal).unwrap();
        assert_eq!(rows(&longer)[..24], before);
    }
}

#[test]
fn tables_of_every_type_are_fitted() {
    for device in devices() {
        for dtype in types(&device) {
            let mut pe = table(&[vec![1.0, 2.0], vec![3.0, 4.0]], &device);
            pe.weight = burn::module::Param::from_tensor(pe.weight.val().cast(dtype));
            let longer = pe.clone().extend(3, Extension::Linear).unwrap();
            assert_eq!(longer.weight.val().dtype(), DType::from(dtype));
            assert_eq!(values(longer.weight.val()), [1.0, 2.0, 2.0, 3.0, 3.0, 4.0]);
            let longer = pe.clone().extend(3, Extension::Repeat).unwrap();
            assert_eq!(values(longer.weight.val()), [1.0, 2.0, 3.0, 4.0, 1.0, 2.0]);
            // Squares of these are beyond f16, at either end.
            for number in [1_000.0, 1e-4] {
                let mut pe = table(&[vec![number, -number]], &device);
                pe.weight = burn::module::Param::from_tensor(pe.weight.val().cast(dtype));
                let longer = pe.extend(4, Extension::Sinusoidal).unwrap();
                assert_eq!(longer.weight.val().dtype(), DType::from(dtype));
                let rows = values(longer.weight.val());
                let new = rows[2..].iter().map(|x| x * x).sum::<f32>() / 6.0;
                assert!((new.sqrt() / number - 1.0).abs() < 0.02, "{rows:?}");
            }
            let larger = pe.resize(Grid::image(1, 2), Grid::image(1, 3)).unwrap();
            assert_eq!(larger.weight.val().dtype(), DType::from(dtype));
            assert!((values(larger.weight.val())[2] - 2.0).abs() < 0.02);
        }
    }
}
