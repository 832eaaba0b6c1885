//! Everything that knows a backend: kernels for Flex and for graphics cards, operations recorded in Burn's autodiff graph,
//! threads and memory. All `unsafe` code of this crate is here.

mod addend;
#[cfg(any(feature = "flex", feature = "cube"))]
pub mod autodiff;
#[cfg(feature = "cube")]
pub(crate) mod cube;
#[cfg(feature = "flex")]
pub(crate) mod flex;
pub(crate) mod memory;
pub(crate) mod threads;

pub(crate) use addend::Addend;
