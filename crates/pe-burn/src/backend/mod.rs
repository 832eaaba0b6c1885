//! Everything that knows a backend: kernels for Flex, operations recorded in Burn's autodiff graph,
//! threads and memory. All `unsafe` code of this crate is here.

mod addend;
#[cfg(feature = "flex")]
pub mod autodiff;
#[cfg(feature = "flex")]
pub(crate) mod flex;
pub(crate) mod memory;
pub(crate) mod threads;

pub(crate) use addend::Addend;
