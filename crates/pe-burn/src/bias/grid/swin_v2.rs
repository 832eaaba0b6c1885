//! Swin V2's continuous bias.

#[cfg(feature = "checkpoint")]
use std::{format, path::Path};

use alloc::vec::Vec;

use burn::module::Module;
#[cfg(feature = "checkpoint")]
use burn::module::Param;
use burn::nn::{Linear, LinearConfig};
use burn::tensor::activation::{relu, sigmoid};
use burn::tensor::{DType, Device, Tensor, TensorData};

use super::window::{Pairs, check_window, offsets};
use crate::backend::memory::check_room;
use crate::bias::Bias;
use crate::bias::distances::of_pairs;
use crate::bias::table::gather;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter, tensor};
use crate::config::{config, module};
use crate::error::{PositionError, check_size};
use crate::positions::Tokens;
use crate::tensor::{check_linear, dequantized};

config! {
    /// The configuration of a [`SwinV2RelativeBias`].
    pub struct SwinV2RelativeBiasConfig {
        /// The number of heads, at least 1.
        heads: usize,
        /// The height and the width of the model's windows in tokens, at least 1 each.
        window: [usize; 2],
    }

    /// The bias of a number of heads, trained in windows of `[height, width]`; every option at its default.
    new;

    /// The window of the model that this one was fine-tuned from: `pretrained_window_sizes` of a checkpoint, for each
    /// stage. Offsets are divided by it instead of by `window`. Default: none, which is 0 in a checkpoint.
    pretrained_window: Option<[usize; 2]> = None,
    /// Sets the window that offsets are divided by.
    with_pretrained_window: [usize; 2];

    /// The hidden width of the network, at least 1. Default: 512.
    hidden: usize = 512,
    with_hidden;
}

impl SwinV2RelativeBiasConfig {
    /// Builds the module on `device`.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for 0 heads, a hidden width of 0 and a window that is out of bounds.
    pub fn try_init(&self, device: &Device) -> Result<SwinV2RelativeBias, PositionError> {
        self.check()?;
        let outer = LinearConfig::new(self.hidden, self.heads).with_bias(false);
        Ok(SwinV2RelativeBias {
            inner: LinearConfig::new(2, self.hidden).init(device),
            outer: outer.init(device),
            config: self.clone(),
        })
    }

    /// Builds the module with the network of a trained model, from a safetensors file or a PyTorch one; the
    /// content tells which. `name` is what the names `….0.weight`, `….0.bias` and `….2.weight` begin with.
    ///
    /// | model | name of the network, for each layer and block |
    /// |---|---|
    /// | Swin V2 in transformers | `swinv2.encoder.layers.0.blocks.0.attention.self.continuous_position_bias_mlp` |
    /// | Swin V2 in timm and in its own code | `layers.0.blocks.0.attn.cpb_mlp` |
    ///
    /// # Errors
    ///
    /// [`CheckpointError`], with what is wrong in the file, or with what [`try_init`](Self::try_init) refuses.
    #[cfg(feature = "checkpoint")]
    pub fn init_from_file(
        &self,
        path: impl AsRef<Path>,
        name: &str,
        device: &Device,
    ) -> Result<SwinV2RelativeBias, CheckpointError> {
        let mut module = self.try_init(device)?;
        let path = path.as_ref();
        let matrix = |layer: &str, shape, meaning| {
            let name = format!("{name}.{layer}.weight");
            let weight: Tensor<2> = tensor(path, &name, shape, meaning, device)?;
            // PyTorch has the outputs first.
            Ok::<_, CheckpointError>(Param::from_tensor(weight.transpose()))
        };
        module.inner.weight = matrix("0", [self.hidden, 2], "the hidden width, and 2 offsets")?;
        module.outer.weight = matrix("2", [self.heads, self.hidden], "heads, and hidden width")?;
        let bias = format!("{name}.0.bias");
        let bias = parameter(path, &bias, [self.hidden], "the hidden width", device)?;
        module.inner.bias = Some(bias);
        Ok(module)
    }

    fn check(&self) -> Result<(), PositionError> {
        check_size("heads", self.heads)?;
        check_size("hidden", self.hidden)?;
        check_window("window", self.window, self.heads)?;
        match self.pretrained_window {
            Some(window) => check_window("pretrained_window", window, self.heads),
            None => Ok(()),
        }
    }
}

