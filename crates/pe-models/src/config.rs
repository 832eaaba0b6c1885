//! A `config.json`, and whose code it is read for.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec::Vec;

use burn::tensor::Device;
use pe_burn::scaling::{Fields, Value};
use pe_burn::{PositionError, RotaryPositionalEncoding, RotaryPositionalEncodingConfig};
use serde::{Deserialize, Deserializer};

use crate::family::Family;
use crate::json;
use crate::layers::{self, LayerPositions};
use crate::table::{ALIASES, FAMILIES, FLAT, REFUSED, TEXT_OF, WHOLES};
use crate::towers::TOWERS;
use crate::unrotated;

/// The positions of a model at Hugging Face, layer by layer, from its `config.json`.
///
/// ```
/// use burn::tensor::Device;
/// use pe_burn::Layout;
/// use pe_models::HfConfig;
///
/// // Qwen2.5-7B-Instruct, with the longer context that its page describes.
/// let text = r#"{
///     "model_type": "qwen2", "hidden_size": 3584, "num_attention_heads": 28, "num_hidden_layers": 28,
///     "max_position_embeddings": 32768, "rope_theta": 1000000.0, "vocab_size": 152064,
///     "rope_scaling": {"type": "yarn", "factor": 4.0, "original_max_position_embeddings": 32768}
/// }"#;
/// let rotary = HfConfig::from_json(text)?.rotary()?; // the same for all layers
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
/// use pe_models::{AttentionSpan, HfConfig};
///
/// let text = r#"{"model_type": "gemma3_text", "num_hidden_layers": 26, "head_dim": 256,
///     "sliding_window": 512, "rope_theta": 1000000, "rope_local_base_freq": 10000}"#;
/// let config = HfConfig::from_json(text)?;
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
/// `transformers_version` is older has what version 4.57 gives it in two places where that differs: the base where it
/// is left out, as of `cohere`, `falcon_h1`, `olmo3` and `qwen3_vl_text`, and an `original_max_position_embeddings` beside the
/// parameters, which counted for LongRoPE alone, and gave its factor. Without a version the file counts as new. A field that the model's code
/// ignores is ignored, except where the models were trained by it: of `phimoe`, `minimax`, `nomic_bert` and HunYuan-VL
/// (`docs/models.md`). For a model of text and images, the part about text is read.
///
/// A model type that is not read is an error with the nearest that are; `docs/models.md` in the
/// repository lists all. [`like`](HfConfig::like) reads such a file as one of another type.
#[doc(alias = "rope_theta")]
#[doc(alias = "rope_scaling")]
#[doc(alias = "rope_parameters")]
#[doc(alias = "config.json")]
#[derive(Clone, Debug, PartialEq)]
pub struct HfConfig {
    pub(crate) fields: Fields,
    /// The model type that the file is read as in place of its own.
    pub(crate) like: Option<&'static str>,
}

/// From any format of serde. JSON that Python wrote may have numbers that serde_json does not read: use
/// [`from_json`](HfConfig::from_json).
impl<'de> Deserialize<'de> for HfConfig {
    fn deserialize<D: Deserializer<'de>>(from: D) -> Result<Self, D::Error> {
        Ok(Self::new(Fields::deserialize(from)?))
    }
}

impl HfConfig {
    /// The model of a `config.json`, as Python writes it: it may have `NaN` and `Infinity`, and of a
    /// field that is there twice the last one counts.
    ///
    /// # Errors
    ///
    /// [`PositionError::Config`] when the text is not JSON.
    pub fn from_json(text: &str) -> Result<Self, PositionError> {
        let fields = serde_json::from_str(&json::without_python_numbers(text));
        let fields =
            fields.map_err(|error| config_error(format!("config.json cannot be read: {error}")))?;
        Ok(Self::new(fields))
    }

    /// Fills in the fields of the text part that the class of the whole model sets where the file leaves them out, and
    /// passes the version of transformers on to the parts.
    fn new(mut fields: Fields) -> Self {
        hand_down_version(&mut fields);
        let name = "text_config";
        let outer = fields.text("model_type").ok().flatten();
        let given = WHOLES
            .iter()
            .find(|(outers, _)| outers.split(' ').any(|of| Some(of) == outer));
        if let (Some((_, usual)), Ok(Some(text))) = (given, fields.group(name)) {
            let usual = serde_json::from_str::<Fields>(usual);
            let mut own = usual.expect("the table has valid JSON");
            own.update(text);
            fields.set(name, Value::Group(own));
        }
        Self { fields, like: None }
    }

