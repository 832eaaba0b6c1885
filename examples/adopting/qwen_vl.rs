//! A layer of Qwen3-VL: the pairs of a head are turned by the time, the height or the width of a token in turn.

use burn::tensor::{Device, Tensor};
use pe_burn::coordinates::Part;
use pe_burn::{Grid, Positions, Rotate};
use pe_examples::Result;
use pe_models::HfConfig;

use super::{angles, apart, frequencies, random, turned};

const CONFIG: &str = r#"{"model_type": "qwen3_vl_text", "num_hidden_layers": 36, "hidden_size": 4096,
    "num_attention_heads": 32, "num_key_value_heads": 8, "head_dim": 128, "rope_parameters":
        {"rope_type": "default", "rope_theta": 5000000.0, "mrope_interleaved": true, "mrope_section": [24, 20, 20]}}"#;

pub fn difference(device: &Device) -> Result<f32> {
    // An image of 4 × 6 merged patches among text, and text that is padded on the left.
    let parts = [
        vec![Part::Text(3), Part::Image(Grid::image(4, 6)), Part::Text(2)],
        vec![Part::Padding(4), Part::Text(25)],
    ];
    let (positions, next) = Positions::from_parts(&parts)?;
    let rope = HfConfig::from_json(CONFIG)?.rotary()?.try_init(device)?;

    let x = random([2, 4, 29, 128], device);
    let prompt = rope.try_rotate_queries(x.clone(), &positions)?;
    let mut largest = apart(prompt, by_hand(x, [with_image(), padded()], device));

    // The next token of each row.
    let x = random([2, 4, 1, 128], device);
    let step = rope.try_rotate_queries(x.clone(), &Positions::from_starts(next))?;
    largest = largest.max(apart(
        step,
        by_hand(x, [vec![[11; 3]], vec![[25; 3]]], device),
    ));
    Ok(largest)
}

/// The time, height and width of the tokens. The text after the image begins one past the largest number in it.
fn with_image() -> Vec<[usize; 3]> {
    let image = (0..24).map(|patch| [3, 3 + patch / 6, 3 + patch % 6]);
    let text = [9, 10].map(|at| [at; 3]);
    let before = [0, 1, 2].map(|at| [at; 3]);
    before.into_iter().chain(image).chain(text).collect()
}

/// Padding is not turned.
fn padded() -> Vec<[usize; 3]> {
    let padding = [[0; 3]; 4];
    padding
        .into_iter()
        .chain((0..25).map(|at| [at; 3]))
        .collect()
}

/// Of every three pairs the second is for the height and the third for the width, as far as these have pairs.
fn by_hand(x: Tensor<4>, rows: [Vec<[usize; 3]>; 2], device: &Device) -> Tensor<4> {
    let speed = frequencies(5e6, 128);
    let rows = rows.map(|tokens| {
        let axis = |pair: usize| if pair < 60 { pair % 3 } else { 0 };
        let angle = |token: usize, pair: usize| tokens[token][axis(pair)] as f64 * speed[pair];
        angles(tokens.len(), 64, angle, device)
    });
    turned(x, Tensor::cat(rows.into(), 0))
}