module!(SwinV2RelativeBiasConfig => SwinV2RelativeBias {
    heads, window, pretrained_window, hidden,
});

/// Swin V2's log-spaced continuous position bias: a small network maps the offset of two tokens, in rows and
/// columns on a logarithmic scale, to a bias per head. Liu et al., [*Swin Transformer V2: Scaling Up Capacity
/// and Resolution*](https://arxiv.org/abs/2111.09883), 2022, §3.3; the factors 8 and 16 and the sigmoid as in
/// its code.
///
/// ```text
/// r(d, side) = 8 d / (side − 1)
/// s(r) = sign(r) · log2(1 + |r|) / log2(8)
/// bias(·, i, j) = 16 · sigmoid(f(s(r(y_i − y_j, height)), s(r(x_i − x_j, width))))
/// ```
///
/// with f: 2 → hidden → heads, a ReLU between and no bias at the end. Height and width are those of
/// `pretrained_window` where there is one, else of `window`. Made by [`SwinV2RelativeBiasConfig`].
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::grid::SwinV2RelativeBiasConfig;
/// use pe_burn::{Bias, Grid, Positions};
///
/// let swin = SwinV2RelativeBiasConfig::new(3, [8, 8]).init(&Device::flex());
/// for (height, width) in [(8, 8), (12, 16)] {
///     let (window, tokens) = (Positions::from(Grid::image(height, width)), height * width);
///     let bias = swin.bias((&window, tokens), (&window, tokens));
///     assert_eq!(bias.dims(), [1, 3, tokens, tokens]);
/// }
/// ```
///
/// - **Positions** are on a [`Grid`](crate::Grid) of height and width without prefix tokens, of any size:
///   nothing is resized.
/// - **Scores.** Swin V2 adds this bias to the cosines of queries and keys, times a trained number
///   per head.
#[derive(Module, Debug)]
#[module(custom_display)]
pub struct SwinV2RelativeBias {
    /// `2 → hidden`: an offset in rows, and one in columns.
    pub inner: Linear,
    /// `hidden → heads`, without a bias.
    pub outer: Linear,
    #[module(skip)]
    config: SwinV2RelativeBiasConfig,
}

impl SwinV2RelativeBias {
    /// The offsets between the tokens of a window, as the network takes them: `[offsets, 2]`.
    fn coordinates(&self, window: [usize; 2], device: &Device, dtype: DType) -> Tensor<2> {
        let [rows, columns] = [0, 1].map(|axis| {
            let trained = self.config.pretrained_window.unwrap_or(self.config.window)[axis];
            let reach = window[axis] as i64 - 1;
            let place = |offset: i64| {
                let r = 8.0 * offset as f64 / (trained.max(2) - 1) as f64;
                (libm::copysign(libm::log2(1.0 + r.abs()), r) / 3.0) as f32
            };
            (-reach..=reach).map(place).collect::<Vec<f32>>()
        });
        let columns = &columns;
        let pairs = rows
            .iter()
            .flat_map(|row| columns.iter().flat_map(move |column| [*row, *column]));
        let pairs = TensorData::new(pairs.collect::<Vec<f32>>(), [offsets(window), 2]);
        Tensor::from_data(pairs, (&device.clone().without_autodiff(), dtype))
    }
}

impl Bias for SwinV2RelativeBias {
    fn try_bias(&self, queries: Tokens, keys: Tokens) -> Result<Tensor<4>, PositionError> {
        let weight = dequantized(self.inner.weight.val());
        let (device, own) = (weight.device(), weight.dtype());
        let SwinV2RelativeBiasConfig { heads, hidden, .. } = self.config;
        check_linear("inner", &self.inner, [2, hidden])?;
        check_linear("outer", &self.outer, [hidden, heads])?;
        of_pairs(queries, keys, heads, (&device, own), |queries, keys| {
            let pairs = Pairs::new(queries, keys, 1)?;
            pairs.check_no_prefix()?;
            let window = pairs.farthest().map(|distance| distance + 1);
            check_window("the grid of queries and keys", window, heads)?;
            check_room::<f32>(offsets(window), self.config.hidden)?;
            let hidden = relu(self.inner.forward(self.coordinates(window, &device, own)));
            let table = sigmoid(self.outer.forward(hidden)) * 16.0;
            Ok(gather(table, pairs.entries(window, &device)))
        })
    }
}
