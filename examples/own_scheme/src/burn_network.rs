//! The network: the `TransformerEncoder` of `burn::nn`, which knows no positions of its own.

use burn::module::Module;
use burn::nn::transformer::{TransformerEncoder, TransformerEncoderConfig, TransformerEncoderInput};
use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{Positional, Positions};
use pe_encoder::EncoderConfig;
use pe_lab::Network;

#[derive(Module, Debug)]
pub struct BurnNetwork {
    encoder: TransformerEncoder,
}

impl Network for BurnNetwork {
    fn init(config: &EncoderConfig, device: &Device) -> Result<Self, String> {
        if config.causal || !config.kinds.is_empty() {
            return Err("it has no causal attention and no layers that differ".into());
        }
        let EncoderConfig { d_model, d_ff, heads, layers, .. } = *config;
        let encoder = TransformerEncoderConfig::new(d_model, d_ff, heads, layers);
        let encoder = encoder.with_norm_first(true).with_dropout(0.0).init(device);
        Ok(Self { encoder })
    }

    fn takes(&self, scheme: &dyn Positional) -> Result<(), String> {
        let acts_inside = scheme.as_rotate().is_some()
            || scheme.as_bias().is_some()
            || scheme.as_score_bias().is_some()
            || scheme.as_forget_gate().is_some();
        match acts_inside {
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
