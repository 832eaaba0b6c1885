//! A positional encoding in front of Burn's own transformer encoder, which stays as it is.

use burn::module::Module;
use burn::nn::transformer::{
    TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput,
};
use burn::nn::{Embedding, EmbeddingConfig};
use burn::tensor::{Device, Int, Tensor};
use pe_burn::embedding::InputScale;
use pe_burn::{SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig};

#[derive(Module, Debug)]
struct Model {
    tokens: Embedding,
    positions: SinusoidalPositionalEncoding,
    encoder: TransformerEncoder,
}

impl Model {
    fn new(device: &Device) -> Self {
        Self {
            tokens: EmbeddingConfig::new(100, 64).init(device),
            positions: SinusoidalPositionalEncodingConfig::new(64)
                .with_input_scale(InputScale::SqrtDModel)
                .with_dropout(0.1)
                .init(device),
            encoder: TransformerEncoderConfig::new(64, 256, 4, 2).init(device),
        }
    }

    /// `[batch, seq]` tokens to `[batch, seq, 64]` features.
    fn forward(&self, tokens: Tensor<2, Int>) -> Tensor<3> {
        let x = self.tokens.forward(tokens);
        let x = self.positions.forward(x); // the one line
        self.encoder.forward(TransformerEncoderInput::new(x))
    }
}

fn main() {
    let device = Device::flex();
    device.seed(0);
    let model = Model::new(&device);
    println!("{model}\n");

    let sentence = Tensor::<2, Int>::from_ints([[4, 8, 15, 16, 23, 42]], &device);
    let forwards = model.forward(sentence.clone());
    let backwards = model.forward(sentence.flip([1])).flip([1]);
    let change = (forwards - backwards).abs().max().into_scalar::<f32>();
    println!("a sentence read backwards changes a token's feature by up to {change:.3}");
    println!("(without positions: by nothing but rounding, since attention sees a bag of tokens)");
}