    /// What each layer does with positions, from the first to the last.
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] for a model type that is not read, with the nearest that are;
    /// [`Config`](PositionError::Config) where a field is missing or cannot be used.
    pub fn layers(&self) -> Result<Vec<LayerPositions>, PositionError> {
        let (file, family) = self.model()?;
        layers::layers_of(file, family).map_err(no_rotary)
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
    /// otherwise than others or not at all, or multiply queries by a factor that a rotation does not have (Ministral 3).
    pub fn rotary(&self) -> Result<RotaryPositionalEncodingConfig, PositionError> {
        let (file, family) = self.model()?;
        layers::rotary_of(file, family).map_err(no_rotary)
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
    pub(crate) fn model(&self) -> Result<(&Fields, &'static Family), PositionError> {
        let (file, name) = self.text_part()?;
        if let Some(name) = self.like {
            return Ok((file, family(name)?));
        }
        if unrotated::is_unrotated(&name) {
            return Err(no_rotary(format!(
                "{name} does not rotate: `HfConfig::schemes` reads its positions"
            )));
        }
        let reason = REFUSED
            .iter()
            .find(|(refused, _)| refused.split(' ').any(|of| of == name));
        if let Some((_, reason)) = reason {
            return Err(no_rotary(format!(
                "the model type {name} is not read: {reason}"
            )));
        }
        let found = find(&name);
        let found = found.ok_or_else(|| unknown(&name, all_names().chain(unrotated::names())))?;
        Ok((file, found))
    }

    /// The part of the file about text, and the model type that it names.
    pub(crate) fn text_part(&self) -> Result<(&Fields, String), PositionError> {
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
            (Some(name), None) if FLAT.contains(&name) => text_of(name),
            (Some(name), _) => name.to_string(),
            (None, Some(outer)) => text_of(outer),
            // With `like` the file may leave its own type out.
            (None, None) if self.like.is_some() => String::new(),
            (None, None) => return Err(no_rotary("it has no `model_type`".into())),
        };
        let alias = ALIASES.iter().find(|(alias, _)| *alias == name);
        Ok((file, alias.map_or(name, |(_, name)| name.to_string())))
    }
}

/// The type of the text of a model of several parts.
fn text_of(outer: &str) -> String {
    let is_of = |(_, outers): &&(&str, &str)| outers.split(' ').any(|of| of == outer);
    let text = TEXT_OF.iter().find(is_of);
    text.map_or_else(|| format!("{outer}_text"), |(text, _)| text.to_string())
}

/// Copies the version of transformers into each group that is a model and has no version of its own.
fn hand_down_version(file: &mut Fields) {
    let name = "transformers_version";
    let Ok(Some(version)) = file.text(name).map(|text| text.map(ToString::to_string)) else {
        return;
    };
    let names: Vec<String> = file.names().map(ToString::to_string).collect();
    for group in names {
        let is_part = group.ends_with("_config") || matches!(&*group, "encoder" | "decoder");
        if let Ok(Some(own)) = file.group(&group)
            && (is_part || own.contains("model_type"))
            && !own.is_empty()
        {
            let mut own = own.clone();
            if !own.contains(name) {
                own.set(name, Value::Text(version.clone()));
            }
            hand_down_version(&mut own);
            file.set(&group, Value::Group(own));
        }
    }
}

/// The rows of all model types.
fn all() -> impl Iterator<Item = &'static Family> + Clone {
    FAMILIES.iter().chain(TOWERS)
}

/// The row of a model type that rotates, if there is one.
pub(crate) fn find(name: &str) -> Option<&'static Family> {
    all().find(|family| family.name == name)
}

/// The row of a model type that rotates.
pub(crate) fn family(name: &str) -> Result<&'static Family, PositionError> {
    find(name).ok_or_else(|| unknown(name, all_names()))
}

/// The error for a model type that is none of these.
fn unknown(name: &str, all: impl Iterator<Item = &'static str> + Clone) -> PositionError {
    PositionError::UnknownName {
        what: "model type",
        name: name.to_string(),
        known: known(name, all),
    }
}

fn all_names() -> impl Iterator<Item = &'static str> + Clone {
    all().map(|family| family.name)
}

/// The names that are nearest to this one, and how many there are. Versions of a model share the start of their names, so that
/// the nearest are those with the longest common start; or else those that are a part of this one, as `roberta` is of
/// `xlm-roberta`.
fn known(name: &str, all: impl Iterator<Item = &'static str> + Clone) -> String {
    let letters = |name: &str| -> String {
        let letters = name.chars().filter(char::is_ascii_alphanumeric);
        letters.map(|letter| letter.to_ascii_lowercase()).collect()
    };
    let own = letters(name);
    let common = |other: &str| {
        let other = letters(other);
        let both = own.chars().zip(other.chars());
        both.take_while(|(a, b)| a == b).count()
    };
    let longest = all.clone().map(common).max().unwrap_or(0);
    let is_near = |other: &&str| match longest >= 3 {
        true => common(other) == longest,
        false => other.len() >= 4 && own.contains(&letters(other)),
    };
    let names: Vec<&str> = all.clone().filter(is_near).take(5).collect();
    let all = all.count();
    match names.is_empty() {
        true => format!("{all} types; docs/models.md lists those that rotate queries and keys"),
        false => format!("{}, and others, {all} in all", names.join(", ")),
    }
}

pub(crate) fn no_rotary(reason: String) -> PositionError {
    config_error(format!(
        "config.json describes no rotary encoding: {reason}"
    ))
}

pub(crate) fn config_error(reason: String) -> PositionError {
    PositionError::Config {
        reason: reason.into(),
    }
}
