//! Decoding with a cache: a token at a time by `pe-encoder`, against PyTorch and against Burn's own operations.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench decode
//! ```
//!
//! The model is that of `causal_step`: d_model 128, 4 layers, 4 heads, a feed-forward width of 512 and 64 tokens. A call
//! takes 32 tokens, one by one, through a model that has seen `cached` tokens, and computes the logits after each.

use burn::module::Module;
use burn::nn::{Embedding, EmbeddingConfig, Linear, LinearConfig};
use burn::tensor::{Device, Int, Tensor};
use pe_benches::{Comparison, Peers, Target, cores, json};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions};
use pe_encoder::{Cache, Encoder, EncoderConfig, Kernels};

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

const D_MODEL: usize = 128;
const VOCABULARY: usize = 64;
const STEPS: usize = 32;

fn main() {
    let peers = Peers::start();
    for (batch, cached) in [(1, 128), (1, 1_024), (8, 1_024)] {
        let size = json!({"case": "decode", "shape": [batch, cached, STEPS]});
        let title = format!("decoding {STEPS} tokens, flex, batch {batch}, after {cached}");
        let ours = |kernels| decoding([batch, cached], kernels);
        Comparison::new(title, 20)
            .way("pe-encoder", cores(), None, ours(Kernels::Auto))
            .way(
                "pe-encoder, Burn's operations",
                cores(),
                None,
                ours(Kernels::Off),
            )
            .peer(
                &peers,
                "PyTorch, eager, fused attention",
                Some(Target::Within(1.0)),
                size,
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

/// What decodes [`STEPS`] tokens for `batch` rows after `cached` tokens.
fn decoding([batch, cached]: [usize; 2], kernels: Kernels) -> impl FnMut() {
    let device = Device::flex();
    let (heads, longest) = (4, cached + STEPS);
    let scheme = PositionalConfig::by_name("sinusoidal", D_MODEL, heads, longest);
    let encoder = EncoderConfig::new(D_MODEL, 512, heads, 4)
        .with_causal(true)
        .with_kernels(kernels);
    let model = Decoder {
        tokens: EmbeddingConfig::new(VOCABULARY, D_MODEL).init(&device),
        scheme: scheme.expect("a known name").init(&device),
        encoder: encoder.init(&device),
        readout: LinearConfig::new(D_MODEL, VOCABULARY).init(&device),
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
