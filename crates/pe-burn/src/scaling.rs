//! Frequencies of rotary encodings for longer inputs than a model was trained on.

use alloc::vec::Vec;

use serde::Serialize;

use crate::error::{PositionError, expect};
use crate::spectrum::Spectrum;

/// How the frequencies of a rotary encoding are changed, so that a model can read more than it was
/// trained on.
///
/// | variant | source |
/// |---|---|
/// | [`Linear`](Self::Linear) | Chen et al., [*Extending Context Window of Large Language Models via Positional Interpolation*](https://arxiv.org/abs/2306.15595), 2023 |
/// | [`Ntk`](Self::Ntk), [`Dynamic`](Self::Dynamic) | described in §3.1 and §3.3 of Peng et al. 2023 |
/// | [`Yarn`](Self::Yarn) | Peng et al., [*YaRN: Efficient Context Window Extension of Large Language Models*](https://arxiv.org/abs/2309.00071), 2023, §3 |
/// | [`Longrope`](Self::Longrope) | Ding et al., [*LongRoPE*](https://arxiv.org/abs/2402.13753), 2024; as Phi-3 uses it |
/// | [`Llama3`](Self::Llama3) | *The Llama 3 Herd of Models*, 2024; by the code that came with the 3.1 models |
///
/// As data it has the names that a model's `rope_scaling` has in Hugging Face's `config.json`, where
/// `original_max_position_embeddings` is the length that the model was trained on:
///
/// ```
/// use pe_burn::{RopeScaling, Spectrum};
///
/// let llama: RopeScaling = serde_json::from_str(
///     r#"{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0, "high_freq_factor": 4.0,
///         "original_max_position_embeddings": 8192}"#,
/// )
/// .unwrap();
/// let plain = Spectrum::new(128, 500_000.0);
/// let scaled = plain.clone().scaled(&llama, 100_000);
/// let [fast, slow] = [0, 63].map(|i| plain.frequencies()[i] / scaled.frequencies()[i]);
/// assert_eq!([fast, slow], [1.0, 8.0]); // fast frequencies stay, slow ones are stretched
/// ```
///
/// The older name `type` in place of `rope_type` is read as well. Where a model has some of its lengths
/// elsewhere in its `config.json`, read that as a [`ModelConfig`](crate::ModelConfig).
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(tag = "rope_type", rename_all = "snake_case")]
pub enum RopeScaling {
    /// Every frequency by 1/`factor`: positions are squeezed into the trained range.
    Linear {
        /// How many times as long the inputs are, at least 1.
        factor: f64,
    },
    /// The base times `factor^(d/(d − 2))`: the slowest frequency is scaled as in
    /// [`Linear`](Self::Linear), the fastest not at all.
    Ntk {
        /// How many times as long the inputs are, at least 1.
        factor: f64,
    },
    /// As [`Ntk`](Self::Ntk), by as much as the length of the input needs: the base times
    /// `(factor · seq/original − (factor − 1))^(d/(d − 2))` beyond the trained length.
    Dynamic {
        /// How strongly the base grows with the length, at least 1.
        factor: f64,
        /// The length that the model was trained on.
        original_max_position_embeddings: usize,
    },
    /// Between [`Linear`](Self::Linear) for frequencies that turn less than `beta_slow` times in
    /// the trained length and no change for those that turn more than `beta_fast` times, and the
    /// scores scaled by the square of an attention factor.
    Yarn {
        /// How many times as long the inputs are, at least 1.
        factor: f64,
        /// The length that the model was trained on.
        original_max_position_embeddings: usize,
        /// Turns from which a frequency stays. Default: 32.
        beta_fast: f64,
        /// Turns up to which a frequency is divided by `factor`. Default: 1.
        beta_slow: f64,
        /// What queries and keys are multiplied by. Default: `0.1 ln(factor) + 1`, or from the
        /// two below.
        attention_factor: Option<f64>,
        /// With `mscale_all_dim`, the attention factor is
        /// `(0.1 mscale ln(factor) + 1) / (0.1 mscale_all_dim ln(factor) + 1)`, as in DeepSeek-V2;
        /// a 0 in one of them stands for none.
        mscale: Option<f64>,
        /// See `mscale`.
        mscale_all_dim: Option<f64>,
        /// Whether the ends of the ramp are rounded to whole pairs. Default: true.
        truncate: bool,
    },
    /// Every frequency divided by a factor of its own, found by a search: one set of them up to the
    /// trained length, another beyond.
    Longrope {
        /// For inputs up to the trained length, one per frequency.
        short_factor: Vec<f64>,
        /// For longer ones, one per frequency.
        long_factor: Vec<f64>,
        /// The length that the model was trained on.
        original_max_position_embeddings: usize,
        /// How many times as long the inputs are, at least 1, for the attention factor, which it
        /// gives unless that is given itself. Hugging Face divides the model's
        /// `max_position_embeddings` by the original ones for it.
        factor: Option<f64>,
        /// What queries and keys are multiplied by. Default: `√(1 + ln(factor)/ln(original))`.
        attention_factor: Option<f64>,
    },
    /// As [`Linear`](Self::Linear) for wavelengths above `original/low_freq_factor`, no change below
    /// `original/high_freq_factor`, and smoothly between.
    Llama3 {
        /// How many times as long the inputs are, at least 1.
        factor: f64,
        /// Divides the trained length to give the longest wavelength of the smooth part.
        low_freq_factor: f64,
        /// Divides the trained length to give the shortest wavelength of the smooth part.
        high_freq_factor: f64,
        /// The length that the model was trained on.
        original_max_position_embeddings: usize,
    },
}

