//! The sinusoidal encodings of other libraries: their frequencies, columns, scales and offsets.

use alloc::format;
use core::f64::consts::TAU;

use serde::{Deserialize, Serialize};

use super::double::Double;
use super::{DEFAULT_BASE, Spectrum};
use crate::backend::memory::check_room;
use crate::error::{PositionError, check_finite, check_number, check_size};
use crate::layout::Layout;
use crate::positions::MAX_POSITION;

/// Whose formula a sinusoidal encoding follows.
///
/// They all go by the name of the paper's formula, but a model trained with one does not work with
/// another.
/// With `n` = ⌊d_model/2⌋ frequencies:
///
/// | formula | ω_i | columns | an odd width ends in |
/// |---|---|---|---|
/// | [`Paper`](Self::Paper) | base^(−2i/d_model) | interleaved | a sine |
/// | [`Wavelengths`](Self::Wavelengths) | 2π/min · (max/min)^(−i/(m − 1)), m = ⌈d_model/2⌉ of them | interleaved | a sine |
/// | [`Tensor2Tensor`](Self::Tensor2Tensor) | min · (max/min)^(−i/(n − 1)) | halves | a zero |
/// | [`Fairseq`](Self::Fairseq) | 10 000^(−i/(n − 1)), from `padding_index + 1` on | halves | a zero |
/// | [`Marian`](Self::Marian) | 10 000^(−2i/d_model) | halves | a cosine; the last sine has none |
/// | [`Mlx`](Self::Mlx) | max · (max/min)^(−i/(n − 1)), times √(2/d_model) | halves | refused |
/// | [`Diffusers`](Self::Diffusers) | scale · max_period^(−i/(n − shift)) | halves | a zero |
/// | [`TorchGeometric`](Self::TorchGeometric) | base_freq^(i/(n − 1)) / granularity | halves | refused |
/// | [`Keras`](Self::Keras) | max_wavelength^(−2i/d_model) | interleaved | a sine |
/// | [`Tape`](Self::Tape) | base^(−2i/d_model) · d_model/length | interleaved | a sine |
///
/// As data it has a field `name`, and the numbers that differ from their defaults, which are those of
/// the library. The constants have the defaults too:
///
/// ```
/// use pe_burn::{Formula, SinusoidalPositionalEncodingConfig};
///
/// let formula: Formula = serde_json::from_str(r#"{"name": "diffusers"}"#).unwrap();
/// assert_eq!(formula, Formula::DIFFUSERS);
///
/// let config = SinusoidalPositionalEncodingConfig::new(320).with_formula(Formula::Diffusers {
///     flip_sin_to_cos: true, // as in Stable Diffusion
///     downscale_freq_shift: 0.0,
///     scale: 1.0,
///     max_period: 10_000.0,
/// });
/// # config.init(&burn::tensor::Device::flex());
/// ```
///
/// tAPE, for series of 90 samples:
///
/// ```
/// use burn::tensor::{Device, Tensor};
/// use pe_burn::{Formula, SinusoidalPositionalEncodingConfig};
///
/// let config = SinusoidalPositionalEncodingConfig::new(64).with_formula(Formula::tape(90));
/// let pe = config.init(&Device::flex());
/// let x = pe.forward(Tensor::<3>::zeros([8, 90, 64], &Device::flex())); // [8, 90, 64]
/// # assert_eq!(x.dims(), [8, 90, 64]);
/// ```
///
/// Most of these libraries compute in `f32`, which is off by up to 4e-4 at position 5 000 with their
/// own defaults, and by more where the frequencies are scaled up. Rows of a [`Spectrum`] are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Formula {
    /// §3.5 of *Attention Is All You Need*.
    Paper {
        /// Wavelengths go from 2π to 2π · base; finite and greater than 1. Default: 10 000.
        #[serde(default = "default_base")]
        base: f64,
    },
    /// Wavelengths from `min` to `max`, both included and evenly spaced on a logarithmic scale.
    Wavelengths {
        /// The shortest, in positions.
        min: f64,
        /// The longest, in positions.
        max: f64,
    },
    /// The first implementation: tensor2tensor's `get_timing_signal_1d`.
    #[serde(rename = "tensor2tensor")]
    Tensor2Tensor {
        /// The highest frequency. (It is called a timescale, which would be the inverse of a frequency.) Default: 1.
        #[serde(default = "one")]
        min_timescale: f64,
        /// `max_timescale / min_timescale` is the range of the frequencies. Default: 10 000.
        #[serde(default = "default_base")]
        max_timescale: f64,
    },
    /// fairseq's `SinusoidalPositionalEmbedding`, which is M2M100's, NLLB's and Speech2Text's too.
    ///
    /// Position 0, the first token, has the row `padding_index + 1` of its table; padded tokens of
    /// a mask ([`Positions::from_token_mask`](crate::Positions::from_token_mask)) have zeros.
    Fairseq {
        /// The number of the padding token in the vocabulary. Default: 1.
        #[serde(default = "padding_index")]
        padding_index: usize,
    },
    /// Marian's, as MarianMT, Pegasus and RoFormer have it: the paper's in halves.
    Marian {},
    /// MLX's `SinusoidalPositionalEncoding`.
    Mlx {
        /// The lowest frequency. Default: 0.0001.
        #[serde(default = "min_freq")]
        min_freq: f64,
        /// The highest frequency. Default: 1.
        #[serde(default = "one")]
        max_freq: f64,
        /// What the rows are multiplied by. Default: √(2/d_model), which makes their length 1.
        #[serde(default)]
        scale: Option<f64>,
        /// Whether the cosines come before the sines. Default: false.
        #[serde(default)]
        cos_first: bool,
        /// Whether the frequencies count turns per position, and not radians. Default: false.
        #[serde(default)]
        full_turns: bool,
    },
    /// Diffusers' `get_timestep_embedding`.
    Diffusers {
        /// Whether the cosines come before the sines. Default: false.
        #[serde(default)]
        flip_sin_to_cos: bool,
        /// What is subtracted from the number of frequencies in the exponent. Default: 1.
        #[serde(default = "one")]
        downscale_freq_shift: f64,
        /// What the frequencies are multiplied by. Default: 1.
        #[serde(default = "one")]
        scale: f64,
        /// The range of the frequencies. Default: 10 000.
        #[serde(default = "default_base")]
        max_period: f64,
    },
    /// PyTorch Geometric's `PositionalEncoding`.
    TorchGeometric {
        /// The lowest frequency. Default: 0.0001.
        #[serde(default = "min_freq")]
        base_freq: f64,
        /// What positions are divided by. Default: 1.
        #[serde(default = "one")]
        granularity: f64,
    },
    /// KerasHub's `SinePositionEncoding`.
    Keras {
        /// The base. Default: 10 000.
        #[serde(default = "default_base")]
        max_wavelength: f64,
    },
    /// tAPE, time absolute position encoding: eq. 13 of Foumani et al., [*Improving Position Encoding of
    /// Transformers for Multivariate Time Series Classification*](https://arxiv.org/abs/2305.16642), 2023.
    ///
    /// The paper's frequencies, times `d_model / length`: neighbouring positions of a short series differ more, and
    /// those of a long one less. Positions from `length` on are encoded by the same frequencies.
    Tape {
        /// The length of the series, in positions, at least 1: the longest of the training.
        length: usize,
        /// The base, finite and greater than 1. Default: 10 000.
        #[serde(default = "default_base")]
        base: f64,
    },
}

