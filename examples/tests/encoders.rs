//! The encoder of `hf_encoder.rs` against transformers: the states of small models that it saved
//! (`tests/peers/encoders`, written by `tests/peers/encoders.py`).

mod expected;
#[allow(dead_code)] // its `main`
#[path = "../hf_encoder.rs"]
mod hf_encoder;

use std::fs;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use expected::assert_near;
use hf_encoder::Encoder;
use safetensors::tensor::TensorView;
use safetensors::{Dtype, SafeTensors};
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    tokens: Vec<i64>,
    states: Vec<Vec<f32>>,
}

/// The states of inputs that are padded on one side, without those of the padding.
fn states(encoder: &Encoder, inputs: &[Input], pad_left: bool) -> Vec<Vec<Vec<f32>>> {
    let device = Device::flex();
    let longest = inputs.iter().map(|input| input.tokens.len()).max().unwrap();
    let (mut ids, mut real) = (Vec::new(), Vec::new());
    for Input { tokens, .. } in inputs {
        let padding = longest - tokens.len();
        let before = if pad_left { padding } else { 0 };
        let own = before..before + tokens.len();
        for place in 0..longest {
            let is_real = own.contains(&place);
            ids.push(if is_real { tokens[place - before] } else { 0 });
            real.push(is_real);
        }
    }
    let shape = [inputs.len(), longest];
    let tokens = Tensor::<2, Int>::from_data(TensorData::new(ids, shape), &device);
    let real = Tensor::<2, Bool>::from_data(TensorData::new(real, shape), &device);
    let states = encoder.forward(tokens, &real);
    let width = states.dims()[2];
    let states: Vec<f32> = states.into_data().iter::<f32>().collect();
    let rows = states
        .chunks(longest * width)
        .zip(inputs)
        .map(|(rows, input)| {
            let padding = longest - input.tokens.len();
            let start = if pad_left { padding } else { 0 };
            let rows = rows.chunks(width).skip(start).take(input.tokens.len());
            rows.map(<[f32]>::to_vec).collect()
        });
    rows.collect()
}

#[test]
fn states_are_those_of_transformers() {
    for name in ["bert", "deberta-v2", "modernbert", "roberta", "t5"] {
        let (folder, Expected { inputs }) = expected::read(&format!("encoders/{name}"));
        let encoder = Encoder::read(&folder, &Device::flex()).unwrap();
        assert_eq!(inputs.len(), 2);
        let check = |inputs: &[Input], pad_left: bool, what: &str| {
            let states = states(&encoder, inputs, pad_left);
            for (ours, input) in states.iter().zip(inputs) {
                let about = format!("{name}, {what}");
                assert_near(&ours.concat(), &input.states.concat(), &about);
            }
        };
        for input in inputs.chunks(1) {
            check(input, false, "alone");
        }
        check(&inputs, true, "padded on the left");
        check(&inputs, false, "padded on the right");
    }
}

/// A published file of BERT: the whole model, the old names of its norms, and a tensor of ids.
#[test]
fn a_file_of_a_whole_model_is_read_too() {
    let (folder, Expected { inputs }) = expected::read("encoders/bert");
    let file = fs::read(folder.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let renamed = tensors.tensors().into_iter().map(|(name, view)| {
        let name = name.replace("LayerNorm.weight", "LayerNorm.gamma");
        let name = name.replace("LayerNorm.bias", "LayerNorm.beta");
        (format!("bert.{name}"), view)
    });
    let bytes = 7_i64.to_le_bytes();
    let ids = TensorView::new(Dtype::I64, vec![1], &bytes).unwrap();
    let ids = [("bert.embeddings.position_ids".to_string(), ids)];
    let all: Vec<_> = renamed.chain(ids).collect();
    let config = fs::read_to_string(folder.join("config.json")).unwrap();

    let whole = tempfile::tempdir().unwrap();
    let write = |config: &str, names: &dyn Fn(&str) -> bool| {
        let tensors = all.iter().filter(|(name, _)| names(name));
        let tensors = tensors.map(|(name, view)| (name, view));
        let bytes = safetensors::serialize(tensors, None).unwrap();
        fs::write(whole.path().join("model.safetensors"), bytes).unwrap();
        fs::write(whole.path().join("config.json"), config).unwrap();
        Encoder::read(whole.path(), &Device::flex())
    };
    let encoder = write(&config, &|_| true).unwrap();
    let states = states(&encoder, &inputs, false);
    for (ours, input) in states.iter().zip(&inputs) {
        assert_near(&ours.concat(), &input.states.concat(), "bert, renamed");
    }

    // What this example does not compute, or lacks the weights for, is an error that names it.
    let refused = |config: &str, without: &str, why: &str| {
        let error = write(config, &|name| !name.contains(without))
            .err()
            .unwrap();
        assert!(error.to_string().contains(why), "{error}");
    };
    let nothing = "no such name";
    let other = config.replace(r#""hidden_act": "gelu""#, r#""hidden_act": "relu""#);
    refused(&other, nothing, "hidden_act is relu");
    let other = config.replacen('{', r#"{"position_embedding_type": "relative_key","#, 1);
    refused(&other, nothing, "position_embedding_type is relative_key");
    for (without, why) in [
        (
            "embeddings.LayerNorm",
            "no weight embeddings.LayerNorm.weight",
        ),
        (
            "position_embeddings",
            "no weight embeddings.position_embeddings.weight",
        ),
        (
            "0.output.LayerNorm.beta",
            "no weight encoder.layer.0.output.LayerNorm.bias",
        ),
    ] {
        refused(&config, without, why);
    }
}
