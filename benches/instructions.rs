//! Runs one operation a given number of times, for `scripts/check-instructions` to count instructions.
//!
//! ```text
//! instructions table 10       instructions forward 10
//! instructions decode 10      instructions rotate 10
//! ```

use std::hint::black_box;

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Embed, Positions, RotaryPositionalEncodingConfig, Rotate, SinusoidalPositionalEncodingConfig,
    Spectrum,
};

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(what), Some(Ok(times)), None) = (
        arguments.next(),
        arguments.next().map(|times| times.parse::<usize>()),
        arguments.next(),
    ) else {
        panic!("usage: instructions table|forward|decode|rotate TIMES");
    };
    let device = Device::flex();
    let forward = |shape: [usize; 3], start: usize| {
        let pe = SinusoidalPositionalEncodingConfig::new(shape[2]).with_max_len(1_024);
        let (pe, at) = (pe.init(&device), Positions::from(start));
        let x = Tensor::<3>::zeros(shape, &device);
        drop(black_box((0..times).fold(x, |x, _| pe.embed(x, &at))));
    };
    match what.as_str() {
        // Small enough for one thread: what other threads do is not the same in every run.
        "table" => {
            for _ in 0..times {
                drop(black_box(
                    Spectrum::new(128, 1e4)
                        .unwrap()
                        .rows::<f32>(0..1_000)
                        .unwrap(),
                ));
            }
        }
        "forward" => forward([8, 128, 64], 0),
        "decode" => forward([1, 1, 512], 7),
        // A decoding step: the queries and the keys of one token.
        "rotate" => {
            let rope = RotaryPositionalEncodingConfig::new(128).init(&device);
            let at = Positions::from(7);
            let heads = |heads| Tensor::<4>::zeros([1, heads, 1, 128], &device);
            let both = (heads(32), heads(8));
            let both = (0..times).fold(both, |(q, k), _| rope.rotate(q, k, &at));
            drop(black_box(both));
        }
        what => panic!("table, forward, decode or rotate, not {what}"),
    }
}
