//! The convolution of wav2vec 2.0.

#[cfg(feature = "checkpoint")]
use std::path::Path;

use alloc::format;
#[cfg(feature = "checkpoint")]
use alloc::vec::Vec;

use burn::module::{Initializer, Module, Param};
use burn::tensor::module::conv1d;
use burn::tensor::ops::ConvOptions;
use burn::tensor::{Device, Tensor};

use super::input;
use crate::backend::memory::check_room;
#[cfg(feature = "checkpoint")]
use crate::checkpoint::{CheckpointError, parameter, tensor};
use crate::config::{config, module};
use crate::embed::Embed;
use crate::error::{PositionError, check_size};
use crate::positions::Positions;
use crate::tensor::{cast, dequantized};

/// The positions that the convolution can take, for errors.
const NEEDS: &str =
    "tokens in order from position 0 on, as Positions::default() or a padding mask gives them";

config! {
    /// The configuration of a [`Wav2Vec2PositionalConv`].
    pub struct Wav2Vec2PositionalConvConfig {
        /// The width of the embeddings, a multiple of `groups`.
        d_model: usize,
    }

    /// The convolution of wav2vec 2.0 for embeddings of width `d_model`; every option at its default.
    new;

    /// The number of tokens that the convolution sees, at least 1. Default: 128.
    kernel: usize = 128,
    with_kernel;

    /// The number of groups of columns, at least 1. Columns of different groups are not mixed. Default: 16.
    groups: usize = 16,
    with_groups;
}

impl Wav2Vec2PositionalConvConfig {
    /// Builds the module on `device`. The weight starts with a standard deviation of 2/√(kernel · d_model)
    /// and the bias at 0, as in wav2vec 2.0.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a size of 0 and for a `d_model` that groups do not divide,
    /// [`TooLarge`](PositionError::TooLarge) when the weight does not fit into memory.
    pub fn try_init(&self, device: &Device) -> Result<Wav2Vec2PositionalConv, PositionError> {
        let shape = self.shape()?;
        let init = Initializer::Normal {
            mean: 0.0,
            std: 2.0 / libm::sqrt(self.kernel as f64 * self.d_model as f64),
        };
        Ok(Wav2Vec2PositionalConv {
            weight: init.init(shape, device),
            bias: Initializer::Zeros.init([self.d_model], device),
            config: self.clone(),
        })
    }

    /// Builds the module with the convolution of a trained model, from a safetensors file or a PyTorch one;
    /// the content tells which. `name` is what the names of its weight and its bias begin with.
    ///
    /// | model | name of the convolution |
    /// |---|---|
    /// | wav2vec 2.0, HuBERT, WavLM in transformers | `wav2vec2.encoder.pos_conv_embed.conv`, with the model's name in front |
    /// | the same in fairseq | `encoder.pos_conv.0` |
    ///
    /// These models train their weight by its norm and its direction (weight normalization along the last
    /// axis: Salimans and Kingma 2016). A file has the pair as `….weight_g` and `….weight_v`, or as
    /// `….parametrizations.weight.original0` and `….original1`, and the weight is made from it:
    /// `v · g / ‖v‖` for each place of the kernel. A plain `….weight` is read as it is.
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
    ) -> Result<Wav2Vec2PositionalConv, CheckpointError> {
        let path = path.as_ref();
        let shape = self.shape()?;
        let read = |name: &str, shape: [usize; 3]| {
            let meaning = "d_model, d_model / groups, and kernel; 1 for what weight norm sums over";
            tensor::<3>(path, name, shape, meaning, device)
        };
        let plain = format!("{name}.weight");
        let weight = match read(&plain, shape) {
            Err(CheckpointError::Name {
                path: file,
                name: asked,
                names,
            }) => {
                let pairs = [
                    ["weight_g", "weight_v"],
                    [
                        "parametrizations.weight.original0",
                        "parametrizations.weight.original1",
                    ],
                ]
                .map(|pair| pair.map(|end| format!("{name}.{end}")));
                let found: Vec<_> = pairs
                    .iter()
                    .filter(|[norm, _]| names.contains(norm))
                    .collect();
                let [[norm, direction]] = found.as_slice() else {
                    return Err(CheckpointError::Name {
                        path: file,
                        name: asked,
                        names,
                    });
                };
                let norm = read(norm, [1, 1, self.kernel])?;
                let direction = read(direction, shape)?;
                let length = direction.clone().square().sum_dim(0).sum_dim(1).sqrt();
                direction * (norm / length)
            }
            other => other?,
        };
        let bias = format!("{name}.bias");
        Ok(Wav2Vec2PositionalConv {
            weight: Param::from_tensor(weight),
            bias: parameter(path, &bias, [self.d_model], "d_model", device)?,
            config: self.clone(),
        })
    }

    /// The shape of the weight, checked.
    fn shape(&self) -> Result<[usize; 3], PositionError> {
        check_size("d_model", self.d_model)?;
        check_size("kernel", self.kernel)?;
        check_size("groups", self.groups)?;
        if !self.d_model.is_multiple_of(self.groups) {
            let bound = format!("a multiple of the number of groups, {}", self.groups);
            return Err(PositionError::number("d_model", self.d_model, bound));
        }
        let width = self.d_model / self.groups;
        check_room::<f32>(self.d_model.saturating_mul(width), self.kernel)?;
        Ok([self.d_model, width, self.kernel])
    }
}

