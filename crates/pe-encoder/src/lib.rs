//! A transformer encoder and causal decoder for [Burn](https://burn.dev) that takes any positional encoding of
//! [`pe_burn`], none, or a scheme of your own: see [`Positional`](pe_burn::Positional).
//!
//! On Burn's CPU backend Flex a training step takes about a third to a tenth of the time that it takes
//! with `burn::nn`'s modules (measured in the README), by kernels whose results differ from Burn's by
//! rounding only. Graphics cards and LibTorch have kernels for some operations. Without these features,
//! and on every other backend, the crate runs on Burn's own operations.
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use pe_burn::{Embed, PositionalConfig, Positions};
//! use pe_encoder::EncoderConfig;
//!
//! let device = Device::flex();
//! let scheme = PositionalConfig::by_name("rotary", 64, 4, 512).unwrap().init(&device);
//! let encoder = EncoderConfig::new(64, 256, 4, 2).init(&device); // d_model, d_ff, heads, layers
//!
//! let tokens = Tensor::<3>::random([8, 100, 64], Distribution::Default, &device); // embeddings
//! let x = scheme.embed(tokens, &Positions::default()); // adds a sinusoidal or learned encoding
//! let y = encoder.forward(x, None, &scheme, &Positions::default());
//! assert_eq!(y.dims(), [8, 100, 64]); // [batch, seq, d_model]
//! ```
//!
//! | to | use |
//! |---|---|
//! | encode whole sequences, with padding or without | [`EncoderConfig`] → [`Encoder::forward`] |
//! | train a decoder | [`EncoderConfig::with_causal`] → [`Encoder::forward`] |
//! | decode token by token | [`Encoder::caches`] → [`Encoder::forward_cached`] |
//! | build other layers around the attention | [`AttentionConfig`] → [`Attention`] |
//! | mix layers with and without positions, local and global | [`EncoderConfig::with_kinds`], [`LayerKind`] |
//! | normalize after a layer, or have another activation or dropout | [`EncoderConfig::with_norm`], [`EncoderConfig::with_activation`], [`EncoderConfig::with_dropout`] |
//! | drop attention weights in training | [`AttentionConfig::with_dropout`] |
//! | use a scheme of your own | [`pe_burn::Positional`], and the section below |
//! | turn the kernels off | [`Kernels::Off`] → [`Encoder::with_kernels`] |
//! | train with a fast optimizer | [`ModuleAdam`], [`Adam`] |
//!
//! # Kernels
//!
//! | operation | Flex (feature `flex`) | graphics cards (feature `wgpu`, …) | LibTorch (feature `tch`) |
//! |---|---|---|---|
//! | linear layers | kernel | Burn's matrix products | Burn |
//! | layer normalization | kernel | kernel, with the residual sum before it | kernel |
//! | feed-forward network | kernel | Burn | Burn |
//! | attention | kernel | kernel; of long heads with Burn's matrix products | kernel |
//! | attention to a cache, without gradients | kernel | kernel, with Burn's matrix products | Burn |
//! | attention that drops weights in training | Burn | Burn | Burn |
//! | the step of [`Adam`] | kernel | kernel | kernel |
//!
//! Kernels are for `f32`, and not for gradient checkpointing; there, and on other backends, all of it
//! is Burn's, on CubeCL's runtime for processors too. On Flex the results of kernels do not depend on the number of threads. On a graphics card a training step
//! of two layers with 8 × 32 tokens takes 64 launches, and 405 with Burn's modules (`tests/launches.rs`).
//!
//! # A scheme of your own
//!
//! Which kernels run follows from the traits that a scheme implements, and not from which scheme it is:
//!
//! | a scheme that | runs through |
//! |---|---|
//! | rotates by rows of sines and cosines ([`RotateByRows`](pe_burn::RotateByRows)) | the rotation of RoPE, in place, and the attention above |
//! | rotates by operations of its own ([`Rotate`](pe_burn::Rotate)) | these, and the attention above |
//! | makes queries and keys of another width ([`Rotate::width`](pe_burn::Rotate::width)), as PoPE | the attention above on Flex; Burn's operations elsewhere, and with a cache |
//! | adds to scores ([`Bias`](pe_burn::Bias), [`ScoreBias`](pe_burn::ScoreBias)) | the attention above |
//! | adds to scores by hidden states ([`HiddenBias`](pe_burn::HiddenBias)), as Inkling | the attention above |
//! | forgets ([`ForgetGate`](pe_burn::ForgetGate)), as FoX | the attention above, which has to be causal |
//!
//! A scheme may do several of these. What it returns is checked for shape and device before anything reads it.
//!
//! ```
//! use burn::tensor::{Device, Tensor};
//! use pe_burn::{Bias, PositionError, Positional, Positions};
//! use pe_encoder::EncoderConfig;
//!
//! /// Scores fall by a tenth with every token between query and key.
//! struct Near {
//!     heads: usize,
//!     device: Device,
//! }
//!
//! impl Bias for Near {
//!     fn try_bias(
//!         &self,
//!         queries: (&Positions, usize),
//!         keys: (&Positions, usize),
//!     ) -> Result<Tensor<4>, PositionError> {
//!         let q = queries.0.to_tensor(queries.1, &self.device)?; // [1 or batch, queries]
//!         let k = keys.0.to_tensor(keys.1, &self.device)?;
//!         let distances = (q.unsqueeze_dim::<3>(2) - k.unsqueeze_dim(1)).abs();
//!         Ok(distances.unsqueeze_dim::<4>(1).repeat_dim(1, self.heads) * -0.1)
//!     }
//! }
//!
//! impl Positional for Near {
//!     fn as_bias(&self) -> Option<&dyn Bias> {
//!         Some(self)
//!     }
//! }
//!
//! let device = Device::flex();
//! let encoder = EncoderConfig::new(64, 256, 4, 2).init(&device);
//! let x = Tensor::<3>::zeros([8, 100, 64], &device);
//! let y = encoder.forward(x, None, &Near { heads: 4, device }, &Positions::default());
//! # assert_eq!(y.dims(), [8, 100, 64]);
//! ```
//!
//! # Features
//!
//! - `flex` (default): the kernels on Flex. It enables Burn's backend Flex.
//! - `wgpu`, `vulkan`, `metal`, `webgpu`, `cuda`, `rocm`: the kernels on graphics cards, also those of
//!   `pe-burn`. Each enables Burn's backend of that name, and Burn's fusion of operations.
//! - `tch`: the kernels on LibTorch. It enables Burn's backend LibTorch, which has to be installed.
//!
//! Without features the crate runs on Burn's operations on any backend that the application enables
//! on its own `burn` dependency.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![warn(missing_docs)]

mod adam;
mod attention;
mod encoder;
mod kernels;
mod module_adam;
mod norm;
mod plain;
#[cfg(test)]
mod testing;

pub use adam::Adam;
pub use attention::{Attention, AttentionConfig, Cache};
pub use encoder::{Encoder, EncoderConfig, LayerKind, Norm};
pub use kernels::Kernels;
pub use module_adam::ModuleAdam;
pub use plain::Activation;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
