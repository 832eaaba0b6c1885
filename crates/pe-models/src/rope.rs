//! The rotation of one kind of layer, from the parameters in the file.

use alloc::format;
use alloc::string::String;
use alloc::vec::Vec;
use core::ops::Range;

use pe_burn::axes::{Axis, AxisFrequencies, PairOrder};
use pe_burn::scaling::{Fields, Longrope, Ntk, Value};
use pe_burn::{Axes, Layout, RopeScaling, RotaryPositionalEncodingConfig};

use crate::columns::columns;
use crate::family::{Family, Patches, Scale, Scalings, Sections, Share};
use crate::kinds::FULL;
use crate::parameters::{LONGEST, ORIGINAL, SHARE, parameters};

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
    let columns = columns(file, family, kind)?;
    let width = columns.len();
    let scaling = scaling(&parameters, family)?;
    let rotary_dim = rotated(file, family, &columns, &parameters, scaling.as_ref())?;
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
    config.opposite = family.opposite;
    if let Some(patches) = family.patches {
        set_patches(&mut config, patches, file, kind)?;
        return Ok(Some((columns, config)));
    }
    config.axes = match family.sections {
        Some((Sections::AnyNumber, _)) => {
            any_number_of_axes(&parameters, rotary_dim / 2).map_err(of)?
        }
        Some((Sections::TwoDealt, _)) => {
            let pairs = rotary_dim / 2;
            let axes = Axes::mrope([pairs.div_ceil(2), pairs / 2]);
            Some(axes.with_order(PairOrder::Dealt))
        }
        Some((kind, usual)) => {
            Some(sections(&parameters, kind, usual, rotary_dim / 2).map_err(of)?)
        }
        None => None,
    };
    Ok(Some((columns, config)))
}

/// An error in the parameters.
fn of(reason: String) -> String {
    format!("the parameters of its rotation: {reason}")
}

/// How many of these columns of a head are rotated.
fn rotated(
    file: &Fields,
    family: &Family,
    columns: &Range<usize>,
    parameters: &Fields,
    scaling: Option<&RopeScaling>,
) -> Result<usize, String> {
    let width = columns.len();
    let listed = match family.share {
        Share::Columns(usual) => file.optional_length("rotary_dim")?.or(Some(usual)),
        Share::WholeOrColumns => file.optional_length("rotary_dim")?,
        _ => None,
    };
    match (scaling, listed, family.share) {
        (Some(RopeScaling::Proportional(_)), ..) => Ok(width),
        (_, Some(listed), _) => Ok(listed),
        (None, _, Share::Whole | Share::WholeOrColumns) => Ok(width),
        (None, _, Share::Field(name)) => {
            Ok((width as f64 * file.optional_number(name)?.unwrap_or(1.0)) as usize)
        }
        _ => {
            let share = parameters.optional_number(SHARE).map_err(of)?;
            shared(columns, share.unwrap_or(1.0), family)
        }
    }
}

/// Sets which pairs turn by which coordinate of a patch.
fn set_patches(
    config: &mut RotaryPositionalEncodingConfig,
    patches: Patches,
    file: &Fields,
    kind: &str,
) -> Result<(), String> {
    let width = config.d_head;
    if matches!(patches, Patches::Thirds | Patches::TiledThirds) {
        let thirds = width / 6 * 6;
        config.rotary_dim = (thirds != width).then_some(thirds);
    }
    config.tiled_angles = patches == Patches::TiledThirds;
    config.axes = Some(match patches == Patches::OfWindow && kind == FULL {
        true => of_window(file)?,
        false => patches.axes(),
    });
    Ok(())
}

