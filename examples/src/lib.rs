//! Small programs made to be read, one idea each:
//!
//! | run | to see |
//! |---|---|
//! | `cargo run --release -p pe-examples --example adopting` | positions by hand, and the lines in place of them, by kind of layer |
//! | `… --example decoder [folder]` | a Llama, Mistral, Qwen, SmolLM3, Gemma or Phi-3 from Hugging Face, with a cache |
//! | `… --example gpt_decoder [folder]` | a GPT-NeoX, GPT-J or BLOOM from Hugging Face, with a cache |
//! | `… --example hf_encoder [folder]` | a BERT, RoBERTa, DeBERTa, ModernBERT or the encoder of T5 from Hugging Face |
//! | `… --example dinov3 [folder]` | a DINOv3 from Hugging Face: pictures of any size, by the coordinates of their patches |
//! | `… --example encoder [scheme]` | a tiny causal decoder with any scheme: trained, then decoding with a cache |
//! | `… --example gpt2_positions [file name d_model max_len]` | the table of a GPT-2 checkpoint in a Burn model, and longer |
//! | `… --example pytorch_buffer` | a PyTorch model's sinusoidal buffer: the same values, and more exact at far positions |
//! | `… --example to_pytorch [folder]` | a model trained here, for PyTorch to load |
//! | `… --example vit_resize` | a vision transformer's table from 14×14 to 16×20 patches |
//! | `… --example word_and_position` | cosines of two words, of their positions and of both, in trained embeddings |
//! | `… --example tiny_encoder` | none, sinusoidal and learned trained side by side, in one file |
//!
//! Those that need nothing but `pe-burn` are in its own folder, and on docs.rs with it: `cargo run --release -p pe-burn --example drop_in`, and
//! `positions`, `spectrum` and `attention`.

mod generate;
mod weights;

pub use generate::{Cache, Decode, append, print_continuations, unseen};
pub use weights::{Linear, Norm, Result, Weights, embed, size, word};
