//! None, sinusoidal and learned positions trained side by side: the smallest honest comparison.
//!
//! The task is to reverse a sequence, which no bag of tokens can do. `pe-lab compare` does this
//! with real data, seeds, lengths beyond training and intervals; here the whole of it is one file.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, Initializer, Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Int, Tensor};
use pe_burn::{
    Embed, LearnedPositionalEmbeddingConfig, PositionalConfig, PositionalScheme, Positions,
    SinusoidalPositionalEncodingConfig,
};

const SYMBOLS: usize = 8;
const D_MODEL: usize = 32;
const SEQ: usize = 8;
const STEPS: usize = 400;

#[derive(Module, Debug)]
struct Model {
    tokens: Embedding,
    positions: PositionalScheme,
    encoder: TransformerEncoder,
    output: Linear,
}

impl Model {
    fn new(scheme: &PositionalConfig, device: &Device) -> Self {
        Self {
            tokens: EmbeddingConfig::new(SYMBOLS, D_MODEL).init(device),
            positions: scheme.init(device),
            encoder: TransformerEncoderConfig::new(D_MODEL, 4 * D_MODEL, 4, 2)
                .with_dropout(0.0)
                .with_norm_first(true)
                .init(device),
            output: LinearConfig::new(D_MODEL, SYMBOLS).init(device),
        }
    }

    /// `[batch, seq]` symbols to `[batch · seq, symbols]` scores.
    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<2> {
        let x = self.tokens.forward(tokens);
        let x = self.positions.embed(x, &Positions::default());
        let x = self.encoder.forward(TransformerEncoderInput::new(x));
        self.output.forward(x).flatten(0, 1)
    }
}

/// Random sequences and their reversals, the latter as `[batch · seq]`.
fn batch(size: usize, device: &Device) -> (Tensor<2, Int>, Tensor<1, Int>) {
    let range = Distribution::Uniform(0.0, SYMBOLS as f64);
    let tokens = Tensor::<2>::random([size, SEQ], range, device).int();
    (tokens.clone(), tokens.flip([1]).flatten(0, 1))
}

fn main() {
    let device = Device::flex();
    let training = device.clone().autodiff();
    // The learned table starts as large as the token embeddings, which Burn starts at N(0, 1). Its
    // own default, N(0, 0.02), is too small beside them to have an effect.
    let table =
        LearnedPositionalEmbeddingConfig::new(D_MODEL, SEQ).with_init(Initializer::Normal {
            mean: 0.0,
            std: 1.0,
        });
    let schemes = [
        PositionalConfig::None {},
        PositionalConfig::Sinusoidal(SinusoidalPositionalEncodingConfig::new(D_MODEL)),
        PositionalConfig::Learned(table),
    ];
    println!("reversing {SEQ} of {SYMBOLS} symbols, {STEPS} steps\n");
    println!(
        "{:12} {:>10} {:>24}",
        "scheme", "accuracy", "parameters of positions"
    );
    for scheme in &schemes {
        device.seed(1);
        let mut model = Model::new(scheme, &training);
        let mut optimizer = AdamConfig::new().init();
        let loss = CrossEntropyLossConfig::new().init(&training);
        for _ in 0..STEPS {
            let (tokens, reversed) = batch(32, &training);
            let loss = loss.forward(model.forward(tokens), reversed);
            let gradients = GradientsParams::from_grads(loss.backward(), &model);
            model = optimizer.step(2e-3, model, gradients);
        }
        let (tokens, reversed) = batch(512, &device);
        let guesses = model.valid().forward(tokens).argmax(1).flatten(0, 1);
        let accuracy = guesses.equal(reversed).float().mean().into_scalar::<f32>();
        println!(
            "{:12} {accuracy:>10.3} {:>24}",
            scheme.name(),
            model.positions.num_params()
        );
    }
    println!("\nwithout positions the best guess is the commonest symbol of the sequence");
}
