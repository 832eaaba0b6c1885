//! The pictures that explain positional encodings.
//!
//! Those of the sinusoidal encoding are the ones that most explanations of it show: the table as a [`heatmap`], its
//! values as [`curves`], its [`frequencies`], its pairs of columns as [`clocks`], and the
//! [`similarity`] between positions. [`distance`] shows what rotary positions and ALiBi do to scores. Each function returns the text of an SVG;
//! [`draw::write`](crate::draw::write()) saves it as SVG, PNG or PDF.

pub mod clocks;
pub mod curves;
pub mod distance;
mod encoding;
pub mod frequencies;
pub mod heatmap;
mod matrix;
pub mod similarity;
mod text;

pub use encoding::{Encoding, MAX_D_MODEL, MAX_ENTRIES, MAX_SEQ_LEN};