fn one() -> f64 {
    1.0
}

fn padding_index() -> usize {
    1
}

fn default_base() -> f64 {
    DEFAULT_BASE
}

fn min_freq() -> f64 {
    1e-4
}

impl Default for Formula {
    /// The paper's, with its base.
    fn default() -> Self {
        Self::from(DEFAULT_BASE)
    }
}

impl From<f64> for Formula {
    /// The paper's, with this base.
    fn from(base: f64) -> Self {
        Self::Paper { base }
    }
}

impl Formula {
    /// tAPE for series of this many positions, with the paper's base.
    pub fn tape(length: usize) -> Self {
        let base = DEFAULT_BASE;
        Self::Tape { length, base }
    }

    /// tensor2tensor's, with its own defaults.
    pub const TENSOR2TENSOR: Self = Self::Tensor2Tensor {
        min_timescale: 1.0,
        max_timescale: 1e4,
    };
    /// fairseq's, with the padding token of its dictionaries.
    pub const FAIRSEQ: Self = Self::Fairseq { padding_index: 1 };
    /// MLX's, with its own defaults.
    pub const MLX: Self = Self::Mlx {
        min_freq: 1e-4,
        max_freq: 1.0,
        scale: None,
        cos_first: false,
        full_turns: false,
    };
    /// Diffusers', with its own defaults.
    pub const DIFFUSERS: Self = Self::Diffusers {
        flip_sin_to_cos: false,
        downscale_freq_shift: 1.0,
        scale: 1.0,
        max_period: 1e4,
    };
    /// PyTorch Geometric's, with its own defaults.
    pub const TORCH_GEOMETRIC: Self = Self::TorchGeometric {
        base_freq: 1e-4,
        granularity: 1.0,
    };
    /// KerasHub's, with its own defaults.
    pub const KERAS: Self = Self::Keras {
        max_wavelength: 1e4,
    };

