//! The encoder of `hf_encoder.rs` against transformers: the states of small models that it saved
//! (`tests/peers/encoders`, written by `tests/peers/encoders.py`).

mod expected;
#[allow(dead_code)] // its `main`
#[path = "../hf_encoder.rs"]
mod hf_encoder;

use burn::tensor::{Bool, Device, Int, Tensor, TensorData};
use expected::assert_near;
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
