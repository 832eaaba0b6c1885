//! A training step of a causal language model of `pe-encoder`, against PyTorch and against Burn's own modules.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench causal_step
//! ```
//!
//! `language/` has the model, of 4 layers and width 128.

mod language;

use burn::tensor::Device;
use language::{Sizes, burns, ours};
use pe_benches::{Comparison, Peers, Target, cores, json};
use pe_burn::PositionalConfig;

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() {
    let peers = Peers::start();
    let device = Device::flex().autodiff();
    for (batch, seq, rounds) in [(32, 256, 8), (8, 256, 32), (8, 1_024, 8)] {
        let case = |with: &str| json!({"case": "causal_step", "with": with, "shape": [batch, seq]});
        let title = format!("causal training step, flex, batch {batch}, seq {seq}");
        let within = || Some(Target::Within(1.0));
        let sizes = Sizes {
            d_model: 128,
            layers: 4,
            heads: 4,
            causal: true,
            shape: [batch, seq],
        };
        let scheme = PositionalConfig::by_name("sinusoidal", 128, 4, seq).expect("a known name");
        Comparison::new(title, rounds)
            .way("pe-encoder", cores(), None, ours(sizes, &scheme, &device))
            .way(
                "burn::nn modules",
                cores(),
                None,
                burns(sizes, &scheme, &device),
            )
            .peer(
                &peers,
                "PyTorch, eager, fused attention",
                within(),
                case("fused"),
            )
            .peer(
                &peers,
                "PyTorch, eager, products and softmax",
                within(),
                case("plain"),
            )
            .run();
    }
}
