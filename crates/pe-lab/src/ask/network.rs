//! What stands between the embeddings of a model and its readout.

use burn::tensor::{Bool, Device, Tensor};
use pe_burn::{Positional, Positions};
use pe_encoder::{Cache, Encoder, EncoderConfig};

/// The name of the built-in network.
pub const ENCODER: &str = "encoder";

/// A network that takes positions: all of a model between the embeddings of its tokens and its readout. The built-in one,
/// `encoder`, is that of `pe-encoder`; a program of one's own can compare schemes in another network.
///
/// The laboratory adds what the scheme adds to embeddings before it calls the network. The network asks the scheme for the
/// rest: [`as_rotate`](Positional::as_rotate), [`as_bias`](Positional::as_bias) and the other methods of [`Positional`].
pub trait Network: Send {
    /// Builds the network.
    ///
    /// # Errors
    ///
    /// What it cannot do of what `config` asks for, as a sentence about the network: "it has no causal attention".
    fn init(config: &EncoderConfig, device: &Device) -> Result<Self, String>
    where
        Self: Sized;

    /// Whether the network can do what a scheme asks for.
    ///
    /// # Errors
    ///
    /// What it cannot do, as a sentence about the network: "it does not rotate queries and keys".
    fn takes(&self, scheme: &dyn Positional) -> Result<(), String> {
        let _ = scheme;
        Ok(())
    }

    /// Takes tokens through the network.
    ///
    /// # Shapes
    ///
    /// - `x`: `[batch, seq, d_model]`
    /// - `padding`: `[batch, seq]`, true where there is no token: nothing may attend there
    /// - output: `[batch, seq, d_model]`
    fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<2, Bool>>,
        scheme: &dyn Positional,
        positions: &Positions,
    ) -> Tensor<3>;

    /// An empty cache for each layer, if the network decodes with a cache.
    fn caches(&self) -> Option<Vec<Cache>> {
        None
    }

    /// Takes new tokens through a causal network, and appends them to the caches; see [`Encoder::forward_cached`].
    ///
    /// # Panics
    ///
    /// In a network without caches.
    fn forward_cached(
        &self,
        x: Tensor<3>,
        scheme: &dyn Positional,
        caches: &mut [Cache],
    ) -> Tensor<3> {
        let _ = (x, scheme, caches);
        panic!("this network has no caches")
    }
}

impl Network for Encoder {
    fn init(config: &EncoderConfig, device: &Device) -> Result<Self, String> {
        Ok(config.init(device))
    }

    fn takes(&self, scheme: &dyn Positional) -> Result<(), String> {
        match scheme.as_forget_gate().is_some() && !self.is_causal() {
            true => {
                Err("a forget gate looks back only; take a causal task, such as `text`, or say --causal".into())
            }
            false => Ok(()),
        }
    }

    fn forward(
        &self,
        x: Tensor<3>,
        padding: Option<&Tensor<2, Bool>>,
        scheme: &dyn Positional,
        positions: &Positions,
    ) -> Tensor<3> {
        Encoder::forward(self, x, padding, scheme, positions)
    }

    fn caches(&self) -> Option<Vec<Cache>> {
        Some(Encoder::caches(self))
    }

    fn forward_cached(
        &self,
        x: Tensor<3>,
        scheme: &dyn Positional,
        caches: &mut [Cache],
    ) -> Tensor<3> {
        Encoder::forward_cached(self, x, scheme, caches)
    }
}
