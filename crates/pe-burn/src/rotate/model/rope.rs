//! The rotation of one kind of layer, from the parameters in the file.

use alloc::format;
use alloc::string::{String, ToString};
use core::ops::Range;

use super::family::{Family, Rope, Scale, Scalings, Sections, Share, Width};
use super::kinds::{FULL, SLIDING};
use crate::layout::Layout;
use crate::positions::axes::{Axes, PairOrder};
use crate::rotate::fields::{Fields, ORIGINAL, Value};
use crate::rotate::rotary::RotaryPositionalEncodingConfig;
use crate::rotate::scaling::{Longrope, Ntk, RopeScaling};

const LONGEST: &str = "max_position_embeddings";
const SHARE: &str = "partial_rotary_factor";

/// The width of a head that no model reaches, so that its frequencies fit into memory.
const MAX_WIDTH: usize = 1 << 20;

/// The columns of a head that the rotation is for, and its configuration.
pub(super) type Rotation = (Range<usize>, RotaryPositionalEncodingConfig);

/// The rotation of a kind of layer; `None` where the file gives none for it. `base` replaces the base of
/// the file where a layer has its own.
pub(super) fn of_kind(
    file: &Fields,
    family: &Family,
    kind: &str,
    base: Option<f64>,
) -> Result<Option<Rotation>, String> {
    let Some(parameters) = parameters(file, family, kind)? else {
        return Ok(None);
    };
    let of = |reason| format!("the parameters of its rotation: {reason}");
    let columns = columns(file, family, kind)?;
    let width = columns.len();
    let rope_type = parameters.text("rope_type").map_err(of)?;
    let scaling = match (rope_type.unwrap_or("default"), family.scalings) {
        ("default", _) => None,
        ("dynamic", Scalings::Alpha) if parameters.contains("alpha") => {
            Some(Ntk::new(parameters.number("alpha").map_err(of)?).into())
        }
        ("mrope", Scalings::Sections) => None,
        ("longrope", Scalings::Mscale) => Some(mscale(&parameters).map_err(of)?),
        (name, Scalings::Only(only)) if name != only => {
            return Err(format!(
                "{} scales by {only} alone; got \"{name}\"",
                family.name
            ));
        }
        (name, Scalings::None | Scalings::Mscale) => {
            return Err(format!(
                "the scaling \"{name}\" of {} is not read",
                family.name
            ));
        }
        ("ntk", _) => return Err("there is no rope_type \"ntk\" in transformers".into()),
        (name, _) => Some(RopeScaling::read(name, &parameters)?.0),
    };
    let rotary_dim = match (&scaling, family.share) {
        (Some(RopeScaling::Proportional(_)), _) => width,
        (None, Share::Whole) => width,
        (_, Share::Columns(usual)) => file.optional_length("rotary_dim")?.unwrap_or(usual),
        // Rounded down, as the code of the models does.
        _ => {
            let share = parameters
                .optional_number(SHARE)
                .map_err(of)?
                .unwrap_or(1.0);
            // Where only some columns have positions, Mistral 4 counts the others too.
            let whole = match family.scale {
                Scale::Parameter => columns.end,
                _ => width,
            };
            let rotary_dim = match (whole as f64 * share) as usize {
                rotary_dim if share == 1.0 => rotary_dim.min(width),
                rotary_dim => rotary_dim,
            };
            if matches!(family.share, Share::Whole | Share::WholeOnly) && rotary_dim != width {
                return Err(format!(
                    "a scaling with `{SHARE}` {share}, which {} does not have",
                    family.name
                ));
            }
            rotary_dim
        }
    };
    let layout = match family.interleave_flag && file.flag("rope_interleave")? == Some(false) {
        true => Layout::Halves,
        false => family.layout,
    };
    let mut config = RotaryPositionalEncodingConfig::new(width)
        .with_layout(layout)
        .with_base(match base {
            Some(base) => base,
            None => parameters.number("rope_theta").map_err(of)?,
        });
    if let Some(longest) = file.optional_length(LONGEST)? {
        config.max_len = longest.clamp(1, config.max_len);
    }
    config.rotary_dim = (rotary_dim != width).then_some(rotary_dim);
    config.scaling = scaling;
    config.axes = match family.sections {
        Some((Sections::Columns, _)) => columns_of_axes(&parameters, rotary_dim / 2).map_err(of)?,
        Some((kind, usual)) => {
            Some(sections(&parameters, kind, usual, rotary_dim / 2).map_err(of)?)
        }
        None => None,
    };
    Ok(Some((columns, config)))
}

