//! The decoders of `decoder.rs` and `gpt_decoder.rs` against transformers: the logits of small models that it saved, and the tokens
//! that greedy decoding adds (`tests/peers/decoders`, written by `tests/peers/decoders.py`).

#[allow(dead_code)] // its `main`
#[path = "../decoder.rs"]
mod decoder;
mod expected;
#[allow(dead_code)]
#[path = "../gpt_decoder.rs"]
mod gpt_decoder;

use burn::tensor::{Device, Int, Tensor, TensorData};
use pe_burn::Positions;
use pe_examples::Decode;
use serde::Deserialize;

const NAMES: [&str; 11] = [
    "bloom",
    "gemma2",
    "gemma3_text",
    "gpt_neox",
    "gptj",
    "llama",
    "mistral",
    "phi3",
    "qwen2",
    "qwen3",
    "smollm3",
];

/// The logits of tokens without padding, from position 0 on.
fn logits(decoder: &dyn Decode, tokens: &[i64]) -> Vec<Vec<f32>> {
    let device = Device::flex();
    let shape = [1, tokens.len()];
    let ids = Tensor::<2, Int>::from_data(TensorData::new(tokens.to_vec(), shape), &device);
    let real = Tensor::<2, Int>::ones(shape, &device).bool();
    let logits = decoder.forward(ids, &real, &Positions::default(), &mut decoder.caches());
    let width = logits.dims()[2];
    let logits: Vec<f32> = logits.into_data().iter::<f32>().collect();
    logits.chunks(width).map(<[f32]>::to_vec).collect()
}

#[derive(Deserialize)]
struct Expected {
    prompts: Vec<Prompt>,
}

#[derive(Deserialize)]
struct Prompt {
    tokens: Vec<i64>,
    /// Of the last tokens of the prompt.
    logits: Vec<Vec<f32>>,
    generated: Vec<i64>,
}

fn read(name: &str) -> (Box<dyn Decode>, Vec<Prompt>) {
    let (folder, Expected { prompts }) = expected::read(&format!("decoders/{name}"));
    let device = Device::flex();
    let decoder: Box<dyn Decode> = match name {
        "bloom" | "gpt_neox" | "gptj" => {
            Box::new(gpt_decoder::Decoder::read(&folder, &device).unwrap())
        }
        _ => Box::new(decoder::Decoder::read(&folder, &device).unwrap()),
    };
    (decoder, prompts)
}

#[test]
fn logits_are_those_of_transformers() {
    for name in NAMES {
        let (decoder, prompts) = read(name);
        for prompt in prompts {
            let logits = logits(&*decoder, &prompt.tokens);
            let last = &logits[logits.len() - prompt.logits.len()..];
            for (ours, theirs) in last.iter().zip(&prompt.logits) {
                expected::assert_near(ours, theirs, name);
            }
        }
    }
}

/// With a cache, alone and in a batch in which the shorter prompt is padded on the left.
#[test]
fn greedy_decoding_adds_the_tokens_of_transformers() {
    for name in NAMES {
        let (decoder, prompts) = read(name);
        let tokens: Vec<Vec<i64>> = prompts.iter().map(|prompt| prompt.tokens.clone()).collect();
        let count = prompts[0].generated.len();
        assert_eq!(count, 32);
        let device = Device::flex();
        let together = decoder.generate(&tokens, count, &device);
        for (prompt, together) in prompts.iter().zip(together) {
            let alone = decoder.generate(std::slice::from_ref(&prompt.tokens), count, &device);
            assert_eq!(alone[0], prompt.generated, "{name}, alone");
            assert_eq!(together, prompt.generated, "{name}, in a batch");
        }
    }
}

/// Without a cache: the whole sequence again for each token.
#[test]
fn a_cache_changes_nothing() {
    for name in NAMES {
        let (decoder, prompts) = read(name);
        let mut tokens = prompts[1].tokens.clone();
        for expected in &prompts[1].generated {
            let logits = logits(&*decoder, &tokens);
            let last = logits.last().unwrap();
            let likeliest = (0..last.len())
                .max_by(|a, b| last[*a].total_cmp(&last[*b]))
                .unwrap();
            let count = tokens.len();
            assert_eq!(likeliest as i64, *expected, "{name}, token {count}");
            tokens.push(likeliest as i64);
        }
    }
}
