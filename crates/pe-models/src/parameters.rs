//! The parameters of the rotation of a kind of layer, with everything that a file may leave out.

use alloc::format;
use alloc::string::{String, ToString};

use pe_burn::scaling::{Fields, Value};

use crate::columns::{columns, is_older};
use crate::family::{Family, Rope, Sections, Share};
use crate::kinds::{FULL, SLIDING};

pub(super) const ORIGINAL: &str = "original_max_position_embeddings";
pub(super) const LONGEST: &str = "max_position_embeddings";
pub(super) const SHARE: &str = "partial_rotary_factor";

/// The parameters of a kind of layer with everything that is left out, as version 5 of transformers
/// completes them.
pub(super) fn parameters(
    file: &Fields,
    family: &Family,
    kind: &str,
) -> Result<Option<Fields>, String> {
    let older = older(file)?;
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
        // Where a file has both names, the older one counts.
        Rope::One(text) => {
            let own = older.or(newer).cloned().unwrap_or_else(|| usual(text));
            of_all_layers(own, file, family).map(Some)
        }
        Rope::Newer => of_all_layers(newer.cloned().unwrap_or_default(), file, family).map(Some),
        Rope::PerKind(text) => {
            let own = newer.cloned().unwrap_or_else(|| usual(text));
            of_group(&own, kind, file, family)
        }
        Rope::Lists => of_group(
            &listed(file, family, kind, newer, older)?,
            kind,
            file,
            family,
        ),
        Rope::Older {
            groups,
            full,
            mut windows,
            scales_windows,
            older: before,
        } => {
            let mut usual = usual(groups);
            if let (Some((base, name, of_windows)), true) = (before, is_older(file)?) {
                windows = name;
                for (group, base) in [(FULL, base), (SLIDING, of_windows)] {
                    let mut other = Fields::default();
                    other.set("rope_theta", Value::Number(base));
                    usual.set(group, Value::Group(other));
                }
            }
            let scaled = older.filter(|_| scales_windows);
            let mut own = newer.cloned().unwrap_or_default();
            for (group, name, scaling) in [(FULL, full, older), (SLIDING, windows, scaled)] {
                let usual = usual.group(group)?.expect("the table has both groups");
                let parameters = older_group(file, group, (name, usual), newer, scaling);
                own.set(group, Value::Group(parameters?));
            }
            of_group(&own, kind, file, family)
        }
    }
}

/// The group `rope_scaling`. An empty one counts as none, and so does `false`.
fn older(file: &Fields) -> Result<Option<&Fields>, String> {
    let name = "rope_scaling";
    if let Ok(Some(false)) = file.flag(name) {
        return Ok(None);
    }
    Ok(file.group(name)?.filter(|group| !group.is_empty()))
}

/// Whether the base is written as `null`, in the group of the parameters or, without one, beside it.
pub(super) fn has_null_base(file: &Fields) -> Result<bool, String> {
    let group = match older(file)? {
        Some(older) => Some(older),
        None => file.group("rope_parameters")?,
    };
    let group = group.filter(|group| group.contains("rope_theta") || group.is_null("rope_theta"));
    Ok(group.unwrap_or(file).is_null("rope_theta"))
}

/// The parameters of a model that has one group for all layers.
fn of_all_layers(mut own: Fields, file: &Fields, family: &Family) -> Result<Fields, String> {
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
    Ok(own)
}