/// The scaling of Phi-3.5-MoE: transformers has the factors of short inputs at every length.
fn mscale(parameters: &Fields) -> Result<RopeScaling, String> {
    let (short, long) = (
        parameters.number("short_mscale")?,
        parameters.number("long_mscale")?,
    );
    if short != long {
        return Err(format!(
            "`short_mscale` of `rope_scaling` is {short} and `long_mscale` {long}: a factor that follows the length is not read"
        ));
    }
    let factors = parameters.numbers("short_factor")?;
    let longrope = Longrope {
        attention_factor: Some(short),
        ..Longrope::new(factors.clone(), factors, parameters.length(ORIGINAL)?, 1.0)
    };
    Ok(longrope.into())
}

/// The axes of a model of text, images and video, for this many pairs.
fn sections(
    parameters: &Fields,
    kind: Sections,
    usual: [usize; 3],
    pairs: usize,
) -> Result<Axes, String> {
    let name = "mrope_section";
    let given = parameters.optional_list(name, "a list of lengths", Value::as_length)?;
    let given = given.unwrap_or_else(|| usual.to_vec());
    let Ok([first, second, third]) = <[usize; 3]>::try_from(&given[..]) else {
        return Err(format!(
            "`{name}` must have three numbers; got {}",
            given.len()
        ));
    };
    let sum = first.saturating_add(second).saturating_add(third);
    let fits = match kind {
        Sections::Row => sum == pairs,
        Sections::TimeLast => sum == pairs && first == second,
        Sections::Dealt => true,
        Sections::Columns => unreachable!("read by `columns_of_axes`"),
    };
    if !fits || given.contains(&0) {
        let alike = match kind {
            Sections::TimeLast => ", the first two alike",
            _ => "",
        };
        return Err(format!(
            "`{name}` must have three numbers above 0 that share {pairs} pairs{alike}; got {given:?}"
        ));
    }
    Ok(match kind {
        Sections::Row => Axes::mrope([first, second, third]),
        Sections::Dealt => Axes::in_turn([second, third], pairs),
        Sections::TimeLast => {
            let in_turn = (0..first).flat_map(|_| [1, 2]);
            let owners = in_turn.chain(core::iter::repeat_n(0, third)).collect();
            Axes::mrope([third, first, second]).with_order(PairOrder::Given(owners))
        }
        Sections::Columns => unreachable!("read by `columns_of_axes`"),
    })
}

/// The axes of HunYuan-VL, for this many pairs; `None` where the file has none.
fn columns_of_axes(parameters: &Fields, pairs: usize) -> Result<Option<Axes>, String> {
    let read = |name| parameters.optional_list(name, "a list of lengths", Value::as_length);
    let (newer, older) = (read("mrope_section")?, read("xdrope_section")?);
    let given = match (newer, older) {
        (Some(newer), Some(older)) if newer != older => {
            return Err(format!(
                "`mrope_section` is {newer:?}, but `xdrope_section` is {older:?}"
            ));
        }
        (newer, older) => newer.or(older),
    };
    match given {
        Some(given) if given.iter().copied().fold(0, usize::saturating_add) != pairs => {
            Err(format!(
                "the sum of `mrope_section` must be {pairs}, half the columns of a head; got {given:?}"
            ))
        }
        given => Ok(given.map(Axes::xdrope)),
    }
}

/// The columns of a head that have positions.
fn columns(file: &Fields, family: &Family, kind: &str) -> Result<Range<usize>, String> {
    let divided = || {
        let size = |names: &[&'static str], usual| match file.first_length(names)? {
            Some((_, size)) => Ok::<_, String>(size),
            None => Ok(usual),
        };
        let heads = size(
            &["num_attention_heads", "n_head", "n_heads", "num_heads"],
            family.sizes.heads,
        )?;
        let names = ["hidden_size", "n_embd", "n_embed", "d_model"];
        let width = size(&names, family.sizes.width)?;
        match heads {
            0 => Err("`num_attention_heads` must be at least 1; got 0".to_string()),
            heads if width % heads != 0 => Err(format!(
                "`hidden_size` must be a multiple of `num_attention_heads` {heads}; got {width}"
            )),
            heads => Ok(width / heads),
        }
    };
    let columns = match family.width {
        Width::Divided => 0..divided()?,
        Width::Head(usual) => {
            if let (Some(usual), true) = (usual, file.is_null("head_dim") && !is_older(file)?) {
                return Err(format!("`head_dim` is null; left out, it is {usual}"));
            }
            let usual = usual.filter(|_| !file.is_null("head_dim"));
            match file.optional_length("head_dim")?.or(usual) {
                Some(width) => 0..width,
                None => 0..divided()?,
            }
        }
        Width::HeadOrDivided(_) if file.is_null("head_dim") => 0..divided()?,
        Width::HeadOrDivided(usual) => 0..file.optional_length("head_dim")?.unwrap_or(usual),
        Width::Latent { plain, rotated } => {
            let size = |name, usual| Ok::<_, String>(file.optional_length(name)?.unwrap_or(usual));
            let start = size("qk_nope_head_dim", plain)?;
            let width = size("qk_rope_head_dim", rotated)?;
            start..start.saturating_add(width)
        }
        Width::Channels(usual) => 0..file.optional_length("kv_channels")?.unwrap_or(usual),
        Width::Global { .. } if file.is_null("head_dim") => return Err("`head_dim` is null".into()),
        // A file of version 5 has it as the `head_dim` of these layers.
        Width::Global { full, .. } if kind == FULL && !file.contains("per_layer_config") => {
            0..file.optional_length("global_head_dim")?.unwrap_or(full)
        }
        Width::Global { head, .. } => 0..file.optional_length("head_dim")?.unwrap_or(head),
    };
    match columns.end {
        end if end > MAX_WIDTH => Err(format!("a head may have {MAX_WIDTH} columns; got {end}")),
        _ => Ok(columns),
    }
}

