//! RoPE as the `config.json` of a model at Hugging Face describes it.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;

use serde::{Deserialize, Deserializer};

use crate::error::PositionError;
use crate::layout::Layout;
use crate::rotate::rotary::RotaryPositionalEncodingConfig;
use crate::rotate::scaling::RopeScaling;
use crate::rotate::scaling::fields::{Fields, ORIGINAL};

/// What the code of a model takes where its file says nothing.
#[derive(Clone, Copy)]
struct Family {
    /// The `model_type` in the file.
    name: &'static str,
    layout: Layout,
    base: f64,
    /// The share of a head that is rotated.
    share: f64,
    /// The width of a head; `None` for `hidden_size / num_attention_heads`.
    d_head: Option<usize>,
    /// The length that the model was trained on, where longer ones are scaled; `None` for
    /// `max_position_embeddings`.
    original: Option<usize>,
}

impl Family {
    const fn new(name: &'static str, layout: Layout) -> Self {
        Self {
            name,
            layout,
            base: 10_000.0,
            share: 1.0,
            d_head: None,
            original: None,
        }
    }

    const fn base(self, base: f64) -> Self {
        Self { base, ..self }
    }

    const fn share(self, share: f64) -> Self {
        Self { share, ..self }
    }

    const fn d_head(self, d_head: usize) -> Self {
        let d_head = Some(d_head);
        Self { d_head, ..self }
    }

    const fn original(self, original: usize) -> Self {
        let original = Some(original);
        Self { original, ..self }
    }
}

/// Makes `FAMILIES` from one line for each model type, and the same lines as a table for the docs.
macro_rules! families {
    ($($name:literal: $layout:ident $(, $what:ident $value:literal)*;)+) => {
        const FAMILIES: &[Family] = &[
            $(Family::new($name, Layout::$layout)$(.$what($value))*,)+
        ];

        macro_rules! families_table {
            () => {
                concat!($(
                    "| `", $name, "` | ", stringify!($layout), " | ",
                    $("`", stringify!($what), "` ", stringify!($value), " ",)* "|\n",
                )+)
            };
        }
    };
}

families! {
    "arcee": Halves;
    "cohere": Interleaved;
    "cohere2": Interleaved;
    "ernie4_5": Interleaved, base 500_000.0, d_head 128;
    "gemma": Halves, d_head 256;
    "gemma2": Halves, d_head 256;
    "glm": Interleaved, share 0.5, d_head 128;
    "glm4": Interleaved, share 0.5, d_head 128;
    "gpt_neox": Halves, share 0.25;
    "granite": Halves;
    "helium": Interleaved, base 100_000.0, d_head 128;
    "llama": Halves;
    "mistral": Halves;
    "mixtral": Halves, base 1_000_000.0;
    "nemotron": Halves, share 0.5;
    "olmo": Halves;
    "olmo2": Halves;
    "persimmon": Halves, base 25_000.0, share 0.5;
    "phi": Halves, share 0.5;
    "phi3": Halves, original 4096;
    "qwen2": Halves;
    "qwen2_moe": Halves;
    "qwen3": Halves, d_head 128;
    "qwen3_moe": Halves;
    "seed_oss": Halves, d_head 128;
    "smollm3": Halves, base 2_000_000.0;
    "stablelm": Halves, share 0.25;
    "starcoder2": Halves;
}

