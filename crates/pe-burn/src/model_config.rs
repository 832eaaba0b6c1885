//! Rotary encodings as models' `config.json` at Hugging Face describes them.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::de::Error;
use serde::{Deserialize, Deserializer};

use crate::error::PositionError;
use crate::layout::Layout;
use crate::rotary::RotaryPositionalEncodingConfig;
use crate::scaling::RopeScaling;

const ORIGINAL: &str = "original_max_position_embeddings";

/// What the `config.json` of a model at Hugging Face says of its rotary encoding; everything else in it
/// is passed over.
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{Layout, ModelConfig};
///
/// // As of Qwen2.5-7B-Instruct, made longer as its page says.
/// let text = r#"{
///     "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "vocab_size": 152064,
///     "max_position_embeddings": 32768, "rope_theta": 1000000.0,
///     "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
/// }"#;
/// let config: ModelConfig = serde_json::from_str(text).unwrap();
/// let rotary = config.rotary().unwrap();
/// assert_eq!((rotary.d_head, rotary.base, rotary.layout), (128, 1e6, Layout::Halves));
/// let rotary = rotary.init(&Device::flex());
/// ```
///
/// What older files leave out is as the code of the model has it: the base and the part of a head that is
/// rotated, by `model_type`; the length that it was trained on, which some have beside their
/// `rope_scaling`, and some only as `max_position_embeddings`. These are known:
///
/// - pairs in halves: `arcee`, `gemma`, `gemma2`, `gpt_neox`, `granite`, `llama`, `mistral`, `mixtral`,
///   `nemotron`, `olmo`, `olmo2`, `persimmon`, `phi`, `phi3`, `qwen2`, `qwen2_moe`, `qwen3`, `qwen3_moe`,
///   `seed_oss`, `smollm3`, `stablelm`, `starcoder2`
/// - interleaved: `cohere`, `cohere2`, `ernie4_5`, `glm`, `glm4`, `helium`
///
/// Which layers rotate is not said here: some models leave a few out (`cohere2`, `smollm3`).
#[derive(Clone, Debug, Deserialize)]
pub struct ModelConfig {
    model_type: String,
    hidden_size: Option<usize>,
    num_attention_heads: Option<usize>,
    head_dim: Option<usize>,
    max_position_embeddings: Option<usize>,
    original_max_position_embeddings: Option<usize>,
    rope_theta: Option<f64>,
    rotary_emb_base: Option<f64>,
    partial_rotary_factor: Option<f64>,
    rotary_pct: Option<f64>,
    rope_scaling: Option<Fields>,
    /// All of it since version 5 of transformers.
    rope_parameters: Option<Fields>,
}

/// What the code of a model has where its file says nothing.
struct Family {
    names: &'static [&'static str],
    layout: Layout,
    base: f64,
    /// The share of a head that is rotated.
    share: f64,
    d_head: Option<usize>,
}

const USUAL: Family = Family {
    names: &[
        "arcee",
        "granite",
        "llama",
        "mistral",
        "olmo",
        "olmo2",
        "phi3",
        "qwen2",
        "qwen2_moe",
        "qwen3_moe",
        "starcoder2",
    ],
    layout: Layout::Halves,
    base: 10_000.0,
    share: 1.0,
    d_head: None,
};

const FAMILIES: [Family; 12] = [
    USUAL,
    Family {
        names: &["gemma", "gemma2"],
        d_head: Some(256),
        ..USUAL
    },
    Family {
        names: &["qwen3", "seed_oss"],
        d_head: Some(128),
        ..USUAL
    },
    Family {
        names: &["mixtral"],
        base: 1e6,
        ..USUAL
    },
    Family {
        names: &["smollm3"],
        base: 2e6,
        ..USUAL
    },
    Family {
        names: &["nemotron", "phi"],
        share: 0.5,
        ..USUAL
    },
    Family {
        names: &["persimmon"],
        base: 25_000.0,
        share: 0.5,
        ..USUAL
    },
    Family {
        names: &["gpt_neox", "stablelm"],
        share: 0.25,
        ..USUAL
    },
    Family {
        names: &["cohere", "cohere2"],
        layout: Layout::Interleaved,
        ..USUAL
    },
    Family {
        names: &["glm", "glm4"],
        layout: Layout::Interleaved,
        share: 0.5,
        d_head: Some(128),
        ..USUAL
    },
    Family {
        names: &["helium"],
        layout: Layout::Interleaved,
        base: 100_000.0,
        d_head: Some(128),
        ..USUAL
    },
    Family {
        names: &["ernie4_5"],
        layout: Layout::Interleaved,
        base: 500_000.0,
        d_head: Some(128),
        ..USUAL
    },
];

