//! Building the table, against Burn's own module and against copying as many bytes.
//!
//! ```text
//! cargo bench -p pe-benches --bench table
//! ```

use std::hint::black_box;

use burn::nn::PositionalEncodingConfig;
use burn::tensor::{Device, Tensor};
use pe_benches::compare;
use pe_burn::{Positions, SinusoidalPositionalEncodingConfig, Spectrum};

fn main() {
    let device = Device::flex();
    for (rows, d_model) in [(5_000, 512), (8_192, 1_024), (131_072, 128)] {
        let ours = SinusoidalPositionalEncodingConfig::new(d_model).with_max_len(rows);
        let burn = PositionalEncodingConfig::new(d_model)
            .with_max_sequence_size(rows)
            .with_max_timescale(rows.max(10_000));
        let bytes = Spectrum::new(d_model, 1e4).rows::<f32>(0..rows);
        compare(
            &format!("table {rows} x {d_model}"),
            if rows * d_model > 10_000_000 { 10 } else { 40 },
            vec![
                (
                    "pe-burn, module",
                    Box::new(|| drop(black_box(ours.init(&device)))),
                ),
                (
                    "pe-burn, rows alone",
                    Box::new(|| {
                        drop(black_box(Spectrum::new(d_model, 1e4).rows::<f32>(0..rows)));
                    }),
                ),
                (
                    "burn::nn::PositionalEncoding",
                    Box::new(|| drop(black_box(burn.init(&device)))),
                ),
                (
                    "copying as many bytes",
                    Box::new(|| drop(black_box(bytes.clone()))),
                ),
            ],
        );
        if rows == 5_000 {
            accuracy(
                rows,
                d_model,
                &ours.init(&device).encode(&Positions::default(), rows),
                "pe-burn",
            );
            let theirs = burn
                .init(&device)
                .forward(Tensor::zeros([1, rows, d_model], &device));
            accuracy(rows, d_model, &theirs, "burn::nn::PositionalEncoding");
        }
    }
}

/// The largest error of a table, against rows in f64.
fn accuracy(rows: usize, d_model: usize, table: &Tensor<3>, name: &str) {
    let exact: Vec<f64> = Spectrum::new(d_model, 1e4).rows(0..rows);
    let table = table.to_data();
    let errors = table
        .iter::<f64>()
        .zip(exact)
        .map(|(entry, exact)| (entry - exact).abs());
    println!("{name:44} largest error {:.1e}", errors.fold(0.0, f64::max));
}
