//! The positional encoding generator of CPVT.

#[cfg(feature = "checkpoint")]
use std::{format, path::Path};

use alloc::vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::module::conv2d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor};

use super::input;
use crate::backend::memory::check_room;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter};
use crate::config::{config, module};
use crate::embed::Embed;
use crate::error::{PositionError, check_number, check_size};
use crate::positions::Positions;
use crate::tensor::{cast, dequantized};

config! {
    /// The configuration of a [`PositionalEncodingGenerator`].
    pub struct PositionalEncodingGeneratorConfig {
        /// The width of the embeddings, at least 1.
        d_model: usize,
    }

    /// A convolution of 3 × 3 for embeddings of width `d_model`.
    new;

    /// The height and the width of the convolution's kernel, an odd number. Default: 3.
    kernel: usize = 3,
    with_kernel;
}

impl PositionalEncodingGeneratorConfig {
    /// Builds the module on `device`. Weight and bias start as those of a convolution do in PyTorch: uniform
    /// within ± 1/kernel.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_model` of 0 and an even kernel,
    /// [`TooLarge`](PositionError::TooLarge) when the weight does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<PositionalEncodingGenerator, PositionError> {
        let shape = self.shape()?;
        let reach = 1.0 / self.kernel as f64;
        let init = Initializer::Uniform {
            min: -reach,
            max: reach,
        };
        Ok(PositionalEncodingGenerator {
            weight: init.init(shape, device),
            bias: init.init([self.d_model], device),
            config: self.clone(),
        })
    }

    /// Builds the module with the convolution of a trained model, from a safetensors file or a PyTorch one;
    /// the content tells which. `name` is what the names `….weight` and `….bias` begin with:
    /// `pos_block.0.proj.0` for the first stage of Twins in timm and in its own code.
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
    ) -> Result<PositionalEncodingGenerator, CheckpointError> {
        let path = path.as_ref();
        let (weight, bias) = (format!("{name}.weight"), format!("{name}.bias"));
        let meaning = "d_model, 1, and twice the kernel";
        Ok(PositionalEncodingGenerator {
            weight: parameter(path, &weight, self.shape()?, meaning, device)?,
            bias: parameter(path, &bias, [self.d_model], "d_model", device)?,
            config: self.clone(),
        })
    }

    /// The shape of the weight, checked.
    fn shape(&self) -> Result<[usize; 4], PositionError> {
        check_size("d_model", self.d_model)?;
        let odd = !self.kernel.is_multiple_of(2);
        check_number(odd, "kernel", self.kernel, "odd")?;
        let places = self.kernel.saturating_mul(self.kernel);
        check_room::<f32>(self.d_model, places)?;
        Ok([self.d_model, 1, self.kernel, self.kernel])
    }
}

module!(PositionalEncodingGeneratorConfig => PositionalEncodingGenerator { d_model, kernel });

/// PEG, the positional encoding generator of CPVT: a small convolution over the grid of tokens, separate for each column
/// (depthwise). Chu et al., [*Conditional Positional Encodings for Vision
/// Transformers*](https://arxiv.org/abs/2102.10882), 2021, §3.2. Twins has it too.
///
/// ```text
/// y(r, c) = x(r, c) + bias + Σ_(a, b) weight[·, a, b] · x(r + a − ⌊kernel / 2⌋, c + b − ⌊kernel / 2⌋)
/// ```
///
/// with zeros beyond the edges, from which the convolution knows where a token is. Made by
/// [`PositionalEncodingGeneratorConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::conv::PositionalEncodingGeneratorConfig;
/// use pe_burn::{Embed, Grid, Positions};
///
/// let device = Device::flex();
/// let peg = PositionalEncodingGeneratorConfig::new(64).init(&device);
/// let grid = Grid::image(14, 16).with_prefix(1); // a class token, and 14 × 16 patches
/// let x = Tensor::random([2, grid.tokens(), 64], Distribution::Default, &device);
/// assert_eq!(peg.embed(x, &Positions::from(grid)).dims(), [2, 225, 64]);
/// ```
///
/// - **Positions** are the whole of a [`Grid`](crate::Grid) of height and width, of any size. Some of its
///   tokens, and positions on a line, are refused. Prefix tokens stay as they are.
/// - **Padding.** Tokens that are marked as padding ([`with_mask_pad`](Positions::with_mask_pad)) are set to
///   zero first, so that an image that is padded to a larger grid, on the right and at the bottom, encodes as
///   it would alone.
/// - **Any float type.** It is computed in `f32` (`f64` for `f64` inputs) and rounded once.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "PEG")]
#[doc(alias = "conditional positional encoding")]
pub struct PositionalEncodingGenerator {
    /// `[d_model, 1, kernel, kernel]`
    pub weight: Param<Tensor<4>>,
    /// `[d_model]`
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    config: PositionalEncodingGeneratorConfig,
}

impl Embed for PositionalEncodingGenerator {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let PositionalEncodingGeneratorConfig { d_model, kernel } = self.config;
        let dtype = x.dtype();
        let weight = (&self.weight, self.config.shape()?);
        let (x, lookup) = input(x, positions, weight, &self.bias)?;
        let (grid, ids) = lookup.on_image()?;
        if ids.is_some() {
            return Err(PositionError::Grid {
                needs: "the whole of a grid of height × width".into(),
                got: "some tokens of a grid".into(),
            });
        }
        let (prefix, height, width) = (grid.prefix(), grid.height(), grid.width());
        let [batch, seq, _] = x.dims();
        if batch * (seq - prefix) == 0 {
            return Ok(cast(x, dtype.into()));
        }
        let weight = cast(dequantized(self.weight.val()), x.dtype().into());
        let bias = cast(dequantized(self.bias.val()), x.dtype().into());
        let first = x.clone().slice([0..batch, 0..prefix, 0..d_model]);
        let cells = x.slice([0..batch, prefix..seq, 0..d_model]);
        let image = cells.clone().swap_dims(1, 2);
        let image = image.reshape([batch, d_model, height, width]);
        let options = ConvOptions::new([1, 1], [kernel / 2; 2], [1, 1], d_model);
        let conv = conv2d(image, weight, Some(bias), options);
        let conv = conv.reshape([batch, d_model, height * width]);
        let y = cells + conv.swap_dims(1, 2);
        let y = match prefix {
            0 => y,
            _ => Tensor::cat(vec![first, y], 1),
        };
        Ok(cast(y, dtype.into()))
    }
}
