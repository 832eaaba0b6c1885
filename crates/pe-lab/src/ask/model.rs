//! The sizes of the model.

use pe_encoder::{Activation, Norm};
use serde::{Deserialize, Serialize};

use super::network::ENCODER;
use super::recipe::is_default;
use crate::error::LabError;
use crate::names::one_of;

/// The laboratory is for small models. A larger size is taken for a typing error.
const MAX_WIDTH: usize = 4_096;
const MAX_DEPTH: usize = 64;

/// The sizes of the model. The default is the reference model, which every preset uses.
///
/// A field is a flag too, unless it is skipped, and its documentation is the help.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize, clap::Args)]
#[serde(default, deny_unknown_fields)]
#[command(next_display_order = 100)]
pub struct ModelSpec {
    /// The network between embeddings and output; only a program of your own can have others [default: encoder]
    #[serde(skip_serializing_if = "is_encoder")]
    // In the help it stands behind the widths.
    #[arg(long, value_name = "NAME", hide_short_help = true, display_order = 104)]
    pub network: String,
    /// Elements of a token's embedding [default: 64]
    #[arg(long, value_name = "N")]
    pub d_model: usize,
    /// Layers of the model [default: 2]
    #[arg(long, value_name = "N")]
    pub layers: usize,
    /// Attention heads of each layer [default: 4]
    #[arg(long, value_name = "N")]
    pub heads: usize,
    /// Width of the feed-forward network [default: 256]
    #[arg(long, value_name = "N", hide_short_help = true)]
    pub d_ff: usize,
    /// Whether layers normalize before attention and feed-forward network, or after them [default: pre]
    #[serde(skip_serializing_if = "is_default")]
    #[arg(long, value_name = "WHERE", value_parser = one_of(NORMS), hide_short_help = true)]
    pub norm: Norm,
    /// The function inside of the feed-forward network [default: gelu]
    #[serde(skip_serializing_if = "is_default")]
    #[arg(long, value_name = "NAME", value_parser = one_of(ACTIVATIONS), hide_short_help = true)]
    pub activation: Activation,
    /// In training, the share of elements that are dropped of the embeddings and of what each part of a layer returns
    /// [default: 0]
    #[serde(skip_serializing_if = "is_default")]
    #[arg(long, value_name = "SHARE", hide_short_help = true)]
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
