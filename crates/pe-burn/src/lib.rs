//! Positional encodings for [Burn](https://burn.dev) transformers: exact, fast, and the same on
//! every backend.
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use pe_burn::SinusoidalPositionalEncodingConfig;
//!
//! let device = Device::flex();
//! let pe = SinusoidalPositionalEncodingConfig::new(512).init(&device);
//!
//! let embeddings = Tensor::<3>::random([8, 128, 512], Distribution::Default, &device);
//! let x = pe.forward(embeddings); // [batch, seq, d_model], positions added
//! # assert_eq!(x.dims(), [8, 128, 512]);
//! ```
//!
//! | to | use |
//! |---|---|
//! | add the fixed encoding of *Attention Is All You Need* | [`SinusoidalPositionalEncodingConfig`] → [`SinusoidalPositionalEncoding`] |
//! | add a trained row per position | [`LearnedPositionalEmbeddingConfig`] → [`LearnedPositionalEmbedding`] |
//! | turn queries and keys by their positions | [`RotaryPositionalEncodingConfig`] → [`RotaryPositionalEncoding`], [`XPosPositionalEncodingConfig`] → [`XPosPositionalEncoding`] |
//! | bias attention scores by distance | [`AlibiConfig`] → [`Alibi`], [`T5RelativeBiasConfig`] → [`T5RelativeBias`], [`KerpleConfig`] → [`Kerple`], [`FireConfig`] → [`Fire`] |
//! | say which position each token has (offsets, ids, padding, packing, times) | [`Positions`] |
//! | encode images and video | [`Axes`] → `with_axes`, [`Grid`] → [`Positions`] |
//! | draw positions at random | [`RandomizedPositions`] |
//! | choose a scheme by name or from a file | [`PositionalConfig`] → [`PositionalScheme`] |
//! | rotate as a model at Hugging Face does | [`ModelConfig`] → [`RotaryPositionalEncodingConfig`] |
//! | follow another library's formula, use its columns | [`Formula`], [`convert_layout`], [`convert_heads`] |
//! | read a trained table, fit it to other lengths and images | [`LearnedPositionalEmbedding`], [`Extension`] |
//! | look at frequencies, wavelengths, similarities, exact rows | [`Spectrum`] |
//!
//! Every method that can fail on its input has a `try_` form that returns a [`PositionError`]; the
//! plain form panics with the same message.
//!
//! # Features
//!
//! - `std` (default). Without it the crate is `no_std` and needs `alloc`.
//! - `flex`: sums, rotations and biases on Burn's CPU backend Flex by kernels of this crate, in one
//!   pass on all threads.
//! - `checkpoint`: learned tables out of safetensors and PyTorch files, and into safetensors.
//!
//! The backend is the business of the application: enable it on its own `burn` dependency.

#![no_std]
#![warn(missing_docs)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std; // tells at run time which vector instructions the processor has

mod backend;
mod bias;
mod display;
mod embed;
mod error;
mod layout;
mod positions;
mod rotate;
mod scheme;
mod sizes;
mod spectrum;
mod tensor;
#[cfg(test)]
mod testing;

#[cfg(feature = "flex")]
#[doc(hidden)] // for the kernels of pe-encoder
pub use backend::autodiff;
pub use bias::{
    Alibi, AlibiConfig, AlibiShape, Bias, BiasCache, Fire, FireConfig, Kerple, KerpleConfig,
    KerpleShape, T5RelativeBias, T5RelativeBiasConfig,
};
#[cfg(feature = "checkpoint")]
pub use embed::CheckpointError;
pub use embed::{
    Embed, Extension, Gain, InputScale, LearnedPositionalEmbedding,
    LearnedPositionalEmbeddingConfig, LengthLimit, SinusoidalPositionalEncoding,
    SinusoidalPositionalEncodingConfig, TableInit,
};
pub use error::PositionError;
pub use layout::{Layout, convert_heads, convert_layout};
pub use positions::{Axes, Grid, MAX_POSITION, Positions, RandomizedPositions};
pub use rotate::{
    ModelConfig, RopeScaling, RotaryPositionalEncoding, RotaryPositionalEncodingConfig, Rotate,
    XPosPositionalEncoding, XPosPositionalEncodingConfig,
};
pub use scheme::{PositionalConfig, PositionalScheme};
pub use spectrum::{DEFAULT_BASE, Formula, Spectrum};

/// The scalings of RoPE, each with its numbers: see [`RopeScaling`].
pub mod scaling {
    pub use crate::rotate::scaling::types::*;
}

/// The code in the project's README compiles and runs.
#[cfg(all(doctest, feature = "checkpoint"))]
#[doc = include_str!("../../../README.md")]
struct Readme;