module!(Wav2Vec2PositionalConvConfig => Wav2Vec2PositionalConv { d_model, kernel, groups });

/// The positions of wav2vec 2.0: a wide convolution over the sequence, in groups of columns. Baevski et al.,
/// [*wav2vec 2.0: A Framework for Self-Supervised Learning of Speech
/// Representations*](https://arxiv.org/abs/2006.11477), 2020, §2 and §4.2. HuBERT and WavLM have it too.
///
/// ```text
/// y_i = x_i + gelu(bias + Σ_k weight[·, ·, k] x_(i + k − ⌊kernel / 2⌋))
/// ```
///
/// with zeros beyond both ends. An even kernel reaches one token farther to the left than to the right. Made by
/// [`Wav2Vec2PositionalConvConfig`].
///
/// ```
/// use burn::tensor::{Device, Distribution, Tensor};
/// use pe_burn::conv::Wav2Vec2PositionalConvConfig;
/// use pe_burn::{Embed, Positions};
///
/// let device = Device::flex();
/// let conv = Wav2Vec2PositionalConvConfig::new(64).init(&device);
/// let x = Tensor::random([2, 100, 64], Distribution::Default, &device);
/// assert_eq!(conv.embed(x, &Positions::default()).dims(), [2, 100, 64]);
/// ```
///
/// - **Positions.** It sees which tokens are neighbours, but no positions. It therefore takes whole
///   sequences ([`Positions::default`]) and padded ones
///   ([`from_token_mask`](Positions::from_token_mask)), on either side; offsets, ids, times, packed rows and
///   grids are refused.
/// - **Padding.** Padded tokens are set to zero first, as in the models, so that a row with padding on the left or on the
///   right encodes as it would alone. The output at a padded token is only the term of the convolution.
/// - **No cache.** A token depends on tokens after it.
/// - **Any float type.** It is computed in `f32` (`f64` for `f64` inputs) and rounded once.
#[derive(Module, Debug)]
#[module(custom_display)]
#[doc(alias = "pos_conv_embed")]
pub struct Wav2Vec2PositionalConv {
    /// `[d_model, d_model / groups, kernel]`
    pub weight: Param<Tensor<3>>,
    /// `[d_model]`
    pub bias: Param<Tensor<1>>,
    #[module(skip)]
    config: Wav2Vec2PositionalConvConfig,
}

impl Embed for Wav2Vec2PositionalConv {
    fn try_embed(&self, x: Tensor<3>, positions: &Positions) -> Result<Tensor<3>, PositionError> {
        let Wav2Vec2PositionalConvConfig { kernel, groups, .. } = self.config;
        let dtype = x.dtype();
        let weight = (&self.weight, self.config.shape()?);
        let (x, lookup) = input(x, positions, weight, &self.bias)?;
        lookup.check_on_line(NEEDS)?;
        if x.dims().contains(&0) {
            return Ok(cast(x, dtype.into()));
        }
        let weight = cast(dequantized(self.weight.val()), x.dtype().into());
        let bias = cast(dequantized(self.bias.val()), x.dtype().into());
        let padding = [(kernel / 2, (kernel - 1) / 2)];
        let options = ConvOptions::new_with_padding([1], padding, [1], groups);
        let conv = conv1d(x.clone().swap_dims(1, 2), weight, Some(bias), options);
        Ok(cast(x + gelu(conv).swap_dims(1, 2), dtype.into()))
    }
}

/// The exact GELU. On some backends the backward pass of Burn's `gelu` is that of the approximation by tanh.
fn gelu(x: Tensor<3>) -> Tensor<3> {
    let share = ((x.clone() * core::f64::consts::FRAC_1_SQRT_2).erf() + 1.0) * 0.5;
    x * share
}