    /// Whether padded tokens are encoded as zeros.
    pub(crate) fn pads_with_zeros(&self) -> bool {
        matches!(self, Self::Fairseq { .. })
    }
}

impl Formula {
    /// Refuses a width, of at least 1, that the formula has no frequencies for.
    fn check_width(self, d_model: usize) -> Result<(), PositionError> {
        let width = |fits: bool, bound| {
            check_number(fits, "d_model, or the columns of one axis,", d_model, bound)
        };
        let even = || width(d_model.is_multiple_of(2), "even for this formula");
        // Below, these libraries divide by 0 or have no frequency.
        let one_pair = || width(d_model > 1, "at least 2 for this formula");
        match self {
            Self::Paper { .. }
            | Self::Keras { .. }
            | Self::Marian {}
            | Self::Wavelengths { .. }
            | Self::Tape { .. } => Ok(()),
            Self::Fairseq { .. } => width(d_model > 3, "at least 4 for this formula"),
            Self::Tensor2Tensor { .. } | Self::Diffusers { .. } => one_pair(),
            Self::Mlx { .. } => {
                one_pair()?;
                even()
            }
            Self::TorchGeometric { .. } => even(),
        }
    }

    /// Refuses numbers that the formula cannot work with, for a [checked](Self::check_width) width. Bases are checked where
    /// their spectrum is made.
    fn check_numbers(self, d_model: usize) -> Result<(), PositionError> {
        match self {
            Self::Paper { .. } | Self::Keras { .. } | Self::Marian {} => Ok(()),
            Self::Wavelengths { min, max } => {
                positive("the shortest wavelength", min)?;
                let bound = "finite, and more than the shortest";
                above("the longest wavelength", max, min, bound)
            }
            Self::Tensor2Tensor {
                min_timescale: min,
                max_timescale: max,
            } => {
                positive("min_timescale", min)?;
                let bound = "finite, and more than min_timescale";
                above("max_timescale", max, min, bound)
            }
            Self::Fairseq { padding_index } => {
                let fits = padding_index < MAX_POSITION;
                let bound = format!("less than the largest position, {MAX_POSITION}");
                check_number(fits, "padding_index", padding_index, bound)
            }
            Self::Mlx {
                min_freq,
                max_freq,
                scale,
                ..
            } => {
                positive("min_freq", min_freq)?;
                let bound = "finite, and more than min_freq";
                above("max_freq", max_freq, min_freq, bound)?;
                check_finite("scale", scale.unwrap_or(1.0))
            }
            Self::Diffusers {
                downscale_freq_shift: shift,
                scale,
                max_period,
                ..
            } => {
                positive("scale", scale)?;
                above("max_period", max_period, 1.0, "finite, and more than 1")?;
                let fits = shift < (d_model / 2) as f64 && shift.is_finite();
                let bound = "less than d_model/2, from which it is taken";
                check_number(fits, "downscale_freq_shift", shift, bound)
            }
            Self::TorchGeometric {
                base_freq,
                granularity,
            } => {
                let fits = base_freq > 0.0 && base_freq < 1.0;
                check_number(fits, "base_freq", base_freq, "between 0 and 1")?;
                positive("granularity", granularity)
            }
            Self::Tape { length, .. } => {
                let fits = (1..=MAX_POSITION).contains(&length);
                let bound = format!("at least 1, and at most the largest position, {MAX_POSITION}");
                check_number(fits, "length", length, bound)
            }
        }
    }