impl ModelConfig {
    /// The rotary encoding of the model.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownModel`], which lists the models that there are;
    /// [`ModelConfig`](PositionError::ModelConfig) where a number is missing or does not fit.
    pub fn rotary(&self) -> Result<RotaryPositionalEncodingConfig, PositionError> {
        let of_type = |family: &&Family| family.names.contains(&self.model_type.as_str());
        let Some(family) = FAMILIES.iter().find(of_type) else {
            let mut known: Vec<&str> = FAMILIES.iter().flat_map(|of| of.names).copied().collect();
            known.sort_unstable();
            return Err(PositionError::UnknownModel {
                model_type: self.model_type.clone(),
                known: known.join(", "),
            });
        };
        let wrong = |reason: String| PositionError::ModelConfig { reason };
        let missing = |name: &str| wrong(format!("it has no `{name}`"));
        let d_head = match (self.head_dim.or(family.d_head), self.num_attention_heads) {
            (Some(d_head), _) => d_head,
            (None, None | Some(0)) => return Err(missing("num_attention_heads")),
            (None, Some(heads)) => self.hidden_size.ok_or_else(|| missing("hidden_size"))? / heads,
        };
        let mut scaling = match (&self.rope_parameters, &self.rope_scaling) {
            (Some(newer), _) => newer.clone(),
            (None, Some(scaling)) => scaling.clone(),
            (None, None) => Fields::default(),
        };
        let base = scaling.rope_theta.take().or(self.rope_theta);
        let share = scaling.partial_rotary_factor.take();
        let share = share.or(self.partial_rotary_factor).or(self.rotary_pct);
        // As the code of the models cuts it.
        let rotary_dim = (d_head as f64 * share.unwrap_or(family.share)) as usize;
        Ok(RotaryPositionalEncodingConfig::new(d_head)
            .with_layout(family.layout)
            .with_base(base.or(self.rotary_emb_base).unwrap_or(family.base))
            .with_rotary_dim((rotary_dim != d_head).then_some(rotary_dim))
            .with_scaling(self.scaling(scaling).map_err(wrong)?))
    }

    /// The scaling, with what models have beside it: lengths, and from them LongRoPE's factor.
    fn scaling(&self, mut fields: Fields) -> Result<Option<RopeScaling>, String> {
        let (original, longest) = (
            self.original_max_position_embeddings,
            self.max_position_embeddings,
        );
        match fields.kind()? {
            None => return fields.nothing_left("default").map(|()| None),
            // Its code takes the length from nowhere else.
            Some("dynamic") => fields.original_max_position_embeddings = longest,
            Some("yarn") if fields.original_max_position_embeddings.is_none() => {
                fields.original_max_position_embeddings = longest;
            }
            Some("longrope") => {
                if let Some(original) = original.or(fields.original_max_position_embeddings) {
                    fields.original_max_position_embeddings = Some(original);
                    let ratio = longest.map(|longest| longest as f64 / original as f64);
                    fields.factor = fields.factor.or(ratio);
                } else {
                    fields.original_max_position_embeddings = longest;
                }
            }
            Some(_) => {}
        }
        RopeScaling::try_from(fields).map(Some)
    }
}

/// A [`RopeScaling`] as it is written: with the fields of all kinds.
#[derive(Clone, Debug, Default, Deserialize)]
#[serde(deny_unknown_fields)]
struct Fields {
    rope_type: Option<String>,
    /// The older name of `rope_type`, often beside it.
    #[serde(rename = "type")]
    older: Option<String>,
    factor: Option<f64>,
    original_max_position_embeddings: Option<usize>,
    beta_fast: Option<f64>,
    beta_slow: Option<f64>,
    attention_factor: Option<f64>,
    mscale: Option<f64>,
    mscale_all_dim: Option<f64>,
    truncate: Option<bool>,
    short_factor: Option<Vec<f64>>,
    long_factor: Option<Vec<f64>>,
    low_freq_factor: Option<f64>,
    high_freq_factor: Option<f64>,
    /// No part of a scaling, but in one dictionary with it since version 5 of transformers.
    rope_theta: Option<f64>,
    partial_rotary_factor: Option<f64>,
}

