//! A layer of a vision transformer, as in the vision towers of Qwen-VL: half of the pairs of a head are turned by the
//! row of a patch, half by its column.

use burn::tensor::{Device, Int, Tensor};
use pe_burn::{Axes, Grid, Layout, Positions, RotaryPositionalEncodingConfig, Rotate};
use pe_examples::Result;

use super::{angles, apart, frequencies, random, turned};

const HEIGHT: usize = 8;
const WIDTH: usize = 12;
/// Patches come in blocks of 2 × 2, which are merged later.
const MERGED: usize = 2;

pub fn difference(device: &Device) -> Result<f32> {
    let x = random([2, 4, HEIGHT * WIDTH, 64], device);
    let places = places();
    let speed = frequencies(10_000.0, 32);
    let angle = |token: usize, pair: usize| places[token][pair / 16] as f64 * speed[pair % 16];
    let by_hand = turned(x.clone(), angles(HEIGHT * WIDTH, 32, angle, device));

    let rope = RotaryPositionalEncodingConfig::new(64)
        .with_layout(Layout::Halves)
        .with_axes(Axes::HEIGHT_WIDTH)
        .try_init(device)?;
    // The patches of the grid in the order in which they come: without blocks, `Positions::from(grid)` is enough.
    let ids = Tensor::<1, Int>::arange(0..(HEIGHT * WIDTH) as i64, device)
        .reshape([HEIGHT / MERGED, MERGED, WIDTH / MERGED, MERGED])
        .swap_dims(1, 2)
        .reshape([1, HEIGHT * WIDTH]);
    let positions = Positions::from_grid_ids(Grid::image(HEIGHT, WIDTH), ids)?;
    let ours = rope.try_rotate_queries(x, &positions)?;
    Ok(apart(ours, by_hand))
}

/// The row and the column of each patch, block by block.
fn places() -> Vec<[usize; 2]> {
    let mut places = Vec::new();
    for block in 0..HEIGHT * WIDTH / (MERGED * MERGED) {
        let (down, across) = (block / (WIDTH / MERGED), block % (WIDTH / MERGED));
        for patch in 0..MERGED * MERGED {
            places.push([
                down * MERGED + patch / MERGED,
                across * MERGED + patch % MERGED,
            ]);
        }
    }
    places
}
