//! Which kind of attention each layer of a model has.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use super::families::Family;
use super::window;
use crate::rotate::fields::{Fields, Value};

/// The names that files have for the kinds of layers.
pub(super) const FULL: &str = "full_attention";
pub(super) const SLIDING: &str = "sliding_attention";
pub(super) const CHUNKED: &str = "chunked_attention";
const CROSS: &str = "cross_attention";
const LINEAR: &str = "linear_attention";
const HYBRID: &str = "hybrid";
pub(super) const HYBRID_SLIDING: &str = "hybrid_sliding";

/// The kinds of layers that have no attention among the tokens: there is nothing to rotate.
const WITHOUT_ATTENTION: [&str; 8] = [
    LINEAR,
    CROSS,
    "conv",
    "mamba",
    "mamba2",
    "mlp",
    "moe",
    "recurrent",
];

/// More layers than any model has, so that a list of them fits into memory.
const MAX_LAYERS: usize = 10_000;

/// The kinds of a model's layers where its file does not list them as `layer_types`.
#[derive(Clone, Copy)]
pub(super) enum Kinds {
    /// Full attention. A list is not read.
    Alike,
    /// A window where the file gives a `sliding_window`, else full attention. A list is not read.
    Windowed,
    /// Full attention. A list is read, as with all that follow.
    Full,
    /// Sliding windows.
    Sliding,
    /// Attention beside another kind of memory, in each layer.
    Hybrid,
    /// Full attention in every n-th layer, from the n-th on, and windows in the others. A field of the
    /// given name replaces n.
    LastOf(usize, &'static str),
    /// Full attention in every n-th layer, from the first on, and windows in the others.
    FirstOf(usize, &'static str),
    /// Linear attention but for every n-th layer, from the n-th on.
    LinearBut(usize),
    /// Windows from layer `max_window_layers` on, where `use_sliding_window` is set: Qwen2.
    AfterFull,
    /// As the `no_rope_layers` of Llama 4.
    Chunked,
    /// Another rule: the kind of layer `i` of `n`.
    Rule(fn(i: usize, n: usize) -> &'static str),
    /// Full attention in every sixth layer, and in the last one whatever a list says.
    FullAtTheEnd,
    /// Full attention, but for the layers of the list of this name, which attend to another input.
    Except(&'static str, &'static [usize]),
    /// Full attention in the layers of the list of this name, and no attention in the others.
    Indices(&'static str),
    /// Listed under another name, with what the kinds are called there, or nowhere.
    Named(&'static str),
}

/// Whether a layer of this kind has attention.
pub(super) fn has_attention(kind: &str) -> bool {
    !WITHOUT_ATTENTION.contains(&kind)
}

/// The number of layers of a model.
pub(super) fn count(file: &Fields) -> Result<usize, String> {
    let names = [
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "decoder_num_hidden_layers",
    ];
    match file.first_length(&names)? {
        Some((name, layers)) if layers > MAX_LAYERS => Err(format!(
            "`{name}` must be at most {MAX_LAYERS}; got {layers}"
        )),
        Some((_, layers)) => Ok(layers),
        None => Err("it has no `num_hidden_layers`".into()),
    }
}

impl Kinds {
    /// The kind of each layer.
    pub fn of(self, file: &Fields, family: &Family) -> Result<Vec<String>, String> {
        let layers = count(file)?;
        let listed = match self {
            Self::Alike | Self::Windowed | Self::Indices(_) | Self::Except(..) => None,
            Self::Named(name) => list(file, name)?,
            _ => list(file, "layer_types")?,
        };
        if let Some(listed) = listed {
            // The code of some models makes fewer layers than are listed.
            if listed.len() < layers {
                return Err(format!(
                    "its list of layers has {} entries for {layers} layers",
                    listed.len()
                ));
            }
            let mut kinds: Vec<String> = listed.into_iter().take(layers).collect();
            if let (Self::FullAtTheEnd, Some(last)) = (self, kinds.last_mut()) {
                *last = FULL.to_string();
            }
            return Ok(kinds);
        }
        let period = |usual, name: &str| {
            let period = match name {
                "" => None,
                name => file.optional_length(name)?,
            };
            match period.unwrap_or(usual) {
                0 => Err(format!("`{name}` must be at least 1; got 0")),
                period => Ok::<usize, String>(period),
            }
        };
        let full_where = |is_full: &dyn Fn(usize) -> bool, other: &str| {
            let kind = |i| if is_full(i) { FULL } else { other }.to_string();
            (0..layers).map(kind).collect()
        };
        let all = |kind: &str| vec![kind.to_string(); layers];
        Ok(match self {
            Self::Windowed if window(file, family)?.is_some() => all(SLIDING),
            Self::Alike | Self::Windowed | Self::Full => all(FULL),
            Self::Sliding => all(SLIDING),
            Self::Hybrid => all(HYBRID),
            Self::LastOf(period_of, name) => {
                let period = period(period_of, name)?;
                full_where(&|i| (i + 1).is_multiple_of(period), SLIDING)
            }
            Self::FirstOf(period_of, name) => {
                let period = period(period_of, name)?;
                full_where(&|i| i.is_multiple_of(period), SLIDING)
            }
            Self::LinearBut(period) => full_where(&|i| (i + 1).is_multiple_of(period), LINEAR),
            Self::AfterFull => {
                let windows = file.flag("use_sliding_window")?.unwrap_or(false)
                    && file.contains("sliding_window");
                let first = file.optional_length("max_window_layers")?.unwrap_or(28);
                full_where(&|i| !windows || i < first, SLIDING)
            }
            Self::Chunked => {
                let rotates = rope_layers(file, layers)?;
                full_where(&|i| !rotates[i], CHUNKED)
            }
            Self::Rule(rule) => (0..layers).map(|i| rule(i, layers).to_string()).collect(),
            Self::FullAtTheEnd => {
                full_where(&|i| (i + 1).is_multiple_of(6) || i + 1 == layers, SLIDING)
            }
            Self::Indices(name) => {
                let indices = indices(file, name)?.unwrap_or_default();
                full_where(&|i| indices.contains(&i), LINEAR)
            }
            Self::Except(name, usual) => {
                let indices = indices(file, name)?.unwrap_or_else(|| usual.to_vec());
                full_where(&|i| !indices.contains(&i), CROSS)
            }
            Self::Named(name) => return Err(format!("it has no `{name}`")),
        })
    }
}

/// A list of layers, or none where it is left out.
fn indices(file: &Fields, name: &str) -> Result<Option<Vec<usize>>, String> {
    file.optional_list(name, "a list of layers", Value::as_length)
}

/// A list of names, or none where it is left out.
fn list(file: &Fields, name: &str) -> Result<Option<Vec<String>>, String> {
    let text = |value: &Value| value.as_text().map(ToString::to_string);
    file.optional_list(name, "a list of names", text)
}

/// Whether each layer rotates, by `no_rope_layers` (1 where it does) or else all but every n-th.
pub(super) fn rope_layers(file: &Fields, layers: usize) -> Result<Vec<bool>, String> {
    let name = "no_rope_layers";
    let listed = file.optional_list(name, "a list of 0 and 1", |value| match value {
        Value::Bool(flag) => Some(*flag),
        value => value.as_number().map(|number| number != 0.0),
    })?;
    match listed.filter(|listed| !listed.is_empty()) {
        Some(listed) if listed.len() < layers => Err(format!(
            "`{name}` has {} entries for {layers} layers",
            listed.len()
        )),
        Some(listed) => Ok(listed),
        None => match file.optional_length("no_rope_layer_interval")?.unwrap_or(4) {
            0 => Err("`no_rope_layer_interval` must be at least 1; got 0".into()),
            interval => Ok((0..layers)
                .map(|i| !(i + 1).is_multiple_of(interval))
                .collect()),
        },
    }
}