/// The parameters of a kind of layer with everything that is left out, as version 5 of transformers
/// completes them.
pub(super) fn parameters(
    file: &Fields,
    family: &Family,
    kind: &str,
) -> Result<Option<Fields>, String> {
    // An empty group counts as none.
    let older = file
        .group("rope_scaling")?
        .filter(|group| !group.is_empty());
    let newer = file.group("rope_parameters")?;
    let usual = |text| serde_json::from_str::<Fields>(text).expect("the table has valid JSON");
    match family.rope {
        Rope::Fixed => {
            let mut own = Fields::default();
            own.set("rope_theta", Value::Number(family.base));
            Ok(Some(own))
        }
        Rope::Base => {
            let mut own = Fields::default();
            complete(&mut own, file, family)?;
            Ok(Some(own))
        }
        Rope::PerKind(_) if older.is_some() => {
            Err(format!("{} has no `rope_scaling`", family.name))
        }
        Rope::One(_) | Rope::Newer => {
            // Where a file has both names, the older one counts.
            let (given, text) = match family.rope {
                Rope::One(text) => (older.or(newer), text),
                _ => (newer, "{}"),
            };
            let mut own = given.cloned().unwrap_or_else(|| usual(text));
            if let Some(name) = own.names().find(|name| is_kind(name)) {
                return Err(format!(
                    "it has parameters for \"{name}\", but {} has one group for all layers",
                    family.name
                ));
            }
            complete(&mut own, file, family)?;
            if uses_original(&own)? {
                set_original(&mut own, file, family)?;
            }
            finish(&mut own, file, family)?;
            Ok(Some(own))
        }
        Rope::PerKind(text) => {
            let own = newer.cloned().unwrap_or_else(|| usual(text));
            of_group(&own, kind, file, family)
        }
        Rope::Older {
            groups,
            full,
            windows,
            scales_windows,
        } => {
            let mut own = newer.cloned().unwrap_or_default();
            for (group, name, is_scaled) in [(FULL, full, true), (SLIDING, windows, scales_windows)]
            {
                let mut parameters = match own.group(group)? {
                    Some(parameters) => parameters.clone(),
                    None if newer.is_some() && is_scaled && older.is_some() => {
                        return Err(format!(
                            "it has `rope_scaling`, but no group \"{group}\" that it would change"
                        ));
                    }
                    None => Fields::default(),
                };
                // So that version 5 passes over the older name `type` of a scaling.
                if !is_older(file)?
                    && !parameters.contains("rope_type")
                    && own.group(group)?.is_none()
                {
                    parameters.set("rope_type", Value::Text("default".into()));
                }
                if let (Some(older), true) = (older, is_scaled) {
                    parameters.update(older);
                }
                let usual = usual(groups);
                let usual = usual.group(group)?.expect("the table has both groups");
                let base = match name {
                    "" => None,
                    name => file.optional_number(name)?,
                };
                parameters.set_default("rope_theta", base.unwrap_or(usual.number("rope_theta")?));
                own.set(group, Value::Group(parameters));
            }
            of_group(&own, kind, file, family)
        }
    }
}

/// The parameters of a kind of layer out of the groups of all kinds.
fn of_group(
    groups: &Fields,
    kind: &str,
    file: &Fields,
    family: &Family,
) -> Result<Option<Fields>, String> {
    if groups.is_null(kind) {
        return Ok(None);
    }
    let Some(group) = groups.group(kind)? else {
        return Err(format!(
            "it has no parameters for layers of kind \"{kind}\""
        ));
    };
    let mut own = group.clone();
    if !own.contains("rope_theta") {
        return Err(format!(
            "it has no `rope_theta` for layers of kind \"{kind}\""
        ));
    }
    if file.contains(SHARE) {
        own.set_default(SHARE, file.number(SHARE)?);
    }
    if let Share::Part(share) = family.share {
        own.set_default(SHARE, share);
    }
    set_type(&mut own)?;
    if uses_original(&own)?
        && !own.contains(ORIGINAL)
        && let Some(longest) = longest(file, family)?
    {
        own.set(ORIGINAL, Value::Number(longest as f64));
    }
    // The code of transformers looks for it outside of the groups.
    own.set("truncate", Value::Bool(true));
    finish(&mut own, file, family)?;
    Ok(Some(own))
}

