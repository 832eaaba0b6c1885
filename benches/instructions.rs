//! Runs one operation a given number of times, for `scripts/check-instructions` to count instructions.
//!
//! ```text
//! instructions table 10       instructions forward 10
//! instructions decode 10      instructions rotate 10
//! instructions train 10       instructions token 10
//! instructions step-rotary 10
//! ```
//!
//! A step is one of `language/` with the scheme of that name, `none` among them.

mod language;

use std::hint::black_box;

use burn::tensor::{Device, Tensor};
use language::{Sizes, ours};
use pe_burn::{
    Embed, Positional, PositionalConfig, Positions, RotaryPositionalEncodingConfig, Rotate,
    SinusoidalPositionalEncodingConfig, Spectrum,
};
use pe_encoder::EncoderConfig;

fn main() {
    let mut arguments = std::env::args().skip(1);
    let (Some(what), Some(Ok(times)), None) = (
        arguments.next(),
        arguments.next().map(|times| times.parse::<usize>()),
        arguments.next(),
    ) else {
        panic!("usage: instructions table|forward|decode|rotate|train|token|step-NAME TIMES");
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
        // Forward and backward through an encoder, as small as a step comes: what is not arithmetic counts most.
        "train" => {
            let device = device.autodiff();
            let rope = RotaryPositionalEncodingConfig::new(16).init(&device);
            let scheme: &dyn Positional = &rope;
            let encoder = EncoderConfig::new(64, 256, 4, 2).init(&device);
            let x = Tensor::<3>::ones([4, 32, 64], &device);
            for _ in 0..times {
                let y = encoder.forward(x.clone(), None, scheme, &Positions::default());
                drop(black_box(y.mean().backward()));
            }
        }
        // A token of a decoder with a cache of 128.
        "token" => {
            let rope = RotaryPositionalEncodingConfig::new(32).init(&device);
            let scheme: &dyn Positional = &rope;
            let decoder = EncoderConfig::new(128, 512, 4, 4).with_causal(true);
            let decoder = decoder.init(&device);
            let mut prompt = decoder.caches();
            let ones = |tokens| Tensor::<3>::ones([1, tokens, 128], &device);
            decoder.forward_cached(ones(128), scheme, &mut prompt);
            for _ in 0..times {
                let mut caches = prompt.clone();
                drop(black_box(decoder.forward_cached(
                    ones(1),
                    scheme,
                    &mut caches,
                )));
            }
        }
        what => match what.strip_prefix("step-") {
            Some(name) => step(name, times),
            None => panic!("table, forward, decode, rotate, train, token or step-…, not {what}"),
        },
    }
}

/// Training steps of two layers of width 64 on eight sequences of 22 tokens.
fn step(name: &str, times: usize) {
    let sizes = Sizes {
        d_model: 64,
        layers: 2,
        heads: 4,
        causal: name == "cope",
        shape: [8, 22],
    };
    let scheme = PositionalConfig::by_name(name, 64, 4, 22).expect("a known name");
    let mut step = ours(sizes, &scheme, &Device::flex().autodiff());
    (0..times).for_each(|_| step());
}
