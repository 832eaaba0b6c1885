//! Adding the encoding to a batch, against Burn's own module and against a plain loop.
//!
//! ```text
//! cargo bench -p pe-benches --bench forward
//! ```

use std::hint::black_box;

use burn::nn::PositionalEncodingConfig;
use burn::tensor::{Device, Tensor};
use pe_benches::compare;
use pe_burn::{Positions, SinusoidalPositionalEncodingConfig};

fn main() {
    let device = Device::flex();
    for [batch, seq, d_model] in [[8, 128, 64], [32, 512, 512], [1, 1, 512], [32, 1, 512]] {
        let ours = SinusoidalPositionalEncodingConfig::new(d_model).init(&device);
        let burn = PositionalEncodingConfig::new(d_model).init(&device);
        let fresh = || Some(Tensor::<3>::zeros([batch, seq, d_model], &device));
        // An input that nobody else holds goes from call to call, as through the layers of a model.
        let (mut a, mut b, mut c) = (fresh(), fresh(), fresh());
        let mut plain = vec![0.0_f32; batch * seq * d_model];
        let row = vec![0.5_f32; seq * d_model];
        let shared = fresh();
        let at = Positions::from(7);
        compare(
            &format!("forward {batch} x {seq} x {d_model}"),
            if batch * seq > 10_000 { 40 } else { 2_000 },
            vec![
                (
                    "pe-burn, owned",
                    Box::new(|| a = a.take().map(|x| ours.forward(x))),
                ),
                (
                    "pe-burn, owned, from a start",
                    Box::new(|| c = c.take().map(|x| ours.forward_at(x, &at))),
                ),
                (
                    "burn::nn::PositionalEncoding, owned",
                    Box::new(|| b = b.take().map(|x| burn.forward(x))),
                ),
                (
                    "a plain loop over the same bytes",
                    Box::new(|| {
                        for chunk in plain.chunks_mut(row.len()) {
                            chunk.iter_mut().zip(&row).for_each(|(x, pe)| *x += pe);
                        }
                        black_box(&plain);
                    }),
                ),
                (
                    "pe-burn, shared",
                    Box::new(|| drop(black_box(shared.clone().map(|x| ours.forward(x))))),
                ),
            ],
        );
    }
}