/// RoPE as the `config.json` of a model at Hugging Face describes it: `rope_theta`, `rope_scaling`,
/// `rope_parameters` and the sizes. Everything else in the file is passed over.
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{Layout, ModelConfig};
///
/// // Qwen2.5-7B-Instruct, with the longer context that its page describes.
/// let text = r#"{
///     "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "vocab_size": 152064,
///     "max_position_embeddings": 32768, "rope_theta": 1000000.0,
///     "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
/// }"#;
/// let config: ModelConfig = serde_json::from_str(text)?;
/// let rotary = config.rotary()?;
/// assert_eq!((rotary.d_head, rotary.base, rotary.layout), (128, 1e6, Layout::Halves));
/// let rotary = rotary.init(&Device::flex());
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
///
/// What a file leaves out is as the code of the model has it, by `model_type`: the base (10 000 unless
/// the table says otherwise), the share of a head that is rotated (all of it), the width of a head
/// (`hidden_size / num_attention_heads`), and the length that the model was trained on, which some
/// files have beside their `rope_scaling` and some only as `max_position_embeddings`.
///
/// | `model_type` | layout | where the file says nothing |
/// |---|---|---|
#[doc = families_table!()]
///
/// It does not say which layers rotate: some models leave a few out (`cohere2`, `smollm3`).
#[doc(alias = "rope_theta")]
#[doc(alias = "rope_scaling")]
#[doc(alias = "rope_parameters")]
#[doc(alias = "config.json")]
#[derive(Clone, Debug, Deserialize)]
pub struct ModelConfig {
    model_type: String,
    hidden_size: Option<usize>,
    num_attention_heads: Option<usize>,
    /// Left out, it is that of the family. Written as `null`, it is
    /// `hidden_size / num_attention_heads`.
    #[serde(default, deserialize_with = "written")]
    head_dim: Option<Option<usize>>,
    max_position_embeddings: Option<usize>,
    original_max_position_embeddings: Option<usize>,
    rope_theta: Option<f64>,
    rotary_emb_base: Option<f64>,
    partial_rotary_factor: Option<f64>,
    rotary_pct: Option<f64>,
    rope_scaling: Option<Fields>,
    /// The name since version 5 of transformers, with the base and the rotated share in it.
    rope_parameters: Option<Fields>,
}

impl ModelConfig {
    /// The rotary encoding of the model.
    ///
    /// Its `max_len` is the model's `max_position_embeddings`, but at most the default: the buffer
    /// grows with the positions that are used.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] for a model type that is not in the table, with those that are;
    /// [`Config`](PositionError::Config) where a field is missing or cannot be used.
    pub fn rotary(&self) -> Result<RotaryPositionalEncodingConfig, PositionError> {
        let family = self.family()?;
        self.rotary_of(family).map_err(|reason| {
            PositionError::config(format!(
                "config.json describes no rotary encoding: {reason}"
            ))
        })
    }

