//! A vision transformer trained on 14×14 patches, on images of 16×20.
//!
//! Its table has a row for the class token and one for each patch. The rows of patches are resized
//! as the image that they are; the class token keeps its own.

use burn::tensor::{Device, Distribution, Tensor};
use pe_burn::{
    Axes, Grid, LearnedPositionalEmbedding, LearnedPositionalEmbeddingConfig, PositionError,
    Positions, SinusoidalPositionalEncodingConfig,
};

const D_MODEL: usize = 64;

fn main() -> Result<(), PositionError> {
    let device = Device::flex();
    let (from, to) = (
        Grid::image(14, 14).with_prefix(1),
        Grid::image(16, 20).with_prefix(1),
    );

    // This stands in for a trained table, which is similarly smooth: a sinusoid of the rows and columns
    // of the patches.
    let mut pe = LearnedPositionalEmbeddingConfig::new(D_MODEL, from.tokens()).init(&device);
    let config = SinusoidalPositionalEncodingConfig::new(D_MODEL).with_axes(Axes::HEIGHT_WIDTH);
    let smooth = config.init(&device).encode(&from.into(), from.tokens())?;
    pe.weight = burn::module::Param::from_tensor(smooth.squeeze_dim(0));

    let larger = pe.clone().resize(from, to)?;
    println!(
        "{} positions become {}",
        pe.config().max_len,
        larger.config().max_len
    );

    let patches = Tensor::<3>::random([2, to.tokens(), D_MODEL], Distribution::Default, &device);
    let x = larger.forward(patches);
    println!("a batch of 2 images of 16×20 patches: {:?}\n", x.dims());

    // A patch half down and half across the image means the same place before and after.
    println!("the cosine of the middle patch and another, at the same place of the image:");
    println!("{:<24} 14×14    16×20", "");
    for (what, down, across) in [
        ("itself", 0.5, 0.5),
        ("a quarter further right", 0.5, 0.75),
        ("a quarter further down", 0.75, 0.5),
        ("the top left corner", 0.0, 0.0),
    ] {
        let cosine = |pe: &LearnedPositionalEmbedding, grid: Grid| {
            let row = |down: f64, across: f64| {
                let place = |share: f64, size: usize| (share * (size - 1) as f64).round() as usize;
                let (y, x) = (place(down, grid.height()), place(across, grid.width()));
                let token = grid.prefix() + y * grid.width() + x;
                Ok(pe.encode(&Positions::from(token), 1)?.reshape([D_MODEL]))
            };
            Ok::<f32, PositionError>(cosine(row(0.5, 0.5)?, row(down, across)?))
        };
        println!(
            "{what:<24} {:>5.2}    {:>5.2}",
            cosine(&pe, from)?,
            cosine(&larger, to)?
        );
    }
    Ok(())
}

fn cosine(a: Tensor<1>, b: Tensor<1>) -> f32 {
    let dot = |a: &Tensor<1>, b: &Tensor<1>| (a.clone() * b.clone()).sum().into_scalar::<f32>();
    dot(&a, &b) / (dot(&a, &a) * dot(&b, &b)).sqrt()
}
