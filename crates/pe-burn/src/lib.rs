//! Positional encodings for [Burn](https://burn.dev) transformers: sinusoidal, learned, RoPE (rotary),
//! ALiBi and other relative position biases. Exact at every position, fast, and the same on every
//! backend.
//!
//! # In one line
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
//! # RoPE in a Llama-like model
//!
//! ```
//! use burn::tensor::{Device, Distribution, Tensor};
//! use pe_burn::{Layout, Positions, Rotate, RotaryPositionalEncodingConfig};
//!
//! let device = Device::flex();
//! let rope = RotaryPositionalEncodingConfig::new(128) // d_head
//!     .with_base(500_000.0)
//!     .with_layout(Layout::Halves) // as in weights from Hugging Face; Meta's are Interleaved
//!     .init(&device); // one module for all layers
//!
//! let q = Tensor::<4>::random([2, 32, 10, 128], Distribution::Default, &device);
//! let k = Tensor::<4>::random([2, 8, 10, 128], Distribution::Default, &device);
//! let (q, k) = rope.rotate(q, k, &Positions::from(0)); // later: the number of cached tokens
//! # assert_eq!((q.dims(), k.dims()), ([2, 32, 10, 128], [2, 8, 10, 128]));
//! ```
//!
//! For a model from Hugging Face, the crate `pe-models` reads the base, the layout, the number of rotated
//! columns and the scaling from its `config.json`.
//!
//! # A model that takes any scheme
//!
//! Position enters a transformer at one of four places. There is a trait for each place, and attention scores have four
//! traits: for a bias from positions alone, from queries and keys, from hidden states, and for forget gates. A scheme may
//! act at several places. [`Positional`] says at which: it has a method for each trait, which returns the scheme as that
//! trait or `None`. All schemes implement it, and a scheme of your own that does can be used wherever they can:
//!
//! | hook | place | schemes |
//! |---|---|---|
//! | [`Embed`] | token embeddings | [`SinusoidalPositionalEncoding`], [`LearnedPositionalEmbedding`], [`Time2Vec`](embedding::Time2Vec) |
//! | [`Rotate`] | queries and keys | [`RotaryPositionalEncoding`] (RoPE), [`XPosPositionalEncoding`], [`Fope`](rotary::Fope) (FoPE), [`Pope`](rotary::Pope) (PoPE) |
//! | [`Bias`] | attention scores | [`Alibi`] (ALiBi), [`T5RelativeBias`], [`Kerple`], [`Fire`] |
//! | [`ScoreBias`] | attention scores, with a look at queries and keys | all of the line above; [`Shaw`](content::Shaw), [`TransformerXl`](content::TransformerXl) (Conformer), [`Deberta`](content::Deberta), [`Tupe`](content::Tupe) (TUPE), [`Cope`](content::Cope) (CoPE) |
//! | [`WeightBias`] | attention weights, after the softmax | [`Erpe`](weights::Erpe) (eRPE) |
//! | [`HiddenBias`] | attention scores, with a look at hidden states | [`Inkling`](content::Inkling) |
//! | [`ForgetGate`] | attention scores, with a look at hidden states | [`Fox`](gates::Fox) (FoX) |
//!
//! [`PositionalScheme`] is any scheme of this crate, chosen by name or from data. It also has the hooks [`Embed`] and
//! [`Rotate`] and the methods [`score_bias`](PositionalScheme::score_bias) and
//! [`weight_bias`](PositionalScheme::weight_bias), which do nothing where the scheme does not act. The layer below has
//! causal attention with a cache, and takes all schemes but the last two lines (Inkling, FoX). For these `score_bias`
//! returns an error: the layer would have to call [`as_hidden_bias`](Positional::as_hidden_bias) and
//! [`as_forget_gate`](Positional::as_forget_gate).
//!
//! ```
#![doc = include_str!("../examples/attention.rs")]
//! ```
//!
//! The crate `pe-encoder` is a whole encoder and decoder like this, with kernels, for any [`Positional`].
//!
//! # What else there is
//!
//! | to | use |
//! |---|---|
//! | say which position each token has (offsets, ids, padding, packing, times) | [`Positions`] |
//! | encode images and video | [`Axes`] with `with_axes`, [`Grid`] as [`Positions`] |
//! | give tokens several coordinates: scaled images, points, text among images | [`Coordinates`], [`coordinates`] |
//! | add the relative positions of a vision model | [`SwinRelativeBias`](grid::SwinRelativeBias), [`SwinV2RelativeBias`](grid::SwinV2RelativeBias), [`BeitRelativeBias`](grid::BeitRelativeBias), [`LevitRelativeBias`](grid::LevitRelativeBias), [`DecomposedRelativeBias`](grid::DecomposedRelativeBias) |
//! | add positions by a convolution | [`Wav2Vec2PositionalConv`](conv::Wav2Vec2PositionalConv), [`PositionalEncodingGenerator`](conv::PositionalEncodingGenerator) |
//! | draw positions at random | [`RandomizedPositions`] |
//! | choose a scheme by name or from a file | [`PositionalConfig`] |
//! | rotate by learned frequencies, or by mixtures of them (FoPE) | [`rotary`] |
//! | write a scheme of your own | [`Positional`]; for a rotation [`RotateByRows`] |
//! | choose how embeddings are scaled, initialized, resized | [`embedding`] |
//! | rotate as a model at Hugging Face does, layer by layer | the crate `pe-models`; [`QueryScale`](rotary::QueryScale) |
//! | read longer inputs than a model was trained on | [`RopeScaling`], [`scaling`], [`DualChunk`](rotary::DualChunk) |
//! | use weights of another library or layout | [`Formula`], [`convert_layout`], [`convert_heads`] |
//! | read a trained table, fit it to other lengths, image sizes and windows | [`LearnedPositionalEmbedding`], [`Extension`](embedding::Extension), [`Resampling`](embedding::Resampling) |
//! | look at frequencies, wavelengths, similarities, exact rows | [`Spectrum`] |
//!
//! # Errors
//!
//! Bad input is a [`PositionError`] that names the value and the bound. The hooks have two forms each:
//! `try_embed`, `try_rotate`, `try_bias` return it, and `embed`, `rotate`, `bias` panic with its message,
//! at the line of the caller; so do `try_score_bias` and `score_bias`, `try_weight_bias` and `weight_bias`, `try_hidden_bias` and `hidden_bias`,
//! `try_log_gates` and `log_gates`. Every configuration has `try_init` and `init` in the same way. `forward` is
//! `embed` at positions 0, 1, 2, … and panics as it does. Other methods that can fail have one form, which
//! returns a [`Result`] or says when it panics.
//!
//! # Features
//!
//! - `std` (default). Without it the crate is `no_std` and needs `alloc`.
//! - `flex`: kernels for Burn's CPU backend Flex: sums, rotations and biases in one pass over memory, on
//!   all threads.
//! - `wgpu`, `vulkan`, `metal`, `webgpu`, `cuda`, `rocm`: kernels for graphics cards: a rotation of queries
//!   and keys in one launch, where Burn takes a dozen. Each turns on Burn's backend of that name, and
//!   Burn's fusion of operations. On CubeCL's runtime for processors (Burn's feature `cpu`) there are no kernels.
//! - `checkpoint`: reads learned tables and convolutions from safetensors and PyTorch files, and writes
//!   tables to safetensors.
//!
//! The application chooses the backend, by a feature of its own `burn` dependency.

