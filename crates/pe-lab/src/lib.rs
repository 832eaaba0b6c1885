//! The laboratory: which positional encoding, for which data?
//!
//! A study trains a tiny transformer encoder with each positional scheme on each task, at several
//! seeds, and reports who wins. From the ground up: [`task`] says what is to be learned, [`model`]
//! what learns it, [`trial`] runs one of them, [`study`] runs them all, [`report`] shows the result.

#![warn(missing_docs)]
#![recursion_limit = "256"]

pub mod batch;
pub mod cli;
pub mod data;
pub mod device;
pub mod error;
pub mod evaluate;
pub mod files;
mod grouped;
pub mod model;
pub mod plan;
pub mod plot;
pub mod report;
pub mod rng;
pub mod scheme;
mod silent;
pub mod stats;
pub mod study;
pub mod task;
pub mod tasks;
pub mod train;
pub mod trial;
pub mod worker;
