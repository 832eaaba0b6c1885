//! A layer of Swin and of Swin V2: a bias for each offset of two tokens in a window, in a table, or by a small network.

use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{Device, Int, Tensor};
use pe_burn::grid::{SwinRelativeBiasConfig, SwinV2RelativeBias, SwinV2RelativeBiasConfig};
use pe_burn::{Bias, Grid, Positions};
use pe_examples::Result;

use super::apart;

const HEADS: usize = 3;
const HEIGHT: i64 = 6;
const WIDTH: i64 = 4;

pub fn difference(device: &Device) -> Result<f32> {
    let sides = [HEIGHT as usize, WIDTH as usize];
    let tokens = sides[0] * sides[1];
    // The windows of a layer are alike: one bias serves all.
    let window = Positions::from(Grid::image(sides[0], sides[1]));

    let swin = SwinRelativeBiasConfig::new(HEADS, sides).try_init(device)?;
    let ours = swin.try_bias((&window, tokens), (&window, tokens))?;
    let table = apart(ours, of_pairs(swin.weight.val()));

    let v2 = SwinV2RelativeBiasConfig::new(HEADS, sides).try_init(device)?;
    let ours = v2.try_bias((&window, tokens), (&window, tokens))?;
    let network = apart(ours, of_pairs(of_offsets(&v2, device)));
    Ok(table.max(network))
}

/// The entry of each query and key, `[1, heads, tokens, tokens]`, of a table of offsets, `[offsets, heads]`.
fn of_pairs(table: Tensor<2>) -> Tensor<4> {
    let tokens = HEIGHT * WIDTH;
    let entry = |query: i64, key: i64| {
        let down = query / WIDTH - key / WIDTH + HEIGHT - 1;
        let across = query % WIDTH - key % WIDTH + WIDTH - 1;
        down * (2 * WIDTH - 1) + across
    };
    let entries = (0..tokens).flat_map(|query| (0..tokens).map(move |key| entry(query, key)));
    let entries: Vec<i64> = entries.collect();
    let entries = Tensor::<1, Int>::from_ints(&entries[..], &table.device());
    let pairs = table
        .select(0, entries)
        .reshape([tokens, tokens, HEADS as i64]);
    pairs.permute([2, 0, 1]).unsqueeze()
}

/// What the network of Swin V2 makes of each offset, `[offsets, heads]`.
fn of_offsets(swin: &SwinV2RelativeBias, device: &Device) -> Tensor<2> {
    let place = |offset: i64, side: i64| {
        let r = 8.0 * offset as f32 / (side - 1) as f32;
        r.signum() * r.abs().ln_1p() / 8.0_f32.ln()
    };
    let mut offsets = Vec::new();
    for down in 1 - HEIGHT..HEIGHT {
        for across in 1 - WIDTH..WIDTH {
            offsets.extend([place(down, HEIGHT), place(across, WIDTH)]);
        }
    }
    let offsets = Tensor::<1>::from_floats(&offsets[..], device).reshape([-1, 2]);
    sigmoid(swin.outer.forward(relu(swin.inner.forward(offsets)))) * 16.0
}
