//! What each scheme makes of a training step of `pe-encoder`, against the same step without positions.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench costs
//! cargo bench -p pe-benches -p pe-lab --bench costs -- "with rotary," "with alibi,"
//! ```
//!
//! Processor time of all threads, so that other programs count little. `language/` has the model. A scheme for causal attention
//! is held against a causal model without positions.

mod language;

use burn::tensor::Device;
use language::{Sizes, ours};
use pe_benches::{Comparison, Target, cores, join_kernels};
use pe_burn::PositionalConfig;
use pe_burn::content::InklingConfig;
use pe_burn::gates::FoxConfig;
use pe_burn::rotary::FopeConfig;

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// `d_model`, layers, heads, batch, tokens; and how often each step is timed.
const SIZES: [([usize; 5], usize); 4] = [
    ([64, 2, 4, 64, 22], 40),
    ([64, 2, 4, 64, 82], 20),
    ([128, 4, 4, 12, 64], 20),
    ([384, 2, 6, 4, 256], 6),
];

fn main() {
    join_kernels();
    let device = Device::flex().autodiff();
    for ([d_model, layers, heads, batch, seq], rounds) in SIZES {
        for config in schemes([d_model, layers, heads, seq]) {
            let name = config.name();
            let sizes = Sizes {
                d_model,
                layers,
                heads,
                causal: matches!(name, "cope" | "fox"),
                shape: [batch, seq],
            };
            let step = |config: &PositionalConfig| ours(sizes, config, &device);
            let title =
                format!("training step with {name}, width {d_model}, {seq} tokens, processor time");
            Comparison::new(title, rounds)
                .processor_time()
                .way(name, cores(), None, step(&config))
                .way(
                    "without positions",
                    cores(),
                    most(name).map(Target::Within),
                    step(&PositionalConfig::None {}),
                )
                .run();
        }
    }
}

/// Every scheme for positions on a line.
fn schemes([d_model, layers, heads, seq]: [usize; 4]) -> Vec<PositionalConfig> {
    let by_name = PositionalConfig::NAMES.iter().skip(1).map(|name| {
        PositionalConfig::by_name(name, d_model, heads, seq).expect("a name of the list")
    });
    let as_data = [
        PositionalConfig::Fope(FopeConfig::new(d_model / heads, heads, seq)),
        PositionalConfig::Inkling(InklingConfig::new(d_model, heads, layers)),
        PositionalConfig::Fox(FoxConfig::new(d_model, heads, layers)),
    ];
    by_name.chain(as_data).collect()
}

/// How many times the step without positions it may take.
fn most(name: &str) -> Option<f64> {
    Some(match name {
        "rotary" | "xpos" | "sinusoidal" | "learned" | "alibi" => 1.03,
        "t5" | "kerple" => 1.05,
        "fire" | "shaw" | "transformer_xl" | "deberta" | "fox" => 1.3,
        "cope" => 1.5,
        _ => return None,
    })
}
