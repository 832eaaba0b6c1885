//! A layer of TimesFM 2.5: the patches of a series are rotated before queries and keys are normalized, with a cache.
//! And Toto 2, which has xPos on half of a head.

use burn::tensor::{Device, Tensor};
use pe_burn::{
    Layout, Positions, RotaryPositionalEncodingConfig, Rotate, XPosPositionalEncodingConfig,
};
use pe_examples::Result;

use super::{angles, apart, frequencies, random, turned};

const HEADS: usize = 16;
const D_HEAD: usize = 80;

pub fn difference(device: &Device) -> Result<f32> {
    let rope = RotaryPositionalEncodingConfig::new(D_HEAD)
        .with_layout(Layout::Halves)
        .try_init(device)?;
    let mut largest = toto(device)?;
    // The patches of the context, and four of the forecast after them.
    for (start, patches) in [(0, 40), (40, 4)] {
        let qkv = random([1, patches, 3 * HEADS * D_HEAD], device);
        // Queries and keys are turned where they are; values stay.
        let ours = rope.try_rotate_packed(qkv.clone(), [HEADS; 2], &Positions::from(start))?;
        largest = largest.max(apart(ours, by_hand(qkv, start, device)));
    }
    Ok(largest)
}

fn by_hand(qkv: Tensor<3>, start: usize, device: &Device) -> Tensor<3> {
    let [batch, patches, width] = qkv.dims();
    let speed = frequencies(10_000.0, D_HEAD);
    let angle = |patch, pair| (start + patch) as f64 * speed[pair];
    let angles = angles(patches, D_HEAD / 2, angle, device);
    let parts = qkv.chunk(3, 2).into_iter().enumerate().map(|(i, part)| {
        let heads = part
            .reshape([batch, patches, HEADS, D_HEAD])
            .swap_dims(1, 2);
        let heads = match i {
            2 => heads,
            _ => turned(heads, angles.clone()),
        };
        heads.swap_dims(1, 2).reshape([batch, patches, width / 3])
    });
    Tensor::cat(parts.collect(), 2)
}

/// Compares the scores: the position at which the decay is centred cancels out in them.
fn toto(device: &Device) -> Result<f32> {
    let [q, k] = [(); 2].map(|()| random([1, 2, 30, 64], device));
    let xpos = XPosPositionalEncodingConfig::new(64)
        .with_rotary_dim(32)
        .with_layout(Layout::Halves)
        .with_scale_base(256.0)
        .try_init(device)?;
    let (turned_q, turned_k) = xpos.try_rotate(q.clone(), k.clone(), &Positions::default())?;
    let ours = turned_q.matmul(turned_k.transpose());

    let speed = frequencies(10_000.0, 32);
    let by_hand = |x: Tensor<4>, sign: f64| {
        let angle = |patch, pair: usize| patch as f64 * speed[pair];
        let scale = |patch, column| {
            let pair = (column % 16) as f64;
            let base = (2.0 * pair + 0.4 * 32.0) / (1.4 * 32.0);
            base.powf(sign * (patch as f64 - 15.0) / 256.0)
        };
        let first = turned(x.clone().narrow(3, 0, 32), angles(30, 16, angle, device));
        let first = first * angles(30, 32, scale, device);
        Tensor::cat(vec![first, x.narrow(3, 32, 32)], 3)
    };
    Ok(apart(
        ours,
        by_hand(q, 1.0).matmul(by_hand(k, -1.0).transpose()),
    ))
}