/// The scaling that the parameters name.
fn scaling(parameters: &Fields, family: &Family) -> Result<Option<RopeScaling>, String> {
    let rope_type = parameters.text("rope_type").map_err(of)?;
    Ok(match (rope_type.unwrap_or("default"), family.scalings) {
        ("default", _) | ("mrope", Scalings::Sections) => None,
        ("axial", _) if family.patches.is_some() => None,
        ("dynamic", Scalings::Alpha) if parameters.contains("alpha") => {
            Some(Ntk::new(parameters.number("alpha").map_err(of)?).into())
        }
        ("longrope", Scalings::Mscale) => Some(mscale(parameters).map_err(of)?),
        (name, Scalings::Only(only)) if name != only => {
            let family = family.name;
            return Err(format!("{family} scales by {only} alone; got \"{name}\""));
        }
        (name, Scalings::None | Scalings::Mscale) => {
            let family = family.name;
            return Err(format!("the scaling \"{name}\" of {family} is not read"));
        }
        ("ntk", _) => return Err("there is no rope_type \"ntk\" in transformers".into()),
        (name, _) => Some(RopeScaling::read(name, parameters)?.0),
    })
}

/// The number of columns that a share of a head has, rounded down, as the code of the models does.
fn shared(columns: &Range<usize>, share: f64, family: &Family) -> Result<usize, String> {
    let width = columns.len();
    // Where only some columns have positions, Mistral 4 counts the others too.
    let whole = match family.scale {
        Scale::Parameter => columns.end,
        _ => width,
    };
    let rotary_dim = match (whole as f64 * share) as usize {
        rotary_dim if share == 1.0 => rotary_dim.min(width),
        rotary_dim => rotary_dim,
    };
    match family.share {
        Share::Whole | Share::WholeOnly | Share::WholeOrColumns | Share::Field(_)
            if rotary_dim != width =>
        {
            Err(format!(
                "a scaling with `{SHARE}` {share}, which {} does not have",
                family.name
            ))
        }
        _ => Ok(rotary_dim),
    }
}

/// The scaling of Phi-3.5-MoE, as in its authors' code. Version 5.23.0 of transformers does not tell its function the length of
/// the input, which therefore has the factors of short inputs at every length; version 4.57 does.
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
    let longrope = Longrope {
        short_factor: parameters.numbers("short_factor")?,
        long_factor: parameters.numbers("long_factor")?,
        original_max_position_embeddings: parameters.length(ORIGINAL)?,
        factor: None,
        attention_factor: Some(short),
    };
    Ok(longrope.into())
}

/// The axes of SAM 3 in a layer that sees the whole image.
fn of_window(file: &Fields) -> Result<Axes, String> {
    // A list has the height and the width.
    let side = |name, usual| match file.optional_length(name) {
        Ok(side) => Ok::<_, String>(side.unwrap_or(usual)),
        Err(_) => {
            let sides = file.optional_list(name, "a length or two", Value::as_length)?;
            Ok(sides
                .and_then(|sides| sides.first().copied())
                .unwrap_or(usual))
        }
    };
    let (image, patch) = (side("image_size", 1008)?, side("patch_size", 14)?);
    let window = file.optional_length("window_size")?.unwrap_or(24);
    match image.checked_div(patch) {
        Some(patches) if patches > 0 && window > 0 => {
            let axis = |i| Axis::new(i).with_scale(window as f64 / patches as f64);
            Ok(Axes::new([axis(1), axis(0)]))
        }
        _ => Err(format!(
            "an image of `image_size` {image} has no patches of `patch_size` {patch}, or `window_size` {window} is 0"
        )),
    }
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
        Sections::AnyNumber | Sections::TwoDealt => unreachable!("they have no three numbers"),
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
        Sections::AnyNumber | Sections::TwoDealt => unreachable!("they have no three numbers"),
    })
}

/// The axes of HunYuan-VL, for this many pairs; `None` where the file has none.
fn any_number_of_axes(parameters: &Fields, pairs: usize) -> Result<Option<Axes>, String> {
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
        given => Ok(given.map(|pairs| {
            let axis = |(i, pairs)| Axis::new(i).with_columns(2 * pairs);
            let axes: Vec<Axis> = pairs.into_iter().enumerate().map(axis).collect();
            Axes::new(axes).with_frequencies(AxisFrequencies::Line)
        })),
    }
}
