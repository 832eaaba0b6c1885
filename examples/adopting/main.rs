//! What a project writes in place of positions of its own, by the kind of its layers: `docs/adopting.md`.
//!
//! Each file has what such a layer does by hand, the lines of `pe-burn` that do the same, and a bound on how far the two
//! may be apart near position 0, where the `f32` angles of the code by hand are still good.

mod bert;
mod llama;
mod qwen_vl;
mod swin;
mod timesfm;
mod vit;

use burn::tensor::{Device, Distribution, Tensor};
use pe_examples::Result;

/// A kind of layer.
pub struct Kind {
    name: &'static str,
    /// The largest difference between the code by hand and `pe-burn`, and what it may be at most.
    difference: fn(&Device) -> Result<f32>,
    bound: f32,
}

pub const KINDS: [Kind; 7] = [
    Kind::new("Llama-like", llama::difference, 1e-4),
    Kind::new("the same by the opposite angle", llama::opposite, 1e-4),
    Kind::new("BERT-like", bert::difference, 0.0),
    Kind::new("ViT", vit::difference, 5e-6),
    Kind::new("Swin", swin::difference, 5e-6),
    Kind::new("Qwen-VL", qwen_vl::difference, 1e-5),
    Kind::new("TimesFM", timesfm::difference, 2e-5),
];

impl Kind {
    const fn new(name: &'static str, difference: fn(&Device) -> Result<f32>, bound: f32) -> Self {
        Self {
            name,
            difference,
            bound,
        }
    }

    /// The difference.
    ///
    /// # Panics
    ///
    /// Where it is more than it may be.
    pub fn check(&self, device: &Device) -> Result<f32> {
        let Self { name, bound, .. } = self;
        let apart = (self.difference)(device)?;
        assert!(apart <= *bound, "{name}: {apart:e}, more than {bound:e}");
        Ok(apart)
    }
}

/// The rotation as it is written by hand: column `c` of a head makes a pair with column `c + d_head / 2`.
///
/// - `x`: `[batch, heads, seq, d_head]`
/// - `angles`: `[1 or batch, 1, seq, d_head / 2]`
fn turned(x: Tensor<4>, angles: Tensor<4>) -> Tensor<4> {
    let half = x.dims()[3] / 2;
    let (a, b) = (x.clone().narrow(3, 0, half), x.narrow(3, half, half));
    let (sin, cos) = (angles.clone().sin(), angles.cos());
    let first = a.clone() * cos.clone() - b.clone() * sin.clone();
    Tensor::cat(vec![first, a * sin + b * cos], 3)
}

/// `base^(-2i / columns)` for the pairs `i` of this many columns.
fn frequencies(base: f64, columns: usize) -> Vec<f64> {
    let pairs = 0..columns / 2;
    pairs
        .map(|i| base.powf(-2.0 * i as f64 / columns as f64))
        .collect()
}

/// The angles of tokens, `[1, 1, tokens, pairs]`, each rounded to `f32`.
fn angles(
    tokens: usize,
    pairs: usize,
    angle: impl Fn(usize, usize) -> f64,
    device: &Device,
) -> Tensor<4> {
    let all = (0..tokens).flat_map(|token| (0..pairs).map(move |pair| (token, pair)));
    let all: Vec<f32> = all.map(|(token, pair)| angle(token, pair) as f32).collect();
    Tensor::<1>::from_floats(&all[..], device).reshape([1, 1, tokens, pairs])
}

fn random<const D: usize>(shape: [usize; D], device: &Device) -> Tensor<D> {
    Tensor::random(shape, Distribution::Normal(0.0, 1.0), device)
}

/// The largest difference between two tensors of one shape.
fn apart<const D: usize>(a: Tensor<D>, b: Tensor<D>) -> f32 {
    (a - b).abs().max().into_scalar::<f32>()
}

fn main() -> Result<()> {
    println!("by hand and by pe-burn, the outputs differ by");
    for kind in KINDS {
        println!("{:<32} {:.1e}", kind.name, kind.check(&Device::flex())?);
    }
    Ok(())
}
