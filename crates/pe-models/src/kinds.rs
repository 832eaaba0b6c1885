//! Which kind of attention each layer of a model has, and how many keys a window has.

use alloc::format;
use alloc::string::{String, ToString};
use alloc::vec;
use alloc::vec::Vec;

use pe_burn::scaling::{Fields, Value};

use crate::family::{Family, Kinds, Windows};

/// The names that files have for the kinds of layers.
pub(super) const FULL: &str = "full_attention";
pub(super) const SLIDING: &str = "sliding_attention";
pub(super) const CHUNKED: &str = "chunked_attention";
const CROSS: &str = "cross_attention";
const LINEAR: &str = "linear_attention";
/// Within windows of an image.
pub(super) const WINDOW: &str = "window_attention";
const HYBRID: &str = "hybrid";
/// A window, and the whole prompt besides.
pub(super) const PROMPT: &str = "reference_sliding_attention";
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

/// The kinds of layers with attention, in this version of transformers or an older one. Those with an indexer see
/// the keys that it picks out of all.
const WITH_ATTENTION: [&str; 11] = [
    FULL,
    WINDOW,
    SLIDING,
    CHUNKED,
    HYBRID,
    HYBRID_SLIDING,
    PROMPT,
    "attention",
    "indexed_attention",
    "deepseek_sparse_attention",
    "minimax_m3_sparse",
];

/// More layers than any model has, so that a list of them fits into memory.
const MAX_LAYERS: usize = 10_000;

/// Whether a layer of this kind has attention.
pub(super) fn has_attention(kind: &str) -> bool {
    !WITHOUT_ATTENTION.contains(&kind)
}

/// The number of layers of a model.
pub(super) fn count(file: &Fields, family: &Family) -> Result<usize, String> {
    let names = [
        "memory_attention_num_layers",
        "num_hidden_layers",
        "n_layer",
        "n_layers",
        "num_layers",
        "decoder_num_hidden_layers",
        "depth",
    ];
    match file.first_length(&names)? {
        Some((name, layers)) if layers > MAX_LAYERS => Err(format!(
            "`{name}` must be at most {MAX_LAYERS}; got {layers}"
        )),
        Some((name, 0)) => Err(format!("`{name}` must be at least 1; got 0")),
        Some((_, layers)) => Ok(layers),
        None => Ok(family.sizes.layers),
    }
}

/// How many times the layers of two stacks run, where each turn counts as a layer. A file that a version of
/// transformers saved has that number as `num_hidden_layers`, and the layers of a stack beside it.
fn turns(file: &Fields, layers: usize) -> Result<usize, String> {
    let stack = file
        .optional_length("num_layers_per_stack")?
        .unwrap_or(layers);
    let high = file.optional_length("H_cycles")?.unwrap_or(2);
    let low = file.optional_length("L_cycles")?.unwrap_or(3);
    let cycles = low.saturating_add(1).saturating_mul(high);
    match stack.saturating_mul(cycles) {
        turns if turns > MAX_LAYERS => Err(format!(
            "`num_hidden_layers` {stack} times {cycles} cycles must be at most {MAX_LAYERS}; got {turns}"
        )),
        turns => Ok(turns),
    }
}

impl Kinds {
    /// The kind of each layer.
    pub fn of(self, file: &Fields, family: &Family) -> Result<Vec<String>, String> {
        let layers = count(file, family)?;
        let listed = match self {
            Self::Alike | Self::Cycles | Self::Indices(_) | Self::Except(..) | Self::Blocks => None,
            Self::Zamba => return zamba(file),
            _ => list(file, "layer_types")?,
        };
        let Some(listed) = listed else {
            return self.by_rule(file, family, layers);
        };
        // The code of some models makes fewer layers than are listed.
        if listed.len() < layers {
            return Err(format!(
                "its list of layers has {} entries for {layers} layers",
                listed.len()
            ));
        }
        let mut kinds: Vec<String> = listed.into_iter().take(layers).collect();
        if let (Self::FullAtTheEnd(..), Some(last)) = (self, kinds.last_mut()) {
            *last = FULL.to_string();
        }
        let known = |kind: &str| WITH_ATTENTION.contains(&kind) || !has_attention(kind);
        match kinds.iter().find(|kind| !known(kind)) {
            Some(kind) => Err(format!(
                "layers of kind \"{kind}\" in `layer_types` are not read"
            )),
            None => Ok(kinds),
        }
    }

