//! A training step of a causal language model of `pe-encoder`, against PyTorch and against Burn's own modules.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench causal_step
//! ```
//!
//! `causal/` has the model.

mod causal;

use burn::tensor::Device;
use causal::{burns, ours};
use pe_benches::{Comparison, Peers, Target, cores, json};

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
        Comparison::new(title, rounds)
            .way("pe-encoder", cores(), None, ours([batch, seq], &device))
            .way(
                "burn::nn modules",
                cores(),
                None,
                burns([batch, seq], &device),
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
