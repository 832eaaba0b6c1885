//! The positions of a model at Hugging Face, layer by layer, from its `config.json`.

mod alibi;
mod families;
mod json;
mod kinds;
mod probe;
mod query_scale;
mod rope;

pub use probe::Probe;
pub use query_scale::QueryScale;

use alloc::collections::BTreeMap;
use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;
use core::ops::Range;

use burn::tensor::Device;
use serde::{Deserialize, Deserializer};

use crate::error::PositionError;
use crate::rotate::fields::{Fields, ORIGINAL, Value};
use crate::rotate::rotary::{RotaryPositionalEncoding, RotaryPositionalEncodingConfig};
use families::{FAMILIES, FLAT, Family, REFUSED, Rotates, Scale, When};
use kinds::{Kinds, has_attention};
use rope::Rotation;

/// The positions of a model at Hugging Face, layer by layer, from its `config.json`.
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::{Layout, ModelConfig};
///
/// // Qwen2.5-7B-Instruct, with the longer context that its page describes.
/// let text = r#"{
///     "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_hidden_layers": 28,
///     "max_position_embeddings": 32768, "rope_theta": 1000000.0, "vocab_size": 152064,
///     "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
/// }"#;
/// let rotary = ModelConfig::from_json(text)?.rotary()?; // the same for all layers
/// assert_eq!((rotary.d_head, rotary.base, rotary.layout), (128, 1e6, Layout::Halves));
/// let rope = rotary.init(&Device::flex());
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// In some models the layers differ. Gemma 3 has another base where attention is over a window, and
/// SmolLM3 rotates in three of four layers:
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::model::AttentionSpan;
/// use pe_burn::ModelConfig;
///
/// let text = r#"{"model_type": "gemma3_text", "num_hidden_layers": 26, "head_dim": 256,
///     "sliding_window": 512, "rope_theta": 1000000, "rope_local_base_freq": 10000}"#;
/// let config = ModelConfig::from_json(text)?;
/// let layers = config.layers()?;
/// assert_eq!(layers[0].rotary.as_ref().unwrap().base, 10_000.0);
/// assert_eq!(layers[0].span, AttentionSpan::Sliding(512));
/// assert_eq!(layers[5].rotary.as_ref().unwrap().base, 1_000_000.0);
/// assert_eq!(layers[5].span, AttentionSpan::Full);
///
/// // A module for each layer that rotates. Layers that are alike share one buffer.
/// let modules = config.init_rotary(&Device::flex())?;
/// # assert!(modules.iter().all(Option::is_some));
/// # Ok::<(), pe_burn::PositionError>(())
/// ```
///
/// What a file leaves out is as the code of its model type has it in transformers 5. A file whose
/// `transformers_version` is older is read as version 4.57 reads it, where the two differ: the base of
/// `cohere` and `persimmon`, and an `original_max_position_embeddings` beside the parameters, which
/// counted for LongRoPE alone. Without a version the file counts as new. A field that the model's code
/// passes over is passed over. For a model of text and images, the part about text is read.
///
/// A model type that is not read is an error that lists those that are; `docs/models.md` in the
/// repository says why.
#[doc(alias = "rope_theta")]
#[doc(alias = "rope_scaling")]
#[doc(alias = "rope_parameters")]
#[doc(alias = "config.json")]
#[derive(Clone, Debug, PartialEq)]
pub struct ModelConfig {
    fields: Fields,
}

/// From any format of serde. JSON that Python wrote may have numbers that serde_json does not read: use
/// [`from_json`](ModelConfig::from_json).
impl<'de> Deserialize<'de> for ModelConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        let fields = Fields::deserialize(from)?;
        Ok(Self { fields })
    }
}

/// What one layer of a model does with positions: an entry of [`ModelConfig::layers`].
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerPositions {
    /// The rotation of queries and keys; `None` where the layer has none.
    pub rotary: Option<RotaryPositionalEncodingConfig>,
    /// The columns of a head that the rotation is for, as many as its `d_head`. With multi-head latent
    /// attention (DeepSeek) these are the last ones, else all.
    pub columns: Range<usize>,
    /// Which keys a query sees.
    pub span: AttentionSpan,
    /// The factor of the queries, after the rotation.
    pub query_scale: Option<QueryScale>,
}

