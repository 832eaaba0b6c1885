//! A training step of a causal language model of `pe-encoder`, against PyTorch, against Burn's own modules, and against the
//! products of the step alone at the speed of a large one.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench causal_step
//! cargo bench -p pe-benches -p pe-lab --bench causal_step -- "width 384"
//! ```
//!
//! `language/` has the model.

mod language;

use burn::tensor::{Device, Distribution, Tensor};
use language::{Sizes, burns, ours};
use pe_benches::{Comparison, Peers, Target, cores, join_kernels, json};
use pe_burn::PositionalConfig;

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// What a step is held against.
#[derive(Clone, Copy)]
enum Goal {
    /// The same time as PyTorch, eager.
    Eager,
    /// So many times that of PyTorch, compiled, and so many times that of the products.
    Compiled(f64, Option<f64>),
}

/// `d_model`, layers, heads, batch, tokens; and how often each step is timed.
const CASES: [([usize; 5], usize, Goal); 5] = [
    ([128, 4, 4, 32, 256], 8, Goal::Eager),
    ([128, 4, 4, 8, 256], 32, Goal::Eager),
    ([128, 4, 4, 8, 1_024], 8, Goal::Eager),
    // nanoGPT's setting for a processor.
    ([128, 4, 4, 12, 64], 40, Goal::Compiled(0.6, None)),
    // At most 1.67, 1 ÷ 0.6, of what the products take at the speed of a large one.
    ([384, 6, 6, 16, 256], 4, Goal::Compiled(0.85, Some(1.67))),
];

fn main() {
    join_kernels();
    let peers = Peers::start();
    let device = Device::flex().autodiff();
    for ([d_model, layers, heads, batch, seq], rounds, goal) in CASES {
        let sizes = Sizes {
            d_model,
            layers,
            heads,
            causal: true,
            shape: [batch, seq],
        };
        let case = |with: &str| {
            let model = [d_model, layers, heads];
            json!({"case": "causal_step", "with": with, "sizes": model, "shape": [batch, seq]})
        };
        let of = match [d_model, layers] {
            [128, 4] => String::new(),
            _ => format!("{layers} layers, width {d_model}, "),
        };
        let title = format!("causal training step, flex, {of}batch {batch}, seq {seq}");
        let scheme =
            PositionalConfig::by_name("sinusoidal", d_model, heads, seq).expect("a known name");
        let eager = match goal {
            Goal::Eager => Some(Target::Within(1.0)),
            Goal::Compiled(..) => None,
        };
        let comparison = Comparison::new(title, rounds)
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
                eager,
                case("fused"),
            );
        match goal {
            Goal::Eager => comparison.peer(
                &peers,
                "PyTorch, eager, products and softmax",
                eager,
                case("plain"),
            ),
            Goal::Compiled(most, of_products) => {
                let most = Some(Target::Within(most));
                let comparison =
                    comparison.peer(&peers, "PyTorch, compiled", most, case("compiled"));
                match of_products {
                    None => comparison,
                    most => comparison.way(
                        "as many operations in products of 1024 × 1024",
                        cores(),
                        most.map(Target::Within),
                        products(sizes),
                    ),
                }
            }
        }
        .run();
    }
}

/// As many additions and multiplications as the products of a step take, forward and backward, as products of large matrices.
/// Of the scores of causal attention half count.
fn products(sizes: Sizes) -> impl FnMut() {
    const SIDE: usize = 1_024;
    let [batch, seq] = sizes.shape;
    let (tokens, width) = ((batch * seq) as f64, sizes.d_model as f64);
    // Queries, keys and values, their output, and a feed-forward layer of four times the width; scores and contexts.
    let layer = 2.0 * tokens * (12.0 * width * width + seq as f64 * width);
    let operations = 3.0 * sizes.layers as f64 * layer;
    let count = (operations / (2 * SIDE.pow(3)) as f64).round() as usize;
    let device = Device::flex();
    let [a, b] =
        [(); 2].map(|()| Tensor::<2>::random([SIDE, SIDE], Distribution::Default, &device));
    move || {
        for _ in 0..count {
            drop(a.clone().matmul(b.clone()));
        }
    }
}
