//! How long operations take on every device of the build: median microseconds from the call to the end of
//! its work. Each is run in turn with a bare `x + 1` over the same bytes, which reads and writes them once,
//! and with Burn's own modules.
#![recursion_limit = "256"]

use std::time::Instant;

use burn::nn::transformer::{TransformerEncoderConfig, TransformerEncoderInput};
use burn::nn::{PositionalEncodingConfig, RotaryEncodingConfig};
use burn::optim::{AdamConfig, GradientsParams, ModuleOptimizer};
use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::{
    AlibiConfig, Bias, PositionalConfig, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig,
};
use pe_encoder::{Adam, EncoderConfig, Kernels};

/// The first rounds compile kernels and fill the memory pools.
const WARM_UP: usize = 10;
const ROUNDS: usize = 50;

fn main() {
    println!("device\toperation\tsize\tours_us\tx_plus_1_us\tburn_nn_us\tto_x_plus_1\tto_burn_nn");
    for device in pe_tests::devices() {
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
        for size in [[1, 1, 512], [8, 128, 64], [32, 512, 512], [64, 1024, 512]] {
            print("sum", &size, sum(&device, size));
        }
        for size in [[1, 32, 1, 128], [8, 8, 512, 64], [8, 16, 2048, 64]] {
            print("rotation", &size, rotation(&device, size));
        }
        for size in [[8, 128, 128], [16, 2048, 2048]] {
            print("bias", &size, bias(&device, size));
        }
        print("training step", &[8, 32, 64], training_step(&device));
    }
}

/// The median time of each contender, in turn, each with an input that it does not share.
fn medians<T: Clone, const N: usize>(
    device: &Device,
    fresh: impl Fn() -> T,
    contenders: [&dyn Fn(T); N],
) -> [f64; N] {
    let mut times = [const { Vec::new() }; N];
    for round in 0..WARM_UP + ROUNDS {
        for (work, times) in contenders.iter().zip(&mut times) {
            let x = fresh();
            device.sync().unwrap();
            let start = Instant::now();
            work(x);
            device.sync().unwrap();
            if round >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
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
        [
            &|x| drop(ours.forward(x)),
            &|x| drop(x.add_scalar(1.0)),
            &|x| drop(burns.forward(x)),
        ],
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
            &|x| drop(ours.rotate_queries(x, &at)),
            &|x| drop(x.add_scalar(1.0)),
            &|x| drop(burns.forward(x)),
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
            &|_| drop(alibi.bias((&at, queries), (&at, keys))),
            &|x: Tensor<4>| drop(x.add_scalar(1.0)),
        ],
    );
    [Some(ours), Some(floor), None]
}

/// A step of two layers, d_model 64, on `[batch, seq, d_model]` of 8 × 32 × 64: forward, backward and Adam.
fn training_step(device: &Device) -> [Option<f64>; 3] {
    use std::cell::RefCell;

    let autodiff = device.clone().autodiff();
    let source = Tensor::<3>::random([8, 32, 64], Distribution::Default, &autodiff);
    let config = TransformerEncoderConfig::new(64, 256, 4, 2)
        .with_dropout(0.0)
        .with_norm_first(true);
    let burns = RefCell::new((config.init(&autodiff), AdamConfig::new().init()));
    let adam = ModuleOptimizer::from(Adam {
        beta_1: 0.9,
        beta_2: 0.999,
        epsilon: 1e-5,
        clip_norm: None,
        kernels: Kernels::Auto,
    });
    let encoder = EncoderConfig::new(64, 256, 4, 2).init(&autodiff);
    let ours = RefCell::new((encoder, adam));
    let none = PositionalConfig::None {}.init(&autodiff);
    let [ours, burns] = medians(
        device,
        || source.clone(),
        [
            &|x| {
                let (model, adam) = &mut *ours.borrow_mut();
                let y = model.forward(x, None, &none, &Positions::default());
                let gradients =
                    GradientsParams::from_grads(y.powi_scalar(2).mean().backward(), model);
                *model = adam.step(1e-3, model.clone(), gradients);
            },
            &|x| {
                let (model, adam) = &mut *burns.borrow_mut();
                let y = model.forward(TransformerEncoderInput::new(x));
                let gradients =
                    GradientsParams::from_grads(y.powi_scalar(2).mean().backward(), model);
                *model = adam.step(1e-3, model.clone(), gradients);
            },
        ],
    );
    [Some(ours), None, Some(burns)]
}
