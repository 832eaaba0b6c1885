//! A Llama-like layer: queries and keys are rotated, with a cache.

use std::f64::consts::TAU;

use burn::nn::RotaryEncodingConfig;
use burn::tensor::{Device, Tensor};
use pe_burn::{Layout, Positions, RotaryPositionalEncodingConfig, Rotate};
use pe_examples::Result;
use pe_models::HfConfig;

use super::{angles, apart, frequencies, random, turned};

const CONFIG: &str = r#"{"model_type": "llama", "num_hidden_layers": 16, "hidden_size": 2048,
    "num_attention_heads": 32, "head_dim": 64, "max_position_embeddings": 131072,
    "rope_parameters": {"rope_type": "llama3", "rope_theta": 500000.0, "factor": 8.0, "low_freq_factor": 1.0,
        "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}}"#;

/// By Burn's module, with Llama 3's scaling as a function of the frequencies.
pub fn difference(device: &Device) -> Result<f32> {
    let by_hand = RotaryEncodingConfig::new(512, 64)
        .with_theta(500_000.0)
        .init_with_frequency_scaling(scaled, device);

    // Meta's weights are for neighbouring columns, as Burn's module is; those of Hugging Face are for halves.
    let rotary = HfConfig::from_json(CONFIG)?.rotary()?;
    let rope = rotary.with_layout(Layout::Interleaved).try_init(device)?;

    let mut largest = 0.0_f32;
    // A prompt, and a token after it.
    for (cached, tokens) in [(0, 100), (100, 1)] {
        let (q, k) = (
            random([2, 8, tokens, 64], device),
            random([2, 2, tokens, 64], device),
        );
        let expected = [q.clone(), k.clone()].map(|x| by_hand.apply(x, cached));
        let (q, k) = rope.rotate(q, k, &Positions::from(cached));
        for (ours, theirs) in [q, k].into_iter().zip(expected) {
            largest = largest.max(apart(ours, theirs));
        }
    }
    Ok(largest)
}

/// Frequencies of less than one turn in 8,192 tokens are divided by 8, those of more than 4 stay.
fn scaled(frequencies: Tensor<1>) -> Tensor<1> {
    let turns = frequencies.clone() * (8192.0 / TAU);
    let fast = ((turns - 1.0) / 3.0).clamp(0.0, 1.0);
    frequencies.clone() * fast.clone() + frequencies / 8.0 * (-fast + 1.0)
}

/// A rotation by the opposite angle, with the heads after the tokens: `[batch, seq, heads, d_head]`.
pub fn opposite(device: &Device) -> Result<f32> {
    let (x, start) = (random([2, 40, 4, 64], device), 60);
    let speed = frequencies(10_000.0, 64);
    let angle = |token, pair| -((start + token) as f64) * speed[pair];
    let by_hand = turned(x.clone().swap_dims(1, 2), angles(40, 32, angle, device)).swap_dims(1, 2);

    let rope = RotaryPositionalEncodingConfig::new(64)
        .with_layout(Layout::Halves)
        .with_opposite(true)
        .try_init(device)?;
    let (ours, _) = rope.try_rotate_bshd(x.clone(), x, &Positions::from(start))?;
    Ok(apart(ours, by_hand))
}
