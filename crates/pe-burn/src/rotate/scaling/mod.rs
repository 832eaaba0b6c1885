//! RoPE scaling (context extension): the frequencies of a rotary encoding for longer inputs than a
//! model was trained on.
//!
//! To add a scaling:
//!
//! 1. Give it a file here, with its `mod` line below: a struct with public fields named as in
//!    Hugging Face's `config.json`, a `new` that takes the fields without a default, and
//!    `impl Scaling`.
//! 2. Give it a line in the table `scalings!` below. The variant of [`RopeScaling`], reading and
//!    writing it, the dispatch and the row in the docs follow from that line.

mod dynamic;
mod fields;
mod kind;
mod linear;
mod llama3;
mod longrope;
mod ntk;
mod proportional;
mod yarn;

use alloc::format;
use alloc::string::String;
use core::f64::consts::TAU;

use serde::de::Error;
use serde::{Deserialize, Deserializer, Serialize};

use crate::error::{PositionError, check_number};
use crate::spectrum::Spectrum;
pub use fields::{Fields, Value};
use kind::Scaling;

/// Makes the enum of all scalings from one line for each: `"rope_type" => file::Type: "source"`.
macro_rules! scalings {
    ($($name:literal => $file:ident::$Scaling:ident: $source:literal,)+) => {
        /// The types of all scalings, for the public module `scaling`.
        pub(crate) mod types {
            $(pub use super::$file::$Scaling;)+
        }
        pub use self::types::*;

        /// RoPE scaling (context extension): how the frequencies of a rotary encoding are changed, so
        /// that a model can read longer inputs than it was trained on.
        ///
        /// | `rope_type` | type | source |
        /// |---|---|---|
        $(#[doc = concat!("| `", $name, "` | [`", stringify!($Scaling), "`] | ", $source, " |")])+
        ///
        /// As data it is what a model has as `rope_scaling` in Hugging Face's `config.json`, where
        /// `original_max_position_embeddings` is the length that the model was trained on:
        ///
        /// ```
        /// use pe_burn::{RopeScaling, Spectrum};
        ///
        /// let llama: RopeScaling = serde_json::from_str(
        ///     r#"{"rope_type": "llama3", "factor": 8.0, "low_freq_factor": 1.0,
        ///         "high_freq_factor": 4.0, "original_max_position_embeddings": 8192}"#,
        /// )?;
        /// let plain = Spectrum::new(128, 500_000.0)?;
        /// let scaled = plain.clone().scaled(&llama, 100_000)?;
        /// let [fast, slow] = [0, 63].map(|i| plain.frequencies()[i] / scaled.frequencies()[i]);
        /// assert_eq!([fast, slow], [1.0, 8.0]); // high frequencies stay, low ones are divided by 8
        /// # Ok::<(), Box<dyn std::error::Error>>(())
        /// ```
        ///
        /// In code it is made from one of the types:
        ///
        /// ```
        /// use pe_burn::RotaryPositionalEncodingConfig;
        /// use pe_burn::scaling::Yarn;
        ///
        /// let config = RotaryPositionalEncodingConfig::new(128).with_scaling(Yarn::new(4.0, 32_768));
        /// # assert!(config.scaling.is_some());
        /// ```
        ///
        /// The older name `type` in place of `rope_type` is read as well. A field that the scaling does
        /// not have is an error. Some models have a part of their lengths elsewhere in their
        /// `config.json`: read the whole file as a `HfConfig` of the crate
        /// `pe-models`.
        #[doc(alias = "rope_scaling")]
        #[doc(alias = "rope_parameters")]
        #[doc(alias = "context extension")]
        #[derive(Clone, Debug, PartialEq, Serialize)]
        #[serde(tag = "rope_type")]
        #[non_exhaustive]
        pub enum RopeScaling {
            $(
                #[doc = concat!("`", $name, "`: see [`", stringify!($Scaling), "`].")]
                #[serde(rename = $name)]
                $Scaling($Scaling),
            )+
        }

        $(
            impl From<$Scaling> for RopeScaling {
                fn from(scaling: $Scaling) -> Self {
                    Self::$Scaling(scaling)
                }
            }
        )+

        impl RopeScaling {
            /// Reads the scaling of this `rope_type` from a group that may have other fields too. Returns it with the
            /// names of its own fields.
            ///
            /// # Errors
            ///
            /// What is missing or cannot be used, as in "linear needs `factor`".
            pub fn read(
                rope_type: &str,
                fields: &Fields,
            ) -> Result<(Self, &'static [&'static str]), String> {
                let (scaling, names) = match rope_type {
                    $($name => (
                        <$Scaling as Scaling>::read(fields).map(Self::$Scaling),
                        <$Scaling as Scaling>::fields(),
                    ),)+
                    _ => {
                        let known = [$($name),+].join(", ");
                        return Err(format!(
                            "there is no rope_type \"{rope_type}\"; there are: {known}"
                        ));
                    }
                };
                match scaling {
                    Ok(scaling) => Ok((scaling, names)),
                    Err(reason) => Err(format!("{rope_type} {reason}")),
                }
            }

            fn as_dyn(&self) -> &dyn Scaling {
                match self {
                    $(Self::$Scaling(scaling) => scaling,)+
                }
            }
        }
    };
}

