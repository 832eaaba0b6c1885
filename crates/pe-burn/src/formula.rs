//! The sinusoidal encodings of other libraries: their frequencies, columns, scales and offsets.

use serde::{Deserialize, Serialize};

use crate::double::Double;
use crate::error::{PositionError, expect};
use crate::input::check_finite;
use crate::layout::Layout;
use crate::spectrum::{DEFAULT_BASE, MAX_POSITION, Spectrum, default_base};

/// Whose formula a sinusoidal encoding follows.
///
/// They all go by the name of the paper's, and models trained with one do not work with another.
/// With `n` = ⌊d_model/2⌋ frequencies:
///
/// | formula | ω_i | columns | an odd width ends in |
/// |---|---|---|---|
/// | [`Paper`](Self::Paper) | base^(−2i/d_model) | interleaved | a sine |
/// | [`Wavelengths`](Self::Wavelengths) | 2π/min · (max/min)^(−i/(n − 1)), ⌈d_model/2⌉ of them | interleaved | a sine |
/// | [`Tensor2Tensor`](Self::Tensor2Tensor) | min · (max/min)^(−i/(n − 1)) | halves | a zero |
/// | [`Fairseq`](Self::Fairseq) | 10 000^(−i/(n − 1)), from `padding_index + 1` on | halves | a zero |
/// | [`Marian`](Self::Marian) | 10 000^(−2i/d_model) | halves | a cosine less |
/// | [`Mlx`](Self::Mlx) | max · (max/min)^(−i/(n − 1)), times √(2/d_model) | halves | refused |
/// | [`Diffusers`](Self::Diffusers) | scale · max_period^(−i/(n − shift)) | halves | a zero |
/// | [`TorchGeometric`](Self::TorchGeometric) | base_freq^(i/(n − 1)) / granularity | halves | refused |
/// | [`Keras`](Self::Keras) | max_wavelength^(−2i/d_model) | interleaved | a sine |
///
/// As data it has a field `name`, and its numbers where they are not their library's defaults, which
/// the constants have too:
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
/// Most of these libraries compute in `f32`, which is off by up to 4e-4 at position 5 000 with their
/// own defaults, and by more where the frequencies are scaled up. Ours are exact.
#[derive(Clone, Copy, Debug, PartialEq, Serialize, Deserialize)]
#[serde(tag = "name", rename_all = "snake_case", deny_unknown_fields)]
#[non_exhaustive]
pub enum Formula {
    /// §3.5 of *Attention Is All You Need*, with the base that the configuration says.
    Paper {},
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
        /// The highest frequency. (Its name and the default 1 make it a time; as a time it would be
        /// the inverse.) Default: 1.
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
        /// What is taken from the number of frequencies in the exponent. Default: 1.
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
}

fn one() -> f64 {
    1.0
}

fn padding_index() -> usize {
    1
}

fn min_freq() -> f64 {
    1e-4
}

impl Default for Formula {
    fn default() -> Self {
        Self::Paper {}
    }
}

impl Formula {
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

    /// Whether the padded tokens of a mask have zeros.
    pub(crate) fn pads_with_zeros(&self) -> bool {
        matches!(self, Self::Fairseq { .. })
    }
}

impl Spectrum {
    /// The spectrum of a formula: its rows are those of the library that it is named after.
    ///
    /// ```
    /// use pe_burn::{Formula, Layout, Spectrum};
    ///
    /// let fairseq = Spectrum::of(Formula::FAIRSEQ, 512);
    /// assert_eq!((fairseq.layout(), fairseq.offset()), (Layout::Halves, 2));
    /// ```
    ///
    /// # Panics
    ///
    /// Where [`try_of`](Self::try_of) returns an error.
    pub fn of(formula: Formula, d_model: usize) -> Self {
        expect(Self::try_of(formula, d_model))
    }