/// Which keys the queries of a layer see, besides the mask of causal attention.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[non_exhaustive]
pub enum AttentionSpan {
    /// All of them.
    Full,
    /// Those of a window around the query. The number is the `sliding_window` of the file.
    Sliding(usize),
    /// Those of the same piece, where the sequence is cut into pieces of this length.
    Chunked(usize),
    /// The layer has no attention among the tokens: it is a convolution or a recurrent network, or it
    /// attends to an image.
    None,
}

impl ModelConfig {
    /// The model of a `config.json`, as Python writes it: it may have `NaN` and `Infinity`, and of a
    /// field that is there twice the last one counts.
    ///
    /// # Errors
    ///
    /// [`PositionError::Config`] when the text is not JSON.
    pub fn from_json(text: &str) -> Result<Self, PositionError> {
        let fields = serde_json::from_str(&json::without_python_numbers(text));
        let fields = fields.map_err(|error| {
            PositionError::config(format!("config.json cannot be read: {error}"))
        })?;
        Ok(Self { fields })
    }

    /// What each layer does with positions, from the first to the last.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] for a model type that is not read, with those that are;
    /// [`Config`](PositionError::Config) where a field is missing or cannot be used.
    pub fn layers(&self) -> Result<Vec<LayerPositions>, PositionError> {
        let (file, family) = self.model()?;
        layers_of(file, family).map_err(no_rotary)
    }

    /// The model type whose code the file is read for. For a model of text and images it is that of the
    /// text.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] for a model type that is not read.
    pub fn model_type(&self) -> Result<&'static str, PositionError> {
        Ok(self.model()?.1.name)
    }

    /// The longest input, `max_position_embeddings`, where the file has it.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] for a model type that is not read,
    /// [`Config`](PositionError::Config) where it is not a whole number.
    pub fn context(&self) -> Result<Option<usize>, PositionError> {
        let (file, _) = self.model()?;
        file.optional_length("max_position_embeddings")
            .map_err(no_rotary)
    }

    /// The rotary encoding of a model whose layers with attention are alike.
    ///
    /// Its `max_len` is the model's `max_position_embeddings`, but at most the default: the buffer
    /// grows with the positions that are used.
    ///
    /// # Errors
    ///
    /// Those of [`layers`](Self::layers), and [`Config`](PositionError::Config) where some layers rotate
    /// otherwise than others, or not at all.
    pub fn rotary(&self) -> Result<RotaryPositionalEncodingConfig, PositionError> {
        let (file, family) = self.model()?;
        rotary_of(file, family).map_err(no_rotary)
    }

    /// The module of each layer that rotates. Layers that are alike share one buffer, as clones of a
    /// module do.
    ///
    /// # Errors
    ///
    /// Those of [`layers`](Self::layers), and those of
    /// [`try_init`](RotaryPositionalEncodingConfig::try_init).
    pub fn init_rotary(
        &self,
        device: &Device,
    ) -> Result<Vec<Option<RotaryPositionalEncoding>>, PositionError> {
        let mut modules: Vec<RotaryPositionalEncoding> = Vec::new();
        let mut of_layer = |layer: LayerPositions| {
            let Some(config) = layer.rotary else {
                return Ok(None);
            };
            let module = match modules.iter().find(|module| *module.config() == config) {
                Some(module) => module.clone(),
                None => {
                    let module = config.try_init(device)?;
                    modules.push(module.clone());
                    module
                }
            };
            Ok(Some(module))
        };
        self.layers()?.into_iter().map(&mut of_layer).collect()
    }

    /// The part of the file about text, and its family.
    fn model(&self) -> Result<(&Fields, &'static Family), PositionError> {
        let mut file = &self.fields;
        let mut outer = None;
        for name in ["thinker_config", "text_config"] {
            let group = file.group(name).map_err(no_rotary)?;
            if let Some(group) = group.filter(|group| !group.is_empty()) {
                outer = file.text("model_type").map_err(no_rotary)?;
                file = group;
            }
        }
        let named = file.text("model_type").map_err(no_rotary)?;
        // In a model of several parts the text's type may be left out.
        let name = match (named, outer) {
            (Some(name), None) if FLAT.contains(&name) => format!("{name}_text"),
            (Some(name), _) => name.to_string(),
            (None, Some(outer)) => format!("{outer}_text"),
            (None, None) => return Err(no_rotary("it has no `model_type`".into())),
        };
        if let Some((name, reason)) = REFUSED.iter().find(|(refused, _)| *refused == name) {
            return Err(no_rotary(format!(
                "the model type {name} is not read: {reason}"
            )));
        }
        let family = FAMILIES.iter().find(|family| family.name == name);
        match family {
            Some(family) => Ok((file, family)),
            None => Err(PositionError::UnknownName {
                what: "model type",
                name,
                known: FAMILIES
                    .iter()
                    .map(|family| family.name)
                    .collect::<Vec<_>>()
                    .join(", "),
            }),
        }
    }
}