impl Fields {
    /// The kind of scaling, if there is one.
    fn kind(&self) -> Result<Option<&str>, String> {
        let kind = match (&self.rope_type, &self.older) {
            (Some(newer), Some(older)) if newer != older => {
                return Err(format!("rope_type is \"{newer}\", but type is \"{older}\""));
            }
            (Some(kind), _) | (None, Some(kind)) => kind.as_str(),
            (None, None) => "default",
        };
        Ok((kind != "default").then_some(kind))
    }

    /// Refuses fields that are still there: those that a kind does not have.
    fn nothing_left(&self, kind: &str) -> Result<(), String> {
        let left = [
            ("factor", self.factor.is_some()),
            (ORIGINAL, self.original_max_position_embeddings.is_some()),
            ("beta_fast", self.beta_fast.is_some()),
            ("beta_slow", self.beta_slow.is_some()),
            ("attention_factor", self.attention_factor.is_some()),
            ("mscale", self.mscale.is_some()),
            ("mscale_all_dim", self.mscale_all_dim.is_some()),
            ("truncate", self.truncate.is_some()),
            ("short_factor", self.short_factor.is_some()),
            ("long_factor", self.long_factor.is_some()),
            ("low_freq_factor", self.low_freq_factor.is_some()),
            ("high_freq_factor", self.high_freq_factor.is_some()),
            ("rope_theta", self.rope_theta.is_some()),
            (
                "partial_rotary_factor",
                self.partial_rotary_factor.is_some(),
            ),
        ];
        match left.into_iter().find(|(_, given)| *given) {
            Some((name, _)) => Err(format!("{kind} has no field `{name}`")),
            None => Ok(()),
        }
    }
}

impl TryFrom<Fields> for RopeScaling {
    type Error = String;

    fn try_from(mut fields: Fields) -> Result<Self, String> {
        let Some(kind) = fields.kind()?.map(ToString::to_string) else {
            return Err("it has no `rope_type` that scales anything: leave it out".into());
        };
        let kind = kind.as_str();
        let missing = |name| match name {
            ORIGINAL => format!(
                "{kind} needs `{ORIGINAL}`: some models have it beside rope_scaling, others only as \
                 max_position_embeddings"
            ),
            _ => format!("{kind} needs `{name}`"),
        };
        let number = |field: &mut Option<f64>, name| field.take().ok_or_else(|| missing(name));
        let factors =
            |field: &mut Option<Vec<f64>>, name| field.take().ok_or_else(|| missing(name));
        let length = |field: &mut Option<usize>| field.take().ok_or_else(|| missing(ORIGINAL));
        let original = &mut fields.original_max_position_embeddings;
        let scaling = match kind {
            "linear" => Self::Linear {
                factor: number(&mut fields.factor, "factor")?,
            },
            "ntk" => Self::Ntk {
                factor: number(&mut fields.factor, "factor")?,
            },
            "dynamic" => Self::Dynamic {
                factor: number(&mut fields.factor, "factor")?,
                original_max_position_embeddings: length(original)?,
            },
            "yarn" => Self::Yarn {
                factor: number(&mut fields.factor, "factor")?,
                original_max_position_embeddings: length(original)?,
                beta_fast: fields.beta_fast.take().unwrap_or(32.0),
                beta_slow: fields.beta_slow.take().unwrap_or(1.0),
                attention_factor: fields.attention_factor.take(),
                mscale: fields.mscale.take(),
                mscale_all_dim: fields.mscale_all_dim.take(),
                truncate: fields.truncate.take().unwrap_or(true),
            },
            "longrope" => Self::Longrope {
                short_factor: factors(&mut fields.short_factor, "short_factor")?,
                long_factor: factors(&mut fields.long_factor, "long_factor")?,
                original_max_position_embeddings: length(original)?,
                factor: fields.factor.take(),
                attention_factor: fields.attention_factor.take(),
            },
            "llama3" => Self::Llama3 {
                factor: number(&mut fields.factor, "factor")?,
                low_freq_factor: number(&mut fields.low_freq_factor, "low_freq_factor")?,
                high_freq_factor: number(&mut fields.high_freq_factor, "high_freq_factor")?,
                original_max_position_embeddings: length(original)?,
            },
            _ => {
                return Err(format!(
                    "there is no rope_type \"{kind}\"; there are: linear, ntk, dynamic, yarn, \
                     longrope, llama3"
                ));
            }
        };
        fields.nothing_left(kind)?;
        Ok(scaling)
    }
}

impl<'de> Deserialize<'de> for RopeScaling {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Self::try_from(Fields::deserialize(from)?).map_err(D::Error::custom)
    }
}
