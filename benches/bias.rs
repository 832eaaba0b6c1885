//! Building a bias of the scores, against PyTorch and a plain loop.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench bias
//! ```

use std::hint::black_box;

use burn::tensor::Device;
use pe_benches::{Comparison, Peers, Target, cores, json};
use pe_burn::{PositionalConfig, Positions};

fn main() {
    let peers = Peers::start();
    alibi(&peers, 8, 512);
}

fn alibi(peers: &Peers, heads: usize, seq: usize) {
    let config = PositionalConfig::by_name("alibi", 64 * heads, heads, seq);
    let scheme = config.expect("a scheme").init(&Device::flex());
    let at = Positions::default();
    Comparison::new(format!("ALiBi [1, {heads}, {seq}, {seq}]"), 40)
        .repeat(4)
        .way("pe-burn", cores(), None, || {
            // Made contiguous, as PyTorch's and the loop's are: ours may be a view.
            let bias = scheme.bias((&at, seq), (&at, seq)).expect("ALiBi has one");
            drop(black_box(bias.into_data()));
        })
        .peer(
            peers,
            "PyTorch, eager",
            Some(Target::Within(1.0)),
            json!({"case": "alibi", "heads": heads, "seq": seq}),
        )
        .way("plain loop into fresh memory", 1, None, || {
            drop(black_box(plain(heads, seq)));
        })
        .run();
}

fn plain(heads: usize, seq: usize) -> Vec<f32> {
    let mut bias = Vec::with_capacity(heads * seq * seq);
    for head in 1..=heads {
        let slope = 2_f32.powf(-8.0 * head as f32 / heads as f32);
        for query in 0..seq {
            bias.extend((0..seq).map(|key| -slope * key.abs_diff(query) as f32));
        }
    }
    bias
}