scalings! {
    "linear" => linear::Linear: "Chen et al., [*Extending Context Window of Large Language Models via Positional Interpolation*](https://arxiv.org/abs/2306.15595), 2023",
    "ntk" => ntk::Ntk: "§3.1 of Peng et al. 2023",
    "dynamic" => dynamic::Dynamic: "§3.3 of Peng et al. 2023",
    "yarn" => yarn::Yarn: "Peng et al., [*YaRN: Efficient Context Window Extension of Large Language Models*](https://arxiv.org/abs/2309.00071), 2023, §3",
    "longrope" => longrope::Longrope: "Ding et al., [*LongRoPE*](https://arxiv.org/abs/2402.13753), 2024; as Phi-3 uses it",
    "proportional" => proportional::Proportional: "[Gemma 4](https://huggingface.co/docs/transformers/model_doc/gemma4), by its code",
    "llama3" => llama3::Llama3: "[*The Llama 3 Herd of Models*](https://arxiv.org/abs/2407.21783), 2024; by the code that came with the 3.1 models",
}

impl RopeScaling {
    /// What queries and keys are both multiplied by, besides being rotated, to sharpen the attention
    /// over more keys: 1, except for [`Yarn`] and [`Longrope`].
    pub fn attention_factor(&self) -> f64 {
        self.as_dyn().attention_factor()
    }

    /// The length beyond which the frequencies depend on the length of the input; `None` if they
    /// never do.
    pub(crate) fn changes_beyond(&self) -> Option<usize> {
        self.as_dyn().changes_beyond()
    }

    /// Whether the frequencies beyond that length differ from one length to the next.
    pub(crate) fn varies_with_length(&self) -> bool {
        self.as_dyn().varies_with_length()
    }
}

impl Spectrum {
    /// RoPE scaling: this spectrum for inputs of `seq` tokens. The length matters to
    /// [`Dynamic`](crate::scaling::Dynamic) and [`Longrope`](crate::scaling::Longrope) only.
    ///
    /// A spectrum can be scaled more than once. Each scaling multiplies every frequency by a ratio of its
    /// own, so two of them multiply it by both. The ratios of [`Llama3`](crate::scaling::Llama3) follow
    /// from the frequencies that it finds; those of all others from the width and the base.
    ///
    /// # Errors
    ///
    /// [`PositionError::Number`] for a number that the scaling cannot work with, and where a scaled
    /// frequency, its wavelength or the base is no longer a finite number above 0; [`Config`](PositionError::Config) when
    /// nothing gives the attention factor of LongRoPE.
    ///
    /// ```
    /// use pe_burn::Spectrum;
    /// use pe_burn::scaling::Linear;
    ///
    /// let plain = Spectrum::new(64, 10_000.0)?;
    /// let scaled = plain.clone().scaled(&Linear::new(4.0).into(), 1)?;
    /// assert_eq!(scaled.wavelengths()[0], 4.0 * plain.wavelengths()[0]);
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    #[doc(alias = "rope_scaling")]
    pub fn scaled(self, scaling: &RopeScaling, seq: usize) -> Result<Self, PositionError> {
        let scaling = scaling.as_dyn();
        scaling.check(self.doubles().len())?;
        let before = self.frequencies();
        let scaled = scaling.apply(self, seq)?;
        for (omega, before) in scaled.frequencies().into_iter().zip(before) {
            let turns = omega > 0.0 && (TAU / omega).is_finite();
            let stops = omega == 0.0 && (scaling.stops_frequencies() || before == 0.0);
            let fits = omega.is_finite() && (turns || stops);
            let bound = "finite and above 0, as its wavelength 2π / frequency";
            check_number(fits, "a scaled frequency", omega, bound)?;
        }
        Ok(scaled)
    }
}

