//! The sinusoidal buffer of a PyTorch model: the same values, and more exact at far positions.
//!
//! The module of PyTorch's tutorial registers a buffer `pe`, `[1, max_len, d_model]`, and models save
//! it with their weights; the one read here was written by PyTorch (run it from the root). A Burn model
//! need not load it: the configuration makes the same rows, exactly.

use std::error::Error;

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Embed, LearnedPositionalEmbeddingConfig, Positions, SinusoidalPositionalEncodingConfig,
    Spectrum,
};

const D_MODEL: usize = 16;
const MAX_LEN: usize = 5_000;

fn main() -> Result<(), Box<dyn Error>> {
    let path = "tests/peers/checkpoints/tutorial/model.safetensors";
    let device = Device::flex();
    // Read as a table, to look at it.
    let theirs = LearnedPositionalEmbeddingConfig::new(D_MODEL, MAX_LEN).init_from_file(
        path,
        "pos_encoder.pe",
        &device,
    )?;
    let ours = SinusoidalPositionalEncodingConfig::new(D_MODEL).init(&device);
    let exact = Spectrum::new(D_MODEL, 10_000.0)?;

    println!("positions          theirs − ours   theirs off by   ours off by");
    for (start, end) in [(0, 10), (10, 100), (100, 1_000), (1_000, MAX_LEN)] {
        let (positions, seq) = (Positions::from(start), end - start);
        let [theirs, ours] = [
            theirs.encode(&positions, seq)?,
            ours.encode(&positions, seq)?,
        ]
        .map(numbers);
        let exact: Vec<f64> = exact.rows(start..end)?;
        println!(
            "{start:>5} to {:<5}     {:>10.1e}      {:>10.1e}    {:>10.1e}",
            end - 1,
            largest_difference(&theirs, &ours),
            largest_difference(&theirs, &exact),
            largest_difference(&ours, &exact),
        );
    }

    // In the model the buffer becomes one line, and no length is too long.
    let x = Tensor::<3>::zeros([1, 1, D_MODEL], &device);
    let far = numbers(ours.embed(x, &Positions::from(10_000_000)));
    println!("\nposition 10,000,000: {far:.3?}");
    Ok(())
}

fn numbers(rows: Tensor<3>) -> Vec<f64> {
    rows.into_data().iter().collect()
}

fn largest_difference(a: &[f64], b: &[f64]) -> f64 {
    let pairs = a.iter().zip(b);
    pairs.map(|(a, b)| (a - b).abs()).fold(0.0, f64::max)
}
