//! Decoding with a cache: a token at a time by `pe-encoder`, against PyTorch and against Burn's own operations.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench decode
//! ```
//!
//! A call takes 32 tokens, one by one, through a model that has seen `cached` tokens, and computes the logits after each. A
//! feed-forward layer has four times the width.

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};
use pe_benches::{Comparison, Peers, Target, cores, join_kernels, json};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions};
use pe_encoder::{Cache, Encoder, EncoderConfig, Kernels};

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const VOCABULARY: usize = 64;
const STEPS: usize = 32;

/// `d_model`, layers and heads of a model, its positions, the rows of a batch, and the tokens it has seen.
#[derive(Clone, Copy)]
struct Case([usize; 3], &'static str, usize, usize);

/// With how many times PyTorch's time each may take.
const CASES: [(Case, f64); 5] = [
    (Case([128, 4, 4], "sinusoidal", 1, 128), 1.0),
    (Case([128, 4, 4], "sinusoidal", 1, 1_024), 1.0),
    (Case([128, 4, 4], "sinusoidal", 8, 1_024), 1.0),
    (Case([384, 6, 6], "rotary", 1, 1_024), 0.35),
    (Case([384, 6, 6], "alibi", 1, 1_024), 0.35),
];

fn main() {
    join_kernels();
    let peers = Peers::start();
    for (case, most) in CASES {
        let Case(sizes @ [d_model, layers, _], scheme, batch, cached) = case;
        let shape = [batch, cached, STEPS];
        let peer = json!({"case": "decode", "sizes": sizes, "with": scheme, "shape": shape});
        let of = match scheme {
            "sinusoidal" => String::new(),
            _ => format!("{layers} layers, width {d_model}, {scheme}, "),
        };
        let title = format!("decoding {STEPS} tokens, flex, {of}batch {batch}, after {cached}");
        Comparison::new(title, 20)
            .way("pe-encoder", cores(), None, decoding(case, Kernels::Auto))
            .way(
                "pe-encoder, Burn's operations",
                cores(),
                None,
                decoding(case, Kernels::Off),
            )
            .peer(
                &peers,
                "PyTorch, eager, fused attention",
                Some(Target::Within(most)),
                peer,
            )
            .way(
                "reading the weights and the cache",
                cores(),
                (d_model == 384).then_some(Target::Within(1.67)),
                reading(case),
            )
            .run();
    }
}

#[derive(Module, Debug)]
struct Decoder {
    tokens: Embedding,
    scheme: PositionalScheme,
    encoder: Encoder,
    readout: Linear,
}

impl Decoder {
    /// The logits after the last of the tokens, `[batch, seq]`.
    fn decode(&self, tokens: Tensor<2, Int>, caches: &mut [Cache]) -> Tensor<3> {
        let at = Positions::from(caches[0].tokens());
        let x = self.scheme.embed(self.tokens.forward(tokens), &at);
        let x = self.encoder.forward_cached(x, &self.scheme, caches);
        let [_, seq, _] = x.dims();
        self.readout.forward(x.narrow(1, seq - 1, 1))
    }
}

/// What reads the weights and the cache of a model once for each of [`STEPS`] tokens, in parts of a thread each.
fn reading(Case([d_model, layers, _], _, batch, cached): Case) -> impl FnMut() {
    let weights = 12 * d_model * d_model;
    let numbers = vec![1.0_f32; layers * (weights + 2 * batch * cached * d_model)];
    move || {
        for _ in 0..STEPS {
            std::thread::scope(|scope| {
                for part in numbers.chunks(numbers.len().div_ceil(cores())) {
                    scope.spawn(|| std::hint::black_box(sum(part)));
                }
            });
        }
    }
}

fn sum(numbers: &[f32]) -> [f32; 32] {
    let mut sums = [0.0; 32];
    for numbers in numbers.as_chunks::<32>().0 {
        for (sum, number) in sums.iter_mut().zip(numbers) {
            *sum += number;
        }
    }
    sums
}

/// What decodes [`STEPS`] tokens for `batch` rows after `cached` tokens.
fn decoding(case: Case, kernels: Kernels) -> impl FnMut() {
    let Case([d_model, layers, heads], scheme, batch, cached) = case;
    let device = Device::flex();
    let scheme = PositionalConfig::by_name(scheme, d_model, heads, cached + STEPS);
    let encoder = EncoderConfig::new(d_model, 4 * d_model, heads, layers)
        .with_causal(true)
        .with_kernels(kernels);
    let model = Decoder {
        tokens: EmbeddingConfig::new(VOCABULARY, d_model).init(&device),
        scheme: scheme.expect("a known name").init(&device),
        encoder: encoder.init(&device),
        readout: LinearConfig::new(d_model, VOCABULARY).init(&device),
    };
    let mut prompt = model.encoder.caches();
    model.decode(Tensor::ones([batch, cached], &device), &mut prompt);
    let token = Tensor::<2, Int>::ones([batch, 1], &device);
    move || {
        let mut caches = prompt.clone();
        for _ in 0..STEPS {
            let logits = model.decode(token.clone(), &mut caches);
            assert_eq!(logits.into_data().num_elements(), batch * VOCABULARY);
        }
    }
}
