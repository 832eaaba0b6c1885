//! The vision transformer of `dinov3.rs` against transformers: the states of small models that it saved
//! (`tests/peers/encoders`, written by `tests/peers/encoders.py`), for pictures of other sizes than in training.

#[allow(dead_code)] // its `main`
#[path = "../dinov3.rs"]
mod dinov3;
mod expected;

use burn::tensor::{Device, Tensor, TensorData};
use dinov3::DinoV3;
use expected::assert_near;
use serde::Deserialize;

#[derive(Deserialize)]
struct Expected {
    inputs: Vec<Input>,
}

#[derive(Deserialize)]
struct Input {
    height: usize,
    width: usize,
    pixels: Vec<f32>,
    states: Vec<Vec<f32>>,
}

#[test]
fn states_are_those_of_transformers() {
    let device = Device::flex();
    for name in ["dinov3", "dinov3-gated"] {
        let (folder, Expected { inputs }) = expected::read(&format!("encoders/{name}"));
        let model = DinoV3::read(&folder, &device).unwrap();
        assert_eq!(inputs.len(), 2);
        for input in inputs {
            let shape = [1, 3, input.height, input.width];
            let pixels = Tensor::from_data(TensorData::new(input.pixels, shape), &device);
            let states = model.forward(pixels).unwrap();
            let ours: Vec<f32> = states.into_data().iter::<f32>().collect();
            let about = format!("{name}, {shape:?}");
            assert_near(&ours, &input.states.concat(), &about);
        }
    }
}