    /// As [`of`](Self::of).
    ///
    /// # Errors
    ///
    /// [`PositionError::ZeroDModel`], and [`Number`](PositionError::Number),
    /// [`Wavelengths`](PositionError::Wavelengths), [`NotFinite`](PositionError::NotFinite) or
    /// [`Base`](PositionError::Base) with the number that the formula cannot do with.
    pub fn try_of(formula: Formula, d_model: usize) -> Result<Self, PositionError> {
        if d_model == 0 {
            return Err(PositionError::ZeroDModel);
        }
        let pairs = d_model / 2;
        let paper = |base| Self::try_new(d_model, base);
        // The first frequency over the last but `shift` is max / min.
        let halves = |first: Double, min: f64, max: f64, shift: f64| {
            let steps = match pairs {
                1 => 1.0, // there is no step
                _ => pairs as f64 - shift,
            };
            let spectrum = Self::geometric(d_model, pairs, first, log_ratio(min, max), steps);
            spectrum.with_layout(Layout::Halves)
        };
        let columns = "d_model, or the columns of one axis,";
        let width = |fits: bool, bound| number(columns, d_model as f64, fits, bound);
        let even = || width(d_model.is_multiple_of(2), "even for this formula");
        // What these libraries divide by is 0, or there is no frequency.
        let two_pairs = || width(pairs > 1, "at least 4 for this formula");
        let one_pair = || width(pairs > 0, "at least 2 for this formula");
        let spectrum = match formula {
            Formula::Paper {} => paper(DEFAULT_BASE)?,
            Formula::Keras { max_wavelength } => paper(max_wavelength)?,
            Formula::Marian {} => paper(DEFAULT_BASE)?.with_layout(Layout::Halves),
            Formula::Wavelengths { min, max } => {
                if !(min > 0.0 && min < max && (max / min).is_finite()) {
                    return Err(PositionError::Wavelengths { min, max });
                }
                let pairs = d_model.div_ceil(2);
                let (first, steps) = (Double::TAU.div(min), (pairs - 1).max(1) as f64);
                Self::geometric(d_model, pairs, first, log_ratio(min, max), steps)
            }
            Formula::Tensor2Tensor {
                min_timescale,
                max_timescale,
            } => {
                one_pair()?;
                positive("min_timescale", min_timescale)?;
                let bound = "finite, and more than min_timescale";
                above("max_timescale", max_timescale, min_timescale, bound)?;
                let first = Double::ONE.times(min_timescale);
                halves(first, min_timescale, max_timescale, 1.0)
            }
            Formula::Fairseq { padding_index } => {
                two_pairs()?;
                let fits = padding_index < MAX_POSITION;
                let bound = "less than the largest position, 2^52 − 1";
                number("padding_index", padding_index as f64, fits, bound)?;
                let spectrum = halves(Double::ONE, 1.0, DEFAULT_BASE, 1.0);
                spectrum.with_offset(padding_index + 1)
            }
            Formula::Mlx {
                min_freq,
                max_freq,
                scale,
                cos_first,
                full_turns,
            } => {
                one_pair()?;
                even()?;
                positive("min_freq", min_freq)?;
                above(
                    "max_freq",
                    max_freq,
                    min_freq,
                    "finite, and more than min_freq",
                )?;
                let scale = scale.unwrap_or(libm::sqrt(2.0 / d_model as f64));
                check_finite("scale", scale)?;
                let unit = if full_turns { Double::TAU } else { Double::ONE };
                halves(unit.times(max_freq), min_freq, max_freq, 1.0)
                    .with_cos_first(cos_first)
                    .with_amplitude(scale)
            }
            Formula::Diffusers {
                flip_sin_to_cos,
                downscale_freq_shift: shift,
                scale,
                max_period,
            } => {
                one_pair()?;
                positive("scale", scale)?;
                above("max_period", max_period, 1.0, "finite, and more than 1")?;
                let fits = shift < pairs as f64 && shift.is_finite();
                let bound = "less than d_model/2, from which it is taken";
                number("downscale_freq_shift", shift, fits, bound)?;
                let first = Double::ONE.times(scale);
                halves(first, 1.0, max_period, shift).with_cos_first(flip_sin_to_cos)
            }
            Formula::TorchGeometric {
                base_freq,
                granularity,
            } => {
                even()?;
                let fits = base_freq > 0.0 && base_freq < 1.0;
                number("base_freq", base_freq, fits, "between 0 and 1")?;
                positive("granularity", granularity)?;
                let first = Double::quotient(1.0, granularity);
                halves(first, base_freq, 1.0, 1.0)
            }
        };
        for omega in spectrum.frequencies() {
            let fits = omega <= HIGHEST;
            number(
                "a frequency",
                omega,
                fits,
                "at most 1e12 radians per position",
            )?;
        }
        Ok(spectrum)
    }
}