impl Spectrum {
    /// This spectrum for inputs of `seq` tokens; the length matters to
    /// [`RopeScaling::Dynamic`] and [`RopeScaling::Longrope`] alone.
    ///
    /// # Panics
    ///
    /// Where [`try_scaled`](Self::try_scaled) returns an error.
    pub fn scaled(self, scaling: &RopeScaling, seq: usize) -> Self {
        expect(self.try_scaled(scaling, seq))
    }

    /// As [`scaled`](Self::scaled).
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] with the number that makes no sense, [`Base`](PositionError::Base)
    /// when the base grows past all numbers, [`Factors`](PositionError::Factors) for LongRoPE when
    /// there is not one for each frequency, and [`LongropeFactor`](PositionError::LongropeFactor)
    /// when nothing gives its attention factor.
    pub fn try_scaled(self, scaling: &RopeScaling, seq: usize) -> Result<Self, PositionError> {
        scaling.check(self.frequencies().len())?;
        let width = self.d_model() as f64;
        match scaling {
            RopeScaling::Linear { factor } => Ok(self.map(|_, omega| omega.div(*factor))),
            RopeScaling::Ntk { factor } => self.with_base_times(*factor),
            RopeScaling::Dynamic {
                factor,
                original_max_position_embeddings: original,
            } => {
                let seq = seq.max(*original) as f64;
                self.with_base_times(factor * seq / *original as f64 - (factor - 1.0))
            }
            RopeScaling::Yarn {
                factor,
                original_max_position_embeddings: original,
                beta_fast,
                beta_slow,
                truncate,
                ..
            } => {
                // The pair that makes so many turns in the trained length.
                let pair = |turns: f64| {
                    let wavelength = *original as f64 / (turns * core::f64::consts::TAU);
                    width * libm::log(wavelength) / (2.0 * libm::log(self.base()))
                };
                let (mut low, mut high) = (pair(*beta_fast), pair(*beta_slow));
                if *truncate {
                    (low, high) = (libm::floor(low), libm::ceil(high));
                }
                let (low, mut high) = (low.max(0.0), high.min(width - 1.0));
                if low == high {
                    high += 0.001; // as the model's own code avoids the division by 0
                }
                Ok(self.map(|i, omega| {
                    let slow = ((i as f64 - low) / (high - low)).clamp(0.0, 1.0);
                    omega.times(slow / factor + (1.0 - slow))
                }))
            }
            RopeScaling::Longrope {
                short_factor,
                long_factor,
                original_max_position_embeddings: original,
                ..
            } => {
                let long = seq > *original;
                let factors = if long { long_factor } else { short_factor };
                Ok(self.map(|i, omega| omega.div(factors[i])))
            }
            RopeScaling::Llama3 {
                factor,
                low_freq_factor: low,
                high_freq_factor: high,
                original_max_position_embeddings: original,
            } => Ok(self.map(|_, omega| {
                let turns = *original as f64 * omega.hi / core::f64::consts::TAU;
                if turns < *low {
                    omega.div(*factor)
                } else if turns > *high {
                    omega
                } else {
                    let fast = (turns - low) / (high - low);
                    omega.times((1.0 - fast) / factor + fast)
                }
            })),
        }
    }

    /// The spectrum of this base times `growth^(d/(d − 2))`.
    fn with_base_times(self, growth: f64) -> Result<Self, PositionError> {
        let width = self.d_model() as f64;
        let base = self.base() * libm::pow(growth, width / (width - 2.0));
        let layout = self.layout();
        let scaled = Self::try_new(self.d_model(), base)?.with_layout(layout);
        // The base that the spectrum was made with stays its base.
        let first = self.doubles()[0];
        Ok(self.map(|i, _| scaled.doubles()[i].mul(first)))
    }
}