    fn family(&self) -> Result<&'static Family, PositionError> {
        let of_type = |family: &&Family| family.name == self.model_type;
        let unknown = || PositionError::UnknownName {
            what: "model type",
            name: self.model_type.clone(),
            known: FAMILIES
                .iter()
                .map(|family| family.name)
                .collect::<Vec<_>>()
                .join(", "),
        };
        FAMILIES.iter().find(of_type).ok_or_else(unknown)
    }

    fn rotary_of(&self, family: &Family) -> Result<RotaryPositionalEncodingConfig, String> {
        let d_head = self.d_head(family)?;
        let rope = self.rope_parameters.as_ref().or(self.rope_scaling.as_ref());
        let mut fields = rope.cloned().unwrap_or_default();
        let in_rope = |reason| self.in_rope(reason);
        let own_base = fields.optional_number("rope_theta").map_err(in_rope)?;
        let own_share = fields.optional_number("partial_rotary_factor");
        let own_share = own_share.map_err(in_rope)?;
        // Where a file has two names for a number, the code of GPT-NeoX takes its own.
        let base = own_base.or(self.rotary_emb_base).or(self.rope_theta);
        let share = own_share.or(self.rotary_pct).or(self.partial_rotary_factor);
        // Rounded down, as the code of the models does.
        let rotary_dim = (d_head as f64 * share.unwrap_or(family.share)) as usize;
        let scaling = self.scaling(fields, own_base.is_some(), family)?;

        let mut config = RotaryPositionalEncodingConfig::new(d_head)
            .with_layout(family.layout)
            .with_base(base.unwrap_or(family.base));
        if let Some(longest) = self.max_position_embeddings {
            config.max_len = longest.clamp(1, config.max_len);
        }
        config.rotary_dim = (rotary_dim != d_head).then_some(rotary_dim);
        config.scaling = scaling;
        Ok(config)
    }

    fn d_head(&self, family: &Family) -> Result<usize, String> {
        let missing = |name| format!("it has no `{name}`");
        match (
            self.head_dim.unwrap_or(family.d_head),
            self.num_attention_heads,
        ) {
            (Some(d_head), _) => Ok(d_head),
            (None, None | Some(0)) => Err(missing("num_attention_heads")),
            (None, Some(heads)) => match self.hidden_size {
                Some(width) => Ok(width / heads),
                None => Err(missing("hidden_size")),
            },
        }
    }

    /// The scaling, with the lengths that some files have beside it. A field that the scaling does not
    /// have is passed over, as it is by the code of the models. `has_base` says that the fields came
    /// with a `rope_theta`, as version 5 of transformers writes them for models without a scaling too.
    fn scaling(
        &self,
        mut fields: Fields,
        has_base: bool,
        family: &Family,
    ) -> Result<Option<RopeScaling>, String> {
        let in_rope = |reason| self.in_rope(reason);
        let newer = fields.text("rope_type").map_err(in_rope)?;
        let older = fields.text("type").map_err(in_rope)?;
        let rope_type = match newer.or(older) {
            None if has_base || fields.first().is_none() => return Ok(None),
            None => return Err(in_rope("needs `rope_type`".into())),
            Some(rope_type) if rope_type == "default" => return Ok(None),
            // Names that the first files of Phi-3 have for it.
            Some(rope_type)
                if matches!(&*rope_type, "su" | "yarn") && fields.contains("short_factor") =>
            {
                "longrope".into()
            }
            Some(rope_type) => rope_type,
        };
        let mut written = || {
            let length = fields.optional_length(ORIGINAL);
            length.map_err(|reason| format!("{rope_type} {reason}"))
        };
        let longest = self.max_position_embeddings;
        let original = match &*rope_type {
            // Its code takes the length from nowhere else.
            "dynamic" => longest,
            "yarn" => written()?.or(longest),
            "longrope" => {
                let beside = self.original_max_position_embeddings;
                beside.or(written()?).or(family.original).or(longest)
            }
            // The rest have it among their own fields, if at all.
            _ => return RopeScaling::read(&rope_type, &mut fields).map(Some),
        };
        let number = |length: Option<usize>| length.map(|length| length as f64);
        fields.set(ORIGINAL, number(original));
        if rope_type == "longrope"
            && !fields.contains("factor")
            && let (Some(longest), Some(original)) = (number(longest), number(original))
        {
            fields.set("factor", Some(longest / original));
        }
        RopeScaling::read(&rope_type, &mut fields).map(Some)
    }

    /// Puts in front of an error of [`Fields`] where they are.
    fn in_rope(&self, reason: String) -> String {
        match self.rope_parameters {
            Some(_) => format!("its rope_parameters {reason}"),
            None => format!("its rope_scaling {reason}"),
        }
    }
}

