//! The positions of a model from Hugging Face, layer by layer, from its `config.json`, as modules of
//! [`pe_burn`].
//!
//! [`HfConfig`] reads the file; `docs/models.md` in the repository lists the model types. Without the features of
//! `pe-burn` and Burn the crate is `no_std` and needs `alloc`.

#![no_std]
#![warn(missing_docs)]
#![forbid(unsafe_code)]

extern crate alloc;
#[cfg(test)]
extern crate std;

mod columns;
mod config;
mod family;
mod json;
mod kinds;
mod layers;
mod like;
mod parameters;
mod parts;
mod probe;
mod rope;
mod schemes;
mod table;
#[cfg(test)]
mod tests;
mod towers;
mod unrotated;

pub use config::HfConfig;
pub use family::Places;
pub use layers::{AttentionSpan, LayerPositions};
pub use probe::Probe;
pub use unrotated::PlacedScheme;

/// The code in the README compiles and runs.
#[cfg(doctest)]
#[doc = include_str!("../README.md")]
struct Readme;
