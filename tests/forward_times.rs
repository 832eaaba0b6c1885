//! How long operations take on every graphics card of the build, or on the processor where there is none: median
//! microseconds from the call to the end of its work. Each is run in turn with a bare `x + 1` over the same bytes, which reads and writes them once,
//! and with Burn's own modules. A share of 80 % of the speed of `x + 1` is a ratio of 1.25 to it.
//!
//! Arguments name some of the operations, as `sum rotation`. `scripts/bench-gpu` runs each in a process of its own, so that a driver
//! that crashes in one leaves the others.
#![recursion_limit = "256"]

#[path = "../benches/language/mod.rs"]
mod language;

use std::cell::RefCell;
use std::time::{Duration, Instant};

use burn::nn::{PositionalEncodingConfig, RotaryEncodingConfig};
use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::{
    AlibiConfig, Bias, PositionalConfig, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig,
};

/// `[d_model, layers, heads]`, and `[batch, seq]`, as in `benches/peers/gpu.py`.
const MODELS: [([usize; 3], [usize; 2]); 4] = [
    ([128, 4, 4], [8, 32]),
    ([128, 4, 4], [12, 64]), // nanoGPT's setting for a processor
    ([128, 4, 4], [32, 256]),
    ([384, 6, 6], [16, 256]),
];
/// The first rounds compile kernels and fill the memory pools.
const WARM_UP: usize = 10;
const ROUNDS: usize = 50;
/// No more rounds are counted once an operation has taken this long.
const LONGEST: Duration = Duration::from_secs(20);

fn main() {
    let names = std::env::args().skip(1);
    let names: Vec<String> = names.filter(|name| !name.starts_with('-')).collect();
    let is_asked = |name: &str| names.is_empty() || names.iter().any(|asked| asked == name);
    println!("device\toperation\tsize\tours_us\tx_plus_1_us\tburn_nn_us\tto_x_plus_1\tto_burn_nn");
    let mut devices = pe_tests::devices();
    if devices.len() > 1 {
        devices.remove(0); // Flex, which is always the first
    }
    for device in devices {
        let print = |operation: &str, size: &[usize], [ours, floor, burns]: [Option<f64>; 3]| {
            let number = |time: Option<f64>| time.map_or("-".into(), |time| format!("{time:.1}"));
            let ratio = |to: Option<f64>| match (ours, to) {
                (Some(ours), Some(to)) => format!("{:.2}", ours / to),
                _ => "-".into(),
            };
            println!(
                "{device:?}\t{operation}\t{size:?}\t{}\t{}\t{}\t{}\t{}",
                number(ours),
                number(floor),
                number(burns),
                ratio(floor),
                ratio(burns)
            );
        };
        if is_asked("sum") {
            for size in [[1, 1, 512], [8, 128, 64], [32, 512, 512], [64, 1024, 512]] {
                print("sum", &size, sum(&device, size));
            }
        }
        if is_asked("rotation") {
            for size in [[1, 32, 1, 128], [8, 8, 512, 64], [8, 16, 2048, 64]] {
                print("rotation", &size, rotation(&device, size));
            }
        }
        if is_asked("bias") {
            for size in [[8, 128, 128], [16, 2048, 2048]] {
                print("bias", &size, bias(&device, size));
            }
        }
        if is_asked("training_step") {
            for ([d_model, layers, heads], shape) in MODELS {
                let step = format!("training step, {layers} × {d_model}");
                let times = training_step(&device, [d_model, layers, heads], shape);
                print(&step, &shape, times);
            }
        }
    }
}

/// The median time of each contender, in turn, each with an input that it does not share. What a contender returns is held until its
/// work has ended: Burn's fusion does not write what nobody holds.
fn medians<T: Clone, R, const N: usize>(
    device: &Device,
    fresh: impl Fn() -> T,
    contenders: [&dyn Fn(T) -> R; N],
) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    let started = Instant::now();
    for round in 0..WARM_UP + ROUNDS {
        if round > WARM_UP && started.elapsed() > LONGEST {
            break;
        }
        for (work, times) in contenders.iter().zip(&mut times) {
            let x = fresh();
            device.sync().unwrap();
            let start = Instant::now();
            let held = work(x);
            device.sync().unwrap();
            if round >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            drop(held);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}

/// Sinusoidal rows added to `[batch, seq, d_model]`.
fn sum(device: &Device, size: [usize; 3]) -> [Option<f64>; 3] {
    let [_, seq, d_model] = size;
    let ours = SinusoidalPositionalEncodingConfig::new(d_model)
        .with_max_len(seq)
        .init(device);
    let burns = PositionalEncodingConfig::new(d_model)
        .with_max_sequence_size(seq)
        .init(device);
    let source = Tensor::<3>::random(size, Distribution::Default, device);
    medians(
        device,
        || source.clone().mul_scalar(2.0),
        [&|x| ours.forward(x), &|x| x.add_scalar(1.0), &|x| {
            burns.forward(x)
        }],
    )
    .map(Some)
}

/// Queries, `[batch, heads, seq, d_head]`.
fn rotation(device: &Device, size: [usize; 4]) -> [Option<f64>; 3] {
    let [_, _, seq, d_head] = size;
    let ours = RotaryPositionalEncodingConfig::new(d_head)
        .with_max_len(seq)
        .init(device);
    let burns = RotaryEncodingConfig::new(seq, d_head).init(device);
    let source = Tensor::<4>::random(size, Distribution::Default, device);
    let at = Positions::default();
    medians(
        device,
        || source.clone().mul_scalar(2.0),
        [
            &|x| ours.rotate_queries(x, &at),
            &|x| x.add_scalar(1.0),
            &|x| burns.forward(x),
        ],
    )
    .map(Some)
}

/// ALiBi's bias, `[heads, queries, keys]`. It is written and not read, so the floor is less than `x + 1`.
fn bias(device: &Device, [heads, queries, keys]: [usize; 3]) -> [Option<f64>; 3] {
    let alibi = AlibiConfig::new(heads).init(device);
    let source = Tensor::<4>::zeros([1, heads, queries, keys], device);
    let at = Positions::default();
    let [ours, floor] = medians(
        device,
        || source.clone().mul_scalar(2.0),
        [
            &|_| alibi.bias((&at, queries), (&at, keys)),
            &|x: Tensor<4>| x.add_scalar(1.0),
        ],
    );
    [Some(ours), Some(floor), None]
}

/// A step of a causal language model on `[batch, seq]`.
fn training_step(
    device: &Device,
    [d_model, layers, heads]: [usize; 3],
    shape: [usize; 2],
) -> [Option<f64>; 3] {
    let autodiff = device.clone().autodiff();
    let sizes = language::Sizes {
        d_model,
        layers,
        heads,
        causal: true,
        shape,
    };
    let scheme = PositionalConfig::by_name("sinusoidal", d_model, heads, shape[1]);
    let scheme = scheme.expect("a known name");
    let ours = RefCell::new(language::ours(sizes, &scheme, &autodiff));
    let burns = RefCell::new(language::burns(sizes, &scheme, &autodiff));
    let [ours, burns] = medians(
        device,
        || (),
        [&|()| (ours.borrow_mut())(), &|()| (burns.borrow_mut())()],
    );
    [Some(ours), None, Some(burns)]
}
