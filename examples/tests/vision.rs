//! The vision transformer of `dinov3.rs` against transformers: the states of small models that it saved
//! (`tests/peers/encoders`, written by `tests/peers/encoders.py`), for pictures of other sizes than in training.

#[allow(dead_code)] // its `main`
#[path = "../dinov3.rs"]
mod dinov3;

use std::path::Path;

use burn::tensor::{Device, Tensor, TensorData};
use dinov3::DinoV3;
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
        let folder = Path::new(env!("CARGO_MANIFEST_DIR"))
            .join("../tests/peers/encoders")
            .join(name);
        let model = DinoV3::read(&folder, &device).unwrap();
        let text = std::fs::read_to_string(folder.join("expected.json")).unwrap();
        let Expected { inputs } = serde_json::from_str(&text).unwrap();
        assert_eq!(inputs.len(), 2);
        for input in inputs {
            let shape = [1, 3, input.height, input.width];
            let pixels = Tensor::from_data(TensorData::new(input.pixels, shape), &device);
            let states = model.forward(pixels).unwrap();
            let ours: Vec<f32> = states.into_data().iter::<f32>().collect();
            let theirs = input.states.concat();
            assert_eq!(ours.len(), theirs.len());
            let largest = theirs.iter().fold(0.0_f32, |most, x| most.max(x.abs()));
            for (ours, theirs) in ours.iter().zip(theirs) {
                let off = (ours - theirs).abs() / largest;
                assert!(off <= 1e-4, "{name}, {shape:?}: {ours} for {theirs}");
            }
        }
    }
}
