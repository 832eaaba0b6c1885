//! The decoders of `decoder.rs` and `gpt_decoder.rs` against transformers: the logits of small models that it saved, and the tokens
//! that greedy decoding adds (`tests/peers/decoders`, written by `tests/peers/decoders.py`).

#[allow(dead_code)] // its `main`
#[path = "../decoder.rs"]
mod decoder;
mod expected;
#[allow(dead_code)]
#[path = "../gpt_decoder.rs"]
mod gpt_decoder;

use std::fs;

use burn::tensor::{Device, Int, Tensor, TensorData};
use pe_burn::Positions;
use pe_examples::Decode;
use safetensors::SafeTensors;
use serde::Deserialize;
use tempfile::TempDir;

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

/// A folder with the files of a small model, changed: each tensor has as many names as it is given.
fn changed(
    name: &str,
    config: impl Fn(&str) -> String,
    names: impl Fn(&str) -> Vec<String>,
) -> TempDir {
    let (folder, _) = expected::read::<Expected>(&format!("decoders/{name}"));
    let file = fs::read(folder.join("model.safetensors")).unwrap();
    let tensors = SafeTensors::deserialize(&file).unwrap();
    let all = tensors.tensors();
    let named = |(name, view)| names(name).into_iter().map(move |name| (name, view));
    let all = all
        .iter()
        .map(|(name, view)| (&name[..], view))
        .flat_map(named);
    let to = tempfile::tempdir().unwrap();
    let bytes = safetensors::serialize(all, None).unwrap();
    fs::write(to.path().join("model.safetensors"), bytes).unwrap();
    let text = fs::read_to_string(folder.join("config.json")).unwrap();
    fs::write(to.path().join("config.json"), config(&text)).unwrap();
    to
}

/// BLOOM's published files have names without `transformer.`, and its embeddings are its head.
#[test]
fn a_bloom_whose_head_is_its_embedding_is_read() {
    let untied = r#""tie_word_embeddings": false"#;
    let tied = |config: &str| config.replace(untied, r#""tie_word_embeddings": true"#);
    let tied = changed("bloom", tied, |name| match name {
        "lm_head.weight" => vec![],
        name => vec![name.trim_start_matches("transformer.").to_string()],
    });
    let twice = changed("bloom", str::to_string, |name| match name {
        "lm_head.weight" => vec![],
        "transformer.word_embeddings.weight" => vec![name.into(), "lm_head.weight".into()],
        name => vec![name.to_string()],
    });
    let none = changed("bloom", str::to_string, |name| match name {
        "lm_head.weight" => vec![],
        name => vec![name.to_string()],
    });
    let device = Device::flex();
    let of = |folder: &TempDir| {
        let decoder = gpt_decoder::Decoder::read(folder.path(), &device)?;
        pe_examples::Result::Ok(logits(&decoder, &[3, 1, 4]))
    };
    assert_eq!(of(&tied).unwrap(), of(&twice).unwrap());
    let error = of(&none).unwrap_err().to_string();
    assert_eq!(error, "there is no weight lm_head.weight");
}

/// Other architectures have Llama's names for their weights.
#[test]
fn a_model_type_that_is_not_read_is_refused() {
    let granite =
        |config: &str| config.replace(r#""model_type": "llama""#, r#""model_type": "granite""#);
    let granite = changed("llama", granite, |name| vec![name.to_string()]);
    let error = decoder::Decoder::read(granite.path(), &Device::flex()).err();
    let error = error.unwrap().to_string();
    assert!(error.starts_with("model_type is granite"), "{error}");
}
