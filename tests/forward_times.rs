//! How long a forward pass takes on every device of the build: median microseconds from the call to
//! the end of its work, in turn with a bare `x + 1` over the same bytes and with `burn::nn`.
#![recursion_limit = "256"]

use std::time::Instant;

use burn::nn::PositionalEncodingConfig;
use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::SinusoidalPositionalEncodingConfig;

const SIZES: [[usize; 3]; 4] = [[1, 1, 512], [8, 128, 64], [32, 512, 512], [64, 1024, 512]];

/// The first rounds compile kernels and fill the memory pools.
const WARM_UP: usize = 10;
const ROUNDS: usize = 50;

fn main() {
    println!("device\tsize\tforward_us\tx_plus_1_us\tburn_nn_us\tto_x_plus_1\tto_burn_nn");
    for device in pe_tests::devices() {
        for size in SIZES {
            let [forward, floor, peer] = medians(&device, size);
            println!(
                "{device:?}\t{size:?}\t{forward:.1}\t{floor:.1}\t{peer:.1}\t{:.2}\t{:.2}",
                forward / floor,
                forward / peer
            );
        }
    }
}

fn medians(device: &Device, size: [usize; 3]) -> [f64; 3] {
    let [_, seq, d_model] = size;
    let ours = SinusoidalPositionalEncodingConfig::new(d_model)
        .with_max_len(seq)
        .init(device);
    let theirs = PositionalEncodingConfig::new(d_model)
        .with_max_sequence_size(seq)
        .init(device);
    let source = Tensor::random(size, Distribution::Default, device);
    let mut times = [const { Vec::new() }; 3];
    for round in 0..WARM_UP + ROUNDS {
        let contenders: [&dyn Fn(Tensor<3>) -> Tensor<3>; 3] =
            [&|x| ours.forward(x), &|x| x.add_scalar(1.0), &|x| {
                theirs.forward(x)
            }];
        for (forward, times) in contenders.iter().zip(&mut times) {
            // A copy that is not shared, so that each can work in place.
            let x = source.clone().mul_scalar(2.0);
            device.sync().unwrap();
            let start = Instant::now();
            let y = forward(x);
            device.sync().unwrap();
            if round >= WARM_UP {
                times.push(start.elapsed().as_secs_f64() * 1e6);
            }
            drop(y);
        }
    }
    times.map(|mut times| {
        times.sort_by(f64::total_cmp);
        times[times.len() / 2]
    })
}