/// On its own a scaling is a setting, so a field that it does not have is an error.
impl<'de> Deserialize<'de> for RopeScaling {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        read_alone(Fields::deserialize(from)?).map_err(D::Error::custom)
    }
}

fn read_alone(fields: Fields) -> Result<RopeScaling, String> {
    let name = |field| {
        let name = fields.text(field);
        name.map_err(|reason| format!("a scaling of RoPE {reason}"))
    };
    let rope_type = match (name("rope_type")?, name("type")?) {
        (Some(newer), Some(older)) if newer != older => {
            return Err(format!("rope_type is \"{newer}\", but type is \"{older}\""));
        }
        (newer, older) => newer.or(older).ok_or("missing field `rope_type`")?,
    };
    if rope_type == "default" {
        return Err("rope_type \"default\" scales nothing: leave it out".into());
    }
    let (scaling, known) = RopeScaling::read(rope_type, &fields)?;
    let is_unknown = |name: &&str| !matches!(*name, "rope_type" | "type") && !known.contains(name);
    match fields.names().find(is_unknown) {
        Some(name) => Err(format!("{rope_type} has no field `{name}`")),
        None => Ok(scaling),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;
    use alloc::vec::Vec;

    use crate::testing::refused;

    const WIDTH: usize = 32;

    fn plain() -> Spectrum {
        Spectrum::new(WIDTH, 10_000.0).unwrap()
    }

    /// One of each that does not look at the frequencies it is given, for inputs of 4096 tokens.
    fn by_index() -> Vec<RopeScaling> {
        let factors = |step: f64| (0..WIDTH / 2).map(|i| 1.0 + step * i as f64).collect();
        vec![
            Linear::new(3.0).into(),
            Ntk::new(4.0).into(),
            Dynamic::new(2.0, 1024).into(),
            Yarn::new(8.0, 512).into(),
            Longrope::new(factors(0.125), factors(0.75), 2048, 2.0).into(),
        ]
    }

    fn ratios(scaled: &Spectrum) -> Vec<f64> {
        let (scaled, plain) = (scaled.frequencies(), plain().frequencies());
        scaled
            .iter()
            .zip(plain)
            .map(|(scaled, plain)| scaled / plain)
            .collect()
    }

    #[test]
    fn two_scalings_multiply_a_frequency_by_both_ratios() {
        let llama = RopeScaling::from(Llama3::new(8.0, 1.0, 4.0, 512));
        let seq = 4096;
        let once = |scaling: &RopeScaling| plain().scaled(scaling, seq).unwrap();
        for first in by_index().iter().chain([&llama]) {
            for second in &by_index() {
                let both = once(first).scaled(second, seq).unwrap();
                let expected = ratios(&once(first)).into_iter().zip(ratios(&once(second)));
                for (got, (a, b)) in ratios(&both).into_iter().zip(expected) {
                    assert!((got / (a * b) - 1.0).abs() < 1e-15, "{first:?}, {second:?}");
                }
            }
        }
    }

    #[test]
    fn a_frequency_that_is_0_already_stays_0() {
        let share = RopeScaling::from(proportional::Proportional::new(0.25));
        let few = plain().scaled(&share, 1).unwrap();
        let slower = few.clone().scaled(&Linear::new(2.0).into(), 1).unwrap();
        let halves: Vec<f64> = few.frequencies().iter().map(|omega| omega / 2.0).collect();
        assert_eq!(slower.frequencies(), halves);
        assert_eq!(halves[WIDTH / 8..], [0.0; WIDTH * 3 / 8]);
    }

    /// Llama 3 tells fast from slow by the wavelengths that it is given.
    #[test]
    fn llama3_works_on_the_frequencies_that_it_finds() {
        let llama = RopeScaling::from(Llama3::new(8.0, 1.0, 4.0, 512));
        let slow = Spectrum::new(WIDTH, 1e4)
            .unwrap()
            .scaled(&Linear::new(512.0).into(), 1)
            .unwrap();
        let slower = slow.clone().scaled(&llama, 1).unwrap();
        // Every wavelength is above 512 by now.
        for (slow, slower) in slow.frequencies().iter().zip(slower.frequencies()) {
            assert_eq!(slow / 8.0, slower);
        }
    }

    #[test]
    fn a_frequency_that_is_no_longer_a_number_above_0_is_refused() {
        let far = RopeScaling::from(Linear::new(1e200));
        let twice = plain().scaled(&far, 1).unwrap().scaled(&far, 1);
        // 1e-308 and less are above 0, but a wavelength of 2π / 1e-308 is not finite.
        let slow = plain().scaled(&Linear::new(1e308).into(), 1);
        refused! {
            |result| result;
            twice => "a scaled frequency must be finite and above 0, as its wavelength …",
            slow => "a scaled frequency must be finite and above 0, as its wavelength …",
        }
    }

    #[test]
    fn a_scaling_that_is_written_is_read_as_the_same() {
        let llama = RopeScaling::from(Llama3::new(8.0, 1.0, 4.0, 512));
        for scaling in by_index().into_iter().chain([llama]) {
            let json = serde_json::to_string(&scaling).unwrap();
            let read: RopeScaling = serde_json::from_str(&json).unwrap();
            assert_eq!(read, scaling, "{json}");
        }
        let linear = RopeScaling::from(Linear::new(2.0));
        let json = serde_json::to_string(&linear).unwrap();
        assert_eq!(json, r#"{"rope_type":"linear","factor":2.0}"#);
    }

    #[test]
    fn both_names_of_the_type_are_read_and_a_null_is_not_there() {
        let yarn = RopeScaling::from(Yarn::new(4.0, 32_768));
        for json in [
            r#"{"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}"#,
            r#"{"type": "yarn", "rope_type": "yarn", "factor": 4,
                "original_max_position_embeddings": 32768.0}"#,
            r#"{"rope_type": "yarn", "type": null, "factor": 4, "mscale": null, "beta": null,
                "original_max_position_embeddings": 32768}"#,
            r#"{"rope_type": "yarn", "factor": 4, "original_max_position_embeddings": 32768,
                "beta_fast": 32, "beta_slow": 1, "truncate": true}"#,
        ] {
            let read: RopeScaling = serde_json::from_str(json).unwrap();
            assert_eq!(read, yarn, "{json}");
        }
    }

    #[test]
    fn what_is_missing_too_much_or_of_the_wrong_type_is_named() {
        refused! {
            |json| serde_json::from_str::<RopeScaling>(json);
            r#"{"factor": 2}"# => "… missing field `rope_type` …",
            r#"{"type": "linear", "rope_type": "ntk", "factor": 2}"# =>
                "… rope_type is \"ntk\", but type is \"linear\" …",
            r#"{"type": 3}"# => "… a scaling of RoPE needs a string as `type`, not 3 …",
            r#"{"rope_type": "linear"}"# => "… linear needs `factor` …",
            r#"{"rope_type": "linear", "factor": "2"}"# =>
                "… linear needs a number as `factor`, not \"2\" …",
            r#"{"type": "longrope", "short_factor": [1], "long_factor": [1]}"# =>
                "… longrope needs `original_max_position_embeddings`: some models have it beside \
                 rope_scaling, others only as max_position_embeddings …",
            r#"{"rope_type": "linear", "factor": 2, "theta": 1e4}"# =>
                "… linear has no field `theta` …",
            r#"{"rope_type": "default"}"# => "… leave it out …",
            r#"{"rope_type": "mrope"}"# =>
                "… there is no rope_type \"mrope\"; there are: linear, ntk, dynamic, yarn, longrope, proportional, llama3 …",
            "3" => "… expected a group of fields …",
        }
    }
}
