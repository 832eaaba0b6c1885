//! A model trained in Burn, loaded in PyTorch by the names that its users expect.
//!
//! ```sh
//! cargo run --release -p pe-examples --example to_pytorch -- trained
//! python examples/to_pytorch.py trained
//! ```
//!
//! The first writes `trained/model.safetensors`, and the model's logits for one sentence; the second
//! loads it into `nn.Embedding`s and an `nn.Linear`, strictly, and compares. Without a folder the
//! files go to a temporary one.

use std::error::Error;
use std::fs;
use std::path::PathBuf;

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Int, Tensor};
use burn_store::{BurnToPyTorchAdapter, ModuleSnapshot, SafetensorsStore};
use pe_burn::{LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig};

const WORDS: [i32; 6] = [4, 8, 15, 16, 23, 42];

/// Says the word two places before; the field names are the names in the file.
#[derive(Module, Debug)]
struct Model {
    tokens: Embedding,
    positions: LearnedPositionalEmbedding,
    out: Linear,
}

impl Model {
    /// `[batch, seq]` → `[batch, seq, 50]`
    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let x = self.positions.forward(self.tokens.forward(tokens));
        self.out.forward(x)
    }
}

fn main() -> Result<(), Box<dyn Error>> {
    let temporary = tempfile::tempdir()?;
    let folder = match std::env::args().nth(1) {
        Some(folder) => PathBuf::from(folder),
        None => temporary.path().to_path_buf(),
    };
    fs::create_dir_all(&folder)?;

    let device = Device::flex().autodiff();
    device.seed(1);
    let mut model = Model {
        tokens: EmbeddingConfig::new(50, 16).init(&device),
        positions: LearnedPositionalEmbeddingConfig::new(16, 12).init(&device),
        out: LinearConfig::new(16, 50).init(&device),
    };
    let sentence = || Tensor::<2, Int>::from_ints([WORDS], &device);
    let targets = Tensor::<1, Int>::from_ints([42, 23, 4, 8, 15, 16], &device);
    let loss = CrossEntropyLossConfig::new().init(&device);
    let mut optimizer = AdamConfig::new().init();
    for step in 0..40 {
        let logits = model.forward(sentence()).reshape([6, 50]);
        let loss = loss.forward(logits, targets.clone());
        if step % 39 == 0 {
            println!(
                "step {step:>2}: loss {:.3}",
                loss.clone().into_scalar::<f32>()
            );
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(0.05, model, gradients);
    }

    // Linear weights are [in, out] in Burn and [out, in] in PyTorch; the adapter knows.
    let mut file = SafetensorsStore::from_file(folder.join("model.safetensors"))
        .with_to_adapter(BurnToPyTorchAdapter)
        .clear_metadata()
        .metadata("format", "pt")
        .overwrite(true);
    model.save_into(&mut file)?;

    let logits: Vec<f32> = model.forward(sentence()).into_data().iter().collect();
    let lines: Vec<String> = logits.chunks(50).map(|row| format!("{row:?}")).collect();
    fs::write(
        folder.join("logits.json"),
        format!(
            "{{\"tokens\": {WORDS:?}, \"logits\": [{}]}}\n",
            lines.join(",\n")
        ),
    )?;
    println!("wrote {}", folder.join("model.safetensors").display());
    Ok(())
}
