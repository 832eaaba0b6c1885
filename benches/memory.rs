//! The most memory that a training step of a causal language model takes, against PyTorch and Burn's own modules.
//!
//! ```text
//! cargo bench -p pe-benches -p pe-lab --bench memory
//! ```
//!
//! Each way runs in a process of its own, which reads from `/proc/self/status` what is resident before the model is made, and
//! the most that was resident after three steps. `language/` has the model.

mod language;

use std::fs::read_to_string;
use std::process::Command;

use burn::tensor::Device;
use language::{Sizes, burns, ours};
use pe_benches::{Measured, Peers, Row, Target, Unit, cores, json};
use pe_burn::PositionalConfig;

/// The allocator of the program that trains.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

/// Says to a process of this program which way it is to measure.
const WAY: &str = "PE_BENCH_MEMORY";

const SIZES: Sizes = Sizes {
    d_model: 384,
    layers: 6,
    heads: 6,
    causal: true,
    shape: [16, 256],
};

fn main() {
    if let Ok(way) = std::env::var(WAY) {
        return println!("{}", of_steps(&way));
    }
    let mut missing = Vec::new();
    let mut ways = vec![
        Measured::exact("pe-encoder", cores(), None, in_a_process("ours")),
        Measured::exact("burn::nn modules", cores(), None, in_a_process("burns")),
    ];
    let model = [SIZES.d_model, SIZES.layers, SIZES.heads];
    let request = json!({"case": "memory", "with": "fused", "sizes": model, "shape": SIZES.shape, "steps": 3});
    let theirs = "PyTorch, eager, fused attention";
    match Peers::start().ask(&request) {
        Ok(answer) => {
            let bytes = answer["bytes"].as_f64().expect("a number of bytes");
            let target = Some(Target::Within(0.6));
            ways.push(Measured::exact(theirs, cores(), target, bytes));
        }
        Err(reason) => missing.push(format!("{theirs}: {reason}")),
    }
    let ([batch, seq], [d_model, layers, _]) = (SIZES.shape, model);
    Row {
        bench: format!(
            "memory of a causal training step, {layers} layers, width {d_model}, batch {batch}, seq {seq}"
        ),
        unit: Unit::Bytes,
        rounds: 1,
        ways,
        missing,
        note: None,
    }
    .print();
}

/// The bytes that another process of this program measured.
fn in_a_process(way: &str) -> f64 {
    let program = std::env::current_exe().expect("the path of this program");
    let output = Command::new(program).env(WAY, way).output();
    let output = output.expect("a program that has just been started");
    assert!(
        output.status.success(),
        "{}",
        String::from_utf8_lossy(&output.stderr)
    );
    let text = String::from_utf8_lossy(&output.stdout);
    text.trim().parse().expect("a number of bytes")
}

/// The most bytes that three steps made resident, less those that were resident before the model was made.
fn of_steps(way: &str) -> f64 {
    let device = Device::flex().autodiff();
    let Sizes { d_model, heads, .. } = SIZES;
    let seq = SIZES.shape[1];
    let scheme =
        PositionalConfig::by_name("sinusoidal", d_model, heads, seq).expect("a known name");
    let before = resident("VmRSS");
    let mut step: Box<dyn FnMut()> = match way {
        "ours" => Box::new(ours(SIZES, &scheme, &device)),
        _ => Box::new(burns(SIZES, &scheme, &device)),
    };
    (0..3).for_each(|_| step());
    resident("VmHWM") - before
}

/// A number of bytes that Linux counts for this process.
fn resident(name: &str) -> f64 {
    let status = read_to_string("/proc/self/status").expect("Linux");
    let line = status.lines().find(|line| line.starts_with(name));
    let number = line.and_then(|line| line.split_whitespace().nth(1)?.parse::<f64>().ok());
    number.expect("a line such as `VmHWM: 1234 kB`") * 1024.0
}
