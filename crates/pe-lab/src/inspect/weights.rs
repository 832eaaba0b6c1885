//! Which layout the names and shapes of a model's weights go with.

use std::io::Read;
use std::path::Path;

use pe_burn::Layout;
use safetensors::tensor::Metadata;
use serde::Serialize;

use super::layers::Rotation;
use crate::door::Entry;
use crate::error::LabError;

/// The largest header of a safetensors file, by its format.
const MAX_HEADER: u64 = 100_000_000;

/// What the names and shapes of the weights say about positions.
#[derive(Clone, Debug, Serialize)]
pub struct Weights {
    /// The tensor that was looked at, and its shape.
    pub tensor: Option<(String, Vec<usize>)>,
    /// The layout that the names stand for, where they do.
    pub layout: Option<Layout>,
    pub findings: Vec<String>,
}

/// Whose naming the weights of a query projection follow.
#[derive(Clone, Copy)]
enum Source {
    Transformers,
    Meta,
    Gguf,
    Fused,
}

/// Ends of the names of projections of queries, and who writes them.
const NAMES: [(&str, Source); 13] = [
    ("q_proj.weight", Source::Transformers),
    ("self.query.weight", Source::Transformers),
    ("q_b_proj.weight", Source::Transformers),
    ("attention.wq.weight", Source::Meta),
    ("attn_q.weight", Source::Gguf),
    ("qkv_proj.weight", Source::Fused),
    ("query_key_value.weight", Source::Fused),
    ("Wqkv.weight", Source::Fused),
    ("wqkv.weight", Source::Fused),
    ("c_attn.weight", Source::Fused),
    ("qkv.weight", Source::Fused),
    ("attn_qkv.weight", Source::Fused),
    ("W_pack.weight", Source::Fused),
];

impl Weights {
    /// Reads the header of a safetensors file of a model with this rotation; the weights themselves are not read.
    ///
    /// # Errors
    ///
    /// [`LabError::File`] when the file cannot be read, [`LabError::Usage`] when it is not a safetensors
    /// file.
    pub fn read(path: &Path, rotation: Option<&Rotation>) -> Result<Self, LabError> {
        let bad = |reason: String| {
            LabError::Usage(format!(
                "{}: not a safetensors file: {reason}",
                path.display()
            ))
        };
        let mut file = Entry::named(path).open().map_err(LabError::file(path))?;
        let length = file.metadata().map_err(LabError::file(path))?.len();
        let mut size = [0; 8];
        if length < 8 {
            return Err(bad(format!("it has {length} bytes")));
        }
        file.read_exact(&mut size).map_err(LabError::file(path))?;
        let header = u64::from_le_bytes(size);
        if header > MAX_HEADER.min(length - 8) {
            return Err(bad(format!(
                "its header would have {header} bytes, and it has {length}"
            )));
        }
        let mut bytes = Vec::new();
        file.take(header)
            .read_to_end(&mut bytes)
            .map_err(LabError::file(path))?;
        let metadata: Metadata =
            serde_json::from_slice(&bytes).map_err(|error| bad(error.to_string()))?;
        let mut tensors: Vec<(String, Vec<usize>)> = metadata
            .tensors()
            .into_iter()
            .map(|(name, info)| (name, info.shape.clone()))
            .collect();
        tensors.sort();
        Ok(Self::of(&tensors, rotation))
    }

    /// What the names and shapes say.
    fn of(tensors: &[(String, Vec<usize>)], rotation: Option<&Rotation>) -> Self {
        let found = NAMES.iter().find_map(|(end, source)| {
            let of_name = |(name, _): &&(String, Vec<usize>)| name.ends_with(end);
            tensors.iter().find(of_name).map(|tensor| (tensor, *source))
        });
        let Some(((name, shape), source)) = found else {
            let findings = vec![
                "No tensor has the name of a projection of queries: nothing can be told.".into(),
            ];
            return Self {
                tensor: None,
                layout: None,
                findings,
            };
        };
        let expected = rotation.map(|rotation| rotation.layout);
        let mut findings = vec![format!("{name} has shape {shape:?}.")];
        if let (Some(rotation), [rows, _]) = (rotation, &shape[..]) {
            let width = rotation.first_column + rotation.d_head;
            findings.push(match rows % width {
                0 => format!(
                    "Its {rows} rows are {} heads of width {width}.",
                    rows / width
                ),
                _ => format!("Its {rows} rows are not a multiple of the head's width {width}."),
            });
        }
        let layout = match source {
            Source::Transformers => expected,
            Source::Meta => Some(Layout::Interleaved),
            Source::Gguf | Source::Fused => None,
        };
        findings.push(match (source, expected) {
            (Source::Transformers, Some(layout)) => format!(
                "The name is that of transformers, whose code for this model pairs columns as {}. \
                 The shape is the same for both layouts, so that rows which were put in another order \
                 cannot be told from it.",
                word(layout)
            ),
            (Source::Meta, Some(Layout::Halves)) => "The name is Meta's, whose rows are for the \
                layout interleaved, but the configuration is for halves: convert the rows of queries and keys \
                with pe_burn::convert_heads, or rotate as interleaved."
                .to_string(),
            (Source::Meta, _) => "The name is Meta's, whose rows are for the layout interleaved.".into(),
            (Source::Gguf, _) => "The name is llama.cpp's. Its converter puts the rows of some models \
                (Llama, Mistral) in the order of interleaved and leaves others: the name does not tell."
                .to_string(),
            (Source::Fused, _) => "Queries, keys and values are one projection: neither its name nor its \
                shape tells the layout."
                .to_string(),
            (Source::Transformers, None) => "No layer of this model rotates.".into(),
        });
        Self {
            tensor: Some((name.clone(), shape.clone())),
            layout,
            findings,
        }
    }
}

fn word(layout: Layout) -> &'static str {
    match layout {
        Layout::Halves => "halves",
        Layout::Interleaved => "interleaved",
    }
}
