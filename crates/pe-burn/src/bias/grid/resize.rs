//! Tables for windows of another size.

use alloc::vec::Vec;

use burn::module::Param;
use burn::tensor::{Tensor, TensorData};
use serde::{Deserialize, Serialize};

use crate::interpolate::{bicubic, geometric, image, linear};
use crate::tensor::changed;

/// How a table of one window becomes that of another. A table of `height × width` has an entry for each of
/// its `(2 height − 1) × (2 width − 1)` offsets, and they are interpolated as the pixels of an image.
///
/// The interpolation is computed in `f64` on the host, so that the result is the same on every device.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
#[non_exhaustive]
pub enum Resampling {
    /// Bicubic, as in Swin's own code and timm's `resize_rel_pos_bias_table_simple`: PyTorch's
    /// `interpolate(mode="bicubic", align_corners=False)`.
    Bicubic,
    /// Bilinear, as BEiT and Data2Vec in transformers do at every call: PyTorch's
    /// `interpolate(mode="bilinear", align_corners=False)`.
    Bilinear,
    /// Linear interpolation, with the distances of the old table taken to grow geometrically, so that the entries of near
    /// tokens stay nearly as they are: timm's `resize_rel_pos_bias_table`, for Swin and BEiT alike. BEiT's own code has
    /// the same distances with a cubic spline through them.
    Geometric,
}

/// The table of another window. `extra` entries after those of the offsets stay as they are.
pub(super) fn resized(
    weight: Param<Tensor<2>>,
    from: [usize; 2],
    to: [usize; 2],
    extra: usize,
    how: Resampling,
) -> Param<Tensor<2>> {
    let taps = match how {
        Resampling::Bicubic => bicubic,
        Resampling::Bilinear => linear,
        Resampling::Geometric => geometric,
    };
    let [from, to] = [from, to].map(|window| window.map(|side| 2 * side - 1));
    changed(weight, |table| {
        let (device, dtype) = (table.device(), table.dtype());
        let [entries, heads] = table.dims();
        let mut offsets: Vec<f64> = table.into_data().iter().collect();
        let extra = offsets.split_off((entries - extra) * heads);
        let mut new = image(&offsets, heads, from, to, taps);
        new.extend(extra);
        let shape = [new.len() / heads, heads];
        Tensor::from_data(TensorData::new(new, shape), (&device, dtype))
    })
}
