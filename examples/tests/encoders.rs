//! The encoder of `hf_encoder.rs` against transformers: the states of small models that it saved
//! (`tests/peers/encoders`, written by `tests/peers/encoders.py`).

#[allow(dead_code)] // its `main`
#[path = "../hf_encoder.rs"]
mod hf_encoder;

use std::path::Path;

use burn::tensor::{Device, Int, Tensor, TensorData};
use hf_encoder::Encoder;
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
        let (before, after) = if pad_left { (padding, 0) } else { (0, padding) };
        ids.extend([vec![0; before], tokens.clone(), vec![0; after]].concat());
        real.extend(
            [
                vec![false; before],
                vec![true; tokens.len()],
                vec![false; after],
            ]
            .concat(),
        );
    }
    let shape = [inputs.len(), longest];
    let tokens = Tensor::<2, Int>::from_data(TensorData::new(ids, shape), &device);
    let real = Tensor::<2, burn::tensor::Bool>::from_data(TensorData::new(real, shape), &device);
    let states = encoder.forward(tokens, &real);
    let width = states.dims()[2];
    let states: Vec<f32> = states.into_data().iter::<f32>().collect();
    let rows = states
        .chunks(longest * width)
        .zip(inputs)
        .map(|(rows, input)| {
            let start = if pad_left {
                longest - input.tokens.len()
            } else {
                0
            };
            let rows = rows.chunks(width).skip(start).take(input.tokens.len());
            rows.map(<[f32]>::to_vec).collect()
        });
    rows.collect()
}

#[test]
fn states_are_those_of_transformers() {
    for name in ["bert", "deberta-v2", "modernbert", "roberta", "t5"] {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/peers/encoders")
            .join(name);
        let encoder = Encoder::read(&folder, &Device::flex()).unwrap();
        let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let Expected { inputs } = serde_json::from_str(&text).unwrap();
        assert_eq!(inputs.len(), 2);
        let check = |states: Vec<Vec<Vec<f32>>>, inputs: &[Input], what: &str| {
            for (rows, input) in states.iter().zip(inputs) {
                let theirs = input.states.concat();
                let largest = theirs.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
                assert_eq!(rows.concat().len(), theirs.len());
                for (ours, theirs) in rows.concat().iter().zip(theirs) {
                    let off = (ours - theirs).abs() / largest;
                    assert!(off <= 1e-4, "{name}, {what}: {ours} for {theirs}");
                }
            }
        };
        for input in inputs.chunks(1) {
            check(states(&encoder, input, false), input, "alone");
        }
        check(
            states(&encoder, &inputs, true),
            &inputs,
            "padded on the left",
        );
        check(
            states(&encoder, &inputs, false),
            &inputs,
            "padded on the right",
        );
    }
}