    /// The kind of each layer where the file has no list of them.
    // Longer than a screen: one arm for each rule.
    fn by_rule(self, file: &Fields, family: &Family, layers: usize) -> Result<Vec<String>, String> {
        let full_where =
            |is_full: &dyn Fn(usize) -> bool, other| either(layers, is_full, [FULL, other]);
        let listed = |name, kinds, usual: &dyn Fn() -> Vec<usize>| {
            let indices = indices(file, name)?.unwrap_or_else(usual);
            Ok::<_, String>(either(layers, |i| indices.contains(&i), kinds))
        };
        let all = |kind: &str| vec![kind.to_string(); layers];
        let has_window = || Ok::<_, String>(window(file, family)?.is_some());
        let first = |usual| {
            let given = file.optional_length("max_window_layers")?;
            Ok::<_, String>(given.unwrap_or(usual))
        };
        let last_of = |usual, name, other| {
            let period = period(file, usual, name)?;
            let is_full = |i: usize| (i + 1).is_multiple_of(period);
            Ok::<_, String>(full_where(&is_full, other))
        };
        Ok(match self {
            Self::Alike | Self::Full => all(FULL),
            Self::Cycles => vec![FULL.to_string(); turns(file, layers)?],
            Self::Sliding if has_window()? => all(SLIDING),
            Self::Sliding => all(FULL),
            Self::Hybrid => all(HYBRID),
            Self::LastOf(usual, name) => last_of(usual, name, SLIDING)?,
            Self::LinearBut(usual, name) => last_of(usual, name, LINEAR)?,
            Self::LastOfRest(usual) => full_where(&last_of_rest(file, usual)?, SLIDING),
            Self::FirstOf(usual, name) => {
                let period = period(file, usual, name)?;
                full_where(&|i| i.is_multiple_of(period), SLIDING)
            }
            Self::AfterFull(usual) => {
                let (first, has_window) = (first(usual)?, has_window()?);
                full_where(&|i| !has_window || i < first, SLIDING)
            }
            Self::EvenBefore(usual) => {
                let (first, has_window) = (first(usual)?, has_window()?);
                full_where(&|i| !has_window || i % 2 == 1 || i >= first, SLIDING)
            }
            Self::WindowsUnlessRotated => {
                let (rotates, has_window) = (rope_layers(file, layers)?, has_window()?);
                full_where(&|i| !has_window || rotates[i], SLIDING)
            }
            Self::Chunked => {
                let rotates = rope_layers(file, layers)?;
                full_where(&|i| !rotates[i], CHUNKED)
            }
            Self::Rule(rule) => (0..layers).map(|i| rule(i, layers).to_string()).collect(),
            Self::FullAtTheEnd(usual, name) => {
                let period = period(file, usual, name)?;
                let is_full = |i: usize| (i + 1).is_multiple_of(period) || i + 1 == layers;
                full_where(&is_full, SLIDING)
            }
            Self::Indices(name) => listed(name, [FULL, LINEAR], &Vec::new)?,
            Self::FullIn(name) => listed(name, [FULL, "conv"], &|| (0..layers).collect())?,
            Self::Except(name, usual) => listed(name, [CROSS, FULL], &|| usual.to_vec())?,
            Self::WindowsBut(name, usual) => listed(name, [FULL, WINDOW], &|| usual.to_vec())?,
            Self::Blocks => blocks(file, layers)?,
            Self::ByWindow(period, name) => match numbers(file, name)? {
                Some(windows) => {
                    check_entries(name, &windows, layers)?;
                    full_where(&|i| windows[i] == 0, SLIDING)
                }
                None => last_of(period, "", SLIDING)?,
            },
            Self::FullWhere(name) => match numbers(file, name)? {
                Some(listed) => {
                    check_entries(name, &listed, layers)?;
                    full_where(&|i| listed[i] != 0, LINEAR)
                }
                None => full_where(&|i| i % 2 == 0, LINEAR),
            },
            Self::Listed | Self::Zamba => return Err("it has no `layer_types`".into()),
        })
    }
}

/// The kind of each layer, of which there are two: the first where `is_first` holds.
fn either(
    layers: usize,
    is_first: impl Fn(usize) -> bool,
    [first, other]: [&str; 2],
) -> Vec<String> {
    let kind = |i| if is_first(i) { first } else { other }.to_string();
    (0..layers).map(kind).collect()
}

/// Whether a layer is the last of every few layers, counted separately before and after the layer
/// `first_k_dense_replace`.
fn last_of_rest(file: &Fields, usual: usize) -> Result<impl Fn(usize) -> bool, String> {
    let start = file.optional_length("first_k_dense_replace")?.unwrap_or(0);
    let before = period(file, 1, "prefix_dense_sliding_window_pattern")?;
    let rest = period(file, usual, "sliding_window_pattern")?;
    Ok(move |i: usize| match i.checked_sub(start) {
        Some(i) => (i + 1).is_multiple_of(rest),
        None => (i + 1).is_multiple_of(before),
    })
}

/// Refuses a list that does not have an entry for every layer.
fn check_entries<T>(name: &str, listed: &[T], layers: usize) -> Result<(), String> {
    match listed.len() {
        entries if entries < layers => Err(format!(
            "`{name}` has {entries} entries for {layers} layers"
        )),
        _ => Ok(()),
    }
}

/// A number for every layer: the window, 0 where there is none, or 1 for full attention.
fn numbers(file: &Fields, name: &str) -> Result<Option<Vec<usize>>, String> {
    file.optional_list(name, "a list of lengths", Value::as_length)
}

