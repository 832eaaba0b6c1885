//! The network: the `TransformerEncoder` of `burn::nn`, which knows no positions of its own.

use burn::module::Module;
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{Positional, Positions};
use pe_encoder::{Activation, EncoderConfig, Norm};
use pe_lab::Network;

#[derive(Module, Debug)]
pub struct BurnNetwork {
    encoder: TransformerEncoder,
}

impl Network for BurnNetwork {
    fn init(config: &EncoderConfig, device: &Device) -> Result<Self, String> {
        if config.causal || !config.kinds.is_empty() || config.activation != Activation::Gelu {
            return Err("it has no causal attention, no layers that differ, and GELU alone".into());
        }
        let EncoderConfig { d_model, d_ff, heads, layers, .. } = *config;
        let encoder = TransformerEncoderConfig::new(d_model, d_ff, heads, layers)
            .with_norm_first(config.norm == Norm::Pre)
            .with_dropout(config.dropout)
            .init(device);
        Ok(Self { encoder })
    }

    fn takes(&self, scheme: &dyn Positional) -> Result<(), String> {
        match scheme.acts_in_layers() {
            true => Err("it has no place for positions in its attention".into()),
            false => Ok(()),
        }
    }

    fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<2, Bool>>,
        _: &dyn Positional,
        _: &Positions,
    ) -> Tensor<3> {
        let mut input = TransformerEncoderInput::new(x);
        if let Some(padding) = padding {
            input = input.mask_pad(padding.clone());
        }
        self.encoder.forward(input)
    }
}