fn no_rotary(reason: String) -> PositionError {
    PositionError::config(format!(
        "config.json describes no rotary encoding: {reason}"
    ))
}

fn rotary_of(file: &Fields, family: &Family) -> Result<RotaryPositionalEncodingConfig, String> {
    // Where all layers are alike, it does not matter how many there are.
    if matches!(family.kinds, Kinds::Alike | Kinds::Windowed)
        && matches!(family.rotates, Rotates::All | Rotates::If(..))
    {
        let layer = match rotates(file, family, kinds::FULL, 0, &Listed::None)? {
            Some(base) => rope::of_kind(file, family, kinds::FULL, base)?,
            None => None,
        };
        let none = || format!("a model of type {} without it", family.name);
        return layer.map(|(_, config)| config).ok_or_else(none);
    }
    let mut found = None;
    for (i, layer) in layers_of(file, family)?.into_iter().enumerate() {
        if layer.span == AttentionSpan::None {
            continue;
        }
        let differs =
            |first: &(usize, Option<RotaryPositionalEncodingConfig>)| first.1 != layer.rotary;
        match &found {
            Some(first) if differs(first) => {
                return Err(format!(
                    "layers {} and {i} rotate differently: read its layers",
                    first.0
                ));
            }
            Some(_) => {}
            None => found = Some((i, layer.rotary)),
        }
    }
    let rotary = found.and_then(|(_, rotary)| rotary);
    rotary.ok_or_else(|| format!("no layer of this {} rotates", family.name))
}

fn layers_of(file: &Fields, family: &Family) -> Result<Vec<LayerPositions>, String> {
    let kinds = family.kinds.of(file, family)?;
    let listed = Listed::read(file, family, kinds.len())?;
    let own_fields = file.group("per_layer_config")?;
    // Layers of a kind have the same rotation, unless they have a base or fields of their own.
    let mut known: BTreeMap<(&str, Option<u64>), Option<Rotation>> = BTreeMap::new();
    let mut layers = Vec::with_capacity(kinds.len());
    for (i, kind) in kinds.iter().enumerate() {
        let span = span(file, family, kind)?;
        let base = match span {
            AttentionSpan::None => None,
            _ => rotates(file, family, kind, i, &listed)?,
        };
        let own_fields = match own_fields {
            Some(layers) => layers.group(&i.to_string())?,
            None => None,
        };
        let rotation = match (base, own_fields) {
            (None, _) => None,
            (Some(base), Some(own_fields)) => {
                let mut file = file.clone();
                file.update(own_fields);
                rope::of_kind(&file, family, kind, base)?
            }
            (Some(base), None) => {
                let key = (kind.as_str(), base.map(f64::to_bits));
                match known.get(&key) {
                    Some(rotation) => rotation.clone(),
                    None => {
                        let rotation = rope::of_kind(file, family, kind, base)?;
                        known.insert(key, rotation.clone());
                        rotation
                    }
                }
            }
        };
        let has_attention = span != AttentionSpan::None;
        let query_scale = match has_attention {
            true => query_scale(file, family, rotation.is_some())?,
            false => None,
        };
        let (columns, rotary) =
            rotation.map_or((0..0, None), |(columns, rotary)| (columns, Some(rotary)));
        layers.push(LayerPositions {
            rotary,
            columns,
            span,
            query_scale,
        });
    }
    Ok(layers)
}

