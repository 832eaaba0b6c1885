//! What positions do in a model from Hugging Face, layer by layer, for whoever ports it.
//!
//! | file | what it holds |
//! |---|---|
//! | `mod` | the facts about a model |
//! | `layers` | the facts about layers that are alike, and a probe of them |
//! | `text` | the facts as text |
//! | `weights` | which layout the names and shapes of the weights go with |
//! | `picture` | wavelengths against the context |

mod layers;
pub mod picture;
mod text;
mod weights;

use std::io::{self, ErrorKind};
use std::path::Path;

use pe_burn::PositionError;
use pe_models::{HfConfig, PlacedScheme};
use serde::Serialize;

use crate::door::Entry;
use crate::error::LabError;
use layers::{Group, Rotation};
use weights::Weights;

/// The most bytes of a `config.json`.
const MOST_BYTES: u64 = 16 << 20;

/// What positions do in a model.
#[derive(Clone, Debug, Default, Serialize)]
#[non_exhaustive]
pub struct Inspection {
    /// The model type whose code the file was read for.
    pub model_type: String,
    /// What is assumed, a sentence for each, where the file is read as one of another type.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub assumptions: Vec<String>,
    /// The longest input, by the file.
    pub context: Option<usize>,
    /// The number of layers.
    pub layers: usize,
    /// The layers in groups that are alike, in the order of their first layers.
    pub groups: Vec<Group>,
    /// The schemes of a model type that does not rotate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub schemes: Option<Vec<PlacedScheme>>,
    /// The other parts of the file: what reads images and sound, and the sides of an encoder-decoder.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub parts: Vec<Part>,
    /// What the names and shapes of the weights say.
    pub weights: Option<Weights>,
}

/// A part of a file beside its text.
#[derive(Clone, Debug, Serialize)]
#[non_exhaustive]
pub struct Part {
    /// Its name in the file.
    pub name: String,
    /// What positions do in it.
    #[serde(flatten)]
    pub inspection: Option<Box<Inspection>>,
    /// Why it is not read.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub not_read: Option<String>,
}

impl Inspection {
    /// Reads a `config.json`, as one of the model type `like` where that is given, and the header of a
    /// safetensors file with the weights.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] when a file cannot be read, [`LabError::Usage`] when the first is not the
    /// configuration of a model whose positions are known, or the second is not a safetensors file.
    /// [`LabError::Position`] when `like` is no known type.
    pub fn read(
        config: &Path,
        weights: Option<&Path>,
        like: Option<&str>,
    ) -> Result<Self, LabError> {
        let bytes = Entry::named(config).read(MOST_BYTES);
        let text = bytes.and_then(|bytes| {
            String::from_utf8(bytes).map_err(|error| io::Error::new(ErrorKind::InvalidData, error))
        });
        let text = text.map_err(LabError::file(config))?;
        let name = config.display().to_string();
        let text = text.strip_prefix('\u{feff}').unwrap_or(&text);
        let mut inspection = Self::of_file(text, like).map_err(|error| match error {
            LabError::Position(PositionError::Config { reason }) => {
                LabError::Usage(with_name(&reason, &name))
            }
            other => other,
        })?;
        if let Some(path) = weights {
            let mut groups = inspection.groups.iter();
            let rotation = groups.find_map(|group| group.rotation.as_ref());
            inspection.weights = Some(Weights::read(path, rotation)?);
        }
        Ok(inspection)
    }

    /// Reads the text of a `config.json`, as one of the model type `like` where that is given.
    fn of_file(text: &str, like: Option<&str>) -> Result<Self, LabError> {
        let config = HfConfig::from_json(text)?;
        let Some(like) = like else {
            return Self::of(&config).map_err(|error| match error {
                LabError::Position(PositionError::UnknownName { name, .. }) => {
                    // The error of `like` lists the types that `--like` takes, and no other.
                    let error = config.like(&name).err().map(|error| error.to_string());
                    let error = error.unwrap_or_else(|| format!("{name} is not read here"));
                    LabError::Usage(format!(
                        "{error}; --like TYPE reads the file as one of these types"
                    ))
                }
                other => other,
            });
        };
        Self::of(&config.like(like)?)
    }

    /// What positions do in a model.
    ///
    /// # Errors
    ///
    /// Those of [`HfConfig::layers`] and [`HfConfig::alibi`], and of the spectrum of a layer.
    pub fn of(config: &HfConfig) -> Result<Self, LabError> {
        let parts = config.parts()?.into_iter().map(|(name, config)| {
            let (inspection, not_read) = match Self::of(&config) {
                Ok(inspection) => (Some(Box::new(inspection)), None),
                Err(error) => (None, Some(with_name(&error.to_string(), &name))),
            };
            Part {
                name,
                inspection,
                not_read,
            }
        });
        let parts: Vec<Part> = parts.collect();
        match Self::of_text(config) {
            Ok(inspection) => Ok(Self {
                parts,
                ..inspection
            }),
            // A file with an encoder and a decoder has no part about text beside them.
            Err(_) if parts.iter().any(|part| part.inspection.is_some()) => Ok(Self {
                parts,
                ..Self::named(config)
            }),
            Err(error) => Err(error),
        }
    }

    fn named(config: &HfConfig) -> Self {
        Self {
            model_type: config.named().unwrap_or("").to_string(),
            ..Self::default()
        }
    }

    /// The file without its other parts.
    fn of_text(config: &HfConfig) -> Result<Self, LabError> {
        if let Some(schemes) = config.schemes()? {
            return Ok(Self {
                schemes: Some(schemes),
                ..Self::named(config)
            });
        }
        // Refuses biases that are not read, which would otherwise be ignored.
        config.alibi()?;
        let context = config.context()?;
        let layers = config.layers()?;
        let mut groups: Vec<Group> = Vec::new();
        let count = layers.len();
        for (i, positions) in layers.into_iter().enumerate() {
            match groups.iter_mut().find(|group| group.positions == positions) {
                Some(group) => group.layers.push(i),
                None => groups.push(Group::new(i, positions, context)?),
            }
        }
        Ok(Self {
            model_type: config.model_type()?.to_string(),
            assumptions: config.assumptions()?,
            context,
            layers: count,
            groups,
            ..Self::default()
        })
    }
}

/// What is wrong with a file, with its own name in place of the usual one.
fn with_name(reason: &str, name: &str) -> String {
    match reason.strip_prefix("config.json ") {
        Some(reason) => format!("{name} {reason}"),
        None => reason.to_string(),
    }
}
