//! A file of a model type that is not known, read as one of another type.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use pe_burn::scaling::{Fields, Value};
use pe_burn::{Layout, PositionError};

use crate::config::{HfConfig, family, no_rotary};
use crate::family::Family;
use crate::layers::{AttentionSpan, LayerPositions, layers_of};

/// Fields that say something about positions in files of one type or another.
const FIELDS: &str = "num_hidden_layers hidden_size num_attention_heads head_dim rope_theta rope_scaling rope_parameters \
    partial_rotary_factor rotary_pct rotary_emb_base rotary_dim rope_interleave sliding_window use_sliding_window \
    layer_types no_rope_layers max_position_embeddings original_max_position_embeddings qk_rope_head_dim qk_nope_head_dim \
    global_head_dim layer_rope_theta per_layer_config attn_temperature_tuning position_embedding_type";

/// Parts of names that speak of positions, or of what layers attend to.
const PARTS: [&str; 10] = [
    "rope",
    "rotary",
    "position",
    "window",
    "alibi",
    "layer_types",
    "head_dim",
    "full_att",
    "attn_type",
    "interleave",
];

impl HfConfig {
    /// The same file, read as one of this model type: for a model whose own type is not known, and that is a
    /// relative. [`assumptions`](Self::assumptions) says what is assumed by that.
    ///
    /// ```
    /// use pe_models::HfConfig;
    ///
    /// let text = r#"{"model_type": "grandllama", "num_hidden_layers": 2, "hidden_size": 256,
    ///     "num_attention_heads": 4, "rope_theta": 5e5, "rotary_share": 0.5}"#;
    /// let config = HfConfig::from_json(text)?;
    /// assert!(config.layers().is_err());
    /// let config = config.like("llama")?;
    /// assert_eq!(config.rotary()?.base, 5e5);
    /// let assumed = config.assumptions()?.join("\n");
    /// assert!(assumed.contains("passed over, though the names speak of positions: `rotary_share`"));
    /// # Ok::<(), pe_burn::PositionError>(())
    /// ```
    ///
    /// # Errors
    ///
    /// [`PositionError::UnknownName`] when this type is not one of those that are read.
    pub fn like(mut self, model_type: &str) -> Result<Self, PositionError> {
        self.like = Some(family(model_type)?.name);
        Ok(self)
    }

    /// What is assumed where the file is read [as one of another type](Self::like), a sentence for each; empty
    /// where it is not.
    ///
    /// # Errors
    ///
    /// Those of [`layers`](Self::layers).
    pub fn assumptions(&self) -> Result<Vec<String>, PositionError> {
        let Some(name) = self.like else {
            return Ok(Vec::new());
        };
        let (file, family) = self.model()?;
        let layers = layers_of(file, family).map_err(no_rotary)?;
        let own = match self.text_part()?.1 {
            own if own.is_empty() => "the file names no type".to_string(),
            own => format!("the type of the file is \"{own}\""),
        };
        let mut lines = vec![format!("it rotates as the code of {name} does; {own}")];
        lines.extend(layout(&layers));
        lines.push(which(&layers));
        lines.push(spans(&layers));
        if layers.iter().any(|layer| layer.query_scale.is_some()) {
            lines.push("queries are multiplied by a factor that follows their position".into());
        }
        let matters = |field: &str| !same(file, family, field, &layers);
        let (read, passed): (Vec<&str>, Vec<&str>) = file.names().partition(|field| matters(field));
        let left_out = FIELDS
            .split_whitespace()
            .filter(|field| !file.contains(field) && matters(field));
        let passed = passed
            .into_iter()
            .filter(|field| PARTS.iter().any(|part| field.contains(part)));
        for (what, fields) in [
            ("read from the file", read),
            (
                &*format!("not in the file, and taken as in {name}"),
                left_out.collect(),
            ),
            (
                "passed over, though the names speak of positions",
                passed.collect(),
            ),
        ] {
            if !fields.is_empty() {
                lines.push(format!("{what}: `{}`", fields.join("`, `")));
            }
        }
        Ok(lines)
    }
}

/// Whether the layers stay the same with any other value of a field.
fn same(file: &Fields, family: &Family, field: &str, layers: &[LayerPositions]) -> bool {
    let number = |number| Value::Number(number);
    let others = [
        Value::Null,
        Value::Bool(true),
        Value::Bool(false),
        number(2.0),
        number(6.0),
        number(0.5),
        number(1_000.0),
        Value::List(vec![]),
        Value::Text(String::new()),
        Value::Group(Fields::default()),
    ];
    others.into_iter().all(|other| {
        let mut changed = file.clone();
        changed.set(field, other);
        layers_of(&changed, family).is_ok_and(|changed| changed == layers)
    })
}

fn layout(layers: &[LayerPositions]) -> Option<String> {
    let rotary = layers.iter().find_map(|layer| layer.rotary.as_ref())?;
    let half = rotary.rotary_dim.unwrap_or(rotary.d_head) / 2;
    Some(match rotary.layout {
        Layout::Halves => format!("columns i and i + {half} of a head make a pair"),
        Layout::Interleaved => "columns 2i and 2i + 1 of a head make a pair".into(),
    })
}

fn which(layers: &[LayerPositions]) -> String {
    let rotating = layers.iter().filter(|layer| layer.rotary.is_some()).count();
    match rotating == layers.len() {
        true => "every layer rotates its queries and keys".into(),
        false => format!(
            "{rotating} of the {} layers rotate their queries and keys",
            layers.len()
        ),
    }
}

fn spans(layers: &[LayerPositions]) -> String {
    let full = layers
        .iter()
        .filter(|layer| layer.span == AttentionSpan::Full)
        .count();
    match full == layers.len() {
        true => "every layer attends to all tokens".into(),
        false => format!("{full} of the {} layers attend to all tokens", layers.len()),
    }
}
