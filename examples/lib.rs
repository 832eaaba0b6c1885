//! Small programs made to be read, one idea each:
//!
//! | run | to see |
//! |---|---|
//! | `cargo run --release -p pe-examples --example drop_in` | a positional encoding in front of Burn's own `TransformerEncoder` |
//! | `… --example positions` | offsets, left padding, packing and explicit ids |
//! | `… --example spectrum` | what the encoding is made of: wavelengths, similarity, shifts |
//! | `… --example tiny_encoder` | none, sinusoidal and learned trained side by side, in one file |