/// What a file says about the rotation of each layer, read once for all of them.
enum Listed {
    None,
    /// Whether each layer rotates.
    Rotates(Vec<bool>),
    /// The base of each layer, 0 where it does not rotate.
    Bases(Vec<f64>),
}

impl Listed {
    fn read(file: &Fields, family: &Family, layers: usize) -> Result<Self, String> {
        Ok(match family.rotates {
            Rotates::Listed => Self::Rotates(kinds::rope_layers(file, layers)?),
            Rotates::Bases(period) => {
                let name = "layer_rope_theta";
                match file.optional_list(name, "a list of numbers", Value::as_number)? {
                    Some(bases) => Self::Bases(bases),
                    None if period == 0 => Self::None,
                    None => Self::Rotates(
                        (0..layers)
                            .map(|i| !(layers - 1 - i).is_multiple_of(period))
                            .collect(),
                    ),
                }
            }
            _ => Self::None,
        })
    }
}

/// Whether a layer rotates, and with a base of its own where it has one.
fn rotates(
    file: &Fields,
    family: &Family,
    kind: &str,
    layer: usize,
    listed: &Listed,
) -> Result<Option<Option<f64>>, String> {
    let has_window = kind == kinds::SLIDING;
    let rotates = match (listed, family.rotates) {
        (Listed::Rotates(rotates), _) => rotates[layer],
        (Listed::Bases(bases), _) => match bases.get(layer) {
            Some(base) => return Ok((*base != 0.0).then_some(Some(*base))),
            None => {
                return Err(format!(
                    "`layer_rope_theta` has {} entries, but there is a layer {layer}",
                    bases.len()
                ));
            }
        },
        (Listed::None, Rotates::All | Rotates::Listed | Rotates::Bases(_)) => true,
        (Listed::None, Rotates::Windows) => has_window,
        (Listed::None, Rotates::WindowsIfAny) => has_window || window(file, family)?.is_none(),
        (Listed::None, Rotates::If(name, When::Is(value, usual))) => match file.text(name)? {
            Some(given) => given == value,
            None => usual,
        },
        (Listed::None, Rotates::If(name, When::Flag(value, usual))) => match file.flag(name)? {
            Some(given) => given == value,
            None => usual,
        },
    };
    Ok(rotates.then_some(None))
}

fn window(file: &Fields, family: &Family) -> Result<Option<usize>, String> {
    // ModernBERT counts the keys on both sides.
    if let Some(both_sides) = file.optional_length("local_attention")? {
        return Ok(Some(both_sides / 2));
    }
    let usual = family.window.filter(|_| !file.is_null("sliding_window"));
    Ok(file.optional_length("sliding_window")?.or(usual))
}

fn span(file: &Fields, family: &Family, kind: &str) -> Result<AttentionSpan, String> {
    Ok(match kind {
        kind if !has_attention(kind) => AttentionSpan::None,
        kinds::SLIDING | kinds::HYBRID_SLIDING => match window(file, family)? {
            Some(window) => AttentionSpan::Sliding(window),
            None => {
                return Err(format!(
                    "it has no `sliding_window` for layers of kind \"{kind}\""
                ));
            }
        },
        kinds::CHUNKED => {
            let length = file.optional_length("attention_chunk_size")?;
            AttentionSpan::Chunked(length.unwrap_or(8192))
        }
        _ => AttentionSpan::Full,
    })
}