    /// The spectrum of a width, by [checked](Self::check_numbers) numbers.
    fn spectrum(self, d_model: usize) -> Result<Spectrum, PositionError> {
        let pairs = d_model / 2;
        let paper = |base| Spectrum::of_base(d_model, base);
        // A geometric sequence. Without `shift`, the ratio of the first to the last is max / min.
        let halves = |first: Double, min: f64, max: f64, shift: f64| {
            let steps = match pairs {
                1 => 1.0, // there is no step
                _ => pairs as f64 - shift,
            };
            let spectrum = Spectrum::geometric(d_model, pairs, first, log_ratio(min, max), steps);
            spectrum.with_layout(Layout::Halves)
        };
        Ok(match self {
            Self::Paper { base }
            | Self::Keras {
                max_wavelength: base,
            } => paper(base)?,
            Self::Marian {} => paper(DEFAULT_BASE)?.with_layout(Layout::Halves),
            Self::Wavelengths { min, max } => {
                let pairs = d_model.div_ceil(2);
                let (first, steps) = (Double::TAU.div(min), (pairs - 1).max(1) as f64);
                Spectrum::geometric(d_model, pairs, first, log_ratio(min, max), steps)
            }
            Self::Tensor2Tensor {
                min_timescale: min,
                max_timescale: max,
            } => halves(Double::ONE.times(min), min, max, 1.0),
            Self::Fairseq { padding_index } => {
                halves(Double::ONE, 1.0, DEFAULT_BASE, 1.0).with_offset(padding_index + 1)
            }
            Self::Mlx {
                min_freq,
                max_freq,
                scale,
                cos_first,
                full_turns,
            } => {
                let unit = if full_turns { Double::TAU } else { Double::ONE };
                halves(unit.times(max_freq), min_freq, max_freq, 1.0)
                    .with_cos_first(cos_first)
                    .with_amplitude(scale.unwrap_or(libm::sqrt(2.0 / d_model as f64)))
            }
            Self::Diffusers {
                flip_sin_to_cos,
                downscale_freq_shift: shift,
                scale,
                max_period,
            } => halves(Double::ONE.times(scale), 1.0, max_period, shift)
                .with_cos_first(flip_sin_to_cos),
            Self::TorchGeometric {
                base_freq,
                granularity,
            } => halves(Double::quotient(1.0, granularity), base_freq, 1.0, 1.0),
            Self::Tape { length, base } => {
                let scale = Double::quotient(d_model as f64, length as f64);
                paper(base)?.map(|_, omega| omega.mul(scale))
            }
        })
    }
}

/// Higher frequencies leave hardly any positions whose angles can be reduced.
const HIGHEST: f64 = 1e12;

/// ln(max / min).
fn log_ratio(min: f64, max: f64) -> Double {
    Double::ln(max).add(Double::ln(min).neg())
}

fn positive(name: &'static str, value: f64) -> Result<(), PositionError> {
    let fits = value > 0.0 && value.recip().is_finite() && value.is_finite();
    check_number(fits, name, value, "finite and above 0")
}

fn above(
    name: &'static str,
    value: f64,
    least: f64,
    bound: &'static str,
) -> Result<(), PositionError> {
    let fits = value > least && (value / least).is_finite();
    check_number(fits, name, value, bound)
}

impl Spectrum {
    /// The spectrum of a width and a formula. A number stands for the paper's formula with that base
    /// (the paper's own is [`DEFAULT_BASE`]).
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a `d_model` of 0, a base that is not finite or not greater than 1
    /// (the frequencies would not decrease), any other number that the formula cannot work with, and numbers of
    /// which a frequency or its wavelength is no finite number above 0;
    /// [`TooLarge`](PositionError::TooLarge) when the frequencies do not fit into memory.
    pub fn new(d_model: usize, formula: impl Into<Formula>) -> Result<Self, PositionError> {
        check_size("d_model", d_model)?;
        check_room::<Double>(1, d_model.div_ceil(2))?;
        let formula = formula.into();
        formula.check_width(d_model)?;
        formula.check_numbers(d_model)?;
        let spectrum = formula.spectrum(d_model)?;
        for Double { hi: omega, .. } in &spectrum.frequencies {
            let bound = "at most 1e12 radians per position";
            check_number(*omega <= HIGHEST, "a frequency", *omega, bound)?;
            let fits = omega.is_finite() && *omega > 0.0 && (TAU / omega).is_finite();
            let bound = "finite and above 0, as its wavelength 2π / frequency";
            check_number(fits, "a frequency", *omega, bound)?;
        }
        Ok(spectrum)
    }
}

#[cfg(test)]
mod tests;