impl RopeScaling {
    /// What queries and keys are both multiplied by, beside being rotated: 1 but for YaRN and
    /// LongRoPE, which so sharpen the attention over more keys.
    pub fn attention_factor(&self) -> f64 {
        let yarn = |factor: f64, scale: f64| match factor {
            factor if factor <= 1.0 => 1.0,
            factor => 0.1 * scale * libm::log(factor) + 1.0,
        };
        match self {
            Self::Yarn {
                attention_factor: Some(given),
                ..
            }
            | Self::Longrope {
                attention_factor: Some(given),
                ..
            } => *given,
            Self::Yarn {
                factor,
                mscale: Some(mscale),
                mscale_all_dim: Some(all),
                ..
            } if *mscale != 0.0 && *all != 0.0 => yarn(*factor, *mscale) / yarn(*factor, *all),
            Self::Yarn { factor, .. } => yarn(*factor, 1.0),
            Self::Longrope {
                factor: Some(factor),
                original_max_position_embeddings: original,
                ..
            } if *factor > 1.0 => {
                libm::sqrt(1.0 + libm::log(*factor) / libm::log(*original as f64))
            }
            _ => 1.0,
        }
    }

    /// The length beyond which the frequencies depend on the length of the input.
    pub(crate) fn changes_beyond(&self) -> Option<usize> {
        match self {
            Self::Dynamic {
                original_max_position_embeddings: original,
                ..
            }
            | Self::Longrope {
                original_max_position_embeddings: original,
                ..
            } => Some(*original),
            Self::Linear { .. } | Self::Ntk { .. } | Self::Yarn { .. } | Self::Llama3 { .. } => {
                None
            }
        }
    }

    /// Refuses numbers that scale nothing, for a spectrum of `pairs` frequencies.
    fn check(&self, pairs: usize) -> Result<(), PositionError> {
        let wrong = |what, value, bound| Err(PositionError::Number { what, value, bound });
        let (factor, original) = match self {
            Self::Linear { factor } | Self::Ntk { factor } => (Some(*factor), None),
            Self::Dynamic {
                factor,
                original_max_position_embeddings: original,
            }
            | Self::Yarn {
                factor,
                original_max_position_embeddings: original,
                ..
            }
            | Self::Llama3 {
                factor,
                original_max_position_embeddings: original,
                ..
            } => (Some(*factor), Some(*original)),
            Self::Longrope {
                factor,
                original_max_position_embeddings: original,
                ..
            } => (*factor, Some(*original)),
        };
        if let Some(factor) = factor
            && !(factor.is_finite() && factor >= 1.0)
        {
            return wrong("factor", factor, "a finite number of at least 1");
        }
        if let Self::Longrope {
            factor: None,
            attention_factor: None,
            ..
        } = self
        {
            return Err(PositionError::LongropeFactor);
        }
        if let Some(original) = original
            && original < 2
        {
            let bound = "at least 2";
            return wrong("original_max_position_embeddings", original as f64, bound);
        }
        let grows_base = matches!(self, Self::Ntk { .. } | Self::Dynamic { .. });
        if grows_base && pairs < 2 {
            let bound = "at least 4, since the exponent d/(d - 2) has to exist";
            return wrong("the rotated width", 2.0 * pairs as f64, bound);
        }
        match self {
            Self::Yarn {
                beta_fast,
                beta_slow,
                ..
            } if !(*beta_slow > 0.0 && beta_fast > beta_slow && beta_fast.is_finite()) => {
                wrong("beta_fast", *beta_fast, "above beta_slow, which is above 0")
            }
            Self::Llama3 {
                low_freq_factor: low,
                high_freq_factor: high,
                ..
            } if !(*low > 0.0 && high > low && high.is_finite()) => {
                let bound = "above low_freq_factor, which is above 0";
                wrong("high_freq_factor", *high, bound)
            }
            Self::Longrope {
                short_factor,
                long_factor,
                ..
            } => {
                for factors in [short_factor, long_factor] {
                    if factors.len() != pairs {
                        return Err(PositionError::Factors {
                            expected: pairs,
                            got: factors.len(),
                        });
                    }
                    let bad = |factor: &&f64| !(factor.is_finite() && **factor > 0.0);
                    if let Some(factor) = factors.iter().find(bad) {
                        return wrong("a factor of longrope", *factor, "above 0 and finite");
                    }
                }
                Ok(())
            }
            _ => Ok(()),
        }?;
        let attention = self.attention_factor();
        match attention as f32 > 0.0 && (attention as f32).is_finite() {
            true => Ok(()),
            false => wrong("attention_factor", attention, "above 0 and finite in f32"),
        }
    }
}