fn query_scale(
    file: &Fields,
    family: &Family,
    rotates: bool,
) -> Result<Option<QueryScale>, String> {
    let (beta, length, shift) = match family.scale {
        Scale::None => return Ok(None),
        Scale::WithoutRotation => {
            // Older files have a number for the flag.
            let is_on = match file.optional_number("attn_temperature_tuning") {
                Ok(number) => number.is_none_or(|number| number != 0.0),
                Err(_) => file.flag("attn_temperature_tuning")?.unwrap_or(true),
            };
            if rotates || !is_on {
                return Ok(None);
            }
            let beta = file.optional_number("attn_scale")?.unwrap_or(0.1);
            let length = file.optional_length("floor_scale")?.unwrap_or(8192);
            (beta, length, 1)
        }
        Scale::Parameter => {
            let Some(parameters) = rope::parameters(file, family, kinds::FULL)? else {
                return Ok(None);
            };
            let beta = parameters.number("llama_4_scaling_beta")?;
            (beta, parameters.length(ORIGINAL)?, 0)
        }
    };
    match length {
        0 => Err("the factor of the queries needs a length of at least 1; got 0".into()),
        _ if !beta.is_finite() => Err(format!(
            "the factor of the queries must be finite; got {beta}"
        )),
        length => Ok(Some(QueryScale {
            beta,
            length,
            shift,
        })),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    use alloc::vec;

    use serde_json::json;

    use crate::layout::Layout;
    use crate::rotate::scaling::{Dynamic, Linear, Llama3, Longrope, RopeScaling, Yarn};

    fn model(file: serde_json::Value) -> ModelConfig {
        ModelConfig::from_json(&file.to_string()).unwrap()
    }

    /// What a model makes of these fields, beside heads of width 64.
    fn rotary(
        model_type: &str,
        fields: serde_json::Value,
    ) -> Result<RotaryPositionalEncodingConfig, PositionError> {
        let mut file = json!({"model_type": model_type, "head_dim": 64});
        let mut fields = fields.as_object().unwrap().clone();
        file.as_object_mut().unwrap().append(&mut fields);
        model(file).rotary()
    }

    fn scaling(model_type: &str, fields: serde_json::Value) -> Option<RopeScaling> {
        rotary(model_type, fields).unwrap().scaling
    }

    fn message(model_type: &str, fields: serde_json::Value) -> String {
        rotary(model_type, fields).unwrap_err().to_string()
    }

    #[test]
    fn the_table_is_sorted_and_its_parameters_can_be_read() {
        assert!(FAMILIES.is_sorted_by(|a, b| a.name < b.name));
        for family in FAMILIES {
            // The axes of text and images share the pairs of heads of one width.
            let of_width = |d_head: usize| {
                let file = json!({"num_hidden_layers": 12, "num_attention_heads": 4,
                    "hidden_size": 4 * d_head, "layer_types": vec!["full_attention"; 12],
                    "max_position_embeddings": 4096});
                let file: Fields = serde_json::from_value(file).unwrap();
                layers_of(&file, family)
            };
            let own_kinds = ["beam", "zaya", "cohere2", "cohere2_moe", "afmoe", "flint"];
            let layers = match family.sections {
                None => of_width(64),
                Some(_) => of_width(64).or_else(|_| of_width(128)),
            };
            if !own_kinds.contains(&family.name) {
                assert_eq!(layers.unwrap().len(), 12, "{}", family.name);
            }
        }
    }

    #[test]
    fn a_family_says_what_the_file_does_not() {
        let glm = rotary("glm", json!({"head_dim": 128})).unwrap();
        assert_eq!((glm.d_head, glm.rotary_dim), (128, Some(64)));
        assert_eq!((glm.base, glm.layout), (1e4, Layout::Interleaved));
        let read = |model_type, width| {
            let file =
                json!({"model_type": model_type, "hidden_size": width, "num_attention_heads": 4});
            model(file).rotary().unwrap()
        };
        assert_eq!(
            (read("gemma", 64).d_head, read("llama", 64).d_head),
            (256, 16)
        );
        assert_eq!(read("mixtral", 64).rotary_dim, None);
        assert_eq!(read("mistral", 64).base, 1e4);
    }

    #[test]
    fn a_file_of_an_older_version_is_read_as_that_version_reads_it() {
        let of = |model_type, version: &str, more: serde_json::Value| {
            let mut file = json!({"model_type": model_type, "hidden_size": 64, "num_attention_heads": 4,
                "transformers_version": version, "max_position_embeddings": 8192});
            file.as_object_mut()
                .unwrap()
                .append(&mut more.as_object().unwrap().clone());
            model(file).rotary().unwrap()
        };
        for (model_type, older, newer) in [("cohere", 1e4, 5e5), ("persimmon", 25e3, 1e4)] {
            assert_eq!(of(model_type, "4.57.1", json!({})).base, older);
            assert_eq!(of(model_type, "5.0.0.dev0", json!({})).base, newer);
        }
        let beside = json!({"original_max_position_embeddings": 512, "rope_scaling": {"type": "yarn",
            "factor": 2, "original_max_position_embeddings": 1024}});
        let length = |version| match of("llama", version, beside.clone()).scaling {
            Some(RopeScaling::Yarn(yarn)) => yarn.original_max_position_embeddings,
            other => panic!("{other:?}"),
        };
        assert_eq!([length("4.41.2"), length("5.3.0")], [1024, 512]);
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

    /// Findings on real files: each was read otherwise once, without an error.
    #[test]
    fn names_count_where_the_code_of_the_model_reads_them() {
        let all = json!({"head_dim": null, "hidden_size": 256, "num_attention_heads": 4,
            "rotary_pct": 0.5, "rotary_emb_base": 20_000, "rope_theta": 77_777,
            "partial_rotary_factor": 0.75});
        let neox = rotary("gpt_neox", all.clone()).unwrap();
        assert_eq!((neox.base, neox.rotary_dim), (20_000.0, Some(32)));
        let llama = rotary("llama", all.clone()).unwrap();
        assert_eq!((llama.base, llama.rotary_dim), (77_777.0, None));
        let stablelm = rotary("stablelm", all).unwrap();
        assert_eq!((stablelm.base, stablelm.rotary_dim), (77_777.0, Some(48)));

        let inside = json!({"rope_parameters": {"rope_theta": 5e5, "partial_rotary_factor": 0.5}});
        let llama = rotary("llama", inside.clone()).unwrap();
        assert_eq!((llama.base, llama.rotary_dim), (5e5, None));
        let stablelm = rotary("stablelm", inside).unwrap();
        assert_eq!((stablelm.base, stablelm.rotary_dim), (5e5, Some(32)));

        // A model card's scaling, added to a file that version 5 saved.
        let both = json!({"rope_parameters": {"rope_type": "default", "rope_theta": 5e5},
            "rope_scaling": {"type": "linear", "factor": 2}, "rope_theta": 1e6});
        let llama = rotary("llama", both).unwrap();
        assert_eq!(
            (llama.base, llama.scaling),
            (1e6, Some(Linear::new(2.0).into()))
        );
    }

    #[test]
    fn the_lengths_are_found_where_a_model_has_them() {
        let longest = 131_072;
        let of = |model_type, fields: serde_json::Value| {
            let fields = json!({"max_position_embeddings": longest, "rope_scaling": fields});
            scaling(model_type, fields)
        };
        let dynamic =
            json!({"type": "dynamic", "factor": 2, "original_max_position_embeddings": 8});
        assert_eq!(
            of("llama", dynamic),
            Some(Dynamic::new(2.0, longest).into())
        );
        let yarn = json!({"type": "yarn", "factor": 2});
        assert_eq!(of("llama", yarn), Some(Yarn::new(2.0, longest).into()));
        let yarn = json!({"type": "yarn", "factor": null, "original_max_position_embeddings": 16_384,
            "truncate": null});
        let expected = Yarn {
            truncate: false,
            ..Yarn::new(8.0, 16_384)
        };
        assert_eq!(of("llama", yarn), Some(expected.into()));
        let llama3 = json!({"rope_type": "llama3", "factor": 8, "low_freq_factor": 1,
            "high_freq_factor": 1});
        assert_eq!(
            of("llama", llama3),
            Some(Llama3::new(8.0, 1.0, 1.0, longest).into())
        );

        let lists = (vec![1.0; 32], vec![2.0; 32]);
        let longrope = |length, factor| {
            Some(Longrope::new(lists.0.clone(), lists.1.clone(), length, factor).into())
        };
        let fields = |more: serde_json::Value| {
            let mut fields = json!({"short_factor": lists.0, "long_factor": lists.1});
            let mut more = more.as_object().unwrap().clone();
            fields.as_object_mut().unwrap().append(&mut more);
            fields
        };
        // The length of Phi-3's own code, and the names that its first files have.
        for names in [
            json!({"rope_type": "longrope"}),
            json!({"type": "su"}),
            json!({"type": "yarn"}),
            json!({"type": "longrope", "original_max_position_embeddings": 1024}),
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
            json!({"rope_scaling": {}}),
            json!({"rope_scaling": {"type": "default", "factor": 4}}),
            json!({"rope_parameters": {"rope_theta": 1e4, "mrope_section": [1, 2]}}),
        ];
        for fields in nothing {
            assert_eq!(scaling("llama", fields), None);
        }
    }

    #[test]
    fn json_is_read_as_python_writes_it() {
        let text = r#"{"model_type": "llama", "head_dim": 8, "head_dim": 16, "initializer_range": NaN,
            "limits": [-Infinity, Infinity]}"#;
        let config = ModelConfig::from_json(text).unwrap().rotary().unwrap();
        assert_eq!(config.d_head, 16);
        let text = r#"{"model_type": "llama", "head_dim": 8, "rope_theta": NaN}"#;
        let message = ModelConfig::from_json(text).unwrap().rotary().unwrap_err();
        assert!(
            message
                .to_string()
                .contains("needs a number as `rope_theta`, not \"NaN\""),
            "{message}"
        );
        let message = ModelConfig::from_json("{").unwrap_err().to_string();
        assert!(
            message.starts_with("config.json cannot be read: EOF"),
            "{message}"
        );
        let deep = "[".repeat(100_000);
        let message = ModelConfig::from_json(&deep).unwrap_err().to_string();
        assert!(
            message.starts_with("config.json cannot be read: "),
            "{message}"
        );
    }

    #[test]
    fn layers_that_differ_have_no_common_rotation() {
        let smollm = json!({"model_type": "smollm3", "num_hidden_layers": 5, "hidden_size": 64,
            "num_attention_heads": 4});
        let smollm = model(smollm);
        let layers = smollm.layers().unwrap();
        let rotates: Vec<bool> = layers.iter().map(|layer| layer.rotary.is_some()).collect();
        assert_eq!(rotates, [true, true, true, false, true]);
        assert!(layers.iter().all(|layer| layer.span == AttentionSpan::Full));
        let message = smollm.rotary().unwrap_err().to_string();
        assert!(
            message.ends_with("layers 0 and 3 rotate differently: read its layers"),
            "{message}"
        );
        let modules = smollm.init_rotary(&Device::flex()).unwrap();
        assert_eq!(modules.iter().filter(|module| module.is_some()).count(), 4);
    }

    #[test]
    fn layers_without_attention_are_told_apart() {
        let qwen = json!({"model_type": "qwen3_next", "num_hidden_layers": 8, "head_dim": 64});
        let layers = model(qwen.clone()).layers().unwrap();
        let spans: Vec<_> = layers.iter().map(|layer| layer.span).collect();
        let (none, full) = (AttentionSpan::None, AttentionSpan::Full);
        assert_eq!(spans, [none, none, none, full, none, none, none, full]);
        assert_eq!(model(qwen).rotary().unwrap().rotary_dim, Some(16));
    }

    #[test]
    fn latent_attention_rotates_the_last_columns() {
        let deepseek = json!({"model_type": "deepseek_v3", "num_hidden_layers": 2,
            "qk_nope_head_dim": 128, "qk_rope_head_dim": 64});
        let layers = model(deepseek).layers().unwrap();
        assert_eq!(layers[1].columns, 128..192);
        assert_eq!(layers[1].rotary.as_ref().unwrap().d_head, 64);
    }

    #[test]
    fn the_part_about_text_is_read() {
        let text = json!({"model_type": "llama", "head_dim": 32});
        let llava = json!({"model_type": "llava", "text_config": text, "head_dim": 8});
        assert_eq!(model(llava).rotary().unwrap().d_head, 32);
        // As published: the fields of the text are not in a group.
        let qwen = json!({"model_type": "qwen2_vl", "hidden_size": 256, "num_attention_heads": 4,
            "rope_theta": 1e6, "rope_scaling": {"type": "mrope", "mrope_section": [8, 12, 12]},
            "num_hidden_layers": 2, "vision_config": {"model_type": "qwen2_vl", "hidden_size": 8}});
        let layers = model(qwen).layers().unwrap();
        let rotary = layers[1].rotary.as_ref().unwrap();
        assert_eq!(
            (rotary.d_head, rotary.base, &rotary.scaling),
            (64, 1e6, &None)
        );
        let gemma = json!({"model_type": "gemma3", "text_config": {"num_hidden_layers": 1}});
        assert_eq!(model(gemma).layers().unwrap()[0].columns, 0..256);
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
                "`num_attention_heads` must be at least 1; got 0",
            ),
            (
                json!({"head_dim": null, "hidden_size": 65, "num_attention_heads": 4}),
                "`hidden_size` must be a multiple of `num_attention_heads` 4; got 65",
            ),
            (
                json!({"head_dim": null, "num_attention_heads": 4}),
                "it has no `hidden_size`",
            ),
            (
                json!({"head_dim": 1_000_000_000_000_u64}),
                "a head may have 1048576 columns; got 1000000000000",
            ),
            (json!({"rope_theta": null}), "it has no `rope_theta`"),
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
                "needs a whole number of at least 0 as `original_max_position_embeddings`, not 0.5",
            ),
            (
                json!({"rope_scaling": {"rope_theta": "1e4"}}),
                "needs a number as `rope_theta`, not \"1e4\"",
            ),
            (
                // One group of fields for each kind of layer.
                json!({"rope_parameters": {"full_attention": {}, "rope_theta": 1e4}}),
                "it has parameters for \"full_attention\", but llama has one group for all layers",
            ),
            (
                json!({"rope_scaling": {"type": "mrope", "mrope_section": [1]}}),
                "there is no rope_type \"mrope\"; there are: linear,",
            ),
            (
                json!({"rope_scaling": {"type": "ntk", "factor": 2}}),
                "there is no rope_type \"ntk\" in transformers",
            ),
            (
                json!({"rope_scaling": {"type": "linear", "factor": 2, "partial_rotary_factor": 0.5}}),
                "a scaling with `partial_rotary_factor` 0.5, which llama does not have",
            ),
        ] {
            let message = message("llama", fields);
            let start = "config.json describes no rotary encoding: ";
            assert!(
                message.starts_with(start) && message.contains(words),
                "{message}"
            );
        }
        let message = message("no_such", json!({}));
        let start = "there is no model type named \"no_such\"; there are: afmoe, apertus,";
        assert!(message.starts_with(start), "{message}");
        for (file, words) in [
            (json!({"num_hidden_layers": 1e18}), "must be at most 10000"),
            (json!({}), "it has no `num_hidden_layers`"),
            (
                json!({"num_hidden_layers": 3, "layer_types": ["full_attention"]}),
                "its list of layers has 1 entries for 3 layers",
            ),
        ] {
            let mut file = file;
            file["model_type"] = "gemma2".into();
            let message = model(file).layers().unwrap_err().to_string();
            assert!(message.contains(words), "{message}");
        }
    }
}