/// The parameters of a kind of layer in a model whose older files have no groups. `scaling` is the `rope_scaling` that
/// counts for this kind; `base` is the name of the field with its base, and the table's defaults for it.
fn older_group(
    file: &Fields,
    group: &str,
    base: (&'static str, &Fields),
    newer: Option<&Fields>,
    scaling: Option<&Fields>,
) -> Result<Fields, String> {
    let given = newer.map_or(Ok(None), |newer| newer.group(group))?;
    if given.is_none() && newer.is_some() && scaling.is_some() {
        return Err(format!(
            "it has `rope_scaling`, but no group \"{group}\" that it would change"
        ));
    }
    let mut parameters = given.cloned().unwrap_or_default();
    // With `rope_type` set, version 5 ignores the older name `type` of a scaling.
    if given.is_none() && !is_older(file)? {
        parameters.set("rope_type", Value::Text("default".into()));
    }
    if let Some(scaling) = scaling {
        parameters.update(scaling);
    }
    let own = match base.0 {
        "" => None,
        name => file.optional_number(name)?,
    };
    parameters.set_default("rope_theta", own.unwrap_or(base.1.number("rope_theta")?));
    if let Some(share) = base.1.optional_number(SHARE)? {
        parameters.set_default(SHARE, share);
    }
    Ok(parameters)
}

/// The groups of a model whose files may have lists with a number for each layer in their place.
fn listed(
    file: &Fields,
    family: &Family,
    kind: &str,
    newer: Option<&Fields>,
    scaling: Option<&Fields>,
) -> Result<Fields, String> {
    let kinds = family.kinds.of(file, family)?;
    let is_group =
        |kind: &String| matches!(newer.map(|newer| newer.group(kind)), Some(Ok(Some(_))));
    if let Some(newer) = newer.filter(|_| kinds.iter().all(is_group)) {
        return Ok(newer.clone());
    }
    let first = kinds.iter().position(|other| other == kind).unwrap_or(0);
    let of_layer = |name: &str| {
        let numbers = file.optional_list(name, "a list of numbers", Value::as_number)?;
        let numbers = numbers.filter(|numbers| !numbers.is_empty());
        numbers.map_or(Ok(None), |numbers| match numbers.get(first) {
            Some(number) => Ok(Some(*number)),
            None => Err(format!(
                "`{name}` has {} entries, but none for layer {first}",
                numbers.len()
            )),
        })
    };
    let base = match file.optional_number("rope_theta") {
        Ok(base) => base.unwrap_or(family.base),
        Err(_) => of_layer("rope_theta")?.unwrap_or(family.base),
    };
    let mut own = Fields::default();
    own.set("rope_type", Value::Text("default".into()));
    own.set("rope_theta", Value::Number(base));
    own.set(
        SHARE,
        Value::Number(of_layer("partial_rotary_factors")?.unwrap_or(1.0)),
    );
    if let Some(scaling) = scaling.filter(|_| kind == FULL) {
        own.update(scaling);
    }
    let mut groups = Fields::default();
    groups.set(kind, Value::Group(own));
    Ok(groups)
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
    if file.contains(SHARE) && !matches!(family.share, Share::PartInGroup(_)) {
        own.set_default(SHARE, file.number(SHARE)?);
    }
    if let Share::Part(share) = family.share {
        own.set_default(SHARE, share);
    }
    if family.newer_names && !own.contains("rope_type") {
        own.set("rope_type", Value::Text("default".into()));
    }
    set_type(&mut own)?;
    // The code of the scalings takes the whole head where no share is given.
    if let (Share::PartInGroup(share), Some("default")) = (family.share, own.text("rope_type")?) {
        own.set_default(SHARE, share);
    }
    if uses_original(&own)?
        && !own.contains(ORIGINAL)
        && let Some(longest) = longest(file, family)?
    {
        own.set(ORIGINAL, Value::Number(longest as f64));
    }
    // The code of transformers looks for `truncate` outside of the groups, so that one in a group has no effect.
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
    if let (Some(name), Rope::One(_)) = (family.base_field, family.rope)
        && let Some(base) = file.optional_number(name)?
    {
        own.set("rope_theta", Value::Number(base));
    }
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
    // Names that the first files of Phi-3 have for LongRoPE.
    if family.original.is_some() && matches!(own.text("rope_type")?, Some("su" | "yarn")) {
        own.set("rope_type", Value::Text("longrope".into()));
    }
    // The name that HunYuan-VL's first files have for "dynamic".
    let has_any_number = matches!(family.sections, Some((Sections::AnyNumber, _)));
    if has_any_number && own.text("rope_type")? == Some("xdrope") {
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
    // Before version 5 this length gave LongRoPE its factor, whatever the parameters had.
    if let (true, Some(length), Some(longest), true) =
        (is_longrope, beside, longest(file, family)?, is_older(file)?)
    {
        own.set("factor", Value::Number(longest as f64 / length as f64));
    }
    Ok(())
}

/// Sets what follows from the longest input.
fn finish(own: &mut Fields, file: &Fields, family: &Family) -> Result<(), String> {
    let longest = longest(file, family)?;
    let name = own.text("rope_type")?.unwrap_or("default").to_string();
    // The code of dynamic scaling takes the length from nowhere else.
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