#![cfg_attr(docsrs, feature(doc_cfg))]
#![no_std]
#![warn(missing_docs)]
#![deny(unsafe_code)]

extern crate alloc;
#[cfg(any(feature = "std", test))]
extern crate std; // to detect vector instructions at run time

#[allow(unsafe_code)] // kernels and large pages; each block says why it is sound
mod backend;
mod bias;
#[cfg(feature = "checkpoint")]
mod checkpoint;
mod config;
mod embed;
mod error;
mod gate;
mod interpolate;
mod layout;
mod positional;
mod positions;
mod rotate;
mod scheme;
mod sizes;
mod spectrum;
mod tensor;
#[cfg(test)]
mod testing;

#[cfg(any(feature = "flex", feature = "cube"))]
#[doc(hidden)] // for the kernels of pe-encoder
pub use backend::autodiff;
#[cfg(feature = "cube")]
#[doc(hidden)] // likewise
pub use backend::cube::is_card;
#[doc(hidden)] // for pe-lab
pub use backend::memory::room;
#[cfg(feature = "flex")]
#[doc(hidden)] // likewise
pub use backend::{exp, exp_from, flex::matrix, threads};
pub use bias::{
    Alibi, AlibiConfig, AlibiShape, Bias, Fire, FireConfig, Heads, HiddenBias, Kerple,
    KerpleConfig, KerpleShape, ScoreBias, T5RelativeBias, T5RelativeBiasConfig, WeightBias,
};
#[cfg(feature = "checkpoint")]
pub use checkpoint::CheckpointError;
pub use embed::{
    Embed, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig,
    SinusoidalPositionalEncoding, SinusoidalPositionalEncodingConfig,
};
pub use error::PositionError;
pub use gate::ForgetGate;
pub use layout::{Layout, convert_heads, convert_layout};
pub use positional::{NoPositions, Positional};
pub use positions::{
    Axes, Coordinates, Grid, MAX_POSITION, Positions, RandomizedPositions, Tokens,
};
pub use rotate::{
    RopeScaling, RotaryPositionalEncoding, RotaryPositionalEncodingConfig, Rotate, RotateByRows,
    ToTurn, Turned, XPosPositionalEncoding, XPosPositionalEncodingConfig,
};
pub use scheme::{PositionalConfig, PositionalScheme};
pub use spectrum::{DEFAULT_BASE, Formula, Spectrum};