/// The longest input.
fn longest(file: &Fields, family: &Family) -> Result<Option<usize>, String> {
    let given = file.first_length(&[LONGEST, "n_positions"])?;
    Ok(given.map(|(_, length)| length).or(family.longest()))
}

fn is_kind(name: &str) -> bool {
    name.ends_with("_attention") || name.starts_with("hybrid")
}

/// Adds the base, the share and the name of the scaling.
fn complete(own: &mut Fields, file: &Fields, family: &Family) -> Result<(), String> {
    let base = match file.optional_number(family.base_name())? {
        _ if own.contains("rope_theta") => None,
        Some(base) => Some(base),
        None if file.is_null(family.base_name()) => {
            return Err(format!("it has no `{}`", family.base_name()));
        }
        None => Some(family.base_of(is_older(file)?)),
    };
    if let Some(base) = base {
        own.set_default("rope_theta", base);
    }
    let share = match (file.optional_number(family.share_name())?, family.share) {
        (_, Share::Half) => Some(0.5),
        (Some(share), _) => Some(share),
        (None, Share::Part(share)) if !file.is_null(SHARE) => Some(share),
        (None, Share::PartOrColumns) => match file.optional_length("rotary_dim")? {
            Some(rotated) => Some(rotated as f64 / columns(file, family, FULL)?.end as f64),
            None => None,
        },
        _ => None,
    };
    if let Some(share) = share {
        own.set_default(SHARE, share);
    }
    set_type(own)?;
    // Names that the first files of Phi-3 have for it.
    if family.original.is_some() && matches!(own.text("rope_type")?, Some("su" | "yarn")) {
        own.set("rope_type", Value::Text("longrope".into()));
    }
    // The name in HunYuan-VL's first files.
    let has_columns = matches!(family.sections, Some((Sections::Columns, _)));
    if has_columns && own.text("rope_type")? == Some("xdrope") {
        own.set("rope_type", Value::Text("dynamic".into()));
    }
    Ok(())
}

/// Sets `rope_type`, which older files call `type`.
fn set_type(own: &mut Fields) -> Result<(), String> {
    let name = match own.text("rope_type")? {
        Some(name) => name,
        None => own.text("type")?.unwrap_or("default"),
    };
    let name = Value::Text(name.to_string());
    own.set("rope_type", name);
    Ok(())
}

fn uses_original(own: &Fields) -> Result<bool, String> {
    Ok(matches!(
        own.text("rope_type")?,
        Some("yarn" | "longrope" | "llama3")
    ))
}

/// Sets the length that the model was trained on, for the scalings that use it.
fn set_original(own: &mut Fields, file: &Fields, family: &Family) -> Result<(), String> {
    let is_longrope = own.text("rope_type")? == Some("longrope");
    let beside = file.optional_length(ORIGINAL)?.or(family.original);
    // Before version 5, the length beside the parameters was for LongRoPE alone.
    let length = match beside {
        Some(length) if is_longrope || !is_older(file)? => Some(length),
        _ if own.contains(ORIGINAL) => None,
        _ => longest(file, family)?,
    };
    if let Some(length) = length {
        own.set(ORIGINAL, Value::Number(length as f64));
    }
    Ok(())
}

/// Sets what follows from the longest input.
fn finish(own: &mut Fields, file: &Fields, family: &Family) -> Result<(), String> {
    let longest = longest(file, family)?;
    let name = own.text("rope_type")?.unwrap_or("default").to_string();
    // Its code takes the length from nowhere else.
    if name == "dynamic"
        && let Some(longest) = longest
    {
        own.set(ORIGINAL, Value::Number(longest as f64));
    }
    if matches!(&*name, "yarn" | "longrope")
        && !own.contains("factor")
        && let (Some(longest), Some(original)) = (longest, own.optional_length(ORIGINAL)?)
        && (name == "longrope" || own.is_null("factor"))
    {
        own.set("factor", Value::Number(longest as f64 / original as f64));
    }
    Ok(())
}

/// Whether the file is of a version of transformers before 5.
fn is_older(file: &Fields) -> Result<bool, String> {
    let version = file.text("transformers_version")?;
    let major = version.and_then(|version| version.split('.').next()?.parse::<u32>().ok());
    Ok(major.is_some_and(|major| major < 5))
}
