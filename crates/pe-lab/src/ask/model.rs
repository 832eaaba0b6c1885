//! The sizes of the model.

use pe_encoder::{Activation, Norm};
use serde::{Deserialize, Serialize};

use super::network::ENCODER;
use super::recipe::is_default;
use crate::error::LabError;

/// The laboratory is for small models. A larger size is taken for a typing error.
const MAX_WIDTH: usize = 4_096;
const MAX_DEPTH: usize = 64;

/// The sizes of the model. The default is the reference model, which every preset uses.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct ModelSpec {
    /// The network between embeddings and readout: [`ENCODER`], or one of a person's own.
    #[serde(skip_serializing_if = "is_encoder")]
    pub network: String,
    /// Elements of a token's embedding.
    pub d_model: usize,
    /// Layers of the encoder.
    pub layers: usize,
    /// Attention heads of each layer.
    pub heads: usize,
    /// Width of the feed-forward network.
    pub d_ff: usize,
    /// Whether layers normalize before attention and feed-forward network, or after them.
    #[serde(skip_serializing_if = "is_default")]
    pub norm: Norm,
    /// The function inside of the feed-forward network.
    #[serde(skip_serializing_if = "is_default")]
    pub activation: Activation,
    /// In training, the share of elements that are dropped of the embeddings and of what each part of a layer returns.
    #[serde(skip_serializing_if = "is_default")]
    pub dropout: f64,
}

/// Every place of normalization with its name.
pub const NORMS: [(&str, Norm); 2] = [("pre", Norm::Pre), ("post", Norm::Post)];

/// Every activation with its name.
pub const ACTIVATIONS: [(&str, Activation); 3] = [
    ("gelu", Activation::Gelu),
    ("relu", Activation::Relu),
    ("silu", Activation::Silu),
];

fn is_encoder(network: &str) -> bool {
    network == ENCODER
}

impl Default for ModelSpec {
    fn default() -> Self {
        Self {
            network: ENCODER.into(),
            d_model: 64,
            layers: 2,
            heads: 4,
            d_ff: 256,
            norm: Norm::Pre,
            activation: Activation::Gelu,
            dropout: 0.0,
        }
    }
}

impl ModelSpec {
    /// Checks that the sizes make a model.
    ///
    /// # Errors
    ///
    /// [`LabError::Usage`] with the size and its bounds, or when the heads do not divide `d_model`.
    pub fn check(&self) -> Result<(), LabError> {
        let sizes = [
            ("d_model", self.d_model, MAX_WIDTH),
            ("layers", self.layers, MAX_DEPTH),
            ("heads", self.heads, MAX_WIDTH),
            ("d_ff", self.d_ff, MAX_WIDTH),
        ];
        for (name, size, most) in sizes {
            if !(1..=most).contains(&size) {
                return Err(LabError::Usage(format!(
                    "{name} is {size}; it must be from 1 to {most}"
                )));
            }
        }
        if !(0.0..1.0).contains(&self.dropout) {
            return Err(LabError::Usage(format!(
                "dropout is {}; it must be at least 0 and below 1",
                self.dropout
            )));
        }
        if !self.d_model.is_multiple_of(self.heads) {
            return Err(LabError::Usage(format!(
                "d_model {} is not a multiple of the {} heads that share it",
                self.d_model, self.heads
            )));
        }
        Ok(())
    }
}
