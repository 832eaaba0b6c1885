//! What each layer of a model does with positions.

use alloc::borrow::Cow;
use alloc::collections::BTreeMap;
use alloc::collections::btree_map::Entry;
use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use pe_burn::RotaryPositionalEncodingConfig;
use pe_burn::rotary::QueryScale;
use pe_burn::scaling::{Fields, Value};

use crate::family::{Family, Places, Rotates, Scale, When, Windows};
use crate::kinds::{self, has_attention, window};
use crate::parameters::{ORIGINAL, has_null_base, parameters};
use crate::rope::{self, Rotation};
use crate::table::OTHER_CLASSES;

/// What one layer of a model does with positions: an entry of [`HfConfig::layers`](crate::HfConfig::layers).
///
/// The scale of the scores is not a part of it. That of DeepSeek and its relatives depends on the scaling: their code multiplies
/// the scores by `(0.1 mscale_all_dim ln(factor) + 1)²` besides `1 / √d_head`, which is 1.8739 for DeepSeek-V3 (a factor of 40,
/// `mscale_all_dim` 1).
#[derive(Clone, Debug, PartialEq)]
#[non_exhaustive]
pub struct LayerPositions {
    /// The rotation of queries and keys; `None` where the layer has none.
    pub rotary: Option<RotaryPositionalEncodingConfig>,
    /// The columns of a head that the rotation is for, as many as its `d_head`. With multi-head latent
    /// attention (DeepSeek) these are the last ones, else all.
    pub columns: Range<usize>,
    /// Where the position by which a token is rotated comes from.
    pub places: Places,
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
    /// Those of a window that ends with the query: this many, with the one of the query itself.
    Sliding(usize),
    /// In an encoder: this many before the query, that of the query itself, and this many after it.
    Around {
        /// The keys before the query.
        before: usize,
        /// The keys after the query.
        after: usize,
    },
    /// Those of the prompt, and of a window of this many that ends with the query besides.
    PromptAndSliding(usize),
    /// Those of the same piece, where the sequence is cut into pieces of this length.
    Chunked(usize),
    /// Those of the same window of the image.
    Window,
    /// The layer has no attention among the tokens: it is a convolution or a recurrent network, or it
    /// attends to an image.
    None,
}

