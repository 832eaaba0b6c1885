//! The positions of a GPT-2 checkpoint in a Burn model.
//!
//! ```sh
//! cargo run --release -p pe-examples --example gpt2_positions -- gpt2/model.safetensors wpe.weight 768 1024
//! ```
//!
//! Without arguments it reads a tiny GPT-2 that was saved by Hugging Face's transformers and is part of
//! this repository (run it from the root).

use std::error::Error;

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig};
use burn::tensor::{Device, Int, Tensor};
use pe_burn::embedding::Extension;
use pe_burn::{Embed, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig, Positions};

/// The input of GPT-2: a row for the token, a row for its position.
#[derive(Module, Debug)]
struct Input {
    wte: Embedding,
    wpe: LearnedPositionalEmbedding,
}

impl Input {
    /// `[batch, seq]` → `[batch, seq, d_model]`
    fn forward(&self, tokens: Tensor<2, Int>, positions: &Positions) -> Tensor<3> {
        self.wpe.embed(self.wte.forward(tokens), positions)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let tiny = "tests/peers/checkpoints/gpt2/model.safetensors";
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let (path, name, d_model, max_len) = match &arguments[..] {
        [] => (tiny, "wpe.weight", 8, 12),
        [path, name, d_model, max_len] => (&**path, &**name, d_model.parse()?, max_len.parse()?),
        _ => return Err("give a file, a name, d_model and max_len, or nothing".into()),
    };

    let device = Device::flex();
    let wpe = LearnedPositionalEmbeddingConfig::new(d_model, max_len)
        .init_from_file(path, name, &device)?;
    println!("{wpe}");
    let input = Input {
        wte: EmbeddingConfig::new(100, d_model).init(&device),
        wpe,
    };

    let prompt = Tensor::<2, Int>::from_ints([[3, 14, 15, 92, 65]], &device);
    let x = input.forward(prompt, &Positions::default());
    println!("a prompt of 5 tokens: {:?}", x.dims());
    let next = Tensor::<2, Int>::from_ints([[35]], &device);
    let y = input.forward(next, &Positions::from(5));
    println!("the next token, at position 5: {:?}", y.dims());

    // A name that the file does not have.
    let wrong = LearnedPositionalEmbeddingConfig::new(d_model, max_len);
    let error = wrong.init_from_file(path, "wpe", &device).unwrap_err();
    println!("\na wrong name: {error}");

    // Twice as long, for further training: the trained rows, then a sinusoid scaled to their size.
    let longer = input
        .wpe
        .clone()
        .extend(2 * max_len, Extension::Sinusoidal)?;
    let rows = |pe: &LearnedPositionalEmbedding| pe.encode(&Positions::default(), max_len);
    let moved = (rows(&longer)? - rows(&input.wpe)?).abs().max();
    println!(
        "\n{} positions in place of {max_len}; the first {max_len} moved by {}",
        longer.config().max_len,
        moved.into_scalar::<f32>()
    );
    Ok(())
}
