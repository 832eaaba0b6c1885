//! Rotary encodings as models' `config.json` at Hugging Face describes them.

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use serde::de::{Error, IgnoredAny};
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
    /// Written as `null`, it is not the family's own, but the heads' share of the width.
    #[serde(default, deserialize_with = "written")]
    head_dim: Option<Option<usize>>,
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
    /// The length that it was trained on, where longer ones are scaled.
    original: Option<usize>,
}

const USUAL: Family = Family {
    names: &[
        "arcee",
        "granite",
        "llama",
        "mistral",
        "olmo",
        "olmo2",
        "qwen2",
        "qwen2_moe",
        "qwen3_moe",
        "starcoder2",
    ],
    layout: Layout::Halves,
    base: 10_000.0,
    share: 1.0,
    d_head: None,
    original: None,
};

const FAMILIES: [Family; 13] = [
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
        names: &["phi3"],
        original: Some(4096),
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
        let d_head = self.head_dim.unwrap_or(family.d_head);
        let d_head = match (d_head, self.num_attention_heads) {
            (Some(d_head), _) => d_head,
            (None, None | Some(0)) => return Err(missing("num_attention_heads")),
            (None, Some(heads)) => self.hidden_size.ok_or_else(|| missing("hidden_size"))? / heads,
        };
        let scaling = self.rope_parameters.as_ref().or(self.rope_scaling.as_ref());
        let scaling = scaling.cloned().unwrap_or_default();
        // The older names are those of GPT-NeoX, whose code takes them where both are there.
        let base = scaling.rope_theta.or(self.rotary_emb_base);
        let base = base.or(self.rope_theta).unwrap_or(family.base);
        let share = scaling.partial_rotary_factor.or(self.rotary_pct);
        let share = share.or(self.partial_rotary_factor).unwrap_or(family.share);
        // As the code of the models cuts it.
        let rotary_dim = (d_head as f64 * share) as usize;
        Ok(RotaryPositionalEncodingConfig::new(d_head)
            .with_layout(family.layout)
            .with_base(base)
            .with_rotary_dim((rotary_dim != d_head).then_some(rotary_dim))
            .with_scaling(self.scaling(scaling, family.original).map_err(wrong)?))
    }

    /// The scaling, with what models have beside it: lengths, and from them LongRoPE's factor. What a
    /// kind has no use for is passed over, as it is by the code of the models.
    fn scaling(
        &self,
        mut fields: Fields,
        usual: Option<usize>,
    ) -> Result<Option<RopeScaling>, String> {
        // Names that Phi-3's files had for it at first.
        if fields.short_factor.is_some() && matches!(fields.kind(), Some("su" | "yarn")) {
            fields.rope_type = Some("longrope".into());
        }
        let longest = self.max_position_embeddings;
        let beside = self.original_max_position_embeddings;
        let own = fields.original_max_position_embeddings;
        match fields.kind() {
            None if fields.rope_theta.is_none() && !fields.others.is_empty() => {
                return Err("its rope_parameters have no `rope_type`".into());
            }
            None | Some("default") => return Ok(None),
            // Its code takes the length from nowhere else.
            Some("dynamic") => fields.original_max_position_embeddings = longest,
            Some("yarn") => fields.original_max_position_embeddings = own.or(longest),
            Some("longrope") => {
                let original = beside.or(own).or(usual).or(longest);
                fields.original_max_position_embeddings = original;
                if let (Some(longest), Some(original), None) = (longest, original, fields.factor) {
                    fields.factor = Some(longest as f64 / original as f64);
                }
            }
            Some(_) => {}
        }
        fields.scaling().map(Some)
    }
}

/// A field that may be there with nothing in it.
fn written<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<usize>>, D::Error> {
    Option::deserialize(from).map(Some)
}

/// A [`RopeScaling`] as it is written: with the fields of all kinds.
#[derive(Clone, Debug, Default, Deserialize)]
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
    #[serde(flatten)]
    others: BTreeMap<String, IgnoredAny>,
}

impl Fields {
    fn kind(&self) -> Option<&str> {
        self.rope_type.as_deref().or(self.older.as_deref())
    }

    /// The scaling; the fields that it has are no longer there.
    fn scaling(&mut self) -> Result<RopeScaling, String> {
        let kind = match self.kind() {
            None => return Err("missing field `rope_type`".into()),
            Some("default") => {
                return Err("rope_type \"default\" scales nothing: leave it out".into());
            }
            Some(kind) => kind.to_string(),
        };
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
        let original = &mut self.original_max_position_embeddings;
        Ok(match kind.as_str() {
            "linear" => RopeScaling::Linear {
                factor: number(&mut self.factor, "factor")?,
            },
            "ntk" => RopeScaling::Ntk {
                factor: number(&mut self.factor, "factor")?,
            },
            "dynamic" => RopeScaling::Dynamic {
                factor: number(&mut self.factor, "factor")?,
                original_max_position_embeddings: length(original)?,
            },
            "yarn" => RopeScaling::Yarn {
                factor: number(&mut self.factor, "factor")?,
                original_max_position_embeddings: length(original)?,
                beta_fast: self.beta_fast.take().unwrap_or(32.0),
                beta_slow: self.beta_slow.take().unwrap_or(1.0),
                attention_factor: self.attention_factor.take(),
                mscale: self.mscale.take(),
                mscale_all_dim: self.mscale_all_dim.take(),
                truncate: self.truncate.take().unwrap_or(true),
            },
            "longrope" => RopeScaling::Longrope {
                short_factor: factors(&mut self.short_factor, "short_factor")?,
                long_factor: factors(&mut self.long_factor, "long_factor")?,
                original_max_position_embeddings: length(original)?,
                factor: self.factor.take(),
                attention_factor: self.attention_factor.take(),
            },
            "llama3" => RopeScaling::Llama3 {
                factor: number(&mut self.factor, "factor")?,
                low_freq_factor: number(&mut self.low_freq_factor, "low_freq_factor")?,
                high_freq_factor: number(&mut self.high_freq_factor, "high_freq_factor")?,
                original_max_position_embeddings: length(original)?,
            },
            _ => {
                return Err(format!(
                    "there is no rope_type \"{kind}\"; there are: linear, ntk, dynamic, yarn, \
                     longrope, llama3"
                ));
            }
        })
    }

    /// The name of a field that is still there, but for the kind's.
    fn left(&self) -> Option<&str> {
        let known = [
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
        let known = known
            .into_iter()
            .find_map(|(name, given)| given.then_some(name));
        known.or_else(|| self.others.keys().next().map(String::as_str))
    }
}

/// By itself a scaling is a setting, in which nothing is passed over.
impl<'de> Deserialize<'de> for RopeScaling {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let mut fields = Fields::deserialize(from)?;
        if let (Some(newer), Some(older)) = (&fields.rope_type, &fields.older)
            && newer != older
        {
            let reason = format!("rope_type is \"{newer}\", but type is \"{older}\"");
            return Err(D::Error::custom(reason));
        }
        let scaling = fields.scaling().map_err(D::Error::custom)?;
        match (fields.left(), fields.kind()) {
            (Some(name), Some(kind)) => {
                Err(D::Error::custom(format!("{kind} has no field `{name}`")))
            }
            _ => Ok(scaling),
        }
    }
}
