//! A language model of 64 tokens, once with `pe-encoder` and once with Burn's own modules. A step goes forward, takes the
//! cross-entropy of a token at every position, goes backward, lets Adam move the parameters and reads the loss back.

use burn::module::Module;
use burn::nn::attention::generate_autoregressive_mask;
use burn::nn::loss::CrossEntropyLossConfig;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig, LayerNorm, LayerNormConfig, Linear, LinearConfig};
use burn::optim::AdamConfig;
use burn::tensor::{Device, Int, Tensor};
use pe_burn::{Embed, PositionalConfig, PositionalScheme, Positions};
use pe_encoder::{Adam, Encoder, EncoderConfig, Kernels};

use steps::steps;

mod steps;

const VOCABULARY: usize = 64;

/// The sizes of a model and of its batch.
#[derive(Clone, Copy, Debug)]
pub struct Sizes {
    pub d_model: usize,
    pub layers: usize,
    pub heads: usize,
    /// Whether a token sees only those before it.
    pub causal: bool,
    /// `[batch, seq]`
    pub shape: [usize; 2],
}

impl Sizes {
    fn d_ff(self) -> usize {
        4 * self.d_model
    }
}

/// What comes before the layers and after them.
#[derive(Module, Debug)]
struct Ends {
    tokens: Embedding,
    scheme: PositionalScheme,
    readout: Linear,
}

impl Ends {
    fn new(sizes: Sizes, scheme: &PositionalConfig, device: &Device) -> Self {
        Self {
            tokens: EmbeddingConfig::new(VOCABULARY, sizes.d_model).init(device),
            scheme: scheme.init(device),
            readout: LinearConfig::new(sizes.d_model, VOCABULARY).init(device),
        }
    }

    fn loss(
        &self,
        [tokens, targets]: [Tensor<2, Int>; 2],
        layers: impl FnOnce(Tensor<3>) -> Tensor<3>,
    ) -> Tensor<1> {
        let x = self.tokens.forward(tokens);
        let x = layers(self.scheme.embed(x, &Positions::default()));
        let [batch, seq, _] = x.dims();
        let logits = self.readout.forward(x).reshape([batch * seq, VOCABULARY]);
        let loss = CrossEntropyLossConfig::new().init(&logits.device());
        loss.forward(logits, targets.reshape([batch * seq]))
    }
}

#[derive(Module, Debug)]
struct Ours {
    ends: Ends,
    encoder: Encoder,
}

/// What takes a step of `pe-encoder`.
pub fn ours(sizes: Sizes, scheme: &PositionalConfig, device: &Device) -> impl FnMut() + use<> {
    let encoder = EncoderConfig::new(sizes.d_model, sizes.d_ff(), sizes.heads, sizes.layers);
    let model = Ours {
        ends: Ends::new(sizes, scheme, device),
        encoder: encoder.with_causal(sizes.causal).init(device),
    };
    let adam = Adam {
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-5,
        clip_norm: None,
        weight_decay: 0.0,
        kernels: Kernels::Auto,
    };
    let loss = |model: &Ours, batch| {
        let Ours { ends, encoder } = model;
        ends.loss(batch, |x| {
            encoder.forward(x, None, &ends.scheme, &Positions::default())
        })
    };
    steps(model, rows(sizes.shape, device), loss, adam.into())
}

#[derive(Module, Debug)]
struct Burns {
    ends: Ends,
    encoder: TransformerEncoder,
    norm: LayerNorm,
}

/// What takes a step of Burn's modules, for a causal model.
#[allow(dead_code)] // one of the two benches takes it
pub fn burns(sizes: Sizes, scheme: &PositionalConfig, device: &Device) -> impl FnMut() + use<> {
    let Sizes {
        d_model,
        layers,
        heads,
        shape,
        ..
    } = sizes;
    let model = Burns {
        ends: Ends::new(sizes, scheme, device),
        encoder: TransformerEncoderConfig::new(d_model, sizes.d_ff(), heads, layers)
            .with_norm_first(true)
            .with_dropout(0.0)
            .init(device),
        norm: LayerNormConfig::new(d_model).init(device),
    };
    let loss = |model: &Burns, batch| {
        model.ends.loss(batch, |x: Tensor<3>| {
            let [batch, seq, _] = x.dims();
            let mask = generate_autoregressive_mask(batch, seq, &x.device());
            let input = TransformerEncoderInput::new(x).mask_attn(mask);
            model.norm.forward(model.encoder.forward(input))
        })
    };
    let adam = AdamConfig::new().init();
    steps(model, rows(shape, device), loss, adam)
}

/// Tokens, and the targets at their places.
fn rows([batch, seq]: [usize; 2], device: &Device) -> [Tensor<2, Int>; 2] {
    [7, 13].map(|factor| {
        let all = Tensor::<1, Int>::arange(0..(batch * seq) as i64, device);
        ((all * factor) % 61).reshape([batch, seq])
    })
}