/// Frequencies beyond leave few positions whose angles can be told, and then none.
const HIGHEST: f64 = 1e12;

/// ln(max / min).
fn log_ratio(min: f64, max: f64) -> Double {
    Double::ln(max).add(Double::ln(min).neg())
}

fn number(
    what: &'static str,
    value: f64,
    fits: bool,
    bound: &'static str,
) -> Result<(), PositionError> {
    match fits {
        true => Ok(()),
        false => Err(PositionError::Number { what, value, bound }),
    }
}

fn positive(what: &'static str, value: f64) -> Result<(), PositionError> {
    let fits = value > 0.0 && value.recip().is_finite() && value.is_finite();
    number(what, value, fits, "a finite number above 0")
}

fn above(
    what: &'static str,
    value: f64,
    least: f64,
    bound: &'static str,
) -> Result<(), PositionError> {
    let fits = value > least && (value / least).is_finite();
    number(what, value, fits, bound)
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;
    use alloc::vec::Vec;

    fn rows(formula: Formula, d_model: usize) -> Vec<f64> {
        Spectrum::of(formula, d_model).rows(0..3)
    }

    /// `sin` and `cos` of ω_i p, each times a number, in the columns that the formula says.
    #[test]
    fn the_columns_are_where_the_table_says() {
        let (slow, tau) = (1e-4, core::f64::consts::TAU);
        let (sin, cos) = (libm::sin, libm::cos);
        let stable = Formula::Diffusers {
            flip_sin_to_cos: true,
            downscale_freq_shift: 0.0,
            scale: 3.0,
            max_period: 1e4,
        };
        let mlx = Formula::Mlx {
            min_freq: 1e-4,
            max_freq: 1.0,
            scale: Some(2.0),
            cos_first: true,
            full_turns: true,
        };
        let geometric = Formula::TorchGeometric {
            base_freq: 1e-4,
            granularity: 4.0,
        };
        for p in 0..3 {
            let x = p as f64;
            for (formula, expected) in [
                (Formula::FAIRSEQ, {
                    let x = x + 2.0;
                    [sin(x), sin(slow * x), cos(x), cos(slow * x)]
                }),
                (
                    stable,
                    [cos(3.0 * x), cos(0.03 * x), sin(3.0 * x), sin(0.03 * x)],
                ),
                (
                    mlx,
                    [
                        cos(tau * x),
                        cos(tau * slow * x),
                        sin(tau * x),
                        sin(tau * slow * x),
                    ]
                    .map(|y| 2.0 * y),
                ),
                (geometric, {
                    let x = x / 4.0;
                    [sin(x), sin(slow * x), cos(x), cos(slow * x)]
                }),
            ] {
                for (ours, expected) in rows(formula, 4)[4 * p..].iter().zip(expected) {
                    assert!(
                        (ours - expected).abs() < 2e-15,
                        "{formula:?} at {p}: {ours}"
                    );
                }
            }
        }
    }

    #[test]
    fn an_odd_width_ends_as_the_library_ends_it() {
        for formula in [Formula::TENSOR2TENSOR, Formula::FAIRSEQ, Formula::DIFFUSERS] {
            let (odd, even) = (rows(formula, 5), rows(formula, 4));
            for (odd, even) in odd.chunks(5).zip(even.chunks(4)) {
                assert_eq!((&odd[..4], odd[4]), (even, 0.0), "{formula:?}");
            }
        }
        for formula in [Formula::MLX, Formula::TORCH_GEOMETRIC] {
            let error = Spectrum::try_of(formula, 5).unwrap_err();
            assert_eq!(
                error.to_string(),
                "d_model, or the columns of one axis, must be even for this formula; got 5"
            );
        }
    }

    #[test]
    fn what_a_library_divides_by_zero_for_is_refused() {
        for d_model in [1, 2, 3] {
            let error = Spectrum::try_of(Formula::FAIRSEQ, d_model).unwrap_err();
            let expected =
                "d_model, or the columns of one axis, must be at least 4 for this formula; got ";
            assert_eq!(error.to_string(), alloc::format!("{expected}{d_model}"));
        }
        for formula in [
            Formula::TENSOR2TENSOR,
            Formula::TORCH_GEOMETRIC,
            Formula::MLX, // times √(2/2)
        ] {
            assert_eq!(rows(formula, 2)[2..4], [libm::sin(1.0), libm::cos(1.0)]);
        }
        let error = Spectrum::try_of(Formula::DIFFUSERS, 2).unwrap_err();
        assert!(error.to_string().contains("less than d_model/2"), "{error}");
        assert_eq!(
            Spectrum::try_of(Formula::KERAS, 0),
            Err(PositionError::ZeroDModel)
        );
        // Numbers that would leave no angle to tell.
        for formula in [
            Formula::Wavelengths {
                min: 1e-305,
                max: 1.0,
            },
            Formula::TorchGeometric {
                base_freq: 0.1,
                granularity: 1e-305,
            },
            Formula::Tensor2Tensor {
                min_timescale: 1e300,
                max_timescale: 1e305,
            },
        ] {
            let error = Spectrum::try_of(formula, 4).unwrap_err();
            assert!(matches!(error, PositionError::Number { .. }), "{error}");
        }
        let far = Formula::Fairseq {
            padding_index: usize::MAX,
        };
        let error = Spectrum::try_of(far, 4).unwrap_err();
        assert!(
            error.to_string().starts_with("padding_index must be less"),
            "{error}"
        );
        let wrong = Formula::Wavelengths { min: 4.0, max: 4.0 };
        let error = PositionError::Wavelengths { min: 4.0, max: 4.0 };
        assert_eq!(Spectrum::try_of(wrong, 4), Err(error));
    }

    #[test]
    fn as_data_a_formula_is_a_name_and_what_is_not_its_default() {
        for (json, formula) in [
            (r#"{"name": "paper"}"#, Formula::default()),
            (r#"{"name": "tensor2tensor"}"#, Formula::TENSOR2TENSOR),
            (r#"{"name": "fairseq"}"#, Formula::FAIRSEQ),
            (r#"{"name": "marian"}"#, Formula::Marian {}),
            (r#"{"name": "mlx"}"#, Formula::MLX),
            (r#"{"name": "diffusers"}"#, Formula::DIFFUSERS),
            (r#"{"name": "torch_geometric"}"#, Formula::TORCH_GEOMETRIC),
            (r#"{"name": "keras"}"#, Formula::KERAS),
        ] {
            assert_eq!(serde_json::from_str::<Formula>(json).unwrap(), formula);
            let json = serde_json::to_string(&formula).unwrap();
            assert_eq!(serde_json::from_str::<Formula>(&json).unwrap(), formula);
        }
        let unknown = r#"{"name": "marian", "base": 3.0}"#;
        assert!(serde_json::from_str::<Formula>(unknown).is_err());
    }
}
