//! A tiny causal decoder with any positional scheme, chosen by name: `encoder [scheme]`, by default
//! `rotary`.
//!
//! It learns to repeat: a sequence is 4 random digits again and again, and the model predicts the
//! next token. For that it has to look back exactly 3 tokens, which scheme `none` hardly learns. Then
//! it continues a sequence token by token, with a cache, far beyond the length that it was trained on.

use burn::module::Module;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::optim::{AdamConfig, GradientsParams};
use burn::tensor::{Device, Distribution, Int, Tensor};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions};
use pe_encoder::{Cache, Encoder, EncoderConfig};

const DIGITS: usize = 10;
const PERIOD: usize = 4;
const SEQ: usize = 16;
const LONGER: usize = 32;
const D_MODEL: usize = 32;
const HEADS: usize = 4;

#[derive(Module, Debug)]
struct Decoder {
    tokens: Embedding,
    scheme: PositionalScheme,
    encoder: Encoder,
    output: Linear,
}

impl Decoder {
    fn new(scheme: &PositionalConfig, device: &Device) -> Self {
        let encoder = EncoderConfig::new(D_MODEL, 4 * D_MODEL, HEADS, 2).with_causal(true);
        Self {
            tokens: EmbeddingConfig::new(DIGITS, D_MODEL).init(device),
            scheme: scheme.init(device),
            encoder: encoder.init(device),
            output: LinearConfig::new(D_MODEL, DIGITS).init(device),
        }
    }

    /// Whole sequences, for training: `[batch, seq]` tokens to `[batch, seq, digits]` scores.
    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let positions = Positions::default();
        let x = self.scheme.embed(self.tokens.forward(tokens), &positions);
        let x = self.encoder.forward(x, None, &self.scheme, &positions);
        self.output.forward(x)
    }

    /// The next tokens of sequences whose tokens so far are in `caches`.
    fn decode(&self, tokens: Tensor<2, Int>, caches: &mut [Cache]) -> Tensor<3> {
        let positions = Positions::from(caches[0].tokens());
        let x = self.scheme.embed(self.tokens.forward(tokens), &positions);
        let x = self.encoder.forward_cached(x, &self.scheme, caches);
        self.output.forward(x)
    }
}

/// `[batch, seq]`: in each row 4 random digits again and again.
fn repeating(batch: usize, seq: usize, device: &Device) -> Tensor<2, Int> {
    let range = Distribution::Uniform(0.0, DIGITS as f64);
    let digits = Tensor::<2>::random([batch, PERIOD], range, device).int();
    digits.repeat_dim(1, seq / PERIOD)
}

fn main() {
    let name = std::env::args().nth(1).unwrap_or("rotary".to_string());
    let config = PositionalConfig::by_name(&name, D_MODEL, HEADS, LONGER)
        .unwrap_or_else(|error| panic!("{error}"));
    let device = Device::flex();
    let training = device.clone().autodiff();
    device.seed(1);

    let mut model = Decoder::new(&config, &training);
    let mut optimizer = AdamConfig::new().init();
    let loss = CrossEntropyLossConfig::new().init(&training);
    for step in 0..=300 {
        let tokens = repeating(32, SEQ + PERIOD, &training);
        let inputs = tokens.clone().narrow(1, 0, SEQ);
        let next = tokens.narrow(1, 1, SEQ).flatten(0, 1);
        let loss = loss.forward(model.forward(inputs).flatten(0, 1), next);
        if step % 100 == 0 {
            println!(
                "{name}, step {step}: loss {:.3}",
                loss.clone().into_scalar::<f32>()
            );
        }
        let gradients = GradientsParams::from_grads(loss.backward(), &model);
        model = optimizer.step(3e-3, model, gradients);
    }

    // A prompt of two periods, then one token at a time.
    let model = model.valid();
    let expected = repeating(64, LONGER, &device);
    let mut caches = model.encoder.caches();
    let prompt = expected.clone().narrow(1, 0, 2 * PERIOD);
    let last = 2 * PERIOD - 1;
    let mut token = model
        .decode(prompt, &mut caches)
        .argmax(2)
        .narrow(1, last, 1);
    let mut right = Vec::new();
    for position in 2 * PERIOD..LONGER {
        let token_ids = token.reshape([64, 1]);
        let same = token_ids
            .clone()
            .equal(expected.clone().narrow(1, position, 1));
        right.push(same.float().mean().into_scalar::<f32>());
        token = model.decode(token_ids, &mut caches).argmax(2);
    }
    let share = |right: &[f32]| right.iter().sum::<f32>() / right.len() as f32;
    let (inside, beyond) = right.split_at(SEQ - 2 * PERIOD);
    println!(
        "correct continuations up to length {SEQ}, as trained: {:.2}",
        share(inside)
    );
    println!(
        "correct continuations from there to length {LONGER}: {:.2}",
        share(beyond)
    );
}