pub mod axes {
    //! The parts of [`Axes`](crate::Axes).
    pub use crate::positions::{Axis, AxisFrequencies, PairOrder};
}
pub mod content {
    //! Biases that look at queries and keys: [Shaw], [Transformer-XL and Conformers](TransformerXl), [DeBERTa](Deberta),
    //! [TUPE](Tupe), [CoPE](Cope). Their hook is [`ScoreBias`](crate::ScoreBias). The hook of [Inkling], which looks at
    //! hidden states, is [`HiddenBias`](crate::HiddenBias).
    pub use crate::bias::{
        Cope, CopeConfig, Deberta, DebertaConfig, Inkling, InklingConfig, RelativeLogits, Shaw,
        ShawConfig, TransformerXl, TransformerXlConfig, Tupe, TupeConfig,
    };
}
pub mod conv {
    //! Positions by a convolution over the embeddings: [wav2vec 2.0](Wav2Vec2PositionalConv) and
    //! [CPVT](PositionalEncodingGenerator). Their hook is [`Embed`](crate::Embed).
    pub use crate::embed::{
        PositionalEncodingGenerator, PositionalEncodingGeneratorConfig, Wav2Vec2PositionalConv,
        Wav2Vec2PositionalConvConfig,
    };
}
pub mod coordinates {
    //! What [`Coordinates`](crate::Coordinates) are made from: images of any size, random changes in
    //! training, and the parts of a multimodal sequence.
    pub use crate::positions::{CoordinateJitter, Normalization, Part};
}
pub mod embedding {
    //! The settings of [sinusoidal](crate::SinusoidalPositionalEncoding) and
    //! [learned](crate::LearnedPositionalEmbedding) embeddings, and learned waves of the time, [Time2Vec].
    pub use crate::bias::Resampling;
    pub use crate::embed::{
        Extension, Gain, InputScale, LengthLimit, TableInit, Time2Vec, Time2VecConfig,
    };
}
pub mod gates {
    //! Forget gates: [FoX](Fox), and gates as columns of queries and keys ([`augment`]). The hook is
    //! [`ForgetGate`](crate::ForgetGate).
    pub use crate::gate::{Fox, FoxConfig, augment};
}
pub mod grid {
    //! Relative positions on the [`Grid`](crate::Grid) of an image, as vision models add them to attention
    //! scores: [Swin](SwinRelativeBias), [Swin V2](SwinV2RelativeBias), [BEiT](BeitRelativeBias),
    //! [LeViT](LevitRelativeBias), [SAM and MViT](DecomposedRelativeBias).
    pub use crate::bias::{
        BeitRelativeBias, BeitRelativeBiasConfig, DecomposedRelativeBias,
        DecomposedRelativeBiasConfig, LevitRelativeBias, LevitRelativeBiasConfig, SwinRelativeBias,
        SwinRelativeBiasConfig, SwinV2RelativeBias, SwinV2RelativeBiasConfig, TableBias,
    };
}
pub mod rotary {
    //! Relatives of RoPE: [learned frequencies](MixedRotary) for images, [FoPE](Fope), [PoPE](Pope), and the positions
    //! of [dual chunk attention](DualChunk); factors of queries that grow with their position ([`QueryScale`]).
    pub use crate::rotate::{
        ChunkPart, DualChunk, Fope, FopeConfig, MixedRotary, MixedRotaryConfig, Pope, PopeConfig,
        QueryScale,
    };
}
/// The scalings of RoPE, a type each, with their settings as fields: see [`RopeScaling`]; and the [`Fields`](scaling::Fields)
/// of the file that they are read from.
pub mod scaling {
    pub use crate::rotate::scaling::types::*;
    pub use crate::rotate::scaling::{Fields, Value};
}
pub mod weights {
    //! What is added to attention weights, after the softmax: [eRPE](Erpe). The hook is [`WeightBias`](crate::WeightBias).
    pub use crate::bias::{Erpe, ErpeConfig};
}

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