/// A field that may be left out, or written as `null`.
fn written<'de, D: Deserializer<'de>>(from: D) -> Result<Option<Option<usize>>, D::Error> {
    Option::deserialize(from).map(Some)
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::string::ToString;
    use alloc::vec;

    use serde_json::{Value, json};

    use crate::rotate::scaling::{Dynamic, Linear, Llama3, Longrope, Yarn};

    /// What a model makes of these fields, beside heads of width 64.
    fn rotary(
        model_type: &str,
        fields: Value,
    ) -> Result<RotaryPositionalEncodingConfig, PositionError> {
        let mut file = json!({"model_type": model_type, "head_dim": 64});
        let mut fields = fields.as_object().unwrap().clone();
        file.as_object_mut().unwrap().append(&mut fields);
        serde_json::from_value::<ModelConfig>(file)
            .unwrap()
            .rotary()
    }

    fn scaling(model_type: &str, fields: Value) -> Option<RopeScaling> {
        rotary(model_type, fields).unwrap().scaling
    }

    fn message(model_type: &str, fields: Value) -> String {
        rotary(model_type, fields).unwrap_err().to_string()
    }

    #[test]
    fn the_families_are_sorted_and_listed_in_the_docs() {
        assert!(FAMILIES.is_sorted_by(|a, b| a.name < b.name));
        let table: &str = families_table!();
        assert_eq!(table.lines().count(), FAMILIES.len());
        assert!(
            table.contains("| `gemma` | Halves | `d_head` 256 |"),
            "{table}"
        );
        assert!(
            table.contains("| `glm` | Interleaved | `share` 0.5 `d_head` 128 |"),
            "{table}"
        );
    }

    #[test]
    fn a_family_says_what_the_file_does_not() {
        let file = json!({"hidden_size": 1024, "num_attention_heads": 8, "head_dim": null});
        let glm = rotary("glm", file).unwrap();
        assert_eq!((glm.d_head, glm.rotary_dim), (128, Some(64)));
        assert_eq!((glm.base, glm.layout), (1e4, Layout::Interleaved));
        let read = |model_type, width| {
            let file =
                json!({"model_type": model_type, "hidden_size": width, "num_attention_heads": 4});
            serde_json::from_value::<ModelConfig>(file)
                .unwrap()
                .rotary()
                .unwrap()
        };
        assert_eq!(
            (read("gemma", 64).d_head, read("llama", 64).d_head),
            (256, 16)
        );
        assert_eq!(
            (read("persimmon", 64).base, read("persimmon", 64).rotary_dim),
            (25e3, Some(8))
        );
        assert_eq!(read("mixtral", 64).rotary_dim, None);
    }

    #[test]
    fn the_buffer_starts_with_the_context_of_the_model_or_the_default_if_that_is_less() {
        let max_len = |fields| rotary("llama", fields).unwrap().max_len;
        let default = RotaryPositionalEncodingConfig::new(64).max_len;
        assert_eq!(default, 5000);
        assert_eq!(max_len(json!({})), default);
        assert_eq!(
            max_len(json!({"max_position_embeddings": 131_072})),
            default
        );
        assert_eq!(max_len(json!({"max_position_embeddings": 2048})), 2048);
    }

    #[test]
    fn the_base_and_the_rotated_share_have_several_names() {
        let neox = json!({"rotary_pct": 0.25, "rotary_emb_base": 20_000, "rope_theta": 10_000,
            "partial_rotary_factor": 1.0});
        let neox = rotary("gpt_neox", neox).unwrap();
        assert_eq!((neox.base, neox.rotary_dim), (20_000.0, Some(16)));
        let newer = json!({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5,
            "partial_rotary_factor": 0.5}, "rope_scaling": {"type": "linear", "factor": 2}});
        let newer = rotary("llama", newer).unwrap();
        assert_eq!(
            (newer.base, newer.rotary_dim, newer.scaling),
            (5e5, Some(32), None)
        );
    }

    #[test]
    fn the_lengths_are_found_where_a_model_has_them() {
        let longest = 131_072;
        let of = |model_type, fields: Value| {
            let fields = json!({"max_position_embeddings": longest, "rope_scaling": fields});
            scaling(model_type, fields)
        };
        assert_eq!(
            of(
                "llama",
                json!({"type": "dynamic", "factor": 2, "original_max_position_embeddings": 8})
            ),
            Some(Dynamic::new(2.0, longest).into())
        );
        assert_eq!(
            of("llama", json!({"type": "yarn", "factor": 2})),
            Some(Yarn::new(2.0, longest).into())
        );
        assert_eq!(
            of(
                "llama",
                json!({"type": "yarn", "factor": 2, "original_max_position_embeddings": 8})
            ),
            Some(Yarn::new(2.0, 8).into())
        );
        let llama3 = json!({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
            "high_freq_factor": 4, "original_max_position_embeddings": 8192});
        assert_eq!(
            of("llama", llama3),
            Some(Llama3::new(8.0, 1.0, 4.0, 8192).into())
        );

        let lists = (vec![1.0; 32], vec![2.0; 32]);
        let longrope = |length, factor| {
            Some(Longrope::new(lists.0.clone(), lists.1.clone(), length, factor).into())
        };
        let fields = |more: Value| {
            let mut fields = json!({"short_factor": lists.0, "long_factor": lists.1});
            let mut more = more.as_object().unwrap().clone();
            fields.as_object_mut().unwrap().append(&mut more);
            fields
        };
        // The length that the code of Phi-3 falls back on, and the names that its first files have.
        for names in [
            json!({"rope_type": "longrope"}),
            json!({"type": "su"}),
            json!({"type": "yarn"}),
            json!({"type": "yarn", "rope_type": "longrope"}),
        ] {
            assert_eq!(of("phi3", fields(names)), longrope(4096, 32.0));
        }
        let own = fields(json!({"type": "longrope", "original_max_position_embeddings": 1024}));
        assert_eq!(of("llama", own.clone()), longrope(1024, 128.0));
        let beside = json!({"max_position_embeddings": longest, "rope_scaling": own,
            "original_max_position_embeddings": 2048});
        assert_eq!(scaling("phi3", beside), longrope(2048, 64.0));
        let given = fields(json!({"type": "longrope", "factor": 3}));
        assert_eq!(of("llama", given), longrope(longest, 3.0));
    }

    #[test]
    fn fields_that_a_scaling_does_not_have_are_passed_over() {
        let fields = json!({"rope_scaling": {"type": "linear", "factor": 4,
            "original_max_position_embeddings": 1024, "finetuned": true, "deep": {"a": [1]}}});
        assert_eq!(scaling("llama", fields), Some(Linear::new(4.0).into()));
        let nothing = [
            json!({}),
            json!({"rope_scaling": null}),
            json!({"rope_scaling": {"type": "default", "factor": 4}}),
            json!({"rope_parameters": {"rope_theta": 1e4, "mrope_section": [1, 2]}}),
        ];
        for fields in nothing {
            assert_eq!(scaling("llama", fields), None);
        }
    }

    #[test]
    fn what_a_model_lacks_is_named() {
        for (fields, words) in [
            (
                json!({"head_dim": null, "hidden_size": 64}),
                "it has no `num_attention_heads`",
            ),
            (
                json!({"head_dim": null, "hidden_size": 64, "num_attention_heads": 0}),
                "it has no `num_attention_heads`",
            ),
            (
                json!({"head_dim": null, "num_attention_heads": 4}),
                "it has no `hidden_size`",
            ),
            (
                json!({"rope_scaling": {"rope_type": "linear"}}),
                "linear needs `factor`",
            ),
            (
                json!({"rope_scaling": {"rope_type": "yarn", "factor": 2}}),
                "yarn needs `original_max_position_embeddings`",
            ),
            (
                json!({"rope_scaling": {"rope_type": "yarn", "factor": 2,
                    "original_max_position_embeddings": 0.5}}),
                "yarn needs a whole number of tokens as `original_max_position_embeddings`, not 0.5",
            ),
            (
                json!({"rope_scaling": {"rope_theta": "1e4"}}),
                "its rope_scaling needs a number as `rope_theta`, not \"1e4\"",
            ),
            (
                // One group of fields for each kind of layer.
                json!({"rope_parameters": {"full_attention": {}}}),
                "its rope_parameters needs `rope_type`",
            ),
            (
                json!({"rope_scaling": {"factor": 4}}),
                "its rope_scaling needs `rope_type`",
            ),
            (
                json!({"rope_scaling": {"type": "mrope", "mrope_section": [1]}}),
                "there is no rope_type \"mrope\"; there are: linear,",
            ),
        ] {
            let message = message("llama", fields);
            let start = "config.json describes no rotary encoding: ";
            assert!(
                message.starts_with(start) && message.contains(words),
                "{message}"
            );
        }
        let message = message("gptj", json!({}));
        let start = "there is no model type named \"gptj\"; there are: arcee, cohere, cohere2,";
        assert!(message.starts_with(start), "{message}");
    }
}