/// The rotation of a model whose layers with attention are alike.
pub(super) fn rotary_of(
    file: &Fields,
    family: &Family,
) -> Result<RotaryPositionalEncodingConfig, String> {
    let mut found = None;
    for (i, layer) in layers_of(file, family)?.into_iter().enumerate() {
        if layer.span == AttentionSpan::None {
            continue;
        }
        if layer.query_scale.is_some() {
            return Err(format!(
                "queries of layer {i} are multiplied by a factor that follows their position, which no rotation has: read its \
                 layers"
            ));
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

/// Refuses a file with a field that changes the layers and is not read, and one of another class of models.
fn check_unread(file: &Fields, family: &Family) -> Result<(), String> {
    // A flag that is not set says the same as one that is left out.
    let is_set = |name: &&&str| file.contains(name) && !matches!(file.flag(name), Ok(Some(false)));
    if let Some(name) = family.unread.iter().find(is_set) {
        return Err(format!("`{name}` of {} is not read", family.name));
    }
    let Some((name, class)) = OTHER_CLASSES.iter().find(|(name, _)| *name == family.name) else {
        return Ok(());
    };
    let architectures = kinds::list(file, "architectures")?.unwrap_or_default();
    match architectures.iter().any(|given| given == class) {
        true => Err(format!("{class}, a class of {name}, is not read")),
        false => Ok(()),
    }
}

/// What each layer does with positions.
pub(super) fn layers_of(file: &Fields, family: &Family) -> Result<Vec<LayerPositions>, String> {
    check_unread(file, family)?;
    let kinds = family.kinds.of(file, family)?;
    let listed = Listed::read(file, family, &kinds)?;
    let own_fields = own_fields(file, family, &kinds)?;
    // Layers of a kind have the same rotation, unless they have a base, no scaling or fields of their own.
    let mut known: BTreeMap<(&str, Option<u64>, bool), Option<Rotation>> = BTreeMap::new();
    let mut layers = Vec::with_capacity(kinds.len());
    for (i, kind) in kinds.iter().enumerate() {
        let (file, has_own_fields) = match own_fields.get(&i) {
            Some(own_fields) => {
                let mut file = file.clone();
                file.update(own_fields);
                (Cow::Owned(file), true)
            }
            None => (Cow::Borrowed(file), false),
        };
        let span = span(&file, family, kind)?;
        let base = match span {
            AttentionSpan::None => None,
            _ => rotates(&file, family, kind, i, &listed)?,
        };
        let is_scaled = listed.scales(i);
        let rotation = match base {
            None => None,
            Some(base) => {
                let key = (kind.as_str(), base.map(f64::to_bits), is_scaled);
                let computed = || {
                    let mut rotation = rope::of_kind(&file, family, kind, base)?;
                    if let (Some((_, rotary)), false) = (&mut rotation, is_scaled) {
                        rotary.scaling = None;
                    }
                    Ok::<_, String>(rotation)
                };
                match known.entry(key) {
                    _ if has_own_fields => computed()?,
                    Entry::Occupied(known) => known.get().clone(),
                    Entry::Vacant(new) => new.insert(computed()?).clone(),
                }
            }
        };
        let query_scale = match span {
            AttentionSpan::None => None,
            _ => query_scale(&file, family, rotation.is_some())?,
        };
        let (columns, rotary) =
            rotation.map_or((0..0, None), |(columns, rotary)| (columns, Some(rotary)));
        layers.push(LayerPositions {
            rotary,
            columns,
            places: family.places,
            span,
            query_scale,
        });
    }
    Ok(layers)
}

/// The fields of single layers, which files name by their index, some of them with zeros in front; or else those
/// that the code of the type gives them.
fn own_fields<'a>(
    file: &'a Fields,
    family: &Family,
    kinds: &[String],
) -> Result<BTreeMap<usize, Cow<'a, Fields>>, String> {
    let mut own = BTreeMap::new();
    let name = "per_layer_config";
    let Some(groups) = file.group(name)? else {
        if let Windows::InTurn(long) = family.windows {
            in_turn(&mut own, kinds, long);
        }
        return Ok(own);
    };
    for index in groups.names() {
        let layers = kinds.len();
        let Some(i) = index.parse::<usize>().ok().filter(|i| *i < layers) else {
            return Err(format!(
                "`{name}` has \"{index}\", but there are {layers} layers"
            ));
        };
        let fields = groups.group(index)?.expect("it is not null");
        if fields.contains("skip") {
            return Err(format!(
                "`{name}` has `skip` for layer {i}, which is not read"
            ));
        }
        if own.insert(i, Cow::Borrowed(fields)).is_some() {
            return Err(format!("`{name}` has layer {i} twice"));
        }
    }
    Ok(own)
}

/// Sets no window for full attention, and the window `long` for every second one of the other layers.
fn in_turn(own: &mut BTreeMap<usize, Cow<'_, Fields>>, kinds: &[String], long: usize) {
    let mut is_long = true;
    for (i, kind) in kinds.iter().enumerate() {
        let window = match kind == kinds::FULL {
            true => Value::Null,
            false => {
                is_long = !is_long;
                if !is_long {
                    continue;
                }
                Value::Number(long as f64)
            }
        };
        let mut fields = Fields::default();
        fields.set("sliding_window", window);
        own.insert(i, Cow::Owned(fields));
    }
}

/// What a file says about the rotation of each layer, read once for all of them.
enum Listed {
    None,
    /// Whether each layer rotates.
    Rotates(Vec<bool>),
    /// The base of each layer, 0 where it does not rotate.
    Bases(Vec<f64>),
    /// The layers that are scaled.
    Scaled(Vec<usize>),
}

impl Listed {
    fn read(file: &Fields, family: &Family, kinds: &[String]) -> Result<Self, String> {
        let layers = kinds.len();
        let bases = || {
            let name = "layer_rope_theta";
            let bases = file.optional_list(name, "a list of numbers", Value::as_number)?;
            match bases {
                Some(bases) if bases.len() < layers => Err(format!(
                    "`{name}` has {} entries for {layers} layers",
                    bases.len()
                )),
                bases => Ok(bases),
            }
        };
        Ok(match family.rotates {
            Rotates::Listed => Self::Rotates(kinds::rope_layers(file, layers)?),
            Rotates::WindowsOrDense => {
                let first = file.optional_length("first_k_dense_replace")?.unwrap_or(0);
                let listed = kinds::list(file, "mlp_layer_types")?;
                let is_dense = |i: usize| match &listed {
                    Some(listed) => listed.get(i).is_some_and(|kind| kind == "dense"),
                    None => i < first,
                };
                let name = "prefix_dense_sliding_window_pattern";
                let dense_rotate = file.optional_length(name)?.unwrap_or(1) == 1;
                let rotates = |i: usize| kinds[i] == kinds::SLIDING || dense_rotate && is_dense(i);
                Self::Rotates((0..layers).map(rotates).collect())
            }
            Rotates::Bases => bases()?.map_or(Self::None, Self::Bases),
            Rotates::UnlessZero(period) => Self::Rotates(match bases()? {
                Some(bases) => bases.into_iter().map(|base| base != 0.0).collect(),
                None => (0..layers)
                    .map(|i| !(layers - 1 - i).is_multiple_of(period))
                    .collect(),
            }),
            Rotates::Scaled => {
                let name = "rope_scaling_layers";
                let scaled = file.optional_list(name, "a list of layers", Value::as_length)?;
                scaled.map_or(Self::None, Self::Scaled)
            }
            _ => Self::None,
        })
    }

    fn scales(&self, layer: usize) -> bool {
        match self {
            Self::Scaled(layers) => layers.contains(&layer),
            _ => true,
        }
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
        (Listed::Bases(bases), _) => {
            return Ok((bases[layer] != 0.0).then_some(Some(bases[layer])));
        }
        (_, Rotates::Windows) => has_window,
        (_, Rotates::WindowsIfAny) => has_window || window(file, family)?.is_none(),
        (_, Rotates::WithBase) => !has_null_base(file)?,
        (_, Rotates::If(name, When::Is(value, usual))) => match file.text(name)? {
            Some(given) => given == value,
            None => usual,
        },
        (_, Rotates::If(name, When::Flag(value, usual))) => match file.flag(name)? {
            Some(given) => given == value,
            None => usual,
        },
        _ => true,
    };
    Ok(rotates.then_some(None))
}

fn span(file: &Fields, family: &Family, kind: &str) -> Result<AttentionSpan, String> {
    Ok(match kind {
        kind if !has_attention(kind) => AttentionSpan::None,
        kinds::SLIDING | kinds::HYBRID_SLIDING | kinds::PROMPT => match window(file, family)? {
            Some(window) if kind == kinds::PROMPT => AttentionSpan::PromptAndSliding(window),
            Some(window) => around(file, family, window)?,
            None => {
                return Err(format!(
                    "it has no `sliding_window` for the layers of kind \"{kind}\" in `layer_types`"
                ));
            }
        },
        kinds::WINDOW => AttentionSpan::Window,
        kinds::CHUNKED => {
            let length = file.optional_length("attention_chunk_size")?;
            AttentionSpan::Chunked(length.unwrap_or(8192))
        }
        _ => match window(file, family)?.filter(|_| family.everywhere) {
            Some(window) => around(file, family, window)?,
            None => AttentionSpan::Full,
        },
    })
}

fn around(file: &Fields, family: &Family, window: usize) -> Result<AttentionSpan, String> {
    Ok(match kinds::sides(file, family, window)? {
        Some((before, after)) => AttentionSpan::Around { before, after },
        None => AttentionSpan::Sliding(window),
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
            let Some(parameters) = parameters(file, family, kinds::FULL)? else {
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