/// The number n where something comes in every n-th layer: that of the field of this name, or else the usual one.
fn period(file: &Fields, usual: usize, name: &str) -> Result<usize, String> {
    let given = match name {
        "" => None,
        name => file.optional_length(name)?,
    };
    match given.unwrap_or(usual) {
        0 => Err(format!("`{name}` must be at least 1; got 0")),
        period => Ok(period),
    }
}

/// The kinds of RecurrentGemma's layers.
fn blocks(file: &Fields, layers: usize) -> Result<Vec<String>, String> {
    let usual = || {
        ["recurrent", "recurrent", "attention"]
            .map(String::from)
            .to_vec()
    };
    let blocks = list(file, "block_types")?.unwrap_or_else(usual);
    if blocks.is_empty() {
        return Err("`block_types` is empty".into());
    }
    let kinds = blocks.iter().map(|block| match block.as_str() {
        "recurrent" => LINEAR.to_string(),
        _ => SLIDING.to_string(),
    });
    Ok(kinds.cycle().take(layers).collect())
}

/// The kinds of Zamba 2's layers, of which its code makes as many as are listed.
fn zamba(file: &Fields) -> Result<Vec<String>, String> {
    let listed = list(file, "layers_block_type")?;
    let usual = |i: usize| match i {
        6 | 12 | 18 | 24 | 30 | 36 | 42 | 47 | 51 => HYBRID.to_string(),
        _ => LINEAR.to_string(),
    };
    let listed = listed.or(list(file, "layer_types")?);
    let kinds = listed.unwrap_or_else(|| (0..54).map(usual).collect());
    match kinds.len() {
        layers if layers > MAX_LAYERS => Err(format!(
            "`layers_block_type` must have at most {MAX_LAYERS} entries; got {layers}"
        )),
        _ => Ok(kinds),
    }
}

/// A list of layers, or none where it is left out.
fn indices(file: &Fields, name: &str) -> Result<Option<Vec<usize>>, String> {
    file.optional_list(name, "a list of layers", Value::as_length)
}

/// A list of names, or none where it is left out.
pub(super) fn list(file: &Fields, name: &str) -> Result<Option<Vec<String>>, String> {
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
        Some(listed) => {
            check_entries(name, &listed, layers)?;
            Ok(listed)
        }
        None => match file.optional_length("no_rope_layer_interval")?.unwrap_or(4) {
            0 => Err("`no_rope_layer_interval` must be at least 1; got 0".into()),
            interval => Ok((0..layers)
                .map(|i| !(i + 1).is_multiple_of(interval))
                .collect()),
        },
    }
}

/// Whether a flag is set, written as true and false, or by Gemma 4 as "all" for both directions.
fn is_set(file: &Fields, name: &str) -> Result<bool, String> {
    match file.text(name) {
        Ok(text) => Ok(text == Some("all")),
        Err(_) => Ok(file.flag(name)?.unwrap_or(false)),
    }
}

/// How many keys before and after a query are in a window of this number; `None` where all of them are before it.
pub(super) fn sides(
    file: &Fields,
    family: &Family,
    window: usize,
) -> Result<Option<(usize, usize)>, String> {
    Ok(match family.windows {
        Windows::Split => Some((window.div_ceil(2).saturating_sub(1), window / 2)),
        Windows::Halved if is_set(file, "use_bidirectional_attention")? => {
            Some((window / 2, window / 2))
        }
        _ => family.both_sides.then_some((window, window)),
    })
}

/// The number that gives the window, as the file of the type has it; `None` where there is none.
pub(super) fn window(file: &Fields, family: &Family) -> Result<Option<usize>, String> {
    let plain = || {
        let usual = family.window.filter(|_| !file.is_null("sliding_window"));
        Ok::<_, String>(file.optional_length("sliding_window")?.or(usual))
    };
    match family.windows {
        Windows::Plain | Windows::InTurn(_) | Windows::Split | Windows::Halved => plain(),
        Windows::Flagged if !is_set(file, "use_sliding_window")? => Ok(None),
        Windows::Flagged => plain(),
        Windows::Named(name) => match file.optional_length(name)? {
            Some(window) => Ok(Some(window)),
            None => plain(),
        },
        Windows::OneMoreThan(name) => match file.optional_length(name)? {
            Some(others) => Ok(Some(others.saturating_add(1))),
            None => plain(),
        },
        Windows::PlainOrLocal if file.contains("sliding_window") => plain(),
        Windows::PlainOrLocal => {
            let both_sides = file.optional_length("local_attention")?;
            Ok(both_sides
                .map(|both_sides| both_sides / 2)
                .or(family.window))
        }
        Windows::FirstOf(name) => {
            let listed = numbers(file, name)?.unwrap_or_default();
            match listed.into_iter().find(|window| *window > 0) {
                Some(window) => Ok(Some(window)),
                None => plain(),
            }
        }
    }
}
